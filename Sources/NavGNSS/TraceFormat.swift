package enum TraceFormat: String, CaseIterable, Sendable {
    /// NMEA 0183 sentences.
    case nmea
    /// gpsd's JSON, one report per line.
    case gpsd
    /// u-blox's binary protocol.
    case ubx
    /// Comma-separated values with a header that names `lat` and `lon`, or `latitude` and `longitude`.
    case csv
    /// GPS exchange format, XML.
    case gpx
    /// A bag, which `NavBag` reads.
    case mcap

    /// The number of bytes at the beginning of a file that `detect` reads.
    package static let sniffLength = 4096

    /// Returns the format of a file from its first bytes, otherwise from its name's extension; `nil` if unknown.
    package static func detect(_ bytes: [UInt8], name: String = "") -> TraceFormat? {
        let head = GPXReader.utf8(Array(bytes.prefix(sniffLength)))
        if head.starts(with: [0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a]) { return .mcap }
        let text = Self.withoutMark(head[...]).drop { $0.isSpace }
        if text.first == UInt8(ascii: "<") { return .gpx }
        if text.first == UInt8(ascii: "{"), contains(text, "\"class\"") { return .gpsd }
        if let start = text.indices.first(where: { isSentence(text[$0...]) }), start == text.startIndex { return .nmea }
        let header = text.prefix { $0 != .newline && $0 != .carriageReturn }
        if CSVTraceParser.isHeader(header.split(separator: .comma).map { $0.trimmed }) { return .csv }
        if text.indices.contains(where: { isSentence(text[$0...]) }) { return .nmea }
        // A log of gpsd's input may begin with reports about the receiver.
        if head.indices.contains(where: { head[$0] == 0xb5 && UBXParser.isMessage(head[$0...]) }) { return .ubx }
        if contains(text, "{\"class\":") { return .gpsd }
        return byName(name)
    }

    private static func withoutMark(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes = bytes.dropFirst(3) }
        return bytes
    }

    private static func contains(_ text: Bytes, _ wanted: StaticString) -> Bool {
        text.indices.contains { text[$0...].prefix(wanted.utf8CodeUnitCount).elementsEqual(wanted) }
    }

    private static func isSentence(_ text: Bytes) -> Bool {
        guard text.first == UInt8(ascii: "$") || text.first == UInt8(ascii: "!") else { return false }
        let address = text.dropFirst().prefix(6)
        return address.count == 6 && address.last == .comma
            && address.dropLast().allSatisfy { (0x41...0x5a).contains($0) }
    }

    private static func byName(_ name: String) -> TraceFormat? {
        let end = name.split(separator: ".", omittingEmptySubsequences: false).last?.lowercased()
        guard name.contains("."), let end else { return nil }
        return switch end {
        case "nmea", "nma": .nmea
        case "json", "jsonl", "gpsd": .gpsd
        case "ubx": .ubx
        case "csv": .csv
        case "gpx": .gpx
        case "mcap": .mcap
        default: nil
        }
    }
}
