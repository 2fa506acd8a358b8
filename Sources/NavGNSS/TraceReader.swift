package import NavMessages

/// An error that makes a whole trace unreadable.
package struct TraceError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// Neither the content nor the name indicates the format.
        case unknownFormat = "unknown_format"
        case notThisFormat = "not_this_format"
        /// The file is a bag, which `NavBag` reads.
        case isBag = "is_bag"
        case empty
    }

    package let code: Code
    package let format: TraceFormat?
    /// The number of the line with the error, from 1, if known.
    package let line: Int?
    /// A sentence that states the problem and the remedy.
    package let reason: String

    /// A one-line description.
    package var description: String {
        let place = line.map { "line \($0): " } ?? ""
        return (format.map { "\($0.rawValue): " } ?? "") + place + reason
    }
}

/// A recorded trace: its fixes in the order of the file, and the counts of rejected input.
package struct Trace: Sendable {
    package let format: TraceFormat
    /// The fixes, in the order of the file.
    package let fixes: [GnssFix]
    /// The counts of rejected input, by reason.
    package let rejections: RejectionCounts
}

package enum TraceReader {
    /// Reads the bytes of a file.
    ///
    /// - Parameters:
    ///   - bytes: the file's content.
    ///   - format: its format, if known; otherwise it is detected.
    ///   - name: the file's name, which indicates the format when the content does not.
    /// - Throws: `TraceError` when the content is not in the format; single bad lines are only counted.
    package static func read(
        _ bytes: [UInt8], format: TraceFormat? = nil, name: String = ""
    ) throws(TraceError) -> Trace {
        try read(bytes, format: format, name: name, skippingOutside: nil)
    }

    /// Reads the bytes of a file; fixes whose times are outside a span, ns since the Unix epoch, may be skipped.
    package static func read(
        _ bytes: [UInt8], format: TraceFormat? = nil, name: String = "", skippingOutside span: ClosedRange<Int64>?
    ) throws(TraceError) -> Trace {
        guard let firstLine = firstLine(bytes) else {
            throw TraceError(code: .empty, format: format, line: nil, reason: "the file is empty")
        }
        guard let format = format ?? TraceFormat.detect(bytes, name: name) else {
            throw TraceError(
                code: .unknownFormat, format: nil, line: nil,
                reason:
                    "neither NMEA 0183, gpsd JSON, UBX, GPX nor CSV with the columns lat and lon: "
                    + "convert it to one of these")
        }
        switch format {
        case .nmea: return try readNMEA(bytes, firstLine)
        case .gpsd: return try readGPSD(bytes, firstLine)
        case .ubx: return try readUBX(bytes)
        case .csv: return try readCSV(bytes, firstLine, span)
        case .gpx: return try readGPX(bytes, firstLine)
        case .mcap:
            throw TraceError(
                code: .isBag, format: .mcap, line: nil, reason: "a bag is not a receiver trace: convert or play it")
        }
    }

    private static func readNMEA(_ bytes: [UInt8], _ line: Int) throws(TraceError) -> Trace {
        var parser = NMEAParser()
        let fixes = parser.consume(bytes) + parser.finish()
        guard parser.sentencesUsed > 0 else {
            let hint =
                parser.rejections[.missingChecksum] > 0
                ? "no sentence has a checksum, which is required"
                : parser.rejections[.checksum] > 0
                    ? "no sentence has a valid checksum" : "no sentence of a receiver"
            throw TraceError(code: .notThisFormat, format: .nmea, line: line, reason: hint)
        }
        return Trace(format: .nmea, fixes: fixes, rejections: parser.rejections)
    }

    private static func readGPSD(_ bytes: [UInt8], _ line: Int) throws(TraceError) -> Trace {
        var parser = GPSDParser()
        let fixes = parser.consume(bytes) + parser.finish()
        guard parser.reports > 0 else {
            throw TraceError(
                code: .notThisFormat, format: .gpsd, line: parser.firstBadLine ?? line,
                reason: "not a JSON object with a class of gpsd's protocol")
        }
        return Trace(format: .gpsd, fixes: fixes, rejections: parser.rejections)
    }

    private static func readUBX(_ bytes: [UInt8]) throws(TraceError) -> Trace {
        var parser = UBXParser()
        let fixes = parser.consume(bytes) + parser.finish()
        guard parser.messageCount > 0 else {
            throw TraceError(
                code: .notThisFormat, format: .ubx, line: nil, reason: "no message of a u-blox receiver")
        }
        return Trace(format: .ubx, fixes: fixes, rejections: parser.rejections)
    }

    private static func readCSV(
        _ bytes: [UInt8], _ line: Int, _ span: ClosedRange<Int64>?
    ) throws(TraceError) -> Trace {
        var parser = CSVTraceParser(skippingOutside: span)
        let fixes = parser.consume(bytes) + parser.finish()
        guard parser.hasHeader else {
            throw TraceError(
                code: .notThisFormat, format: .csv, line: line,
                reason: parser.headerProblem ?? "no header: its first line must name lat, lon and, for times, t_s")
        }
        if fixes.isEmpty, !parser.hasSkipped, let bad = parser.firstBadLine {
            let reasons = parser.rejections.all.map { "\($0.count) \($0.reason.rawValue)" }.joined(separator: ", ")
            throw TraceError(code: .notThisFormat, format: .csv, line: bad, reason: "no row is usable: \(reasons)")
        }
        return Trace(format: .csv, fixes: fixes, rejections: parser.rejections)
    }

    private static func readGPX(_ bytes: [UInt8], _ line: Int) throws(TraceError) -> Trace {
        let reader = GPXReader(bytes)
        guard reader.isGPX else {
            throw TraceError(code: .notThisFormat, format: .gpx, line: line, reason: "no gpx element")
        }
        return Trace(format: .gpx, fixes: reader.fixes, rejections: reader.rejections)
    }

    /// Returns the number of the first line that is not blank.
    private static func firstLine(_ bytes: [UInt8]) -> Int? {
        guard let start = bytes.firstIndex(where: { !$0.isSpace }) else { return nil }
        return 1 + bytes[..<start].count { $0 == .newline }
    }
}
