package import NavGeo
package import NavGuidance
import NavMap
package import NavMessages
package import NavNavigator
package import NavRouting

extension NavMessages.Route {
    package init(_ plan: RoutePlan, context: EventContext, reason: NavMessages.RouteReason) {
        self.init(plan)
        stampNs = context.stamp.nanoseconds
        sessionId = context.session
        routeId = context.route
        causeSequence = context.cause
        eventSequence = context.eventSequence
        summary?.etaNs = context.stamp.advanced(bySeconds: plan.route.rest(from: plan.offset).duration).nanoseconds
        refreshCount = UInt32(clamping: plan.refreshCount)
        self.reason = reason
        if plan.chosenRouteID != 0 { chosenRouteId = plan.chosenRouteID }
    }

    /// Creates the message of a route that is not in force.
    package init(_ plan: RoutePlan) {
        let route = plan.route
        let stepDurations = plan.stepDurations
        self.init(
            geometry: NavMessages.Polyline(route.coordinates),
            legs: route.legs.indices.map { NavMessages.RouteLeg(leg: $0, of: plan, stepDurations: stepDurations) },
            waypoints: route.waypoints.map { NavMessages.Waypoint($0, on: route) },
            edgeIds: route.edges.map(\.key.rawValue),
            edgeFirstPoints: route.edges.map { UInt32($0.coordinates.lowerBound) }, mapVersion: route.mapVersion,
            summary: NavMessages.RouteSummary(route), provider: NavMessages.RouteProvider(plan.provider),
            options: plan.preferences.map { NavMessages.RouteOptions($0, of: plan.guidance) },
            computeDurationS: plan.computeDuration)
    }

    /// Creates the message that there is no longer a route.
    package init(noneAt context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, causeSequence: context.cause,
            eventSequence: context.eventSequence)
    }
}

extension NavMessages.Polyline {
    package init(_ coordinates: [NavGeo.Coordinate]) {
        var latitudes: [Int32] = []
        var longitudes: [Int32] = []
        latitudes.reserveCapacity(coordinates.count)
        longitudes.reserveCapacity(coordinates.count)
        var last = FixedCoordinate(latitudeE7: 0, longitudeE7: 0)
        for coordinate in coordinates {
            let point = FixedCoordinate(coordinate)
            latitudes.append(point.latitudeE7 &- last.latitudeE7)
            longitudes.append(point.longitudeE7 &- last.longitudeE7)
            last = point
        }
        self.init(latDeltasE7: latitudes, lonDeltasE7: longitudes)
    }
}

extension NavMessages.Waypoint {
    /// Creates a waypoint with its place on the road, and its side of the road if the route is known.
    package init(_ waypoint: NavRouting.RouteWaypoint, on route: NavRouting.Route?) {
        self.init(waypoint.waypoint)
        snapped = NavMessages.Coordinate(latitude: waypoint.snapped.latitude, longitude: waypoint.snapped.longitude)
        snapDistanceM = waypoint.snapDistance
        side = route.map { RoadSide(of: waypoint, on: $0) }
    }

    package init(_ waypoint: NavRouting.Waypoint) {
        self.init(
            latitude: waypoint.coordinate.latitude, longitude: waypoint.coordinate.longitude,
            name: waypoint.name.isEmpty ? nil : waypoint.name, kind: waypoint.isStop ? .stop : .via,
            course: waypoint.bearing, courseToleranceRad: waypoint.bearing == nil ? nil : waypoint.bearingTolerance,
            radiusM: waypoint.radius, curbside: waypoint.approach == .kerb ? true : nil)
    }
}

extension NavRouting.Waypoint {
    /// Creates the core's waypoint from a message; nil without a position.
    package init?(_ message: NavMessages.Waypoint) {
        guard let coordinate = NavGeo.Coordinate(ifValid: message.latitude, message.longitude) else { return nil }
        self.init(
            coordinate, bearing: message.course.map { Angle.normalised($0) },
            bearingTolerance: min(max(message.courseToleranceRad ?? .pi / 4, 0), .pi),
            name: message.name ?? "", isStop: message.kind != .via,
            approach: message.curbside == true ? .kerb : .unrestricted, radius: message.radiusM)
    }
}

