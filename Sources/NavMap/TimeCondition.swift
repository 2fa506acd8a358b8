public import NavGeo

/// A moment in a place's local time.
///
/// Tiles have no time zones: the caller that requests a route supplies the place's offset from UTC.
public struct LocalTime: Sendable, Hashable {
    /// Minutes since 1970-01-01 00:00 local time.
    public let minutes: Int64

    /// Creates a moment from the seconds since 1970-01-01 00:00 local time, which is UTC plus the place's offset.
    public init(localSeconds: Int64) {
        minutes = localSeconds.quotientAndRemainder(dividingBy: 60).quotient - (localSeconds % 60 < 0 ? 1 : 0)
    }

    /// Creates a moment from a timestamp and the place's offset from UTC (60 in Berlin in winter, -300 in New York).
    ///
    /// The offset is clamped to one day.
    public init(_ moment: Timestamp, minutesAheadOfUTC offset: Int) {
        let second = Int64(1_000_000_000)
        let whole = moment.nanoseconds / second - (moment.nanoseconds % second < 0 ? 1 : 0)
        self.init(localSeconds: whole + Int64(min(max(offset, -1_440), 1_440)) * 60)
    }

    /// Creates a moment of the Gregorian calendar; days and hours beyond their range carry over.
    ///
    /// Nil for a year outside of 1 … 9999 and for any other value outside of -1,000 … 10,000.
    public init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0) {
        let small = -1_000...10_000
        guard (1...9_999).contains(year), (1...12).contains(month), small.contains(day), small.contains(hour),
            small.contains(minute)
        else { return nil }
        // Days from civil (H. Hinnant, "chrono-compatible low-level date algorithms"): years begin in March.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        minutes = Int64(days) * 1_440 + Int64(hour * 60 + minute)
    }

    /// Days since 1970-01-01, which was a Thursday.
    private var dayNumber: Int64 { (minutes - (minutes % 1_440 + 1_440) % 1_440) / 1_440 }
    /// Minutes since midnight, 0 ..< 1440.
    public var minuteOfDay: Int { Int(minutes - dayNumber * 1_440) }
    /// The day of the week, 0 (Monday) … 6.
    public var weekday: Int { Int(((dayNumber + 3) % 7 + 7) % 7) }
    /// The month, 1 … 12, and the day of the month, 1 … 31.
    public var monthAndDay: (month: Int, day: Int) {
        let shifted = dayNumber + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (Int(month), Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))
    }

    /// The same clock time a day before.
    var dayBefore: LocalTime { LocalTime(minutes: minutes &- 1_440) }

    private init(minutes: Int64) { self.minutes = minutes }
}

/// A recurring time, in a subset of OSM's `opening_hours` syntax.
///
/// Rules are separated by `;`, and a later rule replaces an earlier one on its days. A rule has months or dates
/// (`Apr-Oct`, `Nov 15-Mar 31`), days of the week (`Mo-Fr,Su`) and spans of time (`07:00-09:00,16:00-18:30`,
/// `22:00-06:00`). Each part is optional, and the rule may end in `off`. `24/7` means always. The map has no public or
/// school holidays, so `PH` and `SH` match no day. Sunrise and sunset, weeks, years and the n-th weekday of a month are
/// not supported.
public struct TimeCondition: Sendable, Hashable {
    /// The longest text that is parsed, bytes.
    public static let longestText = 1_000
    private static let mostRules = 32
    private static let mostSpans = 32

    private struct Rule: Sendable, Hashable {
        /// Spans of dates, each end as 32 × month + day; a span that ends before it starts wraps around the new year.
        var dates: [ClosedSpan] = []
        /// Days of the week, with Monday in the lowest bit; nil for all days.
        var weekdays: UInt8?
        /// Spans of minutes of the day, empty for the whole day; an end above 1440 extends into the next day.
        var times: [ClosedSpan] = []
        var isOff = false
    }

    private struct ClosedSpan: Sendable, Hashable {
        var start: Int
        var end: Int
    }

    private var rules: [Rule] = []

    /// Parses a condition; nil when the text is not understood.
    public init?(_ text: String) {
        guard text.utf8.count <= TimeCondition.longestText else { return nil }
        for part in text.utf8.split(separator: UInt8(ascii: ";")) {
            guard rules.count < TimeCondition.mostRules, let rule = TimeCondition.rule(Array(part)) else { return nil }
            rules.append(rule)
        }
        if rules.isEmpty { return nil }
    }

    public func holds(at time: LocalTime) -> Bool {
        let minute = time.minuteOfDay
        let before = time.dayBefore
        var result = false
        for rule in rules {
            if TimeCondition.isDay(time, of: rule) {
                result =
                    !rule.isOff
                    && (rule.times.isEmpty || rule.times.contains { $0.start <= minute && minute < $0.end })
            }
            if !rule.isOff, rule.times.contains(where: { minute + 1_440 < $0.end }),
                TimeCondition.isDay(before, of: rule)
            {
                result = true
            }
        }
        return result
    }

