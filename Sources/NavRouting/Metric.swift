import Glibc
public import NavGeo
public import NavMap

/// The costs of one ``CostModel`` at one time of departure over one ``TurnGraph``, in whole milliseconds.
///
/// Immutable: new traffic, another vehicle or another time requires another metric over the same graph.
public final class Metric: Sendable {
    /// The cost of an edge or turn that cannot be driven.
    public static let forbidden = UInt32.max

    public let turns: TurnGraph
    public let model: CostModel
    /// The departure in local time; nil when unknown.
    public let departure: LocalTime?
    /// The conditions that hold then; the costs depend on the time only through them.
    public let conditions: ConditionSet

    let edgeCosts: ContiguousArray<UInt32>
    let arcCosts: ContiguousArray<UInt32>
    /// Arcs that are forbidden by turn restrictions, ascending.
    private let restrictedArcs: ContiguousArray<UInt32>
    /// Roads whose traits differ at the time of departure, by ascending edge.
    private let timedRoads: ContiguousArray<(edge: EdgeIndex, traits: EdgeTraits)>
    /// For each edge, whether it may be entered only to reach a place on it.
    private let closedGround: ContiguousArray<Bool>
    /// Seconds to drive each edge in traffic, ``LiveEdges/unknown`` where nothing is known; empty without traffic.
    private let liveSeconds: ContiguousArray<Float>
    /// The edges that are closed in traffic, ascending, including those that the vehicle may not drive at the time of departure.
    private let closedByTraffic: ContiguousArray<EdgeIndex>
    /// The stamp of the newest traffic in the costs; nil without traffic.
    public let trafficStamp: Timestamp?

