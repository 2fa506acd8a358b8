/// The nodes of other hosts that follow this node's announcement, and the messages to send to each.
///
/// It has no socket.
package struct AnnouncementFollowers {
    /// The most followers at once.
    package static let maximumWatchers = 256
    /// The silence after which a follower is forgotten: three seconds; a follower sends a request every 400 ms.
    package static let silenceNanoseconds: Int64 = 3_000_000_000
    /// The shortest interval between two sends of an unchanged announcement: a tenth of a second.
    package static let repetitionNanoseconds: Int64 = 100_000_000

    package enum Answer: Hashable {
        case nothing, signOfLife, announcement
    }

    private struct Watcher {
        let address: ClientAddress
        var receivedAt: Int64
        var sentAt: Int64
        var sentRevision: UInt64
    }

    private let bootID: UInt64
    private var watchers: [Watcher] = []
    /// Counts the changes of the announcement; 0 before the first.
    package private(set) var revision: UInt64 = 0

    package init(bootID: UInt64) { self.bootID = bootID }

    /// The followers, in the order they joined.
    package var addresses: [ClientAddress] { watchers.map(\.address) }

    /// Records that the announcement changed, and returns the followers, all of which must be sent it.
    package mutating func changed(_ now: Int64) -> [ClientAddress] {
        revision &+= 1
        forgetSilent(now)
        for index in watchers.indices { (watchers[index].sentAt, watchers[index].sentRevision) = (now, revision) }
        return addresses
    }

    package mutating func asked(_ address: ClientAddress, boot: UInt64, revision known: UInt64, now: Int64) -> Answer {
        let isCurrent = boot == bootID && known == revision
        if let index = watchers.firstIndex(where: { $0.address == address }) {
            watchers[index].receivedAt = now
            if isCurrent { return .signOfLife }
            let isRepetition = watchers[index].sentRevision == revision
            if isRepetition, now - watchers[index].sentAt < Self.repetitionNanoseconds { return .nothing }
            (watchers[index].sentAt, watchers[index].sentRevision) = (now, revision)
            return .announcement
        }
        if watchers.count >= Self.maximumWatchers { forgetSilent(now) }
        guard watchers.count < Self.maximumWatchers else { return .nothing }
        watchers.append(Watcher(address: address, receivedAt: now, sentAt: now, sentRevision: revision))
        return isCurrent ? .signOfLife : .announcement
    }

    /// Forgets a follower that left or cannot be reached any more.
    package mutating func remove(_ address: ClientAddress) { watchers.removeAll { $0.address == address } }

    private mutating func forgetSilent(_ now: Int64) {
        watchers.removeAll { now - $0.receivedAt >= Self.silenceNanoseconds }
    }
}
