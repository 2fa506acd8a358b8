import Glibc
import NavMessages

/// The payload of a UBX message, little-endian.
struct UBXPayload {
    private let bytes: Bytes

    init(_ bytes: Bytes) { self.bytes = bytes }

    var count: Int { bytes.count }
    var copied: UBXPayload { UBXPayload(Bytes(Array(bytes))) }

    func unsigned(_ offset: Int, _ size: Int) -> UInt32 {
        (0..<size).reduce(0) { $0 | UInt32(bytes[bytes.startIndex + offset + $1]) << (8 * UInt32($1)) }
    }

    func signed(_ offset: Int) -> Double { Double(Int32(bitPattern: unsigned(offset, 4))) }
}

/// The navigation messages of one time of week, from receivers that send no NAV-PVT (u-blox 4 to 6, or because of their
/// configuration).
///
/// NAV-SOL or NAV-POSLLH has the position; NAV-VELNED, NAV-STATUS, NAV-DOP, NAV-TIMEGPS and NAV-TIMEUTC complete it.
struct UBXEpoch {
    /// The messages that are used.
    enum Kind: UInt8 {
        case position = 0x02
        case status = 0x03
        case dilution = 0x04
        case solution = 0x06
        case velocity = 0x12
        case timeGPS = 0x20
        case timeUTC = 0x21

        /// The minimum size of the payload, bytes.
        fileprivate var size: Int {
            switch self {
            case .status, .timeGPS: 16
            case .dilution: 18
            case .timeUTC: 20
            case .position: 28
            case .velocity: 36
            case .solution: 52
            }
        }

        /// Returns the kind of a message of class NAV with enough bytes; nil for any other.
        init?(_ message: Bytes, _ payload: UBXPayload) {
            guard message[message.startIndex + 2] == 0x01, let kind = Kind(rawValue: message[message.startIndex + 3]),
                payload.count >= kind.size
            else { return nil }
            self = kind
        }
    }

    /// The time of week, ms.
    let timeOfWeek: UInt32
    /// The kind of the last message.
    private(set) var last: Kind?
    private(set) var messageCount = 0
    private var payloads: [Kind: UBXPayload] = [:]

    init(timeOfWeek: UInt32) { self.timeOfWeek = timeOfWeek }

    mutating func add(_ kind: Kind, _ payload: UBXPayload) {
        // A slice would keep the stream's buffer, which the parser would then have to copy.
        (payloads[kind], last) = (payload.copied, kind)
        messageCount += 1
    }

    /// Whether a position has arrived, or the statement that there is none.
    var hasSolution: Bool { payloads[.solution] != nil || payloads[.position] != nil }

    /// GPS time less UTC according to this epoch, seconds; nil when it is unknown.
    var leapSeconds: Int64? {
        guard let time = payloads[.timeGPS], time.unsigned(11, 1) & 4 != 0 else { return nil }
        return Int64(Int8(truncatingIfNeeded: time.unsigned(10, 1)))
    }

    /// The stamp, ns since the Unix epoch; nil when the receiver has no time.
    ///
    /// - Parameter leapSeconds: GPS time less UTC from an earlier epoch; nil takes that of the date.
    func stamp(leapSeconds: Int64?) -> Int64? {
        if let time = payloads[.timeUTC], time.unsigned(19, 1) & 4 != 0,
            let days = UTC.days(
                year: Int(time.unsigned(12, 2)), month: Int(time.unsigned(14, 1)), day: Int(time.unsigned(15, 1))),
            let ofDay = UTC.nanosecondOfDay(
                hour: Int(time.unsigned(16, 1)), minute: Int(time.unsigned(17, 1)),
                secondNs: Int64(time.unsigned(18, 1)) * UTC.nanosecondsPerSecond),
            abs(time.signed(8)) <= 1e9
        {
            return UTC.stamp(days: days, nanosecondOfDay: ofDay + Int64(time.signed(8)))
        }
        // Week and time of week: bits 2 and 3 of the solution's flags, bits 1 and 0 of the time's.
        let source: UBXPayload
        if let solution = payloads[.solution], solution.unsigned(11, 1) & 12 == 12 {
            source = solution
        } else if let time = payloads[.timeGPS], time.unsigned(11, 1) & 3 == 3 {
            source = time
        } else {
            return nil
        }
        let week = Int64(Int16(truncatingIfNeeded: source.unsigned(8, 2)))
        let fraction = source.signed(4)
        // The last week is in 2248.
        guard (0...14_000).contains(week), abs(fraction) <= 1e9 else { return nil }
        let gps = Self.origin + week * 7 * UTC.nanosecondsPerDay + Int64(timeOfWeek) * 1_000_000 + Int64(fraction)
        let leap = leapSeconds ?? Int64(Self.leapDays.count { $0 * UTC.nanosecondsPerDay <= gps })
        return gps - leap * UTC.nanosecondsPerSecond
    }

