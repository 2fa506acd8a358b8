import Glibc
import NavGeo
import NavMatching

/// The motion signals other than positions, which can be permanently wrong: a wrong unit, a wrong sign, a frozen value.
public struct MotionSignals: OptionSet, Sendable, Hashable {
    /// A bit for each signal.
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The receiver's speed over ground.
    public static let receiverSpeed = MotionSignals(rawValue: 1 << 0)
    /// The receiver's course over ground.
    public static let receiverCourse = MotionSignals(rawValue: 1 << 1)
    /// The wheel speed and the wheels' standstill flag.
    public static let wheels = MotionSignals(rawValue: 1 << 2)
    public static let turnRate = MotionSignals(rawValue: 1 << 3)
}

/// A monitor that detects signals whose persistent contradiction of the positions shows them to be wrong.
///
/// The track is cut into legs of some seconds. For each leg, the length and direction between its ends are compared
/// with those of each signal. A reflection makes positions wrong for seconds and in varying directions; a wrong unit
/// makes a speed wrong always and in the same direction. Where two signals agree, both are correct and the positions
/// are wrong.
struct SignalMonitor: Sendable {
    var distrusted: MotionSignals {
        var signals: MotionSignals = speedScaleCheck.evidence.isWrong ? .receiverSpeed : []
        for index in evidence.indices where evidence[index].isWrong {
            signals.insert(MotionSignals(rawValue: 1 << index))
        }
        return signals
    }

    private struct Leg: Sendable {
        var bearing: Double
        var course: Double?
        var turned: Double?
    }

    /// The integral of a rate over time, by the trapezoidal rule.
    private struct Sum: Sendable {
        var value = 0.0
        var seconds = 0.0
        private var last: (stamp: Timestamp, rate: Double)?

        /// Adds the next rate; ignores one that is not newer than the last.
        mutating func add(_ rate: Double, at stamp: Timestamp, longest: Double) {
            if let last {
                let step = stamp.seconds(since: last.stamp)
                guard step > 0 else { return }
                if step <= longest {
                    value += (rate + last.rate) / 2 * step
                    seconds += step
                }
            }
            last = (stamp, rate)
        }

        mutating func begin() { (value, seconds) = (0, 0) }

        /// Returns the integral over a leg; nil when too little of the leg is covered.
        func total(of length: Double) -> Double? { seconds >= SignalMonitor.coverage * length ? value : nil }
    }

    /// The receiver's courses during a leg.
    private struct CourseSum: Sendable {
        private var (east, north, count) = (0.0, 0.0, 0)
        private var first = 0.0
        /// Whether all courses were identical, which never holds for seconds if the receiver measures the course.
        private(set) var isConstant = true

        /// The mean course; nil without two of them.
        var mean: Double? { count > 1 ? atan2(east, north) : nil }

        mutating func add(_ angle: Double) {
            if count == 0 { first = angle }
            isConstant = isConstant && angle == first
            (east, north, count) = (east + sin(angle), north + cos(angle), count + 1)
        }
    }

    private var speedScaleCheck = SpeedScaleCheck()
    private var anchor: (stamp: Timestamp, coordinate: Coordinate, sigma: Double)?
    private var newest: Timestamp?
    private var receiver = Sum()
    private var wheels = Sum()
    /// The signed wheel distance: negative in reverse.
    private var wheelsForwards = Sum()
    private var turn = Sum()
    private var course = CourseSum()
    /// Whether a course other than exactly 0 was seen. Until then the course counts as unknown, because bridges send 0 as a placeholder.
    private(set) var hasCourse = false
    private var before: Leg?
    private var evidence = InlineArray<4, SignalEvidence>(repeating: SignalEvidence())

