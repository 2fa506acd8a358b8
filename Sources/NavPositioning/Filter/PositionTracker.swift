public import NavGeo
public import NavMatching

/// An estimate of a vehicle's position and motion, with its uncertainty.
public struct MotionEstimate: Sendable, Hashable {
    public var stamp: Timestamp
    public var coordinate: Coordinate
    /// Covariance of the position, m², including the receiver's lasting error.
    public var covariance: HorizontalCovariance
    /// Speed along the vehicle's longitudinal axis, m/s; negative backwards.
    public var speed: Double
    /// Standard deviation of the speed, m/s.
    public var speedSigma: Double
    /// Direction of the vehicle's longitudinal axis, radians clockwise from north; nil when unknown.
    public var course: Double?
    /// Standard deviation of the course, radians.
    public var courseSigma: Double
    /// Metres driven since the first fix.
    public var travelled: Double

    init(_ filter: MotionFilter) {
        stamp = filter.stamp
        coordinate = filter.coordinate
        covariance = filter.covariance
        speed = filter.speed
        speedSigma = filter.speedSigma
        course = filter.isOriented ? filter.course : nil
        courseSigma = filter.courseSigma
        travelled = filter.travelled
    }

    /// Returns a fix at the estimated position for the matcher, no more accurate than the receiver states: the
    /// receiver's lasting error remains in the estimate.
    ///
    /// A fix without a speed is returned unchanged: between two sparse positions, the roads are more informative than the filter.
    public func refined(_ fix: Fix) -> Fix {
        guard fix.usableSpeed != nil else { return fix }
        var fix = fix
        fix.coordinate = coordinate
        if let stated = fix.horizontalSigma, stated > 0 { fix.horizontalSigma = max(stated, covariance.perAxis) }
        return fix
    }
}

/// The part of a ``PositionTracker``'s state that ``Reckoning`` uses at an accepted fix.
public struct TrackerReading: Sendable {
    /// The estimate at the time of the fix.
    var estimate: MotionEstimate?
    /// Seconds by which the newest odometry is ahead of the fix; nil when it is not ahead.
    var odometryLead: Double?
    /// See ``PositionTracker/endsSilence``.
    var endsSilence: Bool
    /// See ``MotionConfig/expectedSpeedTime``.
    var expectedSpeedTime: Double
}

/// A tracker of the vehicle's position that qualifies fixes, filters them with odometry, and predicts between them.
///
/// Fixes arrive late and odometry immediately, so there are two filters. One is at the time of the last fix; the other
/// is advanced from there with the odometry since. A fix updates the first, and the second restarts from it.
///
/// The same inputs give the same results. Work per input is bounded, and nothing is allocated.
public struct PositionTracker: Sendable {
    /// The filter's model.
    public let config: MotionConfig
    /// The limits that a fix must meet to be accepted.
    public var limits: FixLimits {
        get { qualifier.limits }
        set { qualifier.limits = newValue }
    }

    private var qualifier: FixQualifier
    private var selector = ReceiverSelector()
    /// The filter at the time of the last fix, of odometry that left the buffer, or of the last dead-reckoned place.
    private var base: MotionFilter?
    /// The same filter without dead reckoning, for fixes that are older than the dead-reckoned place.
    private var measured: MotionFilter?
    /// The filter advanced from `base` with the odometry received since.
    private var present: MotionFilter?
    /// A filter alongside `base` that also includes the road; nil while no road is certain.
    private var onRoad: MotionFilter?
    private var reports = OdometryBuffer()
    private var regulator = StampRegulator()
    private var monitor = SignalMonitor()
    private var turnCheck = TurnCheck()
    /// Until when the turn rate is ignored because a run of fixes contradicted it; nil while it is used.
    private var turnDoubtEnd: Timestamp?
    /// The time of the last accepted fix; nil before the first.
    private var counted: Timestamp?
    /// Whether wheel speed or a rejected fix has arrived since the last accepted fix.
    private var isHeard = false
    /// Whether the last accepted fix ended a silence: for ``silence`` seconds no distance was measured and no bad fix arrived.
    ///
    /// Such a fix outweighs the prediction, which may have followed the wrong road.
    public private(set) var endsSilence = false
    /// Whether the receiver in use has just changed and has no accepted fix yet.
    private var isNewReceiver = false
    /// The estimate at the time of the last accepted fix.
    private var answer: MotionEstimate?

