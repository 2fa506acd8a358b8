import NavGeo
import NavMap

/// A search within the surroundings of the start, where maneuvers cost more.
///
/// It uses no hierarchy, because its costs apply to this start only. Its ends are the origins of the subsequent search.
///
/// Once the vehicle has left the surroundings, maneuvers have their usual cost, even where it returns.
struct InitialStretch {
    private let metric: Metric
    private let frame: LocalFrame
    private let radius: Double
    private var labels: [TurnState: (cost: UInt32, parent: TurnState?, origin: Int)] = [:]
    private var heap = QuaternaryHeap()

    /// - Parameter radius: Metres around `start`.
    init(_ metric: Metric, start: Coordinate, radius: Double) {
        self.metric = metric
        self.radius = radius
        frame = LocalFrame(origin: start)
    }

    /// Returns the cheapest path; its first part lies within the surroundings, and `search` finds the rest.
    mutating func run(
        from origins: [EdgePosition], to destinations: [EdgePosition], _ search: any LegSearch
    ) -> LegResult {
        let metric = metric
        let turns = metric.turns
        let graph = turns.graph
        var inside: (cost: UInt64, state: TurnState?, origin: Int, destination: Int)?
        func offer(_ cost: UInt64, _ state: TurnState?, _ origin: Int, _ destination: Int) {
            if cost < inside?.cost ?? .max { inside = (cost, state, origin, destination) }
        }
        for (index, origin) in origins.enumerated() where metric.allows(origin.edge) {
            for (target, destination) in destinations.enumerated() where destination.mayFollow(origin) {
                let part = metric.cost(of: origin.edge, from: origin.offset, to: destination.offset)
                offer(UInt64(part) + UInt64(origin.penalty) + UInt64(destination.penalty), nil, index, target)
            }
            let length = Double(graph.edgeLengths[origin.edge.index])
            let part = metric.cost(of: origin.edge, from: origin.offset, to: length)
            improve(
                origin.state ?? origin.edge.rawValue, UInt64(part) + UInt64(origin.penalty), parent: nil, origin: index)
        }
        var seeds: [EdgePosition] = []
        while let entry = heap.popFirst() {
            guard let label = labels[entry.state], label.cost == entry.cost else { continue }
            let edge = turns.edge(of: entry.state)
            let node = graph.edgeHeads[edge.index]
            guard isInside(node) else {
                seeds.append(
                    EdgePosition(
                        edge: edge, offset: Double(graph.edgeLengths[edge.index]), penalty: entry.cost,
                        state: entry.state))
                continue
            }
            let isJunction = metric.isJunction(node)
            for arc in turns.arcs(from: entry.state) {
                let turn = metric.cost(ofArc: arc)
                guard turn != Metric.forbidden else { continue }
                let next = turns.target(of: arc)
                let other = turns.edge(of: next)
                var reached = UInt64(entry.cost) + UInt64(turn)
                if isManeuver(edge, other, isJunction: isJunction) {
                    reached += UInt64(RouteOptions.initialManeuverPenalty * 1_000)
                }
                for (target, place) in destinations.enumerated()
                where place.edge == other && metric.allows(other) && place.state ?? next == next {
                    let tail = metric.cost(of: other, from: 0, to: place.offset)
                    offer(reached + UInt64(tail) + UInt64(place.penalty), entry.state, label.origin, target)
                }
                improve(next, reached + UInt64(metric.cost(of: other)), parent: entry.state, origin: label.origin)
            }
        }
        let beyond = seeds.isEmpty ? LegResult.unreachable : search.run(from: seeds, to: destinations)
        switch beyond {
        case .tilesNeeded: return beyond
        case .path(let edges, let cost, let seed, let destination) where cost < inside?.cost ?? .max:
            guard let state = seed.state, let origin = labels[state]?.origin else { return .unreachable }
            return .path(
                way(to: state) + edges.dropFirst(), cost: cost, origin: origins[origin], destination: destination)
        case .path, .unreachable:
            guard let inside else { return .unreachable }
            let destination = destinations[inside.destination]
            return .path(
                (inside.state.map { way(to: $0) } ?? []) + [destination.edge], cost: inside.cost,
                origin: origins[inside.origin], destination: destination)
        }
    }

    /// Returns the number of maneuvers of a path before it leaves the surroundings.
    func maneuvers(_ edges: [EdgeIndex]) -> Int {
        var count = 0
        for (edge, next) in zip(edges, edges.dropFirst()) {
            let node = metric.turns.graph.edgeHeads[edge.index]
            guard isInside(node) else { break }
            if isManeuver(edge, next, isJunction: metric.isJunction(node)) { count += 1 }
        }
        return count
    }

    private mutating func improve(_ state: TurnState, _ cost: UInt64, parent: TurnState?, origin: Int) {
        guard cost < UInt64(labels[state]?.cost ?? HierarchyMetric.unreachable) else { return }
        labels[state] = (UInt32(cost), parent, origin)
        heap.push(UInt32(cost), state)
    }

    /// Whether a node is inside; where the loaded tiles end, the subsequent search decides which are missing.
    private func isInside(_ node: NodeIndex) -> Bool {
        let graph = metric.turns.graph
        return frame.point(graph.nodePositions[node.index].coordinate).length <= radius && !graph.isIncomplete(node)
    }

    private func isManeuver(_ first: EdgeIndex, _ second: EdgeIndex, isJunction: Bool) -> Bool {
        let graph = metric.turns.graph
        if graph.edgeOpposites[first.index] == second { return true }
        guard isJunction else { return false }
        return Angle.separation(
            Double(graph.edgeEndBearings[first.index]), Double(graph.edgeStartBearings[second.index]))
            > RouteOptions.leastManeuver
    }

    private func way(to state: TurnState) -> [EdgeIndex] {
        var edges: [EdgeIndex] = []
        var next: TurnState? = state
        while let state = next {
            edges.append(metric.turns.edge(of: state))
            next = labels[state]?.parent
        }
        return edges.reversed()
    }
}
