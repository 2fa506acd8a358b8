package import NavBag
import NavGNSS
import NavGeo
import NavMessages

/// A writer of a recording's fixes as text: CSV, GPX, or GeoJSON with the matched positions and the routes.
///
/// It separates the fixes of several receivers: by a column in CSV, by tracks in GPX, by features in GeoJSON.
package struct TraceExport {
    /// A format of text.
    package enum Format: String, CaseIterable, Sendable {
        case csv, gpx, geojson
    }

    /// The maximum number of receivers with their own lines; each takes a pass over the recording.
    private static let mostReceivers = 16

    package private(set) var count = 0
    /// The names of the receivers, in the order of their first fixes; receivers beyond the maximum share the last name.
    private var receivers: [String] = []
    private let write: (String) throws(BagError) -> Void

    /// Creates an export that passes its text to `write` piece by piece.
    package init(_ write: @escaping (String) throws(BagError) -> Void) { self.write = write }

    /// Writes a whole document.
    ///
    /// - Parameter open: opens the recording, once for each of the document's parts.
    package mutating func run(_ format: Format, _ open: () throws(BagError) -> any RecordSource) throws(BagError) {
        receivers = try Self.receivers(try open())
        switch format {
        case .csv: try csv(try open())
        case .gpx: try gpx(open)
        case .geojson: try geojson(open)
        }
    }

    private static func fix(_ record: Record) -> GnssFix? {
        guard record.channel.schemaName == GnssFix.fullName else { return nil }
        return try? GnssFix(decoding: Array(record.data))
    }

    private static func receivers(_ records: any RecordSource) throws(BagError) -> [String] {
        var records = records
        var names: [String] = []
        while let record = try records.next() {
            guard let fix = fix(record), !names.contains(fix.receiverName) else { continue }
            names.append(fix.receiverName)
            guard names.count < mostReceivers else { break }
        }
        return names
    }

    /// Whether a fix is drawn with the fixes of a receiver.
    private func isOf(_ receiver: String, _ fix: GnssFix) -> Bool {
        receivers.count < 2 || (receivers.contains(fix.receiverName) ? fix.receiverName : receivers.last) == receiver
    }

    /// Passes the fixes to a closure that returns whether it wrote the fix.
    private mutating func fixes(
        _ records: any RecordSource, of receiver: String? = nil,
        _ body: (GnssFix, Record) throws(BagError) -> Bool
    ) throws(BagError) {
        var records = records
        while let record = try records.next() {
            guard let fix = Self.fix(record), receiver.map({ isOf($0, fix) }) ?? true else { continue }
            if try body(fix, record) { count += 1 }
        }
    }

    private mutating func csv(_ records: any RecordSource) throws(BagError) {
        let isNamed = receivers.count > 1
        try write("t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m,t_recv_s\(isNamed ? ",receiver" : "")\n")
        let write = write
        try fixes(records) { (fix, record) throws(BagError) in
            let position = NavGeo.Coordinate(ifValid: fix.latitude, fix.longitude)
            let numbers = [
                position?.latitude, position?.longitude, fix.speed, fix.course.map(Self.degrees), fix.hdop,
                Self.accuracy(of: fix),
            ].map { Self.text($0) ?? "" }
            let received = fix.receiveStampNs ?? Int64(clamping: record.logTime)
            let name = isNamed ? ",\"\(Self.plain(fix.receiverName))\"" : ""
            try write(
                "\(fix.utcNanoseconds.map(Self.seconds) ?? ""),\(numbers.joined(separator: ",")),\(Self.seconds(received))\(name)\n"
            )
            return true
        }
    }

    /// Returns a number as text; nil when it is unknown or not finite, which the formats cannot represent.
    private static func text(_ number: Double?) -> String? { number.flatMap { $0.isFinite ? "\($0)" : nil } }

    /// Returns a name without the characters that cannot appear in quoted text of any of the formats.
    private static func plain(_ name: String) -> String {
        String(
            String.UnicodeScalarView(
                name.unicodeScalars.map {
                    $0.value < 0x20 || ["\"", "\\", "\u{7f}", "\u{fffe}", "\u{ffff}"].contains($0) ? "_" : $0
                }))
    }

    /// Returns the horizontal accuracy, metres; nil when it is unknown.
    private static func accuracy(of fix: GnssFix) -> Double? {
        if let stated = fix.horizontalAccuracyM, stated.isFinite { return stated }
        guard fix.positionCovariance.count == 9 else { return nil }
        let radius = Accuracy.radius68(
            sigmaNorth: fix.positionCovariance[4].squareRoot(), sigmaEast: fix.positionCovariance[0].squareRoot())
        return radius.isFinite ? (radius * 1e3).rounded() / 1e3 : nil
    }

    private mutating func gpx(_ open: () throws(BagError) -> any RecordSource) throws(BagError) {
        let namespace = "http://www.garmin.com/xmlschemas/TrackPointExtension/v2"
        try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <gpx version="1.1" creator="navbus" xmlns="http://www.topografix.com/GPX/1/1" xmlns:tpx="\(namespace)">

            """)
        for receiver in receivers.isEmpty ? [""] : receivers {
            let name = receivers.count > 1 ? "<name>\(Self.markup(receiver))</name>" : ""
            try write("<trk>\(name)<trkseg>\n")
            try track(try open(), of: receiver)
            try write("</trkseg></trk>\n")
        }
        try write("</gpx>\n")
    }

    private static func markup(_ name: String) -> String {
        plain(name).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    private mutating func track(_ records: any RecordSource, of receiver: String) throws(BagError) {
        let write = write
        try fixes(records, of: receiver) { (fix, _) throws(BagError) in
            guard let position = NavGeo.Coordinate(ifValid: fix.latitude, fix.longitude) else { return false }
            var point = "<trkpt lat=\"\(position.latitude)\" lon=\"\(position.longitude)\">"
            if let elevation = Self.text(fix.elevation) { point += "<ele>\(elevation)</ele>" }
            if let stamp = fix.utcNanoseconds { point += "<time>\(Self.iso8601(stamp))</time>" }
            if let hdop = Self.text(fix.hdop) { point += "<hdop>\(hdop)</hdop>" }
            let (speed, course) = (Self.text(fix.speed), Self.text(fix.course.map(Self.degrees)))
            if speed != nil || course != nil {
                point += "<extensions><tpx:TrackPointExtension>"
                if let speed { point += "<tpx:speed>\(speed)</tpx:speed>" }
                if let course { point += "<tpx:course>\(course)</tpx:course>" }
                point += "</tpx:TrackPointExtension></extensions>"
            }
            try write(point + "</trkpt>\n")
            return true
        }
    }

    /// Writes a line of each receiver's fixes, a line of the matched positions, and the routes.
    private mutating func geojson(_ open: () throws(BagError) -> any RecordSource) throws(BagError) {
        try write(GeoJSON.collectionHead)
        var isFirst = true
        for receiver in receivers {
            let name = receivers.count > 1 ? ",\"receiver\":\"\(Self.plain(receiver))\"" : ""
            let export = self
            try line("{\"name\":\"fixes\"\(name)}", try open(), &isFirst) { record in
                guard let fix = Self.fix(record), export.isOf(receiver, fix) else { return nil }
                return NavGeo.Coordinate(ifValid: fix.latitude, fix.longitude)
            }
        }
        try line("{\"name\":\"matched\"}", try open(), &isFirst) { record in
            guard record.channel.schemaName == MatchedPosition.fullName,
                let pose = (try? MatchedPosition(decoding: Array(record.data)))?.matched
            else { return nil }
            return NavGeo.Coordinate(ifValid: pose.latitude, pose.longitude)
        }
        var records = try open()
        var last: NavMessages.Polyline?
        while let record = try records.next() {
            guard record.channel.topic == Topics.route.name, record.channel.schemaName == Route.fullName,
                let route = try? Route(decoding: Array(record.data)), let line = route.geometry, line.count > 1,
                line != last
            else { continue }
            last = line
            let properties =
                "{\"name\":\"route\",\"route_id\":\"\(route.routeId ?? 0)\",\"log_ns\":\"\(record.logTime)\"}"
            guard let feature = GeoJSON.feature(line, properties: properties) else { continue }
            try write((isFirst ? "" : ",\n") + feature)
            isFirst = false
            count += 1
        }
        try write(GeoJSON.collectionEnd + "\n")
    }

    /// Writes a line if it has at least two positions.
    private mutating func line(
        _ properties: String, _ records: any RecordSource, _ isFirst: inout Bool,
        _ position: (Record) -> NavGeo.Coordinate?
    ) throws(BagError) {
        var records = records
        var start: String?
        var points = 0
        while let record = try records.next() {
            guard let point = position(record).map(GeoJSON.position) else { continue }
            points += 1
            guard points > 1 else {
                start = point
                continue
            }
            if let first = start {
                try write((isFirst ? "" : ",\n") + GeoJSON.lineHead + first)
                (start, isFirst) = (nil, false)
            }
            try write("," + point)
        }
        guard points > 1 else { return }
        count += points
        try write(GeoJSON.lineEnd(properties))
    }

    private static func degrees(_ radians: Double) -> Double { radians * 180 / .pi }

    /// Returns seconds with as many decimals as needed.
    private static func seconds(_ nanoseconds: Int64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest != 0 else { return "\(whole)" }
        let digits = String(rest.magnitude)
        let decimals = String(repeating: "0", count: 9 - digits.count) + digits
        let end = decimals.lastIndex { $0 != "0" } ?? decimals.startIndex
        return (nanoseconds < 0 && whole == 0 ? "-" : "") + "\(whole).\(decimals[...end])"
    }

    /// Returns a UTC date and time (H. Hinnant's civil-from-days).
    static func iso8601(_ nanoseconds: Int64) -> String {
        func floored(_ a: Int64, _ b: Int64) -> (Int64, Int64) {
            let (quotient, rest) = a.quotientAndRemainder(dividingBy: b)
            return rest < 0 ? (quotient - 1, rest + b) : (quotient, rest)
        }
        let (days, ofDay) = floored(nanoseconds, 86_400_000_000_000)
        let (era, dayOfEra) = floored(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let (day, month) = (dayOfYear - (153 * shifted + 2) / 5 + 1, shifted < 10 ? shifted + 3 : shifted - 9)
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let second = seconds(ofDay % 60_000_000_000)
        let clock = "\(two(ofDay / 3_600_000_000_000)):\(two(ofDay / 60_000_000_000 % 60))"
        return
            "\(year)-\(two(month))-\(two(day))T\(clock):\(ofDay % 60_000_000_000 < 10_000_000_000 ? "0" : "")\(second)Z"
    }
}