    public init(config: MotionConfig = MotionConfig(), limits: FixLimits = FixLimits()) {
        self.config = config
        qualifier = FixQualifier(limits)
    }

    // MARK: Estimates

    /// The estimate at the time of the last accepted fix; nil before the first.
    public var estimate: MotionEstimate? { answer }
    /// The same estimate including the road, see ``constrain(_:)``; nil while no road is certain.
    public var roadEstimate: MotionEstimate? {
        guard var filter = onRoad, let stamp = answer?.stamp else { return nil }
        filter.advance(to: stamp, reports)
        return MotionEstimate(filter)
    }
    /// The estimate at the time of the newest odometry or fix.
    public var newest: MotionEstimate? { present.map { MotionEstimate($0) } }
    /// The factor on the noise of the receiver's positions, estimated from innovations.
    public var inflation: Double { base?.inflation ?? 1 }
    /// The relative error of the odometer and its standard deviation; nil before the first fix.
    public var odometerScale: (mean: Double, sigma: Double)? { base?.scale }
    /// Returns the state that dead reckoning uses at an accepted fix.
    ///
    /// Inlined, because a call would copy the whole tracker.
    @inline(__always)
    public func reading(at stamp: Timestamp) -> TrackerReading {
        let lead = reports.newest.map { $0.seconds(since: stamp) }
        return TrackerReading(
            estimate: answer, odometryLead: lead.flatMap { $0 > 0 ? $0 : nil }, endsSilence: endsSilence,
            expectedSpeedTime: config.expectedSpeedTime)
    }
    /// Usual time between a fix's stamp and its arrival, seconds; nil when unknown.
    public var usualLatency: Double? { qualifier.usualLatency }
    public var receiver: UInt8? { selector.active }
    /// The change of the receiver in use by the last fix; nil without a change.
    public var receiverChange: ReceiverChange? { selector.change }
    /// The signals that are ignored because they have contradicted the positions for too long.
    public var distrusted: MotionSignals {
        turnDoubtEnd == nil ? monitor.distrusted : monitor.distrusted.union(.turnRate)
    }
    /// Whether wheel speed is known at a moment.
    public func hasWheelSpeed(at stamp: Timestamp) -> Bool { reports.wheelSpeed(at: stamp) != nil }

    /// Whether the vehicle's turn rate is known at a moment.
    public func hasTurnRate(at stamp: Timestamp) -> Bool { reports.hasTurnRate(at: stamp) }

    /// Returns the predicted state at a moment that is not before the newest input; nil before the first fix.
    public func prediction(at stamp: Timestamp) -> MotionEstimate? {
        guard var filter = present else { return nil }
        filter.predict(to: stamp)
        return MotionEstimate(filter)
    }

    // MARK: Inputs

