/// A part of the bag that is read as a unit: a chunk, or a run of records outside chunks.
package struct BagSpan: Hashable, Sendable {
    /// The kind of span.
    package enum Kind: Hashable, Sendable {
        case chunk
        /// A chunk record truncated by the end of the file; its beginning is readable.
        case partialChunk
        /// Schemas, channels and messages directly in the data section.
        case bare
    }

    /// The kind of span.
    package let kind: Kind
    /// Byte offset in the bag.
    package let offset: Int
    /// Size in the bag, bytes, including opcode and length.
    package let length: Int
    /// The earliest log time, ns; 0 without messages.
    package internal(set) var startTime: UInt64
    /// The latest log time, ns; 0 without messages.
    package internal(set) var endTime: UInt64
    /// The name of the compression, which may be unsupported.
    package let compression: String
    /// Packed bytes of the records.
    package let compressedSize: Int
    /// Unpacked bytes of the records, as declared.
    package let uncompressedSize: Int
    /// The channels with messages in the chunk and the byte offset of each channel's message index; empty when unknown.
    var messageIndexes: [IndexOffset] = []

    struct IndexOffset: Hashable, Sendable {
        var channel: UInt16
        var offset: Int
    }
}

/// A chunk record's own fields, and the location of its packed bytes in the record's content.
struct ChunkHeader {
    let startTime: UInt64
    let endTime: UInt64
    let uncompressedSize: Int
    let crc: UInt32
    let compression: String
    let recordsOffset: Int
    let recordsLength: Int

    init(_ cursor: inout ByteCursor) throws(BagError) {
        startTime = try cursor.u64()
        endTime = try cursor.u64()
        uncompressedSize = try cursor.length64()
        crc = try cursor.u32()
        compression = try cursor.string()
        recordsLength = try cursor.length64()
        recordsOffset = cursor.position
    }

    /// The maximum number of bytes from the opcode of a chunk to its records when the compression's name has at most
    /// four bytes.
    static let longestBeginning = Layout.recordHeader + Layout.chunkFixed + 4 + 4 + 8

    /// Whether `record` begins with a whole chunk whose fields are consistent, which is unlikely for other bytes.
    ///
    /// - Parameters:
    ///   - record: The record's first ``longestBeginning`` bytes, or all of a shorter one.
    ///   - available: The number of bytes from the record's beginning to the end of the bag.
    static func mayBegin(_ record: UnsafeRawBufferPointer, available: Int) -> Bool {
        // Check the name's length first, so that damaged bytes do not each create a long string.
        let name = Layout.recordHeader + Layout.chunkFixed
        guard record.count > name + 4,
            UInt32(littleEndian: record.loadUnaligned(fromByteOffset: name, as: UInt32.self)) <= 4
        else { return false }
        var cursor = ByteCursor(record, base: 0)
        guard (try? cursor.u8()) == Opcode.chunk, let length = try? cursor.length64(),
            length <= available - Layout.recordHeader,
            let header = try? ChunkHeader(&cursor)
        else { return false }
        return header.startTime <= header.endTime && BagCompression(rawValue: header.compression) != nil
            && header.recordsLength == length - (header.recordsOffset - Layout.recordHeader)
    }
}

/// The unpacked records of a span.
struct Block {
    var bytes: [UInt8]
    /// The file offset of the chunk, or of `bytes[0]` for a bare run, for errors.
    var offset: Int
}

/// A loader that unpacks spans, shared by all readers.
struct BlockLoader {
    let options: BagReadOptions
    private let decompressor = Decompressor()

    init(_ options: BagReadOptions) { self.options = options }

    /// Returns the records of the chunk whose record content is `content`, which begins at file offset `base`.
    ///
    /// With `partial` the content may be truncated; the readable part is then returned, unchecked.
    func chunk(_ content: UnsafeRawBufferPointer, base: Int, partial: Bool) throws(BagError) -> [UInt8] {
        var cursor = ByteCursor(content, base: base)
        let header = try ChunkHeader(&cursor)
        guard let compression = BagCompression(rawValue: header.compression) else {
            let name = header.compression.prefix(40)
            throw BagError(
                .unsupportedCompression, "a chunk is compressed with '\(name)'; zstd, lz4 and none can be read",
                offset: base)
        }
        guard header.uncompressedSize <= options.chunkLimit else {
            throw BagError(
                .limitExceeded,
                "a chunk claims \(header.uncompressedSize) bytes; the limit is \(options.chunkLimit), raise "
                    + "maxChunkBytes to read it", offset: base)
        }
        let cut = header.recordsLength > cursor.remaining
        guard partial || !cut else {
            throw BagError(
                .malformed, "a chunk claims \(header.recordsLength) packed bytes and has \(cursor.remaining)",
                offset: base)
        }
        let packed = try cursor.take(min(header.recordsLength, cursor.remaining))
        let records = try decompressor.unpack(
            packed, compression, size: header.uncompressedSize, partial: cut, offset: base)
        if !cut, options.checkCRC, header.crc != 0 {
            guard records.withUnsafeBytes({ Checksum.of($0) }) == header.crc else {
                throw BagError(.crcMismatch, "a chunk is damaged: the CRC of its records differs", offset: base)
            }
        }
        return records
    }

    /// Returns the records of a span of `source`.
    func load(_ span: BagSpan, from source: some ByteSource) throws(BagError) -> Block {
        guard span.length <= options.storedLimit else {
            throw BagError(
                .limitExceeded,
                "a chunk has \(span.length) bytes; the limit is \(options.chunkLimit), raise maxChunkBytes to read it",
                offset: span.offset)
        }
        return try source.withBytes(at: span.offset, count: span.length) { (bytes) throws(BagError) -> Block in
            if span.kind == .bare { return Block(bytes: Array(bytes), offset: span.offset) }
            var cursor = ByteCursor(bytes, base: span.offset)
            let opcode = try cursor.u8()
            let length = try cursor.length64()
            let partial = span.kind == .partialChunk
            guard opcode == Opcode.chunk, partial || length == cursor.remaining else {
                throw BagError(
                    .malformed, "the summary lists a chunk at an offset that has none", offset: span.offset)
            }
            let content = try cursor.take(cursor.remaining)
            return Block(
                bytes: try chunk(content, base: span.offset + Layout.recordHeader, partial: partial),
                offset: span.offset)
        }
    }
}
