/// The names of a road besides the one on its signs: in other languages, and how it is said.
public struct LocalNames: Sendable, Hashable {
    /// `key=name`, separated by U+001F. A key is a language's tag, or one of ``international`` and ``pronunciation``.
    package let text: String

    /// The key of the name for those who cannot read the signs' script (OSM's `int_name`).
    package static let international = "int"
    /// The key of the signs' name in the International Phonetic Alphabet (OSM's `name:pronunciation`).
    package static let pronunciation = "ipa"

    private static let separator: Character = "\u{1f}"

    /// No names.
    public static let none = LocalNames(text: "")

    package init(text: String) { self.text = text }

    /// Names by key, in the order given; those that are empty or hold a control character are left out.
    package init(_ names: [(key: String, name: String)]) {
        text =
            names.filter { !$0.name.isEmpty && !$0.name.unicodeScalars.contains { $0.value < 0x20 } }
            .map { "\($0.key)=\($0.name)" }.joined(separator: String(Self.separator))
    }

    public var isEmpty: Bool { text.isEmpty }

    /// The name of a key; nil without.
    package subscript(key: String) -> String? {
        guard !text.isEmpty else { return nil }
        for entry in text.split(separator: Self.separator) where entry.hasPrefix(key) {
            let rest = entry.dropFirst(key.count)
            if rest.first == "=" { return String(rest.dropFirst()) }
        }
        return nil
    }
}
