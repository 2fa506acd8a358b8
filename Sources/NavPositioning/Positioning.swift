public import NavGeo
import NavMap
public import NavMatching
public import NavRouting

public struct PositioningConfig: Sendable, Hashable {
    /// The limits that a fix must meet to be accepted.
    public var fixes = FixLimits()
    /// The limits of dead reckoning.
    public var reckoning = ReckoningConfig()

    public init() {}
}

/// A reason for the end of a prediction.
public enum PredictionEnd: Sendable, Hashable, CaseIterable {
    /// Fixes provide the position again.
    case fixes
    /// The position became too uncertain to predict.
    case gaveUp
    /// The position was reset: the clock was set, or the vehicle was transported.
    case startedOver
}

/// The positioning pipeline, which turns fixes, odometry and timer events into positions.
///
/// It qualifies fixes, selects a receiver, filters, matches to the roads, and predicts while fixes are missing. The navigation node,
/// replays and the offline tools run the same pipeline, so their results are bit-identical.
///
/// It has no notion of trips: callers pass the route as a prior.
public struct Positioning: Sendable {
    public enum Event: Sendable {
        /// A position measured by a receiver.
        case fix(Fix)
        /// A fix that the owner accepts although it does not qualify.
        case approvedFix(Fix)
        /// The vehicle's own motion measurement.
        case odometry(Odometry)
        /// The timer for ``due`` has fired.
        case timer
    }

    public indirect enum Effect: Sendable {
        /// The verdict on a fix, emitted before all other effects of the fix.
        case qualified(Fix, FixVerdict)
        /// A switch to another receiver.
        case receiver(ReceiverChange)
        /// The clock of the fixes was set and continues from this moment.
        case clockSet(Timestamp)
        /// An accepted fix, the refined fix passed to the matcher, and the filter's estimate; only when tracing.
        case filtered(Fix, refined: Fix, MotionEstimate)
        /// A step that the matcher added to the driven path. Only when tracing.
        case step(MatchStep)
        case predictionBegan(ReckoningReason, VehiclePosition)
        case predictionEnded(ReckoningReason, PredictionEnd, VehiclePosition?)
        case position(VehiclePosition)
    }

    private var metric: Metric
    private let isTracing: Bool
    private var matcher: StreamingMatcher
    private var tracker: PositionTracker
    private var reckoning: Reckoning
    private var roadFeedback = RoadFeedback()
    private var healthMonitor = PositionHealthMonitor()
    private var odometryGate = OdometryGate()
    /// The time of the last published position.
    private var lastEmitted: Timestamp?
    /// The last published place if it was predicted and no fix has been blended with it.
    private var predictedPlace: (stamp: Timestamp, coordinate: Coordinate)?
    /// The time since which the filter has been converging after a prediction while its positions still differ from the fixes; nil
    /// otherwise.
    private var returnStart: Timestamp?

    // Stored, because callers read them after every event and a computed property would copy the whole pipeline.

    /// The present time according to the fixes.
    public private(set) var timing: FixTiming
    /// The health of positioning; nil before the first fix.
    public private(set) var health: PositionHealth?
    /// The reason for the current prediction; nil while positions come from fixes.
    public private(set) var predictionReason: ReckoningReason?
    /// When ``Event/timer`` is due if no other input arrives first; nil for never.
    public private(set) var due: Timestamp?

    /// The greatest lag behind a prediction, seconds, from which the fixes that end it are expected to catch up, as after a stall.
    ///
    /// With a greater lag, the fixes are permanently late, and positioning continues on their time.
    private static let longestCatchUp = 10.0

    /// The greatest difference between a rejected fix's stamp and its arrival for the fix to count as current, seconds.
    private static let longestLead = 10.0

    /// The longest time in which the filter converges after a prediction, seconds.
    ///
    /// The filter forgets a prediction within a few fixes. A remaining gap between the fixes and the matched place is caused by the road or
    /// the map, as when an accurate receiver stays beside the road.
    private static let longestReturn = 10.0

    /// Creates a pipeline without history.
    ///
    /// - Parameter isTracing: Whether filtered fixes and the matcher's steps are among the effects.
    public init(
        metric: Metric, config: PositioningConfig = PositioningConfig(), matcher: MatcherConfig = MatcherConfig(),
        isTracing: Bool = false
    ) {
        self.metric = metric
        self.isTracing = isTracing
        self.matcher = StreamingMatcher(metric: metric, config: matcher, recordsPath: isTracing)
        tracker = PositionTracker(limits: config.fixes)
        reckoning = Reckoning(config: config.reckoning)
        timing = FixTiming(limits: config.fixes)
    }

    /// The signals that contradict the positions and are ignored.
    public var distrusted: MotionSignals { tracker.distrusted }
    /// Seconds by which odometry is ahead of the fixes, negative when behind, while it is ignored for that reason; nil
    /// while it is used.
    public var odometryLead: Double? { odometryGate.lead }

