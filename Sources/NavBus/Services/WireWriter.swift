/// A writer of protobuf wire format into given memory; fields that do not fit are omitted and set ``overflowed``.
struct WireWriter {
    private let target: UnsafeMutableRawBufferPointer
    private(set) var count = 0
    /// Whether a field did not fit.
    private(set) var overflowed = false

    init(_ target: UnsafeMutableRawBufferPointer) { self.target = target }

    @inline(__always)
    mutating func varint(_ field: UInt64, _ value: UInt64) {
        raw(field << 3)
        raw(value)
    }

    @inline(__always)
    mutating func fixed64(_ field: UInt64, _ value: UInt64) {
        raw(field << 3 | 1)
        guard target.count - count >= 8 else { return overflow() }
        target.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    mutating func bytes(_ field: UInt64, _ value: UnsafeRawBufferPointer) {
        header(field, value.count)
        guard target.count - count >= value.count else { return overflow() }
        UnsafeMutableRawBufferPointer(rebasing: target[count..<count + value.count]).copyMemory(from: value)
        count += value.count
    }

    mutating func bytes(_ field: UInt64, _ value: [UInt8]) {
        value.withUnsafeBytes { bytes(field, $0) }
    }

    mutating func text(_ field: UInt64, _ value: String) {
        var value = value
        value.withUTF8 { bytes(field, UnsafeRawBufferPointer($0)) }
    }

    /// Writes the tag and length of a field whose `length` bytes are written next.
    mutating func header(_ field: UInt64, _ length: Int) {
        raw(field << 3 | 2)
        raw(UInt64(length))
    }

    /// Returns the size of a varint, in bytes.
    static func size(_ value: UInt64) -> Int { max(1, (70 - value.leadingZeroBitCount) / 7) }

    @inline(__always)
    private mutating func raw(_ value: UInt64) {
        var value = value
        guard target.count - count >= 10 || target.count - count >= Self.size(value) else { return overflow() }
        while value >= 0x80 {
            target[count] = UInt8(truncatingIfNeeded: value) | 0x80
            count += 1
            value >>= 7
        }
        target[count] = UInt8(truncatingIfNeeded: value)
        count += 1
    }

    private mutating func overflow() { overflowed = true }
}

/// A cache of names received over the wire, so that a repeated name costs a comparison instead of an allocation.
struct NameCache {
    private var names = [String](repeating: "", count: 64)

    /// Returns the text of `bytes`; invalid UTF-8 is repaired.
    mutating func text(_ bytes: UnsafeRawBufferPointer) -> String {
        var slot = bytes.count
        if let first = bytes.first, let last = bytes.last { slot = slot &* 31 &+ Int(first) &* 7 &+ Int(last) }
        slot &= 63
        if names[slot].utf8.count == bytes.count, names[slot].utf8.elementsEqual(bytes) { return names[slot] }
        let text = String(decoding: bytes, as: UTF8.self)
        if bytes.count <= 200 { names[slot] = text }
        return text
    }
}
