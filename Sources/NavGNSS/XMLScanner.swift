/// A scanner of XML without a tree: elements, attributes and text, sufficient for measurement documents.
///
/// It is lenient: end tags need not match, entities of a document type are not expanded, prefixes of names are dropped.
/// It does not recurse, so any depth is safe.
struct XMLScanner {
    enum Event {
        case open(name: Bytes, attributes: Bytes)
        case close(name: Bytes)
        case text(Bytes, isLiteral: Bool)
    }

    private let bytes: Bytes
    private(set) var at: Int
    private var pendingClose: Bytes?
    /// Whether the document ended in the middle of markup.
    private(set) var isUnfinished = false

    init(_ bytes: Bytes) {
        self.bytes = bytes
        at = bytes.startIndex
    }

    /// Returns the next event; `nil` at the end.
    mutating func next() -> Event? {
        if let name = pendingClose {
            pendingClose = nil
            return .close(name: name)
        }
        while at < bytes.endIndex {
            if bytes[at] != UInt8(ascii: "<") {
                let text = bytes[at...].prefix { $0 != UInt8(ascii: "<") }
                at = text.endIndex
                return .text(text, isLiteral: false)
            }
            if hasPrefix("<!--") {
                skip(4, past: "-->")
            } else if hasPrefix("<![CDATA[") {
                let start = at + 9
                skip(9, past: "]]>")
                if !isUnfinished { return .text(bytes[start..<(at - 3)], isLiteral: true) }
            } else if hasPrefix("<?") {
                skip(2, past: "?>")
            } else if hasPrefix("<!") {
                skipDeclaration()
            } else if let event = tag() {
                return event
            }
        }
        return nil
    }

    /// Returns the value of an attribute by its name without prefix.
    static func attribute(_ wanted: StaticString, in attributes: Bytes) -> Bytes? {
        var rest = attributes
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let name = localName(rest[..<equals].trimmed)
            let value = rest[(equals + 1)...].drop { $0.isSpace }
            guard let quote = value.first, quote == .quote || quote == UInt8(ascii: "'"),
                let end = value.dropFirst().firstIndex(of: quote)
            else { return nil }
            if name.elementsEqual(wanted) { return value[(value.startIndex + 1)..<end] }
            rest = rest[(end + 1)...]
        }
        return nil
    }

    /// Appends text with the five named and the numeric ASCII entities resolved; `false` for any other entity.
    static func append(_ text: Bytes, to target: inout [UInt8]) -> Bool {
        var rest = text
        while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
            target += rest[..<ampersand]
            guard let end = rest[ampersand...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                let byte = entity(rest[(ampersand + 1)..<end])
            else { return false }
            target.append(byte)
            rest = rest[(end + 1)...]
        }
        target += rest
        return true
    }

    private static func entity(_ name: Bytes) -> UInt8? {
        if name.elementsEqual("amp") { return UInt8(ascii: "&") }
        if name.elementsEqual("lt") { return UInt8(ascii: "<") }
        if name.elementsEqual("gt") { return UInt8(ascii: ">") }
        if name.elementsEqual("quot") { return .quote }
        if name.elementsEqual("apos") { return UInt8(ascii: "'") }
        guard name.first == UInt8(ascii: "#") else { return nil }
        let digits = name.dropFirst()
        if digits.first == UInt8(ascii: "x") {
            var value = 0
            for byte in digits.dropFirst().prefix(8) {
                guard let digit = byte.hexDigit else { return nil }
                value = value << 4 | Int(digit)
            }
            return (1..<0x80).contains(value) ? UInt8(value) : nil
        }
        guard let value = Decimal.natural(digits), (1..<0x80).contains(value) else { return nil }
        return UInt8(value)
    }

    private static func localName(_ name: Bytes) -> Bytes {
        guard let colon = name.lastIndex(of: .colon) else { return name }
        return name[(colon + 1)...]
    }

    private func hasPrefix(_ prefix: StaticString) -> Bool {
        bytes[at...].prefix(prefix.utf8CodeUnitCount).elementsEqual(prefix)
    }

    private mutating func skip(_ opening: Int, past end: StaticString) {
        at = min(at + opening, bytes.endIndex)
        let first = end.withUTF8Buffer { $0[0] }
        while let candidate = bytes[at...].firstIndex(of: first) {
            at = candidate
            if hasPrefix(end) {
                at += end.utf8CodeUnitCount
                return
            }
            at += 1
        }
        fail()
    }

    /// Skips a document type with its internal subset.
    private mutating func skipDeclaration() {
        var brackets = 0
        while at < bytes.endIndex {
            switch bytes[at] {
            case UInt8(ascii: "["): brackets += 1
            case UInt8(ascii: "]"): brackets -= 1
            case UInt8(ascii: ">") where brackets <= 0:
                at += 1
                return
            default: break
            }
            at += 1
        }
        fail()
    }

    private mutating func fail() {
        at = bytes.endIndex
        isUnfinished = true
    }

    private mutating func tag() -> Event? {
        var end = at + 1
        var quote: UInt8?
        while end < bytes.endIndex {
            let byte = bytes[end]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == .quote || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                break
            }
            end += 1
        }
        guard end < bytes.endIndex else {
            fail()
            return nil
        }
        var content = bytes[(at + 1)..<end]
        at = end + 1
        if content.first == UInt8(ascii: "/") {
            return .close(name: Self.localName(content.dropFirst().trimmed))
        }
        let closesItself = content.last == UInt8(ascii: "/")
        if closesItself { content = content.dropLast() }
        let name = content.prefix { !$0.isSpace }
        let local = Self.localName(name)
        if closesItself { pendingClose = local }
        return .open(name: local, attributes: content[name.endIndex...])
    }
}

extension ArraySlice<UInt8> {
    func elementsEqual(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { elementsEqual($0) }
    }
}
