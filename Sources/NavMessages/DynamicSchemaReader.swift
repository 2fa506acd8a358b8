extension SchemaPool {
    /// Reads a serialised `google.protobuf.FileDescriptorSet`, as written by `protoc --include_imports --descriptor_set_out` or
    /// returned by a node's schema service.
    ///
    /// - Throws: ``SchemaError`` when it is malformed, over ``maximumSize`` or ``maximumDeclarations``, declares a
    ///   name twice, or refers to a type that none of its files declares.
    public init(fileDescriptorSet bytes: [UInt8]) throws(SchemaError) {
        guard bytes.count <= Self.maximumSize else {
            throw SchemaError("a schema of \(bytes.count) bytes is over the limit of \(Self.maximumSize)")
        }
        var reader = SchemaReader()
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(SchemaError) in
                try reader.set(raw)
                try reader.link()
            }
        }
        try result.get()
        self = reader.pool
    }
}

/// A builder of a pool in two passes: first the declarations, then the references between them.
private struct SchemaReader {
    private struct Field {
        var name = ""
        var jsonName: String?
        var number: UInt64 = 0
        var label: UInt64 = 1
        var type: UInt64 = 0
        var typeName = ""
        var defaultText: String?
        var oneof: UInt64?
        var packed: Bool?
        var isProto3Optional = false
    }

    private struct File {
        var name = ""
        var package = ""
        var isProto3 = false
        /// Whether the file uses an edition, which packs lists and tracks presence.
        var isEdition = false
        var messages: [Range<Int>] = []
        var enums: [Range<Int>] = []
        var services: [Range<Int>] = []
    }

    private struct Reference {
        let message: Int
        let field: Int
        let name: String
    }

    var pool = SchemaPool()
    private var files: Set<String> = []
    private var references: [Reference] = []
    private var declarations = 0

    // MARK: Declarations

    mutating func set(_ bytes: UnsafeRawBufferPointer) throws(SchemaError) {
        try each(bytes, 0..<bytes.count, "the file descriptor set") { reader, number, value throws(SchemaError) in
            if number == 1 { try reader.file(bytes, value) }
        }
    }

    private mutating func file(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SchemaError) {
        var file = File()
        try each(bytes, range, "a file") { reader, number, value throws(SchemaError) in
            switch number {
            case 1: file.name = try reader.text(bytes, value)
            case 2: file.package = try reader.text(bytes, value)
            case 4: file.messages.append(value)
            case 5: file.enums.append(value)
            case 6: file.services.append(value)
            case 12: file.isProto3 = try reader.text(bytes, value) == "proto3"
            case 14: file.isEdition = true
            default: break
            }
        }
        // A set merged from several nodes' answers may contain a file twice.
        guard files.insert(file.name).inserted else { return }
        if !file.package.isEmpty { try check(name: file.package, dots: true) }
        let prefix = file.package.isEmpty ? "" : file.package + "."
        for value in file.messages { try message(bytes, value, prefix, file, depth: 0) }
        for value in file.enums { try enumeration(bytes, value, prefix) }
        for value in file.services { try service(bytes, value, prefix) }
    }

    private mutating func message(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ prefix: String, _ file: File, depth: Int
    ) throws(SchemaError) {
        guard depth < SchemaPool.maximumDepth else { throw SchemaError("message declarations are nested too deeply") }
        var name = ""
        var fields: [Field] = []
        var nested: [Range<Int>] = []
        var enums: [Range<Int>] = []
        var oneofs: [String] = []
        var isMapEntry = false
        try each(bytes, range, "a message") { reader, number, value throws(SchemaError) in
            switch number {
            case 1: name = try reader.text(bytes, value)
            case 2: fields.append(try reader.field(bytes, value))
            case 3: nested.append(value)
            case 4: enums.append(value)
            case 7: isMapEntry = try reader.flag(7, bytes, value) ?? isMapEntry
            case 8: oneofs.append(try reader.name(bytes, value))
            default: break
            }
        }
        try check(name: name)
        let fullName = prefix + name
        let index = pool.messages.count
        var message = MessageDeclaration(fullName: fullName)
        (message.oneofs, message.isMapEntry) = (oneofs, isMapEntry)
        fields.sort { $0.number < $1.number }
        for field in fields { try add(field, to: &message, index, file) }
        guard pool.messageIndices.updateValue(index, forKey: try declared(fullName)) == nil else {
            throw SchemaError("the message '\(fullName)' is declared twice")
        }
        pool.messages.append(message)
        for value in nested { try self.message(bytes, value, fullName + ".", file, depth: depth + 1) }
        for value in enums { try enumeration(bytes, value, fullName + ".") }
    }

