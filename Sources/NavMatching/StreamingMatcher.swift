import Glibc
import NavGeo
import NavMap
public import NavRouting

/// A streaming map matcher that returns a position for each fix, using only the fixes so far.
///
/// The model is a hidden Markov model (Newson and Krumm, 2009). Its states are places on directed edges and "on no
/// mapped road". A fix is more likely near a place and with a matching course. A movement is more likely when the
/// distance by road fits the distance between the fixes. Paths are searched on the turn graph, so restrictions hold.
///
/// Probabilities come from the forward algorithm. Viterbi's algorithm runs alongside, and ``PathTracker`` turns its
/// back-pointers into the driven path.
///
/// Only fixes that moved by more than the receiver's noise update the belief. Between such steps each fix is matched against the last
/// step's belief without changing it. A stationary vehicle therefore keeps its place, direction and probabilities, and fixes at 10 Hz give
/// no more certainty than at 1 Hz. If fixes contradict its place for a minute, or after a gap, a fix is matched like the first one: the
/// vehicle was towed, or the receiver has converged.
///
/// Work per fix is bounded by the configuration, not by the map.
public struct StreamingMatcher: Sendable {
    public let config: MatcherConfig
    public private(set) var turns: TurnGraph
    /// The step that the last fix added to the history; nil when it added none or the path is not recorded.
    public private(set) var step: MatchStep?

    /// The standard deviation per axis assumed for a fix that reports none, metres; estimated from the drive so far.
    public var usualSigma: Double { noise.sigma }

    /// Returns the standard deviation per axis that the matcher uses for a fix, metres.
    public func sigma(of fix: Fix) -> Double { config.sigma(of: fix, otherwise: noise.sigma) }

    private var metric: Metric
    private let recordsPath: Bool
    /// Whether there is a belief to continue from.
    private var hasBelief = false
    private var transition: Transition
    private var motion = MotionState()
    private var noise: NoiseEstimate
    private var output: MatchedPosition?
    /// The time of the last fix that agreed with the vehicle's place.
    private var agreedAt: Timestamp?
    private var wrongWay = WrongWayTracker()

    /// Creates a matcher without history.
    ///
    /// - Parameters:
    ///   - metric: The vehicle's metric, which determines the permitted edges and provides the turn graph and the roads.
    ///   - recordsPath: Whether ``step`` is filled for a ``PathTracker``.
    public init(metric: Metric, config: MatcherConfig = MatcherConfig(), recordsPath: Bool = false) {
        self.metric = metric
        self.config = config
        self.recordsPath = recordsPath
        turns = metric.turns
        noise = NoiseEstimate(config)
        transition = Transition(metric.turns, config: config, recordsPath: recordsPath)
    }

    public mutating func reset() {
        hasBelief = false
        step = nil
        output = nil
        motion = MotionState()
        noise = NoiseEstimate(config)
        wrongWay.reset()
    }

    /// Switches to another graph after tiles arrived or left, or to another metric on the same graph.
    ///
    /// Places on roads of both graphs are kept. If the vehicle was off all roads and roads appear near it, its next fix is matched like the
    /// first one.
    public mutating func adopt(_ metric: Metric) {
        let old = turns.graph
        let new = metric.turns.graph
        if metric.turns !== turns {
            let isNewGraph = old !== new
            if isNewGraph { wrongWay.reset() }
            transition.adopt(
                metric.turns,
                translating: isNewGraph && hasBelief ? EdgeTranslation(from: old, to: new) : nil)
            if isNewGraph, hasBelief {
                output = nil
                motion.isInterrupted = true
                if transition.current.offRoadProbability > 0.5, haveRoadsAppeared(from: old, to: new) {
                    hasBelief = false
                }
            }
        }
        self.metric = metric
        turns = metric.turns
    }

    /// Matches the next fix.
    ///
    /// A fix without a usable position, or older than the previous one, results in ``MatchedPosition/State/unusable``
    /// and changes nothing.
    public mutating func match(_ fix: Fix, routePrior: RoutePrior? = nil) -> MatchedPosition {
        step = nil
        guard fix.isUsable else { return .unusable(fix) }
        let sigma = sigma(of: fix)
        let frame = LocalFrame(origin: fix.coordinate)
        let verdict = motion.advance(
            to: fix, frame: frame, sigma: sigma, config: config,
            origins: { hasBelief ? transition.current.places : [] })
        switch verdict {
        case .late: return .unusable(fix)
        case .suspect, .frozen:
            if let held = hold(fix, frame, isHeld: true) { return held }
            return conclude(prepare(fix, frame, sigma), Belief(), isTeleport: false, isStep: nil)
        case .jumped: return placeAnew(fix, frame, sigma, routePrior)
        case .standing:
            if outlierHasPersisted(until: fix) { return placeAnew(fix, frame, sigma, routePrior) }
            if let held = hold(fix, frame, isHeld: false) { return held }
            return advance(prepare(fix, frame, sigma), routePrior, isTeleport: false)
        case .stepped: return advance(prepare(fix, frame, sigma), routePrior, isTeleport: false)
        case .drifted:
            guard hasBelief else { return advance(prepare(fix, frame, sigma), routePrior, isTeleport: false) }
            let prepared = prepare(fix, frame, sigma)
            transition.advance(prepared, metric, routePrior)
            return conclude(prepared, transition.next, isTeleport: false, isStep: false)
        }
    }

