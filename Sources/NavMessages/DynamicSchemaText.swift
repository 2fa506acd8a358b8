extension SchemaPool {
    /// A message as text, and the number of its fields unknown to the schema.
    public struct Text: Sendable, Equatable {
        /// The fields in the schema, as JSON.
        public var json: String
        /// The number of fields on the wire that the type does not have; the JSON omits them.
        public var unknownFieldCount: Int
    }

    /// Returns the bytes of a message of the named type as JSON; `indent` puts each member on its own line.
    ///
    /// The form is protobuf's JSON mapping with the names of the schema: enums by name (by number if unknown), 64-bit integers
    /// as strings, bytes in base64, NaN and infinities as strings, maps as objects, absent fields omitted, fields in the order
    /// of their numbers. Plain proto3 fields, which cannot be absent, are always written.
    ///
    /// - Throws: ``MessageError`` for bytes that no node accepts, and for text of more than 1 MiB + 64 times the
    ///   message's size.
    public func json(
        decoding bytes: [UInt8], as fullName: String, indent: Bool = false, limit: Int = 64 << 20
    ) throws(MessageError) -> Text {
        guard let index = messageIndices[fullName] else { throw .unknownType(fullName) }
        guard bytes.count <= limit else { throw .tooLarge(type: fullName, size: bytes.count, limit: limit) }
        var writer = DynamicWriter(pool: self, type: fullName, size: bytes.count, indent: indent)
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(MessageError) in try writer.message(index, raw, [0..<raw.count]) }
        }
        try result.get()
        return Text(json: String(decoding: writer.out, as: UTF8.self), unknownFieldCount: writer.unknownFields)
    }
}

/// A writer of one message as JSON, directly from its bytes.
///
/// It first finds a message's fields on the wire, then writes them in the order of their numbers. As in protobuf, the last of
/// a repeated single field counts, and several pieces of an inner message are merged.
private struct DynamicWriter {
    /// A field on the wire: its position in the type, and the range of its value.
    private struct Entry {
        var field: Int
        var shape: WireCursor.Shape
        var value: Range<Int>
    }

    let pool: SchemaPool
    let type: String
    let size: Int
    let indent: Bool
    let limit: Int
    var out: [UInt8] = []
    var unknownFields = 0
    private var depth = 0
    /// The entries of the messages being written, the innermost last.
    private var entries: [Entry] = []

    init(pool: SchemaPool, type: String, size: Int, indent: Bool) {
        self.pool = pool
        self.type = type
        self.size = size
        self.indent = indent
        limit = 1 << 20 + 64 &* size
        out.reserveCapacity(size &* 4)
    }

    private var malformed: MessageError { .malformed(type: type, size: size) }

    mutating func message(
        _ index: Int, _ bytes: UnsafeRawBufferPointer, _ parts: [Range<Int>]
    ) throws(MessageError) {
        guard depth < SchemaPool.maximumDepth else {
            throw .tooDeep(type: pool.messages[index].fullName, limit: SchemaPool.maximumDepth)
        }
        let base = entries.count
        defer { entries.removeLast(entries.count - base) }
        try collect(pool.messages[index], bytes, parts, base)
        try checkRequired(pool.messages[index], base)

        out.append(UInt8(ascii: "{"))
        depth += 1
        var isFirst = true
        var implicit = pool.messages[index].implicit[...]
        var next = base
        let end = entries.count
        while next < end || !implicit.isEmpty {
            guard out.count <= limit else { throw .expandsTooMuch(type: type, size: size, limit: limit) }
            if let zero = implicit.first, next == end || zero < entries[next].field {
                implicit.removeFirst()
                member(pool.messages[index].fields[zero].key, &isFirst)
                zeroValue(pool.messages[index].fields[zero].kind)
                continue
            }
            let position = entries[next].field
            if implicit.first == position { implicit.removeFirst() }
            var after = next + 1
            while after < end, entries[after].field == position { after += 1 }
            let field = pool.messages[index].fields[position]
            member(field.key, &isFirst)
            if field.label == .repeated {
                try list(field, bytes, next..<after)
            } else if case .message(let inner) = field.kind {
                try message(inner, bytes, entries[next..<after].map(\.value))
            } else {
                try value(field, pool.messages[index].fullName, bytes, entries[after - 1].value)
            }
            next = after
        }
        depth -= 1
        if !isFirst { newLine() }
        out.append(UInt8(ascii: "}"))
    }