extension NavMessages.RouteLeg {
    fileprivate init(leg index: Int, of plan: RoutePlan, stepDurations: [Double]) {
        let route = plan.route
        let leg = route.legs[index]
        let edges = route.edges[leg.edges]
        let firstPoint = edges.first?.coordinates.lowerBound ?? 0
        let lastPoint = edges.last?.coordinates.upperBound ?? firstPoint
        let steps = plan.guidance.legs.indices.contains(index) ? plan.guidance.legs[index] : 0..<0
        // A maneuver is at the start of its edge; the line's nearest point may be a different one at the same place.
        let points =
            plan.guidance.steps[steps].map { step in
                leg.edges.contains(step.maneuver.edge)
                    ? route.edges[step.maneuver.edge].coordinates.lowerBound : lastPoint
            } + [lastPoint]
        self.init(
            steps: zip(steps, points.indices).map { step, position in
                NavMessages.RouteStep(
                    step: plan.guidance.steps[step], of: plan, from: points[position], to: points[position + 1],
                    duration: stepDurations[step])
            },
            firstPoint: UInt32(firstPoint), lastPoint: UInt32(lastPoint), distanceM: leg.length,
            durationS: leg.duration, durationTypicalS: leg.freeFlowDuration, waypointIndex: UInt32(leg.destination),
            annotation: NavMessages.Annotation(route, points: firstPoint...lastPoint),
            names: NavMessages.RouteSummary.mainNames(edges),
            notices: plan.guidance.notices.filter { $0.leg == index }
                .map { NavMessages.RouteNotice($0, of: plan) })
    }
}

extension NavMessages.RouteNotice {
    fileprivate init(_ notice: NavGuidance.RouteNotice, of plan: RoutePlan) {
        let lengths = plan.route.line.cumulativeLengths
        let beyond = lengths.partitioningIndex { $0 > notice.routeOffset }
        self.init(
            maneuver: NavMessages.Maneuver(notice), kind: RouteNoticeKind(notice.kind),
            point: UInt32(max(beyond - 1, 0)), routeOffsetM: notice.routeOffset, lengthM: notice.length,
            country: notice.country.isEmpty ? nil : notice.country, instruction: plan.guidance.instruction(notice))
    }
}

extension RouteNoticeKind {
    fileprivate init(_ kind: NavGuidance.RouteNotice.Kind) {
        switch kind {
        case .tollRoad: self = .tollRoad
        case .tollBooth: self = .tollBooth
        case .tunnel: self = .tunnel
        case .border: self = .border
        }
    }
}

extension NavMessages.RouteStep {
    fileprivate init(
        step: NavGuidance.RouteStep, of plan: RoutePlan, from first: Int, to last: Int, duration: Double
    ) {
        let maneuver = step.maneuver
        self.init(
            maneuver: NavMessages.Maneuver(maneuver), firstPoint: UInt32(first), lastPoint: UInt32(max(first, last)),
            distanceM: step.length, durationS: duration, name: step.name.isEmpty ? nil : step.name,
            ref: maneuver.road.references.isEmpty ? nil : maneuver.road.references.joined(separator: "; "),
            destinations: maneuver.road.signs, exits: maneuver.exitNumbers,
            rotaryName: maneuver.roundaboutName.isEmpty ? nil : maneuver.roundaboutName,
            drivingSide: NavMessages.RoadSide(maneuver.drivingSide), isFerry: maneuver.notes.contains(.boardsFerry),
            intersections: step.junctions.map { Intersection($0) },
            instruction: plan.guidance.options.text.instruction(maneuver),
            destinationRefs: maneuver.road.destinationReferences)
    }
}

extension NavMessages.Maneuver {
    package init(_ maneuver: NavGuidance.Maneuver) {
        self.init(
            type: NavMessages.ManeuverType(maneuver.type),
            modifier: maneuver.modifier.map { NavMessages.ManeuverModifier($0) },
            latitude: maneuver.coordinate.latitude, longitude: maneuver.coordinate.longitude,
            courseBefore: maneuver.bearingBefore, courseAfter: maneuver.bearingAfter,
            roundaboutExit: maneuver.roundaboutExit.map { UInt32($0) })
    }
}

