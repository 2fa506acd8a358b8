import NavGeo
import NavGuidance
package import NavMap
import NavMatching
package import NavMessages
package import NavNavigator
package import NavPositioning
package import NavRouting

extension NavMessages.NavigationState {
    package init(_ state: NavigatorState, context: EventContext) {
        let (phase, guidance) = NavigationState.phases(state.phase)
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, phase: phase, guidance: guidance,
            gnss: state.health.map { GnssHealth($0) }, positionSource: state.positions.map { PositionSource($0) },
            rerouteInProgress: state.isRerouting, legIndex: guidance == nil ? nil : UInt32(state.leg),
            legCount: guidance == nil ? nil : UInt32(state.legCount), isHeld: guidance == nil ? nil : state.isHeld,
            destination: state.destination.map { NavMessages.Waypoint($0) }, mapVersion: state.mapVersion,
            missingTileCount: UInt32(clamping: state.missingTiles))
    }

    private static func phases(_ phase: NavigatorState.Phase) -> (NavigationPhase, NavMessages.GuidanceState?) {
        switch phase {
        case .idle: (.idle, nil)
        case .freeDrive: (.freeDrive, nil)
        case .preview: (.preview, nil)
        case .guidance(.initialized): (.guidance, .initialized)
        case .guidance(.tracking): (.guidance, .tracking)
        case .guidance(.uncertain): (.guidance, .uncertain)
        case .guidance(.offRoute): (.guidance, .offRoute)
        case .guidance(.complete): (.guidance, .complete)
        }
    }
}

extension NavMessages.RouteProgress {
    /// Creates the message of progress.
    ///
    /// - Parameter limit: The speed limit at the vehicle.
    package init(_ progress: NavNavigator.RouteProgress, context: EventContext, limit: SpeedLimit) {
        let attributes = progress.attributes
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, legIndex: UInt32(progress.leg),
            legCount: UInt32(progress.legCount), stepIndex: UInt32(progress.step),
            stepCount: UInt32(progress.stepCount),
            pointIndex: UInt32(progress.point), distanceTraveledM: progress.offset,
            distanceRemainingM: progress.distanceRemaining, durationRemainingS: progress.durationRemaining,
            fractionTraveled: progress.fraction,
            legDistanceRemainingM: progress.legDistanceRemaining, legDurationRemainingS: progress.legDurationRemaining,
            stepDistanceRemainingM: progress.stepDistanceRemaining,
            stepDurationRemainingS: progress.stepDurationRemaining,
            etaNs: context.stamp.advanced(bySeconds: progress.durationRemaining).nanoseconds,
            legEtaNs: context.stamp.advanced(bySeconds: progress.legDurationRemaining).nanoseconds,
            trafficDelayRemainingS: progress.trafficDelayRemaining,
            deviation: NavMessages.DeviationState(progress.deviation.state),
            distanceToRouteM: progress.deviation.distance, courseDifferenceRad: progress.deviation.courseDifference,
            deviationSinceNs: progress.deviation.since.nanoseconds, alongSigmaM: progress.position.road?.alongSigma,
            roadName: attributes.flatMap { $0.name.isEmpty ? nil : $0.name },
            roadRef: attributes.flatMap { $0.reference.isEmpty ? nil : $0.reference },
            speedLimitMps: limit.speed.map(Double.init), speedUnlimited: limit.isUnlimited ? true : nil,
            nextManeuverType: progress.nextManeuver.map { NavMessages.ManeuverType($0.type) },
            nextManeuverModifier: progress.nextManeuver?.modifier.map { NavMessages.ManeuverModifier($0) },
            visualInstructionId: progress.visualInstruction?.wire,
            spokenInstructionId: progress.spokenInstruction?.wire,
            matched: Pose(
                latitude: progress.snapped.latitude, longitude: progress.snapped.longitude,
                course: progress.snappedBearing, speedMps: progress.position.speed,
                horizontalAccuracyM: progress.position.road?.alongSigma ?? progress.position.sigma),
            raw: Pose(raw: progress.position), isSnapped: progress.isSnapped,
            source: PositionSource(progress.position),
            waypointsRemaining: UInt32(progress.stopsRemaining),
            deviationProbability: progress.deviation.probability, limitSource: LimitSource(limit.source),
            lanes: progress.lanes.map { NavMessages.Lane($0) }, lanesDistanceM: progress.lanesDistance,
            trafficStampNs: progress.trafficStamp?.nanoseconds)
    }
}

extension NavMessages.RerouteEvent {
    package init(_ event: NavNavigator.RerouteEvent, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, reason: RerouteReason(event.reason),
            proactive: event.isProactive, requestId: event.requestID,
            attempt: event.attempt.map { UInt32(clamping: $0) },
            provider: event.provider.map { NavMessages.RouteProvider($0) },
            pose: event.position.map { Pose($0) },
            initialManeuverAvoidanceM: event.maneuverAvoidance > 0 ? event.maneuverAvoidance : nil)
        switch event.phase {
        case .willReroute: phase = .willReroute
        case .fetching(let attempt):
            phase = .fetching
            self.attempt = UInt32(clamping: attempt)
        case .fetched: phase = .fetched
        case .applied(let old):
            phase = .applied
            oldRouteId = old == 0 ? nil : old
            newRouteId = context.route
        case .failed(let failure, let next):
            phase = .failed
            error = ErrorInfo(failure)
            nextAttemptNs = next?.nanoseconds
        case .rejected(let why):
            phase = .rejected
            rejection = RerouteRejection(why)
        }
    }
}

extension ErrorInfo {
    package init(_ failure: RouteFailure) {
        self.init(
            code: ErrorCode(failure.code), message: failure.message, retryable: failure.isRetryable,
            missingTiles: failure.missingTiles.map { TileKey($0) }, nearestRoadM: failure.nearestRoad)
    }
}

extension RoadTileID {
    /// Creates the road tile of a key; nil when the key is invalid.
    package init?(_ key: TileKey) {
        guard key.domain == .navigation, let zoom = key.zoom, let x = key.x, let y = key.y,
            let tile = TileID(zoom: UInt8(clamping: zoom), x: x, y: y)
        else { return nil }
        self.init(tile)
    }
}

extension TileKey {
    package init(_ id: RoadTileID) {
        self.init(domain: .navigation, zoom: UInt32(id.tile.zoom), x: id.tile.x, y: id.tile.y)
    }
}

extension NavMessages.ArrivalEvent {
    package init(_ event: NavNavigator.ArrivalEvent, context: EventContext, route: NavRouting.Route?) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, legIndex: UInt32(event.leg),
            waypointIndex: UInt32(event.waypoint),
            waypoint: route.flatMap { route in
                route.waypoints.indices.contains(event.waypoint)
                    ? NavMessages.Waypoint(route.waypoints[event.waypoint], on: route) : nil
            }, distanceRemainingM: event.distanceRemaining, durationRemainingS: event.durationRemaining,
            isDestination: event.isDestination)
        switch event.phase {
        case .approaching(let isFirst):
            phase = .approaching
            self.isFirst = isFirst
        case .arrived: phase = .arrived
        case .held: phase = .held
        case .legStarted: phase = .legStarted
        }
    }
}

extension NavMessages.FixRejected {
    package init(_ rejection: FixRejection, _ message: NavMessages.GnssFix, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            reason: FixRejectionReason(rejection.reason), value: rejection.value, limit: rejection.limit, fix: message)
    }
}
