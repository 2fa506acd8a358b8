internal import NavMessages

// The contribution of each kind of sentence to an epoch. Field numbers are those of NMEA 0183, from 1.

private let metresPerSecondPerKnot = 1852.0 / 3600
private let north = UInt8(ascii: "N")
private let east = UInt8(ascii: "E")
private let south = UInt8(ascii: "S")
private let west = UInt8(ascii: "W")
private let void = UInt8(ascii: "V")

extension NMEAEpoch {
    /// Adds the content of a sentence; malformed fields are counted and stay unknown.
    mutating func take(_ sentence: NMEASentence, _ kind: NMEAKind, _ rejections: inout RejectionCounts) {
        var fields = NMEAFields(sentence: sentence, rejections: rejections)
        switch kind {
        case .rmc: takeRMC(&fields)
        case .gga: takeGGA(&fields)
        case .gns: takeGNS(&fields)
        case .gll: takeGLL(&fields)
        case .gsa: takeGSA(&fields)
        case .gsv: if let count = fields.natural(3) { setVisible(count, talker: sentence.talker) }
        case .vtg: takeVTG(&fields)
        case .gst: takeGST(&fields)
        case .gbs: takeGBS(&fields)
        case .hdt: if let degrees = fields.bearing(1) { heading = degrees }
        case .ths: if sentence[2].first != void, let degrees = fields.bearing(1) { heading = degrees }
        case .zda: break
        }
        rejections = fields.rejections
    }

    private mutating func takeRMC(_ f: inout NMEAFields) {
        takeStatus(f.sentence[2], mode: f.sentence[12])
        if let place = f.position(3) { setPosition(place.latitude, place.longitude, from: .rmc) }
        if let knots = f.nonNegative(7) { speed = knots * metresPerSecondPerKnot }
        if let angle = f.bearing(8) { course = angle }
    }

    private mutating func takeGLL(_ f: inout NMEAFields) {
        takeStatus(f.sentence[6], mode: f.sentence[7])
        if let place = f.position(1) { setPosition(place.latitude, place.longitude, from: .gll) }
    }

    private mutating func takeStatus(_ status: Bytes, mode: Bytes) {
        if let indicator = mode.first { setMode(indicator) }
        if status.first == UInt8(ascii: "A"), mode.first != north {
            isValid = true
        } else if status.first == void || mode.first == north {
            isVoid = true
        }
    }

    private mutating func takeGGA(_ f: inout NMEAFields) {
        if let value = f.natural(6) {
            quality = value
            if value == 0 { isVoid = true } else { isValid = true }
        }
        if let place = f.position(2) { setPosition(place.latitude, place.longitude, from: .gga) }
        if let count = f.natural(7) { satellitesUsed = count }
        if let value = f.dilution(8) { hdop = value }
        if let value = f.number(9) { altitude = value }
        if let value = f.number(11) { geoidSeparation = value }
        if let value = f.nonNegative(13) { differentialAge = value }
    }

    private mutating func takeGNS(_ f: inout NMEAFields) {
        let modes = f.sentence[6]
        let place = f.position(2)
        if modes.contains(where: { $0 != north }) {
            isValid = true
            modes.forEach { setMode($0) }
        } else if !modes.isEmpty {
            isVoid = true
        }
        if let place { setPosition(place.latitude, place.longitude, from: .gns) }
        // A receiver may also send one sentence per system, without a position and with its own satellite count.
        guard place != nil else { return }
        if let count = f.natural(7) { satellitesUsed = count }
        if let value = f.dilution(8) { hdop = value }
        if let value = f.number(9) { altitude = value }
        if let value = f.number(10) { geoidSeparation = value }
        if let value = f.nonNegative(11) { differentialAge = value }
    }

    private mutating func takeGSA(_ f: inout NMEAFields) {
        if let value = f.natural(2), (1...3).contains(value) { dimensions = max(dimensions ?? 1, value) }
        for field in 3...14 where !f.sentence[field].isEmpty { satellitesListed += 1 }
        if let value = f.dilution(15) { pdop = value }
        if hdop == nil, let value = f.dilution(16) { hdop = value }
        if let value = f.dilution(17) { vdop = value }
    }

