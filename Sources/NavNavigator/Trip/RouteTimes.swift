import NavRouting

/// A table of a route's edges and driving times by the distance from its start.
struct RouteTimes {
    private let edges: [RouteEdge]
    /// Seconds from the route's start to the start of each edge, including the turn onto it; the last value is the total duration.
    private let before: ContiguousArray<Double>
    /// Seconds of traffic delay from the start of each edge to the destination; nil when no traffic is known on the way.
    private let delays: ContiguousArray<Double?>

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
        var (delay, isKnown) = (0.0, false)
        var delays = ContiguousArray<Double?>(repeating: nil, count: edges.count)
        for index in edges.indices.reversed() {
            delay += edges[index].duration - edges[index].freeFlowDuration
            isKnown = isKnown || edges[index].congestion != .unknown
            if isKnown { delays[index] = max(delay, 0) }
        }
        self.delays = delays
    }

    /// Returns the seconds of traffic delay from a place on a leg to the destination; nil when no traffic is known on the way.
    func delay(from offset: Double, in leg: RouteLeg) -> Double? {
        let index = edge(at: offset, in: leg.edges)
        guard index < delays.count, let delay = delays[index] else { return nil }
        let edge = edges[index]
        let driven = edge.length > 0 ? min(max((offset - edge.routeOffset) / edge.length, 0), 1) : 0
        return max(delay - (edge.duration - edge.freeFlowDuration) * driven, 0)
    }

    /// Returns the index of a leg's edge at a distance from the route's start; where edges meet, that of the last one.
    func edge(at offset: Double, in leg: RouteLeg) -> Int { edge(at: offset, in: leg.edges) }

    private func edge(at offset: Double, in range: Range<Int>) -> Int {
        var low = range.lowerBound
        var high = range.upperBound - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if edges[middle].routeOffset <= offset { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Returns the seconds from one place to a later one on a leg. A turn counts from the start of its edge, at a leg's
    /// start from the departure.
    func duration(from start: Double, to end: Double, in leg: RouteLeg) -> Double {
        max(time(at: end, in: leg.edges) - time(at: start, in: leg.edges), 0)
    }

    /// Returns the seconds from a place to the leg's end.
    func duration(from start: Double, toEndOf leg: RouteLeg) -> Double {
        max(endTime(of: leg) - time(at: start, in: leg.edges), 0)
    }

    /// Returns the seconds from a place, in metres from the route's start, to the destination.
    func remaining(from offset: Double) -> Double {
        guard !edges.isEmpty else { return 0 }
        return max(before[edges.count] - time(at: offset, in: 0..<edges.count), 0)
    }

    /// Returns the place reached some seconds after another place, metres from the route's start; at most the route's end.
    func offset(_ seconds: Double, after offset: Double) -> Double {
        guard let last = edges.last else { return 0 }
        let target = time(at: offset, in: 0..<edges.count) + max(seconds, 0)
        var low = 0
        var high = edges.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if before[middle] <= target { low = middle } else { high = middle - 1 }
        }
        let edge = edges[low]
        guard edge.duration > 0 else { return max(edge.routeOffset, offset) }
        let share = (target - before[low]) / edge.duration
        // Use the next edge's exact start: a sum that is rounded down would never get past a wait.
        if share >= 1, low + 1 < edges.count { return max(edges[low + 1].routeOffset, offset) }
        let reached = edge.routeOffset + edge.length * min(share, 1)
        return min(max(reached, offset), last.routeOffset + last.length)
    }

    /// Returns the seconds from the leg's end to the destination.
    func duration(after leg: RouteLeg) -> Double { max(before[edges.count] - endTime(of: leg), 0) }

    private func endTime(of leg: RouteLeg) -> Double {
        let last = leg.edges.upperBound - 1
        return before[last] + edges[last].duration
    }

    private func time(at offset: Double, in range: Range<Int>) -> Double {
        let index = edge(at: offset, in: range)
        let edge = edges[index]
        // At a leg's start the turn, such as a U-turn at a stop, is still ahead.
        if index == range.lowerBound, offset <= edge.routeOffset { return before[index] - edge.turnDuration }
        guard edge.length > 0 else { return before[index] }
        return before[index] + edge.duration * min(max((offset - edge.routeOffset) / edge.length, 0), 1)
    }
}
