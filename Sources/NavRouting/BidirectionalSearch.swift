import NavMap

/// A place on an edge where a search starts or ends.
struct EdgePosition: Hashable {
    var edge: EdgeIndex
    /// Metres from the edge's start.
    var offset: Double
    /// What choosing this place costs, ms.
    var penalty: UInt32 = 0
}

/// Dijkstra's search from both ends over the turn graph: exact for every metric.
///
/// A forward label is the cost from the origin to the end of a state's edge, a backward label the cost from there to the destination.
struct BidirectionalSearch {
    enum Result {
        /// The edges in travel order, the origin's and the destination's included, with the cost in ms; `origin` and `destination` say
        /// which of the given places were used.
        case path([EdgeIndex], cost: UInt64, origin: EdgePosition, destination: EdgePosition)
        case unreachable
        case tilesNeeded([RoadTileID])
    }

    private let metric: Metric
    private let turns: TurnGraph
    private let workspace: SearchWorkspace

    init(_ metric: Metric, _ workspace: SearchWorkspace) {
        self.metric = metric
        turns = metric.turns
        self.workspace = workspace
    }

    func run(from origins: [EdgePosition], to destinations: [EdgePosition]) -> Result {
        workspace.forward.begin(turns.stateCount)
        workspace.backward.begin(turns.stateCount)
        var best = Meeting()
        var open = OpenEnds()
        for (index, origin) in origins.enumerated() where metric.allows(origin.edge) {
            for (target, destination) in destinations.enumerated()
            where destination.edge == origin.edge && destination.offset >= origin.offset {
                let cost = metric.cost(of: origin.edge, from: origin.offset, to: destination.offset)
                best.improve(direct: (index, target), cost: cost &+ origin.penalty &+ destination.penalty)
            }
            let length = Double(turns.graph.edgeLengths[origin.edge.index])
            workspace.forward.improve(
                origin.edge.rawValue,
                cost: metric.cost(of: origin.edge, from: origin.offset, to: length) &+ origin.penalty,
                parent: terminal(index))
        }
        for (index, destination) in destinations.enumerated() where metric.allows(destination.edge) {
            let tail = metric.cost(of: destination.edge, from: 0, to: destination.offset) &+ destination.penalty
            open.noteBackward(turns.graph.edgeTails[destination.edge.index], turns.graph, cost: tail)
            for state in states(on: destination.edge) {
                relaxBackward(into: state, tail: tail, parent: terminal(index), &best)
            }
        }
        while true {
            let forwardFrontier = workspace.forward.frontier
            let backwardFrontier = workspace.backward.frontier
            guard forwardFrontier != .max, backwardFrontier != .max,
                UInt64(forwardFrontier) + UInt64(backwardFrontier) < UInt64(best.cost)
            else { break }
            if forwardFrontier <= backwardFrontier {
                settleForward(&best, &open)
            } else {
                settleBackward(&best, &open)
            }
        }
        if best.cost == .max { drain(&open) }
        let missing = open.missing(
            turns.graph, best: best.cost, forwardFrontier: workspace.forward.frontier,
            backwardFrontier: workspace.backward.frontier)
        if !missing.isEmpty { return .tilesNeeded(missing) }
        return best.cost == .max ? .unreachable : path(best, origins, destinations)
    }

    /// A parent that stands for the place `index` itself, where a chain of parents ends.
    private func terminal(_ index: Int) -> TurnState { TurnState(turns.stateCount + index) }

    /// All states that stand on an edge.
    private func states(on edge: EdgeIndex) -> [TurnState] {
        var result = [edge.rawValue]
        for (index, split) in turns.splitEdges.enumerated() where split == edge {
            result.append(TurnState(turns.graph.edgeCount + index))
        }
        return result
    }

    private func relaxBackward(into state: TurnState, tail: UInt32, parent: TurnState, _ best: inout Meeting) {
        for slot in turns.reverseOffsets[Int(state)]..<turns.reverseOffsets[Int(state) + 1] {
            let turn = metric.arcCosts[Int(turns.reverseArcs[Int(slot)])]
            guard turn != Metric.forbidden else { continue }
            let (cost, overflow) = tail.addingReportingOverflow(turn)
            guard !overflow else { continue }
            let source = turns.reverseSources[Int(slot)]
            workspace.backward.improve(source, cost: cost, parent: parent)
            best.improve(source, workspace.forward.cost(source), cost)
        }
    }

