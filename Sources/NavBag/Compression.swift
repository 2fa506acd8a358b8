import CLZ4
import CZstd

/// A compressor of chunks that owns and reuses a zstd context.
final class Compressor {
    private let compression: BagCompression
    private let level: Int32
    private let context: OpaquePointer?

    init(_ compression: BagCompression, level: Int) {
        self.compression = compression
        self.level = Int32(clamping: level)
        context = compression == .zstd ? ZSTD_createCCtx() : nil
    }

    deinit { ZSTD_freeCCtx(context) }

    /// Appends the packed `input` to `output` and returns its size in bytes.
    func pack(_ input: UnsafeRawBufferPointer, into output: RecordBuffer) throws(BagError) -> Int {
        switch compression {
        case .none:
            output.append(bytes: input)
            return input.count
        case .zstd:
            let bound = ZSTD_compressBound(input.count)
            let size = ZSTD_compressCCtx(
                context, output.reserve(bound), bound, input.baseAddress, input.count, level)
            guard ZSTD_isError(size) == 0 else {
                throw BagError(
                    .compressionFailed, "zstd cannot compress a chunk: \(String(cString: ZSTD_getErrorName(size)))")
            }
            output.advance(size)
            return size
        case .lz4:
            var preferences = LZ4F_preferences_t()
            preferences.frameInfo.contentSize = UInt64(input.count)
            preferences.compressionLevel = level
            let bound = LZ4F_compressFrameBound(input.count, &preferences)
            let size = LZ4F_compressFrame(
                output.reserve(bound), bound, input.baseAddress, input.count, &preferences)
            guard LZ4F_isError(size) == 0 else {
                throw BagError(
                    .compressionFailed, "lz4 cannot compress a chunk: \(String(cString: LZ4F_getErrorName(size)))")
            }
            output.advance(size)
            return size
        }
    }
}

/// A decoder of single zstd frames as written by other tools; it owns and reuses the library context.
package final class ZstdFrames {
    private static let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]
    private let decompressor = Decompressor()

    package init() {}

    /// Whether bytes are the beginning of a frame.
    package static func begins(_ bytes: some Collection<UInt8>) -> Bool { bytes.starts(with: magic) }

    /// Returns the content of a frame that states its size, at most `limit` bytes.
    package func content(of frame: [UInt8], limit: Int) throws(BagError) -> [UInt8] {
        // The two highest values mean an unknown size and a damaged header.
        let size = ZSTD_getFrameContentSize(frame, frame.count)
        guard size < UInt64(bitPattern: -2) else {
            throw BagError(.malformed, "a zstd frame does not state the size of its content")
        }
        guard size <= UInt64(limit) else {
            throw BagError(.limitExceeded, "a zstd frame has \(size) bytes, more than \(limit)")
        }
        return try frame.span.withUnsafeBytes { (input) throws(BagError) in
            try decompressor.unpack(input, .zstd, size: Int(size), partial: false, offset: 0)
        }
    }
}

/// A decompressor of chunks that allocates at most the declared size; it owns and reuses the library contexts.
final class Decompressor {
    private var zstd: OpaquePointer?
    private var lz4: OpaquePointer?

    deinit {
        ZSTD_freeDCtx(zstd)
        LZ4F_freeDecompressionContext(lz4)
    }

    /// Returns the `size` unpacked bytes of `input`.
    ///
    /// With `partial`, `input` may be truncated anywhere, and the result is the readable part, at most `size` bytes.
    func unpack(
        _ input: UnsafeRawBufferPointer, _ compression: BagCompression, size: Int, partial: Bool, offset: Int
    ) throws(BagError) -> [UInt8] {
        guard partial || compression != .none || input.count == size else {
            throw BagError(
                .malformed, "a chunk claims \(size) bytes but unpacks to \(input.count)", offset: offset)
        }
        var failure: String?
        let output = [UInt8](unsafeUninitializedCapacity: size) { buffer, produced in
            let target = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
            switch compression {
            case .none:
                produced = min(size, input.count)
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<produced]))
            case .zstd where partial: produced = zstdStream(input, target)
            case .zstd: produced = zstdWhole(input, target, &failure)
            case .lz4: produced = lz4Stream(input, target, &failure)
            }
        }
        if partial { return output }
        if let failure {
            throw BagError(.malformed, "a \(compression.rawValue) chunk cannot be unpacked: \(failure)", offset: offset)
        }
        guard output.count == size else {
            throw BagError(.malformed, "a chunk claims \(size) bytes but unpacks to \(output.count)", offset: offset)
        }
        return output
    }

    private func zstdContext() -> OpaquePointer? {
        if zstd == nil { zstd = ZSTD_createDCtx() }
        return zstd
    }

    private func zstdWhole(
        _ input: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, _ failure: inout String?
    ) -> Int {
        let size = ZSTD_decompressDCtx(
            zstdContext(), target.baseAddress, target.count, input.baseAddress, input.count)
        guard ZSTD_isError(size) != 0 else { return size }
        failure = String(cString: ZSTD_getErrorName(size))
        return 0
    }

    /// Unpacks as much as possible; a frame's window is limited to 2^26 bytes, because its buffer is allocated up front.
    private func zstdStream(_ input: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer) -> Int {
        let context = zstdContext()
        ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 26)
        defer { ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters) }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var sink = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
        while true {
            let before = (source.pos, sink.pos)
            let hint = ZSTD_decompressStream(context, &sink, &source)
            if ZSTD_isError(hint) != 0 || (source.pos, sink.pos) == before { return sink.pos }
        }
    }

    private func lz4Stream(
        _ input: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, _ failure: inout String?
    ) -> Int {
        if lz4 == nil { _ = LZ4F_createDecompressionContext(&lz4, UInt32(LZ4F_VERSION)) }
        defer { LZ4F_resetDecompressionContext(lz4) }
        var consumed = 0
        var produced = 0
        while consumed < input.count {
            var sourceSize = input.count - consumed
            var targetSize = target.count - produced
            let source = input.baseAddress.map { $0 + consumed }
            let hint = LZ4F_decompress(
                lz4, target.baseAddress.map { $0 + produced }, &targetSize, source, &sourceSize, nil)
            if LZ4F_isError(hint) != 0 {
                failure = String(cString: LZ4F_getErrorName(hint))
                return produced
            }
            if sourceSize == 0 && targetSize == 0 { break }
            consumed += sourceSize
            produced += targetSize
        }
        if consumed < input.count { failure = "it has more bytes than it claims" }
        return produced
    }
}

/// Unpacks an LZ4 frame, which other formats use for their chunks.
///
/// - Throws: ``BagError/Code/malformed`` when the bytes are not an LZ4 frame, or do not unpack to `size` bytes.
package func unpackLZ4(_ packed: [UInt8], size: Int) throws(BagError) -> [UInt8] {
    try packed.span.withUnsafeBytes { (bytes) throws(BagError) in
        try Decompressor().unpack(bytes, .lz4, size: size, partial: false, offset: 0)
    }
}
