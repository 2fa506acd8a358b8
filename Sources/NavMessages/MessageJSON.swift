internal import CNavProto
internal import Glibc

/// Messages as JSON for people and scripts, read off the schema: no type needs code of its own.
///
/// The form is protobuf's JSON mapping with the names of the schema: enums by name (by number where unknown), 64-bit
/// integers as strings, bytes in base64, NaN and infinities as strings, absent fields left out.
public enum MessageJSON {
    /// The bytes of a message of the named type as JSON; `indent` puts each member on its own line.
    public static func text(
        decoding bytes: [UInt8], as fullName: String, indent: Bool = false, limit: Int = 64 << 20
    ) throws(MessageError) -> String {
        guard let descriptor = Schema.descriptor(named: fullName) else { throw .unknownType(fullName) }
        guard bytes.count <= limit else { throw .tooLarge(type: fullName, size: bytes.count, limit: limit) }
        let most = Wire.expansionLimit(bytes.count)
        let result: Result<String, MessageError> = Wire.withArena(limit: most) { arena in
            var allocator = nav_arena_allocator(arena)
            let unpacked = bytes.withUnsafeBufferPointer { buffer in
                protobuf_c_message_unpack(descriptor, &allocator, buffer.count, buffer.baseAddress)
            }
            guard let unpacked else {
                return .failure(
                    arena.pointee.exhausted != 0
                        ? .expandsTooMuch(type: fullName, size: bytes.count, limit: most)
                        : .malformed(type: fullName, size: bytes.count))
            }
            return Result { () throws(MessageError) in
                var writer = JSONWriter(indent: indent)
                try writer.message(unpacked)
                return writer.text
            }
        }
        return try result.get()
    }

    /// A message as JSON; `indent` puts each member on its own line.
    public static func text(of message: some Message, indent: Bool = false) throws(MessageError) -> String {
        try text(decoding: message.encoded(), as: type(of: message).fullName, indent: indent, limit: .max)
    }
}

/// Walks an unpacked protobuf-c message by its descriptor.
private struct JSONWriter {
    let indent: Bool
    var text = ""
    var depth = 0

    init(indent: Bool) { self.indent = indent }

    mutating func message(_ message: UnsafeMutablePointer<ProtobufCMessage>) throws(MessageError) {
        guard let descriptor = message.pointee.descriptor else { return }
        let base = UnsafeRawPointer(message)
        text += "{"
        depth += 1
        var first = true
        for index in 0..<Int(descriptor.pointee.n_fields) {
            guard let field = descriptor.pointee.fields?.advanced(by: index), isPresent(field, in: base) else {
                continue
            }
            if !first { text += "," }
            first = false
            newLine()
            text += "\"\(String(cString: field.pointee.name))\":" + (indent ? " " : "")
            let place = base + Int(field.pointee.offset)
            if field.pointee.label == PROTOBUF_C_LABEL_REPEATED {
                try list(field, at: place, count: count(field, in: base))
            } else {
                try value(field, at: place)
            }
        }
        depth -= 1
        if !first { newLine() }
        text += "}"
    }

    private func count(_ field: UnsafePointer<ProtobufCFieldDescriptor>, in base: UnsafeRawPointer) -> Int {
        base.load(fromByteOffset: Int(field.pointee.quantifier_offset), as: Int.self)
    }

    private func isPresent(
        _ field: UnsafePointer<ProtobufCFieldDescriptor>, in base: UnsafeRawPointer
    ) -> Bool {
        let quantifier = base + Int(field.pointee.quantifier_offset)
        if field.pointee.label == PROTOBUF_C_LABEL_REPEATED { return quantifier.load(as: Int.self) > 0 }
        if field.pointee.flags & UInt32(PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue) != 0 {
            return quantifier.load(as: UInt32.self) == field.pointee.id
        }
        if field.pointee.type == PROTOBUF_C_TYPE_STRING || field.pointee.type == PROTOBUF_C_TYPE_MESSAGE {
            return base.load(fromByteOffset: Int(field.pointee.offset), as: UnsafeRawPointer?.self) != nil
        }
        if field.pointee.label == PROTOBUF_C_LABEL_OPTIONAL { return quantifier.load(as: Int32.self) != 0 }
        return true
    }