    // MARK: Finding fields

    private mutating func collect(
        _ type: MessageDeclaration, _ bytes: UnsafeRawBufferPointer, _ parts: [Range<Int>], _ base: Int
    ) throws(MessageError) {
        var last = -1
        var isSorted = true
        var hasOneofs = false
        for part in parts {
            var cursor = WireCursor(bytes, part)
            while !cursor.isAtEnd {
                guard let tag = cursor.tag(), let value = cursor.value(tag.shape) else { throw malformed }
                guard let position = type.position(of: tag.number, after: last) else {
                    unknownFields += 1
                    continue
                }
                let field = type.fields[position]
                let isList = tag.shape == .bytes && field.label == .repeated
                guard let shape = field.kind.shape, tag.shape == shape || isList else { throw malformed }
                if position < last { isSorted = false }
                last = position
                hasOneofs = hasOneofs || field.oneof != nil
                entries.append(Entry(field: position, shape: tag.shape, value: value))
            }
        }
        if hasOneofs { keepLastOfOneofs(type, base) }
        if !isSorted {
            entries[base...].sort { ($0.field, $0.value.lowerBound) < ($1.field, $1.value.lowerBound) }
        }
    }

    /// Keeps only the last member of each oneof, with the pieces of it that follow the last other member.
    private mutating func keepLastOfOneofs(_ type: MessageDeclaration, _ base: Int) {
        var winners: [Int: (field: Int, isClosed: Bool)] = [:]
        var kept: [Entry] = []
        for entry in entries[base...].reversed() {
            if let oneof = type.fields[entry.field].oneof {
                let winner = winners[oneof] ?? (entry.field, false)
                let isKept = winner.field == entry.field && !winner.isClosed
                winners[oneof] = (winner.field, winner.isClosed || !isKept)
                if !isKept { continue }
            }
            kept.append(entry)
        }
        guard kept.count < entries.count - base else { return }
        entries.replaceSubrange(base..., with: kept.reversed())
    }

    private func checkRequired(_ type: MessageDeclaration, _ base: Int) throws(MessageError) {
        var next = base
        for position in type.required {
            while next < entries.count, entries[next].field < position { next += 1 }
            guard next < entries.count, entries[next].field == position else {
                throw .missingField("\(type.fullName).\(type.fields[position].name)")
            }
        }
    }

    // MARK: Lists and maps

