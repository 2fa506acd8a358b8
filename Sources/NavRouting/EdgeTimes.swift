import NavMap

/// The time and cost of driving part of an edge.
struct EdgeTimes {
    /// Seconds, with traffic where known.
    var duration: Double
    /// Seconds in free flow.
    var freeFlow: Double
    var congestion: Congestion
}

extension Metric {
    /// Returns the time and cost of the part of an edge between two distances from its start.
    ///
    /// - Parameters:
    ///   - other: The model of another vehicle; nil for the metric's own.
    ///   - timed: The conditions of another time for that vehicle; nil for the metric's own.
    func times(
        of edge: EdgeIndex, from start: Double, to end: Double, as other: CostModel? = nil,
        under timed: ConditionSet? = nil
    ) -> EdgeTimes {
        if other != nil || timed != nil {
            let traits = timed.map { turns.traits(of: edge, for: (other ?? model).profile, under: $0) }
            return times(of: edge, traits ?? self.traits(of: edge), share: share(of: edge, start, end), as: other)
        }
        let duration = duration(of: edge, from: start, to: end)
        guard liveDuration(of: edge) != nil else {
            return EdgeTimes(duration: duration, freeFlow: duration, congestion: .unknown)
        }
        let freeFlow = freeFlowDuration(of: edge, from: start, to: end)
        return EdgeTimes(
            duration: duration, freeFlow: freeFlow,
            congestion: isClosedByTraffic(edge) ? .closed : Congestion(duration: duration, freeFlow: freeFlow))
    }

    /// Returns the times on a road with these traits. A vehicle other than the metric's is as fast as the traffic, up to its own limit.
    private func times(of edge: EdgeIndex, _ traits: EdgeTraits, share: Double, as other: CostModel?) -> EdgeTimes {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return EdgeTimes(duration: 0, freeFlow: 0, congestion: .unknown) }
        let stops = Metric.stopDuration(turns.graph, edge)
        let free = ((other ?? model).duration(length: length, traits: traits, edgeLength: length) + stops) * share
        guard let live = liveDuration(of: edge) else {
            return EdgeTimes(duration: free, freeFlow: free, congestion: .unknown)
        }
        let fastest = other.map { length / Double($0.profile.maximumSpeed) } ?? live
        let duration = (max(live, fastest) + stops) * share
        return EdgeTimes(
            duration: duration, freeFlow: free,
            congestion: isClosedByTraffic(edge) ? .closed : Congestion(duration: duration, freeFlow: free))
    }
}
