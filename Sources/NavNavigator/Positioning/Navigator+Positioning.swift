import NavGeo
import NavMatching
import NavRouting

/// From fixes and odometry to positions: qualification, filter, matcher, dead reckoning.
extension Navigator {
    mutating func handle(_ fix: Fix, _ event: NavigatorEvent, isVouchedFor: Bool = false) {
        let verdict = tracker.take(fix, isVouchedFor: isVouchedFor)
        let isJump = verdict == .acceptedAfterJump
        switch verdict {
        case .standby: return
        case .rejected(let rejection):
            guard rejection.reason.isJudgement, !isVouchedFor else { return reject(fix, rejection, event) }
            return ask(.shouldDiscardFix(fix, rejection), standard: true, event)
        case .accepted, .acceptedAfterJump: break
        case .acceptedAfterClockSet:
            matcher.reset()
            endReckoning(event)
            reckoning.reset()
            noteClockSet(to: event.stamp)
        }
        if isJump {
            matcher.reset()
            endReckoning(event)
            reckoning.reset()
        }
        // The drive along the route goes its own way.
        guard simulation == nil else { return }
        if let replaced = tracker.replacedReceiver { publish(.receiver(from: replaced, to: fix.receiver), event) }
        let estimate = tracker.estimate
        judge.note(
            fix, isAccepted: true, sigma: estimate?.covariance.perAxis, inflation: tracker.inflation,
            latency: tracker.usualLatency, at: event.stamp)
        let refined = estimate?.refined(fix) ?? fix
        var match = matcher.match(refined, routePrior: prior)
        match.raw = fix.coordinate
        if isJump { match.isTeleport = true }
        if let estimate { match.calibrate(estimate, stated: matcher.sigma(of: refined)) }
        let reason = reckoning.reason
        let ends = reckoning.note(fix, match, tracker, map.metric)
        if !ends, reason != nil, let led = reckoning.lead(to: match, tracker, map.metric, prior) {
            publish(led, like: fix, event)
            return
        }
        let position = Sighting(fix: fix, match: match, directionProbability: Navigator.directionProbability(match))
        if let reason, reckoning.reason == nil { publishEnd(of: reason, at: position, event) }
        follow(position, event)
    }

    private var prior: RoutePrior? { trip.flatMap { $0.isComplete ? nil : $0.prior } }

    /// Goes on from a position of a fix or of a prediction.
    mutating func follow(_ position: Sighting, _ event: NavigatorEvent) {
        lastPosition = position
        publish(.position(position), event)
        if let order = search.startDue(at: event.stamp, isPrecise: canStart(at: position)) {
            requestStart(order, from: position, event)
        }
        followTrip(position, event)
    }

    mutating func reject(_ fix: Fix, _ rejection: FixRejection, _ event: NavigatorEvent) {
        publish(.fixRejected(fix, rejection), event)
        switch rejection.reason {
        // Nothing new is known of the present.
        case .duplicate, .outOfOrder, .stale, .future: return
        case .invalid, .fixType, .accuracy, .startAccuracy, .frozen, .speed, .jump, .integrity, .spoofing, .jamming:
            judge.note(
                fix, isAccepted: false, sigma: nil, inflation: tracker.inflation, latency: tracker.usualLatency,
                at: event.stamp)
            reckoning.noteBad()
            reckon(at: event.stamp, event)
        }
    }

    // MARK: Dead reckoning

    /// Predicts the position when it is due.
    mutating func reckon(at stamp: Timestamp, _ event: NavigatorEvent) {
        let reason = reckoning.reason
        switch reckoning.predict(at: stamp, &tracker, map.metric, prior) {
        case .nothing: break
        case .lost:
            judge.noteMissing(nil, sigma: nil, isLost: true, at: stamp)
            if let reason { publishEnd(of: reason, at: nil, event) }
        case .predicted(let predicted, let begins):
            judge.noteMissing(
                reckoning.reason, sigma: predicted.road?.alongSigma ?? predicted.estimate.covariance.perAxis,
                isLost: false, at: stamp)
            let fix = Fix(stamp: stamp, coordinate: predicted.estimate.coordinate)
            if begins, let reason = reckoning.reason {
                let position = Sighting(predicted, like: fix)
                publish(.simulation(SimulationEvent(phase: .willBegin, reason: SimulationReason(reason), position: position)), event)
                publish(.simulation(SimulationEvent(phase: .began, reason: SimulationReason(reason), position: position)), event)
            }
            publish(predicted, like: fix, event)
        }
    }

    mutating func publish(_ predicted: PredictedPosition, like fix: Fix, _ event: NavigatorEvent) {
        follow(Sighting(predicted, like: fix), event)
    }

    mutating func endReckoning(_ event: NavigatorEvent) {
        guard let reason = reckoning.reason else { return }
        publishEnd(of: reason, at: nil, event)
    }

    mutating func publishEnd(of reason: ReckoningReason, at position: Sighting?, _ event: NavigatorEvent) {
        publish(.simulation(SimulationEvent(phase: .willEnd, reason: SimulationReason(reason), position: position)), event)
        publish(.simulation(SimulationEvent(phase: .ended, reason: SimulationReason(reason), position: position)), event)
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

    /// See ``Sighting/directionProbability``.
    private static func directionProbability(_ match: MatchedPosition) -> Double {
        guard let road = match.road else { return 0 }
        var along = 0.0
        var all = 0.0
        for candidate in match.candidates {
            all += candidate.probability
            if Angle.separation(candidate.bearing, road.bearing) < .pi / 2 { along += candidate.probability }
        }
        return all > 0 ? along / all : 0
    }
}
