/// An error in a JSON text that does not represent a message of the type.
public struct MessageTextError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The place in the message, such as `legs[2].distance_m`; empty for the message itself.
    public let field: String
    /// The byte of the text, from 1.
    public let position: Int
    /// A description of what is wrong, where, and what to write instead.
    public let description: String

    init(type: String, field: String, position: Int, _ text: String) {
        self.field = field
        self.position = position
        description = "\(type)\(field.isEmpty ? "" : ", field \(field)"): \(text) (character \(position) of the JSON)"
    }
}

extension SchemaPool {
    /// Returns the bytes of a message of the named type, from JSON as written by ``json(decoding:as:indent:limit:)``.
    ///
    /// It accepts all of protobuf's JSON mapping: members named as in the .proto file or in lowerCamelCase, enums by name or
    /// number, 64-bit integers as strings or numbers, base64 of both alphabets, `null` for absent. An enum's value may omit the
    /// common prefix of all of its names: `TRUCK` for `VEHICLE_CLASS_TRUCK`. Fields are written in the order of their
    /// numbers.
    ///
    /// - Throws: ``MessageTextError`` with the position in the text for anything else: an unknown field, a value out of
    ///   range, two members of one oneof, a required field that is missing, a message over `limit` bytes.
    public func encode(
        json: String, as fullName: String, limit: Int = 64 << 20
    ) throws(MessageTextError) -> [UInt8] {
        guard let index = messageIndices[fullName] else {
            throw MessageTextError(
                type: fullName, field: "", position: 1, "no such message type; `navbus topic info` lists the types")
        }
        guard json.utf8.count <= 4 * min(limit, Int.max / 4) else {
            throw MessageTextError(
                type: fullName, field: "", position: 1,
                "\(json.utf8.count) bytes of JSON are too large for a message of at most \(limit) bytes")
        }
        var reader = DynamicReader(pool: self, json: json)
        do throws(JSONScanner.Problem) {
            let bytes = try reader.message(index, depth: 0)
            if reader.scanner.peek() != nil { throw reader.scanner.problem("unexpected text after the message") }
            guard bytes.count <= limit else {
                throw reader.scanner.problem("the message has \(bytes.count) bytes, over the limit of \(limit)")
            }
            return bytes
        } catch {
            throw MessageTextError(
                type: fullName, field: reader.place, position: error.position + 1, error.text)
        }
    }
}

/// A reader of JSON into the bytes of a message.
private struct DynamicReader {
    let pool: SchemaPool
    var scanner: JSONScanner
    /// The reader's place in the message; after an error, the place of the error.
    private var path: [PathStep] = []

    init(pool: SchemaPool, json: String) {
        self.pool = pool
        scanner = JSONScanner(json)
    }

    var place: String {
        path.reduce(into: "") { text, step in
            switch step {
            case .member(let name): text += text.isEmpty ? name : ".\(name)"
            case .element(let index): text += "[\(index)]"
            }
        }
    }

    // MARK: Messages

    mutating func message(_ index: Int, depth: Int) throws(JSONScanner.Problem) -> [UInt8] {
        guard depth < SchemaPool.maximumDepth else { throw scanner.problem("messages are nested too deeply") }
        let type = pool.messages[index]
        guard scanner.take("{") else { throw scanner.problem("expected a \(type.fullName) in braces") }
        var parts: [(position: Int, bytes: [UInt8])] = []
        var seen: Set<Int> = []
        var members: [Int: String] = [:]
        var isFirst = true
        while try scanner.hasNext(closing: "}", &isFirst) {
            let name = try scanner.string()
            guard let position = type.positions[name] else { throw scanner.problem(unknown(name, in: type)) }
            let field = type.fields[position]
            path.append(.member(field.name))
            try scanner.expect(":")
            if scanner.take(word: "null") {
                path.removeLast()
                continue
            }
            guard seen.insert(position).inserted else { throw scanner.problem("duplicate field") }
            if let oneof = field.oneof, let other = members.updateValue(field.name, forKey: oneof) {
                throw scanner.problem(
                    "only one of '\(other)' and '\(field.name)' can be set (oneof \(type.oneofs[oneof]))")
            }
            parts.append((position, try self.field(field, depth)))
            path.removeLast()
        }
        for position in type.required where !seen.contains(position) {
            throw scanner.problem("the required field '\(type.fields[position].name)' is missing")
        }
        parts.sort { $0.position < $1.position }
        return parts.flatMap(\.bytes)
    }

