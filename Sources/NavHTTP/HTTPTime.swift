import CCurl
package import NavGeo

package enum HTTPTime {
    /// Parses a date in any form of RFC 9110, section 5.6.7; returns seconds since the Unix epoch, nil when it is
    /// malformed.
    package static func moment(_ text: String) -> Int64? {
        let moment = text.utf8.count <= 64 ? curl_getdate(text, nil) : -1
        return moment == -1 ? nil : Int64(moment)
    }

    /// Parses a number of seconds, at most 2^31 (RFC 9111, 1.2.2); returns nil when it is malformed.
    package static func deltaSeconds(_ text: String) -> Int64? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(Int64(text) ?? 1 << 31, 1 << 31)
    }

    /// Parses a Retry-After, a number or a date (RFC 9110, 10.2.3); returns the seconds to wait, nil when it is
    /// malformed or absent.
    ///
    /// A date is relative to the answer's own Date, because the vehicle's clock may be wrong by years; without a Date,
    /// to that clock.
    ///
    /// - Parameters:
    ///   - text: the value of the field; nil when it is absent.
    ///   - date: the value of the answer's Date; nil when it is absent.
    ///   - received: the arrival of the answer on the machine's clock.
    package static func retryAfter(_ text: String?, date: String?, received: Timestamp) -> Double? {
        guard let text else { return nil }
        if let seconds = deltaSeconds(text) { return Double(seconds) }
        guard let until = moment(text) else { return nil }
        if let sent = date.flatMap(moment) { return Double(max(until - sent, 0)) }
        return max(Double(until) - Double(received.nanoseconds) * 1e-9, 0)
    }
}
