import Synchronization

/// A flag by which one thread cancels the search of another.
public final class SearchCancellation: Sendable {
    private let flag = Atomic(false)

    public init() {}

    /// Cancels the current search and all later ones until ``reset()``.
    public func cancel() { flag.store(true, ordering: .relaxed) }

    public func reset() { flag.store(false, ordering: .relaxed) }

    public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}

/// The scratch memory of one search at a time.
///
/// Labels are valid in the current query only, so that starting one needs no clearing.
public final class SearchWorkspace {
    /// The labels of one direction of a search.
    struct Labels {
        private(set) var costs: ContiguousArray<UInt32> = []
        private var parents: ContiguousArray<TurnState> = []
        private var queries: ContiguousArray<UInt32> = []
        private var query: UInt32 = 0
        var heap = QuaternaryHeap()

        mutating func begin(_ stateCount: Int) {
            heap.removeAll()
            if queries.count < stateCount || query == .max {
                costs = ContiguousArray(repeating: .max, count: stateCount)
                parents = ContiguousArray(repeating: 0, count: stateCount)
                queries = ContiguousArray(repeating: 0, count: stateCount)
                query = 0
            }
            query += 1
        }

        /// Returns the cost of a state; `UInt32.max` when it has none in this query.
        @inline(__always)
        func cost(_ state: TurnState) -> UInt32 { queries[Int(state)] == query ? costs[Int(state)] : .max }

        @inline(__always)
        func parent(_ state: TurnState) -> TurnState { parents[Int(state)] }

        @inline(__always)
        mutating func improve(_ state: TurnState, cost: UInt32, parent: TurnState) {
            guard cost < self.cost(state) else { return }
            queries[Int(state)] = query
            costs[Int(state)] = cost
            parents[Int(state)] = parent
            heap.push(cost, state)
        }

        /// Removes and returns the next state to settle; skips outdated entries.
        mutating func settle() -> QuaternaryHeap.Entry? {
            while let entry = heap.popFirst() {
                if entry.cost == cost(entry.state) { return entry }
            }
            return nil
        }

        /// The least cost in the queue; `UInt32.max` when it is empty.
        var frontier: UInt32 { heap.first?.cost ?? .max }
    }

    // Only one search at a time uses them, and dynamic exclusivity checks would take a tenth of its time.
    @exclusivity(unchecked) var forward = Labels()
    @exclusivity(unchecked) var backward = Labels()
    let hierarchy = HierarchyWorkspace()
    let spaces = SearchSpacesWorkspace()

    /// The flag that cancels a search. A route through several waypoints then fails with an arbitrary reason, which must be ignored.
    let cancellation: SearchCancellation
    /// Called when the path to another waypoint is found, with the number of waypoints reached and of all waypoints except the start. The
    /// count restarts at 1 when the search is repeated with more roads.
    public var onWaypoint: ((_ found: Int, _ all: Int) -> Void)?

    /// Creates empty scratch memory, which grows with the first query.
    public init(_ cancellation: SearchCancellation = SearchCancellation()) { self.cancellation = cancellation }
}
