import Glibc
import NavGeo
public import NavMap

/// The costs of one ``CostModel`` over one ``TurnGraph``, in whole milliseconds.
///
/// Immutable: new traffic or another vehicle is another metric over the same graph.
public final class Metric: Sendable {
    /// The cost of what cannot be driven.
    public static let forbidden = UInt32.max

    /// The turns that the costs are for.
    public let turns: TurnGraph
    /// The model that made the costs.
    public let model: CostModel

    let edgeCosts: ContiguousArray<UInt32>
    let arcCosts: ContiguousArray<UInt32>
    /// Seconds that driving each edge takes in traffic, ``LiveEdges/unknown`` where nothing is known; empty without
    /// traffic.
    private let liveSeconds: ContiguousArray<Float>

    /// Prices every edge and turn. Takes time in proportion to the turns.
    public init(_ turns: TurnGraph, model: CostModel) {
        let pricing = Pricing(turns, model: model)
        self.turns = turns
        self.model = model
        edgeCosts = pricing.edgeCosts
        liveSeconds = []
        var arcCosts = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: turns.arcCount)
        for state in 0..<turns.stateCount { pricing.price(TurnState(state), turns, &arcCosts) }
        self.arcCosts = arcCosts
    }

    /// The costs of `base` in some traffic and with some edges closed.
    ///
    /// Takes time in proportion to the turn graph for a copy where edges are closed, and to the changes. A closed edge is
    /// one that the vehicle may not use: what a turn costs beside it, and who may turn round before it, changes with it.
    ///
    /// - Parameters:
    ///   - live: What edges take, in the place of what they take in `base`; nil leaves that as it is.
    ///   - closed: Edges that may not be driven, in any order.
    init(_ base: Metric, live: LiveEdges?, closed: [EdgeIndex]) {
        turns = base.turns
        model = base.model
        let graph = base.turns.graph
        var edgeCosts = live?.costs ?? base.edgeCosts
        liveSeconds = live?.seconds ?? base.liveSeconds
        var changed: [NodeIndex] = []
        for edge in closed where edgeCosts[edge.index] != Metric.forbidden {
            edgeCosts[edge.index] = Metric.forbidden
            changed.append(graph.edgeTails[edge.index])
            changed.append(graph.edgeHeads[edge.index])
        }
        self.edgeCosts = edgeCosts
        guard !changed.isEmpty else {
            arcCosts = base.arcCosts
            return
        }
        let pricing = Pricing(base.turns, edgeCosts: edgeCosts)
        var arcCosts = base.arcCosts
        changed.sort()
        for (index, node) in changed.enumerated() where index == 0 || changed[index - 1] != node {
            for edge in graph.incoming(node) {
                for state in base.turns.states(on: edge) { pricing.price(state, base.turns, &arcCosts) }
            }
        }
        self.arcCosts = arcCosts
    }

    /// Whether the vehicle may drive an edge.
    @inline(__always)
    public func allows(_ edge: EdgeIndex) -> Bool { edgeCosts[edge.index] != Metric.forbidden }

    /// Cost of a whole edge, ms, or ``forbidden``.
    @inline(__always)
    public func cost(of edge: EdgeIndex) -> UInt32 { edgeCosts[edge.index] }

    /// Cost of an arc of the turn graph, ms, or ``forbidden``.
    @inline(__always)
    public func cost(ofArc arc: Int) -> UInt32 { arcCosts[arc] }

    /// Cost of the part of an edge between two distances from its start, ms.
    func cost(of edge: EdgeIndex, from start: Double, to end: Double) -> UInt32 {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return 0 }
        return UInt32((Double(edgeCosts[edge.index]) * min(max((end - start) / length, 0), 1)).rounded())
    }

    /// Seconds on the clock for part of an edge, its share of the edge's signals and booths included; with traffic where
    /// its speed is known.
    public func duration(of edge: EdgeIndex, from start: Double, to end: Double) -> Double {
        let free = freeFlowDuration(of: edge)
        guard let free else { return 0 }
        return ((liveDuration(of: edge) ?? free) + Pricing.stopDuration(turns.graph, edge))
            * share(of: edge, start, end)
    }

    /// Like ``duration(of:from:to:)``, without traffic: the difference is the delay.
    public func freeFlowDuration(of edge: EdgeIndex, from start: Double, to end: Double) -> Double {
        guard let free = freeFlowDuration(of: edge) else { return 0 }
        return (free + Pricing.stopDuration(turns.graph, edge)) * share(of: edge, start, end)
    }

    /// Seconds for the whole edge in free traffic, without stops; nil for one without length.
    private func freeFlowDuration(of edge: EdgeIndex) -> Double? {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return nil }
        return model.duration(length: length, traits: turns.graph.traits(of: edge), edgeLength: length)
    }

    private func share(of edge: EdgeIndex, _ start: Double, _ end: Double) -> Double {
        let length = Double(turns.graph.edgeLengths[edge.index])
        return length > 0 ? min(max((end - start) / length, 0), 1) : 0
    }

    /// Seconds for the whole edge at the speed that traffic has there; nil where traffic is not known to differ.
    public func liveDuration(of edge: EdgeIndex) -> Double? {
        guard !liveSeconds.isEmpty, liveSeconds[edge.index] >= 0 else { return nil }
        return Double(liveSeconds[edge.index])
    }

    /// The properties of an edge that its costs are made of.
    func traits(of edge: EdgeIndex) -> EdgeTraits { turns.graph.traits(of: edge) }

    /// Seconds for the signals and booths between the ends of an edge.
    package static func stopDuration(_ graph: RoadGraph, _ edge: EdgeIndex) -> Double {
        Pricing.stopDuration(graph, edge)
    }

    /// Seconds on the clock for the turn from one edge into the next.
    public func turnDuration(from first: EdgeIndex, to second: EdgeIndex) -> Double {
        var usable = 0
        for edge in turns.graph.outgoing(turns.graph.edgeHeads[first.index]) where allows(edge) { usable += 1 }
        return Pricing.turnDuration(turns.graph, first, second, isJunction: usable > 2)
    }
}

