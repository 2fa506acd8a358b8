/// An error in protobuf bytes.
package enum WireError: Error, Equatable {
    /// A length or a number extends past the end of its message.
    case truncated
    /// A number has more than ten bytes.
    case numberTooLong
    /// A field number is zero, or protobuf does not define the wire type.
    case badField
    /// An index (of a string, a key, a role) is outside its table.
    case badIndex
    /// Two corresponding lists differ in length.
    case unevenLists

    /// A description for a message that already gives the file and the place.
    package var text: String {
        switch self {
        case .truncated: "a length runs past the end of its message"
        case .numberTooLong: "a varint is longer than ten bytes"
        case .badField: "a field has an invalid number or wire type"
        case .badIndex: "an index is outside its string table"
        case .unevenLists: "two parallel lists differ in length"
        }
    }
}

/// A bounds-checked reader of protobuf's wire format in memory.
///
/// The memory must outlive the reader. Reading past the end, an overlong number and an unknown wire type throw an error; no input traps.
package struct WireReader {
    /// A field's key: its number and the layout of its value.
    package struct Field {
        /// The field number, at least 1.
        package let number: UInt32
        /// The wire type: 0 number, 1 eight bytes, 2 length-delimited, 5 four bytes.
        package let type: UInt8
    }

    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = 0
    }

    package var isAtEnd: Bool { position >= bytes.count }

    /// The bytes not yet consumed.
    package var remaining: Int { bytes.count - position }

    /// Reads the next base-128 number.
    @inline(__always)
    package mutating func number() throws(WireError) -> UInt64 {
        if position < bytes.count {
            let byte = bytes[position]
            if byte < 0x80 {
                position += 1
                return UInt64(byte)
            }
        }
        return try longNumber()
    }

    private mutating func longNumber() throws(WireError) -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        var at = position
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            result |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 {
                position = at
                return result
            }
            shift += 7
            if shift > 63 { throw .numberTooLong }
        }
        throw .truncated
    }

    /// Reads the next zigzag-coded signed number.
    @inline(__always)
    package mutating func signed() throws(WireError) -> Int64 {
        let raw = try number()
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }

    /// Reads the next field's key; nil at the end.
    package mutating func field() throws(WireError) -> Field? {
        if isAtEnd { return nil }
        let key = try number()
        let number = key >> 3
        guard number > 0, number < 1 << 29 else { throw .badField }
        return Field(number: UInt32(number), type: UInt8(key & 7))
    }

    package mutating func delimited() throws(WireError) -> UnsafeRawBufferPointer {
        let length = try number()
        guard length <= UInt64(remaining) else { throw .truncated }
        let start = position
        position += Int(length)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    }

    /// Returns a reader of a length-delimited value; throws `badField` when the field has another wire type.
    package mutating func message(_ field: Field) throws(WireError) -> WireReader {
        guard field.type == 2 else { throw .badField }
        return WireReader(try delimited())
    }

    /// Reads the value of a number field; throws `badField` when the field has another wire type.
    package mutating func number(_ field: Field) throws(WireError) -> UInt64 {
        guard field.type == 0 else { throw .badField }
        return try number()
    }

    /// Skips the value of a field.
    package mutating func skip(_ field: Field) throws(WireError) {
        switch field.type {
        case 0: _ = try number()
        case 1: try advance(8)
        case 2: _ = try delimited()
        case 5: try advance(4)
        default: throw .badField
        }
    }

    private mutating func advance(_ count: Int) throws(WireError) {
        guard remaining >= count else { throw .truncated }
        position += count
    }
}

extension ContiguousArray<UInt8> {
    /// Calls `body` with the bytes, rethrowing its error type.
    func withBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}
