import NavGeo
import NavMap

/// Finds the places on roads that a waypoint may stand for.
struct Snapper {
    /// How many roads are tried when the nearest one leads nowhere.
    static let alternativeRoads = 12
    /// Cost of a metre between waypoint and road when another than the nearest road is taken, ms: a walk at 1.4 m/s.
    static let approachCost = 714.0

    let metric: Metric

    /// Roads that pass within this distance of the nearest road's nearest point meet it there, metres.
    static let meetingDistance = 0.1

    /// The nearest road's permitted directions; where the nearest point is one where roads meet, those of all of them.
    func nearest(_ waypoint: Waypoint, radius: Double) -> [EdgeProjection] {
        let usable = candidates(waypoint, radius: radius, atLeast: 1)
        guard let first = usable.first else { return [] }
        let opposite = metric.turns.graph.opposite(first.edge)
        return usable.filter { hit in
            if hit.edge == first.edge || hit.edge == opposite { return true }
            return hit.distance - first.distance < Snapper.meetingDistance
                && Geodesy.distance(hit.coordinate, first.coordinate) < Snapper.meetingDistance
        }
    }

    /// Permitted edges around a waypoint, the nearest first, each road in up to two directions.
    func around(_ waypoint: Waypoint, radius: Double) -> [EdgeProjection] {
        let count = Snapper.alternativeRoads * 2
        return Array(candidates(waypoint, radius: radius, atLeast: count).prefix(count))
    }

    /// A candidate as a place for a search; `detour` adds what being away from it costs.
    func place(_ candidate: EdgeProjection, detour: Bool) -> EdgePosition {
        EdgePosition(
            edge: candidate.edge, offset: candidate.offset,
            penalty: detour ? UInt32(min(candidate.distance * Snapper.approachCost, 1e9)) : 0)
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
            let hits = metric.turns.graph.edges(near: waypoint.coordinate, radius: min(reach, radius)).filter { hit in
                metric.allows(hit.edge)
                    && (waypoint.bearing.map { Angle.separation($0, hit.bearing) <= waypoint.bearingTolerance } ?? true)
                    && (waypoint.approach == .unrestricted || isAtKerb(hit))
            }
            if hits.count >= count || reach >= radius { return hits }
            reach *= 4
        }
    }
}