    /// Switches to another graph after tiles arrived or left, or to another metric on the same graph.
    ///
    /// Predictions continue on roads of both graphs. Another metric, for example with new traffic, moves no position.
    public mutating func adopt(_ metric: Metric) {
        let old = self.metric.turns
        self.metric = metric
        matcher.adopt(metric)
        guard metric.turns !== old else { return }
        reckoning.adopt(from: old.graph, to: metric.turns.graph)
        // The roads of another version may lie elsewhere.
        if metric.turns.graph.mapVersion != old.graph.mapVersion { roadFeedback.forget(&tracker) }
        updateReadings()
    }

    public mutating func adopt(_ config: PositioningConfig) {
        tracker.limits = config.fixes
        timing.limits = config.fixes
        reckoning.config = config.reckoning
        updateReadings()
    }

    private mutating func updateReadings() {
        (health, predictionReason, due) = (healthMonitor.health, reckoning.reason, reckoning.due)
        timing.usualLatency = tracker.usualLatency
    }

    /// Whether odometry is consistent with the clock of the fixes; other odometry must not be passed to ``handle(_:at:prior:)``.
    public mutating func admits(_ odometry: Odometry) -> Bool { odometryGate.admits(odometry.stamp) }

    /// Handles an input of a recorded drive after the timers due before it; recorded stamps are the only clock.
    public mutating func replay(_ event: Event) -> [Effect] {
        let stamp: Timestamp
        var end: Timestamp?
        switch event {
        case .fix(let fix), .approvedFix(let fix): (stamp, end) = (fix.stamp, timing.time(reportedBy: fix))
        case .odometry(let odometry):
            guard admits(odometry) else { return [] }
            (stamp, end) = (odometry.stamp, odometry.stamp)
        case .timer: return []
        }
        var effects: [Effect] = []
        if let end { while let due, due < end { effects += handle(.timer, at: due) } }
        return effects + handle(event, at: stamp)
    }

    // MARK: Inputs

