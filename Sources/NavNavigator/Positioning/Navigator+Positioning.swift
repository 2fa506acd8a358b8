import NavGeo
import NavMatching
import NavPositioning
import NavRouting

/// Use of positions: publication, trip following, and route origins.
extension Navigator {
    private var prior: RoutePrior? { trip.flatMap { $0.isComplete ? nil : $0.prior } }

    /// Passes an input to positioning and handles the effects; returns whether its stamp is the present time; the stamp of an unused fix is
    /// not.
    @discardableResult
    func position(_ input: Positioning.Event, _ event: NavigatorEvent) -> Bool {
        let isFirst = lastFix == nil
        let effects = positioning.handle(input, at: event.stamp, prior: simulation == nil ? prior : nil)
        if isFirst, let lastFix { beginClock(at: lastFix) }
        if simulation == nil { take(effects, event) } else { followVehicle(effects, event) }
        return Self.tellsTime(effects)
    }

    private static func tellsTime(_ effects: [Positioning.Effect]) -> Bool {
        switch effects.first {
        case .qualified(_, .rejected)?, .qualified(_, .standby)?: false
        default: true
        }
    }

    /// Publishes the results of positioning, in order, and follows positions.
    func take(_ effects: [Positioning.Effect], _ event: NavigatorEvent) {
        for effect in effects {
            switch effect {
            case .qualified(let fix, let verdict):
                perform(.qualified(fix, verdict))
                guard case .rejected(let rejection) = verdict else { continue }
                guard rejection.reason.isJudgement else { publish(.fixRejected(fix, rejection), event); continue }
                ask(.shouldDiscardFix(fix, rejection), standard: true, event)
            case .clockSet: setClock(to: event.stamp)
            case .receiver(let change): publish(.receiver(change), event)
            case .predictionBegan(let reason, let position):
                for phase in [SimulationEvent.Phase.willBegin, .began] {
                    publish(
                        .simulation(
                            SimulationEvent(phase: phase, reason: SimulationReason(reason), position: position)), event)
                }
            case .predictionEnded(let reason, let end, let position):
                isLost = end == .gaveUp
                for phase in [SimulationEvent.Phase.willEnd, .ended] {
                    publish(
                        .simulation(
                            SimulationEvent(
                                phase: phase, reason: SimulationReason(reason), position: position,
                                end: SimulationEvent.End(end))), event)
                }
            case .position(let position): follow(position, event)
            case .filtered, .step: break
            }
        }
    }

    /// Continues with a position from a fix or a prediction.
    func follow(_ position: VehiclePosition, _ event: NavigatorEvent) {
        (lastPosition, isLost) = (position, false)
        now = event.stamp
        publish(.position(position), event)
        // A trip starts at the real vehicle, not at a simulated one.
        if simulation == nil { startDueTrip(from: position, event) }
        followTrip(position, event)
    }

    /// Starts a requested trip that has been waiting for a position of the vehicle.
    func startDueTrip(from position: VehiclePosition, _ event: NavigatorEvent) {
        guard let order = search.startDue(at: event.stamp, position, isPrecise: canStart(at: position)) else { return }
        begin(order, from: position, event)
    }

    /// Returns the origin of a route from a position: on the matched road if there is one, in the vehicle's direction.
    ///
    /// For a slow or stationary vehicle the direction is that of the matcher's belief, or from the course when there is no road. If the
    /// direction is unknown, the search chooses it. For a vehicle that moves against a one-way road, the route starts in the road's
    /// direction; in the vehicle's direction it would start on a parallel carriageway.
    func origin(_ position: VehiclePosition, keepsCourse: Bool) -> Waypoint {
        let isMoving = (position.speed ?? 0) >= config.deviationCourseMinimumSpeed
        let isKnown = isMoving || position.directionProbability >= config.originDirectionProbability
        let course = isKnown ? (position.road.map(Self.legalBearing) ?? position.course) : nil
        return Waypoint(position.road?.coordinate ?? position.coordinate, bearing: keepsCourse ? course : nil)
    }

    private static func legalBearing(_ road: MatchedPosition.RoadPosition) -> Double {
        road.isAgainst ? Angle.normalised(road.bearing + .pi) : road.bearing
    }
}
