import NavMap
import NavRouting

/// A path by road to a candidate.
struct Reach {
    var candidate: Int
    /// Metres from the source to the start of the candidate's edge.
    var distance: Double
    /// U-turns on the path.
    var uTurns: Int
    var state: TurnState
}

/// A bounded Dijkstra search by distance over the turn graph, from one place to all candidates at once.
///
/// A label holds the cost from the source to the start of its state's edge. Labels are stored in a small hash table that grows with the
/// search, not with the map. Nearby states have nearby numbers, so their low bits serve as the hash.
///
/// Each label carries the number of its search and is valid in that search only, so starting a search needs no clearing.
struct RouteSearch {
    /// The parent of a state that is entered from the end of the source's edge.
    static let fromSource = TurnState.max
    /// The parent of a state that is entered after a U-turn on the source's edge.
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
    /// The number of labels in the current search.
    private var labelled = 0
    private var heap: ContiguousArray<Entry> = []
    private var search: UInt32 = 0
    private var candidates: ContiguousArray<EdgeIndex> = []
    /// A bitmap of the low six bits of each candidate's edge number, which excludes most edges quickly.
    private var filter: UInt64 = 0
    /// The candidates that the last search reached.
    private(set) var reached: ContiguousArray<Reach> = []

    mutating func removeCandidates() {
        candidates.removeAll(keepingCapacity: true)
        filter = 0
    }

    /// Adds a candidate edge; candidates are numbered from 0.
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
    ///   - state: A state on the edge.
    ///   - toEnd: Metres to the edge's end.
    ///   - toStart: Metres to the edge's start, where a U-turn leads.
    ///   - opposite: The opposite edge, or ``RoadGraph/noEdge``.
    ///   - uTurnCost: Metres that a U-turn counts as when paths are compared.
    ///   - bounds: For each candidate the maximum distance to its edge's start, metres; below 0 to skip the candidate.
    ///   - budget: The number of states that may still be settled; reduced by the search.
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

    /// Appends the states from the source's edge (excluded) to a reached state in reverse order; returns whether a
    /// U-turn came first.
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

    /// Returns the slot of a state's label, or the free slot for it.
    @inline(__always)
    private func slot(of state: TurnState) -> Int {
        let mask = labels.count - 1
        var slot = Int(state) & mask
        while labels[slot].search == search, labels[slot].state != state { slot = (slot + 1) & mask }
        return slot
    }

    /// Doubles the table, so that at most half of it is in use.
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
