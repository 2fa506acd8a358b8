import NavMap

/// An automaton that follows restricted paths edge by edge (Aho and Corasick, "Efficient string matching", 1975).
///
/// Its states are the edges and, numbered after them, the prefixes of two or more edges of restricted paths. The state
/// after a sequence of edges is its longest suffix that is a state. Building it takes time and memory in proportion to
/// the paths.
struct RestrictionAutomaton {
    /// The edges of the states beyond the edge count.
    private(set) var splitEdges: ContiguousArray<EdgeIndex> = []
    private let edgeCount: Int
    private let restrictions: [TurnRestriction]
    /// The longer prefix that an edge leads to.
    private var children: [Step: TurnState] = [:]
    private var endings: [Step: [UInt32]] = [:]
    /// For each state beyond the edge count, its longest proper suffix that is a state.
    private var endingStates: ContiguousArray<TurnState> = []
    /// For each edge, whether it appears in a restricted path after its first edge.
    private var isInside: ContiguousArray<Bool>

    private struct Step: Hashable {
        var state: TurnState
        var edge: EdgeIndex
    }

    /// The vehicles that routes are computed for; restrictions of others are ignored.
    static let vehicles: VehicleAccess = [.car, .truck]

    init(_ restrictions: [TurnRestriction], edgeCount: Int) {
        self.edgeCount = edgeCount
        self.restrictions = restrictions
        isInside = ContiguousArray(repeating: false, count: edgeCount)
        var parents: ContiguousArray<TurnState> = []
        var depths: ContiguousArray<Int> = []
        for (number, restriction) in restrictions.enumerated()
        where restriction.path.count >= 2 && !restriction.vehicles.isDisjoint(with: Self.vehicles) {
            var state = restriction.path[0].rawValue
            for (depth, edge) in restriction.path.enumerated().dropFirst() {
                isInside[edge.index] = true
                let step = Step(state: state, edge: edge)
                if depth == restriction.path.count - 1 {
                    endings[step, default: []].append(UInt32(number))
                } else if let known = children[step] {
                    state = known
                } else {
                    parents.append(state)
                    depths.append(depth)
                    state = TurnState(edgeCount + splitEdges.count)
                    splitEdges.append(edge)
                    children[step] = state
                }
            }
        }
        endingStates = ContiguousArray(repeating: 0, count: splitEdges.count)
        for index in splitEdges.indices.sorted(by: { (depths[$0], $0) < (depths[$1], $1) }) {
            let (parent, edge) = (parents[index], splitEdges[index])
            endingStates[index] =
                Int(parent) < edgeCount ? edge.rawValue : longest(endingStates[Int(parent) - edgeCount], edge)
        }
    }

    func edge(of state: TurnState) -> EdgeIndex {
        Int(state) < edgeCount ? EdgeIndex(rawValue: state) : splitEdges[Int(state) - edgeCount]
    }

    private func longest(_ state: TurnState, _ edge: EdgeIndex) -> TurnState {
        var state = state
        while true {
            if let child = children[Step(state: state, edge: edge)] { return child }
            if Int(state) < edgeCount { return edge.rawValue }
            state = endingStates[Int(state) - edgeCount]
        }
    }

    /// Returns the state after driving from `state` into `edge`; nil when that completes a path forbidden to all vehicles at all times.
    ///
    /// - Parameter completed: Receives the other restrictions that the edge completes.
    func follow(_ state: TurnState, with edge: EdgeIndex, _ completed: inout [UInt32]) -> TurnState? {
        completed.removeAll(keepingCapacity: true)
        guard isInside[edge.index] else { return edge.rawValue }
        var ending = state
        while true {
            for number in endings[Step(state: ending, edge: edge)] ?? [] {
                let restriction = restrictions[Int(number)]
                if restriction.time == nil, restriction.vehicles.isSuperset(of: Self.vehicles) { return nil }
                completed.append(number)
            }
            if Int(ending) < edgeCount { break }
            ending = endingStates[Int(ending) - edgeCount]
        }
        return longest(state, edge)
    }
}
