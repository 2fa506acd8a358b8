import NavGeo
import NavMap

/// A finder of the places on roads that a waypoint may snap to.
struct Snapper {
    /// The number of roads tried for each of several waypoints when the nearest one is not connected.
    static let alternativeRoads = 12
    /// The initial radius within which roads around an end are tried when the nearest one is not connected, metres.
    static let alternativeReach = 80.0
    /// The penalty per metre between a waypoint and a road other than the nearest, ms.
    ///
    /// It selects the nearest connected road, not the road with the shortest drive.
    static let approachCost = 60_000.0
    /// The extra distance at which another road is still preferred to a track for farms and forests, metres: a place
    /// beside a street belongs to the street, not to a track behind the house.
    static let trackReluctance = 30.0

    /// The distance from a road within which a place counts as in the street, regardless of other roads, metres: half a
    /// wide street and its pavement.
    static let inTheStreet = 20.0

    /// The maximum number of missing tiles that a waypoint requests at once; farther ones matter only if these contain no road.
    static let missingTileCount = 16

    let metric: Metric

    /// The distance from the nearest point of the nearest road within which other roads count as meeting that road, metres.
    static let meetingDistance = 0.1

    /// Returns the nearest road's permitted directions; at a junction, those of all roads that meet there.
    ///
    /// A track without through traffic yields to a slightly farther road that vehicles can stop on. With a bearing it
    /// does not yield, because the waypoint is then a vehicle's actual position.
    func nearest(_ waypoint: Waypoint, radius: Double) -> [EdgeProjection] {
        var usable = candidates(waypoint, radius: radius, atLeast: 1)
        guard var first = usable.first else { return [] }
        if waypoint.bearing == nil, isClosedTrack(first.edge) {
            let reach = min(first.distance + Snapper.trackReluctance, radius)
            let wider = hits(waypoint, within: reach)
            if let road = wider.first(where: { isStreet($0.edge) }) {
                first = road
                usable = wider
            }
        }
        let opposite = metric.turns.graph.opposite(first.edge)
        return usable.filter { hit in
            if hit.edge == first.edge || hit.edge == opposite { return true }
            return hit.distance - first.distance < Snapper.meetingDistance
                && Geodesy.distance(hit.coordinate, first.coordinate) < Snapper.meetingDistance
        }
    }

    /// Returns the missing tiles that may hold a nearer road than the nearest loaded one, or a road within `radius` when none was found;
    /// none when the waypoint is in the street of the nearest road.
    ///
    /// The tiles that contain the waypoint are returned alone, because their roads may rule out the others. If a road
    /// was found, only layers with streets count, not those with motorways; otherwise all layers count.
    func missingTiles(at waypoint: Waypoint, nearest: EdgeProjection?, radius: Double) -> [RoadTileID] {
        if let nearest, nearest.distance <= Snapper.inTheStreet { return [] }
        let layers = nearest == nil ? RoadLayer.allCases : [.local]
        for reach in [0, nearest?.distance ?? radius] {
            let tiles = metric.turns.graph.missingTiles(layers, within: reach, of: waypoint.coordinate)
            if !tiles.isEmpty { return Array(tiles.prefix(Snapper.missingTileCount)) }
        }
        return []
    }

    /// Returns the nearest permitted edges around a waypoint, at most `count`; a road has one edge for each direction.
    func around(_ waypoint: Waypoint, radius: Double, atMost count: Int) -> [EdgeProjection] {
        Array(candidates(waypoint, radius: radius, atLeast: count).prefix(count))
    }

    /// Converts a candidate to a search end; `detour` adds the penalty for the candidate's distance.
    func place(_ candidate: EdgeProjection, detour: Bool) -> EdgePosition {
        guard detour else { return EdgePosition(edge: candidate.edge, offset: candidate.offset, penalty: 0) }
        let distance = candidate.distance + (isClosedTrack(candidate.edge) ? Snapper.trackReluctance : 0)
        return EdgePosition(
            edge: candidate.edge, offset: candidate.offset,
            penalty: UInt32(min(distance * Snapper.approachCost, 1e9)))
    }

    /// The distance from an edge's line within which a waypoint is on neither side, metres.
    static let onTheLine = 1.0

    private func isAtKerb(_ hit: EdgeProjection) -> Bool {
        let graph = metric.turns.graph
        guard abs(hit.sideOffset) > Snapper.onTheLine, let opposite = graph.opposite(hit.edge), metric.allows(opposite)
        else { return true }
        let keepsLeft = graph.traits(of: hit.edge).flags.contains(.leftHandTraffic)
        return keepsLeft ? hit.sideOffset < 0 : hit.sideOffset > 0
    }

    private func candidates(_ waypoint: Waypoint, radius: Double, atLeast count: Int) -> [EdgeProjection] {
        // Most waypoints lie on a road, so a small radius is tried first.
        var reach = 40.0
        while true {
            let hits = hits(waypoint, within: min(reach, radius))
            if hits.count >= count || reach >= radius { return hits }
            reach *= 4
        }
    }

    /// Returns the permitted edges within a distance, in metres, of a waypoint, the nearest first.
    func hits(_ waypoint: Waypoint, within reach: Double) -> [EdgeProjection] {
        metric.turns.graph.edges(near: waypoint.coordinate, radius: reach).filter { hit in
            metric.allows(hit.edge)
                && (waypoint.bearing.map { Angle.separation($0, hit.bearing) <= waypoint.bearingTolerance } ?? true)
                && (waypoint.approach == .unrestricted || isAtKerb(hit))
        }
    }

    /// Whether vehicles can stop along an edge, unlike on motorways and motorroads.
    private func isStreet(_ edge: EdgeIndex) -> Bool {
        let roadClass = metric.traits(of: edge).roadClass
        return roadClass != .motorway && roadClass != .trunk && roadClass != .ferry && !isClosedTrack(edge)
    }

    private func isClosedTrack(_ edge: EdgeIndex) -> Bool {
        metric.model.profile.isClosedTrack(metric.traits(of: edge))
    }
}
