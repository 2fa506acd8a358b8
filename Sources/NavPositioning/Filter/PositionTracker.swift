public import NavGeo
public import NavMatching

/// An estimate of a vehicle's place and motion, with its uncertainty.
public struct MotionEstimate: Sendable, Hashable {
    public var stamp: Timestamp
    public var coordinate: Coordinate
    /// Covariance of that, m², with what lasts of the receiver's error.
    public var covariance: HorizontalCovariance
    /// Metres per second along the body, negative backwards.
    public var speed: Double
    /// Standard deviation of the speed, m/s.
    public var speedSigma: Double
    /// Direction of the body, radians clockwise from north; nil when unknown.
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

    /// A fix as the filter sees it, for the matcher: at the estimated place, and no better than the receiver says of itself, because what lasts
    /// of its error lasts in the estimate, too.
    ///
    /// A fix without a speed stays as it is: between two sparse positions the filter knows less than the roads.
    public func refined(_ fix: Fix) -> Fix {
        guard fix.usableSpeed != nil else { return fix }
        var fix = fix
        fix.coordinate = coordinate
        if let stated = fix.horizontalSigma, stated > 0 { fix.horizontalSigma = max(stated, covariance.perAxis) }
        return fix
    }
}

/// The position of a vehicle from fixes and odometry: qualifies, filters, and predicts where there is nothing to filter.
///
/// Fixes arrive after the time they are of, and odometry arrives at once. So there are two filters: one at the time of the last fix, and one
/// that has gone on from there with the odometry since. A fix moves the first one, and the second starts from it again.
///
/// The same inputs give the same answers; work per fix and per report of odometry is bounded and allocates nothing.
public struct PositionTracker: Sendable {
    /// The filter's model.
    public let config: MotionConfig
    /// The limits that a fix must keep to count.
    public var limits: FixLimits {
        get { qualifier.limits }
        set { qualifier.limits = newValue }
    }

    private var qualifier: FixQualifier
    private var selector = ReceiverSelector()
    /// At the time of the last fix, of odometry that is too old to keep, or of the last place that was reckoned on a road.
    private var base: MotionFilter?
    /// The same without what was reckoned since, for fixes that are older than that.
    private var measured: MotionFilter?
    /// Gone on from there.
    private var present: MotionFilter?
    /// Beside the first one, with what the road tells; nil while none is sure.
    private var onRoad: MotionFilter?
    private var reports = OdometryBuffer()
    private var regulator = StampRegulator()
    private var monitor = SignalMonitor()
    /// The moment of the last fix that counted; nil before the first.
    private var counted: Timestamp?
    /// Whether wheels, or a fix that was rejected, were heard since.
    private var isHeard = false
    /// Whether the last fix that counted ended a silence: nothing measured the way for ``silence``, and no bad fixes came of which it could be
    /// one more. Then it says more than the prediction, whose road may have been another one.
    public private(set) var endsSilence = false
    /// Whether no fix of the receiver in use has counted yet, after another one's.
    private var isNewReceiver = false
    /// At the time of the last fix that counted.
    private var answer: MotionEstimate?

    public init(config: MotionConfig = MotionConfig(), limits: FixLimits = FixLimits()) {
        self.config = config
        qualifier = FixQualifier(limits)
    }

    // MARK: Questions

