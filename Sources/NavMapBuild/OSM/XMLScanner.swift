/// A scanner of the tags of an XML file, which reads the file in pieces.
///
/// OSM's files need only elements and attributes. It supports no document types, and only XML's five named entities and numeric references,
/// so no entity can expand. Text between tags is skipped.
struct XMLScanner {
    enum Event {
        /// An element begins; the scanner keeps its name and attributes until the next event.
        case start
        /// An element ends, including an empty element (`<nd ref="1"/>`).
        case end
        /// The file ends with every element closed.
        case finished
    }

    /// The longest accepted tag: OSM's values have at most 255 characters.
    static let longestTag = 1 << 20
    /// The deepest accepted nesting: OSM's files have three levels.
    static let deepest = 32

    private let file: PBFFile
    private var buffer: ContiguousArray<UInt8> = []
    private var position = 0
    /// The offset in the file at which the buffer ends.
    private var loaded = 0
    private var depth = 0
    private var endsNext = false
    private var parts: [(name: Range<Int>, value: Range<Int>)] = []
    private var nameRange: Range<Int> = 0..<0

    init(_ file: PBFFile) { self.file = file }

    /// The share of the file that has been read, 0 … 1.
    var fraction: Double { Double(loaded) / Double(max(file.byteCount, 1)) }
    /// The number of open elements, including the one that just began.
    var openElements: Int { depth }

    /// The scanner's offset in the file, bytes.
    private var offset: Int { loaded - buffer.count + position }

    func malformed(_ reason: String) -> MapBuildError {
        MapBuildError(
            .malformed, path: file.path, offset: offset, reason: reason,
            advice: "The file is damaged or not OSM XML: download it again")
    }

    /// Reads more of the file after the unused bytes; false at its end.
    private mutating func fill() throws(MapBuildError) -> Bool {
        guard loaded < file.byteCount else { return false }
        if position > 0 {
            buffer.removeSubrange(0..<position)
            position = 0
        }
        let more = try file.part(at: loaded, 1 << 18)
        loaded += more.count
        buffer.append(contentsOf: more)
        return !more.isEmpty
    }

    mutating func next() throws(MapBuildError) -> Event {
        if endsNext {
            endsNext = false
            depth -= 1
            return .end
        }
        while true {
            guard try find(UInt8(ascii: "<")) else {
                guard depth == 0 else {
                    throw MapBuildError(
                        .truncated, path: file.path, offset: file.byteCount, reason: "ends inside an element",
                        advice: "The file is cut short: download it again")
                }
                return .finished
            }
            if try isNext("<!--") {
                try pass("-->")
            } else if try isNext("<?") {
                try pass("?>")
            } else if try isNext("<!") {
                throw malformed("has a '<!' declaration that OSM files do not use")
            } else {
                return try readTag()
            }
        }
    }

    /// Moves to the next occurrence of a byte; false at the end of the file.
    private mutating func find(_ byte: UInt8) throws(MapBuildError) -> Bool {
        while true {
            if let found = buffer[position...].firstIndex(of: byte) {
                position = found
                return true
            }
            position = buffer.count
            guard try fill() else { return false }
        }
    }

    private mutating func isNext(_ text: StaticString) throws(MapBuildError) -> Bool {
        while buffer.count - position < text.utf8CodeUnitCount {
            guard try fill() else { return false }
        }
        return text.withUTF8Buffer { buffer[position...].starts(with: $0) }
    }

    /// Moves past the next occurrence of a text.
    private mutating func pass(_ text: StaticString) throws(MapBuildError) {
        let first = text.withUTF8Buffer { $0[0] }
        while true {
            guard try find(first) else { throw malformed("has an unterminated comment or declaration") }
            if try isNext(text) {
                position += text.utf8CodeUnitCount
                return
            }
            position += 1
        }
    }

