/// The header fields of an answer, kept as bytes, because most of them are never read.
package struct HTTPHeaders: Sendable {
    private struct Field: Sendable {
        var name: Range<Int>
        var value: Range<Int>
    }

    package static let greatestCount = 256

    private var bytes: [UInt8] = []
    private var fields: [Field] = []

    package init() {}

    /// Adds a line without its line end; returns false when it is not a field (RFC 9112, 5) or there are too many.
    package mutating func add(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard fields.count < Self.greatestCount else { return false }
        var colon = 0
        while colon < line.count, Self.isToken(line[colon]) { colon += 1 }
        guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else { return false }
        // Some values are sent back, so each must be a single line (RFC 9110, 5.5).
        for byte in line[colon...] where (byte < 0x20 && byte != 0x09) || byte == 0x7f { return false }
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var (start, end) = (colon + 1, line.count)
        while start < end, isSpace(line[start]) { start += 1 }
        while start < end, isSpace(line[end - 1]) { end -= 1 }
        if fields.isEmpty {
            bytes.reserveCapacity(512)
            fields.reserveCapacity(16)
        }
        let offset = bytes.count
        bytes.append(contentsOf: line)
        fields.append(Field(name: offset..<offset + colon, value: offset + start..<offset + end))
        return true
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f, 0x60, 0x7c, 0x7e: true
        default: false
        }
    }

    private func has(_ name: String, _ field: Field) -> Bool {
        guard field.name.count == name.utf8.count else { return false }
        var place = field.name.lowerBound
        for byte in name.utf8 {
            // Among the characters of names, only letters differ in this bit alone (and ^ from ~, which do not occur in
            // the names compared).
            guard bytes[place] | 0x20 == byte | 0x20 else { return false }
            place += 1
        }
        return true
    }

    private func text(_ field: Field) -> String { String(decoding: bytes[field.value], as: UTF8.self) }

    /// Returns the value of the first field with a name, ignoring case.
    package func first(_ name: String) -> String? { fields.first { has(name, $0) }.map(text) }

    /// Returns the values of all fields with a name, ignoring case.
    package func all(_ name: String) -> [String] { fields.filter { has(name, $0) }.map(text) }

    /// Returns all list elements in the fields with a name, in lower case.
    package func elements(_ name: String) -> [String] {
        guard fields.contains(where: { has(name, $0) }) else { return [] }
        return all(name).flatMap { $0.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) }
            .map { $0.lowercased() }
    }
}
