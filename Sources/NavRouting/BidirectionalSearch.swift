import NavMap

/// A place on an edge where a search starts or ends.
struct EdgePosition: Hashable {
    var edge: EdgeIndex
    /// Metres from the edge's start.
    var offset: Double
    /// The penalty for choosing this place, ms.
    var penalty: UInt32 = 0
    /// The state in which the edge is left or reached; nil means the edge's own state when left, and any state when reached.
    var state: TurnState?

    /// Whether a vehicle at `origin` can drive here without leaving the edge.
    func mayFollow(_ origin: EdgePosition) -> Bool {
        edge == origin.edge && offset >= origin.offset
            && (state == nil || state == origin.state ?? origin.edge.rawValue)
    }
}

/// A search for the cheapest path between several origins and several destinations.
protocol LegSearch {
    func run(from origins: [EdgePosition], to destinations: [EdgePosition]) -> LegResult
}

/// The result of a search between two waypoints.
enum LegResult {
    /// The edges in travel order, including the origin's and the destination's, with the cost in ms; `origin` and
    /// `destination` are the chosen places.
    case path([EdgeIndex], cost: UInt64, origin: EdgePosition, destination: EdgePosition)
    case unreachable
    case tilesNeeded([RoadTileID])
}

/// A bidirectional Dijkstra search over the turn graph, exact for every metric.
///
/// A forward label is the cost from the origin to the end of a state's edge, a backward label the cost from there to
/// the destination.
struct BidirectionalSearch: LegSearch {
    private let metric: Metric
    private let turns: TurnGraph
    private let workspace: SearchWorkspace

    init(_ metric: Metric, _ workspace: SearchWorkspace) {
        self.metric = metric
        turns = metric.turns
        self.workspace = workspace
    }

    func run(from origins: [EdgePosition], to destinations: [EdgePosition]) -> LegResult {
        workspace.forward.begin(turns.stateCount)
        workspace.backward.begin(turns.stateCount)
        var best = Meeting()
        var open = OpenEnds()
        for (index, origin) in origins.enumerated() where metric.allows(origin.edge) {
            for (target, destination) in destinations.enumerated()
            where destination.mayFollow(origin) {
                let cost = metric.cost(of: origin.edge, from: origin.offset, to: destination.offset)
                best.improve(direct: (index, target), cost: saturating(cost, origin.penalty, destination.penalty))
            }
            let length = Double(turns.graph.edgeLengths[origin.edge.index])
            workspace.forward.improve(
                origin.state ?? origin.edge.rawValue,
                cost: saturating(metric.cost(of: origin.edge, from: origin.offset, to: length), origin.penalty),
                parent: terminal(index))
        }
        for (index, destination) in destinations.enumerated() where metric.allows(destination.edge) {
            let tail = saturating(
                metric.cost(of: destination.edge, from: 0, to: destination.offset), destination.penalty)
            open.noteBackward(turns.graph.edgeTails[destination.edge.index], turns.graph, cost: tail)
            for state in destination.state.map({ [$0] }) ?? turns.states(on: destination.edge) {
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
        let missing = missingTiles(best.cost, &open)
        if !missing.isEmpty { return .tilesNeeded(missing) }
        return best.cost == .max ? .unreachable : path(best, origins, destinations)
    }

    /// Returns the parent value that represents the place `index` and ends a chain of parents.
    private func terminal(_ index: Int) -> TurnState { TurnState(turns.stateCount + index) }

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

    /// Returns the tiles that are needed to rule out a route as cheap as `best`, by ascending id.
    ///
    /// Such a route leaves the loaded tiles at an open end that the forward search reaches and returns at one that the backward search
    /// reaches. Once one search has found an open end, the other continues until it has found all open ends that are near enough; without a
    /// path, it continues until it is exhausted. Equal costs count, because turns at open ends may cost more than the loaded tiles show.
    private func missingTiles(_ best: UInt32, _ open: inout OpenEnds) -> [RoadTileID] {
        var settled = Meeting()
        while true {
            if mayUndercut(best, open.least.forward, workspace.backward.frontier) {
                settleBackward(&settled, &open)
            } else if mayUndercut(best, workspace.forward.frontier, open.least.backward) {
                settleForward(&settled, &open)
            } else {
                break
            }
        }
        return open.missing(turns.graph) { mayUndercut(best, $0, $1) }
    }

    /// Whether two partial paths of these costs, each `UInt32.max` when there is none, may be as cheap as `best`.
    private func mayUndercut(_ best: UInt32, _ forward: UInt32, _ backward: UInt32) -> Bool {
        guard forward != .max, backward != .max else { return false }
        return best == .max || UInt64(forward) + UInt64(backward) <= UInt64(best)
    }

    /// Returns a sum of costs, saturating just below the largest label.
    private func saturating(_ first: UInt32, _ second: UInt32, _ third: UInt32 = 0) -> UInt32 {
        boundedSum(first, second, third, limit: Metric.forbidden - 1)
    }

    private func path(_ meeting: Meeting, _ origins: [EdgePosition], _ destinations: [EdgePosition]) -> LegResult {
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

/// Returns a sum of costs, ms, of at most `limit`.
func boundedSum(_ first: UInt32, _ second: UInt32, _ third: UInt32 = 0, limit: UInt32) -> UInt32 {
    UInt32(min(UInt64(first) + UInt64(second) + UInt64(third), UInt64(limit)))
}

/// The cheapest meeting point of the two searches so far.
private struct Meeting {
    var cost: UInt32 = .max
    var state: TurnState = 0
    /// The places, if the route stays on one edge.
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

/// The nodes at which the loaded tiles end, with the cost at which either search reached them.
private struct OpenEnds {
    private var forward: [(node: NodeIndex, cost: UInt32)] = []
    private var backward: [(node: NodeIndex, cost: UInt32)] = []
    /// The least cost of each side's open ends; `UInt32.max` when it has none.
    private(set) var least: (forward: UInt32, backward: UInt32) = (.max, .max)

    @inline(__always)
    mutating func noteForward(_ node: NodeIndex, _ graph: RoadGraph, cost: UInt32) {
        guard graph.lacksDepartures(node) else { return }
        forward.append((node, cost))
        least.forward = min(least.forward, cost)
    }

    @inline(__always)
    mutating func noteBackward(_ node: NodeIndex, _ graph: RoadGraph, cost: UInt32) {
        guard graph.lacksArrivals(node) else { return }
        backward.append((node, cost))
        least.backward = min(least.backward, cost)
    }

    /// Returns the tiles at open ends that satisfy `mayUndercut` together with the nearest open end of the other side.
    func missing(_ graph: RoadGraph, _ mayUndercut: (UInt32, UInt32) -> Bool) -> [RoadTileID] {
        var tiles: Set<RoadTileID> = []
        for end in forward where mayUndercut(end.cost, least.backward) {
            tiles.formUnion(graph.missingTiles(at: end.node))
        }
        for end in backward where mayUndercut(least.forward, end.cost) {
            tiles.formUnion(graph.missingTiles(at: end.node))
        }
        return tiles.sorted()
    }
}
