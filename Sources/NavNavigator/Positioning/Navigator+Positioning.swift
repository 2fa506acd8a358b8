import NavGeo
import NavMatching
import NavPositioning
import NavRouting

/// Positions put to use: told, followed along the trip, and where routes start.
extension Navigator {
    private var prior: RoutePrior? { trip.flatMap { $0.isComplete ? nil : $0.prior } }

    /// Hands an input to positioning, and goes on from the effects; false for a fix that was rejected.
    @discardableResult
    func position(_ input: Positioning.Event, _ event: NavigatorEvent) -> Bool {
        if simulation != nil {
            followVehicle(positioning.handle(input, at: event.stamp), event)
            return true
        }
        let effects = positioning.handle(input, at: event.stamp, prior: prior)
        take(effects, event)
        if case .judged(_, .rejected)? = effects.first { return false }
        return true
    }

    /// Publishes what positioning found out, in order, and goes on from positions.
    func take(_ effects: [Positioning.Effect], _ event: NavigatorEvent) {
        for effect in effects {
            switch effect {
            case .judged(let fix, let verdict):
                perform(.judged(fix, verdict))
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

    /// Goes on from a position of a fix or of a prediction.
    func follow(_ position: VehiclePosition, _ event: NavigatorEvent) {
        lastPosition = position
        now = event.stamp
        publish(.position(position), event)
        if let order = search.startDue(at: event.stamp, isPrecise: canStart(at: position)) {
            begin(order, from: position, event)
        }
        followTrip(position, event)
    }

    /// Returns the origin of a route from here: on the matched road when there is one, in the direction that the vehicle points in.
    ///
    /// A vehicle that creeps or stands still points somewhere: the matcher's belief in the directions of the road tells, and the course
    /// where there is no road. Only a direction that is not known leaves the choice to the search. Against a one-way road the route starts
    /// in the road's own direction: with the vehicle's it would start on another carriageway beside it.
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
