/// A road's names in other languages than its signs, and its pronunciation.
public struct LocalNames: Sendable, Hashable {
    /// `key=name` pairs separated by U+001F. A key is a language tag, ``international`` or ``pronunciation``.
    package let text: String

    /// The key of the name for readers unfamiliar with the signs' script (OSM's `int_name`).
    package static let international = "int"
    /// The key of the signs' name in the International Phonetic Alphabet (OSM's `name:pronunciation`).
    package static let pronunciation = "ipa"

    private static let separator: Character = "\u{1f}"

    /// No names.
    public static let none = LocalNames(text: "")

    package init(text: String) { self.text = text }

    /// Stores names by key, in the order given; skips names that are empty or hold a control character.
    package init(_ names: [(key: String, name: String)]) {
        text =
            names.filter { !$0.name.isEmpty && !$0.name.unicodeScalars.contains { $0.value < 0x20 } }
            .map { "\($0.key)=\($0.name)" }.joined(separator: String(Self.separator))
    }

    public var isEmpty: Bool { text.isEmpty }

    /// The name for a key; nil when there is none.
    package subscript(key: String) -> String? {
        guard !text.isEmpty else { return nil }
        for entry in text.split(separator: Self.separator) where entry.hasPrefix(key) {
            let rest = entry.dropFirst(key.count)
            if rest.first == "=" { return String(rest.dropFirst()) }
        }
        return nil
    }
}