    private mutating func field(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SchemaError) -> Field {
        var field = Field()
        try each(bytes, range, "a field") { reader, number, value throws(SchemaError) in
            switch number {
            case 1: field.name = try reader.text(bytes, value)
            case 3: field.number = try reader.number(bytes, value)
            case 4: field.label = try reader.number(bytes, value)
            case 5: field.type = try reader.number(bytes, value)
            case 6: field.typeName = try reader.text(bytes, value)
            case 7: field.defaultText = try reader.text(bytes, value)
            case 8: field.packed = try reader.flag(2, bytes, value) ?? field.packed
            case 9: field.oneof = try reader.number(bytes, value)
            case 10: field.jsonName = try reader.text(bytes, value)
            case 17: field.isProto3Optional = try reader.number(bytes, value) != 0
            default: break
            }
        }
        return field
    }

    private mutating func add(
        _ field: Field, to message: inout MessageDeclaration, _ index: Int, _ file: File
    ) throws(SchemaError) {
        try check(name: field.name)
        let place = "\(message.fullName).\(field.name)"
        guard (1...0x1fff_ffff).contains(field.number), message.fields.last.map({ $0.number < field.number }) ?? true
        else { throw SchemaError("\(place): field number \(field.number) is invalid or already used") }
        guard let label = [1: FieldDeclaration.Label.optional, 2: .required, 3: .repeated][field.label] else {
            throw SchemaError("\(place): \(field.label) is not a label")
        }
        if let oneof = field.oneof, oneof >= UInt64(message.oneofs.count) {
            throw SchemaError("\(place): there is no oneof \(oneof)")
        }
        let kind: FieldDeclaration.Kind
        if let scalar = Self.scalars[field.type] {
            kind = scalar
        } else if [11, 14, 0].contains(field.type), !field.typeName.isEmpty {
            // The resolved name decides whether it is a message or an enum.
            kind = field.type == 14 ? .enumeration(-1) : .message(-1)
            references.append(Reference(message: index, field: message.fields.count, name: field.typeName))
        } else {
            throw SchemaError("\(place): \(field.type) is not a type")
        }
        let isMessage = field.type == 11 || field.type == 10
        let isPackable = label == .repeated && kind.shape != .bytes && kind != .group && !isMessage
        _ = try declared(place)
        let position = message.fields.count
        message.fields.append(
            FieldDeclaration(
                name: field.name, jsonName: field.jsonName ?? field.name, number: UInt32(field.number), label: label,
                defaultText: field.defaultText,
                oneof: field.isProto3Optional ? nil : field.oneof.map { Int($0) },
                isPacked: isPackable && field.packed ?? (file.isProto3 || file.isEdition),
                hasPresence: label != .repeated
                    && (!file.isProto3 || isMessage || field.oneof != nil || field.isProto3Optional),
                kind: kind, key: Array("\"\(field.name)\":".utf8)))
        guard message.positions.updateValue(position, forKey: field.name) == nil else {
            throw SchemaError("\(place) is declared twice")
        }
        if label == .required { message.required.append(position) }
        if label == .optional, message.fields[position].hasPresence == false { message.implicit.append(position) }
    }

    private static let scalars: [UInt64: FieldDeclaration.Kind] = [
        1: .double, 2: .float, 3: .int64, 4: .uint64, 5: .int32, 6: .fixed64, 7: .fixed32, 8: .bool, 9: .string,
        10: .group, 12: .bytes, 13: .uint32, 15: .sfixed32, 16: .sfixed64, 17: .sint32, 18: .sint64,
    ]

    private mutating func enumeration(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ prefix: String
    ) throws(SchemaError) {
        var name = ""
        var values: [(name: String, number: Int32)] = []
        try each(bytes, range, "an enum") { reader, number, value throws(SchemaError) in
            switch number {
            case 1: name = try reader.text(bytes, value)
            case 2: values.append(try reader.enumValue(bytes, value))
            default: break
            }
        }
        try check(name: name)
        var result = EnumDeclaration(fullName: prefix + name)
        for value in values {
            try check(name: value.name)
            _ = try declared(value.name)
            if result.names[value.number] == nil { result.names[value.number] = result.values.count }
            result.numbers[value.name] = value.number
            result.values.append(value)
        }
        let index = pool.enums.count
        guard pool.enumIndices.updateValue(index, forKey: try declared(result.fullName)) == nil else {
            throw SchemaError("the enum '\(result.fullName)' is declared twice")
        }
        pool.enums.append(result)
    }

