/// A scanner of JSON text without a tree; the text may be untrusted.
package struct JSONScanner {
    /// An error in the text, with the offset of the byte.
    package struct Problem: Error {
        let position: Int
        let text: String
    }

    let bytes: [UInt8]
    private(set) var position = 0

    package init(bytes: [UInt8]) { self.bytes = bytes }
    init(_ text: String) { bytes = Array(text.utf8) }

    package func problem(_ text: String) -> Problem { Problem(position: position, text: text) }

    /// Returns the next byte that is not white space; nil at the end.
    package mutating func peek() -> UInt8? {
        while position < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[position]) { position += 1 }
        return position < bytes.count ? bytes[position] : nil
    }

    /// Takes a character if it is next.
    package mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    package mutating func expect(_ character: Unicode.Scalar) throws(Problem) {
        guard take(character) else { throw problem("expected '\(character)'") }
    }

    /// Takes a literal such as `null` if it is next.
    package mutating func take(word: String) -> Bool {
        _ = peek()
        guard bytes[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }

    package mutating func string() throws(Problem) -> String {
        guard take("\"") else { throw problem("expected a string in double quotes") }
        var out: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: out, as: UTF8.self) else { throw problem("string is not UTF-8") }
                return text
            case UInt8(ascii: "\\"): try escape(&out)
            case ..<0x20:
                position -= 1
                throw problem("the string has a control character: write it as \\u00\(byte < 16 ? "0" : "1")…")
            default: out.append(byte)
            }
        }
        throw problem("unterminated string")
    }

    private mutating func escape(_ out: inout [UInt8]) throws(Problem) {
        guard position < bytes.count else { throw problem("unterminated string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "n"): out.append(0x0a)
        case UInt8(ascii: "r"): out.append(0x0d)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0c)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
        case UInt8(ascii: "u"):
            var scalar = try hexadecimal()
            if (0xd800..<0xdc00).contains(scalar) {
                // `take` would skip white space, which is part of the string here.
                guard bytes[position...].starts(with: "\\u".utf8) else { throw problem("unpaired surrogate") }
                position += 2
                let low = try hexadecimal()
                guard (0xdc00..<0xe000).contains(low) else { throw problem("unpaired surrogate") }
                scalar = 0x10000 + (scalar - 0xd800) << 10 + (low - 0xdc00)
            }
            guard let character = Unicode.Scalar(scalar) else { throw problem("unpaired surrogate") }
            out.append(contentsOf: String(Character(character)).utf8)
        default:
            position -= 1
            throw problem("unknown escape sequence")
        }
    }

    private mutating func hexadecimal() throws(Problem) -> UInt32 {
        let digits = bytes[position..<min(bytes.count, position + 4)]
        // `UInt32` also accepts a sign.
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else {
            throw problem("\\u needs four hexadecimal digits")
        }
        position += 4
        return value
    }

    private static let numberBytes = Set("+-.eE0123456789".utf8)

    /// Takes a number as written.
    package mutating func number() throws(Problem) -> String {
        guard let first = peek(), first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
            throw problem("expected a number")
        }
        let start = position
        while position < bytes.count, Self.numberBytes.contains(bytes[position]) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard Double(text) != nil else {
            position = start
            throw problem("'\(text.prefix(40))' is not a number")
        }
        return text
    }

    /// Skips a value and returns its range.
    @discardableResult
    package mutating func skipValue(depth: Int = 0) throws(Problem) -> Range<Int> {
        guard depth < 2 * SchemaPool.maximumDepth else { throw problem("nested too deeply") }
        let next = peek()
        let start = position
        switch next {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"):
            position += 1
            var isFirst = true
            while try hasNext(closing: "}", &isFirst) {
                _ = try string()
                try expect(":")
                try skipValue(depth: depth + 1)
            }
        case UInt8(ascii: "["):
            position += 1
            var isFirst = true
            while try hasNext(closing: "]", &isFirst) { try skipValue(depth: depth + 1) }
        case nil: throw problem("unexpected end of text")
        default:
            guard take(word: "true") || take(word: "false") || take(word: "null") else {
                _ = try number()
                break
            }
        }
        return start..<position
    }

    /// Takes the comma before the next member of a list or object, or the closing bracket; false at the end.
    package mutating func hasNext(closing: Unicode.Scalar, _ isFirst: inout Bool) throws(Problem) -> Bool {
        if take(closing) { return false }
        if !isFirst, !take(",") { throw problem("expected ',' or '\(closing)'") }
        isFirst = false
        return true
    }

    /// Enters a member or element of the next value; false when it does not exist.
    mutating func enter(_ step: PathStep) throws(Problem) -> Bool {
        var isFirst = true
        switch step {
        case .member(let name):
            guard take("{") else { return false }
            while try hasNext(closing: "}", &isFirst) {
                let found = try string()
                try expect(":")
                if found == name { return true }
                try skipValue()
            }
        case .element(let index):
            guard take("[") else { return false }
            var position = 0
            while try hasNext(closing: "]", &isFirst) {
                if position == index { return true }
                position += 1
                try skipValue()
            }
        }
        return false
    }
}
