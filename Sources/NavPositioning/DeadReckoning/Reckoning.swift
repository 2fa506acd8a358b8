import Glibc
public import NavGeo
public import NavMap
public import NavMatching
public import NavRouting

/// The limits of dead reckoning.
public struct ReckoningConfig: Sendable, Hashable {
    /// The longest time without an accepted fix before positions are predicted, seconds. 2.5: Mapbox.
    public var startAfter = 2.5
    /// The same time in a mapped tunnel, seconds. 1: Mapbox.
    public var tunnelStartAfter = 1.0
    /// The number of accepted fixes in a row that end a prediction. 3: MapLibre.
    public var exitGoodFixes = 3
    /// The longest interval between predictions, seconds; otherwise they are as frequent as the fixes were.
    public var interval = 1.0
    /// The longest prediction, seconds, after which the position is lost.
    ///
    /// The longest road tunnel (Lærdal, 24.5 km) takes 1,260 s.
    public var maximumTime = 1_500.0
    /// Standard deviation per axis beyond which a prediction is abandoned, metres.
    public var maximumSigma = 500.0

    public init() {}
}

/// A reason for predicting positions.
public enum ReckoningReason: UInt8, Sendable, CaseIterable {
    /// No fix has been accepted for too long.
    case poorGNSS
    /// No fix has been accepted for too long, inside a mapped tunnel.
    case tunnel
}

/// Dead reckoning while fixes are missing: decides when to predict, moves the position along the roads, and blends it back to the fixes
/// without a jump.
///
/// Holds the phase and the place, reads the ``PositionTracker`` and moves it along the road. Neither publishes
/// positions nor sets timers.
public struct Reckoning: Sendable {
    public var config: ReckoningConfig

    private enum Phase: Sendable {
        case following
        case predicting(ReckoningReason, good: Int)
    }

    /// The vehicle's state at the last accepted fix.
    private struct Origin: Sendable {
        var stamp: Timestamp
        var road: MatchedPosition.RoadPosition?
        var confidence: Double
        var travelled: Double
        /// The other possible places of the vehicle.
        var candidates: [MatchedPosition.Candidate] = []
        /// The stamp of the fix that the place on the road is from, which may be an earlier fix, and the metres driven by then.
        var seen: (stamp: Timestamp, travelled: Double)
    }

    private var phase = Phase.following
    private var origin: Origin?
    private var walker: RoadReckoner?
    /// Time of the last prediction.
    private var newest: Timestamp?
    private var travelled = 0.0
    /// Predicted metres without odometry.
    private var expected = 0.0
    /// A model vehicle with usual driving behaviour that runs alongside the real one.
    private var model = SpeedModel()
    /// Usual time between fixes, seconds; `lastWait` is the interval before the last fix.
    private var period = 1.0
    private var lastWait = 1.0
    /// The usual lead of the odometry over an arriving fix, seconds.
    ///
    /// By the odometry's clock, a fix counts as missing only after this additional time.
    private var lag = 0.0
    private var isGivenUp = false

    /// The longest latency of fixes that is compensated, seconds; older odometry is no longer buffered.
    private static let longestLag = 10.0
    /// Probability of a road from which the driver's pace is learned on it.
    private static let learningProbability = 0.7
    /// Probability of a road from which a prediction follows it.
    private static let roadProbability = 0.4
    /// The largest distance between the predicted and the measured place that is blended, metres; a larger distance indicates another road.
    static let blendReach = 400.0
    /// The error, metres, up to which a place still counts as measured: the usual arrival radius.
    public static let evidenceReach = 20.0
    /// The interval between fixes, seconds, beyond which a single accepted fix ends a prediction, because three would take too long.
    private static let sparsePeriod = 5.0

    public init(config: ReckoningConfig = ReckoningConfig()) { self.config = config }

    /// The reason for the current prediction; nil while fixes are followed.
    public var reason: ReckoningReason? {
        if case .predicting(let reason, _) = phase { return reason }
        return nil
    }

    /// Whether a mapped tunnel explains the current outage. If the previous interval was long too, fixes are merely sparse.
    var isInTunnelOutage: Bool { reason == .tunnel && lastWait <= Reckoning.sparsePeriod }

    /// Whether positions are being predicted, or were until the prediction was abandoned.
    var hasPredicted: Bool { reason != nil || isGivenUp }

