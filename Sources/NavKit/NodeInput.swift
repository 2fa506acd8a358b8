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

    let entry: TopicEntry
    let name: String
    /// Whether the node cannot work without the topic.
    let isRequired: Bool
    private let take: (Delivery) throws(MessageError) -> Void
    var subscription: SubscriptionID?

    private(set) var count: UInt64 = 0
    private(set) var bytes: UInt64 = 0
    package private(set) var rejected: UInt64 = 0
    private(set) var mismatched: UInt64 = 0
    private(set) var lastAt: Int64?
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

    /// The longest silence that is not reported, in nanoseconds: the longer of 2.5 s (as for a GNSS outage) and three
    /// nominal periods; nil for topics published on events only.
    var toleratedSilence: Int64? {
        entry.nominalRateHz.map { Int64(max(2.5, 3 / max($0, 0.001)) * 1e9) }
    }
}