    private static func isDay(_ time: LocalTime, of rule: Rule) -> Bool {
        if let weekdays = rule.weekdays, weekdays >> UInt8(time.weekday) & 1 == 0 { return false }
        if rule.dates.isEmpty { return true }
        let (month, day) = time.monthAndDay
        let date = month * 32 + day
        return rule.dates.contains { span in
            span.start <= span.end
                ? span.start <= date && date <= span.end : span.start <= date || date <= span.end
        }
    }

    private static func rule(_ bytes: [UInt8]) -> Rule? {
        var scanner = Scanner(bytes: bytes)
        var rule = Rule()
        scanner.skipSpaces()
        if scanner.isAtEnd { return nil }
        if scanner.skip("24/7") {
            scanner.skipSpaces()
            return scanner.isAtEnd ? rule : nil
        }
        guard dates(&scanner, &rule), weekdays(&scanner, &rule), times(&scanner, &rule) else { return nil }
        if scanner.skip("off") || scanner.skip("closed") { rule.isOff = true }
        scanner.skipSpaces()
        return scanner.isAtEnd ? rule : nil
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let days = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]

    private static func dates(_ scanner: inout Scanner, _ rule: inout Rule) -> Bool {
        guard var month = scanner.choice(months) else { return true }
        while true {
            let first = scanner.number(below: 32)
            var last = first
            var lastMonth = month
            if scanner.skip("-") {
                if let next = scanner.choice(months) {
                    lastMonth = next
                    last = scanner.number(below: 32)
                } else {
                    guard let day = scanner.number(below: 32), first != nil else { return false }
                    last = day
                }
            }
            guard rule.dates.count < mostSpans else { return false }
            rule.dates.append(
                ClosedSpan(start: (month + 1) * 32 + (first ?? 1), end: (lastMonth + 1) * 32 + (last ?? 31)))
            guard scanner.skip(",") else { break }
            guard let next = scanner.choice(months) else { return false }
            month = next
        }
        _ = scanner.skip(":")
        return true
    }

    private static func weekdays(_ scanner: inout Scanner, _ rule: inout Rule) -> Bool {
        var mask: UInt8 = 0
        var hasAny = false
        while true {
            if scanner.skip("PH") || scanner.skip("SH") {
                hasAny = true
            } else if let first = scanner.choice(days) {
                hasAny = true
                var last = first
                if scanner.skip("-") {
                    guard let day = scanner.choice(days) else { return false }
                    last = day
                }
                var day = first
                mask |= 1 << UInt8(day)
                while day != last {
                    day = (day + 1) % 7
                    mask |= 1 << UInt8(day)
                }
            } else {
                // A comma must lead to another day.
                if hasAny { return false }
                break
            }
            guard scanner.skip(",") else { break }
        }
        if hasAny {
            rule.weekdays = mask
            _ = scanner.skip(":")
        }
        return true
    }

    private static func times(_ scanner: inout Scanner, _ rule: inout Rule) -> Bool {
        guard scanner.nextIsDigit else { return true }
        repeat {
            guard rule.times.count < mostSpans, let start = scanner.clock(), start < 1_440, scanner.skip("-"),
                var end = scanner.clock()
            else { return false }
            if end <= start { end += 1_440 }
            guard end <= 2_880 else { return false }
            rule.times.append(ClosedSpan(start: start, end: end))
        } while scanner.skip(",")
        return true
    }

    /// A tokenizer of ASCII text that skips spaces before a token.
    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position >= bytes.count }

        var nextIsDigit: Bool {
            mutating get {
                skipSpaces()
                return !isAtEnd && isDigit(bytes[position])
            }
        }

        func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }

        mutating func skipSpaces() {
            while position < bytes.count && bytes[position] == 32 { position += 1 }
        }

        mutating func skip(_ token: String) -> Bool {
            skipSpaces()
            guard bytes[position...].starts(with: token.utf8) else { return false }
            position += token.utf8.count
            return true
        }

        mutating func choice(_ tokens: [String]) -> Int? {
            for (index, token) in tokens.enumerated() where skip(token) { return index }
            return nil
        }

        /// Parses a number of one or two digits that is not followed by a colon.
        mutating func number(below limit: Int) -> Int? {
            skipSpaces()
            let start = position
            var value = 0
            while position < bytes.count, position - start < 2, isDigit(bytes[position]) {
                value = value * 10 + Int(bytes[position] - 48)
                position += 1
            }
            guard position > start, value > 0, value < limit, position >= bytes.count || bytes[position] != 58 else {
                position = start
                return nil
            }
            return value
        }

        /// Parses `7:30` or `07:30` into minutes, up to 48:00.
        mutating func clock() -> Int? {
            skipSpaces()
            let start = position
            var hours = 0
            while position < bytes.count, position - start < 2, isDigit(bytes[position]) {
                hours = hours * 10 + Int(bytes[position] - 48)
                position += 1
            }
            guard position > start, position + 2 < bytes.count, bytes[position] == 58, isDigit(bytes[position + 1]),
                isDigit(bytes[position + 2])
            else { return nil }
            let minutes = Int(bytes[position + 1] - 48) * 10 + Int(bytes[position + 2] - 48)
            position += 3
            return minutes < 60 && hours <= 48 ? hours * 60 + minutes : nil
        }
    }
}
