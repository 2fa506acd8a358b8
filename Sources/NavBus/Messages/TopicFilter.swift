/// A filter that selects topics by name, for recorders and inspectors that take topics as they appear.
public struct TopicFilter: Sendable, Hashable {
    /// Patterns of topics to take; `*` matches any run of characters, including `/`.
    public var include: [String]
    /// Patterns of topics to leave out.
    public var exclude: [String]

    /// Creates a filter; the default takes every topic.
    public init(include: [String] = ["*"], exclude: [String] = []) {
        self.include = include
        self.exclude = exclude
    }

    /// Returns whether the filter takes `topic`.
    public func matches(_ topic: String) -> Bool {
        include.contains { globMatches($0, topic) } && !exclude.contains { globMatches($0, topic) }
    }
}

/// Returns whether a text matches a pattern in which `*` matches any run of characters.
///
/// It does not recurse: on a mismatch it returns to the last `*` and lets it consume one more byte.
package func globMatches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
    var (patternIndex, textIndex) = (0, 0)
    var star: (pattern: Int, text: Int)?
    while textIndex < text.count {
        if patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "*") {
            star = (patternIndex, textIndex)
            patternIndex += 1
        } else if patternIndex < pattern.count, pattern[patternIndex] == text[textIndex] {
            patternIndex += 1
            textIndex += 1
        } else if let last = star {
            star = (last.pattern, last.text + 1)
            patternIndex = last.pattern + 1
            textIndex = last.text + 1
        } else {
            return false
        }
    }
    return pattern[patternIndex...].allSatisfy { $0 == UInt8(ascii: "*") }
}
