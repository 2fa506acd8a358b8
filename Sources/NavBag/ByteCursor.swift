/// A reader of little-endian fields in borrowed bytes; every read is bounds-checked.
struct ByteCursor {
    let bytes: UnsafeRawBufferPointer
    /// The file offset of `bytes[0]`, for errors.
    let base: Int
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer, base: Int) {
        self.bytes = bytes
        self.base = base
    }

    var remaining: Int { bytes.count - position }

    private func short(_ wanted: Int) -> BagError {
        BagError(
            .malformed, "a field of \(wanted) bytes exceeds the \(remaining) left in its record",
            offset: base + position)
    }

    private mutating func load<T: FixedWidthInteger>(_ type: T.Type) throws(BagError) -> T {
        let size = MemoryLayout<T>.size
        guard remaining >= size else { throw short(size) }
        defer { position += size }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
    }

    mutating func u8() throws(BagError) -> UInt8 { try load(UInt8.self) }
    mutating func u16() throws(BagError) -> UInt16 { try load(UInt16.self) }
    mutating func u32() throws(BagError) -> UInt32 { try load(UInt32.self) }
    mutating func u64() throws(BagError) -> UInt64 { try load(UInt64.self) }

    /// Reads an offset or a length; values beyond `Int.max` are invalid in any file.
    mutating func length64() throws(BagError) -> Int {
        let start = position
        guard let value = Int(exactly: try u64()) else {
            throw BagError(.malformed, "an offset or length exceeds 2^63", offset: base + start)
        }
        return value
    }

    mutating func take(_ count: Int) throws(BagError) -> UnsafeRawBufferPointer {
        guard count >= 0, remaining >= count else { throw short(count) }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    /// Reads the bytes after a 32-bit length.
    mutating func bytes32() throws(BagError) -> UnsafeRawBufferPointer { try take(Int(try u32())) }

    /// Reads a string after a 32-bit length; invalid UTF-8 is repaired with U+FFFD.
    mutating func string() throws(BagError) -> String { String(decoding: try bytes32(), as: UTF8.self) }

    /// Reads a map of strings after a 32-bit byte length; of a repeated key, the last value is used.
    mutating func stringMap() throws(BagError) -> [String: String] {
        let start = base + position + 4
        var inner = ByteCursor(try bytes32(), base: start)
        var map: [String: String] = [:]
        while inner.remaining > 0 {
            let key = try inner.string()
            map[key] = try inner.string()
        }
        return map
    }
}

extension BagHeader {
    init(_ cursor: inout ByteCursor) throws(BagError) {
        profile = try cursor.string()
        library = try cursor.string()
    }
}

extension BagSchema {
    init(_ cursor: inout ByteCursor) throws(BagError) {
        id = try cursor.u16()
        name = try cursor.string()
        encoding = try cursor.string()
        data = Array(try cursor.bytes32())
    }
}

extension BagChannel {
    init(_ cursor: inout ByteCursor) throws(BagError) {
        id = try cursor.u16()
        schemaID = try cursor.u16()
        topic = try cursor.string()
        messageEncoding = try cursor.string()
        metadata = try cursor.stringMap()
    }
}

extension BagMetadata {
    init(_ cursor: inout ByteCursor) throws(BagError) {
        name = try cursor.string()
        entries = try cursor.stringMap()
    }
}

extension BagAttachment {
    init(_ cursor: inout ByteCursor, checkCRC: Bool) throws(BagError) {
        logTime = try cursor.u64()
        createTime = try cursor.u64()
        name = try cursor.string()
        mediaType = try cursor.string()
        data = Array(try cursor.take(try cursor.length64()))
        let covered = cursor.position
        let stored = try cursor.u32()
        guard checkCRC, stored != 0 else { return }
        guard Checksum.of(UnsafeRawBufferPointer(rebasing: cursor.bytes[..<covered])) == stored else {
            throw BagError(.crcMismatch, "the attachment \(name) is damaged: its CRC differs", offset: cursor.base)
        }
    }
}
