/// A writer of FileDescriptorSets by hand, so that a test's schema is exactly as the test states.
struct DescriptorWriter {
    var bytes: [UInt8] = []

    mutating func number(_ field: UInt64, _ value: Int) {
        bytes += Self.varint(field << 3) + Self.varint(UInt64(bitPattern: Int64(value)))
    }

    mutating func text(_ field: UInt64, _ text: String) { part(field, Array(text.utf8)) }

    mutating func part(_ field: UInt64, _ content: [UInt8]) {
        bytes += Self.varint(field << 3 | 2) + Self.varint(UInt64(content.count)) + content
    }

    static func varint(_ value: UInt64) -> [UInt8] {
        var out: [UInt8] = []
        var rest = value
        while rest >= 0x80 {
            out.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        return out + [UInt8(rest)]
    }

    static func make(_ body: (inout DescriptorWriter) -> Void) -> [UInt8] {
        var writer = DescriptorWriter()
        body(&writer)
        return writer.bytes
    }

    // MARK: Declarations

    /// The field types, with the numbers of google.protobuf.FieldDescriptorProto.Type.
    enum Kind: Int {
        case double = 1, float, int64, uint64, int32, fixed64, fixed32, bool, string, group, message, bytes, uint32
        case enumeration, sfixed32, sfixed64, sint32, sint64
    }

    enum Label: Int {
        case optional = 1, required, repeated
    }

    static func field(
        _ name: String, _ number: Int, _ kind: Kind, _ label: Label = .optional, of type: String? = nil,
        packed: Bool? = nil, oneof: Int? = nil, defaultText: String? = nil, proto3Optional: Bool = false
    ) -> [UInt8] {
        make { writer in
            writer.text(1, name)
            writer.number(3, number)
            writer.number(4, label.rawValue)
            writer.number(5, kind.rawValue)
            if let type { writer.text(6, type) }
            if let defaultText { writer.text(7, defaultText) }
            if let packed { writer.part(8, make { $0.number(2, packed ? 1 : 0) }) }
            if let oneof { writer.number(9, oneof) }
            if proto3Optional { writer.number(17, 1) }
        }
    }

    static func message(
        _ name: String, _ fields: [[UInt8]], nested: [[UInt8]] = [], oneofs: [String] = [], isMapEntry: Bool = false
    ) -> [UInt8] {
        make { writer in
            writer.text(1, name)
            for field in fields { writer.part(2, field) }
            for message in nested { writer.part(3, message) }
            for oneof in oneofs { writer.part(8, make { $0.text(1, oneof) }) }
            if isMapEntry { writer.part(7, make { $0.number(7, 1) }) }
        }
    }

    static func enumeration(_ name: String, _ values: [(String, Int)]) -> [UInt8] {
        make { writer in
            writer.text(1, name)
            for value in values {
                writer.part(
                    2,
                    make {
                        $0.text(1, value.0)
                        $0.number(2, value.1)
                    })
            }
        }
    }

    static func set(
        package: String = "test.v1", syntax: String? = nil, messages: [[UInt8]] = [], enums: [[UInt8]] = [],
        services: [[UInt8]] = []
    ) -> [UInt8] {
        make { set in
            set.part(
                1,
                make { file in
                    file.text(1, "test.proto")
                    file.text(2, package)
                    for message in messages { file.part(4, message) }
                    for type in enums { file.part(5, type) }
                    for service in services { file.part(6, service) }
                    if let syntax { file.text(12, syntax) }
                })
        }
    }
}