    private mutating func list(
        _ field: FieldDeclaration, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(MessageError) {
        if case .message(let index) = field.kind, pool.messages[index].isMapEntry {
            return try map(pool.messages[index], bytes, range)
        }
        out.append(UInt8(ascii: "["))
        var isFirst = true
        let isScalar = field.kind.shape != .bytes
        for position in range {
            guard out.count <= limit else { throw .expandsTooMuch(type: type, size: size, limit: limit) }
            let entry = entries[position]
            guard isScalar, entry.shape == .bytes else {
                separate(&isFirst)
                if case .message(let inner) = field.kind {
                    try message(inner, bytes, [entry.value])
                } else {
                    try value(field, type, bytes, entry.value)
                }
                continue
            }
            var cursor = WireCursor(bytes, entry.value)
            while !cursor.isAtEnd {
                guard let shape = field.kind.shape, let one = cursor.value(shape) else { throw malformed }
                guard out.count <= limit else { throw .expandsTooMuch(type: type, size: size, limit: limit) }
                separate(&isFirst)
                try value(field, type, bytes, one)
            }
        }
        out.append(UInt8(ascii: "]"))
    }

    /// Writes a map as an object: of equal keys, the last value counts, at the place of the first.
    private mutating func map(
        _ type: MessageDeclaration, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(MessageError) {
        guard let key = type.field(numbered: 1), let content = type.field(numbered: 2) else { throw malformed }
        var order: [[UInt8]: Int] = [:]
        var pairs: [(key: [UInt8], values: [Range<Int>])] = []
        for position in range {
            let base = entries.count
            try collect(type, bytes, [entries[position].value], base)
            let found = Array(entries[base...])
            entries.removeLast(found.count)
            let name = try keyText(key, bytes, found.last { $0.field == 0 }?.value)
            let values = found.filter { $0.field == 1 }.map(\.value)
            if let known = order[name] {
                pairs[known].values = values
            } else {
                order[name] = pairs.count
                pairs.append((name, values))
            }
        }
        out.append(UInt8(ascii: "{"))
        depth += 1
        var isFirst = true
        for pair in pairs {
            guard out.count <= limit else { throw .expandsTooMuch(type: self.type, size: size, limit: limit) }
            member(pair.key, &isFirst)
            if case .message(let inner) = content.kind {
                try message(inner, bytes, pair.values)
            } else if let last = pair.values.last {
                try value(content, type.fullName, bytes, last)
            } else {
                zeroValue(content.kind)
            }
        }
        depth -= 1
        if !isFirst { newLine() }
        out.append(UInt8(ascii: "}"))
    }

    /// Writes a map's key, always a string in JSON, quoted and followed by a colon.
    private mutating func keyText(
        _ field: FieldDeclaration, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>?
    ) throws(MessageError) -> [UInt8] {
        let start = out.count
        if let range { try value(field, type, bytes, range) } else { zeroValue(field.kind) }
        var text = Array(out[start...])
        out.removeLast(text.count)
        if text.first != UInt8(ascii: "\"") { text = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")] }
        return text + [UInt8(ascii: ":")]
    }

    // MARK: Values

    /// Writes one value, whose bytes are known to match the field's shape.
    private mutating func value(
        _ field: FieldDeclaration, _ owner: String, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(MessageError) {
        var cursor = WireCursor(bytes, range)
        switch field.kind {
        case .string:
            let text = UnsafeRawBufferPointer(rebasing: bytes[range])
            guard String(validating: text, as: UTF8.self) != nil, !text.contains(0) else {
                throw .invalidString(field: "\(owner).\(field.name)")
            }
            JSONText.quote(text, to: &out)
            return
        case .bytes:
            JSONText.base64(UnsafeRawBufferPointer(rebasing: bytes[range]), to: &out)
            return
        case .message, .group: throw malformed
        default: break
        }
        let number: UInt64? =
            switch field.kind.shape {
            case .fixed64: cursor.fixed64()
            case .fixed32: cursor.fixed32().map { UInt64($0) }
            default: cursor.varint()
            }
        guard let number else { throw malformed }
        self.number(field.kind, number)
    }

    private mutating func number(_ kind: FieldDeclaration.Kind, _ bits: UInt64) {
        let word = UInt32(truncatingIfNeeded: bits)
        switch kind {
        case .double: floating(Double(bitPattern: bits), "\(Double(bitPattern: bits))")
        case .float:
            let value = Float(bitPattern: word)
            floating(Double(value), "\(value)")
        case .int32, .sfixed32: append("\(Int32(bitPattern: word))")
        case .sint32: append("\(Int32(bitPattern: word >> 1) ^ -Int32(bitPattern: word & 1))")
        case .uint32, .fixed32: append("\(word)")
        case .int64, .sfixed64: append("\"\(Int64(bitPattern: bits))\"")
        case .sint64: append("\"\(Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1))\"")
        case .uint64, .fixed64: append("\"\(bits)\"")
        case .bool: append(bits != 0 ? "true" : "false")
        case .enumeration(let index):
            let value = Int32(bitPattern: word)
            append(pool.enums[index].name(of: value).map { "\"\($0)\"" } ?? "\(value)")
        case .string, .bytes, .message, .group: break
        }
    }

    private mutating func floating(_ value: Double, _ text: String) {
        append(value.isFinite ? text : value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }

    private mutating func zeroValue(_ kind: FieldDeclaration.Kind) {
        switch kind {
        case .string, .bytes: append("\"\"")
        case .message, .group: append("{}")
        default: number(kind, 0)
        }
    }

    // MARK: Text

    private mutating func append(_ text: String) { out.append(contentsOf: text.utf8) }

    private mutating func member(_ key: [UInt8], _ isFirst: inout Bool) {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        newLine()
        out.append(contentsOf: key)
        if indent { out.append(UInt8(ascii: " ")) }
    }

    private mutating func separate(_ isFirst: inout Bool) {
        if !isFirst { append(indent ? ", " : ",") }
        isFirst = false
    }

    private mutating func newLine() {
        guard indent else { return }
        out.append(UInt8(ascii: "\n"))
        out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }
}