    /// At the time of the last fix that counted; nil before the first.
    public var estimate: MotionEstimate? { answer }
    /// The same with what the road tells, see ``constrain(_:)``; nil while no road is sure.
    public var roadEstimate: MotionEstimate? {
        guard var filter = onRoad, let stamp = answer?.stamp else { return nil }
        filter.advance(to: stamp, reports)
        return MotionEstimate(filter)
    }
    /// At the time of the newest odometry or fix.
    public var newest: MotionEstimate? { present.map { MotionEstimate($0) } }
    /// The factor of the noise of the receiver's positions, as its own innovations ask for.
    public var inflation: Double { base?.inflation ?? 1 }
    /// The odometer's error as a share and its standard deviation; nil before the first fix.
    public var odometerScale: (mean: Double, sigma: Double)? { base?.scale }
    /// Returns the lead of the newest odometry over a moment, seconds; nil without any that is ahead.
    func odometryLead(of stamp: Timestamp) -> Double? {
        reports.newest.map { $0.seconds(since: stamp) }.flatMap { $0 > 0 ? $0 : nil }
    }
    /// Usual time between a fix's time and its arrival, seconds; nil when the fixes do not tell.
    public var usualLatency: Double? { qualifier.usualLatency }
    public var receiver: UInt8? { selector.active }
    /// The change of the receiver in use by the last fix; nil when there was none.
    public var receiverChange: ReceiverChange? { selector.change }
    /// The signals that contradict the positions for so long that they are left out.
    public var distrusted: MotionSignals { monitor.distrusted }
    /// Whether wheel speed is known at a moment.
    public func hasWheelSpeed(at stamp: Timestamp) -> Bool { reports.wheelSpeed(at: stamp) != nil }

    /// Whether the vehicle's rate of turn is known at a moment.
    public func hasTurnRate(at stamp: Timestamp) -> Bool { reports.hasTurnRate(at: stamp) }

    /// The position predicted for a moment, which is not before the newest input; nil before the first fix.
    public func prediction(at stamp: Timestamp) -> MotionEstimate? {
        guard var filter = present else { return nil }
        filter.predict(to: stamp)
        return MotionEstimate(filter)
    }

    // MARK: Inputs

    /// Takes in a fix.
    ///
    /// - Parameters:
    ///   - isApproved: whether the owner decided that it counts: then accuracy, speed, place and the receiver's own doubts are no reason to
    ///     reject it.
    ///   - isInTunnel: whether positions are predicted in a tunnel of the map, where the road is known and the first fixes behind it are bad.
    public mutating func take(_ fix: Fix, isApproved: Bool = false, isInTunnel: Bool = false) -> FixVerdict {
        guard selector.choose(fix, sigma: config.sigma(of: fix), limits) else { return .standby }
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
        let verdict = qualifier.judge(
            fix, expected: expected, sigma: config.sigma(of: fix), wheelSpeed: reports.wheelSpeed(at: fix.stamp),
            isCompared: selector.hasOther(at: fix.stamp), isApproved: isApproved)
        if verdict.isAccepted {
            selector.noteCounted(fix)
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
            // A prediction that was so wrong says nothing: the filter would come back over several fixes.
            if isReckoned, isAfterSilence || filter.expectedError(of: fix).distance > Reckoning.blendReach {
                filter = MotionFilter(fix, config: config)
            }
            filter.update(fix)
            // Numbers that are none any more are not to last.
            base = filter.isFinite ? filter : MotionFilter(fix, config: config)
            onRoad?.advance(to: valid, reports)
            if isNewReceiver { onRoad?.noteReceiver() }
            onRoad?.update(fix)
            if onRoad?.isFinite == false { onRoad = nil }
        }
        isNewReceiver = false
        reports.drop(through: valid)
        goOn(to: fix.stamp)
        return verdict
    }

    /// Forgets the errors of the receiver before, which tell nothing of this one's.
    private mutating func noteReceiver() {
        isNewReceiver = true
        monitor = SignalMonitor()
    }

    /// Compares what tells of the motion with the positions. Once a signal is found to be wrong, what was made of it is forgotten.
    private mutating func observe(_ fix: Fix) {
        guard fix.isUsable else { return }
        let before = monitor.distrusted
        monitor.note(fix, sigma: config.sigma(of: fix), reports)
        reports.distrusted = monitor.distrusted
        guard !monitor.distrusted.subtracting(before).isEmpty else { return }
        (base, measured, onRoad) = (nil, nil, nil)
    }

    /// A fix without what contradicts the positions.
    public func trusted(_ fix: Fix) -> Fix {
        var fix = fix
        if distrusted.contains(.receiverSpeed) { fix.speed = nil }
        if distrusted.contains(.receiverCourse) { fix.course = nil }
        return fix
    }

