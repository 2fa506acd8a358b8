import NavGeo
package import NavMatching
package import NavMessages

extension Fix {
    /// Creates a fix from a message; nil when the message has no time.
    ///
    /// An absent value, a NaN and a value out of the quantity's range count as unknown.
    ///
    /// The receiver's accuracy becomes a σ per axis: from the covariance if known, otherwise the message's radius unchanged. For Gaussian
    /// errors a radius of 68 % is 1.5 σ, but receivers understate their radii by about the same factor, according to drives with a
    /// reference.
    package init?(_ message: NavMessages.GnssFix, sequence: UInt64?) {
        guard let nanoseconds = message.stampNs else { return nil }
        self.init(
            stamp: NavGeo.Timestamp(nanoseconds: nanoseconds),
            coordinate: NavGeo.Coordinate(latitude: message.latitude ?? .nan, longitude: message.longitude ?? .nan),
            horizontalSigma: message.horizontalSigma?.known(from: 0), speed: message.groundSpeed?.known(from: 0),
            course: message.groundCourse?.knownAngle, heading: message.heading?.knownAngle,
            hdop: message.hdop?.known(from: 0),
            altitude: message.altitude?.known(from: NavMessages.GnssFix.leastAltitude),
            type: NavMatching.FixType(message.fixType), sequence: sequence)
        received = message.receiveStampNs.map { NavGeo.Timestamp(nanoseconds: $0) }
        spoofing = SignalAlarm(message.spoofing)
        jamming = SignalAlarm(message.jamming)
        integrity = SignalAlarm(message.integrity)
        protectionLevel = message.horizontalProtectionLevelM?.known(from: 0)
    }
}

extension NavMessages.GnssFix {
    /// σ per axis, metres: the root of the mean variance of east and north, otherwise the horizontal accuracy.
    package var horizontalSigma: Double? {
        if hasPositionCovariance, positionCovariance.count == 9 {
            let variance = (positionCovariance[0] + positionCovariance[4]) / 2
            if variance.isFinite, variance > 0 { return variance.squareRoot() }
        }
        return horizontalAccuracyM
    }

    /// Whether the position's covariance is meaningful.
    var hasPositionCovariance: Bool { positionCovarianceType != nil && positionCovarianceType != .unspecified }

    /// Speed over ground, m/s.
    package var groundSpeed: Double? {
        if let speed { return speed }
        guard let east = velocityEastMps, let north = velocityNorthMps else { return nil }
        return (east * east + north * north).squareRoot()
    }

    /// Direction of travel, radians clockwise from north.
    package var groundCourse: Double? {
        if let course { return course }
        guard let east = velocityEastMps, let north = velocityNorthMps, east != 0 || north != 0 else { return nil }
        let frame = LocalFrame(latitude: 0)
        let origin = NavGeo.Coordinate(latitude: 0, longitude: 0)
        return Geodesy.bearing(
            from: origin, to: frame.coordinate(of: LocalPoint(east: east * 1e-3, north: north * 1e-3)))
    }

    /// Creates the message of a fix; a fix without a position becomes a message without one.
    package init(_ fix: Fix) {
        let position = fix.coordinate.isValid ? fix.coordinate : nil
        self.init(
            latitude: position?.latitude, longitude: position?.longitude, altitude: fix.altitude,
            timestamp: NavMessages.Timestamp(nanoseconds: fix.stamp.nanoseconds),
            heading: fix.heading, speed: fix.speed, course: fix.course, fixType: NavMessages.FixType(known: fix.type),
            hdop: fix.hdop, horizontalAccuracyM: fix.horizontalSigma)
    }
}

extension NavMatching.FixType {
    package init(_ message: NavMessages.FixType?) {
        switch message {
        case .noFix, .timeOnly: self = .noFix
        case .twoD: self = .fix2D
        case .threeD, .ppp, .manual: self = .fix3D
        case .differential: self = .differential
        case .rtkFloat: self = .rtkFloat
        case .rtkFixed: self = .rtkFixed
        case .deadReckoning, .gnssDeadReckoning: self = .deadReckoning
        case .simulated: self = .simulated
        default: self = .unknown
        }
    }
}