extension NavMessages.Maneuver {
    package init(_ notice: NavGuidance.RouteNotice) {
        self.init(
            type: .notification, modifier: .straight, latitude: notice.coordinate.latitude,
            longitude: notice.coordinate.longitude, courseBefore: notice.bearing, courseAfter: notice.bearing)
    }
}

extension NavMessages.RoadSide {
    package init(_ side: NavGuidance.RoadSide) { self = side == .left ? .left : .right }

    /// The distance within which a place is considered on the road, metres: as for the kerb side of a waypoint.
    private static let onTheRoad = 1.0

    /// Creates the side of the road on which a waypoint lies, as seen on arrival.
    package init(of waypoint: NavRouting.RouteWaypoint, on route: NavRouting.Route) {
        let place = waypoint.waypoint.coordinate
        guard waypoint.snapDistance > Self.onTheRoad, let way = route.line.bearing(arrivingAt: waypoint.routeOffset)
        else {
            self = .ahead
            return
        }
        let turn = Angle.difference(from: way, to: Geodesy.bearing(from: waypoint.snapped, to: place))
        // A place beyond a road's end or before its start is on neither side.
        let isAlong = min(abs(turn), .pi - abs(turn)) * waypoint.snapDistance <= Self.onTheRoad
        self = isAlong ? .ahead : turn < 0 ? .left : .right
    }
}

extension Intersection {
    package init(_ junction: RouteJunction) {
        self.init(
            point: UInt32(clamping: junction.point), courses: junction.bearings.map(Float.init),
            entries: junction.entries, inIndex: junction.incoming.map { UInt32($0) },
            outIndex: junction.outgoing.map { UInt32($0) }, lanes: junction.lanes.map { NavMessages.Lane($0) },
            hasSignal: junction.hasSignal, hasStop: junction.hasStop)
    }
}

extension NavRouting.Route {
    /// Whether a segment and the previous one meet at an OSM node, rather than at a waypoint within a segment.
    fileprivate func meetsNode(before index: Int) -> Bool {
        let (last, next) = (segments[index - 1], segments[index])
        guard last.toNodeID == next.fromNodeID else { return false }
        // A vehicle that makes a U-turn within a segment returns to the node it came from.
        return last.edge == next.edge || last.fromNodeID != next.toNodeID || edges[next.edge].startOffset == 0
    }
}

extension NavMessages.Annotation {
    /// The entry of `node_ids` for a point that is not a node.
    package static let noNode: Int64 = 0

    /// Creates the annotation of the segments between two of the route's points.
    package init(_ route: NavRouting.Route, points: ClosedRange<Int>) {
        let segments = points.lowerBound..<points.upperBound
        var nodes: [Int64] = []
        var ways: [Int64] = []
        var distances: [Float] = []
        var durations: [Float] = []
        var speeds: [Float] = []
        var limits: [SpeedLimitSpan] = []
        var congestion: [CongestionSpan] = []
        for (position, index) in segments.enumerated() {
            let segment = route.segments[index]
            let edge = route.edges[segment.edge]
            let length = route.line.cumulativeLengths[index + 1] - route.line.cumulativeLengths[index]
            let duration = edge.length > 0 ? edge.duration * length / edge.length : 0
            if position == 0 {
                nodes.append(segment.fromNodeID)
            } else if !route.meetsNode(before: index) {
                nodes[position] = Self.noNode
            }
            nodes.append(segment.toNodeID)
            ways.append(edge.wayID)
            distances.append(Float(length))
            durations.append(Float(duration))
            speeds.append(duration > 0 ? Float(length / duration) : edge.attributes.freeFlowSpeed)
            if let level = NavMessages.CongestionLevel(known: edge.congestion) {
                if let last = congestion.last, last.level == level,
                    (last.firstSegment ?? 0) + (last.segmentCount ?? 0) == UInt32(position)
                {
                    congestion[congestion.count - 1].segmentCount = (last.segmentCount ?? 0) + 1
                } else {
                    congestion.append(CongestionSpan(firstSegment: UInt32(position), segmentCount: 1, level: level))
                }
            }
            let limit = edge.attributes.limit(for: route.vehicle.access)
            var span = SpeedLimitSpan(
                firstSegment: UInt32(position), segmentCount: 1, limitMps: limit.speed,
                unlimited: limit.isUnlimited ? true : nil, source: LimitSource(limit.source))
            if let last = limits.last, last.limitMps == span.limitMps, last.unlimited == span.unlimited,
                last.source == span.source
            {
                (span.firstSegment, span.segmentCount) = (last.firstSegment, (last.segmentCount ?? 0) + 1)
                limits[limits.count - 1] = span
            } else {
                limits.append(span)
            }
        }
        self.init(
            nodeIds: nodes, wayIds: ways, distancesM: distances, durationsS: durations, speedsMps: speeds,
            speedLimits: limits.filter { $0.limitMps != nil || $0.unlimited == true }, congestion: congestion)
    }
}

