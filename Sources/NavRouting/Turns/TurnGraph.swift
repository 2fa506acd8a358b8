public import NavMap

/// A state of the search: an edge, with the part of the history that turn restrictions depend on.
///
/// States 0 ..< edge count are the edges themselves. Further states exist for edges inside restrictions over several
/// ways, where the permitted turns depend on the way the vehicle came.
public typealias TurnState = UInt32

/// The edge-expanded graph for all vehicles, times and traffic: states are driven edges, arcs are turns.
///
/// Restrictions are exact. An automaton over the prefixes of forbidden paths finds the turns that complete one, and its
/// states split the edges along those paths. A turn that is forbidden to all vehicles at all times has no arc. An arc
/// that is forbidden to some vehicles or at some times carries its restrictions, and a ``Metric`` decides whether they
/// hold.
public final class TurnGraph: Sendable {
    public let graph: RoadGraph
    public let stateCount: Int
    public var arcCount: Int { arcTargets.count }

    let arcOffsets: ContiguousArray<UInt32>
    let arcTargets: ContiguousArray<TurnState>
    let reverseOffsets: ContiguousArray<UInt32>
    let reverseSources: ContiguousArray<TurnState>
    let reverseArcs: ContiguousArray<UInt32>
    let splitEdges: ContiguousArray<EdgeIndex>
    /// Arcs that complete a restriction, ascending, with the restriction's number in the graph.
    let limitedArcs: ContiguousArray<(arc: UInt32, restriction: UInt32)>
    /// The time-dependent rules.
    let timedRules: TimedRules
    /// The index that matches speeds to edges, built on first use.
    let segments = LazySegments()
    private let splitStates: [EdgeIndex: [TurnState]]

    /// Expands a graph, in time proportional to its turns.
    public init(_ graph: RoadGraph) {
        let automaton = RestrictionAutomaton(graph.restrictions, edgeCount: graph.edgeCount)
        var offsets: ContiguousArray<UInt32> = [0]
        var targets: ContiguousArray<TurnState> = []
        var limited: ContiguousArray<(arc: UInt32, restriction: UInt32)> = []
        offsets.reserveCapacity(graph.edgeCount + automaton.splitEdges.count + 1)
        targets.reserveCapacity(graph.edgeCount * 3)
        var completed: [UInt32] = []
        for state in 0..<(graph.edgeCount + automaton.splitEdges.count) {
            let edge = automaton.edge(of: TurnState(state))
            for next in graph.outgoing(graph.edgeHeads[edge.index]) {
                guard let target = automaton.follow(TurnState(state), with: next, &completed) else { continue }
                for restriction in completed { limited.append((UInt32(targets.count), restriction)) }
                targets.append(target)
            }
            offsets.append(UInt32(targets.count))
        }
        limitedArcs = limited
        timedRules = TimedRules(graph)
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

    @inline(__always)
    public func edge(of state: TurnState) -> EdgeIndex {
        let index = Int(state) - graph.edgeCount
        return index < 0 ? EdgeIndex(rawValue: state) : splitEdges[index]
    }

    func states(on edge: EdgeIndex) -> [TurnState] {
        [edge.rawValue] + (splitStates.isEmpty ? [] : splitStates[edge] ?? [])
    }

    /// Returns the arcs that leave a state, as numbers for ``target(of:)``.
    @inline(__always)
    public func arcs(from state: TurnState) -> Range<Int> {
        Int(arcOffsets[Int(state)])..<Int(arcOffsets[Int(state) + 1])
    }

    /// Calls a closure with unchecked access to all arcs, which is valid until the closure returns.
    @inline(__always)
    func withArcs<Result>(_ body: (TurnArcs) -> Result) -> Result {
        arcOffsets.withUnsafeBufferPointer { offsets in
            arcTargets.withUnsafeBufferPointer { targets in
                reverseOffsets.withUnsafeBufferPointer { reverseOffsets in
                    reverseSources.withUnsafeBufferPointer { sources in
                        body(
                            TurnArcs(
                                offsets: offsets, targets: targets, reverseOffsets: reverseOffsets,
                                reverseSources: sources))
                    }
                }
            }
        }
    }

    @inline(__always)
    public func target(of arc: Int) -> TurnState { arcTargets[arc] }

    /// Whether some vehicle at some time may turn from one edge into the next, regardless of its history.
    public func allows(_ first: EdgeIndex, _ second: EdgeIndex) -> Bool {
        arcs(from: first.rawValue).contains { edge(of: arcTargets[$0]) == second }
    }

    /// Returns the conditions that concern a vehicle and hold at its departure.
    ///
    /// Vehicles and times with the same set have the same costs.
    ///
    /// - Parameter departure: The local time; nil when unknown, so that no time-dependent rule holds.
    public func conditions(for vehicle: VehicleProfile, at departure: LocalTime?) -> ConditionSet {
        timedRules.conditions(for: vehicle.access, at: departure)
    }

    /// Returns the traits of an edge for a vehicle under conditions from ``conditions(for:at:)``.
    func traits(of edge: EdgeIndex, for vehicle: VehicleProfile, under conditions: ConditionSet) -> EdgeTraits {
        timedRules.traits(of: edge, graph, vehicle.access, conditions)
    }

    /// Returns the speed limit of an edge for a vehicle.
    ///
    /// - Parameter time: The local time; nil makes a time-dependent limit unknown.
    public func speedLimit(of edge: EdgeIndex, for vehicle: VehicleProfile, at time: LocalTime?) -> SpeedLimit {
        timedRules.speedLimit(of: edge, graph, vehicle.access, at: time)
    }
}

/// Unchecked access to the arcs of a ``TurnGraph``.
struct TurnArcs {
    /// The index of each state's first arc, and the heads of the arcs.
    let offsets: UnsafeBufferPointer<UInt32>
    let targets: UnsafeBufferPointer<TurnState>
    /// The index of the first arc into each state, and the tails of the arcs.
    let reverseOffsets: UnsafeBufferPointer<UInt32>
    let reverseSources: UnsafeBufferPointer<TurnState>
}