    /// When to call ``predict(at:_:_:_:)`` next if no other input arrives first; nil when there is nothing to predict.
    public var due: Timestamp? {
        guard let origin, !isGivenUp else { return nil }
        switch phase {
        case .following: return origin.stamp.advanced(bySeconds: patience(origin))
        case .predicting(_, let good):
            let wait = max(min(period, config.interval), 0.05)
            // While fixes are returning, predict at their rate until one is missing.
            return newest.map {
                $0.advanced(bySeconds: good > 0 && $0 <= origin.stamp ? max(2.5 * period, wait) : wait)
            }
        }
    }

    private func patience(_ origin: Origin) -> Double {
        // A fix of a receiver with a five-second interval is not missing after 2.5 s.
        let patience = isInTunnel ? config.tunnelStartAfter : config.startAfter
        return max(patience, 1.5 * min(period, 20)) + lag
    }

    private var isInTunnel = false

    // MARK: Fixes

    /// Updates the state with an accepted fix and its match; returns whether it ends the prediction.
    ///
    /// - Parameter match: The matcher's result. While positions are predicted, ``lead(to:_:_:_:)`` blends towards it
    ///   step by step.
    public mutating func note(
        _ fix: Fix, _ match: MatchedPosition, _ tracker: TrackerReading, _ metric: Metric, _ prior: RoutePrior? = nil
    ) -> Bool {
        let late = min(tracker.odometryLead ?? 0, Reckoning.longestLag)
        lag = origin == nil ? late : lag + (late - lag) * 0.2
        if let origin, fix.stamp > origin.stamp {
            let seconds = min(fix.stamp.seconds(since: origin.stamp), 30)
            // Use the shorter of two intervals: a single long one means missing fixes, two in a row mean infrequent fixes.
            period += (min(seconds, lastWait) - period) * 0.2
            lastWait = seconds
            if walker == nil {
                follow(
                    match, speed: tracker.estimate?.speed, seconds: seconds, memory: tracker.expectedSpeedTime,
                    RoadAhead(metric: metric, prior: prior))
            }
        }
        let previous = origin
        // Predictions follow the direction of traffic.
        let road = match.road.flatMap { $0.isAgainst ? nil : $0 }
        let driven = tracker.estimate?.travelled ?? 0
        var seen = (stamp: fix.stamp, travelled: driven)
        if let previous {
            if match.isHeld {
                seen = previous.seen
            } else if let road, road.edge == previous.road?.edge, road.offset == previous.road?.offset {
                // While a vehicle is stationary, its last place is repeated and lags by the same time.
                seen.stamp = seen.stamp.advanced(bySeconds: -previous.stamp.seconds(since: previous.seen.stamp))
                seen.travelled -= previous.travelled - previous.seen.travelled
            }
        }
        origin = Origin(
            stamp: fix.stamp, road: road, confidence: match.lineProbability(metric.turns.graph), travelled: driven,
            candidates: match.candidates, seen: seen)
        // A single fix beside the road or between two roads does not discard the road.
        if match.road?.isAgainst != true,
            origin.map({ $0.road == nil || $0.confidence < Reckoning.roadProbability }) ?? false, let previous,
            previous.road != nil,
            fix.stamp.seconds(since: previous.stamp) < 3, match.state != .offRoad
        {
            origin?.road = previous.road
            origin?.confidence = previous.confidence * 0.9
            origin?.candidates = []
            origin?.seen = previous.seen
        }
        isInTunnel = origin.map { isTunnelNear($0, speed: tracker.estimate?.speed ?? 0, metric) } ?? false
        isGivenUp = false
        guard case .predicting(let reason, let good) = phase else { return false }
        if good + 1 >= config.exitGoodFixes || period > Reckoning.sparsePeriod || tracker.endsSilence {
            phase = .following
            walker = nil
            newest = nil
            expected = 0
            // The vehicle's actual speed during the prediction is unknown.
            model.interrupt()
            return true
        }
        phase = .predicting(reason, good: good + 1)
        if walker == nil {
            // The prediction continues from this fix, on its road if that is now known.
            (newest, travelled) = (fix.stamp, driven)
        }
        return false
    }