extension NavMessages.RouteSummary {
    /// Creates the summary of a route.
    ///
    /// - Parameter offset: The start of the summarised part, metres from the route's start; nil for the whole route.
    package init(_ whole: NavRouting.Route, from offset: Double? = nil) {
        let route = whole.rest(from: offset ?? 0)
        let summary = NavRouting.RouteSummary(route)
        var countries: [String] = []
        for passage in summary.countries where !passage.country.isEmpty && countries.last != passage.country {
            countries.append(passage.country)
        }
        self.init(
            distanceM: route.length - (offset ?? 0), durationS: route.duration,
            durationTypicalS: route.freeFlowDuration,
            trafficDelayS: route.trafficDelay,
            trafficDelayScope: route.trafficDelay == nil ? nil : offset == nil ? .complete : .remaining,
            trafficStampNs: route.trafficStamp?.nanoseconds,
            toll: TollSummary(
                totalLengthM: summary.anyTollLength, truckLengthM: summary.truckTollLength,
                gateCount: UInt32(clamping: summary.tollBooths)),
            restrictions: summary.restrictions.map { RouteRestriction($0, on: route) },
            ferryLengthM: summary.ferries.reduce(0) { $0 + $1.length }, motorwayLengthM: summary.motorwayLength,
            unpavedLengthM: summary.unpavedLength, tunnelLengthM: summary.tunnelLength, countries: countries,
            names: RouteSummary.mainNames(route.edges[...]),
            weight: offset == nil ? Double(route.cost) / 1_000 : nil,
            countryPassages: summary.countries.map { passage in
                NavMessages.CountryPassage(
                    country: passage.country.isEmpty ? nil : passage.country, routeOffsetM: passage.routeOffset,
                    distanceM: passage.length, drivingSide: passage.drivesOnLeft ? .left : .right)
            },
            ferries: summary.ferries.map { ferry in
                NavMessages.FerryPassage(
                    name: ferry.name.isEmpty ? nil : ferry.name, routeOffsetM: ferry.routeOffset,
                    distanceM: ferry.length, durationS: ferry.duration)
            })
    }

    /// Returns the names of the two roads with the longest shares, in travel order.
    package static func mainNames(_ edges: ArraySlice<RouteEdge>) -> [String] {
        var lengths: [(name: String, length: Double)] = []
        for edge in edges {
            let name = edge.attributes.name.isEmpty ? edge.attributes.reference : edge.attributes.name
            guard !name.isEmpty else { continue }
            if let known = lengths.firstIndex(where: { $0.name == name }) {
                lengths[known].length += edge.length
            } else {
                lengths.append((name, edge.length))
            }
        }
        let longest = lengths.indices.sorted { (lengths[$1].length, $0) < (lengths[$0].length, $1) }.prefix(2)
        return longest.sorted().map { lengths[$0].name }
    }
}

extension NavMessages.RouteRestriction {
    package init(_ restriction: VehicleRestriction, on route: NavRouting.Route) {
        let edges = route.edges[restriction.edges]
        // The wire uses kilograms for tonnes.
        let scale = [.weight, .axleLoad].contains(restriction.kind) ? 1_000.0 : 1
        self.init(
            kind: RestrictionKind(restriction.kind),
            firstPoint: UInt32(clamping: edges.first?.coordinates.lowerBound ?? 0),
            lastPoint: UInt32(clamping: edges.last?.coordinates.upperBound ?? 0),
            limit: restriction.limit.map { Double($0) * scale },
            violated: false, wayId: restriction.wayID, own: restriction.own.map { Double($0) * scale })
    }
}
