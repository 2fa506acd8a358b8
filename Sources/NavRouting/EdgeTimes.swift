import NavMap

/// What driving a part of an edge takes.
struct EdgeTimes {
    /// Seconds, with traffic where it is known.
    var duration: Double
    /// Seconds in free traffic.
    var freeFlow: Double
    /// How dense the traffic is.
    var congestion: Congestion
}

extension Metric {
    /// What driving the part of an edge between two distances from its start takes.
    func times(of edge: EdgeIndex, from start: Double, to end: Double) -> EdgeTimes {
        let duration = duration(of: edge, from: start, to: end)
        guard liveDuration(of: edge) != nil else {
            return EdgeTimes(duration: duration, freeFlow: duration, congestion: .unknown)
        }
        let freeFlow = freeFlowDuration(of: edge, from: start, to: end)
        return EdgeTimes(
            duration: duration, freeFlow: freeFlow, congestion: Congestion(duration: duration, freeFlow: freeFlow))
    }
}