    /// Returns the position to publish at an accepted fix during a prediction, blended from the predicted place towards
    /// the matched one.
    ///
    /// Each fix closes an equal part of the remaining gap. Nil when the gap is too large to blend, so that the fix
    /// takes over at once.
    public mutating func lead(
        to match: MatchedPosition, _ estimate: MotionEstimate?, _ metric: Metric, _ prior: RoutePrior?
    ) -> PredictedPosition? {
        guard case .predicting(_, let good) = phase, good > 0, var walker, let before = newest,
            let estimate, let road = match.road
        else { return nil }
        let ahead = RoadAhead(metric: metric, prior: prior)
        walker.advance(
            odometer: max(estimate.speed, 0) * max(match.stamp.seconds(since: before), 0), speed: estimate.speed,
            scaleSigma: 0, ahead)
        let graph = metric.turns.graph
        walker.choose(near: road, graph)
        let here = graph.position(at: walker.place.offset, of: walker.place.edge)
        let gap = Geodesy.distance(here.coordinate, road.coordinate)
        let isNear = gap < Reckoning.blendReach && (gap < 30 || Angle.separation(here.bearing, road.bearing) < 1)
        guard isNear else {
            phase = .following
            self.walker = nil
            newest = nil
            expected = 0
            return nil
        }
        let bearing = Geodesy.bearing(from: here.coordinate, to: road.coordinate)
        let sign = Angle.separation(bearing, here.bearing) < .pi / 2 ? 1.0 : -1.0
        let share = 1 / Double(max(config.exitGoodFixes - good + 1, 1))
        walker.shift(by: sign * gap * share, alongSigma: road.alongSigma + gap * (1 - share), ahead)
        self.walker = walker
        if match.stamp > before { travelled = estimate.travelled }
        newest = match.stamp
        var led = estimate
        let place = walker.position(ahead).road
        led.coordinate = place.coordinate
        let isNearFix = gap * (1 - share) <= Reckoning.evidenceReach
        if isNearFix { expected = 0 }
        return PredictedPosition(
            estimate: led, road: place, method: walker.followsRoute && prior != nil ? .alongRoute : .alongRoad,
            evidence: isNearFix ? .blended : .expected, probability: walker.probability, age: 0,
            candidates: walker.candidates(graph))
    }

    /// Records a rejected fix, which restarts the count of accepted fixes in a row.
    public mutating func noteBad() {
        // The receiver still delivers fixes, so this is not a long interval.
        lastWait = min(lastWait, 1)
        if case .predicting(let reason, _) = phase { phase = .predicting(reason, good: 0) }
    }

    public mutating func reset() {
        self = Reckoning(config: config)
    }

    /// Switches to another graph. Places on roads of both graphs are kept.
    public mutating func adopt(from old: RoadGraph, to new: RoadGraph) {
        let translation = EdgeTranslation(from: old, to: new)
        if let origin {
            self.origin?.road = origin.road.flatMap { road in
                translation.place(road.offset, on: road.edge).map { place in
                    MatchedPosition.RoadPosition(
                        place.edge, at: place.offset, on: new, raw: nil, alongSigma: road.alongSigma,
                        crossSigma: road.crossSigma)
                }
            }
            self.origin?.candidates = origin.candidates.compactMap { candidate in
                guard let place = translation.place(candidate.offset, on: candidate.edge) else { return nil }
                var candidate = candidate
                (candidate.edge, candidate.offset) = place
                return candidate
            }
        }
        walker = walker?.translated(by: translation)
    }

    /// Advances the model vehicle alongside the real one.
    private mutating func follow(
        _ match: MatchedPosition, speed: Double?, seconds: Double, memory: Double, _ ahead: RoadAhead
    ) {
        guard let road = match.road, !road.isAgainst, let speed else { return model.interrupt() }
        model.follow(
            RoadPlace(edge: road.edge, offset: road.offset), speed: abs(speed), seconds: seconds,
            isCertain: match.confidence > Reckoning.learningProbability, memory: memory, ahead)
    }

    /// Whether a likely road is in a tunnel here, or enters one before a missing fix would be noticed.
    private func isTunnelNear(_ origin: Origin, speed: Double, _ metric: Metric) -> Bool {
        guard let road = origin.road else { return false }
        let ahead = RoadAhead(metric: metric, prior: nil)
        if isTunnelNear(RoadPlace(edge: road.edge, offset: road.offset), speed: speed, ahead) { return true }
        return origin.candidates.contains {
            $0.edge != road.edge && $0.probability > Reckoning.otherProbability
                && isTunnelNear(RoadPlace(edge: $0.edge, offset: $0.offset), speed: speed, ahead)
        }
    }

