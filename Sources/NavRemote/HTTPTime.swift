/// Times as headers of HTTP say them.
public enum HTTPTime {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A date, seconds since the Unix epoch; nil for what is none.
    ///
    /// All three forms of RFC 9110, section 5.6.7, are read.
    public static func moment(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
        // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
        if words.count == 6, words[5] == "GMT" {
            return seconds(year: words[3], month: words[2], day: words[1], time: words[4])
        }
        if words.count == 5 { return seconds(year: words[4], month: words[1], day: words[2], time: words[3]) }
        return nil
    }

    private static func seconds(year: String, month: String, day: String, time: String) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
        guard var year = Int64(year), let month = months.firstIndex(of: month), let day = Int64(day),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            (0...9999).contains(year), (1...31).contains(day), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second)
        else { return nil }
        if year < 100 { year += year < 70 ? 2_000 : 1_900 }
        return days(year: year, month: Int64(month) + 1, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// Days since 1970-01-01 in the Gregorian calendar (years that begin in March make leap days the last).
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Seconds as a header says them; a number beyond 2^31 is 2^31 (RFC 9111, 1.2.2); nil for what is none.
    public static func deltaSeconds(_ text: String) -> Int64? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(Int64(text) ?? 1 << 31, 1 << 31)
    }

    /// Seconds to wait that a Retry-After says: a number, or a moment (RFC 9110, 10.2.3); nil when it says none.
    ///
    /// - Parameters:
    ///   - text: the header; nil where there is none. Blanks around it do not count.
    ///   - date: the answer's Date, so that the two clocks need not agree.
    ///   - now: seconds since the Unix epoch, for an answer without a date; nil when a moment without one means nothing.
    public static func retryAfter(_ text: String?, date: String?, now: Double?) -> Double? {
        guard let text else { return nil }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let bytes = text.utf8.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        let trimmed = String(decoding: Array(bytes), as: UTF8.self)
        if let seconds = deltaSeconds(trimmed) { return Double(seconds) }
        guard let until = moment(trimmed), let present = date.flatMap(moment).map(Double.init) ?? now else {
            return nil
        }
        return max(Double(until) - present, 0)
    }
}