    /// 1980-01-06, the origin of GPS time.
    private static let origin = 3_657 * UTC.nanosecondsPerDay
    /// The days since 1970-01-01 on which GPS time gained a second on UTC.
    private static let leapDays: [Int64] = [
        (1981, 7), (1982, 7), (1983, 7), (1985, 7), (1988, 1), (1990, 1), (1991, 1), (1992, 7), (1993, 7), (1994, 7),
        (1996, 1), (1997, 7), (1999, 1), (2006, 1), (2009, 1), (2012, 7), (2015, 7), (2017, 1),
    ].compactMap { UTC.days(year: $0.0, month: $0.1, day: 1) }

    /// Returns the fix without its stamp; nil for a position that is not on the Earth.
    func fix() -> GnssFix? {
        var fix = GnssFix()
        let solution = payloads[.solution]
        if let solution {
            fix.fixType = UBXParser.fixType(solution.unsigned(10, 1), solution.unsigned(11, 1) & 3)
            fix.satellitesUsed = solution.unsigned(47, 1)
        } else if let status = payloads[.status] {
            fix.fixType = UBXParser.fixType(status.unsigned(4, 1), status.unsigned(5, 1) & 3)
        } else if (payloads[.position]?.unsigned(20, 4) ?? .max) >= Self.noAccuracy {
            fix.fixType = .noFix
        }
        guard fix.fixType != .noFix else { return fix }
        let time = fix
        let dilution = payloads[.dilution]
        func dop(_ payload: UBXPayload?, _ offset: Int) -> Double? {
            guard let value = payload.map({ Double($0.unsigned(offset, 2)) * 0.01 }), value > 0, value < 99 else {
                return nil
            }
            return value
        }
        (fix.pdop, fix.vdop, fix.hdop) = (dop(dilution, 6) ?? dop(solution, 44), dop(dilution, 10), dop(dilution, 12))
        // A time-only fix has a known, fixed position, which gpsd reports, too. Without a position, only its time is
        // used.
        guard place(&fix) else { return fix.fixType == .timeOnly ? time : nil }
        move(&fix)
        return fix
    }

    /// The accuracy value from which on there is no solution, mm.
    private static let noAccuracy: UInt32 = 10_000_000

    /// Sets the position; false when it is not on the Earth.
    private func place(_ fix: inout GnssFix) -> Bool {
        if let position = payloads[.position] {
            (fix.longitude, fix.latitude) = (position.signed(4) * 1e-7, position.signed(8) * 1e-7)
            fix.altitude = position.signed(12) * 1e-3
            fix.geoidSeparationM = (position.signed(12) - position.signed(16)) * 1e-3
            fix.horizontalAccuracyM = Double(position.unsigned(20, 4)) * 1e-3
            fix.verticalAccuracyM = Double(position.unsigned(24, 4)) * 1e-3
        } else if let solution = payloads[.solution] {
            let place = Geocentric(
                x: solution.signed(12) * 0.01, y: solution.signed(16) * 0.01, z: solution.signed(20) * 0.01)
            guard let place else { return false }
            (fix.latitude, fix.longitude) = (place.latitude * 180 / .pi, place.longitude * 180 / .pi)
            fix.altitude = place.height
            // The accuracy is three-dimensional.
            let accuracy = Double(solution.unsigned(24, 4)) * 0.01
            if let all = fix.pdop, let horizontal = fix.hdop, let vertical = fix.vdop {
                fix.horizontalAccuracyM = accuracy * min(horizontal / all, 1)
                fix.verticalAccuracyM = accuracy * min(vertical / all, 1)
            } else {
                fix.horizontalAccuracyM = accuracy
            }
        }
        fix.altitudeDatum = .ellipsoid
        return abs(fix.latitude ?? .infinity) <= 90 && abs(fix.longitude ?? .infinity) <= 180
    }

