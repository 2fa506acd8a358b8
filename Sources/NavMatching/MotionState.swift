import NavGeo

/// A fix as something to measure movement from.
struct Waymark {
    var stamp: Timestamp
    var coordinate: Coordinate
    /// Metres travelled by the reported speeds, since the first fix.
    var travelled: Double
    /// The number of interruptions of the reported speeds before.
    var gaps: Int
}

/// The movement of the vehicle since the last step of the belief.
struct MotionState {
    enum Verdict {
        /// The fix is older than its predecessor.
        case late
        /// No vehicle moves that fast; the fix may be wrong.
        case suspect
        /// No vehicle moves that fast, and the fixes stay where they are.
        case jumped
        /// Far enough to learn from.
        case stepped
        /// On the move, but not yet far enough.
        case drifted
        case standing
        /// The receiver repeats its last position, though by its own speed the vehicle moves.
        case frozen
    }

    private struct Mark {
        var stamp: Timestamp
        var coordinate: Coordinate
        var sigma: Double
        var speed: Double?
    }

    /// Metres in a straight line since the last step.
    private(set) var moved = 0.0
    private var travelled = 0.0
    private var gaps = 0
    /// Seconds since the last step.
    private var elapsed = 0.0
    /// Speed over the last step, m/s; nil before the second.
    private(set) var speed: Double?
    /// Set when the last position is not to be held.
    var isInterrupted = false

    /// Fixes that the vehicle cannot have reached, but that agree with each other.
    private struct Suspect {
        var since: Timestamp
        var last: Mark
    }

    private var anchor: Mark?
    /// The last fix that moved or stood, but was not frozen.
    private var last: Mark?
    /// The last fix of all, for its time and speed.
    private var report: Mark?
    private var suspect: Suspect?

    /// A clock that was set back by more than this begins anew, seconds.
    private static let clockReset = 10.0
    /// A jump is believed when the fixes have stayed there for so long, seconds: single wrong fixes come back before.
    private static let confirmation = 0.9
    /// The wandering of a receiver at rest, in multiples of the noise that a moving one must leave.
    private static let wander = 3.0
    /// Speed from which a position that stays exactly the same is not believed, m/s: 0.1 m at 10 Hz, ten times a coordinate's resolution.
    private static let frozenSpeed = 1.0
    /// Longest time over which a speed is carried on, seconds.
    private static let speedValidity = 2.5

    /// Takes note of a fix.
    ///
    /// - Parameters:
    ///   - frame: metres around the fix.
    ///   - origins: where the vehicle may be, for fixes without a speed: one that cannot be reached from its predecessor may be right and the
    ///     predecessor wrong, when it can be reached from a place that did without it.
    mutating func advance(
        to fix: Fix, frame: LocalFrame, sigma: Double, config: MatcherConfig, origins: () -> ContiguousArray<Place>
    ) -> Verdict {
        let mark = Mark(stamp: fix.stamp, coordinate: fix.coordinate, sigma: sigma, speed: fix.usableSpeed)
        guard let last, let anchor, let report else {
            report = mark
            self.last = mark
            anchor = mark
            return .stepped
        }
        let seconds = fix.stamp.seconds(since: report.stamp)
        if seconds < 0 {
            guard seconds < -MotionState.clockReset else { return .late }
            self = MotionState()
            _ = advance(to: fix, frame: frame, sigma: sigma, config: config, origins: { [] })
            return .jumped
        }
        self.report = mark
        if let before = report.speed, let now = mark.speed, seconds <= MotionState.speedValidity {
            travelled += (before + now) / 2 * seconds
        } else {
            gaps += 1
        }
        if mark.coordinate == last.coordinate, mark.speed ?? 0 >= MotionState.frozenSpeed { return .frozen }
        if let suspect {
            let fromSuspect = frame.distance(suspect.last.coordinate, fix.coordinate)
            let agrees =
                fromSuspect < frame.distance(last.coordinate, fix.coordinate)
                && isPossible(from: suspect.last, to: mark, distance: fromSuspect, config)
            if agrees {
                guard fix.stamp.seconds(since: suspect.since) >= MotionState.confirmation else {
                    self.suspect?.last = mark
                    return .suspect
                }
                self = MotionState()
                _ = advance(to: fix, frame: frame, sigma: sigma, config: config, origins: { [] })
                return .jumped
            }
        }
        let straight = frame.distance(last.coordinate, fix.coordinate)
        let isPossible =
            isPossible(from: last, to: mark, distance: straight, config)
            || mark.speed == nil
                && origins().contains(where: { self.isPossible(from: $0.origin, to: mark, frame, config) })
        guard isPossible
        else {
            suspect = Suspect(since: fix.stamp, last: mark)
            return .suspect
        }
        suspect = nil
        self.last = mark
        moved = frame.distance(anchor.coordinate, fix.coordinate)
        elapsed = fix.stamp.seconds(since: anchor.stamp)
        let isInterrupted = isInterrupted
        self.isInterrupted = false
        // Without a speed only the places tell that a vehicle moves: then no less than the assumed noise does.
        let least = mark.speed == nil ? config.defaultSigma : config.minimumStep
        let noise = max(least, min(sigma, config.maximumSigma / 2))
        let stands = mark.speed.map { $0 < config.standingSpeed }
        // A receiver at rest wanders; its speed is better than its place.
        if moved >= (stands == true ? MotionState.wander * noise : noise) { return .stepped }
        if isInterrupted { return .drifted }
        if let stands { return stands ? .standing : .drifted }
        // Without a speed: at the last step's pace the vehicle would have left the noise by now.
        guard let speed, speed * elapsed < 2 * config.minimumStep else { return .standing }
        return .drifted
    }

    private func isPossible(from first: Mark, to second: Mark, distance: Double, _ config: MatcherConfig) -> Bool {
        let seconds = second.stamp.seconds(since: first.stamp)
        return distance <= config.maximumSpeed * max(seconds, 0) + 4 * (first.sigma + second.sigma) + 10
    }

    private func isPossible(
        from origin: Waymark, to second: Mark, _ frame: LocalFrame, _ config: MatcherConfig
    ) -> Bool {
        let first = Mark(stamp: origin.stamp, coordinate: origin.coordinate, sigma: second.sigma)
        return isPossible(
            from: first, to: second, distance: frame.distance(origin.coordinate, second.coordinate), config)
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