    /// Shortest and longest duration of a leg, seconds.
    private static let (shortest, longest) = (5.0, 15.0)
    /// Shortest length of a leg, metres and in standard deviations of its ends, so that its direction is known to some 20°.
    private static let (length, deviations) = (15.0, 4.0)
    /// The longest gap between two values that is integrated, seconds: for the receiver and for odometry.
    private static let (receiverGap, odometryGap) = (2.5, 0.5)
    /// Share of a leg's time that a signal must cover.
    private static let coverage = 0.8
    /// The relative differences at which lengths contradict (at least) and agree (at most); errors from bends, scale and timing are
    /// smaller.
    private static let (contradiction, agreement) = (0.25, 0.15)
    /// The same limits for directions, radians: 60° and 30°; below for turns: 45° and 20°.
    private static let (astray, towards) = (Double.pi / 3, Double.pi / 6)
    private static let (mistaken, followed) = (Double.pi / 4, Double.pi / 9)
    /// The numbers of contradicting legs that make a signal wrong: a constant direction, any signal while another agrees with the
    /// positions, a direction, and a speed alone.
    private static let (constant, sided, direction, alone) = (2, 3, 6, 10)
    /// The mean speed of a leg from which driving it in reverse is implausible, m/s.
    private static let fastestReverse = 4.0

    /// Processes a position, accepted or not, with the odometry up to it.
    mutating func note(_ fix: Fix, sigma: Double, _ reports: OdometryBuffer) {
        if let angle = fix.course, angle.isFinite, angle != 0 { hasCourse = true }
        guard newest.map({ fix.stamp > $0 }) ?? true else {
            // Restart after a clock was set back; skip a position that is slightly late.
            if let newest, newest.seconds(since: fix.stamp) > SignalMonitor.longest {
                (receiver, wheels, wheelsForwards, turn) = (Sum(), Sum(), Sum(), Sum())
                begin(fix, sigma)
            }
            return
        }
        newest = fix.stamp
        for index in 0..<reports.count where reports[index].stamp <= fix.stamp { add(reports[index]) }
        if let speed = fix.usableSpeed { receiver.add(speed, at: fix.stamp, longest: SignalMonitor.receiverGap) }
        if hasCourse, let angle = fix.course, angle.isFinite { course.add(angle) }
        guard let anchor else { return begin(fix, sigma) }
        let seconds = fix.stamp.seconds(since: anchor.stamp)
        guard seconds >= SignalMonitor.shortest else { return }
        let spread = (sigma * sigma + anchor.sigma * anchor.sigma).squareRoot()
        let distance = Geodesy.distance(anchor.coordinate, fix.coordinate)
        if distance >= max(SignalMonitor.length, SignalMonitor.deviations * spread) {
            evaluate(distance, Geodesy.bearing(from: anchor.coordinate, to: fix.coordinate), spread: spread, seconds)
            begin(fix, sigma)
        } else if seconds > SignalMonitor.longest {
            before = nil
            begin(fix, sigma)
        }
    }

    private mutating func add(_ report: Odometry) {
        if let speed = report.isStationary ? 0 : report.speed {
            wheels.add(abs(speed), at: report.stamp, longest: SignalMonitor.odometryGap)
            wheelsForwards.add(speed, at: report.stamp, longest: SignalMonitor.odometryGap)
        }
        if let rate = report.turnRate { turn.add(rate, at: report.stamp, longest: SignalMonitor.odometryGap) }
    }

    private mutating func begin(_ fix: Fix, _ sigma: Double) {
        anchor = (fix.stamp, fix.coordinate, sigma)
        newest = fix.stamp
        receiver.begin()
        wheels.begin()
        wheelsForwards.begin()
        turn.begin()
        course = CourseSum()
    }

