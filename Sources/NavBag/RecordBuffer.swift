import CZlib

/// The checksum of MCAP: CRC-32 as in zlib (polynomial 0xEDB88320).
enum Checksum {
    static func of(_ bytes: UnsafeRawBufferPointer, continuing crc: UInt32 = 0) -> UInt32 {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return crc }
        return UInt32(truncatingIfNeeded: crc32_z(uLong(crc), start.assumingMemoryBound(to: UInt8.self), bytes.count))
    }
}

/// A growing byte buffer to which records are appended in place; it keeps its memory when emptied.
final class RecordBuffer {
    private var storage: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int = 4096) {
        self.capacity = max(capacity, 64)
        storage = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { storage.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: storage, count: count) }

    func removeAll() { count = 0 }

    /// Reserves room for `extra` more bytes at the returned address; ``advance(_:)`` sets how many were used.
    @inline(__always)
    func reserve(_ extra: Int) -> UnsafeMutableRawPointer {
        if capacity - count < extra { grow(extra) }
        return storage + count
    }

    @inline(__always)
    func advance(_ used: Int) { count += used }

    private func grow(_ extra: Int) {
        let wanted = max(count + extra, capacity + capacity / 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        larger.copyMemory(from: storage, byteCount: count)
        storage.deallocate()
        storage = larger
        capacity = wanted
    }

    @inline(__always)
    func append<T: FixedWidthInteger>(_ value: T) {
        let size = MemoryLayout<T>.size
        reserve(size).storeBytes(of: value.littleEndian, as: T.self)
        advance(size)
    }

    @inline(__always)
    func append(bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count).copyMemory(from: start, byteCount: bytes.count)
        advance(bytes.count)
    }

    func append(array: [UInt8]) { array.withUnsafeBytes { append(bytes: $0) } }

    /// Appends a 32-bit length and the UTF-8 bytes; callers limit the length.
    func append(string: String) {
        var string = string
        string.withUTF8 {
            append(UInt32(truncatingIfNeeded: $0.count))
            append(bytes: UnsafeRawBufferPointer($0))
        }
    }

    /// Appends a 32-bit byte length and the pairs, sorted by the bytes of their keys so that equal maps give equal bytes.
    func append(map: [String: String]) {
        let start = count
        append(UInt32(0))
        for (key, value) in map.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            append(string: key)
            append(string: value)
        }
        patch(UInt32(truncatingIfNeeded: count - start - 4), at: start)
    }

    func patch<T: FixedWidthInteger>(_ value: T, at offset: Int) {
        precondition(offset >= 0 && offset + MemoryLayout<T>.size <= count)
        (storage + offset).storeBytes(of: value.littleEndian, as: T.self)
    }

    /// Appends a record whose content is written by `content`.
    @inline(__always)
    func record(_ opcode: UInt8, _ content: () -> Void) {
        let start = count
        append(opcode)
        append(UInt64(0))
        content()
        patch(UInt64(count - start - Layout.recordHeader), at: start + 1)
    }

    func append(_ schema: BagSchema) {
        record(Opcode.schema) {
            append(schema.id)
            append(string: schema.name)
            append(string: schema.encoding)
            append(UInt32(truncatingIfNeeded: schema.data.count))
            append(array: schema.data)
        }
    }

    func append(_ channel: BagChannel) {
        record(Opcode.channel) {
            append(channel.id)
            append(channel.schemaID)
            append(string: channel.topic)
            append(string: channel.messageEncoding)
            append(map: channel.metadata)
        }
    }
}
