/// A bounds-checked reader of protobuf wire format; after a failure it stays failed.
struct WireReader {
    private let source: UnsafeRawBufferPointer
    private var offset = 0
    private(set) var failed = false

    init(_ bytes: UnsafeRawBufferPointer) { source = bytes }

    var isAtEnd: Bool { offset >= source.count }

    mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < source.count, shift < 64 {
            let byte = source[offset]
            offset += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        failed = true
        return nil
    }

    mutating func fixed64() -> UInt64? {
        guard source.count - offset >= 8 else {
            failed = true
            return nil
        }
        defer { offset += 8 }
        return UInt64(littleEndian: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Reads the content of a length-delimited field, in place.
    mutating func bytes() -> UnsafeRawBufferPointer? {
        guard let length = varint(), length <= UInt64(source.count - offset) else {
            failed = true
            return nil
        }
        defer { offset += Int(length) }
        return UnsafeRawBufferPointer(rebasing: source[offset..<offset + Int(length)])
    }

    /// Skips a field of wire type 0, 1, 2 or 5; groups and field number 0 are failures.
    mutating func skip(tag: UInt64) {
        let length: UInt64?
        switch tag & 7 {
        case 0: length = varint() == nil ? nil : 0
        case 1: length = 8
        case 2: length = varint()
        case 5: length = 4
        default: length = nil
        }
        guard tag >> 3 > 0, let length, length <= UInt64(source.count - offset) else {
            failed = true
            return
        }
        offset += Int(length)
    }
}
