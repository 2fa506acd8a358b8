/// A JSON value as far as reports of a few dozen fields need it: numbers are doubles, depth is bounded.
enum JSONValue {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([(key: String, value: JSONValue)])

    /// Deepest nesting that is read.
    static let depthLimit = 16

    /// Reads a whole text (RFC 8259); `nil` if it is not exactly one value.
    init?(_ text: Bytes) {
        var reader = JSONReader(text: text)
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        guard reader.at == text.endIndex else { return nil }
        self = value
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The number of a member, of a magnitude below 1e12; anything else is absent.
    func number(_ key: String) -> Double? {
        guard case .number(let value) = self[key], abs(value) < 1e12 else { return nil }
        return value
    }

    func string(_ key: String) -> String? {
        guard case .string(let value) = self[key] else { return nil }
        return value
    }

    func natural(_ key: String) -> Int? {
        guard let value = number(key), value >= 0 else { return nil }
        return Int(exactly: value)
    }
}

private struct JSONReader {
    let text: Bytes
    var at: Int

    init(text: Bytes) {
        self.text = text
        at = text.startIndex
    }

    mutating func skipSpace() {
        while at < text.endIndex, text[at].isSpace { at += 1 }
    }

    mutating func value(depth: Int) -> JSONValue? {
        skipSpace()
        guard depth < JSONValue.depthLimit, at < text.endIndex else { return nil }
        switch text[at] {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case .quote: return string().map(JSONValue.string)
        case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return word("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSONValue? {
        var members: [(key: String, value: JSONValue)] = []
        at += 1
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard at < text.endIndex, text[at] == .quote, let key = string() else { return nil }
            skipSpace()
            guard take(.colon), let value = value(depth: depth + 1) else { return nil }
            members.append((key, value))
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(.comma) else { return nil }
        }
    }

    private mutating func array(depth: Int) -> JSONValue? {
        var values: [JSONValue] = []
        at += 1
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(values) }
        while true {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(values) }
            guard take(.comma) else { return nil }
        }
    }

    private mutating func number() -> JSONValue? {
        let start = at
        while at < text.endIndex,
            text[at].decimalDigit != nil || Self.isNumberSign(text[at])
        {
            at += 1
        }
        guard start < at, text[start] != .plus, text[start] != .point else { return nil }
        return Decimal.double(text[start..<at]).map(JSONValue.number)
    }

    private static func isNumberSign(_ byte: UInt8) -> Bool {
        byte == .plus || byte == .minus || byte == .point || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }

    private mutating func string() -> String? {
        at += 1
        let start = at
        while at < text.endIndex, text[at] != .quote, text[at] != UInt8(ascii: "\\"), text[at] >= 0x20 { at += 1 }
        guard at < text.endIndex else { return nil }
        if text[at] == .quote {
            defer { at += 1 }
            return String(validating: text[start..<at], as: UTF8.self)
        }
        return escapedString(from: start)
    }

    private mutating func escapedString(from start: Int) -> String? {
        var content = Array(text[start..<at])
        while at < text.endIndex {
            let byte = text[at]
            at += 1
            if byte == .quote { return String(validating: content, as: UTF8.self) }
            guard byte >= 0x20 else { return nil }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard at < text.endIndex else { return nil }
            let escape = text[at]
            at += 1
            switch escape {
            case .quote, UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(escape)
            case UInt8(ascii: "b"): content.append(0x08)
            case UInt8(ascii: "f"): content.append(0x0c)
            case UInt8(ascii: "n"): content.append(0x0a)
            case UInt8(ascii: "r"): content.append(0x0d)
            case UInt8(ascii: "t"): content.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = unicodeEscape() else { return nil }
                content += Array(String(Character(scalar)).utf8)
            default: return nil
            }
        }
        return nil
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let first = hexUnit() else { return nil }
        guard (0xd800..<0xdc00).contains(first) else { return Unicode.Scalar(first) }
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let second = hexUnit(),
            (0xdc00..<0xe000).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    }

    private mutating func hexUnit() -> UInt32? {
        guard text.endIndex - at >= 4 else { return nil }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = text[at].hexDigit else { return nil }
            unit = unit << 4 | UInt32(digit)
            at += 1
        }
        return unit
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard at < text.endIndex, text[at] == byte else { return false }
        at += 1
        return true
    }

    private mutating func word(_ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount {
            guard take(word.withUTF8Buffer { $0[index] }) else { return false }
        }
        return true
    }
}
