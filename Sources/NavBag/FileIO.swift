import Glibc

/// A file mapped read-only, so that a bag of any size is read lazily, page by page.
///
/// The length is taken when the file is opened: a bag that is still being recorded is read as far as it was then. A
/// file that another process *shortens* while it is mapped raises SIGBUS, as any mapping does; recorders only append.
public final class MappedFile: ByteSource, Sendable {
    /// The number of bytes the file had when it was opened.
    public let count: Int
    private nonisolated(unsafe) let base: UnsafeMutableRawPointer?

    /// Maps the regular file at `path`. Throws ``BagError/Code/io`` with the path and the system's reason.
    public init(path: String) throws(BagError) {
        // Without O_NONBLOCK a named pipe would wait for a writer before it could be refused.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw BagError.system("cannot open \(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw BagError.system("cannot examine \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw BagError(.io, "cannot read \(path): not a regular file; name a .mcap file")
        }
        count = Int(status.st_size)
        guard count > 0 else {
            base = nil
            return
        }
        guard let mapping = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), mapping != MAP_FAILED else {
            throw BagError.system("cannot map \(path)")
        }
        base = mapping
    }

    deinit {
        if let base { munmap(base, count) }
    }

    /// Calls `body` with the mapped bytes, without a copy.
    public func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result {
        guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else {
            throw BagError(.io, "\(count) bytes asked for beyond the end of \(self.count)", offset: offset)
        }
        guard let base else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try withExtendedLifetime(self) { () throws(BagError) -> Result in
            try body(UnsafeRawBufferPointer(start: base + offset, count: count))
        }
    }
}

/// Appends to a file with `write(2)`. The file closes when the last reference goes.
public final class FileSink: ByteSink, Sendable {
    /// The path as it was given.
    public let path: String
    private let descriptor: Int32
    private let durable: Bool

    /// Creates the file at `path` with mode 0644 less the umask.
    ///
    /// - Parameters:
    ///   - overwrite: replace what is there; otherwise an existing file is an error.
    ///   - durable: ``flush()`` waits until the bytes are on the disk (`fdatasync`).
    public init(path: String, overwrite: Bool = false, durable: Bool = false) throws(BagError) {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL)
        descriptor = open(path, flags, 0o644)
        guard descriptor >= 0 else { throw BagError.system("cannot create \(path)") }
        self.path = path
        self.durable = durable
    }

    deinit { close(descriptor) }

    /// Writes all of `bytes`; a full disk or a quota is ``BagError/Code/io`` with the system's reason.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(BagError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if written > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if written == 0 || errno != EINTR {
                throw BagError.system("cannot write \(path)")
            }
        }
    }

    /// Waits for the disk when the sink is durable.
    public func flush() throws(BagError) {
        guard durable else { return }
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
