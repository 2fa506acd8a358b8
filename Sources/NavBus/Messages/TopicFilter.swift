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
        let bytes = Array(topic.utf8)
        return include.contains { Self.matches(pattern: Array($0.utf8), bytes) }
            && !exclude.contains { Self.matches(pattern: Array($0.utf8), bytes) }
    }

    /// Matches without recursion: on a mismatch it returns to the last `*` and lets it take one byte more.
    private static func matches(pattern: [UInt8], _ text: [UInt8]) -> Bool {
        var patternIndex = 0
        var textIndex = 0
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
}
