import Glibc
import NavGeo
public import NavMap

/// What edges and turns cost a vehicle: seconds for the clock, penalties for the choice.
public struct CostModel: Sendable, Hashable {
    /// The vehicle.
    public var profile: VehicleProfile

    /// Seconds that entering private or destination-only ground costs the choice, not the clock: enough to keep through
    /// traffic out, finite so that addresses there can be reached.
    public static let restrictedEntryPenalty = 450.0
    /// How much worse an avoided road counts than it is.
    public static let avoidanceFactor = 8.0
    /// Seconds for a U-turn (OSRM's car profile uses 20).
    public static let uTurnDuration = 20.0
    /// Seconds lost on average at traffic signals (OSRM's car profile uses 2).
    public static let signalDuration = 2.0
    /// Seconds that a toll booth or gate takes.
    public static let boothDuration = 15.0

    /// What even the slowest vehicle does, m/s: keeps times finite.
    static let slowestSpeed = 0.01

    /// Costs for a vehicle.
    public init(profile: VehicleProfile = VehicleProfile()) { self.profile = profile }

    /// Seconds that driving `length` metres of an edge takes in free traffic.
    public func duration(length: Double, traits: EdgeTraits, edgeLength: Double) -> Double {
        if traits.roadClass == .ferry, let crossing = traits.crossingTime, edgeLength > 0 {
            return Double(crossing) * length / edgeLength
        }
        return length / max(Double(min(traits.freeFlowSpeed, profile.maximumSpeed)), CostModel.slowestSpeed)
    }

    /// Seconds that turning by an angle takes where roads meet.
    ///
    /// A sigmoid of the angle, gentle turns near 0 s and sharp ones near 7.5 s, with turns across the oncoming traffic
    /// slightly dearer: the shape and numbers of OSRM's car profile, which fitted it to drives.
    ///
    /// - Parameter angle: radians, clockwise positive.
    public static func turnDuration(angle: Double, leftHandTraffic: Bool) -> Double {
        let towardsOncoming = leftHandTraffic ? angle > 0 : angle < 0
        let bias = towardsOncoming ? 1 / 1.075 : 1.075
        return 7.5 / (1 + exp(-((13 / bias) * abs(angle) / .pi - 6.5 * bias)))
    }
}

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
    /// The highest speed of any edge, m/s, penalties left out.
    let maximumSpeed: Double

    /// Prices every edge and turn. Takes time in proportion to the turns.
    public init(_ turns: TurnGraph, model: CostModel) {
        let pricing = Pricing(turns, model: model)
        self.turns = turns
        self.model = model
        edgeCosts = pricing.edgeCosts
        maximumSpeed = pricing.maximumSpeed
        var arcCosts = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: turns.arcCount)
        for state in 0..<turns.stateCount {
            let first = turns.edge(of: TurnState(state))
            guard edgeCosts[first.index] != Metric.forbidden else { continue }
            let node = pricing.node(after: first)
            for arc in turns.arcs(from: TurnState(state)) {
                let second = turns.edge(of: turns.target(of: arc))
                guard edgeCosts[second.index] != Metric.forbidden else { continue }
                if let turn = pricing.turn(first, second, at: node) {
                    arcCosts[arc] = milliseconds(turn.duration + turn.penalty)
                }
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

    /// Seconds on the clock for part of an edge, its share of the edge's signals and booths included.
    public func duration(of edge: EdgeIndex, from start: Double, to end: Double) -> Double {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return 0 }
        let driving = model.duration(length: length, traits: turns.graph.traits(of: edge), edgeLength: length)
        return (driving + Pricing.stopDuration(turns.graph, edge)) * min(max((end - start) / length, 0), 1)
    }

    /// Seconds on the clock for the turn from one edge into the next.
    public func turnDuration(from first: EdgeIndex, to second: EdgeIndex) -> Double {
        var usable = 0
        for edge in turns.graph.outgoing(turns.graph.edgeHeads[first.index]) where allows(edge) { usable += 1 }
        return Pricing.turnDuration(turns.graph, first, second, isJunction: usable > 2)
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
    let restricted: ContiguousArray<Bool>
    let maximumSpeed: Double

    init(_ turns: TurnGraph, model: CostModel) {
        let graph = turns.graph
        var costs = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: graph.edgeCount)
        var restricted = ContiguousArray<Bool>(repeating: false, count: graph.edgeCount)
        var fastest = 1.0
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
            let factor = model.profile.avoids(traits.roadClass, traits.flags) ? CostModel.avoidanceFactor : 1
            costs[index] = milliseconds((duration + Pricing.stopDuration(graph, edge)) * factor)
            restricted[index] = !traits.flags.isDisjoint(with: [.destinationOnly, .privateAccess])
            if duration > 0 { fastest = max(fastest, length / duration) }
        }
        self.graph = graph
        edgeCosts = costs
        self.restricted = restricted
        maximumSpeed = fastest
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
        let penalty = restricted[second.index] && !restricted[first.index] ? CostModel.restrictedEntryPenalty : 0
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
