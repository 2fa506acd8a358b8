import NavRouting

/// Where and when along a route: the edge and the driving time at a distance from its start.
struct RouteTimes {
    private let edges: [RouteEdge]
    /// Seconds from the route's start to the start of each edge, the turn onto it included; the whole duration at the end.
    private let before: ContiguousArray<Double>

    init(_ route: Route) {
        edges = route.edges
        var before = ContiguousArray<Double>()
        before.reserveCapacity(edges.count + 1)
        var total = 0.0
        for edge in edges {
            total += edge.turnDuration
            before.append(total)
            total += edge.duration
        }
        before.append(total)
        self.before = before
    }

    /// The edge of a leg at a distance from the route's start, as an index in the route's edges; of edges that meet there, the last.
    func edge(at offset: Double, in leg: RouteLeg) -> Int {
        var low = leg.edges.lowerBound
        var high = leg.edges.upperBound - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if edges[middle].routeOffset <= offset { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Seconds from one distance to a later one on a leg. A turn counts as soon as its edge begins.
    func duration(from start: Double, to end: Double, in leg: RouteLeg) -> Double {
        max(time(at: end, in: leg) - time(at: start, in: leg), 0)
    }

    /// Seconds from a distance to the leg's end.
    func duration(from start: Double, toEndOf leg: RouteLeg) -> Double {
        max(endTime(of: leg) - time(at: start, in: leg), 0)
    }

    /// Seconds from the leg's end to the destination.
    func duration(after leg: RouteLeg) -> Double { max(before[edges.count] - endTime(of: leg), 0) }

    private func endTime(of leg: RouteLeg) -> Double {
        let last = leg.edges.upperBound - 1
        return before[last] + edges[last].duration
    }

    private func time(at offset: Double, in leg: RouteLeg) -> Double {
        let index = edge(at: offset, in: leg)
        let edge = edges[index]
        guard edge.length > 0 else { return before[index] }
        return before[index] + edge.duration * min(max((offset - edge.routeOffset) / edge.length, 0), 1)
    }
}
