internal import Glibc

/// An inotify watcher that reports which nodes of a domain's registry may have changed.
///
/// It watches the domain's directory for nodes that start and exit, and each node's directory for a new announcement and for
/// the last close of its lock, which the kernel reports even when a process is killed. Without inotify (its instances are
/// limited per user) there is no descriptor, and the caller reads the registry at intervals.
final class RegistryWatcher {
    private let directory: BusDirectory
    private let file: FileDescriptor?
    private var domain: Int32 = -1
    private var nodes: [Int32: String] = [:]
    private var watches: [String: Int32] = [:]

    private static let domainMask = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
    private static let nodeMask = UInt32(
        IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW)
    private static let bufferSize = 16_384

    init(_ directory: BusDirectory) {
        self.directory = directory
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        file = descriptor >= 0 ? FileDescriptor(descriptor) : nil
    }

    /// Readable when something changed; nil without inotify.
    var fileDescriptor: Int32? { file?.rawValue }

    /// Whether every change is reported: the domain and all nodes are watched.
    private(set) var isHealthy = false

    /// Watches the domain and the nodes that `names` then lists; call it before reading the registry.
    ///
    /// The domain comes first, so that its watch reports a node whose directory is created after the listing.
    func watchAll(_ names: () -> [String]) {
        guard let file else { return }
        domain = inotify_add_watch(file.rawValue, directory.domainPath, Self.domainMask)
        isHealthy = domain >= 0
        for name in names() { watch(name) }
    }

    /// Watches one node.
    ///
    /// A directory that is recreated under the same name has a new watch.
    func watch(_ name: String) {
        guard let file else { return }
        let watch = inotify_add_watch(file.rawValue, directory.nodePath(name), Self.nodeMask)
        guard watch >= 0 else {
            // A vanished directory is no failure; running out of watches is.
            if errno != ENOENT && errno != ENOTDIR { isHealthy = false }
            return
        }
        if let old = watches.updateValue(watch, forKey: name), old != watch { nodes[old] = nil }
        nodes[watch] = name
    }

    /// The change that an event reports.
    enum Change {
        case node(String, lockClosed: Bool)
        case lost
        /// The domain's directory was removed.
        case domainRemoved
    }

    /// Handles the waiting events, at most one buffer; while more wait, the descriptor stays readable.
    func drain(_ body: (Change) -> Void) {
        guard let file else { return }
        withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 8) { buffer in
            let count = read(file.rawValue, buffer.baseAddress, buffer.count)
            guard count > 0 else { return }
            var offset = 0
            let header = MemoryLayout<inotify_event>.size
            while offset + header <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let end = min(count, offset + header + Int(event.len))
                let name = UnsafeRawBufferPointer(rebasing: buffer[offset + header..<end])
                if let change = change(event, String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)) {
                    body(change)
                }
                offset = end
            }
        }
    }

    private func change(_ event: inotify_event, _ name: String) -> Change? {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return .lost }
        if event.wd == domain {
            if event.mask & UInt32(IN_IGNORED) != 0 { return .domainRemoved }
            return Names.isDirectoryName(name) ? .node(name, lockClosed: false) : nil
        }
        guard let node = nodes[event.wd] else { return nil }
        if event.mask & UInt32(IN_IGNORED) != 0 {
            nodes[event.wd] = nil
            if watches[node] == event.wd { watches[node] = nil }
        }
        // A temporary file is written and closed before it is renamed into place: only the rename counts.
        if name.hasSuffix(".new") { return nil }
        return .node(node, lockClosed: name == "lock")
    }
}
