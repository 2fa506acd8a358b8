public import NavGeo

/// The kind of a receiver's solution.
public enum FixType: UInt8, Sendable, CaseIterable {
    /// The receiver does not say.
    case unknown
    case noFix
    /// A position without a height.
    case fix2D
    /// A position with a height.
    case fix3D
    /// Code differences from a base station or a satellite (DGNSS, SBAS).
    case differential
    /// Carrier phase with ambiguities not yet fixed.
    case rtkFloat
    /// Carrier phase with fixed ambiguities.
    case rtkFixed
    /// Carried on by the receiver's own sensors.
    case deadReckoning
    case simulated

    /// Whether the type stands for a position at all.
    public var hasPosition: Bool { self != .noFix }

    /// Whether a position is at least as good as one of another type; what the receiver does not say is not. Its own
    /// sensors count as a position without a height, a simulator as anything.
    public func isAtLeast(_ other: FixType) -> Bool { rank >= other.rank }

    private var rank: Int {
        switch self {
        case .unknown, .noFix: 0
        case .fix2D, .deadReckoning: 1
        case .fix3D: 2
        case .differential: 3
        case .rtkFloat: 4
        case .rtkFixed, .simulated: 5
        }
    }
}

/// A receiver's alarm of interference or counterfeit signals.
public enum SignalAlarm: UInt8, Sendable, Comparable, CaseIterable {
    /// Nothing, or it looked for it and found none.
    case none
    /// A suspicion; the position still holds.
    case suspected
    /// The position cannot be relied upon.
    case certain

    public static func < (left: SignalAlarm, right: SignalAlarm) -> Bool { left.rawValue < right.rawValue }
}

/// One position report of a receiver; what it does not say is nil.
public struct Fix: Sendable, Hashable {
    /// Time at which the position held.
    public var stamp: Timestamp
    /// The place; any value is accepted, see ``isUsable``.
    public var coordinate: Coordinate
    /// Standard deviation of the horizontal position per axis, metres.
    public var horizontalSigma: Double?
    /// Speed over ground, m/s.
    public var speed: Double?
    /// Direction of travel, radians clockwise from true north.
    public var course: Double?
    /// Direction of the vehicle's body, radians clockwise from true north.
    public var heading: Double?
    /// Horizontal dilution of precision, at least 0.
    public var hdop: Double?
    /// Metres above the receiver's datum.
    public var altitude: Double?
    public var type: FixType
    /// The source's count of its fixes.
    public var sequence: UInt64?
    /// When it arrived, by the host's clock.
    public var received: Timestamp?
    /// Seconds by which it is ahead of all fixes before it, by its arrival at the host; nil when that is not known.
    public var lead: Double?
    /// Which of several receivers, 0 for the only one.
    public var receiver: UInt8 = 0
    /// Whether counterfeit signals were noticed.
    public var spoofing = SignalAlarm.none
    /// Whether interference was noticed.
    public var jamming = SignalAlarm.none
    /// Whether the receiver's own integrity monitoring has doubts.
    public var integrity = SignalAlarm.none
    /// Radius that the receiver guarantees with its stated integrity risk, metres.
    public var protectionLevel: Double?

    /// A fix; what is not given is unknown.
    public init(
        stamp: Timestamp, coordinate: Coordinate, horizontalSigma: Double? = nil, speed: Double? = nil,
        course: Double? = nil, heading: Double? = nil, hdop: Double? = nil, altitude: Double? = nil,
        type: FixType = .unknown, sequence: UInt64? = nil
    ) {
        self.stamp = stamp
        self.coordinate = coordinate
        self.horizontalSigma = horizontalSigma
        self.speed = speed
        self.course = course
        self.heading = heading
        self.hdop = hdop
        self.altitude = altitude
        self.type = type
        self.sequence = sequence
    }

    /// Whether there is a position, finite and within the ranges of latitude and longitude.
    public var isUsable: Bool { type.hasPosition && coordinate.isValid }

    /// The speed when it is a number that a road vehicle may have.
    package var usableSpeed: Double? { speed.flatMap { $0 >= 0 && $0 < 150 ? $0 : nil } }

    /// The direction of travel when it is a number, else the body's.
    package var usableCourse: Double? {
        if let course, course.isFinite { return course }
        if let heading, heading.isFinite { return heading }
        return nil
    }
}
