package import NavMessages

// Calendar dates and times as nanoseconds since the Unix epoch. A leap second is counted as the first second of the
// next minute, as POSIX time does.

package enum UTC {
    static let nanosecondsPerSecond: Int64 = 1_000_000_000
    static let nanosecondsPerDay: Int64 = 86_400 * nanosecondsPerSecond

    /// Returns the days since 1970-01-01 of a Gregorian date, year 1 to 9999; `nil` for a date that does not exist.
    package static func days(year: Int, month: Int, day: Int) -> Int64? {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let length = month == 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        guard day <= length else { return nil }
        // Years begin in March, so that the leap day is the last of its year (H. Hinnant, chrono-compatible date
        // algorithms).
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return Int64(era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
    }

    /// Returns nanoseconds since the epoch of a time on a day; `nil` outside 1678 to 2261.
    package static func stamp(days: Int64, nanosecondOfDay: Int64) -> Int64? {
        let (start, overflow) = days.multipliedReportingOverflow(by: nanosecondsPerDay)
        let (sum, carry) = start.addingReportingOverflow(nanosecondOfDay)
        return overflow || carry ? nil : sum
    }

    /// Returns the nanosecond of the day; a second of 60 is accepted.
    static func nanosecondOfDay(hour: Int, minute: Int, secondNs: Int64) -> Int64? {
        guard (0...23).contains(hour), (0...59).contains(minute), (0..<61 * nanosecondsPerSecond).contains(secondNs)
        else { return nil }
        return Int64(hour * 3600 + minute * 60) * nanosecondsPerSecond + secondNs
    }

    /// Parses an ISO 8601 date and time as nanoseconds since the epoch, exact to the nanosecond.
    ///
    /// `YYYY-MM-DD`, `T` or a space, `hh:mm:ss` with any number of decimals after a point or comma, then `Z`,
    /// `+hh:mm`, `+hhmm`, `+hh` or nothing, which counts as UTC. `nil` for anything else.
    package static func iso8601(_ text: ArraySlice<UInt8>) -> Int64? {
        let text = text.trimmed
        let start = text.startIndex
        guard text.count >= 19, text[start + 4] == .minus, text[start + 7] == .minus,
            [UInt8(ascii: "T"), UInt8(ascii: "t"), 0x20].contains(text[start + 10]),
            text[start + 13] == .colon, text[start + 16] == .colon,
            let year = Decimal.natural(text[start..<start + 4]),
            let month = Decimal.natural(text[start + 5..<start + 7]),
            let day = Decimal.natural(text[start + 8..<start + 10]),
            let hour = Decimal.natural(text[start + 11..<start + 13]),
            let minute = Decimal.natural(text[start + 14..<start + 16]),
            let second = Decimal.natural(text[start + 17..<start + 19]),
            let days = days(year: year, month: month, day: day)
        else { return nil }
        var fraction: Int64 = 0
        var unit: Int64 = 100_000_000
        var at = start + 19
        if at < text.endIndex, text[at] == .point || text[at] == .comma {
            at += 1
            let first = at
            while at < text.endIndex, let digit = text[at].decimalDigit {
                fraction += Int64(digit) * unit
                unit /= 10
                at += 1
            }
            guard at > first else { return nil }
        }
        guard let offset = zoneOffset(text[at...]),
            let ofDay = nanosecondOfDay(
                hour: hour, minute: minute, secondNs: Int64(second) * nanosecondsPerSecond + fraction),
            let local = stamp(days: days, nanosecondOfDay: ofDay)
        else { return nil }
        let (utc, overflow) = local.subtractingReportingOverflow(offset * nanosecondsPerSecond)
        return overflow ? nil : utc
    }

    /// Returns the seconds that a zone is ahead of UTC.
    private static func zoneOffset(_ zone: Bytes) -> Int64? {
        guard let first = zone.first else { return 0 }
        if first == UInt8(ascii: "Z") || first == UInt8(ascii: "z") { return zone.count == 1 ? 0 : nil }
        guard first == .plus || first == .minus else { return nil }
        var digits = Array(zone.dropFirst())
        if digits.count == 5, digits[2] == .colon { digits.remove(at: 2) }
        if digits.count == 2 { digits += [0x30, 0x30] }
        guard digits.count == 4, let hours = Decimal.natural(digits[0..<2]),
            let minutes = Decimal.natural(digits[2..<4]),
            hours <= 23, minutes <= 59
        else { return nil }
        let offset = Int64(hours * 3600 + minutes * 60)
        return first == .minus ? -offset : offset
    }
}

extension UInt8 {
    static let colon = UInt8(ascii: ":")
}

extension NavMessages.Timestamp {
    /// Returns the message for nanoseconds since the Unix epoch.
    package static func utc(nanoseconds: Int64) -> NavMessages.Timestamp {
        var (seconds, nanos) = nanoseconds.quotientAndRemainder(dividingBy: UTC.nanosecondsPerSecond)
        if nanos < 0 {
            seconds -= 1
            nanos += UTC.nanosecondsPerSecond
        }
        return NavMessages.Timestamp(seconds: seconds, nanos: Int32(nanos))
    }
}
