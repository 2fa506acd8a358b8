import NavMap

/// The seeds of a search between places.
struct HierarchyEnds {
    var origins: [HierarchySeed] = []
    var destinations: [HierarchySeed] = []
    /// The place of each destination seed.
    var places: [Int] = []
    /// The cheapest path along one edge, if origin and destination lie on the same edge.
    var direct: (origin: Int, destination: Int, cost: UInt32)?
    /// The places that the origin seeds and destinations refer to by number.
    var originPlaces: [EdgePosition]
    var destinationPlaces: [EdgePosition]
}

/// A leg search over a contraction hierarchy.
///
/// It is as exact as ``BidirectionalSearch``, which it falls back to where missing tiles may matter.
struct HierarchySearch: LegSearch {
    private let costs: HierarchyMetric
    private let workspace: SearchWorkspace

    init(_ costs: HierarchyMetric, _ workspace: SearchWorkspace) {
        self.costs = costs
        self.workspace = workspace
    }

    func run(from origins: [EdgePosition], to destinations: [EdgePosition]) -> LegResult {
        let ends = ends(origins, destinations)
        let bound = min(ends.direct?.cost ?? HierarchyMetric.unreachable, HierarchyMetric.unreachable)
        let query = HierarchyQuery(costs, workspace.hierarchy)
        let path = query.run(from: ends.origins, to: ends.destinations, bound: bound)
        let best = path?.cost ?? ends.direct?.cost
        if mayLackTiles(ends, destinations, best: best) {
            return BidirectionalSearch(costs.metric, workspace).run(from: origins, to: destinations)
        }
        if let path {
            var edges: [EdgeIndex] = []
            let states = query.states(of: path)
            edges.reserveCapacity(states.count + 1)
            for state in states { edges.append(costs.hierarchy.turns.edge(of: state)) }
            let destination = destinations[ends.places[path.destination]]
            edges.append(destination.edge)
            return .path(
                edges, cost: UInt64(path.cost), origin: origins[path.origin], destination: destination)
        }
        if let direct = ends.direct {
            return .path(
                [origins[direct.origin].edge], cost: UInt64(direct.cost), origin: origins[direct.origin],
                destination: destinations[direct.destination])
        }
        return .unreachable
    }

    /// Returns origins as the ends of their edges, and destinations as the states with a turn onto their edges.
    func ends(_ origins: [EdgePosition], _ destinations: [EdgePosition]) -> HierarchyEnds {
        let metric = costs.metric
        let turns = metric.turns
        var ends = HierarchyEnds(originPlaces: origins, destinationPlaces: destinations)
        for (index, origin) in origins.enumerated() {
            guard metric.allows(origin.edge) else {
                // A placeholder that no search uses keeps seed and place numbers aligned.
                ends.origins.append(HierarchySeed(state: origin.edge.rawValue, cost: HierarchyMetric.unreachable))
                continue
            }
            for (target, destination) in destinations.enumerated()
            where destination.mayFollow(origin) {
                let cost = saturating(
                    metric.cost(of: origin.edge, from: origin.offset, to: destination.offset), origin.penalty,
                    destination.penalty)
                if cost < ends.direct?.cost ?? .max { ends.direct = (index, target, cost) }
            }
            let length = Double(turns.graph.edgeLengths[origin.edge.index])
            let cost = saturating(metric.cost(of: origin.edge, from: origin.offset, to: length), origin.penalty)
            ends.origins.append(HierarchySeed(state: origin.state ?? origin.edge.rawValue, cost: cost))
        }
        for (index, destination) in destinations.enumerated() where metric.allows(destination.edge) {
            let tail = saturating(
                metric.cost(of: destination.edge, from: 0, to: destination.offset), destination.penalty)
            for state in destination.state.map({ [$0] }) ?? turns.states(on: destination.edge) {
                for slot in turns.reverseOffsets[Int(state)]..<turns.reverseOffsets[Int(state) + 1] {
                    let turn = metric.arcCosts[Int(turns.reverseArcs[Int(slot)])]
                    guard turn != Metric.forbidden else { continue }
                    ends.destinations.append(
                        HierarchySeed(state: turns.reverseSources[Int(slot)], cost: saturating(tail, turn)))
                    ends.places.append(index)
                }
            }
        }
        return ends
    }

    private func saturating(_ first: UInt32, _ second: UInt32, _ third: UInt32 = 0) -> UInt32 {
        boundedSum(first, second, third, limit: HierarchyMetric.unreachable)
    }

    /// Whether a path that leaves and re-enters the loaded tiles may be as cheap as the best path within them.
    private func mayLackTiles(_ ends: HierarchyEnds, _ destinations: [EdgePosition], best: UInt32?) -> Bool {
        guard let openEnds = costs.openEnds else { return false }
        let turns = costs.metric.turns
        var (leaving, returning) = (UInt64.max, UInt64.max)
        for seed in ends.origins {
            let further = openEnds.leaving(costs.hierarchy.ranks[Int(seed.state)])
            guard seed.cost < HierarchyMetric.unreachable, further < HierarchyMetric.unreachable else { continue }
            leaving = min(leaving, UInt64(seed.cost) + UInt64(further))
        }
        for seed in ends.destinations {
            let before = openEnds.returning(costs.hierarchy.ranks[Int(seed.state)])
            guard seed.cost < HierarchyMetric.unreachable, before < HierarchyMetric.unreachable else { continue }
            returning = min(returning, UInt64(seed.cost) + UInt64(before))
        }
        for destination in destinations
        where costs.metric.allows(destination.edge)
            && turns.graph.lacksArrivals(turns.graph.edgeTails[destination.edge.index])
        {
            let tail = saturating(
                costs.metric.cost(of: destination.edge, from: 0, to: destination.offset), destination.penalty)
            returning = min(returning, UInt64(tail))
        }
        guard leaving != .max, returning != .max else { return false }
        return best.map { leaving + returning <= UInt64($0) } ?? true
    }
}