    private mutating func list(
        _ field: UnsafePointer<ProtobufCFieldDescriptor>, at place: UnsafeRawPointer, count: Int
    ) throws(MessageError) {
        guard let elements = place.load(as: UnsafeRawPointer?.self) else { return }
        let width = Self.width(field.pointee.type)
        text += "["
        for index in 0..<count {
            if index > 0 { text += indent ? ", " : "," }
            try value(field, at: elements + index * width)
        }
        text += "]"
    }

    private static func width(_ type: ProtobufCType) -> Int {
        switch type {
        case PROTOBUF_C_TYPE_BYTES: MemoryLayout<ProtobufCBinaryData>.stride
        case PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_SINT64, PROTOBUF_C_TYPE_SFIXED64, PROTOBUF_C_TYPE_UINT64,
            PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_DOUBLE, PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_MESSAGE:
            8
        default: 4
        }
    }

    private mutating func value(
        _ field: UnsafePointer<ProtobufCFieldDescriptor>, at place: UnsafeRawPointer
    ) throws(MessageError) {
        switch field.pointee.type {
        case PROTOBUF_C_TYPE_INT32, PROTOBUF_C_TYPE_SINT32, PROTOBUF_C_TYPE_SFIXED32:
            text += String(place.load(as: Int32.self))
        case PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_FIXED32:
            text += String(place.load(as: UInt32.self))
        case PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_SINT64, PROTOBUF_C_TYPE_SFIXED64:
            text += "\"\(place.load(as: Int64.self))\""
        case PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_FIXED64:
            text += "\"\(place.load(as: UInt64.self))\""
        case PROTOBUF_C_TYPE_BOOL:
            text += place.load(as: Int32.self) != 0 ? "true" : "false"
        case PROTOBUF_C_TYPE_FLOAT:
            let number = place.load(as: Float.self)
            text += number.isFinite ? "\(number)" : Self.notFinite(Double(number))
        case PROTOBUF_C_TYPE_DOUBLE:
            let number = place.load(as: Double.self)
            text += number.isFinite ? "\(number)" : Self.notFinite(number)
        case PROTOBUF_C_TYPE_ENUM:
            enumeration(field, place.load(as: Int32.self))
        case PROTOBUF_C_TYPE_STRING:
            let c = place.load(as: UnsafeMutablePointer<CChar>?.self)
            quote(try string(c, field))
        case PROTOBUF_C_TYPE_BYTES:
            let data = place.load(as: ProtobufCBinaryData.self)
            base64(UnsafeBufferPointer(start: data.data, count: data.data == nil ? 0 : data.len))
        default:
            if let inner = place.load(as: UnsafeMutablePointer<ProtobufCMessage>?.self) { try message(inner) }
        }
    }

    private func string(
        _ c: UnsafeMutablePointer<CChar>?, _ field: UnsafePointer<ProtobufCFieldDescriptor>
    ) throws(MessageError) -> String {
        guard let c else { return "" }
        let count = nav_arena_block_size(c) - 1
        let raw = UnsafeBufferPointer(start: UnsafeRawPointer(c).assumingMemoryBound(to: UInt8.self), count: count)
        guard memchr(c, 0, count) == nil, let value = String(validating: raw, as: UTF8.self) else {
            throw .invalidString(field: String(cString: field.pointee.name))
        }
        return value
    }

    private mutating func enumeration(_ field: UnsafePointer<ProtobufCFieldDescriptor>, _ number: Int32) {
        let descriptor = field.pointee.descriptor?.assumingMemoryBound(to: ProtobufCEnumDescriptor.self)
        if let name = protobuf_c_enum_descriptor_get_value(descriptor, number)?.pointee.name {
            text += "\"\(String(cString: name))\""
        } else {
            text += String(number)
        }
    }

    private static func notFinite(_ number: Double) -> String {
        number.isNaN ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\""
    }

    private mutating func quote(_ string: String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                let hex = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    private mutating func base64(_ bytes: UnsafeBufferPointer<UInt8>) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var out: [UInt8] = []
        out.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let rest = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < rest ? UInt32(bytes[start + offset]) : 0) }
            for digit in 0..<4 {
                out.append(
                    digit <= rest
                        ? alphabet[Int(group >> UInt32(18 - 6 * digit)) & 63] : UInt8(ascii: "="))
            }
        }
        text += "\"" + String(decoding: out, as: UTF8.self) + "\""
    }

    private mutating func newLine() {
        if indent { text += "\n" + String(repeating: "  ", count: depth) }
    }
}
