internal import CZlib
internal import CZstd

package enum Packing: String, Sendable {
    case gzip
    case zstd
    case deflate

    /// The packing of a Content-Encoding; nil when it is unknown.
    package init?(contentEncoding: String) {
        switch contentEncoding.lowercased() {
        case "gzip", "x-gzip": self = .gzip
        case "zstd": self = .zstd
        case "deflate": self = .deflate
        default: return nil
        }
    }

    /// The packing indicated by the first bytes; nil when it is unknown.
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

/// A decompressor with a limit on its output.
package enum Unpacker {
    package enum Failure: Error, Equatable {
        /// The output exceeds the limit.
        case tooLarge
        /// The bytes are damaged or packed in another way.
        case damaged
        /// The bytes end early.
        case truncated
    }

    /// Unpacks bytes.
    ///
    /// - Parameters:
    ///   - limit: the most bytes of output.
    ///   - expected: the expected output, for which room is reserved.
    package static func unpack(
        _ bytes: [UInt8], _ packing: Packing, limit: Int, expected: Int = 0
    ) throws(Failure) -> [UInt8] {
        var output = Output(limit: limit, expected: expected)
        guard let first = bytes.first else { throw .truncated }
        switch packing {
        case .gzip: try inflate(bytes, windowBits: 31, into: &output)
        // Some servers send deflate without its zlib frame, which begins with method 8 in two bytes that form a
        // multiple of 31.
        case .deflate:
            let isFramed = first & 0x0f == 8 && bytes.count > 1 && (Int(first) << 8 | Int(bytes[1])) % 31 == 0
            try inflate(bytes, windowBits: isFramed ? 15 : -15, into: &output)
        case .zstd: try decompress(bytes, into: &output)
        }
        return output.bytes
    }

    /// The output so far, and a chunk for more.
    private struct Output {
        let limit: Int
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 32_768)

        init(limit: Int, expected: Int) {
            self.limit = limit
            bytes.reserveCapacity(min(expected, limit))
        }

        mutating func accept(_ made: Int) throws(Failure) {
            guard made <= limit - bytes.count else { throw .tooLarge }
            bytes.append(contentsOf: chunk[..<made])
        }
    }

    private static func inflate(
        _ bytes: [UInt8], windowBits: Int32, into output: inout Output
    ) throws(Failure) {
        // zlib requires a stream to keep the address at which it was opened.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .damaged
        }
        defer { inflateEnd(stream) }
        try bytes.withUnsafeBufferPointer { (input) throws(Failure) -> Void in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(clamping: input.count)
            var code = Z_OK
            repeat {
                // Several members form one content (RFC 1952, 2.2); other data after the end is ignored.
                if code == Z_STREAM_END {
                    guard windowBits == 31, inflateReset(stream) == Z_OK else { throw .damaged }
                }
                let made = output.chunk.withUnsafeMutableBufferPointer { chunk in
                    stream.pointee.next_out = chunk.baseAddress
                    stream.pointee.avail_out = UInt32(clamping: chunk.count)
                    code = CZlib.inflate(stream, Z_NO_FLUSH)
                    return chunk.count - Int(stream.pointee.avail_out)
                }
                guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw .damaged }
                try output.accept(made)
                // More output may be pending after a full chunk.
            } while stream.pointee.avail_in > 0 || (stream.pointee.avail_out == 0 && code == Z_OK)
            guard code == Z_STREAM_END else { throw .truncated }
        }
    }

    private static func decompress(_ bytes: [UInt8], into output: inout Output) throws(Failure) {
        guard let context = ZSTD_createDCtx() else { throw .damaged }
        defer { ZSTD_freeDCtx(context) }
        // The window is limited to 8 MiB, as RFC 9659 requires of zstd in HTTP; content that needs more memory is
        // refused.
        guard ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 23)) == 0 else { throw .damaged }
        try bytes.withUnsafeBufferPointer { (source) throws(Failure) -> Void in
            var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
            var (code, isFull) = (1, false)
            while input.pos < input.size || isFull {
                let made = output.chunk.withUnsafeMutableBufferPointer { chunk in
                    var buffer = ZSTD_outBuffer(dst: chunk.baseAddress, size: chunk.count, pos: 0)
                    code = ZSTD_decompressStream(context, &buffer, &input)
                    return buffer.pos
                }
                guard ZSTD_isError(code) == 0 else { throw .damaged }
                try output.accept(made)
                isFull = made == output.chunk.count && code != 0
            }
            guard code == 0 else { throw .truncated }
        }
    }
}
