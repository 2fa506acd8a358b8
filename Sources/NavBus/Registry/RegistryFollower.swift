internal import Glibc

/// A node's view of the other nodes, kept up to date by events and shared by its topics and services.
///
/// It is created with the first subscription or call: a node that only publishes does not read the registry.
final class RegistryFollower {
    private let watcher: RegistryWatcher
    private var reader: RegistryReader
    private var schedule: RegistrySchedule

    private(set) var nodes: [Announcement] = []
    /// Counts the changes of ``nodes``; 0 before the first look.
    private(set) var generation = 0

    /// The factor by which full reads are rarer while inotify reports each change.
    private static let healthyFactor: Int64 = 30

    init(_ directory: BusDirectory, rescanMilliseconds: Int) {
        watcher = RegistryWatcher(directory)
        reader = RegistryReader(directory: directory)
        let factor = watcher.fileDescriptor == nil ? 1 : Self.healthyFactor
        schedule = RegistrySchedule(interval: Int64(rescanMilliseconds) * 1_000_000 * factor)
        self.rescanNanoseconds = Int64(rescanMilliseconds) * 1_000_000
    }

    private let rescanNanoseconds: Int64

    /// Readable when the registry changed; nil without inotify.
    var fileDescriptor: Int32? { watcher.fileDescriptor }

    /// The time when ``follow(_:)`` must be called even without an event, in monotonic nanoseconds.
    var next: Int64 { schedule.next }

    /// The number of announcements and locks checked since the start.
    var looks: Int { reader.looks }

    /// Handles the waiting events, and reads what they and the schedule require.
    ///
    /// - Returns: whether ``nodes`` changed. It does not change while the domain's directory cannot be read.
    @discardableResult
    func follow(_ now: Int64) -> Bool {
        watcher.drain { change in
            switch change {
            case .node(let name, let lockClosed): schedule.changed(name, lockClosed: lockClosed, now: now)
            case .lost: schedule.lostEvents(now)
            }
        }
        switch schedule.take(now) {
        case .nothing: return false
        case .nodes(let names):
            for name in names { watcher.watch(name) }
            return update(try? reader.update(names))
        case .everything:
            // While the directory cannot be read, nothing is known to have changed.
            watcher.watchAll { (try? reader.names()) ?? [] }
            let isChanged = update(try? reader.read())
            if !watcher.isHealthy { schedule.lookAgain(at: now + rescanNanoseconds) }
            return isChanged
        }
    }

    private func update(_ snapshot: RegistrySnapshot??) -> Bool {
        guard let snapshot = snapshot ?? nil, generation == 0 || snapshot.nodes != nodes else { return false }
        nodes = snapshot.nodes
        generation += 1
        return true
    }
}
