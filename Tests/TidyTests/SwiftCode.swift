/// A minimal Swift scanner that separates code from comments and strings.
enum SwiftCode {
    /// Returns the text with comments and contents of string literals replaced by spaces; line breaks are kept.
    static func withoutCommentsAndStrings(_ text: String) -> String {
        var scanner = Scanner(Array(text.utf8))
        return String(decoding: scanner.run(), as: UTF8.self)
    }

    /// Whether the code contains a word, but not as part of a longer name; a call of a free function (`print(`) does
    /// not match a method or a declaration.
    static func contains(_ words: String, in code: some StringProtocol) -> Bool {
        let isCall = words.hasSuffix("(") && !words.hasPrefix(".")
        var rest = code[...]
        while let range = rest.firstRange(of: words) {
            let before = code[..<range.lowerBound]
            let after = code[range.upperBound...]
            rest = after
            if let last = words.last, isWordCharacter(last), let next = after.first, isWordCharacter(next) { continue }
            if let first = words.first, isWordCharacter(first), let previous = before.last, isWordCharacter(previous) {
                continue
            }
            if isCall, before.last == "." || before.hasSuffix("func ") { continue }
            return true
        }
        return false
    }

    /// Returns the module that a line imports: `public import NavGeo`, `import struct Glibc.timeval`.
    static func importedModule(_ line: some StringProtocol) -> String? {
        let words = line.split(separator: " " as Character)
        guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count else { return nil }
        let modifiers: Set<String> = ["public", "package", "internal", "fileprivate", "private"]
        guard words[..<keyword].allSatisfy({ modifiers.contains(String($0)) || $0.hasPrefix("@") }) else { return nil }
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        let name = kinds.contains(String(words[keyword + 1])) ? words[words.count - 1] : words[keyword + 1]
        return String(name.prefix { $0 != "." })
    }

    private static func isWordCharacter(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    private struct Scanner {
        private let bytes: [UInt8]
        private var result: [UInt8] = []
        private var position = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            result.reserveCapacity(bytes.count)
        }

        mutating func run() -> [UInt8] {
            while position < bytes.count {
                if starts(with: "//") {
                    while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { blank() }
                } else if starts(with: "/*") {
                    comment()
                } else if bytes[position] == UInt8(ascii: "\"") {
                    string(hashes: 0)
                } else if bytes[position] == UInt8(ascii: "#"), let hashes = hashesBeforeQuote() {
                    for _ in 0..<hashes { keep() }
                    string(hashes: hashes)
                } else {
                    keep()
                }
            }
            return result
        }

        private func starts(with text: String) -> Bool {
            bytes[position...].starts(with: text.utf8)
        }

        private mutating func keep() {
            result.append(bytes[position])
            position += 1
        }

        private mutating func blank() {
            result.append(bytes[position] == UInt8(ascii: "\n") ? UInt8(ascii: "\n") : UInt8(ascii: " "))
            position += 1
        }

        private mutating func comment() {
            var depth = 0
            repeat {
                if starts(with: "/*") {
                    depth += 1
                    blank()
                } else if starts(with: "*/") {
                    depth -= 1
                    blank()
                }
                if position < bytes.count { blank() }
            } while depth > 0 && position < bytes.count
        }

        private func hashesBeforeQuote() -> Int? {
            var end = position
            while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
            return end < bytes.count && bytes[end] == UInt8(ascii: "\"") ? end - position : nil
        }

        private mutating func string(hashes: Int) {
            let tail = String(repeating: "#", count: hashes)
            let isLong = starts(with: "\"\"\"")
            let end = (isLong ? "\"\"\"" : "\"") + tail
            for _ in 0..<(isLong ? 3 : 1) { keep() }
            while position < bytes.count {
                if starts(with: end) {
                    for _ in 0..<end.utf8.count { keep() }
                    return
                }
                if !isLong, bytes[position] == UInt8(ascii: "\n") { return }
                if starts(with: "\\" + tail + "(") {
                    interpolation(opening: 2 + hashes)
                } else if starts(with: "\\" + tail) {
                    for _ in 0..<min(2 + hashes, bytes.count - position) { blank() }
                } else {
                    blank()
                }
            }
        }

        /// Keeps the code in an interpolation, with its own string literals blanked.
        private mutating func interpolation(opening: Int) {
            for _ in 0..<opening { blank() }
            var depth = 1
            while position < bytes.count, depth > 0 {
                switch bytes[position] {
                case UInt8(ascii: "("):
                    depth += 1
                    keep()
                case UInt8(ascii: ")"):
                    depth -= 1
                    keep()
                case UInt8(ascii: "\""):
                    string(hashes: 0)
                default:
                    keep()
                }
            }
        }
    }
}