    private func unknown(_ name: String, in type: MessageDeclaration) -> String {
        let names = type.fields.map(\.name)
        let known = names.isEmpty ? "no fields" : names.prefix(20).joined(separator: ", ")
        return "no field '\(name.prefix(80))' in \(type.fullName); it has \(known)\(names.count > 20 ? ", …" : "")"
    }

    private mutating func field(_ field: FieldDeclaration, _ depth: Int) throws(JSONScanner.Problem) -> [UInt8] {
        if field.label == .repeated {
            if case .message(let index) = field.kind, pool.messages[index].isMapEntry {
                return try map(field, pool.messages[index], depth)
            }
            return try list(field, depth)
        }
        let bytes = try value(field.kind, depth)
        // A field without presence is omitted when it is zero, as in all protobuf libraries.
        if !field.hasPresence, bytes.allSatisfy({ $0 == 0 }) { return [] }
        return Self.tag(field.number, field.kind.shape ?? .bytes) + bytes
    }

    private mutating func list(_ field: FieldDeclaration, _ depth: Int) throws(JSONScanner.Problem) -> [UInt8] {
        guard scanner.take("[") else { throw scanner.problem("expected a list in brackets") }
        let tag = Self.tag(field.number, field.kind.shape ?? .bytes)
        var out: [UInt8] = []
        var isFirst = true
        var index = 0
        while try scanner.hasNext(closing: "]", &isFirst) {
            path.append(.element(index))
            let bytes = try value(field.kind, depth)
            if !field.isPacked { out.append(contentsOf: tag) }
            out.append(contentsOf: bytes)
            path.removeLast()
            index += 1
        }
        guard field.isPacked, index > 0 else { return out }
        return Self.tag(field.number, .bytes) + Self.varint(UInt64(out.count)) + out
    }

    private mutating func map(
        _ field: FieldDeclaration, _ type: MessageDeclaration, _ depth: Int
    ) throws(JSONScanner.Problem) -> [UInt8] {
        guard let key = type.field(numbered: 1), let content = type.field(numbered: 2) else {
            throw scanner.problem("the map entry lacks its key or value type")
        }
        guard scanner.take("{") else { throw scanner.problem("expected an object in braces") }
        var out: [UInt8] = []
        var seen: Set<String> = []
        var isFirst = true
        while try scanner.hasNext(closing: "}", &isFirst) {
            let name = try scanner.string()
            path.append(.member(name))
            guard seen.insert(name).inserted else { throw scanner.problem("duplicate key") }
            try scanner.expect(":")
            let entry =
                Self.tag(1, key.kind.shape ?? .bytes) + (try mapKey(key.kind, name))
                + Self.tag(2, content.kind.shape ?? .bytes) + (try value(content.kind, depth))
            out += Self.tag(field.number, .bytes) + Self.varint(UInt64(entry.count)) + entry
            path.removeLast()
        }
        return out
    }

    private func mapKey(_ kind: FieldDeclaration.Kind, _ text: String) throws(JSONScanner.Problem) -> [UInt8] {
        switch kind {
        case .string: return try string(text)
        case .bool:
            guard text == "true" || text == "false" else { throw scanner.problem("expected \"true\" or \"false\"") }
            return [text == "true" ? 1 : 0]
        default: return try integer(kind, text)
        }
    }

    // MARK: Values

    private mutating func value(_ kind: FieldDeclaration.Kind, _ depth: Int) throws(JSONScanner.Problem) -> [UInt8] {
        switch kind {
        case .message(let index):
            let inner = try message(index, depth: depth + 1)
            return Self.varint(UInt64(inner.count)) + inner
        case .string: return try string(try scanner.string())
        case .bytes:
            let text = try scanner.string()
            guard let bytes = JSONText.bytes(base64: text) else { throw scanner.problem("the text is not base64") }
            return Self.varint(UInt64(bytes.count)) + bytes
        case .bool:
            if scanner.take(word: "true") { return [1] }
            guard scanner.take(word: "false") else { throw scanner.problem("expected true or false") }
            return [0]
        case .enumeration(let index): return try enumeration(pool.enums[index])
        case .double, .float: return try floating(kind)
        case .group: throw scanner.problem("the field is a group, which the bus does not support")
        default:
            let isText = scanner.peek() == UInt8(ascii: "\"")
            return try integer(kind, isText ? try scanner.string() : try scanner.number())
        }
    }

