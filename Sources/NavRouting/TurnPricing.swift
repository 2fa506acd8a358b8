import NavGeo
import NavMap

/// Converts seconds to a cost in whole milliseconds, at least 0 and below ``Metric/forbidden``.
func milliseconds(_ seconds: Double) -> UInt32 {
    let value = (seconds * 1_000).rounded()
    return value > 0 ? UInt32(min(value, 4_000_000_000)) : 0
}

/// The pricing of edges and then of the turns between them.
struct TurnPricing {
    let graph: RoadGraph
    let edgeCosts: ContiguousArray<UInt32>
    let closedGround: ContiguousArray<Bool>
    private let profile: VehicleProfile
    private let privateGates: NodeFlags

    /// Creates the pricing of turns between edges that already have costs.
    init(
        _ graph: RoadGraph, edgeCosts: ContiguousArray<UInt32>, closedGround: ContiguousArray<Bool>,
        profile: VehicleProfile
    ) {
        self.graph = graph
        self.edgeCosts = edgeCosts
        self.closedGround = closedGround
        self.profile = profile
        privateGates = profile.privateGates
    }

    /// - Parameter timed: The roads whose traits differ at the time of departure.
    init(_ graph: RoadGraph, model: CostModel, timed: ContiguousArray<(edge: EdgeIndex, traits: EdgeTraits)>) {
        let profile = model.profile
        var costs = ContiguousArray<UInt32>(repeating: Metric.forbidden, count: graph.edgeCount)
        var closed = ContiguousArray<Bool>(repeating: false, count: graph.edgeCount)
        func price(_ edge: EdgeIndex, _ traits: EdgeTraits, isOpen: Bool) {
            closed[edge.index] = !traits.flags.isDisjoint(with: profile.closedGround)
            guard isOpen else {
                costs[edge.index] = Metric.forbidden
                return
            }
            let length = Double(graph.edgeLengths[edge.index])
            let duration = model.duration(length: length, traits: traits, edgeLength: length)
            costs[edge.index] = Self.edgeCost(graph, edge, driving: duration, traits: traits, model: model)
        }
        // Many edges share their traits.
        let isOpen = graph.traitTable.map { profile.mayUse($0) }
        for index in 0..<graph.edgeCount {
            let number = Int(graph.traitNumbers[index])
            price(EdgeIndex(index), graph.traitTable[number], isOpen: isOpen[number])
        }
        for (edge, traits) in timed { price(edge, traits, isOpen: profile.mayUse(traits)) }
        self.graph = graph
        edgeCosts = costs
        closedGround = closed
        self.profile = profile
        privateGates = profile.privateGates
    }

    /// Returns the cost of an edge from its driving time, ms.
    static func edgeCost(
        _ graph: RoadGraph, _ edge: EdgeIndex, driving duration: Double, traits: EdgeTraits, model: CostModel
    ) -> UInt32 {
        milliseconds((duration + stopDuration(graph, edge)) * model.avoidanceFactor(traits))
    }

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

    /// Returns the seconds for signals and booths between the ends of an edge.
    static func stopDuration(_ graph: RoadGraph, _ edge: EdgeIndex) -> Double {
        guard graph.hasFeatures(edge) else { return 0 }
        var seconds = 0.0
        graph.forEachFeature(of: edge) { feature in
            switch feature.kind {
            case .trafficSignals: seconds += CostModel.signalDuration
            case .tollBooth, .gate: seconds += CostModel.boothDuration
            case .stop, .giveWay, .crossing, .trafficCalming: break
            }
        }
        return seconds
    }

    /// The properties of a node for vehicles that arrive on an edge.
    struct Node {
        var isJunction: Bool
        var allowsUTurn: Bool
        /// Whether a barrier blocks the node, so that a U-turn is the only continuation.
        var isBarred: Bool
        /// Whether the node has a gate that opens for residents.
        var isPrivateGate: Bool
        /// The roundabout through the node; nil when there is none or when the vehicle is on it.
        var ring: Ring?
    }

    /// The course of a roundabout through one of its nodes, for vehicles that arrive from outside.
    struct Ring {
        /// Direction of travel of the roundabout's incoming edge at the node, radians.
        private let direction: Double
        /// The angles of the roundabout's next edge and of the approach from outside, counterclockwise from the
        /// direction back along the roundabout.
        private let onward: Double
        private let approach: Double

