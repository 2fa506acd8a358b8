import NavGeo
import NavMap
import NavMatching
import NavRouting

/// Where the vehicle is, from fixes, odometry and the passing of time: qualifies, filters, matches, and predicts where fixes fail.
///
/// It knows no trip: the route is a prior that is handed in. What happened is returned, in order; nothing is published here.
struct Positioning {
    /// Something that was found out.
    enum Happening {
        /// A fix does not count.
        case rejected(Fix, FixRejection)
        /// The clock of the fixes was set; they go on from this moment.
        case clockSet(Timestamp)
        /// Another receiver is used from now on.
        case receiver(ReceiverChange)
        /// A prediction begins or ends.
        case simulation(SimulationEvent)
        /// A position, measured or predicted.
        case position(Sighting)
    }

    private var matcher: StreamingMatcher
    private var tracker: PositionTracker
    private var reckoning: Reckoning
    private var aid = RoadAid()
    private var judge = HealthJudge()
    /// The moment of the last position that was told.
    private var told: Timestamp?
    /// Since when the filter comes back from a prediction: its positions are not yet those of the fixes. Nil when it does not.
    private var returnStart: Timestamp?
    /// The stamp of the last fix that counted; nil before the first.
    private(set) var lastFix: Timestamp?

    /// How far behind a prediction fixes may be once they have ended it, seconds: later ones catch up with it, as after a stall. Fixes that are
    /// later than that are late for good, and the time goes on with theirs.
    private static let longestCatchUp = 10.0

    /// How far a fix that does not count may be from the time of its arrival to tell the present, seconds.
    private static let longestLead = 10.0

    /// How long the filter comes back from a prediction at most, seconds. It forgets one within a few fixes; what still lies between the fixes
    /// and the matched place after that is the road's or the map's, as where a confident receiver stays beside the road.
    private static let longestReturn = 10.0

    /// Knows nothing yet.
    init(metric: Metric, config: NavigatorConfig, matcher: MatcherConfig) {
        self.matcher = StreamingMatcher(metric: metric, config: matcher)
        tracker = PositionTracker(limits: config.fixLimits)
        reckoning = Reckoning(config: config.reckoning)
    }

    /// How good positioning is; nil before the first fix.
    var health: PositionHealth? { judge.health }
    /// Whether positions are predicted for want of fixes.
    var isPredicting: Bool { reckoning.reason != nil }
    /// When to ask ``advance(to:_:_:)`` next, if nothing else comes before; nil for never.
    var due: Timestamp? { reckoning.due }

    /// Goes on with other roads.
    mutating func adopt(_ metric: Metric) {
        let graph = metric.turns.graph
        matcher.adopt(metric)
        reckoning.adopt { graph.edge($0.edgeKey) }
        aid.forget(&tracker)
    }

    /// Goes on with other thresholds.
    mutating func adopt(_ config: NavigatorConfig) {
        tracker.limits = config.fixLimits
        reckoning.config = config.reckoning
    }

    // MARK: Inputs

    /// Takes in a fix that came at `now`.
    ///
    /// - Parameter isVouchedFor: Whether somebody who knows better says that it counts.
    mutating func take(
        _ fix: Fix, at now: Timestamp, _ metric: Metric, _ prior: RoutePrior?, isVouchedFor: Bool = false
    ) -> [Happening] {
        var happenings: [Happening] = []
        let verdict = tracker.take(fix, isVouchedFor: isVouchedFor)
        if let change = tracker.receiverChange { happenings.append(.receiver(change)) }
        switch verdict {
        case .standby: return happenings
        case .rejected(let rejection):
            happenings.append(.rejected(fix, rejection))
            happenings += reject(fix, rejection, at: now, metric, prior)
            return happenings
        case .accepted: break
        case .acceptedAfterJump: happenings += restart()
        case .acceptedAfterClockSet:
            happenings += restart()
            told = nil
            happenings.append(.clockSet(fix.stamp))
        }
        lastFix = fix.stamp
        let estimate = tracker.estimate
        let fix = tracker.trusted(fix)
        assess(fix, isAccepted: true, isJump: verdict == .acceptedAfterJump, estimate?.covariance.perAxis, at: now)
        let match = match(fix, estimate, isJump: verdict == .acceptedAfterJump, metric, prior)
        let reason = reckoning.reason
        let ends = reckoning.note(fix, match, tracker, metric, prior)
        if !ends, reason != nil, let led = reckoning.lead(to: match, tracker, metric, prior) {
            tell(Sighting(led, like: fix), &happenings)
            return happenings
        }
        var position = Sighting(fix: fix, match: match, directionProbability: match.directionProbability)
        if reason != nil { returnStart = fix.stamp }
        if let start = returnStart {
            let gap = Geodesy.distance(match.coordinate, fix.coordinate)
            let isBack = gap <= Reckoning.evidenceReach + 2 * (position.sigma ?? 0)
            if isBack || fix.stamp.seconds(since: start) > Positioning.longestReturn {
                returnStart = nil
            } else {
                position.evidence = .blended
            }
        }
        if ends, let ahead = told, ahead.seconds(since: fix.stamp) > Positioning.longestCatchUp {
            told = nil
            happenings.append(.clockSet(fix.stamp))
        }
        if let reason, reckoning.reason == nil { happenings += Positioning.end(of: reason, .fixes, at: position) }
        tell(position, &happenings)
        return happenings
    }