    /// Handles an event that arrived at `now`.
    public mutating func handle(_ event: Event, at now: Timestamp, prior: RoutePrior? = nil) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .fix(let fix): take(fix, isApproved: false, at: now, prior, &effects)
        case .approvedFix(let fix): take(fix, isApproved: true, at: now, prior, &effects)
        case .odometry(let odometry):
            tracker.take(odometry)
            timing.noteTime(odometry.stamp)
            predict(at: now, prior, &effects)
        case .timer: predict(at: now, prior, &effects)
        }
        updateReadings()
        return effects
    }

    private mutating func take(
        _ fix: Fix, isApproved: Bool, at now: Timestamp, _ prior: RoutePrior?, _ effects: inout [Effect]
    ) {
        timing.note(fix)
        var fix = fix
        let step = timing.step(to: fix)
        if let step { fix.lead = step }
        let verdict = tracker.take(
            fix, isApproved: isApproved, isInTunnel: reckoning.isInTunnelOutage,
            isPredicted: reckoning.hasPredicted)
        effects.append(.qualified(fix, verdict))
        if let change = tracker.receiverChange {
            timing.use(change.new)
            effects.append(.receiver(change))
        }
        switch verdict {
        case .standby: return
        case .rejected(let rejection):
            // Fixes of a receiver that is not in use have no effect.
            guard fix.receiver == tracker.receiver else { return }
            if step == nil { timing.noteTime(fix.stamp) }
            return reject(fix, rejection, at: now, prior, &effects)
        case .accepted: break
        case .acceptedAfterJump: restart(&effects)
        case .acceptedAfterClockSet:
            restart(&effects)
            lastEmitted = nil
            if let last = timing.lastFix { healthMonitor.moveClock(by: fix.stamp.seconds(since: last)) }
            effects.append(.clockSet(fix.stamp))
        }
        timing.noteAccepted(fix)
        odometryGate.noteFix(fix.stamp)
        let estimate = tracker.estimate
        fix = tracker.trusted(fix)
        assess(fix, isAccepted: true, isJump: verdict == .acceptedAfterJump, estimate?.covariance.perAxis, at: now)
        let match = match(fix, estimate, isJump: verdict == .acceptedAfterJump, prior, &effects)
        let reason = reckoning.reason
        let reading = tracker.reading(at: fix.stamp)
        let ends = reckoning.note(fix, match, reading, metric, prior)
        if !ends, reason != nil, let led = reckoning.lead(to: match, reading.estimate, metric, prior) {
            return emit(VehiclePosition(led, like: fix), &effects)
        }
        var position = VehiclePosition(fix: fix, match: match, directionProbability: match.directionProbability)
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
        if ends, let ahead = lastEmitted, ahead.seconds(since: fix.stamp) > Positioning.longestCatchUp {
            lastEmitted = nil
            effects.append(.clockSet(fix.stamp))
        }
        if let reason, reckoning.reason == nil { effects.append(.predictionEnded(reason, .fixes, position)) }
        emit(position, &effects)
    }

    /// Predicts the position when it is due.
    private mutating func predict(at now: Timestamp, _ prior: RoutePrior?, _ effects: inout [Effect]) {
        let reason = reckoning.reason
        switch reckoning.predict(at: now, &tracker, metric, prior) {
        case .nothing: return
        case .lost:
            healthMonitor.noteMissing(nil, sigma: nil, isLost: true, at: now)
            if let reason { effects.append(.predictionEnded(reason, .gaveUp, nil)) }
        case .predicted(let predicted, let begins):
            odometryGate.notePassed(now)
            healthMonitor.noteMissing(
                reckoning.reason, sigma: predicted.road?.alongSigma ?? predicted.estimate.covariance.perAxis,
                isLost: false, at: now)
            let position = VehiclePosition(predicted, like: Fix(stamp: now, coordinate: predicted.estimate.coordinate))
            if begins, let reason = reckoning.reason { effects.append(.predictionBegan(reason, position)) }
            emit(position, &effects)
            if lastEmitted == now { predictedPlace = (now, position.match.coordinate) }
        }
    }

    /// Publishes a position unless it is older than the last one: a fix behind a published prediction only updates the state.
    private mutating func emit(_ position: VehiclePosition, _ effects: inout [Effect]) {
        if let lastEmitted, position.stamp < lastEmitted { return }
        var position = position
        if let place = predictedPlace, position.prediction == nil {
            let driven = max(position.speed ?? 0, 0) * max(position.stamp.seconds(since: place.stamp), 0)
            let gap = Geodesy.distance(place.coordinate, position.match.coordinate)
            position.isRestart = gap > Reckoning.evidenceReach + driven
        }
        predictedPlace = nil
        lastEmitted = position.stamp
        effects.append(.position(position))
    }

    /// Returns the position of a fix simulated along the route; it affects no receiver's state.
    public mutating func place(simulated fix: Fix, _ prior: RoutePrior) -> VehiclePosition {
        VehiclePosition(fix: fix, match: matcher.match(fix, routePrior: prior), directionProbability: 1)
    }

    /// Returns a copy without history that matches the fixes of a simulated drive.
    ///
    /// - Parameter factor: The simulated speed as a multiple of the real one. Above 1 it scales the speed beyond which a position counts as
    ///   a jump.
    public func simulation(speedFactor factor: Double) -> Positioning {
        var (simulation, config) = (self, matcher.config)
        config.maximumSpeed *= max(factor, 1)
        simulation.matcher = StreamingMatcher(metric: metric, config: config, recordsPath: isTracing)
        _ = simulation.startOver()
        return simulation
    }

    /// Discards the vehicle's history, before and after a simulated or replayed drive.
    public mutating func startOver() -> [Effect] {
        var effects: [Effect] = []
        lastEmitted = nil
        restart(&effects)
        tracker.reset()
        updateReadings()
        return effects
    }

    // MARK: Parts

    /// Matches the filtered fix, and corrects the place along the road with the road's help.
    private mutating func match(
        _ fix: Fix, _ estimate: MotionEstimate?, isJump: Bool, _ prior: RoutePrior?, _ effects: inout [Effect]
    ) -> MatchedPosition {
        let refined = estimate?.refined(fix) ?? fix
        var match = matcher.match(refined, routePrior: prior)
        if isTracing {
            if let estimate { effects.append(.filtered(fix, refined: refined, estimate)) }
            if let step = matcher.step { effects.append(.step(step)) }
        }
        match.raw = fix.coordinate
        if isJump { match.isTeleport = true }
        roadFeedback.follow(&match, &tracker, metric.turns.graph)
        if let known = tracker.roadEstimate ?? estimate { match.calibrate(known, stated: matcher.sigma(of: refined)) }
        return match
    }

    /// Restarts after a jump or a clock change.
    private mutating func restart(_ effects: inout [Effect]) {
        matcher.reset()
        roadFeedback.forget(&tracker)
        (returnStart, predictedPlace) = (nil, nil)
        let reason = reckoning.reason
        reckoning.reset()
        if let reason { effects.append(.predictionEnded(reason, .startedOver, nil)) }
    }

    private mutating func reject(
        _ fix: Fix, _ rejection: FixRejection, at now: Timestamp, _ prior: RoutePrior?, _ effects: inout [Effect]
    ) {
        guard rejection.reason.isOfThePresent else { return }
        reckoning.noteBad()
        // The fix's time was not checked, and a fix from another time must not trigger predictions or change the health.
        if let lead = fix.lead, abs(lead) > Positioning.longestLead { return }
        // A fix without a position is missing, not of a lower type.
        if rejection.reason == .fixType, fix.type.hasPosition { healthMonitor.noteFixType(at: now) }
        assess(fix, isAccepted: false, at: now)
        predict(at: now, prior, &effects)
    }

    private mutating func assess(
        _ fix: Fix, isAccepted: Bool, isJump: Bool = false, _ sigma: Double? = nil, at now: Timestamp
    ) {
        if !tracker.distrusted.isEmpty { healthMonitor.noteContradiction(at: now) }
        healthMonitor.note(
            fix, isAccepted: isAccepted, isJump: isJump, sigma: sigma, inflation: tracker.inflation,
            latency: tracker.usualLatency, at: now)
    }
}

extension MatchedPosition {
    /// See ``VehiclePosition/directionProbability``.
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
