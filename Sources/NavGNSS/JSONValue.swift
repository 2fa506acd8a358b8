import NavMessages

/// A JSON value, sufficient for reports of a few dozen fields: numbers are doubles, depth is limited.
enum JSONValue {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([(key: String, value: JSONValue)])

    /// The deepest accepted nesting.
    static let depthLimit = 16

    /// Reads a whole text (RFC 8259); `nil` if it is not exactly one value.
    init?(_ text: Bytes) {
        var scanner = JSONScanner(bytes: Array(text))
        guard let value = try? JSONValue(&scanner, depth: 0), scanner.peek() == nil else { return nil }
        self = value
    }

    private init(_ scanner: inout JSONScanner, depth: Int) throws(JSONScanner.Problem) {
        guard depth < Self.depthLimit else { throw scanner.problem("nested too deep") }
        var isFirst = true
        if scanner.take("{") {
            var members: [(key: String, value: JSONValue)] = []
            while try scanner.hasNext(closing: "}", &isFirst) {
                let key = try scanner.string()
                try scanner.expect(":")
                members.append((key, try JSONValue(&scanner, depth: depth + 1)))
            }
            self = .object(members)
        } else if scanner.take("[") {
            var values: [JSONValue] = []
            while try scanner.hasNext(closing: "]", &isFirst) {
                values.append(try JSONValue(&scanner, depth: depth + 1))
            }
            self = .array(values)
        } else if scanner.peek() == .quote {
            self = .string(try scanner.string())
        } else if scanner.take(word: "true") {
            self = .bool(true)
        } else if scanner.take(word: "false") {
            self = .bool(false)
        } else if scanner.take(word: "null") {
            self = .null
        } else {
            guard let number = Double(try scanner.number()) else { throw scanner.problem("expected a number") }
            self = .number(number)
        }
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// Returns the number of a member with a magnitude below 1e12; nil for anything else.
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
