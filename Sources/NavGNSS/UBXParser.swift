import Glibc
package import NavMessages

/// A parser of u-blox's binary protocol (UBX): bytes in, one fix per NAV-PVT message out (u-blox 7 and later, "Interface
/// Description", UBX-NAV-PVT).
///
/// Without NAV-PVT, a fix combines the messages of one time of week: NAV-SOL or NAV-POSLLH, and NAV-VELNED, NAV-STATUS, NAV-DOP,
/// NAV-TIMEGPS and NAV-TIMEUTC. It is complete when the next time of week begins, or with the kind of message that ended the two
/// previous ones.
///
/// Other messages, and NMEA between them, are skipped and counted. The result does not depend on how the bytes are split into
/// chunks.
package struct UBXParser: Sendable {
    /// The largest payload in bytes: an RXM-RAWX with 255 signals has 8,176.
    package static let payloadLimit = 8 << 10
    private static let sync: [UInt8] = [0xb5, 0x62]
    /// The bytes of sync, class, id, length and checksum.
    private static let overhead = 8

    package private(set) var rejections = RejectionCounts()
    /// The number of messages with a valid checksum so far.
    package private(set) var messageCount = 0

    private var buffer: [UInt8] = []
    private var isInGarbage = false

    /// The messages of the current time of week; nil once it is complete, and before the first.
    private var epoch: UBXEpoch?
    /// The time of week that was completed last, ms.
    private var completed: UInt32?
    /// The kind of message that ended the last epoch, and the kind that ended both of the last two.
    private var lastEnd: UBXEpoch.Kind?
    private var usualEnd: UBXEpoch.Kind?
    /// GPS time less UTC, seconds, according to the receiver.
    private var leapSeconds: Int64?
    /// The number of epochs still to be ignored in favour of NAV-PVT, which contains more.
    private var unusedEpochs = 0
    /// The number of epochs without NAV-PVT after which epochs are used instead.
    private static let patience = 10

    /// Whether the last fix came from a NAV-PVT message.
    private(set) var isWhole = false

    package init() {}

    /// Whether bytes begin with a whole message with a valid checksum.
    static func isMessage(_ bytes: Bytes) -> Bool {
        guard let size = size(bytes), bytes.count >= size else { return false }
        return isRight(bytes.prefix(size))
    }

    /// Takes the next chunk of the stream and returns the fixes of its complete messages.
    package mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
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
                // An apparent message may be noise that contains a message.
                rejections.count(.checksum)
                at += 1
                continue
            }
            isInGarbage = false
            messageCount &+= 1
            take(rest.prefix(size), into: &fixes)
            at += size
        }
        buffer.removeFirst(at)
        return fixes
    }

    /// Ends the stream.
    package mutating func finish() -> [GnssFix] {
        var fixes: [GnssFix] = []
        while !buffer.isEmpty {
            // The rest of the open message will not arrive, but messages may follow in the buffer.
            rejections.count(.truncated)
            buffer.removeFirst()
            fixes += consume([])
            if !buffer.contains(Self.sync[0]) { buffer = [] }
        }
        complete(into: &fixes)
        return fixes
    }

    private mutating func skip() {
        if !isInGarbage { rejections.count(.garbage) }
        isInGarbage = true
    }

    /// Returns the size of the message that begins here; nil when it is incomplete or too large.
    private static func size(_ bytes: Bytes) -> Int? {
        guard bytes.count >= 6, bytes.starts(with: sync) else { return nil }
        let start = bytes.startIndex
        let payload = Int(bytes[start + 4]) | Int(bytes[start + 5]) << 8
        return payload <= limit(kind: bytes[start + 2], id: bytes[start + 3]) ? payload + overhead : nil
    }

    /// Returns the largest payload of a kind of message, bytes.
    ///
    /// The parser waits for the end of a message before it reads the next one, so the limit bounds the delay of fixes by a damaged length.
    private static func limit(kind: UInt8, id: UInt8) -> Int {
        switch (kind, id) {
        // NAV-PVT, 92 bytes in its latest version.
        case (0x01, 0x07): 128
        // NAV and RXM messages may have a block per satellite or signal.
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

    private mutating func take(_ message: Bytes, into fixes: inout [GnssFix]) {
        let payload = UBXPayload(message.dropFirst(6).dropLast(2))
        if message.dropFirst(2).starts(with: [0x01, 0x07]), payload.count >= 84 {
            for _ in 0..<(epoch?.messageCount ?? 0) { rejections.count(.unusedKind) }
            (epoch, lastEnd, usualEnd, unusedEpochs, isWhole) = (nil, nil, nil, Self.patience, true)
            if let fix = fix(payload) { fixes.append(fix) }
        } else if let kind = UBXEpoch.Kind(message, payload) {
            add(kind, payload, into: &fixes)
        } else {
            rejections.count(.unusedKind)
        }
    }

    /// Adds a message to the epoch of its time of week.
    private mutating func add(_ kind: UBXEpoch.Kind, _ payload: UBXPayload, into fixes: inout [GnssFix]) {
        let time = payload.unsigned(0, 4)
        if epoch == nil, time == completed {
            // The epoch ended with a later message than usual.
            rejections.count(unusedEpochs > 0 ? .unusedKind : .late)
            (lastEnd, usualEnd) = (kind, nil)
            return
        }
        if let epoch, epoch.timeOfWeek != time {
            usualEnd = epoch.last == lastEnd ? lastEnd : nil
            lastEnd = epoch.last
            complete(into: &fixes)
        }
        var present = epoch ?? UBXEpoch(timeOfWeek: time)
        present.add(kind, payload)
        epoch = present
        if kind == usualEnd { complete(into: &fixes) }
    }

    /// Makes a fix of the epoch.
    private mutating func complete(into fixes: inout [GnssFix]) {
        guard let epoch else { return }
        (self.epoch, completed) = (nil, epoch.timeOfWeek)
        leapSeconds = epoch.leapSeconds ?? leapSeconds
        guard unusedEpochs == 0 else {
            unusedEpochs -= 1
            for _ in 0..<epoch.messageCount { rejections.count(.unusedKind) }
            return
        }
        guard epoch.hasSolution else { return rejections.count(.noSolution) }
        guard var fix = epoch.fix() else { return rejections.count(.outOfRange) }
        fix.timestamp = epoch.stamp(leapSeconds: leapSeconds).map { .utc(nanoseconds: $0) }
        if fix.timestamp == nil { rejections.count(.unknownDate) }
        isWhole = false
        fixes.append(fix)
    }

    private mutating func fix(_ payload: UBXPayload) -> GnssFix? {
        func unsigned(_ offset: Int, _ size: Int) -> UInt32 { payload.unsigned(offset, size) }
        func signed(_ offset: Int) -> Double { payload.signed(offset) }
        var fix = GnssFix()
        if unsigned(11, 1) & 3 == 3 {
            fix.timestamp = stamp(unsigned, nanosecond: Int64(signed(16))).map { .utc(nanoseconds: $0) }
            if fix.timestamp == nil { rejections.count(.badTime) }
        } else {
            rejections.count(.unknownDate)
        }
        // The flag for an invalid longitude and latitude exists only in messages of 92 bytes or more.
        let isInvalid = payload.count >= 92 && unsigned(78, 1) & 1 != 0
        // Without gnssFixOK there is no fix.
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
        // A stationary receiver, or one without a course, reports the maximum, 180°: any course is possible.
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

    /// Returns the type of a solution, from its type field and the flags of NAV-PVT.
    static func fixType(_ type: UInt32, _ flags: UInt32) -> FixType {
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