    /// Processes a fix.
    ///
    /// - Parameters:
    ///   - isApproved: Whether the caller has approved the fix. It is then not rejected for accuracy, speed, place or
    ///     the receiver's alarms.
    ///   - isInTunnel: Whether a mapped tunnel is being predicted. The road is known there, and the first fixes after
    ///     it are poor.
    ///   - isPredicted: Whether positions have been predicted since the last accepted fix, with or without a road.
    public mutating func take(
        _ fix: Fix, isApproved: Bool = false, isInTunnel: Bool = false, isPredicted: Bool = false
    ) -> FixVerdict {
        guard selector.choose(fix, sigma: config.sigma(of: fix), limits) else {
            // A receiver without a solution is on standby, but a solution without a position is an error of the publisher.
            guard let void = FixQualifier.void(fix), void.reason == .invalid else { return .standby }
            return .rejected(void)
        }
        if selector.change != nil { noteReceiver() }
        observe(fix)
        let fix = trusted(fix)
        var updatedRegulator = regulator
        let valid = updatedRegulator.validity(of: fix.stamp)
        let isReckoned = measured != nil
        let isAfterSilence =
            !isHeard && !isInTunnel && (counted.map { valid.seconds(since: $0) } ?? 0) >= PositionTracker.silence
        var expected = base
        if let here = base, let measured, valid < here.stamp { expected = measured }
        expected?.advance(to: valid, reports)
        let isTurnWrong = !isReckoned && expected.map { contradictsTurnRate(fix, $0) } ?? false
        if isTurnWrong { expected?.reorient(by: fix) }
        let verdict = qualifier.qualify(
            fix, expected: expected, sigma: config.sigma(of: fix), wheelSpeed: reports.wheelSpeed(at: fix.stamp),
            isCompared: selector.hasOther(at: fix.stamp), isApproved: isApproved)
        if verdict.isAccepted {
            if verdict == .acceptedAfterClockSet { selector.noteClockSet(to: fix.stamp) }
            selector.noteCounted(fix)
            if isTurnWrong { doubtTurnRate(at: fix.stamp) }
            measured = nil
            counted = valid
            isHeard = false
            endsSilence = isAfterSilence
        }
        switch verdict {
        case .rejected(let rejection):
            if rejection.reason.isOfThePresent { isHeard = true }
            return verdict
        case .standby: return verdict
        case .acceptedAfterClockSet:
            reports.removeAll()
            regulator = StampRegulator()
            onRoad = nil
            base = MotionFilter(fix, config: config)
        case .acceptedAfterJump:
            onRoad = nil
            base = MotionFilter(fix, config: config)
        case .accepted:
            regulator = updatedRegulator
            guard var filter = expected else {
                base = MotionFilter(fix, config: config)
                break
            }
            if isNewReceiver { filter.noteReceiver() }
            // A prediction over a long silence, or with such a large error, carries no information, and blending with it would delay
            // recovery by several fixes.
            if isAfterSilence && (isReckoned || isPredicted)
                || isReckoned && filter.expectedError(of: fix).distance > Reckoning.blendReach
            {
                filter = MotionFilter(fix, config: config)
                onRoad = nil
            }
            filter.update(fix)
            // Restarts the filter if its numbers are no longer finite.
            base = filter.isFinite ? filter : MotionFilter(fix, config: config)
            onRoad?.advance(to: valid, reports)
            if isNewReceiver { onRoad?.noteReceiver() }
            onRoad?.update(fix)
            if onRoad?.isFinite == false { onRoad = nil }
        }
        isNewReceiver = false
        reports.drop(through: valid)
        proceed(to: fix.stamp)
        return verdict
    }

    /// Whether a fix completes a run that shows the turn rate to be wrong.
    private mutating func contradictsTurnRate(_ fix: Fix, _ predicted: MotionFilter) -> Bool {
        guard qualifier.isSound(fix, sigma: config.sigma(of: fix)), predicted.stamp <= fix.stamp,
            reports.hasTurnRate(at: fix.stamp)
        else {
            turnCheck = TurnCheck()
            return false
        }
        let isWrong = turnCheck.isWrong(fix, predicted: predicted)
        if isWrong { turnCheck = TurnCheck() }
        return isWrong
    }

    /// Ignores the turn rate for a while.
    private mutating func doubtTurnRate(at stamp: Timestamp) {
        turnDoubtEnd = stamp.advanced(bySeconds: PositionTracker.turnDoubt)
        reports.distrusted = distrusted
        onRoad = nil
    }

