import NavGeo
import NavMatching

/// A qualifier that accepts or rejects fixes one by one, using only earlier fixes.
///
/// Uses no roads and does no smoothing; each rejection has a reason. A rejected fix changes nothing but the evidence that the clock was set
/// or that the vehicle was transported.
struct FixQualifier: Sendable {
    var limits: FixLimits

    /// Consecutive fixes with the wrong time.
    private struct Sign: Sendable {
        var count = 0
        var first: Fix?
        var newest = Timestamp(nanoseconds: .min)

        /// Adds a fix; a fix that is not newer than the last restarts the count.
        mutating func add(_ fix: Fix) {
            if fix.stamp <= newest { self = Sign() }
            count += 1
            first = first ?? fix
            newest = fix.stamp
        }
    }

    /// Fixes that the vehicle cannot have reached, but that agree with each other.
    private struct Suspect: Sendable {
        var since: Timestamp
        var last: Fix
    }

    private var last: Fix?
    /// The usual delay of a fix's arrival after its stamp, seconds; nil when fixes carry no arrival time.
    private var latency: Double?
    private var late = Sign()
    private var early = Sign()
    private var suspect: Suspect?
    /// Metres driven by reported speeds since the position last changed.
    private var stuckDistance = 0.0
    /// Time of the last frozen fix.
    private var stuckStamp = Timestamp(nanoseconds: .min)

    init(_ limits: FixLimits) { self.limits = limits }

    /// Whether a fix has been accepted yet.
    var isStarted: Bool { last != nil }
    /// The usual delay of a fix's arrival after its stamp, seconds; nil when unknown.
    var usualLatency: Double? { latency }

    /// Judges a fix.
    ///
    /// - Parameters:
    ///   - filter: The filter predicted to the fix's time; nil at the start.
    ///   - wheelSpeed: Wheel speed at that time, m/s; nil when unknown.
    ///   - isCompared: Whether another receiver also has positions.
    ///   - isApproved: Whether the caller has approved the fix, so that it is rejected only if it contains no information.
    mutating func qualify(
        _ fix: Fix, expected filter: MotionFilter?, sigma: Double, wheelSpeed: Double?, isCompared: Bool = false,
        isApproved: Bool = false
    ) -> FixVerdict {
        if let rejection = Self.void(fix) ?? (isApproved ? nil : defect(of: fix, sigma: sigma)) {
            return .rejected(rejection)
        }
        let isClockSet: Bool
        switch order(of: fix) {
        case .success(let set): isClockSet = set
        case .failure(let rejection): return .rejected(rejection)
        }
        if isClockSet {
            latency = nil
            accept(fix)
            return .acceptedAfterClockSet
        }
        let stuck = stuckDistance(at: fix, wheelSpeed: wheelSpeed)
        if stuck > limits.frozenDistance {
            stuckDistance = stuck
            stuckStamp = fix.stamp
            return .rejected(FixRejection(reason: .frozen, value: stuck, limit: limits.frozenDistance))
        }
        // A vehicle on a ferry or a truck moves although its wheels are stationary.
        let driven = wheelSpeed.map(abs).flatMap { $0 >= limits.frozenSpeed ? $0 : nil }
        let patience =
            driven != nil
            ? limits.drivenConfirmation
            : isCompared ? limits.comparedConfirmation : limits.jumpConfirmation
        switch leap(to: fix, filter, sigma: sigma, driven: driven, patience: patience) {
        case .none: break
        case .suspected(let rejection) where !isApproved: return .rejected(rejection)
        case .suspected, .confirmed:
            accept(fix)
            return .acceptedAfterJump
        }
        accept(fix, stuck: stuck)
        return .accepted
    }

    /// Whether a fix has no defect of its own, apart from its time and place.
    func isSound(_ fix: Fix, sigma: Double) -> Bool { Self.void(fix) == nil && defect(of: fix, sigma: sigma) == nil }

    private mutating func accept(_ fix: Fix, stuck: Double = 0) {
        last = fix
        late = Sign()
        early = Sign()
        suspect = nil
        stuckDistance = stuck
        stuckStamp = Timestamp(nanoseconds: .min)
        guard let received = fix.received else { return }
        let delay = received.seconds(since: fix.stamp)
        latency = latency.map { $0 + (delay - $0) * 0.1 } ?? delay
        if let latency, abs(latency - delay) > limits.maximumAge { self.latency = delay }
    }

    /// Returns the reason why a fix contains no information; nil when it does.
    static func void(_ fix: Fix) -> FixRejection? {
        guard fix.type.hasPosition else { return FixRejection(reason: .fixType) }
        guard fix.coordinate.isValid else { return FixRejection(reason: .invalid) }
        // Receivers without a solution sometimes report 0, 0.
        if fix.coordinate.latitude == 0, fix.coordinate.longitude == 0 { return FixRejection(reason: .invalid) }
        return nil
    }

    private func defect(of fix: Fix, sigma: Double) -> FixRejection? {
        if fix.spoofing == .certain { return FixRejection(reason: .spoofing) }
        if fix.jamming == .certain { return FixRejection(reason: .jamming) }
        if fix.integrity == .certain { return FixRejection(reason: .integrity) }
        guard fix.type.isAtLeast(limits.minimumType) else { return FixRejection(reason: .fixType) }
        let stated = fix.horizontalSigma.flatMap { $0 > 0 ? $0 : nil }
        // An accuracy derived from HDOP is only an estimate, so the stricter limit at the start does not apply.
        let limit = isStarted || stated == nil ? limits.maximumAccuracy : limits.startMaximumAccuracy
        let accuracy = stated ?? sigma
        if accuracy > limit {
            return FixRejection(
                reason: isStarted ? .accuracy : .startAccuracy, value: accuracy.isFinite ? accuracy : nil, limit: limit)
        }
        if let speed = fix.speed, speed.isFinite, speed > limits.maximumSpeed * 1.5 {
            return FixRejection(reason: .speed, value: speed, limit: limits.maximumSpeed * 1.5)
        }
        return nil
    }

