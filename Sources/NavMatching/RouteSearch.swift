import NavMap
import NavRouting

/// One way to reach a candidate by road.
struct Reach {
    var candidate: Int
    /// Metres from the source to the start of the candidate's edge.
    var distance: Double
    /// Turns round on the way.
    var uTurns: Int
    var state: TurnState
}

/// Bounded Dijkstra from one place to all candidates at once, over the turn graph, by distance.
///
/// A label holds the cost from the source to the start of its state's edge. The labels lie in a small table that grows with the search and
/// not with the map: states around a place have numbers that lie together, so their low bits place them. A label is valid in one search
/// only, told by its number, so that starting one costs nothing.
struct RouteSearch {
    /// Parent of a state that is entered from the end of the source's edge.
    static let fromSource = TurnState.max
    /// Parent of a state that is entered after turning round on the source's edge.
    static let fromOpposite = TurnState.max - 1

    private struct Label {
        var search: UInt32 = 0
        var state: TurnState = 0
        var parent: TurnState = 0
        var cost: Float = 0
        var uTurns: Int32 = 0
    }

    private struct Entry {
        var cost: Float
        var state: TurnState
    }

    private var labels: ContiguousArray<Label> = ContiguousArray(repeating: Label(), count: 1 << 9)
    /// Labels of the search under way.
    private var labelled = 0
    private var heap: ContiguousArray<Entry> = []
    private var search: UInt32 = 0
    private var candidates: ContiguousArray<EdgeIndex> = []
    /// A bit for the low six bits of each candidate's number: most edges are told from all candidates by it.
    private var filter: UInt64 = 0
    /// The states that the last search reached.
    private(set) var reached: ContiguousArray<Reach> = []

    mutating func removeCandidates() {
        candidates.removeAll(keepingCapacity: true)
        filter = 0
    }

    /// Adds an edge to look for; their numbers count from 0.
    mutating func addCandidate(_ edge: EdgeIndex) {
        candidates.append(edge)
        filter |= 1 << UInt64(edge.rawValue & 63)
    }

    @inline(__always)
    func candidate(on edge: EdgeIndex) -> Int? {
        guard filter & 1 << UInt64(edge.rawValue & 63) != 0 else { return nil }
        for number in 0..<candidates.count where candidates[number] == edge { return number }
        return nil
    }

    /// Searches from a place on an edge.
    ///
    /// - Parameters:
    ///   - state: a state on the edge.
    ///   - toEnd: metres to the edge's end.
    ///   - toStart: metres to the edge's start, where turning round leads.
    ///   - opposite: the edge in the other direction, or ``RoadGraph/noEdge``.
    ///   - uTurnCost: metres that a turn counts as when ways are compared.
    ///   - bounds: for each candidate the metres to its edge's start up to which it matters; below 0 for one that does not.
    ///   - budget: states that may still be settled; lowered by those that were.
    mutating func run(
        _ turns: TurnGraph, _ metric: Metric, from state: TurnState, toEnd: Double, toStart: Double,
        opposite: EdgeIndex, uTurnCost: Float, bounds: ContiguousArray<Float>, budget: inout Int
    ) {
        reached.removeAll(keepingCapacity: true)
        var pending: UInt32 = 0
        var bound: Float = -1
        for number in 0..<min(bounds.count, 32) where bounds[number] >= 0 {
            pending |= 1 << UInt32(number)
            bound = max(bound, bounds[number])
        }
        guard pending != 0 else { return }
        let turnsRound = opposite != RoadGraph.noEdge && Float(toStart) + uTurnCost <= bound
        guard Float(toEnd) <= bound || turnsRound else { return }
        begin()
        relax(
            turns, metric, from: state, cost: Float(toEnd), uTurns: 0, parent: RouteSearch.fromSource,
            uTurnCost: uTurnCost, bound: bound)
        if turnsRound {
            relax(
                turns, metric, from: opposite.rawValue, cost: Float(toStart) + uTurnCost, uTurns: 1,
                parent: RouteSearch.fromOpposite, uTurnCost: uTurnCost, bound: bound)
        }
        while pending != 0, budget > 0, let entry = pop() {
            let label = labels[slot(of: entry.state)]
            guard label.cost == entry.cost else { continue }
            guard label.cost <= bound else { break }
            budget -= 1
            let edge = turns.edge(of: entry.state)
            if let number = candidate(on: edge), pending & 1 << UInt32(number) != 0 {
                pending &= ~(1 << UInt32(number))
                if label.cost <= bounds[number] {
                    reached.append(
                        Reach(
                            candidate: number, distance: Double(label.cost - Float(label.uTurns) * uTurnCost),
                            uTurns: Int(label.uTurns), state: entry.state))
                }
                bound = -1
                for other in 0..<bounds.count where pending & 1 << UInt32(other) != 0 {
                    bound = max(bound, bounds[other])
                }
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
            let parent = labels[slot(of: state)].parent
            if parent == RouteSearch.fromSource { return false }
            if parent == RouteSearch.fromOpposite { return true }
            state = parent
        }
    }

    private mutating func begin() {
        heap.removeAll(keepingCapacity: true)
        labelled = 0
        if search == .max {
            for index in labels.indices { labels[index].search = 0 }
            search = 0
        }
        search += 1
    }

    /// Returns the slot of a state's label, or the one where it belongs.
    @inline(__always)
    private func slot(of state: TurnState) -> Int {
        let mask = labels.count - 1
        var slot = Int(state) & mask
        while labels[slot].search == search, labels[slot].state != state { slot = (slot + 1) & mask }
        return slot
    }

    /// Twice the room: at most half of the table is ever in use.
    private mutating func grow() {
        let old = labels
        labels = ContiguousArray(repeating: Label(), count: old.count * 2)
        for label in old where label.search == search { labels[slot(of: label.state)] = label }
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
            var slot = slot(of: target)
            if labels[slot].search == search {
                guard total < labels[slot].cost else { continue }
            } else {
                if labelled * 2 >= labels.count {
                    grow()
                    slot = self.slot(of: target)
                }
                labelled += 1
            }
            labels[slot] = Label(
                search: search, state: target, parent: parent, cost: total, uTurns: turning ? uTurns + 1 : uTurns)
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
