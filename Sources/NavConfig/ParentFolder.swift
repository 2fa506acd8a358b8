extension String {
    /// The folder in which a path lies; empty for a name without a folder.
    ///
    /// Foundation's `deletingLastPathComponent` of `NSString` traps on Linux for a path of one character.
    package var parentFolder: String {
        // Bytes, because a slash before a combining mark is not a character of its own.
        let slash = UInt8(ascii: "/")
        guard let end = utf8.lastIndex(where: { $0 != slash }) else { return isEmpty ? "" : "/" }
        guard let last = utf8[..<end].lastIndex(of: slash) else { return "" }
        guard let parentEnd = utf8[...last].lastIndex(where: { $0 != slash }) else { return "/" }
        return String(decoding: utf8[...parentEnd], as: UTF8.self)
    }
}
