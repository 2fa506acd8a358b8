internal import Glibc

/// A node's view of the other nodes, kept up to date by events and shared by its topics and services.
///
/// It is created with the first subscription or call: a node that only publishes does not read the registry.
///
/// When the domain's directory is removed, its nodes continue to work and register again, so all are kept for two of the intervals at
/// which nodes check their files.
final class RegistryFollower {
    private let directory: BusDirectory
    private let watcher: RegistryWatcher
    private var reader: RegistryReader
    private var schedule: RegistrySchedule

    private(set) var nodes: [Announcement] = []
    /// Counts the changes of ``nodes``; 0 before the first read.
    private(set) var generation = 0

    /// The nodes that vanished in the last ``vanishingNanoseconds``, and the times: their files may have been the first to be removed with
    /// the domain's directory.
    private var vanished: [String: (node: Announcement, at: Int64)] = [:]
    /// The nodes of a removed directory that have not registered again.
    private var unconfirmed: [Announcement] = []
    /// The time at which they count as disconnected; `.max` while there is no directory.
    private var unconfirmedUntil: Int64 = .max

    private let rescanNanoseconds: Int64
    private let safetyNetNanoseconds: Int64
    /// The time for which subscribers keep the connection to a node that vanished: a second.
    static let vanishingNanoseconds: Int64 = 1_000_000_000

    init(_ configuration: BusConfiguration) {
        directory = configuration.directory
        watcher = RegistryWatcher(directory)
        reader = RegistryReader(directory: directory)
        rescanNanoseconds = Int64(configuration.rescanMilliseconds) * 1_000_000
        safetyNetNanoseconds = configuration.safetyNetNanoseconds
        // Full reads are rarer while inotify reports each change.
        schedule = RegistrySchedule(
            interval: watcher.fileDescriptor == nil ? rescanNanoseconds : safetyNetNanoseconds)
    }

    /// Readable when the registry changed; nil without inotify.
    var fileDescriptor: Int32? { watcher.fileDescriptor }

    /// The time when ``follow(_:)`` must be called even without an event, in monotonic nanoseconds.
    var next: Int64 { schedule.next }

    /// The number of announcements and locks checked since the start.
    var looks: Int { reader.looks }

    /// Handles the pending events, and reads the entries that they and the schedule require.
    func follow(_ now: Int64) {
        if !vanished.isEmpty { vanished = vanished.filter { now - $0.value.at < Self.vanishingNanoseconds } }
        watcher.drain { change in
            switch change {
            case .node(let name, let lockClosed): schedule.changed(name, lockClosed: lockClosed, now: now)
            case .lost: schedule.lostEvents(now)
            case .domainRemoved:
                keepAll()
                schedule.lostEvents(now)
            }
        }
        switch schedule.take(now) {
        case .nothing: break
        case .nodes(let names):
            for name in names { watcher.watch(name) }
            update(try? reader.update(names), now)
        case .everything:
            watcher.watchAll { (try? reader.names()) ?? [] }
            update(try? reader.read(), now)
            if !watcher.isHealthy { schedule.lookAgain(at: now + rescanNanoseconds) }
        }
    }

    private func update(_ snapshot: RegistrySnapshot?, _ now: Int64) {
        guard let snapshot else {
            // While the directory cannot be read, the nodes are kept. Without inotify, only this detects its removal.
            if access(directory.domainPath, F_OK) != 0, errno == ENOENT { keepAll() }
            return
        }
        var current = snapshot.nodes
        if !unconfirmed.isEmpty {
            let present = Set(current.map(\.node))
            unconfirmed.removeAll { present.contains($0.node) }
            unconfirmedUntil = min(unconfirmedUntil, now + 2 * safetyNetNanoseconds)
            if now >= unconfirmedUntil { unconfirmed = [] }
            current = Self.sorted(current + unconfirmed)
        }
        guard generation == 0 || current != nodes else { return }
        let left = Set(current.map(\.node))
        for node in nodes where !left.contains(node.node) && !isDead(node.node) { vanished[node.node] = (node, now) }
        nodes = current
        generation += 1
    }

    /// Returns whether a node died and left its files behind: its lock file exists and is free.
    private func isDead(_ node: String) -> Bool {
        access(directory.announcementPath(node), F_OK) == 0 && access(directory.lockPath(node), F_OK) == 0
    }

    /// Keeps the nodes of a removed directory, and restores those that have just vanished.
    private func keepAll() {
        let known = Set(nodes.map(\.node))
        let restored = vanished.values.map(\.node).filter { !known.contains($0.node) }
        vanished = [:]
        unconfirmed = Self.sorted(nodes + restored)
        unconfirmedUntil = .max
        guard !restored.isEmpty else { return }
        nodes = unconfirmed
        generation += 1
    }

    private static func sorted(_ nodes: [Announcement]) -> [Announcement] { nodes.sorted { $0.node < $1.node } }
}