    /// Ends the doubt about the turn rate in time, or after the clock was set back.
    private mutating func endTurnDoubt(at stamp: Timestamp) {
        // Inputs may be a little older than the fix that raised the doubt.
        guard let end = turnDoubtEnd, !(0...2 * PositionTracker.turnDoubt).contains(end.seconds(since: stamp)) else {
            return
        }
        turnDoubtEnd = nil
        reports.distrusted = distrusted
    }

    /// Discards the errors of the previous receiver, which do not apply to this one.
    private mutating func noteReceiver() {
        isNewReceiver = true
        monitor = SignalMonitor()
        turnCheck = TurnCheck()
    }

    /// Compares motion signals with the positions; once a signal is found wrong, the filters that used it are discarded.
    private mutating func observe(_ fix: Fix) {
        guard fix.isUsable else { return }
        endTurnDoubt(at: fix.stamp)
        let before = monitor.distrusted
        monitor.note(fix, sigma: config.sigma(of: fix), reports)
        reports.distrusted = distrusted
        guard !monitor.distrusted.subtracting(before).isEmpty else { return }
        (base, measured, onRoad) = (nil, nil, nil)
    }

    /// Returns a fix without the signals that contradict the positions or are placeholders.
    ///
    /// Inlined, because a call would copy the whole tracker.
    @inline(__always)
    public func trusted(_ fix: Fix) -> Fix {
        var fix = fix
        if distrusted.contains(.receiverSpeed) { fix.speed = nil }
        if distrusted.contains(.receiverCourse) || !monitor.hasCourse { fix.course = nil }
        return fix
    }

    /// Processes odometry; a report without usable numbers, or older than the previous one, is ignored.
    public mutating func take(_ odometry: Odometry) {
        guard let odometry = odometry.usable else { return }
        endTurnDoubt(at: odometry.stamp)
        if let trusted = reports.trusted(odometry), trusted.speed != nil || trusted.isStationary {
            isHeard = true
        }
        if let dropped = reports.append(odometry), let dropped = reports.trusted(dropped) {
            base?.proceed(dropped)
            measured?.proceed(dropped)
            onRoad?.proceed(dropped)
        }
        guard let present, odometry.stamp > present.stamp, let odometry = reports.trusted(odometry) else { return }
        self.present?.update(odometry)
    }

    /// Applies the constraint that the vehicle is on a road, at the time of the last fix.
    ///
    /// The road goes into a separate filter, ``roadEstimate``. ``estimate`` excludes it, because the matcher finds the
    /// road from that estimate and a wrong road must not confirm itself.
    public mutating func constrain(_ constraint: RoadConstraint) {
        if onRoad == nil { onRoad = base }
        onRoad?.constrain(constraint)
        if onRoad?.isFinite == false { onRoad = nil }
    }

    /// Discards the contributions of roads, when the road is no longer certain.
    public mutating func release() { onRoad = nil }

    /// Sets the vehicle to a dead-reckoned place on a road, at the time of the newest input.
    ///
    /// Later fixes are compared with the prediction from there. Fixes with earlier stamps, which occur when fixes arrive late, are compared
    /// with the prediction from the last fix.
    mutating func settle(
        _ coordinate: Coordinate, bearing: Double, alongSigma: Double, crossSigma: Double, speed: Double?,
        speedSigma: Double, at stamp: Timestamp
    ) {
        guard var filter = present else { return }
        filter.predict(to: stamp)
        filter.settle(coordinate, bearing: bearing, alongSigma: alongSigma, crossSigma: crossSigma)
        if let speed { filter.expect(speed: speed, sigma: speedSigma) }
        measured = measured ?? base
        present = filter
        base = filter
        onRoad = nil
    }

    /// Resets everything but the configuration and limits.
    public mutating func reset() { self = PositionTracker(config: config, limits: limits) }

    /// The time without a measured distance after which the first accepted fix outweighs the prediction, seconds.
    private static let silence = 20.0
    /// The time for which a contradicted turn rate is ignored, seconds: longer than a turn and the delay of its measurement.
    private static let turnDoubt = 10.0

