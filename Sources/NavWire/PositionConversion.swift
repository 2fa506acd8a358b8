import NavGeo
package import NavMap
package import NavMatching
package import NavMessages
package import NavNavigator
package import NavPositioning

extension NavMessages.MatchedPosition {
    /// Encodes the vehicle's position.
    ///
    /// - Parameter limit: The speed limit of its road; nil off the roads.
    package init(_ position: VehiclePosition, context: EventContext, graph: RoadGraph, limit: SpeedLimit?) {
        let match = position.match
        let attributes = match.road.map { graph.attributes(of: $0.edge) }
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            raw: position.prediction == nil ? Pose(raw: position) : nil,
            matched: match.road.map { Pose($0, position) } ?? (position.coordinate.isValid ? Pose(raw: position) : nil),
            isOnRoad: match.road != nil, road: match.road.map { RoadPosition($0, graph: graph) },
            alongSigmaM: match.road?.alongSigma ?? position.sigma,
            crossSigmaM: match.road?.crossSigma ?? position.sigma,
            confidence: match.road == nil ? nil : match.confidence,
            offRoadProbability: match.state == .unusable ? nil : match.offRoadProbability,
            candidates: match.candidates.map { MatchCandidate($0, graph: graph) },
            source: PositionSource(position), prediction: position.prediction.map { NavMessages.PredictionMethod($0) },
            ageS: position.prediction == nil ? nil : position.age, isTeleport: match.isTeleport || position.isRestart,
            roadName: attributes.flatMap { $0.name.isEmpty ? nil : $0.name },
            roadRef: attributes.flatMap { $0.reference.isEmpty ? nil : $0.reference },
            roadClass: attributes.map { NavMessages.RoadClass($0.roadClass) },
            speedLimitMps: limit?.speed.map(Double.init), speedUnlimited: limit?.isUnlimited == true ? true : nil,
            inTunnel: attributes.map { $0.flags.contains(.tunnel) }, mapVersion: graph.mapVersion,
            protectionLevelM: position.prediction == nil ? position.fix.protectionLevel : nil,
            limitSource: limit.map { LimitSource($0.source) })
    }
}

extension EventContext {
    /// The trip; nil without one.
    package var session: UInt64? { sessionID == 0 ? nil : sessionID }
    /// The route in force; nil without one.
    package var route: UInt64? { routeID == 0 ? nil : routeID }
    /// The cause; nil without one.
    package var cause: UInt64? { causeSequence == 0 ? nil : causeSequence }
}

extension Pose {
    /// Creates the pose on the road, or off the roads the pose of the receiver or the filter.
    package init(_ position: VehiclePosition) {
        self = position.road.map { Pose($0, position) } ?? Pose(raw: position)
    }

    /// Creates the receiver's pose, or the filter's pose if the receiver has none.
    package init(raw position: VehiclePosition) {
        let fix = position.fix
        self.init(
            latitude: fix.coordinate.latitude, longitude: fix.coordinate.longitude,
            course: fix.course.map(Angle.normalised), speedMps: fix.speed, horizontalAccuracyM: fix.horizontalSigma,
            altitudeM: fix.altitude, heading: fix.heading.map(Angle.normalised))
    }

    package init(_ road: NavMatching.MatchedPosition.RoadPosition, _ position: VehiclePosition) {
        self.init(
            latitude: road.coordinate.latitude, longitude: road.coordinate.longitude, course: road.bearing,
            speedMps: position.speed, horizontalAccuracyM: road.alongSigma)
    }
}

extension RoadPosition {
    package init(_ road: NavMatching.MatchedPosition.RoadPosition, graph: RoadGraph) {
        self.init(
            edgeId: road.edgeKey.rawValue, wayId: road.wayID, fromNode: road.fromNodeID, toNode: road.toNodeID,
            offsetM: road.segmentOffset, edgeOffsetM: road.offset,
            edgeLengthM: Double(graph.edgeLengths[road.edge.index]))
    }
}

extension MatchCandidate {
    package init(_ candidate: NavMatching.MatchedPosition.Candidate, graph: RoadGraph) {
        self.init(
            road: RoadPosition(
                edgeId: graph.key(of: candidate.edge).rawValue, wayId: graph.wayID(of: candidate.edge),
                edgeOffsetM: candidate.offset, edgeLengthM: Double(graph.edgeLengths[candidate.edge.index])),
            probability: candidate.probability, distanceM: candidate.distance)
    }
}
