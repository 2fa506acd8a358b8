/// Names with values as one text, `name=roads,source=https://host/tiles`, as an item of a list in a configuration: in a
/// YAML file such a list is one of mappings.
///
/// A comma, a semicolon or a backslash in a value stands behind a backslash.
public struct ConfigRecord: Sendable, Equatable {
    /// A name with its value.
    public struct Field: Sendable, Equatable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
    }

    /// The names with their values, in their order.
    public var fields: [Field]

    /// Names with values.
    public init(_ fields: [(String, String)]) { self.fields = fields.map { Field(name: $0.0, value: $0.1) } }

    /// A record from its text; nil when a part has no `=` or no name.
    public init?(text: String) {
        fields = []
        for part in Self.split(text, at: ",") {
            guard let mark = part.firstIndex(of: "=") else { return nil }
            let name = part[..<mark].filter { $0 != " " }
            guard !name.isEmpty else { return nil }
            fields.append(Field(name: String(name), value: Self.plain(part[part.index(after: mark)...])))
        }
    }

    /// The text.
    public var text: String {
        fields.map { field in
            field.name + "="
                + field.value.map { ",;\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        }.joined(separator: ",")
    }

    /// The records of a list, separated by semicolons; nil when one is none.
    public static func list(_ text: String) -> [ConfigRecord]? {
        guard text.contains(where: { $0 != " " }) else { return [] }
        let records = split(text, at: ";").map { ConfigRecord(text: String($0)) }
        return records.contains { $0 == nil } ? nil : records.compactMap { $0 }
    }

    /// The text of a list.
    public static func text(_ records: [ConfigRecord]) -> String { records.map(\.text).joined(separator: ";") }

    /// Parts between marks that stand behind no backslash; the backslashes stay.
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