    private mutating func proceed(to stamp: Timestamp?) {
        present = base
        if let stamp { present?.advance(to: stamp, reports) }
        answer = present.map { MotionEstimate($0) }
        if let last = reports.newest { present?.advance(to: last, reports) }
    }
}

extension MotionFilter {
    /// Advances to a moment with the odometry up to it.
    mutating func advance(to stamp: Timestamp, _ reports: OdometryBuffer) {
        var index = 0
        while index < reports.count, reports[index].stamp <= stamp {
            if let report = reports.trusted(reports[index]) { proceed(report) }
            index += 1
        }
        predict(to: stamp)
    }

    /// Updates with odometry that is newer than the state.
    mutating func proceed(_ odometry: Odometry) {
        if odometry.stamp > stamp { update(odometry) }
    }
}

/// A bounded buffer of the odometry since the last fix, oldest first.
struct OdometryBuffer: Sendable {
    /// 2.5 s at 100 Hz, so that a fix may be that late.
    static let capacity = 256
    /// The longest time for which a wheel speed is carried forward, seconds.
    static let validity = 0.5

    private var ring: ContiguousArray<Odometry>
    private var first = 0
    private(set) var count = 0
    private var last: Odometry?
    var distrusted: MotionSignals = []

    init() {
        ring = ContiguousArray(
            repeating: Odometry(stamp: Timestamp(nanoseconds: 0)), count: OdometryBuffer.capacity)
    }

    subscript(index: Int) -> Odometry { ring[(first + index) % OdometryBuffer.capacity] }

    var newest: Timestamp? { count > 0 ? self[count - 1].stamp : nil }

    /// Appends a report and returns the one it displaces; ignores a report that is not newer than the last.
    mutating func append(_ odometry: Odometry) -> Odometry? {
        if let last, odometry.stamp <= last.stamp {
            // The clock was set back: start over.
            guard last.stamp.seconds(since: odometry.stamp) > 10 else { return nil }
            removeAll()
        }
        last = odometry
        var dropped: Odometry?
        if count == OdometryBuffer.capacity {
            dropped = ring[first]
            first = (first + 1) % OdometryBuffer.capacity
            count -= 1
        }
        ring[(first + count) % OdometryBuffer.capacity] = odometry
        count += 1
        return dropped
    }

    /// Returns a report without the signals that contradict the positions; nil when nothing is left.
    func trusted(_ odometry: Odometry) -> Odometry? {
        guard !distrusted.isEmpty else { return odometry }
        var odometry = odometry
        if distrusted.contains(.wheels) { (odometry.speed, odometry.isStationary) = (nil, false) }
        if distrusted.contains(.turnRate) { odometry.turnRate = nil }
        return odometry.speed == nil && odometry.turnRate == nil && !odometry.isStationary ? nil : odometry
    }

    /// Removes reports up to and including a moment.
    mutating func drop(through stamp: Timestamp) {
        while count > 0, ring[first].stamp <= stamp {
            first = (first + 1) % OdometryBuffer.capacity
            count -= 1
        }
    }

    mutating func removeAll() {
        count = 0
        first = 0
        last = nil
    }

    /// Whether the turn rate is known around a moment.
    func hasTurnRate(at stamp: Timestamp) -> Bool {
        guard let last, last.turnRate != nil, !distrusted.contains(.turnRate) else { return false }
        return abs(stamp.seconds(since: last.stamp)) < OdometryBuffer.validity
    }

    /// Returns the wheel speed around a moment, m/s.
    func wheelSpeed(at stamp: Timestamp) -> Double? {
        guard let last, !distrusted.contains(.wheels), abs(stamp.seconds(since: last.stamp)) < OdometryBuffer.validity
        else { return nil }
        return last.isStationary ? 0 : last.speed
    }
}
