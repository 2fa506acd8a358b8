import Glibc
import NavGeo
import NavMap
public import NavRouting

/// Follows a vehicle on the road graph: one fix in, one position out, from nothing but the fixes so far.
///
/// A hidden Markov model (Newson and Krumm, 2009) whose states are places on directed edges and "on no mapped road". A fix is likelier the
/// nearer it lies to a place and the better its course fits; a movement the better the way by road fits the distance between the fixes.
/// Ways are searched on the turn graph, so restrictions hold. The probabilities are those of the forward algorithm; next to them runs
/// Viterbi's, whose back-pointers ``PathTracker`` turns into the driven path.
///
/// Fixes teach only when the vehicle has moved by more than the receiver's noise: between such steps each fix is matched against the belief
/// of the last step, without changing it. So a vehicle at rest keeps its place, direction and probabilities, and 10 Hz are no more certain
/// than 1 Hz. Work per fix is bounded by the configuration, not by the map.
public struct StreamingMatcher: Sendable {
    public let config: MatcherConfig
    public private(set) var turns: TurnGraph
    /// The step that the last fix added to the history; nil when it taught nothing or the path is not recorded.
    public private(set) var step: MatchStep?

    /// Standard deviation per axis taken for a fix that states none, metres: what the drive so far tells of the receiver.
    public var usualSigma: Double { noise.sigma }

    /// Standard deviation per axis that is taken for a fix, metres.
    public func sigma(of fix: Fix) -> Double { config.sigma(of: fix, otherwise: noise.sigma) }

    private var metric: Metric
    private let recordsPath: Bool
    /// Whether there is a belief to go on from.
    private var hasBelief = false
    private var transition: Transition
    private var motion = MotionState()
    private var noise: NoiseEstimate
    private var output: MatchedPosition?
    private var wrongWay = WrongWayTracker()

    /// A matcher that has seen nothing.
    ///
    /// - Parameters:
    ///   - metric: says which edges the vehicle may be on; brings the turn graph and the roads.
    ///   - recordsPath: whether ``step`` is filled, for a ``PathTracker``.
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

    /// Goes on with other roads: tiles that arrived or left, or another metric over the same. Places on roads that both graphs have are kept.
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
            }
        }
        self.metric = metric
        turns = metric.turns
    }

    /// Matches the next fix.
    ///
    /// A fix without a usable position, or older than the one before, is answered as ``MatchedPosition/State/unusable`` and changes nothing.
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
            return conclude(sight(fix, frame, sigma), Belief(), isTeleport: false, isStep: nil)
        case .jumped:
            wrongWay.reset()
            hasBelief = false
            output = nil
            return advance(sight(fix, frame, sigma), routePrior, isTeleport: true)
        case .standing:
            if let held = hold(fix, frame, isHeld: false) { return held }
            return advance(sight(fix, frame, sigma), routePrior, isTeleport: false)
        case .stepped: return advance(sight(fix, frame, sigma), routePrior, isTeleport: false)
        case .drifted:
            guard hasBelief else { return advance(sight(fix, frame, sigma), routePrior, isTeleport: false) }
            let sight = sight(fix, frame, sigma)
            transition.advance(sight, metric, routePrior)
            return conclude(sight, transition.next, isTeleport: false, isStep: false)
        }
    }

    /// The share of new evidence in a fix that comes where the last one was.
    private static let leastWeight = 0.01

    private func sight(_ fix: Fix, _ frame: LocalFrame, _ sigma: Double) -> FixSight {
        let weight =
            hasBelief ? min(max(motion.moved / config.decorrelationDistance, StreamingMatcher.leastWeight), 1) : 1
        return FixSight(fix: fix, sigma: sigma, weight: weight, frame: frame, waymark: motion.waymark(fix))
    }

    /// The last answer once more, for a fix that changes nothing; nil when there is none.
    private func hold(_ fix: Fix, _ frame: LocalFrame, isHeld: Bool) -> MatchedPosition? {
        guard var held = output else { return nil }
        held.stamp = fix.stamp
        held.raw = fix.coordinate
        held.speed = fix.usableSpeed ?? (isHeld ? held.speed : 0)
        held.isTeleport = false
        held.isHeld = isHeld
        if let road = held.road { held.road?.distance = frame.distance(fix.coordinate, road.coordinate) }
        return held
    }

    private mutating func advance(_ sight: FixSight, _ routePrior: RoutePrior?, isTeleport: Bool) -> MatchedPosition {
        if hasBelief {
            transition.advance(sight, metric, routePrior)
        } else {
            transition.begin(sight, metric, routePrior)
        }
        if recordsPath { step = transition.step(graph: turns.graph, isRestart: !hasBelief) }
        hasBelief = true
        transition.commit()
        motion.commit(sight.fix)
        let position = conclude(sight, transition.current, isTeleport: isTeleport)
        if let road = position.road, !position.isHeld { noise.add(road.distance) }
        return position
    }

    private mutating func conclude(
        _ sight: FixSight, _ belief: Belief, isTeleport: Bool, isStep: Bool? = true
    ) -> MatchedPosition {
        var result = Conclusion(graph: turns.graph, belief: belief, sight: sight)
            .position(speed: sight.fix.usableSpeed ?? motion.speed, isTeleport: isTeleport)
        if let isStep { wrongWay.follow(&result, sight, transition.hits, isStep: isStep, config, metric) }
        output = result
        return result
    }
}