    /// Whether the other graph has a road around the last fix that the old one lacks.
    ///
    /// A vehicle that was on none of the old graph's roads may then be on one of the new graph's. Fixes at a standstill add hardly any
    /// evidence, so an off-road belief would last until the vehicle moves.
    private func haveRoadsAppeared(from old: RoadGraph, to new: RoadGraph) -> Bool {
        guard let fix = motion.lastFix else { return false }
        let back = EdgeTranslation(from: new, to: old)
        return new.edges(near: fix.coordinate, radius: config.radius(sigma: fix.sigma)).contains {
            back.edge($0.edge, at: fix.coordinate) == nil
        }
    }

    /// Whether fixes have contradicted the vehicle's place for so long that they cannot be outliers.
    ///
    /// At a standstill, each fix repeats the supposed outlier, and none would count as a step.
    private func outlierHasPersisted(until fix: Fix) -> Bool {
        guard output?.isHeld == true, let agreedAt else { return false }
        return fix.stamp.seconds(since: agreedAt) > config.maximumStandingHoldTime
    }

    /// Discards the belief and matches the fix like the first one.
    private mutating func placeAnew(
        _ fix: Fix, _ frame: LocalFrame, _ sigma: Double, _ routePrior: RoutePrior?
    ) -> MatchedPosition {
        wrongWay.reset()
        hasBelief = false
        output = nil
        return advance(prepare(fix, frame, sigma), routePrior, isTeleport: true)
    }

    /// The least weight of a fix, for one at the position of the last step.
    private static let leastWeight = 0.01

    private func prepare(_ fix: Fix, _ frame: LocalFrame, _ sigma: Double) -> PreparedFix {
        let weight =
            hasBelief ? min(max(motion.moved / config.decorrelationDistance, StreamingMatcher.leastWeight), 1) : 1
        return PreparedFix(
            fix: fix, sigma: sigma, weight: weight, frame: frame, movementReference: motion.movementReference(fix),
            silence: motion.silence)
    }

    /// Returns the last result again for a fix that changes nothing; nil when there is none.
    private mutating func hold(_ fix: Fix, _ frame: LocalFrame, isHeld: Bool) -> MatchedPosition? {
        guard var held = output else { return nil }
        if !isHeld, !held.isHeld { agreedAt = fix.stamp }
        held.stamp = fix.stamp
        held.raw = fix.coordinate
        held.speed = fix.usableSpeed ?? (isHeld ? held.speed : 0)
        held.isTeleport = false
        held.isHeld = isHeld
        if let road = held.road { held.road?.distance = frame.distance(fix.coordinate, road.coordinate) }
        return held
    }

    private mutating func advance(_ prepared: PreparedFix, _ routePrior: RoutePrior?, isTeleport: Bool)
        -> MatchedPosition
    {
        if hasBelief {
            transition.advance(prepared, metric, routePrior)
        } else {
            transition.begin(prepared, metric, routePrior)
        }
        if recordsPath { step = transition.step(graph: turns.graph, isRestart: !hasBelief) }
        hasBelief = true
        transition.commit()
        motion.commit(prepared.fix)
        let position = conclude(prepared, transition.current, isTeleport: isTeleport)
        if let road = position.road, !position.isHeld { noise.add(road.distance) }
        return position
    }

    private mutating func conclude(
        _ prepared: PreparedFix, _ belief: Belief, isTeleport: Bool, isStep: Bool? = true
    ) -> MatchedPosition {
        var result = Conclusion(graph: turns.graph, belief: belief, prepared: prepared)
            .position(speed: prepared.fix.usableSpeed ?? motion.speed, isTeleport: isTeleport)
        if let isStep { wrongWay.follow(&result, prepared, transition.hits, isStep: isStep, config, metric) }
        output = result
        if !result.isHeld { agreedAt = result.stamp }
        return result
    }
}