    private func isTunnelNear(_ place: RoadPlace, speed: Double, _ ahead: RoadAhead) -> Bool {
        let reach = min(max(speed, 0) * (config.tunnelStartAfter + 1), 150) + 15
        return ahead.isTunnel(place.edge) || ahead.isTunnel(ahead.place(reach, from: place).edge)
    }

    /// Returns the places to start from, the likeliest first: the matcher's candidates, downweighted where the
    /// vehicle's speed is unusually high for the road.
    private func ways(
        from road: MatchedPosition.RoadPosition, _ origin: Origin, speed: Double, _ ahead: RoadAhead
    ) -> ContiguousArray<RoadReckoner.Branch> {
        var ways: ContiguousArray<RoadReckoner.Branch> = []
        func add(_ place: RoadPlace, _ probability: Double) {
            let excess = max(speed / ahead.freeSpeed(of: place.edge) - Reckoning.usualExcess, 0) / Reckoning.excessSigma
            ways.append(
                RoadReckoner.Branch(
                    place: place, probability: probability * exp(-min(excess * excess / 2, 20)), followsRoute: true))
        }
        var confidence = 0.0
        for candidate in origin.candidates where candidate.edge == road.edge { confidence += candidate.probability }
        add(
            RoadPlace(edge: road.edge, offset: road.offset), confidence > 0 ? min(confidence, 1) : origin.confidence)
        // A candidate with a low matching probability may be the only road with such speeds, so the speed is considered before any is
        // excluded.
        for candidate in origin.candidates
        where candidate.probability > Reckoning.leastProbability
            && !ways.contains(where: { $0.place.edge == candidate.edge })
            && Angle.separation(candidate.bearing, road.bearing) < .pi / 2
        {
            add(RoadPlace(edge: candidate.edge, offset: candidate.offset), candidate.probability)
        }
        let before = ways.count == 1 ? origin.confidence : ways.reduce(0) { $0 + $1.probability }
        guard ways.count > 1, before > 0 else {
            ways[0].probability = origin.confidence
            return ways
        }
        let sure = max(origin.confidence, min(origin.candidates.reduce(0) { $0 + $1.probability }, 1))
        for index in ways.indices { ways[index].probability *= min(sure, 1) / before }
        ways.sort { $0.probability > $1.probability }
        let least = Reckoning.otherProbability * ways[0].probability
        ways.removeAll { $0.probability < least }
        ways.removeLast(max(ways.count - Reckoning.maximumWays, 0))
        return ways
    }

    /// The maximum number of places that a prediction starts from.
    private static let maximumWays = 4
    /// The minimum probability to follow a road other than the matched one, and the minimum to consider its speed.
    private static let (otherProbability, leastProbability) = (0.05, 0.01)
    /// The multiple of a road's speed that vehicles rarely exceed, and the standard deviation of the excess.
    private static let (usualExcess, excessSigma) = (1.5, 0.4)

    // MARK: Predictions

    /// The result of ``predict(at:_:_:_:)``.
    public enum Step: Sendable {
        /// No prediction: no fix is missing yet, or none is due, or the position is unknown.
        case nothing
        /// A predicted position; `begins` marks the first one.
        case predicted(PredictedPosition, begins: Bool)
        /// The prediction has become too long or too uncertain: the position is lost.
        case lost
    }

    /// Predicts the position at a moment if a prediction is due.
    public mutating func predict(
        at stamp: Timestamp, _ tracker: inout PositionTracker, _ metric: Metric, _ prior: RoutePrior?
    ) -> Step {
        guard let origin, let due, stamp >= due else { return .nothing }
        guard stamp.seconds(since: origin.stamp) <= config.maximumTime else { return giveUp() }
        var begins = false
        if case .following = phase {
            begins = true
            phase = .predicting(isInTunnel ? .tunnel : .poorGNSS, good: 0)
            newest = origin.stamp
            travelled = origin.travelled
            expected = 0
            walker = nil
        }
        guard let position = advance(to: stamp, &tracker, metric, prior) else { return .nothing }
        if position.estimate.covariance.perAxis > config.maximumSigma { return giveUp() }
        return .predicted(position, begins: begins)
    }

    private mutating func giveUp() -> Step {
        isGivenUp = true
        phase = .following
        walker = nil
        newest = nil
        return .lost
    }