    /// Takes in odometry; one without usable numbers, or older than the one before, changes nothing.
    public mutating func take(_ odometry: Odometry) {
        guard let odometry = odometry.usable else { return }
        if let trusted = reports.trusted(odometry), trusted.speed != nil || trusted.standsStill {
            isHeard = true
        }
        if let dropped = reports.append(odometry), let dropped = reports.trusted(dropped) {
            base?.goOn(dropped)
            measured?.goOn(dropped)
            onRoad?.goOn(dropped)
        }
        guard let present, odometry.stamp > present.stamp, let odometry = reports.trusted(odometry) else { return }
        self.present?.update(odometry)
    }

    /// Takes in that the vehicle is on a road, at the time of the last fix.
    ///
    /// What the road tells is kept in a filter of its own, ``roadEstimate``. ``estimate`` goes on without it: the matcher finds the road by that
    /// one, so that a road that is wrong does not confirm itself.
    public mutating func constrain(_ constraint: RoadConstraint) {
        if onRoad == nil { onRoad = base }
        onRoad?.constrain(constraint)
        if onRoad?.isFinite == false { onRoad = nil }
    }

    /// Forgets what roads told: it is not sure any more which one it is.
    public mutating func release() { onRoad = nil }

    /// Puts the vehicle where it was reckoned to be on the road, at the time of the newest input. A fix of a later moment is expected from there;
    /// one of an earlier moment, from where fixes come late, from the last fix.
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

    /// Forgets everything but the thresholds.
    public mutating func reset() { self = PositionTracker(config: config, limits: limits) }

    /// The time without a measured distance after which the first accepted fix outweighs the prediction, seconds.
    private static let silence = 20.0

    private mutating func goOn(to stamp: Timestamp?) {
        present = base
        if let stamp { present?.advance(to: stamp, reports) }
        answer = present.map { MotionEstimate($0) }
        if let last = reports.newest { present?.advance(to: last, reports) }
    }
}

extension MotionFilter {
    /// Moves on to a moment, with the odometry on the way.
    mutating func advance(to stamp: Timestamp, _ reports: OdometryBuffer) {
        var index = 0
        while index < reports.count, reports[index].stamp <= stamp {
            if let report = reports.trusted(reports[index]) { goOn(report) }
            index += 1
        }
        predict(to: stamp)
    }

    /// Goes on with odometry that it does not know yet.
    mutating func goOn(_ odometry: Odometry) {
        if odometry.stamp > stamp { update(odometry) }
    }
}

/// The odometry since the last fix, oldest first, bounded.
struct OdometryBuffer: Sendable {
    /// 2.5 s at 100 Hz, so that a fix may be as late.
    static let capacity = 256
    /// Longest time over which a speed of the wheels is carried on, seconds.
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

    /// Adds a report; one that is not later than the newest is left out. What no longer fits is returned.
    mutating func append(_ odometry: Odometry) -> Odometry? {
        if let last, odometry.stamp <= last.stamp {
            // A clock that was set begins anew.
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

    /// A report without what contradicts the positions; nil when nothing is left.
    func trusted(_ odometry: Odometry) -> Odometry? {
        guard !distrusted.isEmpty else { return odometry }
        var odometry = odometry
        if distrusted.contains(.wheels) { (odometry.speed, odometry.standsStill) = (nil, false) }
        if distrusted.contains(.turnRate) { odometry.turnRate = nil }
        return odometry.speed == nil && odometry.turnRate == nil && !odometry.standsStill ? nil : odometry
    }

    /// Forgets what is not later than a moment.
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

    /// Whether the rate of turn is known at about a moment.
    func hasTurnRate(at stamp: Timestamp) -> Bool {
        guard let last, last.turnRate != nil, !distrusted.contains(.turnRate) else { return false }
        return abs(stamp.seconds(since: last.stamp)) < OdometryBuffer.validity
    }

    /// Speed of the wheels at about a moment, m/s.
    func wheelSpeed(at stamp: Timestamp) -> Double? {
        guard let last, !distrusted.contains(.wheels), abs(stamp.seconds(since: last.stamp)) < OdometryBuffer.validity
        else { return nil }
        return last.standsStill ? 0 : last.speed
    }
}
