import NavMap
import NavRouting

extension Oracle {
    /// Returns the states along some edges; nil when they may not be driven.
    func states(of path: [EdgeIndex]) -> [State]? {
        guard let first = path.first, allows(first) else { return nil }
        var states = [first.index]
        for (before, edge) in zip(path, path.dropFirst()) {
            guard turnCost(before, edge) != nil, let state = follow(states[states.count - 1], edge) else { return nil }
            states.append(state)
        }
        return states
    }

    /// Returns the accumulated cost at the end of each edge, ms, from an offset on the first.
    func costs(of path: [EdgeIndex], startingAt offset: Double) -> [UInt64] {
        var result = [part(path[0], offset, .infinity)]
        for (before, edge) in zip(path, path.dropFirst()) {
            result.append(result[result.count - 1] + (turnCost(before, edge) ?? 0) + part(edge, 0, .infinity))
        }
        return result
    }

    /// Returns the defect of a route, checked edge by edge against the list of restricted paths; nil when it is valid.
    ///
    /// - Parameter checksCost: whether the cost must be the sum of its parts, as it is without options.
    func fault(in route: Route, checksCost: Bool = true) -> String? {
        var driven: [EdgeIndex] = []
        var cost: UInt64 = 0
        let legStarts = Set(route.legs.map(\.edges.lowerBound))
        for (index, piece) in route.edges.enumerated() {
            guard let edge = graph.edge(piece.key), allows(edge) else { return "edge \(index) may not be driven" }
            cost += part(edge, piece.startOffset, piece.endOffset)
            let before = index > 0 ? route.edges[index - 1] : nil
            if let before, before.key == piece.key, before.endOffset == piece.startOffset {
                // Through a waypoint: a stop ends the restricted paths that were begun.
                if legStarts.contains(index) { driven = [edge] }
            } else if let before, let last = driven.last, graph.opposite(last) == edge,
                abs(before.endOffset + piece.startOffset - Double(graph.edgeLengths[edge.index])) < 0.5,
                legStarts.contains(index) || before.endOffset < Double(graph.edgeLengths[last.index])
            {
                // A U-turn at a waypoint.
                cost += 20_000
                driven = [edge]
            } else if let last = driven.last {
                guard graph.edgeHeads[last.index] == graph.edgeTails[edge.index], let turn = turnCost(last, edge) else {
                    return "no turn leads to edge \(index)"
                }
                cost += turn
                driven.append(edge)
                if completesRestriction(driven) { return "edge \(index) completes a restricted path" }
            } else {
                driven = [edge]
            }
        }
        return checksCost && cost != route.cost ? "its parts cost \(cost), not \(route.cost)" : nil
    }
}
