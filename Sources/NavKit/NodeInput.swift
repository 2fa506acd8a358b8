import NavBus
import NavMessages

/// A topic that a node subscribes to, and the statistics of its messages.
package final class NodeInput {
    /// A publisher's run from which messages arrived.
    struct Source {
        let bootID: UInt64
        var receivedAt: Int64
        var rejectedAt: Int64?
        /// The reason for the last rejection of one of its messages.
        var problem: String?
        /// Whether its schema differs from this node's.
        var isOfAnotherSchema: Bool
    }

    /// The most publishers whose state is remembered.
    static let maximumSources = 16
    /// The number of intervals from which the usual rate is determined.
    private static let rememberedIntervals = 16

    let entry: TopicEntry
    let name: String
    /// Whether silence is reported even before the first message.
    let isRequired: Bool
    private let take: (Delivery) throws(MessageError) -> Void
    var subscription: SubscriptionID?

    private(set) var count: UInt64 = 0
    private(set) var bytes: UInt64 = 0
    package private(set) var rejected: UInt64 = 0
    private(set) var mismatched: UInt64 = 0
    private(set) var lastAt: Int64?
    /// The last intervals between messages, ns, oldest first.
    private var intervals: [Int64] = []
    private(set) var sources: [Source] = []

    init(_ entry: TopicEntry, name: String, isRequired: Bool, take: @escaping (Delivery) throws(MessageError) -> Void) {
        self.entry = entry
        self.name = name
        self.isRequired = isRequired
        self.take = take
    }

    /// A problem that must be logged once.
    enum Problem {
        /// A publisher's schema differs, but its messages can be read.
        case mismatch(bootID: UInt64)
        /// A publisher's message cannot be read.
        case unreadable(bootID: UInt64, String)
    }

    /// Decodes a message and passes it to the node.
    func handle(_ delivery: Delivery, at now: Int64) -> Problem? {
        let header = delivery.header
        let isOther = header.schemaFingerprint != 0 && header.schemaFingerprint != entry.type.schemaFingerprint
        let index = source(header.bootID, now)
        let wasKnownAsOther = sources[index].isOfAnotherSchema
        sources[index].isOfAnotherSchema = isOther
        do throws(MessageError) {
            try take(delivery)
        } catch {
            return reject(header.bootID, error.description, at: now)
        }
        count += 1
        bytes += UInt64(delivery.payload.count)
        if let lastAt {
            if intervals.count == NodeInput.rememberedIntervals { intervals.removeFirst() }
            intervals.append(max(now - lastAt, 0))
        }
        lastAt = now
        guard isOther else { return nil }
        mismatched += 1
        return wasKnownAsOther ? nil : .mismatch(bootID: header.bootID)
    }

    /// Counts an unreadable message.
    func reject(_ bootID: UInt64, _ problem: String, at now: Int64) -> Problem? {
        let index = source(bootID, now)
        let isFirst = sources[index].problem == nil
        rejected += 1
        sources[index].rejectedAt = now
        sources[index].problem = problem
        return isFirst ? .unreadable(bootID: bootID, problem) : nil
    }

    /// Forgets past arrival times.
    func startOver() {
        lastAt = nil
        intervals = []
        sources = []
    }

    func sourceCount(since moment: Int64) -> Int { sources.count { $0.receivedAt >= moment } }

    private func source(_ bootID: UInt64, _ now: Int64) -> Int {
        if let index = sources.firstIndex(where: { $0.bootID == bootID }) {
            sources[index].receivedAt = now
            return index
        }
        if sources.count == NodeInput.maximumSources,
            let oldest = sources.indices.min(by: { sources[$0].receivedAt < sources[$1].receivedAt })
        {
            sources.remove(at: oldest)
        }
        sources.append(Source(bootID: bootID, receivedAt: now, isOfAnotherSchema: false))
        return sources.count - 1
    }

    /// The messages per second that have recently arrived; nil before the fourth message.
    ///
    /// The mean of the last intervals without the longest, so that a single interruption does not count.
    var usualRateHz: Double? {
        guard intervals.count >= 3, let longest = intervals.max() else { return nil }
        let sum = intervals.reduce(0, +) - longest
        return sum > 0 ? Double(intervals.count - 1) * 1e9 / Double(sum) : nil
    }

    /// The usual rate in a message, such as "usually 10 Hz".
    var usualRateText: String {
        guard let rate = usualRateHz else { return "its usual rate is not known" }
        return rate < 0.95 ? "usually every \(Int((1 / rate).rounded())) s" : "usually \(Int(rate.rounded())) Hz"
    }

    /// The longest silence that is not reported, in nanoseconds: the longest of 2.5 s (as for a GNSS outage), three nominal periods
    /// and three usual ones; nil for topics published on events only.
    var toleratedSilence: Int64? {
        entry.nominalRateHz.map { Int64(max(2.5, 3 / max(min($0, usualRateHz ?? $0), 0.001)) * 1e9) }
    }
}
