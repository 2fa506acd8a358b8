import NavGeo
import NavMatching
import NavRouting

/// Positions put to use: told, followed along the trip, and where routes start.
extension Navigator {
    private var prior: RoutePrior? { trip.flatMap { $0.isComplete ? nil : $0.prior } }

    /// Takes a fix in; whether it counted.
    @discardableResult
    mutating func handle(_ fix: Fix, _ event: NavigatorEvent, isVouchedFor: Bool = false) -> Bool {
        // The drive along the route goes its own way.
        guard simulation == nil else { return true }
        let happenings = positioning.take(fix, at: event.stamp, map.metric, prior, isVouchedFor: isVouchedFor)
        take(happenings, event)
        return !happenings.contains { if case .rejected = $0 { true } else { false } }
    }

    mutating func handle(_ odometry: Odometry, _ event: NavigatorEvent) {
        guard simulation == nil else { return }
        take(positioning.take(odometry, at: event.stamp, map.metric, prior), event)
    }

    /// Predicts the position when it is due.
    mutating func advance(_ event: NavigatorEvent) {
        guard simulation == nil else { return }
        take(positioning.advance(to: event.stamp, map.metric, prior), event)
    }

    /// Tells what was found out, in order, and goes on from positions.
    mutating func take(_ happenings: [Positioning.Happening], _ event: NavigatorEvent) {
        for happening in happenings {
            switch happening {
            case .rejected(let fix, let rejection):
                guard rejection.reason.isJudgement else { publish(.fixRejected(fix, rejection), event); continue }
                ask(.shouldDiscardFix(fix, rejection), standard: true, event)
            case .clockSet: noteClockSet(to: event.stamp)
            case .receiver(let change): publish(.receiver(change), event)
            case .simulation(let simulation): publish(.simulation(simulation), event)
            case .position(let position): follow(position, event)
            }
        }
    }

    /// Goes on from a position of a fix or of a prediction.
    mutating func follow(_ position: Sighting, _ event: NavigatorEvent) {
        lastPosition = position
        publish(.position(position), event)
        if let order = search.startDue(at: event.stamp, isPrecise: canStart(at: position)) {
            begin(order, from: position, event)
        }
        followTrip(position, event)
    }

    /// Where a route from here starts: on the matched road when there is one, in the direction that the vehicle points in.
    ///
    /// A vehicle that creeps or stands still points somewhere: the matcher's belief in the directions of the road tells, and the course
    /// where there is no road. Only a direction that is not known leaves the choice to the search.
    func origin(_ position: Sighting, keepsCourse: Bool) -> Waypoint {
        let isMoving = (position.speed ?? 0) >= config.deviationCourseMinimumSpeed
        let isKnown = isMoving || position.directionProbability >= config.originDirectionProbability
        let course = isKnown ? (position.road?.bearing ?? position.course) : nil
        return Waypoint(position.road?.coordinate ?? position.coordinate, bearing: keepsCourse ? course : nil)
    }
}
