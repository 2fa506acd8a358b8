import Glibc
package import NavTileCache

/// A stamp that distinguishes the states of a file.
package struct FileStamp: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: Int64
    package let mode: UInt32

    /// The current state of a regular file; nil when there is none.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    fileprivate init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        mode = status.st_mode
    }

    /// The stamp as an ETag-like text, which changes with the content.
    package var tag: String {
        "\"\(String(UInt64(bitPattern: modified), radix: 16))-\(String(size, radix: 16))-\(String(inode, radix: 16))\""
    }
}

/// Access to the local files that sources read: regular files of bounded size, opened without blocking.
package enum LocalFile {
    /// An open file, closed with its last reference.
    package final class Handle: Sendable {
        package let stamp: FileStamp
        private let path: String
        private let descriptor: Int32

        /// Opens a file; nil when there is none.
        package init?(_ path: String) throws(TileSourceError) {
            // Without O_NONBLOCK a named pipe would block here.
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard descriptor >= 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw LocalFile.failure(path)
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0, let stamp = FileStamp(status) else {
                close(descriptor)
                throw TileSourceError(.unreadable, "'\(path)' is not a regular file")
            }
            self.path = path
            self.stamp = stamp
            self.descriptor = descriptor
        }

        deinit { close(descriptor) }

        /// Returns some bytes of the file; throws when it is too short.
        package func read(at offset: Int64, count: Int) throws(TileSourceError) -> [UInt8] {
            guard count > 0 else { return [] }
            var failed = false
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                while initialized < count, let base = buffer.baseAddress {
                    let read = pread(descriptor, base + initialized, count - initialized, Int(offset) + initialized)
                    if read > 0 {
                        initialized += read
                    } else if read == 0 || errno != EINTR {
                        failed = read < 0
                        return
                    }
                }
            }
            if failed { throw LocalFile.failure(path) }
            guard bytes.count == count else {
                throw TileSourceError(.truncated, "'\(path)' was truncated while it was read")
            }
            return bytes
        }
    }

    /// Reads a whole file; throws when it is missing or larger than `limit`.
    package static func read(_ path: String, limit: Int64) throws(TileSourceError) -> (bytes: [UInt8], stamp: FileStamp)
    {
        guard let handle = try Handle(path) else {
            throw TileSourceError(.missing, "'\(path)' does not exist")
        }
        guard handle.stamp.size <= limit else {
            throw TileSourceError(
                .tooLarge, "'\(path)' has \(handle.stamp.size) bytes; the limit is \(limit)")
        }
        return (try handle.read(at: 0, count: Int(handle.stamp.size)), handle.stamp)
    }

    fileprivate static func failure(_ path: String) -> TileSourceError {
        TileSourceError(.unreadable, "cannot read '\(path)': \(String(cString: strerror(errno)))")
    }
}