    /// Sets the velocity, if there is one.
    private func move(_ fix: inout GnssFix) {
        if let velocity = payloads[.velocity] {
            (fix.velocityNorthMps, fix.velocityEastMps) = (velocity.signed(4) * 0.01, velocity.signed(8) * 0.01)
            fix.velocityUpMps = -velocity.signed(12) * 0.01
            fix.speed = Double(velocity.unsigned(20, 4)) * 0.01
            fix.speedAccuracyMps = Double(velocity.unsigned(28, 4)) * 0.01
            // As in NAV-PVT, the maximum of 180° means that any course is possible.
            let accuracy = Double(velocity.unsigned(32, 4)) * 1e-5
            if accuracy < 180 {
                fix.course = bearingRadians(degrees: velocity.signed(24) * 1e-5)
                fix.courseAccuracyRad = accuracy * .pi / 180
            }
        } else if let solution = payloads[.solution],
            let place = Geocentric(
                x: solution.signed(12) * 0.01, y: solution.signed(16) * 0.01, z: solution.signed(20) * 0.01)
        {
            let (east, north, up) = place.local(
                x: solution.signed(28) * 0.01, y: solution.signed(32) * 0.01, z: solution.signed(36) * 0.01)
            (fix.velocityEastMps, fix.velocityNorthMps, fix.velocityUpMps) = (east, north, up)
            let speed = hypot(east, north)
            let accuracy = Double(solution.unsigned(40, 4)) * 0.01
            (fix.speed, fix.speedAccuracyMps) = (speed, accuracy)
            if speed > 0, accuracy < .pi * speed {
                let course = atan2(east, north)
                fix.course = course < 0 ? course + 2 * .pi : course
                fix.courseAccuracyRad = accuracy / speed
            }
        }
    }
}

/// A WGS84 position converted from geocentric coordinates.
private struct Geocentric {
    /// Radians.
    let latitude: Double
    let longitude: Double
    /// Metres above the ellipsoid.
    let height: Double

    private static let major = 6_378_137.0
    private static let flattening = 1 / 298.257223563

    /// Converts metres; nil more than 100 km below the ground (B. R. Bowring's formula is exact to less than a millimetre near it).
    init?(x: Double, y: Double, z: Double) {
        let minor = Self.major * (1 - Self.flattening)
        let square = Self.flattening * (2 - Self.flattening)
        let axial = hypot(x, y)
        guard hypot(axial, z) > minor - 100_000 else { return nil }
        let angle = atan2(z * Self.major, axial * minor)
        latitude = atan2(
            z + square / (1 - square) * minor * pow(sin(angle), 3), axial - square * Self.major * pow(cos(angle), 3))
        longitude = atan2(y, x)
        let normal = Self.major / (1 - square * pow(sin(latitude), 2)).squareRoot()
        height = axial * cos(latitude) + (z + square * normal * sin(latitude)) * sin(latitude) - normal
    }

    /// Returns the east, north and up components of a vector.
    func local(x: Double, y: Double, z: Double) -> (east: Double, north: Double, up: Double) {
        let outward = x * cos(longitude) + y * sin(longitude)
        return (
            y * cos(longitude) - x * sin(longitude), z * cos(latitude) - outward * sin(latitude),
            z * sin(latitude) + outward * cos(latitude)
        )
    }
}
