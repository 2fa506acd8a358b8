import NavGeo

/// A fix as something to measure movement from.
struct Waymark {
    var stamp: Timestamp
    var coordinate: Coordinate
    /// Metres travelled by the reported speeds, since the first fix.
    var travelled: Double
    /// How often the reported speeds were interrupted before.
    var gaps: Int
}

/// How far the vehicle has come since the last step of the belief.
struct MotionState {
    enum Verdict {
        /// The fix is older than its predecessor.
        case late
        /// No vehicle moves that fast.
        case jumped
        /// Far enough to learn from.
        case stepped
        /// On the move, but not yet far enough.
        case drifted
        /// Not moving.
        case standing
    }

    private struct Mark {
        var stamp: Timestamp
        var coordinate: Coordinate
        var sigma: Double
        var speed: Double?
    }

    /// Metres in a straight line since the last step.
    private var moved = 0.0
    private var travelled = 0.0
    private var gaps = 0
    /// Seconds since the last step.
    private var elapsed = 0.0
    /// Speed over the last step, m/s; nil before the second.
    private(set) var speed: Double?
    /// Set when the last position is not to be held.
    var isInterrupted = false

    private var anchor: Mark?
    private var last: Mark?

    /// A clock that was set back by more than this begins anew, seconds.
    private static let clockReset = 10.0
    /// Longest time over which a speed is carried on, seconds.
    private static let speedValidity = 2.5

    /// Takes note of a fix.
    mutating func advance(to fix: Fix, sigma: Double, config: MatcherConfig) -> Verdict {
        let mark = Mark(stamp: fix.stamp, coordinate: fix.coordinate, sigma: sigma, speed: fix.usableSpeed)
        guard let last, let anchor else {
            self.last = mark
            anchor = mark
            return .stepped
        }
        let seconds = fix.stamp.seconds(since: last.stamp)
        if seconds < 0 {
            guard seconds < -MotionState.clockReset else { return .late }
            self = MotionState()
            _ = advance(to: fix, sigma: sigma, config: config)
            return .jumped
        }
        let noise = last.sigma + sigma
        let possible = config.maximumSpeed * seconds + 4 * noise + 10
        if Geodesy.distance(last.coordinate, fix.coordinate) > possible {
            self = MotionState()
            _ = advance(to: fix, sigma: sigma, config: config)
            return .jumped
        }
        if let before = last.speed, let now = mark.speed, seconds <= MotionState.speedValidity {
            travelled += (before + now) / 2 * seconds
        } else {
            gaps += 1
        }
        self.last = mark
        moved = Geodesy.distance(anchor.coordinate, fix.coordinate)
        elapsed = fix.stamp.seconds(since: anchor.stamp)
        let isInterrupted = isInterrupted
        self.isInterrupted = false
        if moved >= max(config.minimumStep, min(sigma, config.maximumSigma / 2)) { return .stepped }
        if isInterrupted { return .drifted }
        if let now = mark.speed { return now < config.standingSpeed ? .standing : .drifted }
        // Without a speed: at the last step's pace the vehicle would have left the noise by now.
        return (speed ?? 0) * elapsed < 2 * config.minimumStep ? .drifted : .standing
    }

    /// Begins the next step at a fix.
    mutating func commit(_ fix: Fix) {
        if elapsed > 0 { speed = moved / elapsed }
        anchor = last
        moved = 0
        elapsed = 0
    }

    /// A fix to measure from later.
    func waymark(_ fix: Fix) -> Waymark {
        Waymark(stamp: fix.stamp, coordinate: fix.coordinate, travelled: travelled, gaps: gaps)
    }
}
