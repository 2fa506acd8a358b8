/// A cursor over protobuf's wire format, field by field, without copying; every length is checked before it is used.
struct WireCursor {
    /// The encoding of a field's value on the wire.
    enum Shape: UInt8 {
        case varint = 0
        case fixed64 = 1
        case bytes = 2
        case fixed32 = 5
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    private let end: Int

    /// Creates a cursor over a part of `bytes`, which must lie within them.
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position >= end }

    /// Reads a field number and a shape; nil for field 0, a group, or bytes that end too early.
    @inline(__always)
    mutating func tag() -> (number: UInt32, shape: Shape)? {
        guard let value = varint(), value >> 3 >= 1, value >> 3 <= 0x1fff_ffff,
            let shape = Shape(rawValue: UInt8(value & 7))
        else { return nil }
        return (UInt32(value >> 3), shape)
    }

    @inline(__always)
    mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < end, shift < 70 {
            let byte = bytes[position]
            position += 1
            value |= shift < 64 ? UInt64(byte & 0x7f) << shift : 0
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    @inline(__always)
    mutating func fixed64() -> UInt64? {
        guard end - position >= 8 else { return nil }
        defer { position += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    @inline(__always)
    mutating func fixed32() -> UInt32? {
        guard end - position >= 4 else { return nil }
        defer { position += 4 }
        return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
    }

    /// Returns the range of a length-delimited value's bytes.
    @inline(__always)
    mutating func range() -> Range<Int>? {
        guard let count = varint(), count <= UInt64(end - position) else { return nil }
        defer { position += Int(count) }
        return position..<(position + Int(count))
    }

    /// Returns the range of a field's value; for a length-delimited value, without the length.
    @inline(__always)
    mutating func value(_ shape: Shape) -> Range<Int>? {
        let start = position
        switch shape {
        case .varint: return varint().map { _ in start..<position }
        case .fixed64: return fixed64().map { _ in start..<position }
        case .fixed32: return fixed32().map { _ in start..<position }
        case .bytes: return range()
        }
    }

    /// Reads the text of a length-delimited value; nil when it is not UTF-8.
    mutating func string() -> String? {
        guard let range = range() else { return nil }
        return String(validating: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }
}
