public import NavMap

extension Router {
    /// Whether an edge may not be driven with the costs of this router; so does one that is not loaded.
    public func isClosed(_ key: EdgeKey) -> Bool {
        metric.turns.graph.edge(key).map { !metric.allows($0) } ?? true
    }

    /// The same way with what it takes in the traffic of this router.
    ///
    /// Only what driving takes changes, and how dense the traffic is: the line, the pieces and the turns stay as they are,
    /// and so does ``Route/cost``, which says what the search found.
    ///
    /// - Returns: the route and how many of its pieces take another time; nil when one of its edges is not loaded.
    public func repriced(_ route: Route) -> (route: Route, changedEdges: Int)? {
        let graph = metric.turns.graph
        var edges = route.edges
        var changed = 0
        for index in edges.indices {
            let piece = edges[index]
            guard let edge = graph.edge(piece.key), Double(graph.edgeLengths[edge.index]) >= piece.endOffset else {
                return nil
            }
            let times = metric.times(of: edge, from: piece.startOffset, to: piece.endOffset)
            guard
                times.duration != piece.duration || times.freeFlow != piece.freeFlowDuration
                    || times.congestion != piece.congestion
            else { continue }
            changed += 1
            edges[index].duration = times.duration
            edges[index].freeFlowDuration = times.freeFlow
            edges[index].congestion = times.congestion
        }
        guard changed > 0 else { return (route, 0) }
        var repriced = route
        repriced.edges = edges
        for (number, leg) in route.legs.enumerated() {
            var (duration, freeFlow) = (0.0, 0.0)
            for edge in edges[leg.edges] {
                duration += edge.duration + edge.turnDuration
                freeFlow += edge.freeFlowDuration + edge.turnDuration
            }
            repriced.legs[number].duration = duration
            repriced.legs[number].freeFlowDuration = freeFlow
        }
        return (repriced, changed)
    }
}
