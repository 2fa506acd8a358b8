public import NavGeo

/// The kind of a receiver's position solution.
public enum FixType: UInt8, Sendable, CaseIterable {
    /// The receiver does not report it.
    case unknown
    case noFix
    /// A position without a height.
    case fix2D
    /// A position with a height.
    case fix3D
    /// Differential code corrections from a base station or a satellite (DGNSS, SBAS).
    case differential
    /// Carrier phase with float ambiguities.
    case rtkFloat
    /// Carrier phase with fixed ambiguities.
    case rtkFixed
    /// Dead reckoning by the receiver's own sensors.
    case deadReckoning
    case simulated

    /// Whether a fix of this type has a position.
    public var hasPosition: Bool { self != .noFix }

    /// Whether this type is at least as good as another.
    ///
    /// An unknown type ranks lowest, dead reckoning like a 2D fix, and a simulator highest.
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

/// A receiver's alarm about jamming, spoofing or loss of integrity.
public enum SignalAlarm: UInt8, Sendable, Comparable, CaseIterable {
    /// No alarm: the receiver does not check, or found nothing.
    case none
    /// A suspicion; the position is still valid.
    case suspected
    /// The position is unreliable.
    case certain

    public static func < (left: SignalAlarm, right: SignalAlarm) -> Bool { left.rawValue < right.rawValue }
}

/// One position report of a receiver; values that it does not report are nil.
public struct Fix: Sendable, Hashable {
    /// Time at which the position was valid.
    public var stamp: Timestamp
    /// The position; any value is accepted, see ``isUsable``.
    public var coordinate: Coordinate
    /// Standard deviation of the horizontal position per axis, metres.
    public var horizontalSigma: Double?
    /// Speed over ground, m/s.
    public var speed: Double?
    /// Direction of travel, radians clockwise from true north.
    public var course: Double?
    /// Direction of the vehicle's longitudinal axis, radians clockwise from true north.
    public var heading: Double?
    /// Horizontal dilution of precision, at least 0.
    public var hdop: Double?
    /// Metres above the receiver's datum.
    public var altitude: Double?
    public var type: FixType
    /// The source's sequence number of the fix.
    public var sequence: UInt64?
    /// Arrival time on the host's clock.
    public var received: Timestamp?
    /// Seconds by which the fix is ahead of all earlier fixes, measured by its arrival at the host; nil when unknown.
    public var lead: Double?
    /// The index of the receiver; 0 when there is only one.
    public var receiver: UInt8 = 0
    /// The receiver's alarm of counterfeit signals.
    public var spoofing = SignalAlarm.none
    /// The receiver's alarm of interference.
    public var jamming = SignalAlarm.none
    /// The alarm of the receiver's own integrity monitoring.
    public var integrity = SignalAlarm.none
    /// The protection level: the error radius guaranteed with the receiver's stated integrity risk, metres.
    public var protectionLevel: Double?

    /// Creates a fix; omitted values are unknown.
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

    /// Whether there is a position that is finite and within the ranges of latitude and longitude.
    public var isUsable: Bool { type.hasPosition && coordinate.isValid }

    /// The speed if it is plausible for a road vehicle, otherwise nil.
    package var usableSpeed: Double? { speed.flatMap { $0 >= 0 && $0 < 150 ? $0 : nil } }

    /// The course if it is a number, otherwise the heading.
    package var usableCourse: Double? {
        if let course, course.isFinite { return course }
        if let heading, heading.isFinite { return heading }
        return nil
    }
}