        init(arriving: Double, leaving: Double, approach bearing: Double) {
            direction = arriving
            onward = Self.angle(arriving, leaving)
            approach = Self.angle(arriving, bearing + .pi)
        }

        /// Whether leaving in a direction means driving against the roundabout's traffic.
        func isAgainstFlow(_ bearing: Double) -> Bool {
            let angle = Self.angle(direction, bearing)
            return approach < onward ? angle < approach : approach > onward && angle > approach
        }

        private static func angle(_ arriving: Double, _ leaving: Double) -> Double {
            Angle.normalised(.pi - Angle.difference(from: arriving, to: leaving))
        }
    }

    /// Returns the node that an edge leads to.
    ///
    /// If tiles with further edges are missing, the node may not be a dead end, so it allows no U-turn.
    func node(after edge: EdgeIndex) -> Node {
        let node = graph.edgeHeads[edge.index]
        var usable = 0
        var onward: EdgeIndex?
        for next in graph.outgoing(node) where edgeCosts[next.index] != Metric.forbidden {
            usable += 1
            if isRoundabout(next) { onward = next }
        }
        let isDeadEnd = usable == 1 && !graph.lacksDepartures(node)
        let flags = graph.nodeFlags[node.index]
        let isBarred = profile.isBarred(at: node, in: graph)
        return Node(
            isJunction: Self.isJunction(node, graph, usable),
            allowsUTurn: isDeadEnd || isBarred || flags.contains(.turningCircle),
            isBarred: isBarred, isPrivateGate: !flags.isDisjoint(with: privateGates),
            ring: onward.flatMap { ring(edge, $0, at: node) })
    }

    /// Whether a turn at a node costs time: three or more roads meet there, even if some only lead to it.
    ///
    /// - Parameter usable: The number of drivable edges that leave it, which decides for tiles without ``NodeFlags/junction``.
    static func isJunction(_ node: NodeIndex, _ graph: RoadGraph, _ usable: @autoclosure () -> Int) -> Bool {
        graph.nodeFlags[node.index].contains(.junction) || usable() > 2
    }

    private func ring(_ edge: EdgeIndex, _ onward: EdgeIndex, at node: NodeIndex) -> Ring? {
        guard !isRoundabout(edge), let inward = graph.incoming(node).first(where: { isRoundabout($0) }) else {
            return nil
        }
        return Ring(
            arriving: Double(graph.edgeEndBearings[inward.index]),
            leaving: Double(graph.edgeStartBearings[onward.index]),
            approach: Double(graph.edgeEndBearings[edge.index]))
    }

    private func isRoundabout(_ edge: EdgeIndex) -> Bool {
        graph.traitTable[Int(graph.traitNumbers[edge.index])].flags.contains(.roundabout)
    }

    /// Returns the seconds and penalty of a turn; nil when the vehicle may not make it.
    func turn(_ first: EdgeIndex, _ second: EdgeIndex, at node: Node) -> (duration: Double, penalty: Double)? {
        let isBack = second == graph.edgeOpposites[first.index]
        if isBack {
            if !node.allowsUTurn { return nil }
        } else if node.isBarred {
            return nil
        } else if let ring = node.ring, !isRoundabout(second),
            ring.isAgainstFlow(Double(graph.edgeStartBearings[second.index]))
        {
            return nil
        }
        // A vehicle that passes the gate of private ground pays for entering once; leaving costs nothing.
        let enters = (closedGround[second.index] || node.isPrivateGate && !isBack) && !closedGround[first.index]
        let penalty = enters ? CostModel.restrictedEntryPenalty : 0
        return (TurnPricing.turnDuration(graph, first, second, isJunction: node.isJunction), penalty)
    }

    /// Returns the seconds of a turn at a node.
    static func turnDuration(_ graph: RoadGraph, _ first: EdgeIndex, _ second: EdgeIndex, isJunction: Bool) -> Double {
        let flags = graph.nodeFlags[graph.edgeHeads[first.index].index]
        var duration = 0.0
        if flags.contains(.trafficSignals) { duration += CostModel.signalDuration }
        if !flags.isDisjoint(with: [.tollBooth, .gate]) { duration += CostModel.boothDuration }
        if second == graph.edgeOpposites[first.index] { return duration + CostModel.uTurnDuration }
        guard isJunction else { return duration }
        let left = graph.traits(of: first).flags.contains(.leftHandTraffic)
        return duration + CostModel.turnDuration(angle: graph.turnAngle(first, second), leftHandTraffic: left)
    }
}