    /// Takes in odometry that came at `now`.
    mutating func take(
        _ odometry: Odometry, at now: Timestamp, _ metric: Metric, _ prior: RoutePrior?
    ) -> [Happening] {
        tracker.take(odometry)
        return advance(to: now, metric, prior)
    }

    /// Predicts the position when it is due.
    mutating func advance(to now: Timestamp, _ metric: Metric, _ prior: RoutePrior?) -> [Happening] {
        let reason = reckoning.reason
        switch reckoning.predict(at: now, &tracker, metric, prior) {
        case .nothing: return []
        case .lost:
            judge.noteMissing(nil, sigma: nil, isLost: true, at: now)
            return reason.map { Positioning.end(of: $0, .gaveUp, at: nil) } ?? []
        case .predicted(let predicted, let begins):
            judge.noteMissing(
                reckoning.reason, sigma: predicted.road?.alongSigma ?? predicted.estimate.covariance.perAxis,
                isLost: false, at: now)
            let position = Sighting(predicted, like: Fix(stamp: now, coordinate: predicted.estimate.coordinate))
            var happenings: [Happening] = []
            if begins, let reason = reckoning.reason {
                happenings = [.willBegin, .began].map {
                    .simulation(SimulationEvent(phase: $0, reason: SimulationReason(reason), position: position))
                }
            }
            tell(position, &happenings)
            return happenings
        }
    }

    /// Tells a position. What was told is not gone back behind: a fix that comes when a later moment was predicted is only learned from.
    private mutating func tell(_ position: Sighting, _ happenings: inout [Happening]) {
        if let told, position.stamp < told { return }
        told = position.stamp
        happenings.append(.position(position))
    }

    /// The position of a fix that a drive along the route makes: no receiver is judged by it.
    mutating func place(simulated fix: Fix, _ prior: RoutePrior) -> Sighting {
        Sighting(fix: fix, match: matcher.match(fix, routePrior: prior), directionProbability: 1)
    }

    /// Forgets where the vehicle was, before and after a drive that is none of its own.
    mutating func startOver() -> [Happening] {
        defer { tracker.reset() }
        told = nil
        return restart()
    }

    // MARK: Parts

    /// Matches a fix by where the filter has it, and lets the road correct the place along it.
    private mutating func match(
        _ fix: Fix, _ estimate: MotionEstimate?, isJump: Bool, _ metric: Metric, _ prior: RoutePrior?
    ) -> MatchedPosition {
        let refined = estimate?.refined(fix) ?? fix
        var match = matcher.match(refined, routePrior: prior)
        match.raw = fix.coordinate
        if isJump { match.isTeleport = true }
        aid.follow(&match, &tracker, metric.turns.graph)
        if let known = tracker.roadEstimate ?? estimate { match.calibrate(known, stated: matcher.sigma(of: refined)) }
        return match
    }

    /// Starts anew after a jump or a clock that was set.
    private mutating func restart() -> [Happening] {
        matcher.reset()
        aid.forget(&tracker)
        returnStart = nil
        let reason = reckoning.reason
        reckoning.reset()
        return reason.map { Positioning.end(of: $0, .startedOver, at: nil) } ?? []
    }

    private mutating func reject(
        _ fix: Fix, _ rejection: FixRejection, at now: Timestamp, _ metric: Metric, _ prior: RoutePrior?
    ) -> [Happening] {
        switch rejection.reason {
        // Nothing new is known of the present.
        case .duplicate, .outOfOrder, .stale, .future: return []
        case .invalid, .fixType, .accuracy, .startAccuracy, .frozen, .speed, .jump, .integrity, .spoofing, .jamming:
            reckoning.noteBad()
            // Its time was not judged. One of another time does not tell the present, by which predictions and the health end.
            if let lead = fix.lead, abs(lead) > Positioning.longestLead { return [] }
            assess(fix, isAccepted: false, at: now)
            return advance(to: now, metric, prior)
        }
    }

    /// What a fix means for the health.
    private mutating func assess(
        _ fix: Fix, isAccepted: Bool, isJump: Bool = false, _ sigma: Double? = nil, at now: Timestamp
    ) {
        if !tracker.distrusted.isEmpty { judge.noteContradiction(at: now) }
        judge.note(
            fix, isAccepted: isAccepted, isJump: isJump, sigma: sigma, inflation: tracker.inflation,
            latency: tracker.usualLatency, at: now)
    }

    private static func end(
        of reason: ReckoningReason, _ end: SimulationEvent.End, at position: Sighting?
    ) -> [Happening] {
        [.willEnd, .ended].map {
            .simulation(SimulationEvent(phase: $0, reason: SimulationReason(reason), position: position, end: end))
        }
    }
}

extension MatchedPosition {
    /// See ``Sighting/directionProbability``.
    fileprivate var directionProbability: Double {
        guard let road else { return 0 }
        var along = 0.0
        var all = 0.0
        for candidate in candidates {
            all += candidate.probability
            if Angle.separation(candidate.bearing, road.bearing) < .pi / 2 { along += candidate.probability }
        }
        return all > 0 ? along / all : 0
    }
}