    private func settleForward(_ best: inout Meeting, _ open: inout OpenEnds) {
        guard let entry = workspace.forward.settle() else { return }
        best.improve(entry.state, entry.cost, workspace.backward.cost(entry.state))
        open.noteForward(turns.graph.edgeHeads[turns.edge(of: entry.state).index], turns.graph, cost: entry.cost)
        for arc in turns.arcs(from: entry.state) {
            let turn = metric.arcCosts[arc]
            guard turn != Metric.forbidden else { continue }
            let target = turns.arcTargets[arc]
            let (partial, first) = entry.cost.addingReportingOverflow(turn)
            let (cost, second) = partial.addingReportingOverflow(metric.edgeCosts[turns.edge(of: target).index])
            guard !first, !second else { continue }
            workspace.forward.improve(target, cost: cost, parent: entry.state)
            best.improve(target, cost, workspace.backward.cost(target))
        }
    }

    private func settleBackward(_ best: inout Meeting, _ open: inout OpenEnds) {
        guard let entry = workspace.backward.settle() else { return }
        let edge = turns.edge(of: entry.state)
        let (tail, overflow) = entry.cost.addingReportingOverflow(metric.edgeCosts[edge.index])
        guard !overflow else { return }
        open.noteBackward(turns.graph.edgeTails[edge.index], turns.graph, cost: tail)
        relaxBackward(into: entry.state, tail: tail, parent: entry.state, &best)
    }

    /// Without a path, what lies open at either end is known only when both searches have run dry.
    private func drain(_ open: inout OpenEnds) {
        var ignored = Meeting()
        while workspace.forward.frontier != .max { settleForward(&ignored, &open) }
        while workspace.backward.frontier != .max { settleBackward(&ignored, &open) }
    }

    private func path(_ meeting: Meeting, _ origins: [EdgePosition], _ destinations: [EdgePosition]) -> Result {
        if let (origin, destination) = meeting.direct {
            return .path(
                [origins[origin].edge], cost: UInt64(meeting.cost), origin: origins[origin],
                destination: destinations[destination])
        }
        var edges: [EdgeIndex] = []
        var state = meeting.state
        while Int(state) < turns.stateCount {
            edges.append(turns.edge(of: state))
            state = workspace.forward.parent(state)
        }
        let origin = origins[Int(state) - turns.stateCount]
        edges.reverse()
        state = workspace.backward.parent(meeting.state)
        while Int(state) < turns.stateCount {
            edges.append(turns.edge(of: state))
            state = workspace.backward.parent(state)
        }
        let destination = destinations[Int(state) - turns.stateCount]
        edges.append(destination.edge)
        return .path(edges, cost: UInt64(meeting.cost), origin: origin, destination: destination)
    }
}

/// The cheapest meeting of the two searches so far.
private struct Meeting {
    var cost: UInt32 = .max
    var state: TurnState = 0
    /// The places, when the route stays on one edge.
    var direct: (origin: Int, destination: Int)?

    mutating func improve(direct places: (Int, Int), cost: UInt32) {
        guard cost < self.cost else { return }
        self.cost = cost
        direct = places
    }

    @inline(__always)
    mutating func improve(_ state: TurnState, _ forward: UInt32, _ backward: UInt32) {
        guard forward != .max, backward != .max else { return }
        let (sum, overflow) = forward.addingReportingOverflow(backward)
        guard !overflow, sum < cost else { return }
        cost = sum
        self.state = state
        direct = nil
    }
}

/// Nodes where the loaded tiles end, with the cost at which either search reached them.
private struct OpenEnds {
    private var forward: [(node: NodeIndex, cost: UInt32)] = []
    private var backward: [(node: NodeIndex, cost: UInt32)] = []

    mutating func noteForward(_ node: NodeIndex, _ graph: RoadGraph, cost: UInt32) {
        if graph.isIncomplete(node) { forward.append((node, cost)) }
    }

    mutating func noteBackward(_ node: NodeIndex, _ graph: RoadGraph, cost: UInt32) {
        if graph.isIncomplete(node) { backward.append((node, cost)) }
    }

    /// The tiles without which a route cheaper than `best` cannot be ruled out.
    ///
    /// Such a route leaves the loaded tiles at an open end that the forward search reaches and returns at one that the backward search
    /// reaches; what a search has not settled costs at least its frontier.
    func missing(_ graph: RoadGraph, best: UInt32, forwardFrontier: UInt32, backwardFrontier: UInt32) -> [RoadTileID] {
        let leastForward = min(forward.map(\.cost).min() ?? .max, forwardFrontier)
        let leastBackward = min(backward.map(\.cost).min() ?? .max, backwardFrontier)
        guard leastForward != .max, leastBackward != .max else { return [] }
        var tiles: Set<RoadTileID> = []
        for end in forward where UInt64(end.cost) + UInt64(leastBackward) < UInt64(best) {
            tiles.formUnion(graph.missingTiles(at: end.node))
        }
        for end in backward where UInt64(end.cost) + UInt64(leastForward) < UInt64(best) {
            tiles.formUnion(graph.missingTiles(at: end.node))
        }
        return tiles.sorted()
    }
}
