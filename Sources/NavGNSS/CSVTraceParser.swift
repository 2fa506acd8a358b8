package import NavMessages

/// A parser of a trace of comma-separated values: bytes in, one fix per row out, in arrival order.
///
/// The header names the columns, in any order: `lat` and `lon`, or `latitude` and `longitude` (degrees), and optionally `t_s`
/// (s since the Unix epoch, or since any start; a row without one has no stamp), `speed_mps`, `heading_deg` (course over
/// ground, degrees from true north), `hdop`, `h_acc_m` (68 % radius in m), `t_recv_s` (arrival, s since the Unix epoch) and
/// `receiver` (its name, which becomes the source of the fix, if there are several). Other columns, such as `label`, are
/// ignored, except a column of times under another name than `t_s`, which is refused because its unit is unknown. An empty
/// field and `nan` in any case mean unknown; a row with a malformed field is rejected as a whole. Times are read as decimals,
/// exact to the nanosecond.
package struct CSVTraceParser: Sendable {
    /// Largest line in bytes.
    package static let lineLimit = 64 << 10
    package static let columnLimit = 64

    private enum Column {
        case time, latitude, longitude, speed, course, hdop, accuracy, received, receiver, ignored
    }

    package private(set) var rejections = RejectionCounts()
    /// The number of the first rejected line, from 1.
    package private(set) var firstBadLine: Int?
    /// The reason why the header is unusable, once it has been read; nil for a usable header.
    package private(set) var headerProblem: String?

    /// The times of interest, ns since the Unix epoch: rows at other times are skipped if the time is their first
    /// column; nil for all.
    private let span: ClosedRange<Int64>?
    /// Whether a row was skipped.
    private(set) var hasSkipped = false
    private var framer = LineFramer(limit: Self.lineLimit)
    private var columns: [Column] = []
    /// The fields of the current row, kept to reuse the memory.
    private var row: [Bytes] = []

    package init() { self.init(skippingOutside: nil) }

    /// Creates a parser that may skip rows whose times are outside a span, ns since the Unix epoch.
    package init(skippingOutside span: ClosedRange<Int64>?) { self.span = span }

    /// Whether the header was read and is usable.
    package var hasHeader: Bool { !columns.isEmpty }

    /// Takes the next chunk of the file and returns the fixes of its complete rows; none after an unusable header.
    package mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        var fixes: [GnssFix] = []
        var position = 0
        let skipped = framer.skipped
        while let line = framer.next(bytes, &position) { take(line, into: &fixes) }
        for _ in skipped..<framer.skipped { reject(.tooLong) }
        return fixes
    }

    /// Ends the file: the last row may lack its line end.
    package mutating func finish() -> [GnssFix] {
        var fixes: [GnssFix] = []
        if let line = framer.finish() { take(line, into: &fixes) }
        return fixes
    }

    private mutating func take(_ line: Bytes, into fixes: inout [GnssFix]) {
        guard headerProblem == nil, !line.trimmed.isEmpty else { return }
        guard hasHeader else { return takeHeader(line) }
        if let span, columns.first == .time, let time = Decimal.nanoseconds(line.prefix { $0 != .comma }.trimmed),
            !span.contains(time)
        {
            hasSkipped = true
            return
        }
        guard Self.split(line, into: &row), row.count == columns.count else { return reject(.fieldCount) }
        switch Self.fix(row, columns) {
        case .success(let fix): fixes.append(fix)
        case .failure(let refusal): reject(refusal.reason)
        }
    }

    private mutating func reject(_ reason: Rejection) {
        rejections.count(reason)
        if firstBadLine == nil { firstBadLine = framer.lineNumber }
    }

    private mutating func takeHeader(_ line: Bytes) {
        let line = line.starts(with: [0xef, 0xbb, 0xbf]) ? line.dropFirst(3) : line
        guard Self.split(line, into: &row) else {
            headerProblem = "the header has an unfinished quote or more than \(Self.columnLimit) columns"
            return
        }
        var found: [Column] = []
        let names = row.map { String(decoding: $0, as: UTF8.self) }
        for name in names {
            let column = Self.column(name, of: names)
            if column != .ignored, found.contains(column) {
                headerProblem = "the header names the column \(name) twice"
                return
            }
            found.append(column)
        }
        for (column, name) in [(Column.latitude, "lat"), (.longitude, "lon")] where !found.contains(column) {
            headerProblem = "the header lacks the column \(name): lat and lon are needed, and t_s for times"
            return
        }
        if !found.contains(.time), let place = names.indices.first(where: { Self.isTime(names[$0], found[$0]) }) {
            headerProblem =
                "the header lacks the column t_s: if '\(names[place])' is the time in seconds, call it t_s, otherwise remove it"
            return
        }
        columns = found
    }

    /// Whether a header has the columns of a position.
    static func isHeader(_ names: [Bytes]) -> Bool {
        [["lat", "latitude"], ["lon", "longitude"]].allSatisfy { choice in
            names.contains { name in choice.contains { name.elementsEqual($0.utf8) } }
        }
    }

    /// Whether an ignored column has times, according to its name.
    private static func isTime(_ name: String, _ column: Column) -> Bool {
        let name = name.lowercased()
        return column == .ignored
            && (["t", "ts", "utc"].contains(name) || name.hasPrefix("t_")
                || ["time", "date", "stamp", "epoch", "seconds"].contains { name.firstRange(of: $0) != nil })
    }

    private static func column(_ name: String, of names: [String]) -> Column {
        switch name {
        case "t_s": .time
        case "lat": .latitude
        case "lon": .longitude
        case "latitude" where !names.contains("lat"): .latitude
        case "longitude" where !names.contains("lon"): .longitude
        case "speed_mps": .speed
        case "heading_deg": .course
        case "hdop": .hdop
        case "h_acc_m": .accuracy
        case "t_recv_s": .received
        case "receiver": .receiver
        default: .ignored
        }
    }

    private static func fix(_ fields: [Bytes], _ columns: [Column]) -> Result<GnssFix, Refusal> {
        var fix = GnssFix()
        for (text, column) in zip(fields, columns) where isKnown(text) && column != .ignored {
            if column == .time || column == .received {
                guard let time = Decimal.nanoseconds(text) else { return .failure(Refusal(reason: .badTime)) }
                if column == .time { fix.timestamp = .utc(nanoseconds: time) } else { fix.receiveStampNs = time }
                continue
            }
            guard column != .receiver else {
                fix.source = String(decoding: text, as: UTF8.self)
                continue
            }
            guard let value = Decimal.double(text) else { return .failure(Refusal(reason: .malformedField)) }
            guard let accepted = accepted(value, column) else { return .failure(Refusal(reason: .outOfRange)) }
            switch column {
            case .latitude: fix.latitude = accepted
            case .longitude: fix.longitude = accepted
            case .speed: fix.speed = accepted
            case .course: fix.course = accepted
            case .hdop: fix.hdop = accepted > 0 ? accepted : nil
            case .accuracy: fix.horizontalAccuracyM = accepted
            case .time, .received, .receiver, .ignored: break
            }
        }
        guard (fix.latitude == nil) == (fix.longitude == nil) else {
            return .failure(Refusal(reason: .malformedField))
        }
        return .success(fix)
    }

    private static func isKnown(_ text: Bytes) -> Bool {
        !text.isEmpty && !(text.count == 3 && text.elementsEqual([0x6e, 0x61, 0x6e]) { $0 | 0x20 == $1 })
    }

    private static func accepted(_ value: Double, _ column: Column) -> Double? {
        switch column {
        case .latitude: (-90...90).contains(value) ? value : nil
        case .longitude: (-180...180).contains(value) ? value : nil
        case .course: bearingRadians(degrees: value)
        default: (0..<1e9).contains(value) ? value : nil
        }
    }

    /// Splits a line into its fields, trimmed and unquoted.
    ///
    /// - Returns: whether the line is complete; false for an unclosed quote or too many fields.
    private static func split(_ line: Bytes, into fields: inout [Bytes]) -> Bool {
        fields.removeAll(keepingCapacity: true)
        var rest = line
        while true {
            guard fields.count < columnLimit else { return false }
            let start = rest.drop { $0 == 0x20 || $0 == 0x09 }
            if start.first == .quote {
                var end = start.startIndex + 1
                while end < start.endIndex {
                    if start[end] == .quote {
                        guard end + 1 < start.endIndex, start[end + 1] == .quote else { break }
                        end += 1
                    }
                    end += 1
                }
                guard end < start.endIndex else { return false }
                fields.append(start[(start.startIndex + 1)..<end].trimmed)
                rest = start[(end + 1)...].drop { $0 != .comma }
            } else {
                let field = rest.prefix { $0 != .comma }
                fields.append(field.trimmed)
                rest = rest[field.endIndex...]
            }
            guard !rest.isEmpty else { return true }
            rest = rest.dropFirst()
        }
    }
}