    // MARK: Time

    /// Returns whether the clock was set, or the reason why the fix's time is wrong.
    private mutating func order(of fix: Fix) -> Result<Bool, FixRejection> {
        guard let last else { return .success(false) }
        if fix.stamp == last.stamp { return .failure(FixRejection(reason: .duplicate)) }
        if fix.stamp < last.stamp {
            // A delayed fix is an isolated event; a receiver whose clock was set back continues from the new time.
            if isClockSet(byLate: fix) { return .success(true) }
            return .failure(FixRejection(reason: .outOfOrder, value: last.stamp.seconds(since: fix.stamp), limit: 0))
        }
        if let lead = fix.lead, lead > limits.maximumLead {
            if isClockSet(byEarly: fix) { return .success(true) }
            return .failure(FixRejection(reason: .future, value: lead, limit: limits.maximumLead))
        }
        // The fix is on time by the host's monotonic clock, so the wall clock of its arrival stamp was set.
        if let lead = fix.lead, (-1...limits.maximumFuture).contains(lead) { return .success(false) }
        guard let received = fix.received, let latency else { return .success(false) }
        let delay = received.seconds(since: fix.stamp) - latency
        if delay > limits.maximumAge {
            if isClockSet(byLate: fix) { return .success(true) }
            return .failure(FixRejection(reason: .stale, value: delay, limit: limits.maximumAge))
        }
        if -delay > limits.maximumFuture {
            if isClockSet(byEarly: fix) { return .success(true) }
            return .failure(FixRejection(reason: .future, value: -delay, limit: limits.maximumFuture))
        }
        return .success(false)
    }

    /// Whether a late fix confirms that the receiver's clock was set back, or the host's ahead.
    ///
    /// Fixes queued during a stall of a process or network are late too, but arrive all at once.
    private mutating func isClockSet(byLate fix: Fix) -> Bool {
        late.add(fix)
        guard late.count >= limits.clockSetFixes else { return false }
        guard let first = late.first, let before = first.received, let received = fix.received else { return true }
        return received.seconds(since: before) >= fix.stamp.seconds(since: first.stamp) / 2
    }

    /// Whether an early fix confirms that the receiver's clock was set ahead, or the host's back.
    private mutating func isClockSet(byEarly fix: Fix) -> Bool {
        early.add(fix)
        return early.count >= limits.clockSetFixes
    }

    // MARK: Place

    /// Returns the metres that the vehicle must have driven since its position last changed; 0 if it has just changed.
    private func stuckDistance(at fix: Fix, wheelSpeed: Double?) -> Double {
        guard let last, fix.coordinate == last.coordinate else { return 0 }
        let speed = wheelSpeed.map(abs) ?? fix.usableSpeed ?? 0
        guard speed >= limits.frozenSpeed else { return 0 }
        return stuckDistance + speed * max(fix.stamp.seconds(since: max(last.stamp, stuckStamp)), 0)
    }

    private enum Jump {
        case none
        case suspected(FixRejection)
        case confirmed
    }

    /// Checks whether the fix is at a place that no vehicle, or not this vehicle, can have reached.
    ///
    /// - Parameters:
    ///   - driven: Wheel speed of a moving vehicle, m/s; nil when the wheels are stationary or their speed is unknown.
    ///   - patience: The time that fixes must stay at an unreachable place to be accepted, seconds.
    private mutating func leap(
        to fix: Fix, _ filter: MotionFilter?, sigma: Double, driven: Double?, patience: Double
    ) -> Jump {
        guard let last, let filter else { return .none }
        let seconds = fix.stamp.seconds(since: last.stamp)
        let straight = Geodesy.distance(last.coordinate, fix.coordinate)
        let errors = 8 * sigma + 10
        let reach = limits.maximumSpeed * seconds + errors
        let expected = filter.expectedError(of: fix)
        // Between fixes that are seconds apart, a vehicle starts, brakes and turns, but the filter without wheel speed assumes constant
        // speed and course.
        let gap = driven == nil ? max(0, seconds - 1) : 0
        let slack =
            max(limits.jumpDistance, limits.jumpDeviations * expected.variance.squareRoot())
            + limits.gapAcceleration * gap * gap / 2
        guard straight > reach || expected.distance > slack else { return .none }
        let rejection = FixRejection(
            reason: .jump, value: min(straight > reach ? straight : expected.distance, 1e8),
            limit: straight > reach ? reach : slack)
        guard let suspect, agrees(fix, with: suspect.last, sigma: sigma) else {
            self.suspect = Suspect(since: fix.stamp, last: fix)
            return .suspected(rejection)
        }
        let speed = driven.map { min(1.5 * $0 + 10, limits.maximumSpeed) } ?? limits.maximumSpeed
        let needed = straight > speed * seconds + errors ? patience : limits.slideConfirmation
        self.suspect?.last = fix
        return fix.stamp.seconds(since: suspect.since) >= needed ? .confirmed : .suspected(rejection)
    }

    private func agrees(_ fix: Fix, with other: Fix, sigma: Double) -> Bool {
        let seconds = fix.stamp.seconds(since: other.stamp)
        guard seconds > 0 else { return false }
        let speed = max(fix.usableSpeed ?? limits.maximumSpeed, other.usableSpeed ?? limits.maximumSpeed)
        return Geodesy.distance(fix.coordinate, other.coordinate) <= 1.5 * speed * seconds + 4 * sigma + 10
    }
}