    private mutating func readTag() throws(MapBuildError) -> Event {
        var end = position + 1
        var quote: UInt8 = 0
        while true {
            if end >= buffer.count {
                guard end - position <= XMLScanner.longestTag else { throw malformed("has an unterminated tag") }
                end -= position
                guard try fill() else { throw malformed("has an unterminated tag") }
                end += position
                continue
            }
            let byte = buffer[end]
            if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                break
            } else if byte == UInt8(ascii: "<") {
                throw malformed("has a tag inside a tag")
            }
            end += 1
        }
        var inside = position + 1..<end
        position = end + 1
        if buffer[inside].first == UInt8(ascii: "/") {
            guard depth > 0 else { throw malformed("has an end tag without a start tag") }
            depth -= 1
            return .end
        }
        if buffer[inside].last == UInt8(ascii: "/") {
            inside = inside.lowerBound..<inside.upperBound - 1
            endsNext = true
        }
        depth += 1
        guard depth <= XMLScanner.deepest else { throw malformed("has elements nested too deeply") }
        try readAttributes(inside)
        return .start
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 10 || byte == 13 }

    private mutating func readAttributes(_ inside: Range<Int>) throws(MapBuildError) {
        parts.removeAll(keepingCapacity: true)
        var at = inside.lowerBound
        while at < inside.upperBound, !XMLScanner.isSpace(buffer[at]) { at += 1 }
        nameRange = inside.lowerBound..<at
        while true {
            while at < inside.upperBound, XMLScanner.isSpace(buffer[at]) { at += 1 }
            if at == inside.upperBound { return }
            let start = at
            while at < inside.upperBound, buffer[at] != UInt8(ascii: "="), !XMLScanner.isSpace(buffer[at]) { at += 1 }
            let name = start..<at
            while at < inside.upperBound, XMLScanner.isSpace(buffer[at]) { at += 1 }
            guard at < inside.upperBound, buffer[at] == UInt8(ascii: "=") else {
                throw malformed("has an attribute without a value")
            }
            at += 1
            while at < inside.upperBound, XMLScanner.isSpace(buffer[at]) { at += 1 }
            guard at < inside.upperBound, buffer[at] == UInt8(ascii: "\"") || buffer[at] == UInt8(ascii: "'"),
                let close = buffer[(at + 1)..<inside.upperBound].firstIndex(of: buffer[at])
            else { throw malformed("has an attribute value without quotes") }
            guard parts.count < 64 else { throw malformed("has an element with too many attributes") }
            parts.append((name, at + 1..<close))
            at = close + 1
        }
    }

    /// Whether the current element has a name.
    func isNamed(_ name: StaticString) -> Bool { isEqual(nameRange, name) }

    private func isEqual(_ range: Range<Int>, _ text: StaticString) -> Bool {
        text.withUTF8Buffer { $0.count == range.count && buffer[range].elementsEqual($0) }
    }

    /// Returns the bytes of an attribute with references resolved; nil without the attribute.
    func attribute(_ name: StaticString) throws(MapBuildError) -> ContiguousArray<UInt8>? {
        guard let part = parts.first(where: { isEqual($0.name, name) }) else { return nil }
        let raw = buffer[part.value]
        guard raw.contains(UInt8(ascii: "&")) else { return ContiguousArray(raw) }
        var result = ContiguousArray<UInt8>()
        var at = raw.startIndex
        while at < raw.endIndex {
            if raw[at] != UInt8(ascii: "&") {
                result.append(raw[at])
                at += 1
                continue
            }
            guard let end = raw[at...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                throw malformed("has an unterminated character reference")
            }
            guard let character = XMLScanner.character(raw[(at + 1)..<end]) else {
                throw malformed("has a reference to an invalid character")
            }
            result.append(contentsOf: String(character).utf8)
            at = end + 1
        }
        return result
    }

    private static func character(_ reference: some Collection<UInt8>) -> Character? {
        let text = String(decoding: reference, as: UTF8.self)
        switch text {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        let code =
            text.hasPrefix("#x")
            ? UInt32(text.dropFirst(2), radix: 16) : text.hasPrefix("#") ? UInt32(text.dropFirst(), radix: 10) : nil
        return code.flatMap { $0 == 0 ? nil : Unicode.Scalar($0) }.map(Character.init)
    }

    /// Returns an attribute that is a whole number; nil without the attribute, an error for any other value.
    func number(_ name: StaticString) throws(MapBuildError) -> Int64? {
        guard let bytes = try attribute(name) else { return nil }
        guard let value = Int64(String(decoding: bytes, as: UTF8.self)) else {
            throw malformed("has a value that is not a number")
        }
        return value
    }

    /// Returns an attribute that is an angle in degrees, as 1e-7 degrees rounded half away from zero; nil when it is not an
    /// angle or exceeds `limit` degrees.
    func angle(_ name: StaticString, limit: Int64) throws(MapBuildError) -> Int32? {
        guard var bytes = try attribute(name)?[...] else { return nil }
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative || bytes.first == UInt8(ascii: "+") { bytes.removeFirst() }
        var value: Int64 = 0
        var decimals = -1
        var digits = 0
        for byte in bytes {
            if byte == UInt8(ascii: "."), decimals < 0 {
                decimals = 0
                continue
            }
            guard byte >= 48, byte <= 57 else { return nil }
            digits += 1
            if decimals >= 8 { continue }
            guard digits < 18 else { return nil }
            value = value * 10 + Int64(byte - 48)
            if decimals >= 0 { decimals += 1 }
        }
        guard digits > 0 else { return nil }
        // One more decimal than needed, for rounding.
        for _ in max(decimals, 0)..<8 {
            guard value < 1 << 55 else { return nil }
            value *= 10
        }
        let rounded = (value + 5) / 10
        guard rounded <= limit * 10_000_000 else { return nil }
        return Int32(isNegative ? -rounded : rounded)
    }
}
