/// An authenticator of ZeroMQ's authentication protocol (RFC 27/ZAP): it admits allowed hosts and counts connections.
///
/// It has no socket.
package struct Authenticator {
    /// The answer to a request, and an event to report.
    package struct Verdict {
        package var reply: [[UInt8]]
        package var event: HostEvent?
    }

    /// The ZAP domain of the sockets.
    static let domain = "navbus"
    /// The most frames of a request that are read.
    static let maximumFrames = 16

    /// The keys that are admitted.
    package var allowed: Set<CurvePublicKey>
    private var deniedReports = ReportLimiter<CurvePublicKey>()
    private var refusedReports = ReportLimiter<String>()
    private var succeeded: UInt64 = 0
    package private(set) var statistics = HostStatistics()

    package init(allowed: Set<CurvePublicKey>) { self.allowed = allowed }

    /// Judges a request: version, request id, domain, address, routing id, mechanism, credentials.
    package mutating func authenticate(_ request: [[UInt8]], now: Int64) -> Verdict {
        let id = request.count > 1 && request[1].count <= 255 ? request[1] : []
        guard request.count == 7, request[0] == Array("1.0".utf8), request[2] == Array(Self.domain.utf8),
            request[5] == Array("CURVE".utf8), request[6].count == 32
        else {
            statistics.denied += 1
            return Verdict(reply: Self.reply(id, "400", "only CURVE is accepted"), event: nil)
        }
        let key = CurvePublicKey(bytes: request[6])
        if allowed.contains(key) { return Verdict(reply: Self.reply(id, "200", "OK"), event: nil) }
        statistics.denied += 1
        var event: HostEvent?
        if deniedReports.mayReport(key, now) {
            event = .denied(key: key, address: String(decoding: request[3].prefix(64), as: UTF8.self))
        }
        return Verdict(reply: Self.reply(id, "400", "this key is not allowed"), event: event)
    }

    private static func reply(_ id: [UInt8], _ code: String, _ text: String) -> [[UInt8]] {
        [Array("1.0".utf8), id, Array(code.utf8), Array(text.utf8), [], []]
    }

    // MARK: Connections

    package mutating func accepted() { statistics.connections += 1 }

    package mutating func admitted() {
        succeeded += 1
        settle()
    }

    /// Records the end of a connection.
    ///
    /// ZeroMQ does not identify the connection, so it counts as refused while any connection is neither admitted nor
    /// refused; ``settle()`` undoes that when that connection turns out to be admitted.
    package mutating func disconnected(from endpoint: String, now: Int64) -> HostEvent? {
        statistics.refused += 1
        settle()
        let isStrange = statistics.refused > statistics.denied
        return isStrange && refusedReports.mayReport(endpoint, now) ? .refused(endpoint: endpoint) : nil
    }

    private mutating func settle() {
        let open = statistics.connections > succeeded ? statistics.connections - succeeded : 0
        statistics.refused = min(statistics.refused, open)
    }
}
