extension String {
    /// The folder in which a path lies; empty for a name without a folder.
    ///
    /// Foundation's `deletingLastPathComponent` of `NSString` traps on Linux for a path of one character.
    package var parentFolder: String {
        let path = String(reversed().drop { $0 == "/" }.reversed())
        guard let slash = path.lastIndex(of: "/") else { return path.isEmpty && !isEmpty ? "/" : "" }
        let parent = path[..<slash]
        return parent.allSatisfy { $0 == "/" } ? "/" : String(parent)
    }
}
