/// Chooses topics by name, for recorders and inspectors that take what appears.
public struct TopicFilter: Sendable, Hashable {
    /// A topic is taken when one of these matches it; `*` stands for any run of characters, `/` included.
    public var include: [String]
    /// A topic is left out when one of these matches it.
    public var exclude: [String]

    /// Makes a filter; the default takes everything.
    public init(include: [String] = ["*"], exclude: [String] = []) {
        self.include = include
        self.exclude = exclude
    }

    /// True when the filter takes `topic`.
    public func matches(_ topic: String) -> Bool {
        include.contains { globMatches($0, topic) } && !exclude.contains { globMatches($0, topic) }
    }
}

/// Returns whether a text matches a pattern in which `*` stands for any run of characters.
///
/// It does so without recursion: on a mismatch it returns to the last `*` and lets it take one byte more.
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
