/// Named values as one text, such as `name=roads,source=https://host/tiles`, for an item of a list in a configuration.
///
/// In a YAML file such a list is a sequence of mappings.
///
/// A backslash escapes a comma, a semicolon or a backslash in a value.
public struct ConfigRecord: Sendable, Equatable {
    /// A name with its value.
    public struct Field: Sendable, Equatable {
        /// The name of the key within the record.
        public var name: String
        /// The text after the equals sign, without escapes.
        public var value: String
    }

    /// The names with their values, in order.
    public var fields: [Field]

    /// Creates a record of names with values.
    public init(_ fields: [(String, String)]) { self.fields = fields.map { Field(name: $0.0, value: $0.1) } }

    /// Parses a record; nil when a part has no `=` or no name.
    public init?(text: String) {
        fields = []
        for part in Self.split(text, at: ",") {
            guard let mark = part.firstIndex(of: "=") else { return nil }
            let name = part[..<mark].filter { $0 != " " }
            guard !name.isEmpty else { return nil }
            fields.append(Field(name: String(name), value: Self.plain(part[part.index(after: mark)...])))
        }
    }

    /// The record as text.
    public var text: String {
        fields.map { field in
            field.name + "="
                + field.value.map { ",;\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        }.joined(separator: ",")
    }

    /// Parses a list of records separated by semicolons; nil when one of them is malformed.
    public static func list(_ text: String) -> [ConfigRecord]? {
        guard text.contains(where: { $0 != " " }) else { return [] }
        let records = split(text, at: ";").map { ConfigRecord(text: String($0)) }
        return records.contains { $0 == nil } ? nil : records.compactMap { $0 }
    }

    /// Returns a list of records as text.
    public static func text(_ records: [ConfigRecord]) -> String { records.map(\.text).joined(separator: ";") }

    /// Splits a text at unescaped marks; backslashes are kept.
    private static func split(_ text: String, at mark: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var isEscaped = false
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == mark {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }

    private static func plain(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }
}
