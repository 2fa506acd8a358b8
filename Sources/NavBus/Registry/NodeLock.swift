internal import Glibc

/// A node's claim on its name: an exclusive `flock` on `<node>/lock`, held for the node's lifetime and freed by the kernel however the
/// process ends.
package final class NodeLock {
    private let directory: BusDirectory
    private let node: String
    private var file: FileDescriptor

    /// Claims a name and removes the files that a dead node of that name left.
    package init(_ node: String, in directory: BusDirectory) throws(BusError) {
        self.node = node
        self.directory = directory
        file = try Self.claim(node, in: directory, attempts: Self.attempts)
    }

    /// Claims the name again after the lock's file was removed.
    func renew() throws(BusError) { file = try Self.claim(node, in: directory, attempts: 1) }

    /// Whether the lock's path still names the file that is locked.
    var isInPlace: Bool { Self.isStillAt(directory.lockPath(node), file) }

    /// Whether the lock's path names another file: after this one was removed, another process took the name.
    var isTaken: Bool { access(directory.lockPath(node), F_OK) == 0 && !isInPlace }

    /// Takes the lock and removes the files that a dead node of that name left.
    ///
    /// Others probe a lock by briefly taking it in shared mode, so a refusal counts only if it persists.
    private static func claim(
        _ node: String, in directory: BusDirectory, attempts: Int
    ) throws(BusError) -> FileDescriptor {
        let path = directory.lockPath(node)
        var refusals = 0
        while true {
            // A node that starts at the same time may remove a dead directory between these steps, hence the retry.
            guard let file = try open(node, in: directory, mayVanish: refusals < attempts) else {
                refusals += 1
                continue
            }
            let isLocked = flock(file.rawValue, LOCK_EX | LOCK_NB) == 0
            if isLocked && isStillAt(path, file) {
                clear(directory.nodePath(node))
                ftruncate(file.rawValue, 0)
                try FileSystem.write(Array("\(getpid())\n".utf8), to: file, path: path)
                return file
            }
            guard isLocked || errno == EWOULDBLOCK || errno == EINTR else {
                throw BusError(.registry, "cannot lock \(path): \(FileSystem.reason())")
            }
            refusals += 1
            guard refusals < attempts else {
                throw BusError(
                    .nameBusy,
                    "node name '\(node)' is in use by process \(holder(path)) (\(path)): stop that process, or "
                        + "start this node under another name or NAVBUS_DOMAIN")
            }
            usleep(5_000)
        }
    }

    /// The number of attempts, 5 ms apart: a second, because a busy machine may interrupt a process while it probes the lock.
    private static let attempts = 200

    /// Creates the node's directory and opens its lock; nil when the directory has disappeared in the meantime.
    private static func open(
        _ node: String, in directory: BusDirectory, mayVanish: Bool
    ) throws(BusError) -> FileDescriptor? {
        let path = directory.nodePath(node)
        try FileSystem.makeDirectory(path)
        do throws(BusError) {
            try FileSystem.checkDirectory(path, isPrivate: directory.isPrivate)
            if let file = FileDescriptor.open(directory.lockPath(node), O_RDWR | O_CREAT) { return file }
            throw BusError(.registry, "cannot open \(directory.lockPath(node)): \(FileSystem.reason())")
        } catch {
            if mayVanish && access(path, F_OK) != 0 { return nil }
            throw error
        }
    }

    /// Frees the name, and removes the node's directory unless another process has taken it over.
    package func release() {
        if !isTaken {
            Self.clear(directory.nodePath(node))
            unlink(directory.lockPath(node))
            rmdir(directory.nodePath(node))
        }
        flock(file.rawValue, LOCK_UN)
    }

    /// Returns whether a live process holds the node's lock.
    package static func isHeld(_ node: String, in directory: BusDirectory) -> Bool {
        guard let file = FileDescriptor.open(directory.lockPath(node), O_RDONLY) else { return false }
        return flock(file.rawValue, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Removes the directories of the domain's dead nodes.
    ///
    /// A directory without an announcement stays: its node may be about to claim the name.
    package static func sweep(_ directory: BusDirectory) {
        for node in FileSystem.list(directory.domainPath) ?? [] where Names.isDirectoryName(node) {
            guard access(directory.announcementPath(node), F_OK) == 0 else { continue }
            let path = directory.lockPath(node)
            // Read-only: closing a writable descriptor would wake every process that watches for deaths of nodes.
            guard let file = FileDescriptor.open(path, O_RDONLY), flock(file.rawValue, LOCK_EX | LOCK_NB) == 0,
                isStillAt(path, file)
            else { continue }
            clear(directory.nodePath(node))
            unlink(path)
            rmdir(directory.nodePath(node))
        }
    }

    /// Returns whether `path` still names `file`: a lock on a file that has since been removed protects nothing.
    private static func isStillAt(_ path: String, _ file: FileDescriptor) -> Bool {
        var named = stat()
        guard let opened = file.status, lstat(path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Returns the process id written in a lock, for an error message.
    private static func holder(_ path: String) -> String {
        let text = (try? FileSystem.read(path, limit: 32)).map { String(decoding: $0.bytes, as: UTF8.self) }
        return text.flatMap { Int32($0.prefix { $0.isNumber }) }.map(String.init) ?? "unknown"
    }

    /// Removes exactly the files that a node creates beside its lock.
    private static func clear(_ path: String) {
        for name in ["announcement.json", "announcement.json.new", "pub", "rpc"] {
            unlink("\(path)/\(name)")
        }
    }
}
