import Glibc

/// The matcher's model of receivers, roads and drivers. The defaults fit a car with a consumer receiver.
public struct MatcherConfig: Sendable, Hashable {
    /// The standard deviation per axis of a receiver that reports no accuracy, metres.
    ///
    /// Newson and Krumm (2009) measured 4.07 m for a logger under open sky; twice that allows for built-up streets and for the distance
    /// between a lane and the road's centreline.
    public var defaultSigma = 8.0
    /// Metres per unit of HDOP for a receiver that reports no accuracy (the user range error of single-frequency receivers).
    public var sigmaPerHDOP = 4.0
    /// The smallest standard deviation used, metres: roads are mapped as centrelines, and the vehicle drives beside them.
    public var minimumSigma = 4.0
    /// The largest standard deviation used, metres.
    public var maximumSigma = 40.0

    /// The smallest search radius for roads, metres.
    ///
    /// The radius is never less than seven standard deviations, beyond which a place is too unlikely to be kept.
    public var minimumRadius = 30.0
    /// The largest search radius, metres.
    public var maximumRadius = 150.0
    /// The maximum number of directed edges considered per fix, the nearest first; at most 31.
    public var maximumCandidates = 12

    /// The usual difference between driven and straight-line distance of two fixes, metres: the scale of the
    /// exponential distribution of Newson and Krumm (2009).
    public var detourScale = 4.0
    /// Growth of that scale per metre between the fixes, because sparse fixes cut corners.
    public var detourGrowth = 0.1
    /// Log probability of a U-turn between two fixes where the road continues.
    public var uTurnLog = -12.0
    /// Log probability of a jump to a place that no road reaches from the last one (the map lacks a road, or fixes are
    /// missing).
    public var jumpLog = -20.0
    /// Log probability that a fix is an outlier (a reflection, or an old position sent again).
    public var outlierLog = -7.0
    /// The maximum number of places kept in case the fix is an outlier; at most 16.
    public var maximumHeld = 4
    /// The maximum number of outliers in a row before a place is dropped, unless ``maximumHoldTime`` has not yet passed.
    public var maximumHolds = 3
    /// The longest time for which outliers hold a place before it is dropped, seconds.
    public var maximumHoldTime = 3.0
    /// The longest time between two fixes after which the later one may be an outlier, seconds.
    ///
    /// After a longer gap the vehicle may be anywhere, so its earlier place does not count against a fix.
    public var maximumHoldGap = 25.0
    /// The longest time for which a stationary vehicle is kept at a place that its fixes contradict, seconds.
    ///
    /// Reflections rarely outlast a stop at traffic lights; the offset of a towed vehicle or of a converged receiver remains.
    public var maximumStandingHoldTime = 60.0
    /// The least movement for a fix to count as new evidence, metres.
    ///
    /// A receiver's errors last longer than the time between two fixes, so fixes at a standstill add no information.
    public var minimumStep = 5.0
    /// The distance after which a receiver's error is independent of the earlier one, metres.
    ///
    /// A fix within that distance repeats part of the last error, so its position gets a proportional share of the full weight.
    public var decorrelationDistance = 40.0
    /// Speed below which a vehicle counts as stationary, m/s (receivers report up to 0.3 m/s at rest).
    public var standingSpeed = 0.5
    /// Speed from which a course is trusted, m/s.
    public var courseSpeed = 2.0
    /// Highest speed that two fixes may imply, m/s; above it the position has jumped.
    public var maximumSpeed = 70.0

    /// The distance from a road, in standard deviations, at which being off-road is as likely as a receiver error.
    ///
    /// Reflections in streets make errors of three and four deviations common.
    public var offRoadDeviations = 4.5
    /// Probability of leaving the mapped roads per ``decorrelationDistance`` driven.
    public var leavingProbability = 0.003
    /// Probability of returning to them per ``decorrelationDistance`` driven.
    public var enteringProbability = 0.15

    /// The maximum number of states that the route search settles per fix; bounds the work in the densest network.
    public var maximumSettled = 12_000
    /// The longest distance between two fixes that the route search bridges, metres.
    public var maximumBridge = 6_000.0

    public init() {}

    /// Returns the standard deviation per axis of a fix, metres; `usual` when the receiver reports no accuracy.
    func sigma(of fix: Fix, otherwise usual: Double) -> Double {
        let stated: Double
        if let sigma = fix.horizontalSigma, sigma > 0, sigma.isFinite {
            stated = sigma
        } else if let hdop = fix.hdop, hdop > 0, hdop < 100 {
            stated = hdop * sigmaPerHDOP
        } else {
            stated = usual
        }
        return min(max(stated, minimumSigma), maximumSigma)
    }

    /// Returns the search radius for roads, metres.
    func radius(sigma: Double) -> Double {
        min(max(sigma * 7, minimumRadius), maximumRadius)
    }

    var offRoadLog: Double { -offRoadDeviations * offRoadDeviations / 2 }
    var enteringLog: Double { log(enteringProbability) }
}
