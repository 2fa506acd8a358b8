internal import CZlib
internal import CZstd

/// How bytes are packed.
package enum Packing: String, Sendable {
    case gzip
    case zstd
    case deflate

    /// The packing of a Content-Encoding; nil for none or one that is not known.
    package init?(contentEncoding: String) {
        switch contentEncoding.lowercased() {
        case "gzip", "x-gzip": self = .gzip
        case "zstd": self = .zstd
        case "deflate": self = .deflate
        default: return nil
        }
    }

    /// The packing that bytes begin with; nil for any other.
    package init?(magic bytes: some Sequence<UInt8>) {
        if bytes.starts(with: [0x1f, 0x8b]) {
            self = .gzip
        } else if bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) {
            self = .zstd
        } else {
            return nil
        }
    }
}

/// Unpacks bytes as they come and never makes more of them than allowed.
package final class Unpacker {
    package enum Failure: Error, Equatable {
        /// More came out than allowed.
        case tooLarge
        /// It is not packed that way, or damaged.
        case damaged
        /// The bytes ended too early.
        case truncated
    }

    private let packing: Packing
    private let limit: Int
    // Where it stays: zlib compares the address with the one that it was opened with.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOpen = false
    private var zstd: OpaquePointer?
    private var isComplete = false
    private let chunk: UnsafeMutableBufferPointer<UInt8>
    /// What was made so far.
    package private(set) var output: [UInt8] = []

    /// - Parameters:
    ///   - limit: most bytes that may come out.
    ///   - expected: how much will come out, to make room for it at once.
    package init(_ packing: Packing, limit: Int, expected: Int = 0) throws(Failure) {
        self.packing = packing
        self.limit = limit
        chunk = .allocate(capacity: 32_768)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output.reserveCapacity(min(expected, limit))
        switch packing {
        case .gzip: try open(windowBits: 31)
        case .deflate: break  // known from the first byte
        case .zstd:
            zstd = ZSTD_createDCtx()
            // Windows of 8 MiB, as RFC 9659 demands of zstd in HTTP: what needs more memory is refused.
            guard let zstd, ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 23)) == 0 else {
                throw .damaged
            }
        }
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
        chunk.deallocate()
        if let zstd { ZSTD_freeDCtx(zstd) }
    }

    private func open(windowBits: Int32) throws(Failure) {
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(stream, windowBits, ZLIB_VERSION, size) == Z_OK else { throw .damaged }
        isOpen = true
    }

    /// Takes the next packed bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        switch packing {
        case .zstd: try updateZstd(bytes)
        case .gzip, .deflate:
            // Some send deflate without its zlib frame; a frame begins with method 8 and a multiple of 31.
            if !isOpen { try open(windowBits: bytes[0] & 0x0f == 8 ? 15 : -15) }
            stream.pointee.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(clamping: bytes.count)
            try inflateAll()
        }
    }

    private func inflateAll() throws(Failure) {
        while stream.pointee.avail_in > 0 {
            // Archives of several members are one content (RFC 1952, 2.2); anything else after the end is no part of it.
            if isComplete {
                guard packing == .gzip, inflateReset(stream) == Z_OK else { throw .damaged }
                isComplete = false
            }
            var code = Z_OK
            repeat {
                stream.pointee.next_out = chunk.baseAddress
                stream.pointee.avail_out = UInt32(clamping: chunk.count)
                code = inflate(stream, Z_NO_FLUSH)
                let made = chunk.count - Int(stream.pointee.avail_out)
                guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw .damaged }
                try accept(made)
            } while stream.pointee.avail_out == 0 && code != Z_STREAM_END
            isComplete = code == Z_STREAM_END
            if code == Z_BUF_ERROR { return }
        }
    }

    private func updateZstd(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        var isFull = false
        while input.pos < input.size || isFull {
            var buffer = ZSTD_outBuffer(dst: chunk.baseAddress, size: chunk.count, pos: 0)
            let code = ZSTD_decompressStream(zstd, &buffer, &input)
            guard ZSTD_isError(code) == 0 else { throw .damaged }
            try accept(buffer.pos)
            isFull = buffer.pos == chunk.count
            isComplete = code == 0
            if isComplete, input.pos == input.size { return }
        }
    }

    private func accept(_ made: Int) throws(Failure) {
        guard made <= limit - output.count else { throw .tooLarge }
        output.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<made]))
    }

    /// Says that no bytes follow; fails when some are missing.
    package func finish() throws(Failure) {
        guard isComplete else { throw .truncated }
    }

    /// What was made; it is no longer kept here.
    package func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Unpacks bytes at once.
    package static func unpack(
        _ bytes: [UInt8], _ packing: Packing, limit: Int, expected: Int = 0
    ) throws(Failure) -> [UInt8] {
        let unpacker = try Unpacker(packing, limit: limit, expected: expected)
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) -> Void in
            try unpacker.update(UnsafeRawBufferPointer(bytes))
        }
        try unpacker.finish()
        return unpacker.takeOutput()
    }
}
