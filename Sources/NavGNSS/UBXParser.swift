import Glibc
public import NavMessages

/// A parser of u-blox's binary protocol (UBX): bytes in, one fix per NAV-PVT message out (u-blox 7 and later, "Interface
/// Description", UBX-NAV-PVT).
///
/// Other messages, and NMEA between them, are skipped and counted. The result does not depend on how the bytes are split into
/// chunks.
public struct UBXParser: Sendable {
    /// The largest payload in bytes: that of a RXM-RAWX with 255 signals is 8,176.
    public static let payloadLimit = 8 << 10
    private static let sync: [UInt8] = [0xb5, 0x62]
    /// The bytes of sync, class, id, length and checksum.
    private static let overhead = 8

    public private(set) var rejections = RejectionCounts()
    /// The number of messages with a valid checksum so far.
    public private(set) var messageCount = 0

    private var buffer: [UInt8] = []
    private var isInGarbage = false

    public init() {}

    /// Whether bytes begin with a whole message with a valid checksum.
    static func isMessage(_ bytes: Bytes) -> Bool {
        guard let size = size(bytes), bytes.count >= size else { return false }
        return isRight(bytes.prefix(size))
    }

    /// Takes the next chunk of the stream and returns the fixes of its complete messages.
    public mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        buffer += bytes
        var fixes: [GnssFix] = []
        var at = 0
        while at < buffer.count {
            let rest = buffer[at...]
            guard rest.starts(with: Self.sync.prefix(rest.count)) else {
                skip()
                at += 1
                continue
            }
            guard let size = Self.size(rest) else {
                if rest.count < Self.overhead - 2 { break }
                rejections.count(.tooLong)
                at += 1
                continue
            }
            guard rest.count >= size else { break }
            guard Self.isRight(rest.prefix(size)) else {
                // An apparent message may be noise with a message in it.
                rejections.count(.checksum)
                at += 1
                continue
            }
            isInGarbage = false
            messageCount &+= 1
            if let fix = fix(rest.prefix(size)) { fixes.append(fix) }
            at += size
        }
        buffer.removeFirst(at)
        return fixes
    }

    /// Ends the stream.
    public mutating func finish() -> [GnssFix] {
        var fixes: [GnssFix] = []
        while !buffer.isEmpty {
            // The rest of the open message will not arrive, but messages may follow in the buffer.
            rejections.count(.truncated)
            buffer.removeFirst()
            fixes += consume([])
            if !buffer.contains(Self.sync[0]) { buffer = [] }
        }
        return fixes
    }

    private mutating func skip() {
        if !isInGarbage { rejections.count(.garbage) }
        isInGarbage = true
    }

    /// Returns the size of the message that begins here; nil when it is not known yet or too large.
    private static func size(_ bytes: Bytes) -> Int? {
        guard bytes.count >= 6, bytes.starts(with: sync) else { return nil }
        let start = bytes.startIndex
        let payload = Int(bytes[start + 4]) | Int(bytes[start + 5]) << 8
        return payload <= limit(kind: bytes[start + 2], id: bytes[start + 3]) ? payload + overhead : nil
    }

    /// Returns the largest payload of a kind of message, bytes.
    ///
    /// The parser waits for the end of a message before it reads the next one, so a damaged length delays fixes by as much as it may claim.
    private static func limit(kind: UInt8, id: UInt8) -> Int {
        switch (kind, id) {
        // NAV-PVT, 92 bytes in its latest version.
        case (0x01, 0x07): 128
        // NAV and RXM have messages with a block per satellite or signal.
        case (0x01, _), (0x02, _): payloadLimit
        default: 1 << 10
        }
    }

    /// Whether the checksum (8-bit Fletcher) matches.
    private static func isRight(_ message: Bytes) -> Bool {
        var (a, b): (UInt8, UInt8) = (0, 0)
        for byte in message.dropFirst(2).dropLast(2) {
            a &+= byte
            b &+= a
        }
        return message.suffix(2).elementsEqual([a, b])
    }

    private mutating func fix(_ message: Bytes) -> GnssFix? {
        let payload = message.dropFirst(6).dropLast(2)
        guard message.dropFirst(2).starts(with: [0x01, 0x07]), payload.count >= 84 else {
            rejections.count(.unusedKind)
            return nil
        }
        let start = payload.startIndex
        func unsigned(_ offset: Int, _ size: Int) -> UInt32 {
            (0..<size).reduce(0) { $0 | UInt32(payload[start + offset + $1]) << (8 * UInt32($1)) }
        }
        func signed(_ offset: Int) -> Double { Double(Int32(bitPattern: unsigned(offset, 4))) }
        var fix = GnssFix()
        if unsigned(11, 1) & 3 == 3 {
            fix.timestamp = stamp(unsigned, nanosecond: Int64(signed(16))).map { .utc(nanoseconds: $0) }
            if fix.timestamp == nil { rejections.count(.badTime) }
        } else {
            rejections.count(.unknownDate)
        }
        // The flag of an invalid longitude and latitude came with the message of 92 bytes.
        let isInvalid = payload.count >= 92 && unsigned(78, 1) & 1 != 0
        // Without gnssFixOK there is no fix, either.
        let flags = isInvalid ? 0 : unsigned(21, 1)
        fix.satellitesUsed = unsigned(23, 1)
        fix.fixType = Self.fixType(unsigned(20, 1), flags)
        guard fix.fixType != .noFix, fix.fixType != .timeOnly else { return fix }
        let (longitude, latitude) = (signed(24) * 1e-7, signed(28) * 1e-7)
        guard abs(latitude) <= 90, abs(longitude) <= 180 else {
            rejections.count(.outOfRange)
            return nil
        }
        (fix.latitude, fix.longitude) = (latitude, longitude)
        (fix.altitude, fix.altitudeDatum) = (signed(32) * 1e-3, .ellipsoid)
        fix.geoidSeparationM = (signed(32) - signed(36)) * 1e-3
        fix.horizontalAccuracyM = Double(unsigned(40, 4)) * 1e-3
        fix.verticalAccuracyM = Double(unsigned(44, 4)) * 1e-3
        (fix.velocityNorthMps, fix.velocityEastMps) = (signed(48) * 1e-3, signed(52) * 1e-3)
        fix.velocityUpMps = -signed(56) * 1e-3
        fix.speed = max(signed(60) * 1e-3, 0)
        fix.speedAccuracyMps = Double(unsigned(68, 4)) * 1e-3
        // A receiver at rest or without a course reports the maximum, 180°: any course is possible.
        let accuracy = Double(unsigned(72, 4)) * 1e-5
        if accuracy < 180 {
            fix.course = bearingRadians(degrees: signed(64) * 1e-5)
            fix.courseAccuracyRad = accuracy * .pi / 180
        }
        let pdop = Double(unsigned(76, 2)) * 0.01
        fix.pdop = pdop > 0 && pdop < 99 ? pdop : nil
        return fix
    }

    private func stamp(_ field: (Int, Int) -> UInt32, nanosecond: Int64) -> Int64? {
        guard let days = UTC.days(year: Int(field(4, 2)), month: Int(field(6, 1)), day: Int(field(7, 1))),
            let ofDay = UTC.nanosecondOfDay(
                hour: Int(field(8, 1)), minute: Int(field(9, 1)),
                secondNs: Int64(field(10, 1)) * UTC.nanosecondsPerSecond),
            abs(nanosecond) <= UTC.nanosecondsPerSecond
        else { return nil }
        return UTC.stamp(days: days, nanosecondOfDay: ofDay + nanosecond)
    }

    private static func fixType(_ type: UInt32, _ flags: UInt32) -> FixType {
        guard flags & 1 != 0 else { return type == 5 ? .timeOnly : .noFix }
        switch (type, flags >> 6 & 3) {
        case (1, _): return .deadReckoning
        case (4, _): return .gnssDeadReckoning
        case (5, _): return .timeOnly
        case (2, 1), (3, 1): return .rtkFloat
        case (2, 2), (3, 2): return .rtkFixed
        case (2, _), (3, _): return flags & 2 != 0 ? .differential : type == 2 ? .twoD : .threeD
        default: return .noFix
        }
    }
}