    private mutating func advance(
        to stamp: Timestamp, _ tracker: inout PositionTracker, _ metric: Metric, _ prior: RoutePrior?
    ) -> PredictedPosition? {
        guard let origin, let before = newest, let free = tracker.prediction(at: stamp) else { return nil }
        newest = stamp
        let hasOdometry = tracker.hasWheelSpeed(at: stamp)
        let age = stamp.seconds(since: origin.stamp)
        if walker == nil, let road = origin.road, origin.confidence >= Reckoning.roadProbability,
            before == origin.stamp
        {
            let ahead = RoadAhead(metric: metric, prior: prior)
            let (speed, speedSigma) = likelySpeed(tracker, at: RoadPlace(edge: road.edge, offset: road.offset), ahead)
            let ways = ways(from: road, origin, speed: speed, ahead)
            var model = model
            // If another road than the matched one is likelier, the model vehicle starts there at the real one's speed,
            // limited by the road's speed.
            if ways[0].place.edge != road.edge {
                model.take(min(speed, ahead.speed(at: ways[0].place, model.pace).expected))
            }
            walker = RoadReckoner(
                ways, alongSigma: road.alongSigma, speed: speed, speedSigma: speedSigma, model: model,
                intoTunnel: isInTunnel || isTunnelNear(ways[0].place, speed: speed, ahead))
            // The vehicle has moved since the fix that the place is from.
            let unseen = origin.travelled - origin.seen.travelled
            if unseen > 0 {
                let sigma = speedSigma * origin.stamp.seconds(since: origin.seen.stamp)
                walker?.shift(by: unseen, alongSigma: hypot(road.alongSigma, sigma), ahead)
            }
        }
        guard var walker else {
            // The model vehicle's last road is not followed.
            model.interrupt()
            if !hasOdometry { expected += max(free.speed, 0) * stamp.seconds(since: before) }
            return PredictedPosition(
                estimate: free, road: nil, method: hasOdometry ? .odometry : .straightOn,
                evidence: evidence(hasOdometry), probability: 0, age: age, candidates: [])
        }
        let graph = metric.turns.graph
        let ahead = RoadAhead(metric: metric, prior: prior)
        let driven = walker.distance
        if hasOdometry {
            walker.advance(
                odometer: free.travelled - travelled, speed: free.speed, scaleSigma: tracker.odometerScale?.sigma ?? 0,
                ahead)
        } else {
            walker.advance(seconds: stamp.seconds(since: before), config: tracker.config, ahead)
        }
        if let course = free.course, tracker.hasTurnRate(at: stamp) {
            walker.turn(to: course, sigma: free.courseSigma, moved: walker.distance - driven, graph)
        }
        if !hasOdometry { expected += walker.distance - driven }
        self.walker = walker
        let (road, straightSigma) = walker.position(ahead)
        tracker.settle(
            road.coordinate, bearing: road.bearing, alongSigma: straightSigma, crossSigma: road.crossSigma,
            speed: hasOdometry ? nil : walker.speed, speedSigma: walker.speedSigma, at: stamp)
        guard let estimate = tracker.newest else { return nil }
        travelled = estimate.travelled
        let method: PredictionMethod =
            hasOdometry ? .odometry : (prior != nil && walker.followsRoute ? .alongRoute : .alongRoad)
        return PredictedPosition(
            estimate: estimate, road: road, method: method, evidence: evidence(hasOdometry),
            probability: walker.probability, age: age, candidates: walker.candidates(graph))
    }

    /// Returns the evidence of a prediction. Odometry that resumes too late cannot make up for the unmeasured stretch before it.
    private func evidence(_ hasOdometry: Bool) -> PositionEvidence {
        hasOdometry && expected <= Reckoning.evidenceReach ? .measured : .expected
    }

    /// Returns the vehicle's last speed, m/s, and its standard deviation.
    ///
    /// An unmeasured speed is combined with the one expected on the road.
    private func likelySpeed(
        _ tracker: PositionTracker, at place: RoadPlace, _ ahead: RoadAhead
    ) -> (speed: Double, sigma: Double) {
        guard let estimate = tracker.estimate else { return (0, 0) }
        let speed = abs(estimate.speed)
        guard estimate.speedSigma > Reckoning.measuredSigma else { return (speed, estimate.speedSigma) }
        return model.weigh(
            speed, sigma: estimate.speedSigma, ceiling: ahead.speed(at: place, model.pace).expected)
    }

    /// Standard deviation up to which a speed counts as measured, m/s.
    private static let measuredSigma = 1.0
}
