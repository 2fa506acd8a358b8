import NavGeo
import NavMap
import NavRouting

/// Dijkstra's search over the turn graph from a start to everywhere, by the book: the oracle for many queries at once.
struct StateDijkstra {
    let metric: Metric
    private let graph: RoadGraph
    /// For each edge the arcs that lead onto it, as (state, arc).
    private let arrivals: [[(state: TurnState, arc: Int)]]

    init(_ metric: Metric) {
        self.metric = metric
        graph = metric.turns.graph
        var arrivals = [[(state: TurnState, arc: Int)]](repeating: [], count: graph.edgeCount)
        for state in 0..<TurnState(metric.turns.stateCount) {
            for arc in metric.turns.arcs(from: state) {
                arrivals[metric.turns.edge(of: metric.turns.target(of: arc)).index].append((state, arc))
            }
        }
        self.arrivals = arrivals
    }

    /// Costs of states: within the surroundings of the start, and once out of them.
    struct Labels {
        var near: [UInt64?]
        var far: [UInt64?]
        /// The least cost along the origin's own edge to a place on it.
        var origins: [(edge: EdgeIndex, offset: Double)]

        func cost(_ state: TurnState) -> UInt64? {
            [near[Int(state)], far[Int(state)]].compactMap { $0 }.min()
        }
    }

    func part(_ edge: EdgeIndex, _ start: Double, _ end: Double) -> UInt64 {
        let length = Double(graph.edgeLengths[edge.index])
        guard length > 0 else { return 0 }
        return UInt64((Double(metric.cost(of: edge)) * min(max((min(end, length) - start) / length, 0), 1)).rounded())
    }

    /// Costs from places; `surroundings` are where maneuvers cost more.
    func labels(
        from origins: [(edge: EdgeIndex, offset: Double)], surroundings: (centre: Coordinate, radius: Double)? = nil
    ) -> Labels {
        let turns = metric.turns
        let count = turns.stateCount
        // Layer 0 within the surroundings, layer 1 beyond.
        var costs = [UInt64?](repeating: nil, count: count * 2)
        var heap = Heap()
        func improve(_ key: Int, _ cost: UInt64) {
            if cost < costs[key] ?? .max {
                costs[key] = cost
                heap.push(cost, key)
            }
        }
        for origin in origins where metric.allows(origin.edge) {
            improve(Int(origin.edge.rawValue), part(origin.edge, origin.offset, .infinity))
        }
        while let (cost, key) = heap.pop() {
            guard costs[key] == cost else { continue }
            let state = TurnState(key % count)
            var layer = key / count
            if layer == 0, !isNear(state, surroundings) {
                costs[key] = nil
                layer = 1
                improve(count + Int(state), cost)
                continue
            }
            for arc in turns.arcs(from: state) where metric.cost(ofArc: arc) != Metric.forbidden {
                let next = turns.target(of: arc)
                improve(
                    layer * count + Int(next),
                    cost + turn(state, arc, isNear: layer == 0) + UInt64(metric.cost(of: turns.edge(of: next))))
            }
        }
        return Labels(near: Array(costs[..<count]), far: Array(costs[count...]), origins: origins)
    }

    /// The least cost to a place.
    func cost(_ labels: Labels, to edge: EdgeIndex, at offset: Double) -> UInt64? {
        guard metric.allows(edge) else { return nil }
        var best: UInt64?
        for origin in labels.origins where origin.edge == edge && origin.offset <= offset && metric.allows(edge) {
            best = min(best ?? .max, part(edge, origin.offset, offset))
        }
        for (state, arc) in arrivals[edge.index] where metric.cost(ofArc: arc) != Metric.forbidden {
            for (isNear, label) in [(true, labels.near[Int(state)]), (false, labels.far[Int(state)])] {
                guard let label else { continue }
                best = min(best ?? .max, label + turn(state, arc, isNear: isNear) + part(edge, 0, offset))
            }
        }
        return best
    }

    private func isNear(_ state: TurnState, _ surroundings: (centre: Coordinate, radius: Double)?) -> Bool {
        guard let surroundings else { return false }
        let head = graph.edgeHeads[metric.turns.edge(of: state).index]
        let point = LocalFrame(origin: surroundings.centre).point(graph.nodePositions[head.index].coordinate)
        return point.length <= surroundings.radius
    }

    private func turn(_ state: TurnState, _ arc: Int, isNear: Bool) -> UInt64 {
        let cost = UInt64(metric.cost(ofArc: arc))
        guard isNear else { return cost }
        let first = metric.turns.edge(of: state)
        let second = metric.turns.edge(of: metric.turns.target(of: arc))
        let angle = Angle.separation(
            Double(graph.edgeEndBearings[first.index]), Double(graph.edgeStartBearings[second.index]))
        let exits = graph.outgoing(graph.edgeHeads[first.index]).filter { metric.allows($0) }.count
        let isManeuver = graph.opposite(first) == second || exits > 2 && angle > .pi / 6
        return cost + (isManeuver ? 120_000 : 0)
    }

    private struct Heap {
        var entries: [(UInt64, Int)] = []

        mutating func push(_ cost: UInt64, _ key: Int) {
            entries.append((cost, key))
            var child = entries.count - 1
            while child > 0, entries[(child - 1) / 2] > entries[child] {
                entries.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
        }

        mutating func pop() -> (UInt64, Int)? {
            guard let first = entries.first, let last = entries.popLast() else { return nil }
            guard !entries.isEmpty else { return first }
            entries[0] = last
            var parent = 0
            while true {
                var least = parent
                for child in [2 * parent + 1, 2 * parent + 2]
                where child < entries.count && entries[child] < entries[least] { least = child }
                if least == parent { break }
                entries.swapAt(parent, least)
                parent = least
            }
            return first
        }
    }
}