    private mutating func takeVTG(_ f: inout NMEAFields) {
        if let indicator = f.sentence[9].first { setMode(indicator) }
        // Before version 2 there were no unit letters: course true, course magnetic, knots, km/h.
        let hasUnits = f.sentence[2].first == UInt8(ascii: "T")
        if course == nil, let angle = f.bearing(1) { course = angle }
        guard speed == nil else { return }
        if let knots = f.nonNegative(hasUnits ? 5 : 3) {
            speed = knots * metresPerSecondPerKnot
        } else if let kilometresPerHour = f.nonNegative(hasUnits ? 7 : 4) {
            speed = kilometresPerHour / 3.6
        }
    }

    private mutating func takeGST(_ f: inout NMEAFields) {
        guard let north = f.nonNegative(6), let east = f.nonNegative(7) else { return }
        sigma = (north, east, f.nonNegative(8))
    }

    private mutating func takeGBS(_ f: inout NMEAFields) {
        guard f.nonNegative(2) != nil else { return }
        let failed = f.sentence[5]
        integrity = failed.isEmpty || failed.allSatisfy { $0 == 0x30 } ? .ok : .warning
    }
}

/// Typed access to the fields of one sentence; an empty field is unknown, a malformed one unknown and counted.
struct NMEAFields {
    let sentence: NMEASentence
    var rejections: RejectionCounts

    mutating func number(_ field: Int) -> Double? {
        let text = sentence[field]
        guard !text.isEmpty else { return nil }
        guard let value = counted(Decimal.double(text.trimmed), .malformedField) else { return nil }
        // No measured value in m, knots, degrees or s is larger, and squares stay finite.
        return counted(abs(value) < 1e9 ? value : nil, .outOfRange)
    }

    mutating func natural(_ field: Int) -> Int? {
        let text = sentence[field]
        guard !text.isEmpty else { return nil }
        return counted(Decimal.natural(text.trimmed), .malformedField)
    }

    mutating func nonNegative(_ field: Int) -> Double? {
        guard let value = number(field) else { return nil }
        return counted(value >= 0 ? value : nil, .outOfRange)
    }

    /// Reads a dilution of precision; receivers write 99.99 or 0 when it is unknown.
    mutating func dilution(_ field: Int) -> Double? {
        guard let value = nonNegative(field), value > 0, value < 99 else { return nil }
        return value
    }

    /// Reads a bearing in degrees, 0 to 360, as radians.
    mutating func bearing(_ field: Int) -> Double? {
        guard let degrees = number(field) else { return nil }
        return counted(degrees >= 0 ? bearingRadians(degrees: degrees) : nil, .outOfRange)
    }

    /// Reads latitude and longitude in degrees from four fields, starting with the given one.
    mutating func position(_ field: Int) -> (latitude: Double, longitude: Double)? {
        let latitude = sentence[field]
        let longitude = sentence[field + 2]
        guard !latitude.isEmpty, !longitude.isEmpty else { return nil }
        guard let phi = Self.angle(latitude), let lambda = Self.angle(longitude),
            let ns = sentence[field + 1].first, ns == north || ns == south,
            let ew = sentence[field + 3].first, ew == east || ew == west
        else {
            rejections.count(.malformedField)
            return nil
        }
        guard phi <= 90, lambda <= 180 else {
            rejections.count(.outOfRange)
            return nil
        }
        return (ns == south ? -phi : phi, ew == west ? -lambda : lambda)
    }

    /// Parses `dddmm.mmmm` as degrees.
    private static func angle(_ text: Bytes) -> Double? {
        let whole = text.prefix { $0 != .point }
        guard (1...5).contains(whole.count), whole.allSatisfy({ $0.decimalDigit != nil }) else { return nil }
        let split = whole.endIndex - min(2, whole.count)
        let degrees = split > text.startIndex ? Decimal.natural(text[text.startIndex..<split]) : 0
        guard let degrees, let minutes = Decimal.double(text[split...]), (0..<60).contains(minutes) else { return nil }
        return Double(degrees) + minutes / 60
    }

    private mutating func counted<Value>(_ value: Value?, _ reason: Rejection) -> Value? {
        if value == nil { rejections.count(reason) }
        return value
    }
}
