import Glibc

/// The matcher's model of receivers, roads and drivers. The defaults fit a car with a consumer receiver.
public struct MatcherConfig: Sendable, Hashable {
    /// Standard deviation per axis assumed of a receiver that says nothing, metres. Newson and Krumm (2009) measured 4.07 m for a logger
    /// in the open; twice that leaves room for streets and for the distance between a lane and its road's line.
    public var defaultSigma = 8.0
    /// Metres per unit of HDOP, for a receiver that gives no accuracy (the user range error of single-frequency receivers).
    public var sigmaPerHDOP = 4.0
    /// The smallest standard deviation used, metres: a road's line is its middle, and the vehicle keeps beside it.
    public var minimumSigma = 4.0
    /// The largest standard deviation used, metres.
    public var maximumSigma = 40.0

    /// The smallest distance within which roads are looked for, metres; seven deviations are looked through in any case, beyond which a place
    /// is too unlikely to be kept.
    public var minimumRadius = 30.0
    /// The largest, metres.
    public var maximumRadius = 150.0
    /// Directed edges considered per fix, the nearest first; at most 31.
    public var maximumCandidates = 12

    /// Metres by which driven and straight distance differ by nature between two fixes: the scale of the exponential distribution of
    /// Newson and Krumm (2009).
    public var detourScale = 4.0
    /// Growth of that scale per metre between the fixes: bends are cut by sparse fixes.
    public var detourGrowth = 0.1
    /// Log probability of turning round between two fixes where the road goes on.
    public var uTurnLog = -12.0
    /// Log probability of being found where no road leads from the last position (the map lacks a road, fixes are missing).
    public var jumpLog = -20.0
    /// Log probability that a fix tells nothing of where the vehicle is (a reflection, an old position sent again).
    public var outlierLog = -7.0
    /// Places that are kept for the case that the fix tells nothing; at most 16.
    public var maximumHeld = 4
    /// The most fixes in a row that tell nothing before a place is given up, unless ``maximumHoldTime`` has not yet passed.
    public var maximumHolds = 3
    /// The longest time that fixes tell nothing before a place is given up, seconds.
    public var maximumHoldTime = 3.0
    /// Metres that the vehicle must have moved before a fix counts as new evidence, at least; a receiver's errors last longer than the
    /// time between two fixes, so that standing still teaches nothing.
    public var minimumStep = 5.0
    /// Metres after which a receiver's error is another one. A fix that comes sooner repeats part of the last one's error, so its position
    /// counts as that share of the evidence.
    public var decorrelationDistance = 40.0
    /// Speed under which a vehicle counts as standing, m/s (receivers report up to 0.3 m/s at rest).
    public var standingSpeed = 0.5
    /// Speed from which a course is believed, m/s.
    public var courseSpeed = 2.0
    /// Highest speed that a fix may imply, m/s; above it the position has jumped.
    public var maximumSpeed = 70.0

    /// Distance from a road, in standard deviations, at which being off the road is as likely a cause as the receiver's error. Reflections in
    /// streets make errors of three and four deviations usual.
    public var offRoadDeviations = 4.5
    /// Probability of leaving the mapped roads on a way of ``decorrelationDistance``.
    public var leavingProbability = 0.003
    /// Probability of coming back to them on such a way.
    public var enteringProbability = 0.15

    /// States settled per fix by the route search at most; bounds the work in the densest network.
    public var maximumSettled = 12_000
    /// Longest distance between two fixes that is bridged by a route, metres.
    public var maximumBridge = 6_000.0

    public init() {}

    /// The standard deviation per axis to use for a fix, metres; `usual` for a receiver that says nothing.
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

    /// The distance within which roads are looked for, metres.
    func radius(sigma: Double) -> Double {
        min(max(sigma * 7, minimumRadius), maximumRadius)
    }

    var offRoadLog: Double { -offRoadDeviations * offRoadDeviations / 2 }
    var enteringLog: Double { log(enteringProbability) }
}
