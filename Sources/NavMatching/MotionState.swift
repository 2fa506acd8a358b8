import NavGeo

/// A fix from which movement is measured.
struct MovementReference {
    var stamp: Timestamp
    var coordinate: Coordinate
    /// Metres travelled since the first fix, by the reported speeds.
    var travelled: Double
    /// The number of gaps in the reported speeds so far.
    var gaps: Int
}

/// The movement of the vehicle since the last step of the belief.
struct MotionState {
    enum Verdict {
        /// The fix is older than its predecessor.
        case late
        /// The implied speed is impossible; the fix may be wrong.
        case suspect
        /// The implied speed is impossible, but later fixes confirm the new position.
        case jumped
        /// The vehicle has moved far enough for new evidence.
        case stepped
        /// Moving, but not yet far enough.
        case drifted
        case standing
        /// The receiver repeats its last position while reporting a speed.
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
    /// Whether the last position must not be held.
    var isInterrupted = false

    /// Fixes that the vehicle cannot have reached but that agree with each other.
    private struct Suspect {
        var since: Timestamp
        var last: Mark
    }

    private var anchor: Mark?
    /// The last fix that was neither frozen nor suspect.
    private var last: Mark?
    /// The position and standard deviation of the last fix that was neither frozen nor suspect.
    var lastFix: (coordinate: Coordinate, sigma: Double)? { last.map { ($0.coordinate, $0.sigma) } }
    /// The last fix of any kind, for its time and speed.
    private var report: Mark?
    /// Seconds between the last two fixes that were neither frozen nor suspect.
    private(set) var silence = 0.0
    private var suspect: Suspect?

    /// A clock that jumps back by more than this restarts the state, seconds.
    private static let clockReset = 10.0
    /// The time for which fixes must confirm a jump, seconds; after a single wrong fix the position returns sooner.
    private static let confirmation = 0.9
    /// The movement that counts as a step while the receiver is stationary, as a multiple of the noise threshold of a moving one.
    private static let wander = 3.0
    /// Speed from which an exactly repeated position is rejected, m/s: 0.1 m at 10 Hz, ten times a coordinate's resolution.
    private static let frozenSpeed = 1.0
    /// The longest interval that is integrated between two reported speeds, seconds.
    private static let speedValidity = 2.5

    /// Updates the state with a fix and classifies it.
    ///
    /// - Parameters:
    ///   - frame: The local frame around the fix.
    ///   - origins: The places where the vehicle may be, for fixes without a speed. A fix that cannot be reached from
    ///     its predecessor is still accepted when it can be reached from a place that ignored that predecessor.
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
        silence = fix.stamp.seconds(since: last.stamp)
        self.last = mark
        moved = frame.distance(anchor.coordinate, fix.coordinate)
        elapsed = fix.stamp.seconds(since: anchor.stamp)
        let isInterrupted = isInterrupted
        self.isInterrupted = false
        // Without a speed only positions show movement, so the threshold is at least the default noise.
        let least = mark.speed == nil ? config.defaultSigma : config.minimumStep
        let noise = max(least, min(sigma, config.maximumSigma / 2))
        let stands = mark.speed.map { $0 < config.standingSpeed }
        // The position of a stationary receiver drifts; its speed is more reliable.
        if moved >= (stands == true ? MotionState.wander * noise : noise) { return .stepped }
        if isInterrupted { return .drifted }
        if let stands { return stands ? .standing : .drifted }
        // Without a speed: at the speed of the last step, the vehicle would have moved further than the noise by now.
        guard let speed, speed * elapsed < 2 * config.minimumStep else { return .standing }
        return .drifted
    }

    private func isPossible(from first: Mark, to second: Mark, distance: Double, _ config: MatcherConfig) -> Bool {
        let seconds = second.stamp.seconds(since: first.stamp)
        return distance <= config.maximumSpeed * max(seconds, 0) + 4 * (first.sigma + second.sigma) + 10
    }

    private func isPossible(
        from origin: MovementReference, to second: Mark, _ frame: LocalFrame, _ config: MatcherConfig
    ) -> Bool {
        let first = Mark(stamp: origin.stamp, coordinate: origin.coordinate, sigma: second.sigma)
        return isPossible(
            from: first, to: second, distance: frame.distance(origin.coordinate, second.coordinate), config)
    }

    /// Starts the next step at a fix.
    mutating func commit(_ fix: Fix) {
        if elapsed > 0 { speed = moved / elapsed }
        anchor = last
        moved = 0
        elapsed = 0
    }

    /// Returns a fix as a reference for later movement.
    func movementReference(_ fix: Fix) -> MovementReference {
        MovementReference(stamp: fix.stamp, coordinate: fix.coordinate, travelled: travelled, gaps: gaps)
    }
}
