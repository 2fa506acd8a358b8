import Glibc

/// A file that is read in pieces, so that a bag of any size is read lazily.
///
/// The length is determined when the file is opened: of a bag that is still being recorded, only the part written by then is read. The file
/// is read rather than mapped, so that truncation by another process or a disk failure is an error instead of a signal (SIGBUS).
package final class BagFile: ByteSource, Sendable {
    /// The number of bytes the file had when it was opened.
    package let count: Int
    private let path: String
    private let descriptor: Int32

    /// Opens the regular file at `path`; throws ``BagError/Code/io`` with the path and the system's reason.
    package init(path: String) throws(BagError) {
        // Without O_NONBLOCK, opening a named pipe would wait for a writer before it could be rejected.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw BagError.system("cannot open \(path)") }
        (self.path, self.descriptor) = (path, descriptor)
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        count = isKnown ? Int(status.st_size) : 0
        // All properties are set: from here on, deinit closes the descriptor.
        guard isKnown else { throw BagError.system("cannot examine \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw BagError(.io, "cannot read \(path): not a regular file; name a .mcap file")
        }
    }

    deinit { close(descriptor) }

    /// Reads `count` bytes and calls `body` with them.
    ///
    /// - Throws: ``BagError/Code/io`` when the file has become shorter or its disk fails.
    package func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result {
        guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else {
            throw BagError(.io, "\(count) bytes requested beyond the end at \(self.count)", offset: offset)
        }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { bytes.deallocate() }
        try read(into: bytes, at: offset)
        return try body(UnsafeRawBufferPointer(bytes))
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(BagError) {
        var done = 0
        while done < bytes.count {
            let got = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if got > 0 {
                done += got
            } else if got == 0 {
                throw BagError(
                    .io,
                    "\(path) was truncated while it was read: it ends at \(offset + done) of \(count) bytes; "
                        + "read it again when nothing changes it", offset: offset + done)
            } else if errno != EINTR {
                throw BagError.system("cannot read \(path)")
            }
        }
    }
}

/// A sink that writes a bag to a file that is readable at any moment, even after the writing process was killed.
///
/// The file closes when the last reference is released.
///
/// Each write leaves a provisional end after the data, which the next write replaces. The order of the steps keeps the file complete at all
/// times: the sink first writes the new end, then all new data except its beginning, and finally that beginning. The beginning overwrites
/// the old end, where readers stopped until then. A write that fails leaves the file unchanged.
package final class FileSink: ByteSink {
    /// The path as it was given.
    package let path: String
    private let descriptor: Int32
    private let durable: Bool
    /// Whether the file is regular, so that bytes can be replaced, unlike in a pipe or a device.
    private let isRegular: Bool
    /// Bytes of the file before the provisional end.
    private var end = 0
    private var tail: [UInt8] = []
    /// The reason why a pipe or device that accepted only part of a write cannot be written any more.
    private var failure: BagError?

    /// Creates the file at `path` with mode 0644 less the umask.
    ///
    /// - Parameters:
    ///   - overwrite: whether to replace an existing file, which is an error otherwise.
    ///   - durable: whether ``flush()`` waits until the bytes are on the disk (`fdatasync`).
    package init(path: String, overwrite: Bool = false, durable: Bool = false) throws(BagError) {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL)
        descriptor = open(path, flags, 0o644)
        guard descriptor >= 0 else { throw BagError.system("cannot create \(path)") }
        var status = stat()
        isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        self.path = path
        self.durable = durable
    }

    deinit { close(descriptor) }

    /// Writes all of `bytes`, including a footer at their end; on a full disk or an exceeded quota, throws
    /// ``BagError/Code/io`` with the system's reason.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(BagError) {
        let footer = Layout.recordHeader + Layout.footerContent + Layout.magic.count
        let place = isRegular ? max(0, bytes.count - footer) : bytes.count
        try write(
            UnsafeRawBufferPointer(rebasing: bytes[..<place]),
            provisionalTail: UnsafeRawBufferPointer(rebasing: bytes[place...]))
        end += tail.count
        tail = []
    }

    /// Writes all of `bytes` and then `tail`, which the next write overwrites.
    package func write(
        _ bytes: UnsafeRawBufferPointer, provisionalTail new: UnsafeRawBufferPointer
    ) throws(BagError) {
        guard isRegular else { return try append(bytes) }
        do throws(BagError) {
            if bytes.count <= tail.count {
                let all = Array(bytes) + Array(new)
                try all.span.withUnsafeBytes { (all) throws(BagError) in try put(all, at: end) }
            } else {
                try put(new, at: end + bytes.count)
                try put(UnsafeRawBufferPointer(rebasing: bytes[tail.count...]), at: end + tail.count)
                try put(UnsafeRawBufferPointer(rebasing: bytes[..<tail.count]), at: end)
            }
        } catch {
            // Restore the old end, so that readers find it and a retry writes at the same offset.
            try? tail.span.withUnsafeBytes { (old) throws(BagError) in try put(old, at: end) }
            _ = ftruncate(descriptor, off_t(end + tail.count))
            throw error
        }
        end += bytes.count
        tail = Array(new)
    }

    private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(BagError) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.baseAddress.map { $0 + done }
            let written = pwrite(descriptor, rest, bytes.count - done, off_t(offset + done))
            if written > 0 {
                done += written
            } else if written == 0 || errno != EINTR {
                throw BagError.system("cannot write \(path)")
            }
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer) throws(BagError) {
        if let failure { throw failure }
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if written > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if written == 0 || errno != EINTR {
                let error = BagError.system("cannot write \(path)")
                failure = error
                throw error
            }
        }
    }

    /// Waits until the bytes are on the disk if the sink is durable.
    package func flush() throws(BagError) {
        guard durable, isRegular else { return }
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw BagError.system("cannot write \(path) to the disk") }
        }
    }
}

extension BagError {
    fileprivate static func system(_ what: String) -> BagError {
        let reason = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        return BagError(.io, "\(what): \(reason)")
    }
}