    private mutating func enumValue(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(SchemaError) -> (name: String, number: Int32) {
        var result = (name: "", number: Int32(0))
        try each(bytes, range, "an enum's value") { reader, number, value throws(SchemaError) in
            if number == 1 { result.name = try reader.text(bytes, value) }
            if number == 2 { result.number = Int32(truncatingIfNeeded: try reader.number(bytes, value)) }
        }
        return result
    }

    private mutating func service(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ prefix: String
    ) throws(SchemaError) {
        var name = ""
        var methods: [ServiceDeclaration.Method] = []
        try each(bytes, range, "a service") { reader, number, value throws(SchemaError) in
            if number == 1 { name = try reader.text(bytes, value) }
            if number == 2 { methods.append(try reader.method(bytes, value)) }
        }
        try check(name: name)
        pool.services.append(ServiceDeclaration(fullName: try declared(prefix + name), methods: methods))
    }

    private mutating func method(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(SchemaError) -> ServiceDeclaration.Method {
        var (name, input, output, client, server) = ("", "", "", false, false)
        try each(bytes, range, "a method") { reader, number, value throws(SchemaError) in
            switch number {
            case 1: name = try reader.text(bytes, value)
            case 2: input = try reader.text(bytes, value)
            case 3: output = try reader.text(bytes, value)
            case 5: client = try reader.number(bytes, value) != 0
            case 6: server = try reader.number(bytes, value) != 0
            default: break
            }
        }
        try check(name: name)
        _ = try declared(name)
        return ServiceDeclaration.Method(
            name: name, request: try Self.absolute(input), response: try Self.absolute(output),
            isClientStreaming: client, isServerStreaming: server)
    }

    // MARK: References

    /// Resolves the types of fields, and sets the JSON name of each field.
    mutating func link() throws(SchemaError) {
        for reference in references {
            let name = try Self.absolute(reference.name)
            let kind: FieldDeclaration.Kind
            if let index = pool.messageIndices[name] {
                kind = .message(index)
            } else if let index = pool.enumIndices[name] {
                kind = .enumeration(index)
            } else {
                let message = pool.messages[reference.message]
                throw SchemaError(
                    "\(message.fullName).\(message.fields[reference.field].name) has type '\(name)', which no file of the "
                        + "schema declares: include the imported files")
            }
            pool.messages[reference.message].fields[reference.field].kind = kind
        }
        for index in pool.messages.indices {
            let message = pool.messages[index]
            for (position, field) in message.fields.enumerated() where message.positions[field.jsonName] == nil {
                pool.messages[index].positions[field.jsonName] = position
            }
            if message.isMapEntry, message.fields.map(\.number) != [1, 2] {
                throw SchemaError("\(message.fullName) is a map entry without a key and a value")
            }
        }
        for service in pool.services {
            for method in service.methods {
                for type in [method.request, method.response] where pool.messageIndices[type] == nil {
                    throw SchemaError(
                        "\(service.fullName).\(method.name) takes or returns '\(type)', which no file of the schema "
                            + "declares: include the imported files")
                }
            }
        }
    }

    /// Returns a reference without its leading dot; compilers write full names.
    private static func absolute(_ name: String) throws(SchemaError) -> String {
        guard name.hasPrefix(".") else {
            throw SchemaError("the reference to '\(name.prefix(80))' is not fully qualified: use protoc")
        }
        return String(name.dropFirst())
    }

    // MARK: Values

    /// Calls `body` with each field of a declaration; a varint's range holds its bytes.
    private mutating func each(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ what: String,
        _ body: (inout SchemaReader, UInt32, Range<Int>) throws(SchemaError) -> Void
    ) throws(SchemaError) {
        var cursor = WireCursor(bytes, range)
        while !cursor.isAtEnd {
            guard let tag = cursor.tag(), let value = cursor.value(tag.shape) else {
                throw SchemaError("\(what) of the schema is not valid protobuf at byte \(cursor.position)")
            }
            try body(&self, tag.number, value)
        }
    }

    private func text(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SchemaError) -> String {
        guard range.count <= 4 * SchemaPool.maximumNameLength,
            let text = String(validating: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
        else { throw SchemaError("a string in the schema at byte \(range.lowerBound) is too long or not UTF-8") }
        return text
    }

    private func number(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SchemaError) -> UInt64 {
        var cursor = WireCursor(bytes, range)
        guard let value = cursor.varint() else {
            throw SchemaError("a number in the schema at byte \(range.lowerBound) is not valid")
        }
        return value
    }

    /// Reads the boolean option with a number; nil when it is absent.
    private mutating func flag(
        _ wanted: UInt32, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(SchemaError) -> Bool? {
        var result: Bool?
        try each(bytes, range, "options") { reader, number, value throws(SchemaError) in
            if number == wanted { result = try reader.number(bytes, value) != 0 }
        }
        return result
    }

    /// Reads the name of a declaration whose other content is not used.
    private mutating func name(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(SchemaError) -> String {
        var result = ""
        try each(bytes, range, "a oneof") { reader, number, value throws(SchemaError) in
            if number == 1 { result = try reader.text(bytes, value) }
        }
        try check(name: result)
        return try declared(result)
    }

    /// Counts a declaration against the limit.
    private mutating func declared(_ fullName: String) throws(SchemaError) -> String {
        declarations += 1
        guard declarations <= SchemaPool.maximumDeclarations else {
            throw SchemaError("the schema has more than \(SchemaPool.maximumDeclarations) declarations")
        }
        guard fullName.utf8.count <= SchemaPool.maximumNameLength else {
            throw SchemaError("the name '\(fullName.prefix(80))…' is over \(SchemaPool.maximumNameLength) bytes")
        }
        return fullName
    }

    /// Checks that a name is an identifier, so that it can be printed unchanged.
    private func check(name: String, dots: Bool = false) throws(SchemaError) {
        let isValid = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x5f || dots && byte == 0x2e
        }
        guard isValid, !name.isEmpty else { throw SchemaError("a name in the schema is not an identifier") }
    }
}
