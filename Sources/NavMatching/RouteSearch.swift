import NavMap
import NavRouting

/// One way to reach a candidate by road.
struct Reach {
    /// The candidate's number.
    var candidate: Int
    /// Metres from the source to the start of the candidate's edge.
    var distance: Double
    /// Turns round on the way.
    var uTurns: Int
    /// The state on the candidate's edge.
    var state: TurnState
}

/// Bounded Dijkstra from one place to all candidates at once, over the turn graph, by distance.
///
/// A label holds the cost from the source to the start of its state's edge. Labels are valid in one search only, told by their number, so
/// that starting one costs nothing.
struct RouteSearch {
    /// Parent of a state that is entered from the end of the source's edge.
    static let fromSource = TurnState.max
    /// Parent of a state that is entered after turning round on the source's edge.
    static let fromOpposite = TurnState.max - 1

    private struct Label {
        var search: UInt32 = 0
        var parent: TurnState = 0
        var cost: Float = 0
        var uTurns: Int32 = 0
    }

    private struct Entry {
        var cost: Float
        var state: TurnState
    }

    private var labels: ContiguousArray<Label> = []
    private var heap: ContiguousArray<Entry> = []
    private var search: UInt32 = 0
    private var candidateOfEdge: ContiguousArray<UInt64> = []
    private var round: UInt32 = 0
    /// What the last search reached.
    private(set) var reached: ContiguousArray<Reach> = []

    /// Makes room for a graph and forgets everything.
    mutating func prepare(_ turns: TurnGraph) {
        labels = ContiguousArray(repeating: Label(), count: turns.stateCount)
        candidateOfEdge = ContiguousArray(repeating: 0, count: turns.graph.edgeCount)
        search = 0
        round = 0
    }

    /// Sets the edges to look for; their numbers count from 0.
    mutating func setCandidates(_ edges: some Sequence<EdgeIndex>) {
        if round == .max {
            for index in candidateOfEdge.indices { candidateOfEdge[index] = 0 }
            round = 0
        }
        round += 1
        for (number, edge) in edges.enumerated() {
            candidateOfEdge[edge.index] = UInt64(round) << 32 | UInt64(number)
        }
    }

    /// The number of a candidate on an edge.
    @inline(__always)
    func candidate(on edge: EdgeIndex) -> Int? {
        let entry = candidateOfEdge[edge.index]
        return entry >> 32 == UInt64(round) ? Int(entry & 0xffff_ffff) : nil
    }

    /// Searches from a place on an edge.
    ///
    /// - Parameters:
    ///   - state: a state on the edge.
    ///   - toEnd: metres to the edge's end.
    ///   - toStart: metres to the edge's start, where turning round leads; nil when the road cannot be turned on.
    ///   - uTurnCost: metres that a turn counts as when ways are compared.
    ///   - bound: metres at which to stop.
    ///   - budget: states that may still be settled; lowered by those that were.
    mutating func run(
        _ turns: TurnGraph, _ metric: Metric, from state: TurnState, toEnd: Double, toStart: Double?, uTurnCost: Float,
        bound: Float, count: Int, budget: inout Int
    ) {
        reached.removeAll(keepingCapacity: true)
        heap.removeAll(keepingCapacity: true)
        if search == .max {
            for index in labels.indices { labels[index].search = 0 }
            search = 0
        }
        search += 1
        let edge = turns.edge(of: state)
        relax(
            turns, metric, from: state, cost: Float(toEnd), uTurns: 0, parent: RouteSearch.fromSource,
            uTurnCost: uTurnCost, bound: bound)
        if let toStart, let opposite = turns.graph.opposite(edge) {
            relax(
                turns, metric, from: opposite.rawValue, cost: Float(toStart) + uTurnCost, uTurns: 1,
                parent: RouteSearch.fromOpposite, uTurnCost: uTurnCost, bound: bound)
        }
        var remaining = count
        var found: UInt32 = 0
        while remaining > 0, budget > 0, let entry = pop() {
            let label = labels[Int(entry.state)]
            guard label.cost == entry.cost else { continue }
            budget -= 1
            let edge = turns.edge(of: entry.state)
            if let number = candidate(on: edge), found & 1 << UInt32(number) == 0 {
                found |= 1 << UInt32(number)
                remaining -= 1
                reached.append(
                    Reach(
                        candidate: number, distance: Double(label.cost - Float(label.uTurns) * uTurnCost),
                        uTurns: Int(label.uTurns), state: entry.state))
            }
            relax(
                turns, metric, from: entry.state, cost: label.cost + turns.graph.edgeLengths[edge.index],
                uTurns: label.uTurns, parent: entry.state, uTurnCost: uTurnCost, bound: bound)
        }
    }

    /// The states driven from the source's edge (not included) to a reached state, in reverse order, and whether it began with a turn.
    func chain(to state: TurnState, into states: inout ContiguousArray<TurnState>) -> Bool {
        var state = state
        while true {
            states.append(state)
            let parent = labels[Int(state)].parent
            if parent == RouteSearch.fromSource { return false }
            if parent == RouteSearch.fromOpposite { return true }
            state = parent
        }
    }

    @inline(__always)
    private mutating func relax(
        _ turns: TurnGraph, _ metric: Metric, from state: TurnState, cost: Float, uTurns: Int32, parent: TurnState,
        uTurnCost: Float, bound: Float
    ) {
        guard cost <= bound else { return }
        let opposite = turns.graph.edgeOpposites[turns.edge(of: state).index]
        for arc in turns.arcs(from: state) {
            let target = turns.target(of: arc)
            let edge = turns.edge(of: target)
            guard metric.allows(edge), !metric.isRestricted(arc) else { continue }
            let turning = edge == opposite
            let total = turning ? cost + uTurnCost : cost
            guard total <= bound else { continue }
            let known = labels[Int(target)]
            guard known.search != search || total < known.cost else { continue }
            labels[Int(target)] = Label(
                search: search, parent: parent, cost: total, uTurns: turning ? uTurns + 1 : uTurns)
            push(Entry(cost: total, state: target))
        }
    }

    @inline(__always)
    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        left.cost < right.cost || left.cost == right.cost && left.state < right.state
    }

    private mutating func push(_ entry: Entry) {
        heap.append(entry)
        var hole = heap.count - 1
        while hole > 0 {
            let parent = (hole - 1) / 2
            guard RouteSearch.precedes(entry, heap[parent]) else { break }
            heap[hole] = heap[parent]
            hole = parent
        }
        heap[hole] = entry
    }

    private mutating func pop() -> Entry? {
        guard let result = heap.first, let moved = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return result }
        var hole = 0
        while true {
            var child = hole * 2 + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, RouteSearch.precedes(heap[child + 1], heap[child]) { child += 1 }
            guard RouteSearch.precedes(heap[child], moved) else { break }
            heap[hole] = heap[child]
            hole = child
        }
        heap[hole] = moved
        return result
    }
}
