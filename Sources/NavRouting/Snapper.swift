import NavGeo
import NavMap

/// Finds the places on roads that a waypoint may stand for.
struct Snapper {
    /// The number of roads that are tried for each of several waypoints when the nearest one leads nowhere.
    static let alternativeRoads = 12
    /// The first distance within which the roads around an end are tried when the nearest one leads nowhere, metres.
    static let alternativeReach = 80.0
    /// Cost of a metre between waypoint and road when another than the nearest road is taken, ms: what is asked for is the
    /// nearest road that is connected, not the place beside the waypoint from which the drive is shorter.
    static let approachCost = 60_000.0
    /// Metres that another road may be farther away than a track for farms and forests, and is taken all the same: a
    /// place beside a street is in the street, whatever passes behind the house.
    static let trackReluctance = 30.0

    /// Metres from a road within which a place is in it, whatever other roads there may be: half a wide street and its pavement.
    static let inTheStreet = 20.0

    let metric: Metric

    /// Roads that pass within this distance of the nearest road's nearest point meet it there, metres.
    static let meetingDistance = 0.1

    /// The nearest road's permitted directions; where the nearest point is one where roads meet, those of all of them.
    ///
    /// A track that nobody drives through gives way to another road that is little farther away and that one can stop
    /// in, unless the waypoint has a bearing: that is a vehicle, and it is where it is.
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

    /// The tiles that may hold a nearer road than the nearest one that is loaded, because the waypoint lies in them;
    /// none where the waypoint is in the street that was found.
    ///
    /// Besides a road that was found a street counts, not a motorway; without any, all that there may be.
    func missingTiles(at waypoint: Waypoint, nearest: EdgeProjection?) -> [RoadTileID] {
        if let nearest, nearest.distance <= Snapper.inTheStreet { return [] }
        let layers = nearest == nil ? RoadLayer.allCases : [.local]
        return layers.compactMap { metric.turns.graph.missingTile($0, at: waypoint.coordinate) }
    }

    /// Permitted edges around a waypoint, the nearest first, each road in up to two directions: ``alternativeRoads``.
    func around(_ waypoint: Waypoint, radius: Double) -> [EdgeProjection] {
        let count = Snapper.alternativeRoads * 2
        return Array(candidates(waypoint, radius: radius, atLeast: count).prefix(count))
    }

    /// A candidate as a place for a search; `detour` adds what being away from it costs.
    func place(_ candidate: EdgeProjection, detour: Bool) -> EdgePosition {
        guard detour else { return EdgePosition(edge: candidate.edge, offset: candidate.offset, penalty: 0) }
        let distance = candidate.distance + (isClosedTrack(candidate.edge) ? Snapper.trackReluctance : 0)
        return EdgePosition(
            edge: candidate.edge, offset: candidate.offset,
            penalty: UInt32(min(distance * Snapper.approachCost, 1e9)))
    }

    /// Within this distance of the line a waypoint lies on no side of it, metres.
    static let onTheLine = 1.0

    private func isAtKerb(_ hit: EdgeProjection) -> Bool {
        let graph = metric.turns.graph
        guard abs(hit.sideOffset) > Snapper.onTheLine, let opposite = graph.opposite(hit.edge), metric.allows(opposite)
        else { return true }
        let keepsLeft = graph.traits(of: hit.edge).flags.contains(.leftHandTraffic)
        return keepsLeft ? hit.sideOffset < 0 : hit.sideOffset > 0
    }

    private func candidates(_ waypoint: Waypoint, radius: Double, atLeast count: Int) -> [EdgeProjection] {
        // Most waypoints lie on a road: look close first, so that the wide search is the exception.
        var reach = 40.0
        while true {
            let hits = hits(waypoint, within: min(reach, radius))
            if hits.count >= count || reach >= radius { return hits }
            reach *= 4
        }
    }

    /// Permitted edges within a distance, in metres, of a waypoint, the nearest first.
    func hits(_ waypoint: Waypoint, within reach: Double) -> [EdgeProjection] {
        metric.turns.graph.edges(near: waypoint.coordinate, radius: reach).filter { hit in
            metric.allows(hit.edge)
                && (waypoint.bearing.map { Angle.separation($0, hit.bearing) <= waypoint.bearingTolerance } ?? true)
                && (waypoint.approach == .unrestricted || isAtKerb(hit))
        }
    }

    /// Whether people live and stop along an edge, as they do not on motorways and the roads like them.
    private func isStreet(_ edge: EdgeIndex) -> Bool {
        let roadClass = metric.traits(of: edge).roadClass
        return roadClass != .motorway && roadClass != .trunk && roadClass != .ferry && !isClosedTrack(edge)
    }

    private func isClosedTrack(_ edge: EdgeIndex) -> Bool {
        metric.model.profile.isClosedTrack(metric.traits(of: edge))
    }
}
