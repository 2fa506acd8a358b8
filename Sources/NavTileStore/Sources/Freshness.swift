package import NavGeo

/// What an answer's headers say of how long it holds, by RFC 9111 for a cache of one's own.
package struct Freshness: Sendable, Hashable {
    /// Whether it may be stored.
    package var isStorable = true
    /// When it expires; nil when that is not said.
    package var expires: Timestamp?

    /// - Parameters:
    ///   - received: when the answer came.
    ///   - delay: seconds between question and answer.
    package init(
        cacheControl: [String], age: String?, expires: String?, date: String?, received: Timestamp, delay: Double
    ) {
        var maximumAge: Int64?
        var mustAsk = false
        for directive in cacheControl.flatMap({ Self.directives(of: $0) }) {
            switch directive.name {
            case "no-store": isStorable = false
            // With field names it concerns those alone (RFC 9111, 5.2.2.4).
            case "no-cache": mustAsk = mustAsk || directive.value == nil
            // Of several the first counts, and one that is no number is stale (4.2.1).
            case "max-age": maximumAge = maximumAge ?? Self.deltaSeconds(directive.value ?? "") ?? 0
            default: break
            }
        }
        // The corrected age value (4.2.3): it needs no comparison of two machines' clocks.
        let age = Double(age.flatMap(Self.deltaSeconds) ?? 0) + max(delay, 0)
        if mustAsk || !isStorable {
            self.expires = received
        } else if let maximumAge {
            self.expires = received.advanced(bySeconds: max(Double(maximumAge) - age, 0))
        } else if let expires {
            // An invalid date means in the past (5.3).
            let lifetime = HTTPDate.parse(expires).map { moment in
                Double(moment) - (date.flatMap(HTTPDate.parse).map(Double.init) ?? received.seconds)
            }
            self.expires = received.advanced(bySeconds: max((lifetime ?? 0) - age, 0))
        }
    }

    /// The directives of a Cache-Control field, names in lower case, values without their quotes.
    private static func directives(of field: String) -> [(name: String, value: String?)] {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in field.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: ","), !isQuoted { parts.append([]) } else { parts[parts.count - 1].append(byte) }
        }
        return parts.map { part in
            let pieces = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = pieces.first.map(trimmed) ?? ""
            return (name.lowercased(), pieces.count > 1 ? trimmed(pieces[1]) : nil)
        }
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: "\"") }
        let start = text.drop(while: isSpace)
        return String(decoding: start.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }

    /// Seconds as a header says them; a number beyond 2^31 is 2^31 (RFC 9111, 1.2.2); nil for what is none.
    package static func deltaSeconds(_ text: String) -> Int64? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(Int64(text) ?? 1 << 31, 1 << 31)
    }

    /// Seconds to wait that a Retry-After says: a number, or a moment.
    ///
    /// - Parameter date: the answer's Date, so that the two clocks need not agree.
    package static func retryAfter(_ text: String?, date: String?, now: Timestamp) -> Double? {
        guard let text else { return nil }
        if let seconds = deltaSeconds(text) { return Double(seconds) }
        guard let moment = HTTPDate.parse(text) else { return nil }
        return max(Double(moment) - (date.flatMap(HTTPDate.parse).map(Double.init) ?? now.seconds), 0)
    }
}

/// Dates in headers: the three forms of RFC 9110, section 5.6.7.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since the Unix epoch; nil for what is no date.
    package static func parse(_ text: String) -> Int64? {
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
}
