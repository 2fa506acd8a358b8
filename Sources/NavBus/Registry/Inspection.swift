internal import Glibc

/// A snapshot of a domain's registry.
public struct RegistrySnapshot: Sendable, Hashable {
    /// The live nodes, by name.
    public var nodes: [Announcement]
    /// One line for each live node whose announcement is invalid, with the reason.
    public var problems: [String]

    /// Each published topic with its publishers' names, by topic.
    public var topics: [(topic: TopicDescription, publisher: String)] {
        nodes.flatMap { node in node.topics.map { (topic: $0, publisher: node.node) } }
            .sorted { ($0.topic.name, $0.publisher) < ($1.topic.name, $1.publisher) }
    }
}

extension BusDirectory {
    /// The most nodes of a domain that are read.
    package static let maximumNodes = 1024

    /// Reads the live nodes and their publications without joining: nothing is created, connected or locked.
    ///
    /// A domain that has never been used is empty, not an error.
    public func inspect() throws(BusError) -> RegistrySnapshot {
        var reader = RegistryReader(directory: self)
        return try reader.read() ?? RegistrySnapshot(nodes: [], problems: [])
    }
}

/// A reader of a domain's registry that parses only announcements that changed.
package struct RegistryReader {
    private struct Cached {
        let inode: UInt
        let modified: timespec
        let size: Int
        let announcement: Announcement?
        let problem: String?

        func isOf(_ status: stat) -> Bool {
            inode == UInt(status.st_ino) && size == Int(status.st_size)
                && modified.tv_sec == status.st_mtim.tv_sec && modified.tv_nsec == status.st_mtim.tv_nsec
        }
    }

    private let directory: BusDirectory
    private var cache: [String: Cached] = [:]

    package init(directory: BusDirectory) { self.directory = directory }

    /// Returns the names in the domain's directory that can be nodes; nil when there is no such directory.
    package func names() throws(BusError) -> [String]? {
        guard let names = FileSystem.list(directory.domainPath) else {
            if errno == ENOENT { return nil }
            throw BusError(.registry, "cannot read \(directory.domainPath): \(FileSystem.reason())")
        }
        return Array(names.lazy.filter(Names.isDirectoryName).prefix(BusDirectory.maximumNodes))
    }

    /// The number of nodes checked: a lock probed, and an announcement read when it changed.
    package private(set) var looks = 0

    /// Reads the whole registry; nil when the domain has no directory.
    package mutating func read() throws(BusError) -> RegistrySnapshot? {
        guard let names = try names() else { return nil }
        try check()
        let present = Set(names)
        cache = cache.filter { present.contains($0.key) }
        for name in names { look(name) }
        return snapshot
    }

    /// Returns the registry after reading only `names` again.
    package mutating func update(_ names: [String]) throws(BusError) -> RegistrySnapshot {
        try check()
        for name in names where cache.count < BusDirectory.maximumNodes || cache[name] != nil { look(name) }
        return snapshot
    }

    private func check() throws(BusError) {
        try FileSystem.checkDirectory(directory.path, isPrivate: directory.isPrivate)
        try FileSystem.checkDirectory(directory.domainPath, isPrivate: directory.isPrivate)
    }

    private mutating func look(_ name: String) {
        looks += 1
        // A probe briefly takes the lock. The lock of a node without an announcement is not probed, because the node may be about to claim
        // its name.
        let isAnnounced = access(directory.announcementPath(name), F_OK) == 0
        cache[name] = isAnnounced && NodeLock.isHeld(name, in: directory) ? entry(name) : nil
    }

    private var snapshot: RegistrySnapshot {
        var snapshot = RegistrySnapshot(nodes: [], problems: [])
        for (_, entry) in cache.sorted(by: { $0.key < $1.key }) {
            if let announcement = entry.announcement { snapshot.nodes.append(announcement) }
            if let problem = entry.problem { snapshot.problems.append(problem) }
        }
        return snapshot
    }

    /// Returns one node's announcement, from the cache when the file is unchanged; nil before the node has announced itself.
    private func entry(_ name: String) -> Cached? {
        let path = directory.announcementPath(name)
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        if let cached = cache[name], cached.isOf(status) { return cached }
        var announcement: Announcement?
        var problem: String?
        do {
            let file = try FileSystem.read(path, limit: Announcement.maximumSize)
            status = file.status
            announcement = try Announcement(json: file.bytes, node: name)
        } catch {
            problem = error.description
        }
        return Cached(
            inode: UInt(status.st_ino), modified: status.st_mtim, size: Int(status.st_size),
            announcement: announcement, problem: problem)
    }
}
