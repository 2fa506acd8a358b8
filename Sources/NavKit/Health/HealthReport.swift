/// A reason why a node is not well, by a stable name.
public struct HealthFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Severity: Sendable, Hashable, Comparable {
        /// The node does less than it should.
        case degraded
        /// The node does not do what it is for.
        case lost
    }

    /// Machine-readable, lower case with underscores, `source_unreachable` for one.
    public var code: String
    /// A description of what is wrong and what to do.
    public var message: String
    /// The severity.
    public var severity: Severity
    /// The subject, a topic for one: findings of one code about different subjects are different.
    public var subject: String

    /// A finding.
    public init(_ code: String, _ message: String, severity: Severity = .degraded, about subject: String = "") {
        self.code = code
        self.subject = subject
        self.message = message
        self.severity = severity
    }
}

/// Remembers for how long each finding has been there, and what has lately gone wrong with topics. It knows no clock.
package struct HealthMemory {
    /// The time that a loss counts, ns: ten seconds.
    static let lossNanoseconds: Int64 = 10_000_000_000

    package init() {}

    private struct Loss {
        var seen: UInt64 = 0
        var lately: UInt64 = 0
        var since: Int64 = .min / 2
    }

    private struct Count {
        var count: UInt64
        var at: Int64
    }

    private var since: [String: Int64] = [:]
    private var losses: [String: Loss] = [:]
    private var counts: [String: Count] = [:]

    /// Returns the first moment of a finding that has been there without a break, by the given stamp of now.
    package mutating func since(of findings: [HealthFinding], at stamp: Int64) -> [Int64] {
        let keys = findings.map { $0.code + " " + $0.subject }
        since = since.filter { keys.contains($0.key) }
        return keys.map { key in
            let first = since[key] ?? stamp
            since[key] = first
            return first
        }
    }

    /// Returns the growth of a counter of losses within the last ten seconds.
    package mutating func recentLoss(_ key: String, total: UInt64, at now: Int64) -> UInt64 {
        var loss = losses[key] ?? Loss()
        if now - loss.since >= HealthMemory.lossNanoseconds { loss.lately = 0 }
        if total > loss.seen {
            if loss.lately == 0 { loss.since = now }
            loss.lately += total - loss.seen
            loss.seen = total
        }
        losses[key] = loss
        return loss.lately
    }

    /// Returns the rate of a counter since the last call, per second; nil the first time.
    package mutating func rate(_ key: String, count: UInt64, at now: Int64) -> Double? {
        defer { counts[key] = Count(count: count, at: now) }
        guard let before = counts[key], now > before.at, count >= before.count else { return nil }
        return Double(count - before.count) / (Double(now - before.at) * 1e-9)
    }
}
