/// A reason why a node is unhealthy, identified by a stable code.
public struct HealthFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Severity: Sendable, Hashable, Comparable {
        /// The node works, but worse than it should.
        case degraded
        /// The node does not fulfil its purpose.
        case lost
    }

    /// A machine-readable code, lower case with underscores, for example `source_unreachable`.
    public var code: String
    /// A description of what is wrong and what to do.
    public var message: String
    /// The severity.
    public var severity: Severity
    /// The subject, for example a topic; findings with the same code but different subjects are distinct.
    public var subject: String
    /// Whether the finding is also logged when it begins.
    public var isLogged: Bool

    /// Creates a finding.
    public init(
        _ code: String, _ message: String, severity: Severity = .degraded, about subject: String = "",
        isLogged: Bool = false
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.severity = severity
        self.isLogged = isLogged
    }

    fileprivate var key: String { code + " " + subject }
}

/// The duration of each finding, and recent losses.
///
/// It reads no clock.
package struct HealthMemory {
    /// The time for which a loss counts as recent: ten seconds.
    static let lossNanoseconds: Int64 = 10_000_000_000

    package init() {}

    private struct Loss {
        var seen: UInt64 = 0
        /// The growth over intervals of about a second, oldest first.
        var recent: [(at: Int64, count: UInt64)] = []
    }

    private struct Count {
        var count: UInt64
        var at: Int64
    }

    private var since: [String: Int64] = [:]
    private var losses: [String: Loss] = [:]
    private var counts: [String: Count] = [:]
    /// The moment since which each condition of ``hasLasted(_:for:_:at:)`` has held.
    private var held: [String: Int64] = [:]

    /// Returns the moment since which each finding has lasted without interruption, given the current stamp.
    package mutating func since(of findings: [HealthFinding], at stamp: Int64) -> [Int64] {
        let keys = findings.map(\.key)
        since = since.filter { keys.contains($0.key) }
        return keys.map { key in
            let first = since[key] ?? stamp
            since[key] = first
            return first
        }
    }

    /// Returns whether a finding was absent from the last report.
    func isNew(_ finding: HealthFinding) -> Bool { since[finding.key] == nil }

    /// Forgets the history; earlier losses are not counted again.
    package mutating func startOver() {
        since = [:]
        counts = [:]
        held = [:]
        for key in losses.keys { losses[key]?.recent = [] }
    }

    /// Returns whether a condition has now held for `duration` nanoseconds without interruption.
    package mutating func hasLasted(_ key: String, for duration: Int64, _ holds: Bool, at now: Int64) -> Bool {
        guard holds else {
            held[key] = nil
            return false
        }
        // Before the first message of `/clock` the time is the machine's, which may be later.
        let first = min(held[key] ?? now, now)
        held[key] = first
        return now - first >= duration
    }

    /// Returns the growth of a loss counter in the last ten seconds.
    package mutating func recentLoss(_ key: String, total: UInt64, at now: Int64) -> UInt64 {
        var loss = losses[key] ?? Loss()
        loss.recent.removeAll { now - $0.at >= HealthMemory.lossNanoseconds }
        if total > loss.seen {
            let growth = total - loss.seen
            if let last = loss.recent.last, now - last.at < 1_000_000_000 {
                loss.recent[loss.recent.count - 1].count += growth
            } else {
                loss.recent.append((now, growth))
            }
            loss.seen = total
        }
        losses[key] = loss
        return loss.recent.reduce(0) { $0 + $1.count }
    }

    /// Returns the rate of a counter since the last call, per second; nil the first time.
    package mutating func rate(_ key: String, count: UInt64, at now: Int64) -> Double? {
        defer { counts[key] = Count(count: count, at: now) }
        guard let before = counts[key], now > before.at, count >= before.count else { return nil }
        return Double(count - before.count) / (Double(now - before.at) * 1e-9)
    }
}
