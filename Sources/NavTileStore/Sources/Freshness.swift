package import NavGeo
import NavHTTP

/// The freshness of an answer according to its headers, by RFC 9111 for a private cache.
package struct Freshness: Sendable, Hashable {
    package var isStorable = true
    /// The moment of expiry; nil when none is given.
    package var expires: Timestamp?

    /// - Parameters:
    ///   - received: the moment when the answer arrived.
    ///   - delay: seconds between request and answer.
    package init(
        cacheControl: [String], age: String?, expires: String?, date: String?, received: Timestamp, delay: Double
    ) {
        var maximumAge: Int64?
        var mustAsk = false
        for directive in cacheControl.flatMap({ Self.directives(of: $0) }) {
            switch directive.name {
            case "no-store": isStorable = false
            // With field names, the directive concerns only those fields (RFC 9111, 5.2.2.4).
            case "no-cache": mustAsk = mustAsk || directive.value == nil
            // Of several values the first is used, and an invalid number means stale (4.2.1).
            case "max-age": maximumAge = maximumAge ?? HTTPTime.deltaSeconds(directive.value ?? "") ?? 0
            default: break
            }
        }
        // The corrected age value (4.2.3), which needs no comparison of two machines' clocks.
        let age = Double(age.flatMap(HTTPTime.deltaSeconds) ?? 0) + max(delay, 0)
        if mustAsk || !isStorable {
            self.expires = received
        } else if let maximumAge {
            self.expires = received.advanced(bySeconds: max(Double(maximumAge) - age, 0))
        } else if let expires {
            // An invalid date counts as past (5.3).
            let lifetime = HTTPTime.moment(expires).map { moment in
                Double(moment) - (date.flatMap(HTTPTime.moment).map(Double.init) ?? received.seconds)
            }
            self.expires = received.advanced(bySeconds: max((lifetime ?? 0) - age, 0))
        }
    }

    /// Returns the directives of a Cache-Control field, with names in lower case and values without quotes.
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
}
