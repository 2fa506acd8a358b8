import NavSimulation
import CNavProto

/// A writer of random valid protobuf bytes of any message type, based only on protobuf-c's descriptor and a separate
/// encoder, independent of the code under test.
struct RandomMessageWriter {
    var random: SeededRandom
    /// The probability that a field is present, percent; submessages below depth 3 are rarer.
    var presence = 70

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    static func descriptor(_ name: String) -> UnsafePointer<ProtobufCMessageDescriptor>? {
        for index in 0..<nav_message_count {
            let descriptor = nav_schema_message(index)?.pointee.descriptor
            if let descriptor, String(cString: descriptor.pointee.name) == name { return descriptor }
        }
        return nil
    }

    mutating func message(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>, depth: Int = 0) -> [UInt8] {
        var out: [UInt8] = []
        var chosen: [UInt32: UInt32] = [:]
        let fields = (0..<Int(descriptor.pointee.n_fields)).compactMap { descriptor.pointee.fields?[$0] }
        // One member of each oneof: the last one drawn.
        for field in fields where field.flags & UInt32(PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue) != 0 {
            if chosen[field.quantifier_offset] == nil || Int.random(in: 0..<3, using: &random) == 0 {
                chosen[field.quantifier_offset] = field.id
            }
        }
        for field in fields {
            let isMessage = field.type == PROTOBUF_C_TYPE_MESSAGE
            let odds = isMessage && depth > 2 ? presence / (depth * 2) : presence
            if Int.random(in: 0..<100, using: &random) >= odds { continue }
            if field.flags & UInt32(PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue) != 0,
                chosen[field.quantifier_offset] != field.id
            {
                continue
            }
            guard field.label == PROTOBUF_C_LABEL_REPEATED else {
                out += tag(field) + value(field, depth)
                continue
            }
            let count = Int.random(in: 1...(isMessage ? 2 : 6), using: &random)
            if field.flags & UInt32(PROTOBUF_C_FIELD_FLAG_PACKED.rawValue) != 0 {
                let body = (0..<count).flatMap { _ in value(field, depth) }
                out += varint(UInt64(field.id) << 3 | 2) + varint(UInt64(body.count)) + body
            } else {
                for _ in 0..<count { out += tag(field) + value(field, depth) }
            }
        }
        return out
    }

    func varint(_ value: UInt64) -> [UInt8] {
        var out: [UInt8] = []
        var rest = value
        while rest >= 0x80 {
            out.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        return out + [UInt8(rest)]
    }

    private func tag(_ field: ProtobufCFieldDescriptor) -> [UInt8] {
        let type: UInt64 =
            switch field.type {
            case PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_SFIXED64, PROTOBUF_C_TYPE_DOUBLE: 1
            case PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_SFIXED32, PROTOBUF_C_TYPE_FLOAT: 5
            case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_MESSAGE: 2
            default: 0
            }
        return varint(UInt64(field.id) << 3 | type)
    }

    private mutating func integer() -> UInt64 {
        // Small, medium and extreme numbers.
        random.next() >> UInt64(Int.random(in: 0..<64, using: &random))
    }

    private mutating func value(_ field: ProtobufCFieldDescriptor, _ depth: Int) -> [UInt8] {
        switch field.type {
        case PROTOBUF_C_TYPE_DOUBLE:
            return bytes(Double.random(in: -1e6...1e6, using: &random).bitPattern)
        case PROTOBUF_C_TYPE_FLOAT:
            return bytes(Float.random(in: -1e6...1e6, using: &random).bitPattern)
        case PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_SFIXED64: return bytes(integer())
        case PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_SFIXED32: return bytes(UInt32(truncatingIfNeeded: integer()))
        case PROTOBUF_C_TYPE_BOOL: return [UInt8.random(in: 0...1, using: &random)]
        case PROTOBUF_C_TYPE_INT32:
            // Proto3 omits a zero.
            let value = Int32(truncatingIfNeeded: integer()) | (field.label == PROTOBUF_C_LABEL_NONE ? 1 : 0)
            return varint(UInt64(bitPattern: Int64(value)))
        case PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_SINT32:
            return varint(UInt64(UInt32(truncatingIfNeeded: integer())))
        case PROTOBUF_C_TYPE_ENUM:
            let known = field.descriptor?.assumingMemoryBound(to: ProtobufCEnumDescriptor.self).pointee
            let index = Int.random(in: 0..<max(1, Int(known?.n_values ?? 1)), using: &random)
            return varint(UInt64(known?.values?[index].value ?? 0))
        case PROTOBUF_C_TYPE_STRING:
            let letters = Array("aZ09 ßé北京🚗/\"\\\n")
            let text = String(
                (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    letters[Int.random(in: 0..<letters.count, using: &random)]
                })
            return varint(UInt64(text.utf8.count)) + Array(text.utf8)
        case PROTOBUF_C_TYPE_BYTES:
            let count = Int.random(in: 0...20, using: &random)
            return varint(UInt64(count)) + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        case PROTOBUF_C_TYPE_MESSAGE:
            guard let inner = field.descriptor else { return [0] }
            let body = message(inner.assumingMemoryBound(to: ProtobufCMessageDescriptor.self), depth: depth + 1)
            return varint(UInt64(body.count)) + body
        default: return varint(field.label == PROTOBUF_C_LABEL_NONE ? integer() | 1 : integer())
        }
    }

    private func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