extension CostModel {
    /// How much dearer a road is than its time, for a vehicle that avoids such roads.
    func avoidanceFactor(_ traits: EdgeTraits) -> Double {
        profile.avoids(traits.roadClass, traits.flags) ? CostModel.avoidanceFactor : 1
    }
}

/// A cost in whole milliseconds, at least 0 and below ``Metric/forbidden``.
func milliseconds(_ seconds: Double) -> UInt32 {
    let value = (seconds * 1_000).rounded()
    return value > 0 ? UInt32(min(value, 4_000_000_000)) : 0
}

/// Prices edges once, then turns between them.
private struct Pricing {
    let graph: RoadGraph
    let edgeCosts: ContiguousArray<UInt32>
    /// Private or destination-only edges; nil to look each up.
    let restricted: ContiguousArray<Bool>?

    /// For turns beside edges that have their costs.
    init(_ turns: TurnGraph, edgeCosts: ContiguousArray<UInt32>) {
        graph = turns.graph
        self.edgeCosts = edgeCosts
        restricted = nil
    }

    init(_ turns: TurnGraph, model: CostModel) {
        let graph = turns.graph
        var costs = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: graph.edgeCount)
        var restricted = ContiguousArray<Bool>(repeating: false, count: graph.edgeCount)
        let limited =
            model.profile.height != nil || model.profile.width != nil || model.profile.length != nil
            || model.profile.weight != nil
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            let traits = graph.traits(of: edge)
            guard traits.access.contains(model.profile.access) else { continue }
            if limited, !model.profile.mayUse(graph.attributes(of: edge)) { continue }
            let length = Double(graph.edgeLengths[index])
            let duration = model.duration(length: length, traits: traits, edgeLength: length)
            costs[index] = Pricing.edgeCost(graph, edge, driving: duration, traits: traits, model: model)
            restricted[index] = !traits.flags.isDisjoint(with: Self.closedGround)
        }
        self.graph = graph
        edgeCosts = costs
        self.restricted = restricted
    }

    private static let closedGround: RoadFlags = [.destinationOnly, .privateAccess]

    /// The cost of an edge that takes some seconds to drive, ms.
    static func edgeCost(
        _ graph: RoadGraph, _ edge: EdgeIndex, driving duration: Double, traits: EdgeTraits? = nil, model: CostModel
    ) -> UInt32 {
        let traits = traits ?? graph.traits(of: edge)
        return milliseconds((duration + stopDuration(graph, edge)) * model.avoidanceFactor(traits))
    }

    /// Prices the arcs that leave a state.
    @inline(__always)
    func price(_ state: TurnState, _ turns: TurnGraph, _ arcCosts: inout ContiguousArray<UInt32>) {
        let first = turns.edge(of: state)
        let arcs = turns.arcs(from: state)
        guard edgeCosts[first.index] != Metric.forbidden else {
            for arc in arcs { arcCosts[arc] = Metric.forbidden }
            return
        }
        let node = node(after: first)
        for arc in arcs {
            let second = turns.edge(of: turns.target(of: arc))
            arcCosts[arc] = Metric.forbidden
            guard edgeCosts[second.index] != Metric.forbidden else { continue }
            if let turn = turn(first, second, at: node) { arcCosts[arc] = milliseconds(turn.duration + turn.penalty) }
        }
    }

    private func isRestricted(_ edge: EdgeIndex) -> Bool {
        restricted?[edge.index] ?? !graph.traits(of: edge).flags.isDisjoint(with: Self.closedGround)
    }

    /// Seconds for signals and booths between the ends of an edge.
    static func stopDuration(_ graph: RoadGraph, _ edge: EdgeIndex) -> Double {
        graph.features(of: edge).reduce(0) { sum, feature in
            switch feature.kind {
            case .trafficSignals: sum + CostModel.signalDuration
            case .tollBooth, .gate: sum + CostModel.boothDuration
            case .stop, .giveWay, .crossing, .trafficCalming: sum
            }
        }
    }

    /// What a node means to those who arrive there.
    struct Node {
        /// More than two ways to go on, turning round included.
        var isJunction: Bool
        var allowsUTurn: Bool
        /// A barrier stands there: the only way on is back.
        var isBarred: Bool
    }

    /// The node that an edge leads to. Where edges are missing with their tiles a dead end cannot be told, so nobody
    /// turns round there.
    func node(after edge: EdgeIndex) -> Node {
        let node = graph.edgeHeads[edge.index]
        var usable = 0
        for next in graph.outgoing(node) where edgeCosts[next.index] != Metric.forbidden { usable += 1 }
        let isDeadEnd = usable == 1 && !graph.lacksDepartures(node)
        let flags = graph.nodeFlags[node.index]
        let isBarred = flags.contains(.impassable)
        return Node(
            isJunction: usable > 2, allowsUTurn: isDeadEnd || isBarred || flags.contains(.turningCircle),
            isBarred: isBarred)
    }

    /// Seconds and penalty of a turn; nil when the vehicle may not make it.
    func turn(_ first: EdgeIndex, _ second: EdgeIndex, at node: Node) -> (duration: Double, penalty: Double)? {
        if second == graph.edgeOpposites[first.index] {
            if !node.allowsUTurn { return nil }
        } else if node.isBarred {
            return nil
        }
        let penalty = isRestricted(second) && !isRestricted(first) ? CostModel.restrictedEntryPenalty : 0
        return (Pricing.turnDuration(graph, first, second, isJunction: node.isJunction), penalty)
    }

    /// Seconds of a turn at a node.
    static func turnDuration(_ graph: RoadGraph, _ first: EdgeIndex, _ second: EdgeIndex, isJunction: Bool) -> Double {
        let flags = graph.nodeFlags[graph.edgeHeads[first.index].index]
        var duration = 0.0
        if flags.contains(.trafficSignals) { duration += CostModel.signalDuration }
        if !flags.isDisjoint(with: [.tollBooth, .gate]) { duration += CostModel.boothDuration }
        if second == graph.edgeOpposites[first.index] { return duration + CostModel.uTurnDuration }
        guard isJunction else { return duration }
        let angle = Angle.difference(
            from: Double(graph.edgeEndBearings[first.index]), to: Double(graph.edgeStartBearings[second.index]))
        let left = graph.traits(of: first).flags.contains(.leftHandTraffic)
        return duration + CostModel.turnDuration(angle: angle, leftHandTraffic: left)
    }
}
