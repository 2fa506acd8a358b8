package import NavGeo
package import NavMap

/// A junction of the model shared by guidance, lanes and turns, with its roads and each approach's turns and maneuvers, as drawn by
/// `navbus map junction`.
package struct JunctionView: Sendable, Equatable {
    /// A road of the junction, with both directions together.
    package struct Arm: Sendable, Equatable {
        package var wayID: Int64
        package var name: String
        package var reference: String
        /// The destinations on its signs, away from the junction.
        package var destination: String
        package var roadClass: RoadClass
        package var isLink: Bool
        package var isRoundabout: Bool
        /// The perceived direction in which it leaves, degrees clockwise from north.
        package var bearing: Double
        /// The direction of its first metres, degrees clockwise from north.
        package var drawnBearing: Double
        /// Metres to the next node of the road graph.
        package var length: Double
        /// Whether the vehicle may leave the junction by it, regardless of turn restrictions.
        package var canLeave: Bool
        /// Whether the vehicle may arrive by it.
        package var canArrive: Bool
        /// Whether it is the arriving half of a road whose carriageways split here, and therefore not a separate road.
        package var isHalf: Bool
        /// Its line from the junction on.
        package var line: [Coordinate]
    }

    /// A way through the junction from an approach.
    package struct Way: Sendable, Equatable {
        /// The arm, as an index in ``JunctionView/arms``.
        package var arm: Int
        /// Degrees that a driver turns, clockwise, −180 ... 180.
        package var turn: Double
        /// The reason why it may not be driven; nil when it may.
        package var obstacle: Obstacle?
        /// The maneuver announced to a driver who takes it, regardless of neighbouring junctions; nil when nothing is announced.
        package var maneuver: ManeuverType?
        package var modifier: ManeuverModifier
        /// The lanes of the approach that lead there, from 0 at the left; empty when unknown.
        package var lanes: [Int]
    }

    /// A reason why an existing way may not be driven.
    package enum Obstacle: String, Sendable {
        case oneWay = "one-way"
        case restriction = "turn restriction"
        case barrier
        /// A U-turn, or a turn against the flow of a roundabout, that no driver would make.
        case avoided = "not driven"
    }

    /// An arm by which the vehicle may arrive.
    package struct Approach: Sendable, Equatable {
        package var arm: Int
        /// Whether there is a signal or a stop sign at its stop line, shortly before the junction.
        package var hasSignal: Bool
        package var hasStop: Bool
        package var lanes: [Lane]
        /// The ways, from right to left as the driver sees them.
        package var ways: [Way]
    }

    /// Another node that drivers may perceive as the same junction: the roads between are so short that routes join the turns at both.
    package struct Neighbour: Sendable, Equatable {
        /// OSM node.
        package var nodeID: Int64
        package var coordinate: Coordinate
        /// Metres along the roads between.
        package var distance: Double
        /// The direction from the view's node, degrees clockwise from north.
        package var bearing: Double
        /// The number of roads that meet there.
        package var roads: Int
        package var flags: NodeFlags
    }

    package var coordinate: Coordinate
    /// OSM node.
    package var nodeID: Int64
    package var exitReference: String
    package var junctionName: String
    package var flags: NodeFlags
    package var limits: SizeLimits
    /// Metres from the requested place.
    package var distance: Double
    /// The arms, clockwise from north.
    package var arms: [Arm]
    package var approaches: [Approach]
    /// The other nodes of the physical junction, the nearest first.
    package var neighbours: [Neighbour]

    /// Finds the nearest junction of three or more roads open to the vehicle; nil when there is none within `radius` metres.
    ///
    /// - Parameter width: The vehicle's width, metres, which determines its lanes; nil to ignore widths.
    package init?(
        near place: Coordinate, radius: Double, in graph: RoadGraph, for access: VehicleAccess, width: Float? = nil
    ) {
        let model = JunctionModel(graph, for: access)
        var nodes: Set<NodeIndex> = []
        for hit in graph.edges(near: place, radius: radius) {
            nodes.insert(graph.edgeTails[hit.edge.index])
            nodes.insert(graph.edgeHeads[hit.edge.index])
        }
        func distance(_ node: NodeIndex) -> Double {
            Geodesy.distance(place, graph.nodePositions[node.index].coordinate)
        }
        let near = nodes.filter { distance($0) <= radius && model.arms(at: $0).count >= 3 }
        guard let node = near.min(by: { (distance($0), $0.rawValue) < (distance($1), $1.rawValue) }) else { return nil }
        self.init(at: node, model, width)
        self.distance = distance(node)
    }

    private init(at node: NodeIndex, _ model: JunctionModel, _ width: Float?) {
        let graph = model.graph
        let roads = model.junction(at: node)
        coordinate = graph.nodePositions[node.index].coordinate
        flags = graph.nodeFlags[node.index]
        limits = graph.sizeLimits(of: node)
        exitReference = graph.exitReference(of: node)
        junctionName = graph.junctionName(of: node)
        distance = 0
        let first = roads[0]
        let shape = graph.shape(of: first.edge)
        nodeID = shape.nodeID(first.leaving != nil ? 0 : shape.count - 1)
        arms = roads.map { Self.arm($0, graph) }
        let classifier = TurnClassifier(model: model)
        approaches = roads.indices.compactMap { index in
            guard let arriving = roads[index].arriving, let seen = model.intersection(after: arriving) else {
                return nil
            }
            return Self.approach(index, arriving, classifier.classified(seen, after: arriving), roads, model, width)
        }
        neighbours = Self.neighbours(of: node, model)
    }

    /// Returns the nodes within reach of each other over roads that are open in either direction, each step no longer than
    /// ``TurnJoiner/reach``.
    private static func neighbours(of node: NodeIndex, _ model: JunctionModel) -> [Neighbour] {
        let graph = model.graph
        let origin = graph.nodePositions[node.index].coordinate
        var distances: [NodeIndex: Double] = [node: 0]
        var found: [Neighbour] = []
        var waiting: Set<NodeIndex> = [node]
        var passedNodes: Set<NodeIndex> = []
        while found.count < mostNeighbours,
            let current = waiting.min(by: {
                (distances[$0] ?? 0, $0.rawValue) < (distances[$1] ?? 0, $1.rawValue)
            })
        {
            waiting.remove(current)
            passedNodes.insert(current)
            let passed = distances[current] ?? 0
            let arms = model.arms(at: current)
            if current != node, arms.count >= 3 {
                let coordinate = graph.nodePositions[current.index].coordinate
                found.append(
                    Neighbour(
                        nodeID: graph.nodeOSMIDs[current.index], coordinate: coordinate, distance: passed,
                        bearing: circle(Angle.degrees(Geodesy.bearing(from: origin, to: coordinate))),
                        roads: arms.count, flags: graph.nodeFlags[current.index]))
            }
            for arm in arms where arm.length <= TurnJoiner.reach && !passedNodes.contains(arm.end) {
                distances[arm.end] = min(distances[arm.end] ?? .infinity, passed + arm.length)
                waiting.insert(arm.end)
            }
        }
        return found
    }

    /// The most neighbours that are listed; a car park may have hundreds of short roads.
    private static let mostNeighbours = 12

    private static func arm(_ road: JunctionArm, _ graph: RoadGraph) -> Arm {
        let reading = graph.reading(of: road.edge)
        let attributes = reading.attributes
        let shape = reading.shape
        let count = shape.count
        return Arm(
            wayID: reading.wayID, name: attributes.name, reference: attributes.reference,
            destination: road.leaving.map { graph.attributes(of: $0).destination } ?? "",
            roadClass: attributes.roadClass, isLink: road.road.isLink, isRoundabout: road.road.isRoundabout,
            bearing: circle(road.bearing),
            drawnBearing: circle(Angle.degrees(reading.outwardBearing(road.leaving != nil))),
            length: road.length, canLeave: road.leaving != nil, canArrive: road.arriving != nil, isHalf: road.isMerged,
            line: (0..<count).map { shape[road.leaving != nil ? $0 : count - 1 - $0].coordinate })
    }

    private static func approach(
        _ own: Int, _ arriving: EdgeIndex, _ seen: Intersection, _ roads: [JunctionArm], _ model: JunctionModel,
        _ width: Float?
    ) -> Approach {
        let graph = model.graph
        let tag = graph.reading(of: arriving).turnLanes
        let refused = graph.refusedTurns(from: arriving, for: model.access)
        let isBarred = model.isBarred(seen.node)
        var ways: [Way] = []
        for (place, road) in seen.roads.enumerated() {
            guard
                let arm = roads.firstIndex(where: {
                    $0.leaving != nil ? $0.leaving == road.leaving : $0.arriving == road.arriving && road.leaving == nil
                })
            else { continue }
            let obstacle: Obstacle? =
                road.isEntry
                ? nil
                : road.leaving == nil
                    ? .oneWay
                    : road.leaving.map(refused.contains) == true
                        ? .restriction : isBarred && arm != own ? .barrier : .avoided
            let lanes =
                road.isEntry ? LaneGuidance.lanes(tag, at: seen, onto: place, for: model.access, width: width) : []
            ways.append(
                Way(
                    arm: arm, turn: 180 - road.angle, obstacle: obstacle,
                    maneuver: road.turn.kind == .slipLane ? .turn : road.turn.type,
                    modifier: road.isEntry ? road.turn.modifier : ManeuverModifier(angle: road.angle),
                    lanes: lanes.indices.filter { lanes[$0].isValid }))
        }
        let stopLine = graph.stopLine(before: arriving)
        return Approach(
            arm: own, hasSignal: stopLine.hasSignal, hasStop: stopLine.hasStop,
            lanes: LaneGuidance.parse(tag, for: model.access, width: width), ways: ways)
    }
}

extension EdgeReading {
    /// Returns the direction of the first metres away from one end of the edge, radians.
    fileprivate func outwardBearing(_ isFromStart: Bool) -> Double {
        let shape = shape
        let last = shape.count - 1
        return isFromStart
            ? Geodesy.bearing(from: shape[0].coordinate, to: shape[1].coordinate)
            : Geodesy.bearing(from: shape[last].coordinate, to: shape[last - 1].coordinate)
    }
}
