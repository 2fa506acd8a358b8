public import NavMap

/// A state of the search: being on an edge, with what is still needed of how it was reached.
///
/// The states 0 ..< edge count are the edges themselves. Further states exist for edges inside restrictions over
/// several ways, where what may follow depends on where the vehicle came from.
public typealias TurnState = UInt32

/// The edge-expanded graph: states are driven edges, arcs are permitted turns. It holds for every vehicle and every
/// traffic.
///
/// Restrictions are exact: a forbidden turn has no arc, and a forbidden path over several edges is followed by an
/// automaton over the paths' prefixes (Aho and Corasick, 1975), whose states split the edges on the way.
public final class TurnGraph: Sendable {
    /// The roads.
    public let graph: RoadGraph
    /// Number of states.
    public let stateCount: Int
    /// Number of arcs.
    public var arcCount: Int { arcTargets.count }

    let arcOffsets: ContiguousArray<UInt32>
    let arcTargets: ContiguousArray<TurnState>
    let reverseOffsets: ContiguousArray<UInt32>
    let reverseSources: ContiguousArray<TurnState>
    let reverseArcs: ContiguousArray<UInt32>
    let splitEdges: ContiguousArray<EdgeIndex>
    /// What joins speeds with edges, once somebody needs it.
    let segments = LazySegments()
    /// The further states of the edges that have some.
    private let splitStates: [EdgeIndex: [TurnState]]

    /// Expands a graph. Takes time in proportion to the turns.
    public init(_ graph: RoadGraph) {
        let automaton = RestrictionAutomaton(graph.prohibitedPaths, edgeCount: graph.edgeCount)
        var offsets: ContiguousArray<UInt32> = [0]
        var targets: ContiguousArray<TurnState> = []
        offsets.reserveCapacity(graph.edgeCount + automaton.splitEdges.count + 1)
        targets.reserveCapacity(graph.edgeCount * 3)
        for state in 0..<(graph.edgeCount + automaton.splitEdges.count) {
            let edge = automaton.edge(of: TurnState(state))
            for next in graph.outgoing(graph.edgeHeads[edge.index]) {
                if let target = automaton.follow(TurnState(state), with: next) { targets.append(target) }
            }
            offsets.append(UInt32(targets.count))
        }
        self.graph = graph
        splitEdges = automaton.splitEdges
        var splitStates: [EdgeIndex: [TurnState]] = [:]
        for (index, edge) in automaton.splitEdges.enumerated() {
            splitStates[edge, default: []].append(TurnState(graph.edgeCount + index))
        }
        self.splitStates = splitStates
        stateCount = graph.edgeCount + automaton.splitEdges.count
        arcOffsets = offsets
        arcTargets = targets

        var reverse = ContiguousArray<UInt32>(repeating: 0, count: stateCount + 1)
        for target in targets { reverse[Int(target) + 1] += 1 }
        for index in 1..<reverse.count { reverse[index] += reverse[index - 1] }
        var next = reverse
        var sources = ContiguousArray<TurnState>(repeating: 0, count: targets.count)
        var arcs = ContiguousArray<UInt32>(repeating: 0, count: targets.count)
        for state in 0..<stateCount {
            for arc in offsets[state]..<offsets[state + 1] {
                let slot = Int(next[Int(targets[Int(arc)])])
                next[Int(targets[Int(arc)])] += 1
                sources[slot] = TurnState(state)
                arcs[slot] = arc
            }
        }
        reverseOffsets = reverse
        reverseSources = sources
        reverseArcs = arcs
    }

    /// The edge that a state stands on.
    @inline(__always)
    public func edge(of state: TurnState) -> EdgeIndex {
        let index = Int(state) - graph.edgeCount
        return index < 0 ? EdgeIndex(rawValue: state) : splitEdges[index]
    }

    /// All states that stand on an edge.
    func states(on edge: EdgeIndex) -> [TurnState] {
        [edge.rawValue] + (splitStates.isEmpty ? [] : splitStates[edge] ?? [])
    }

    /// The arcs that leave a state, as numbers for ``target(of:)``.
    @inline(__always)
    public func arcs(from state: TurnState) -> Range<Int> {
        Int(arcOffsets[Int(state)])..<Int(arcOffsets[Int(state) + 1])
    }

    /// The state that an arc leads to.
    @inline(__always)
    public func target(of arc: Int) -> TurnState { arcTargets[arc] }

    /// Whether the vehicle may turn from one edge into the next, having come from anywhere.
    public func allows(_ first: EdgeIndex, _ second: EdgeIndex) -> Bool {
        arcs(from: first.rawValue).contains { edge(of: arcTargets[$0]) == second }
    }
}

/// Follows forbidden paths edge by edge.
struct RestrictionAutomaton {
    /// The edges of the states beyond the edge count.
    private(set) var splitEdges: ContiguousArray<EdgeIndex> = []
    private let edgeCount: Int
    private var prefixes: [[EdgeIndex]] = []
    private var stateOfPrefix: [[EdgeIndex]: TurnState] = [:]
    private var forbidden: Set<[EdgeIndex]> = []
    private var forbiddenEnds: Set<EdgeIndex> = []
    private var continuing: Set<EdgeIndex> = []

    init(_ paths: [[EdgeIndex]], edgeCount: Int) {
        self.edgeCount = edgeCount
        for path in paths where path.count >= 2 {
            forbidden.insert(path)
            if let last = path.last { forbiddenEnds.insert(last) }
            guard path.count > 2 else { continue }
            for length in 2..<path.count {
                let prefix = Array(path[..<length])
                continuing.insert(prefix[length - 1])
                guard stateOfPrefix[prefix] == nil else { continue }
                stateOfPrefix[prefix] = TurnState(edgeCount + prefixes.count)
                prefixes.append(prefix)
                splitEdges.append(prefix[length - 1])
            }
        }
    }

    func edge(of state: TurnState) -> EdgeIndex {
        Int(state) < edgeCount ? EdgeIndex(rawValue: state) : splitEdges[Int(state) - edgeCount]
    }

    /// The state after driving from `state` into `edge`; nil when that completes a forbidden path.
    func follow(_ state: TurnState, with edge: EdgeIndex) -> TurnState? {
        let mayEnd = forbiddenEnds.contains(edge)
        let mayContinue = continuing.contains(edge)
        guard mayEnd || mayContinue else { return edge.rawValue }
        let driven = Int(state) < edgeCount ? [EdgeIndex(rawValue: state)] : prefixes[Int(state) - edgeCount]
        let path = driven + [edge]
        var target = edge.rawValue
        // From the longest suffix to the shortest: the first that is a prefix of a forbidden path is the state.
        for start in 0..<(path.count - 1) {
            let suffix = Array(path[start...])
            if forbidden.contains(suffix) { return nil }
            if target == edge.rawValue, let known = stateOfPrefix[suffix] { target = known }
        }
        return target
    }
}
