internal import CZeroMQ
internal import Glibc

/// The connections that a bound socket of this process has accepted.
///
/// libzmq exposes neither its peers nor their queues. The kernel provides both: an accepted connection has the local
/// address of its listening socket, and a count of the bytes its peer has not read.
enum AcceptedConnections {
    /// The address that the socket is bound to.
    enum Address {
        case unix(path: String)
        case tcp(port: UInt16)
    }

    struct Connection {
        /// The inode, which distinguishes a connection from a later one with the same descriptor.
        let identity: UInt64
        fileprivate let descriptor: Int32
    }

    /// Returns the connections accepted at `addresses` whose peer has unread bytes.
    static func unread(at addresses: [Address]) -> [Connection] {
        guard let directory = opendir("/proc/self/fd") else { return [] }
        defer { closedir(directory) }
        var found: [Connection] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let descriptor = Int32(name), let identity = inode(of: descriptor) else { continue }
            guard addresses.contains(where: { isAccepted(descriptor, at: $0) }) else { continue }
            var waiting: Int32 = 0
            guard ioctl(descriptor, UInt(TIOCOUTQ), &waiting) == 0, waiting > 0 else { continue }
            found.append(Connection(identity: identity, descriptor: descriptor))
        }
        return found.sorted { $0.identity < $1.identity }
    }

    /// Ends a connection; libzmq drops its queued messages, and the peer reconnects when it can.
    static func end(_ connection: Connection, at addresses: [Address]) {
        // A reused descriptor may by now belong to another file, or to another subscriber.
        guard inode(of: connection.descriptor) == connection.identity,
            addresses.contains(where: { isAccepted(connection.descriptor, at: $0) })
        else { return }
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
    }

    private static func inode(of descriptor: Int32) -> UInt64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return UInt64(status.st_ino)
    }

    private static func isAccepted(_ descriptor: Int32, at address: Address) -> Bool {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 0 else {
            return false
        }
        var storage = sockaddr_storage()
        size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard status == 0 else { return false }
        return withUnsafeBytes(of: storage) { bytes in
            switch (address, Int32(storage.ss_family)) {
            case (.unix(let path), AF_UNIX):
                let name = bytes.prefix(Int(size)).dropFirst(MemoryLayout<sa_family_t>.size)
                return name.prefix { $0 != 0 }.elementsEqual(path.utf8)
            case (.tcp(let port), AF_INET), (.tcp(let port), AF_INET6):
                // The port is at the same offset in both families, in network byte order.
                return bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian == port
            default: return false
            }
        }
    }
}