    /// Computes the cost of every edge and turn, in time proportional to the number of turns.
    ///
    /// - Parameter departure: The local time; nil to ignore time-dependent rules. It applies to the whole route: changes during the drive
    ///   are not considered.
    public init(_ turns: TurnGraph, model: CostModel, at departure: LocalTime? = nil) {
        let conditions = turns.conditions(for: model.profile, at: departure)
        let timed = turns.timedRules.changes(turns.graph, model.profile.access, conditions)
        let restricted = Self.restrictedArcs(turns, model.profile.access, conditions)
        let pricing = TurnPricing(turns.graph, model: model, timed: timed)
        self.turns = turns
        self.model = model
        self.departure = departure
        self.conditions = conditions
        timedRoads = timed
        restrictedArcs = restricted
        closedGround = pricing.closedGround
        edgeCosts = pricing.edgeCosts
        liveSeconds = []
        closedByTraffic = []
        trafficStamp = nil
        var arcCosts = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: turns.arcCount)
        for state in 0..<turns.stateCount { pricing.price(TurnState(state), turns, &arcCosts) }
        for arc in restricted { arcCosts[Int(arc)] = Metric.forbidden }
        self.arcCosts = arcCosts
    }

    private static func restrictedArcs(
        _ turns: TurnGraph, _ vehicle: VehicleAccess, _ conditions: ConditionSet
    ) -> ContiguousArray<UInt32> {
        var result: ContiguousArray<UInt32> = []
        for (arc, restriction) in turns.limitedArcs
        where result.last != arc
            && turns.timedRules.holds(Int(restriction), turns.graph.restrictions, vehicle, conditions)
        { result.append(arc) }
        return result
    }

    /// Creates the costs of `base` with traffic and closed edges.
    ///
    /// Takes time in proportion to the changes, plus a copy of the turn graph if edges are closed. A closed edge counts
    /// as forbidden to the vehicle, which also changes the turns beside it and the U-turns before it.
    ///
    /// - Parameters:
    ///   - live: The traffic times of edges, which replace those of `base`; nil keeps them.
    ///   - closed: Edges that may not be driven, in any order; with traffic times, the edges closed in traffic, ascending.
    ///   - stamp: The stamp of the traffic in `live`.
    init(_ base: Metric, live: LiveEdges?, closed: [EdgeIndex], stamp: Timestamp? = nil) {
        trafficStamp = stamp ?? base.trafficStamp
        turns = base.turns
        model = base.model
        departure = base.departure
        conditions = base.conditions
        restrictedArcs = base.restrictedArcs
        timedRoads = base.timedRoads
        closedGround = base.closedGround
        let graph = base.turns.graph
        var edgeCosts = live?.costs ?? base.edgeCosts
        liveSeconds = live?.seconds ?? base.liveSeconds
        closedByTraffic = live == nil ? base.closedByTraffic : ContiguousArray(closed)
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
        let pricing = TurnPricing(
            graph, edgeCosts: edgeCosts, closedGround: base.closedGround, profile: base.model.profile)
        var arcCosts = base.arcCosts
        changed.sort()
        for (index, node) in changed.enumerated() where index == 0 || changed[index - 1] != node {
            for edge in graph.incoming(node) {
                for state in base.turns.states(on: edge) { pricing.price(state, base.turns, &arcCosts) }
            }
        }
        for arc in base.restrictedArcs { arcCosts[Int(arc)] = Metric.forbidden }
        self.arcCosts = arcCosts
    }

    /// Whether the vehicle may drive an edge.
    @inline(__always)
    public func allows(_ edge: EdgeIndex) -> Bool { edgeCosts[edge.index] != Metric.forbidden }

    /// Returns the cost of a whole edge, ms, or ``forbidden``.
    @inline(__always)
    public func cost(of edge: EdgeIndex) -> UInt32 { edgeCosts[edge.index] }

    /// Returns the cost of an arc of the turn graph, ms, or ``forbidden``.
    @inline(__always)
    public func cost(ofArc arc: Int) -> UInt32 { arcCosts[arc] }

    /// Whether a turn restriction forbids an arc to the vehicle at the time of departure.
    @inline(__always)
    public func isRestricted(_ arc: Int) -> Bool {
        guard !restrictedArcs.isEmpty else { return false }
        let place = restrictedArcs.partitioningIndex { Int($0) >= arc }
        return place < restrictedArcs.count && Int(restrictedArcs[place]) == arc
    }

    /// Returns the traits of an edge at the time of departure.
    public func traits(of edge: EdgeIndex) -> EdgeTraits {
        if !timedRoads.isEmpty {
            let place = timedRoads.partitioningIndex { $0.edge >= edge }
            if place < timedRoads.count, timedRoads[place].edge == edge { return timedRoads[place].traits }
        }
        return turns.graph.traits(of: edge)
    }

    /// Returns the cost of the part of an edge between two distances from its start, ms.
    package func cost(of edge: EdgeIndex, from start: Double, to end: Double) -> UInt32 {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return 0 }
        return UInt32((Double(edgeCosts[edge.index]) * min(max((end - start) / length, 0), 1)).rounded())
    }

    /// Returns the seconds for part of an edge, including its share of the edge's signals and booths, and traffic where known.
    public func duration(of edge: EdgeIndex, from start: Double, to end: Double) -> Double {
        let free = freeFlowDuration(of: edge)
        guard let free else { return 0 }
        return ((liveDuration(of: edge) ?? free) + TurnPricing.stopDuration(turns.graph, edge))
            * share(of: edge, start, end)
    }

    /// Returns the seconds of ``duration(of:from:to:)`` without traffic; the difference is the delay.
    public func freeFlowDuration(of edge: EdgeIndex, from start: Double, to end: Double) -> Double {
        guard let free = freeFlowDuration(of: edge) else { return 0 }
        return (free + TurnPricing.stopDuration(turns.graph, edge)) * share(of: edge, start, end)
    }

    /// Returns the seconds for the whole edge in free flow, without stops; nil for an edge without length.
    private func freeFlowDuration(of edge: EdgeIndex) -> Double? {
        let length = Double(turns.graph.edgeLengths[edge.index])
        guard length > 0 else { return nil }
        return model.duration(length: length, traits: traits(of: edge), edgeLength: length)
    }

    func share(of edge: EdgeIndex, _ start: Double, _ end: Double) -> Double {
        let length = Double(turns.graph.edgeLengths[edge.index])
        return length > 0 ? min(max((end - start) / length, 0), 1) : 0
    }

    /// Returns the seconds for the whole edge in traffic; nil where traffic is not known to differ from free flow.
    public func liveDuration(of edge: EdgeIndex) -> Double? {
        guard !liveSeconds.isEmpty, liveSeconds[edge.index] >= 0 else { return nil }
        return Double(liveSeconds[edge.index])
    }

    /// Whether more edges may be open later: traffic has closed some, or rules for certain times hold.
    package var mayOpenLater: Bool { !closedByTraffic.isEmpty || conditions != .none }

    /// Whether an edge is closed in traffic.
    func isClosedByTraffic(_ edge: EdgeIndex) -> Bool {
        let place = closedByTraffic.partitioningIndex { $0 >= edge }
        return place < closedByTraffic.count && closedByTraffic[place] == edge
    }

    /// Returns the seconds for the signals and booths between the ends of an edge.
    package static func stopDuration(_ graph: RoadGraph, _ edge: EdgeIndex) -> Double {
        TurnPricing.stopDuration(graph, edge)
    }

    /// Returns the seconds for the turn from one edge into the next.
    public func turnDuration(from first: EdgeIndex, to second: EdgeIndex) -> Double {
        TurnPricing.turnDuration(
            turns.graph, first, second, isJunction: isJunction(turns.graph.edgeHeads[first.index]))
    }

    /// Whether a turn at a node costs time.
    func isJunction(_ node: NodeIndex) -> Bool {
        TurnPricing.isJunction(node, turns.graph, turns.graph.outgoing(node).count { allows($0) })
    }
}

extension CostModel {
    /// Returns the factor of a road's cost over its time, for avoided roads and for tracks that are closed to the vehicle.
    func avoidanceFactor(_ traits: EdgeTraits) -> Double {
        let avoidance = profile.avoids(traits.roadClass, traits.flags) ? CostModel.avoidanceFactor : 1
        return profile.isClosedTrack(traits) ? max(avoidance, CostModel.trackFactor) : avoidance
    }
}