    private func string(_ text: String) throws(JSONScanner.Problem) -> [UInt8] {
        guard !text.utf8.contains(0) else { throw scanner.problem("a string must not contain NUL (\\u0000)") }
        return Self.varint(UInt64(text.utf8.count)) + Array(text.utf8)
    }

    private mutating func enumeration(_ type: EnumDeclaration) throws(JSONScanner.Problem) -> [UInt8] {
        var number: Int32?
        if scanner.peek() == UInt8(ascii: "\"") {
            let name = try scanner.string()
            number = type.number(named: name)
            if number == nil {
                let names = type.values.prefix(20).map(\.name).joined(separator: ", ")
                throw scanner.problem(
                    "'\(name.prefix(80))' is not one of \(names)\(type.values.count > 20 ? ", …" : "")")
            }
        } else {
            number = Int32(try scanner.number())
        }
        guard let number else { throw scanner.problem("an enum value must be a name or a 32-bit integer") }
        return Self.varint(UInt64(bitPattern: Int64(number)))
    }

    private mutating func floating(_ kind: FieldDeclaration.Kind) throws(JSONScanner.Problem) -> [UInt8] {
        let isText = scanner.peek() == UInt8(ascii: "\"")
        let text = isText ? try scanner.string() : try scanner.number()
        let special: [String: Double] = ["NaN": .nan, "Infinity": .infinity, "-Infinity": -.infinity]
        let infinite = isText ? special[text] : nil
        if kind == .double {
            guard let value = infinite ?? Double(text).flatMap({ $0.isFinite ? $0 : nil }) else {
                throw scanner.problem("'\(text.prefix(40))' is not a 64-bit number")
            }
            return Self.fixed(value.bitPattern)
        }
        guard let value = infinite.map({ Float($0) }) ?? Float(text).flatMap({ $0.isFinite ? $0 : nil }) else {
            throw scanner.problem("'\(text.prefix(40))' is not a 32-bit number")
        }
        return Self.fixed(value.bitPattern)
    }

    /// Encodes a whole number, given in digits or as a float with a whole value (`1e3`).
    private func integer(_ kind: FieldDeclaration.Kind, _ text: String) throws(JSONScanner.Problem) -> [UInt8] {
        func parse<Number: FixedWidthInteger>(_ type: Number.Type) throws(JSONScanner.Problem) -> Number {
            if let value = Number(text) { return value }
            if let value = Double(text).flatMap({ Number(exactly: $0) }) { return value }
            throw scanner.problem(
                "'\(text.prefix(40))' is not an integer from \(Number.min) to \(Number.max)")
        }
        switch kind {
        case .int32: return Self.varint(UInt64(bitPattern: Int64(try parse(Int32.self))))
        case .int64: return Self.varint(UInt64(bitPattern: try parse(Int64.self)))
        case .uint32: return Self.varint(UInt64(try parse(UInt32.self)))
        case .uint64: return Self.varint(try parse(UInt64.self))
        case .sint32:
            let value = try parse(Int32.self)
            return Self.varint(UInt64(UInt32(bitPattern: value << 1 ^ value >> 31)))
        case .sint64:
            let value = try parse(Int64.self)
            return Self.varint(UInt64(bitPattern: value << 1 ^ value >> 63))
        case .fixed32: return Self.fixed(try parse(UInt32.self))
        case .sfixed32: return Self.fixed(try parse(Int32.self))
        case .fixed64: return Self.fixed(try parse(UInt64.self))
        case .sfixed64: return Self.fixed(try parse(Int64.self))
        default: throw scanner.problem("the type is not numeric")
        }
    }

    // MARK: Wire format

    private static func tag(_ number: UInt32, _ shape: WireCursor.Shape) -> [UInt8] {
        varint(UInt64(number) << 3 | UInt64(shape.rawValue))
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var out: [UInt8] = []
        var rest = value
        while rest >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        out.append(UInt8(rest))
        return out
    }

    private static func fixed(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
