internal import Glibc

/// Tells when a domain's registry may have changed, through inotify.
///
/// Watches the domain's directory for nodes that come and go, and each node's directory for a new announcement and for
/// the last close of its lock, which the kernel reports also when a process is killed. Without inotify (its instances
/// are limited per user) there is no descriptor and the caller reads the registry at intervals.
final class RegistryWatcher {
    private let directory: BusDirectory
    private let file: FileDescriptor?

    init(_ directory: BusDirectory) {
        self.directory = directory
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        file = descriptor >= 0 ? FileDescriptor(descriptor) : nil
    }

    /// Readable when something changed; nil without inotify.
    var fileDescriptor: Int32? { file?.rawValue }

    /// Sets the watches; call it before reading the registry, so that nothing falls between the two.
    func watch(nodes: [String]) {
        guard let file else { return }
        let domainMask = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
        inotify_add_watch(file.rawValue, directory.domainPath, domainMask)
        let nodeMask = UInt32(IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW)
        for node in nodes { inotify_add_watch(file.rawValue, directory.nodePath(node), nodeMask) }
    }

    /// Takes the waiting events and tells whether there were any.
    func drain() -> Bool {
        guard let file else { return false }
        var sawEvent = false
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while read(file.rawValue, buffer.baseAddress, buffer.count) > 0 { sawEvent = true }
        }
        return sawEvent
    }
}