    private mutating func evaluate(_ distance: Double, _ bearing: Double, spread: Double, _ seconds: Double) {
        let turned = turn.total(of: seconds)
        let heading = course.mean
        var leg: Leg? = Leg(bearing: bearing, course: heading, turned: turned)
        defer { before = leg }
        let bend = before.map { Angle.difference(from: $0.bearing, to: bearing) }
        let isStraight = bend.map { abs($0) < SignalMonitor.towards } ?? false
        let margin = 2 * spread + 5
        /// Returns -1 for too short, 1 for too long, 0 for right and nil for undecided.
        func verdict(_ way: Double?) -> Int? {
            guard let way else { return nil }
            let difference = way - distance
            let most = max(way, distance)
            if abs(difference) <= margin + SignalMonitor.agreement * most { return 0 }
            guard abs(difference) > margin + SignalMonitor.contradiction * most else { return nil }
            // A path is never shorter than the straight line between its ends, but is longer in a bend.
            return difference < 0 ? -1 : isStraight ? 1 : nil
        }
        let (receiverWay, wheelsWay) = (receiver.total(of: seconds), wheels.total(of: seconds))
        let ofReceiver = verdict(receiverWay)
        // No vehicle drives that far so fast in reverse: the gear or the sign is wrong.
        let isBackwards = (wheelsForwards.total(of: seconds) ?? 0) < -SignalMonitor.fastestReverse * seconds
        let ofWheels = isBackwards ? 1 : verdict(wheelsWay)
        // The independently measured course confirms the movement of the positions that the speed contradicts.
        let isSeenByCourse =
            ofReceiver == -1 && !distrusted.contains(.receiverCourse)
            && heading.map { Angle.separation($0, bearing) < SignalMonitor.towards } ?? false
        // Two signals that deviate in the same way are both correct.
        if ofReceiver == 0 || ofReceiver != ofWheels {
            let isSided = ofWheels == 0 || isSeenByCourse
            weigh(.receiverSpeed, ofReceiver, legs: isSided ? SignalMonitor.sided : SignalMonitor.alone)
            weigh(.wheels, ofWheels, legs: ofReceiver == 0 ? SignalMonitor.sided : SignalMonitor.alone)
        }
        if isStraight, ofReceiver ?? 0 == 0 {
            speedScaleCheck.add(distance, spread: spread, ofReceiver: receiverWay, ofWheels: wheelsWay)
        }
        // If positions moved further than the trusted speeds allow, the positions are wrong.
        let isDoubtful =
            ofReceiver == -1 && !distrusted.contains(.receiverSpeed) || ofWheels == -1 && !distrusted.contains(.wheels)
        guard !isDoubtful else { return leg = nil }
        if let heading {
            let separation = Angle.separation(heading, bearing)
            // A constant course that matches by chance proves nothing.
            let isRight =
                separation < SignalMonitor.towards && !(course.isConstant && distrusted.contains(.receiverCourse))
            let found = separation > SignalMonitor.astray ? 1 : isRight ? 0 : nil
            weigh(.receiverCourse, found, legs: course.isConstant ? SignalMonitor.constant : SignalMonitor.direction)
        }
        if let bend, let first = before?.turned, let turned {
            let rate = (first + turned) / 2
            let miss = abs(bend - rate)
            let found =
                min(miss, abs(2 * .pi - miss)) > SignalMonitor.mistaken ? 1 : miss < SignalMonitor.followed ? 0 : nil
            // Position errors can look like a turn, turn rates cannot. A rate that reports no turn is judged only where the receiver's
            // course, an independent measurement, turned with the positions.
            var isSeen = abs(rate) > SignalMonitor.towards
            if !isSeen, abs(bend) > SignalMonitor.mistaken, let from = before?.course, let heading {
                isSeen =
                    !distrusted.contains(.receiverCourse)
                    && Angle.separation(Angle.difference(from: from, to: heading), bend) < SignalMonitor.followed
            }
            weigh(.turnRate, isSeen ? found : nil, legs: SignalMonitor.sided)
        }
    }

    /// - Parameters:
    ///   - found: The direction in which the signal is wrong; 0 for right, nil for undecided.
    ///   - legs: The number of agreeing legs that make it wrong.
    private mutating func weigh(_ signal: MotionSignals, _ found: Int?, legs: Int) {
        guard let found else { return }
        evidence[signal.rawValue.trailingZeroBitCount].add(found, limit: legs)
    }
}

/// The evidence against a signal: the number of consecutive wrong findings, and their direction.
///
/// The verdict holds until the signal has been correct as often.
struct SignalEvidence: Sendable {
    private(set) var isWrong = false
    private var count = 0
    private var sign = 0

    /// Adds a finding.
    ///
    /// - Parameters:
    ///   - found: The direction in which the signal is wrong; 0 for right.
    ///   - limit: The number of agreeing findings that make it wrong.
    mutating func add(_ found: Int, limit: Int) {
        if found == 0 {
            count = max(count - 1, 0)
        } else if found == sign || count == 0 {
            (count, sign) = (min(count + 1, 2 * limit), found)
        } else {
            (count, sign) = (1, found)
        }
        if count >= limit { isWrong = true }
        if count == 0 { isWrong = false }
    }
}
