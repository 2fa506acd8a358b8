import CReportPage
import Foundation
package import NavGeo
import NavMap
import NavMessages
import NavReplay
import NavVerdict

/// A self-contained HTML page about one drive, or about two side by side.
package struct DriveReport {
    /// A drive with its name.
    package struct Run {
        var name: String
        package let content: DriveCollector
        /// Remarks on the recording for the page, such as its damage.
        var notes: [String]

        package init(name: String, content: DriveCollector, notes: [String] = []) {
            self.name = name
            self.content = content
            self.notes = notes
        }
    }

    /// The greatest difference from the drive's time, ns; times with a greater difference come from another clock.
    private static let farthest: Int64 = 3 * 86_400 * 1_000_000_000
    /// The margin before and after a drive in which health messages count as its own, ns; nodes publish them every second.
    private static let healthMargin: Int64 = 10 * 1_000_000_000

    private let runs: [Run]
    private let map: MapExtract?
    private let version: String

    /// Creates a report on `runs`.
    ///
    /// - Parameter map: the roads; nil for a page without a map.
    package init(_ runs: [Run], map: MapExtract?, version: String) {
        (self.runs, self.map, self.version) = (runs, map, version)
    }

    /// Returns the places of a drive for ``MapExtract``.
    package static func places(of content: DriveCollector) -> [NavGeo.Coordinate] {
        func places(_ table: SampleTable) -> [NavGeo.Coordinate] {
            zip(table.values("lat"), table.values("lon")).map {
                NavGeo.Coordinate(latitude: Double($0) * 1e-6, longitude: Double($1) * 1e-6)
            }
        }
        let driven = places(content.positions)
        return (driven.isEmpty ? places(content.fixes) : driven) + content.routes.flatMap(\.line)
    }

    // MARK: The page

    /// The beginning of every page.
    package static let beginning = "<!doctype html>"

    /// Returns the page as UTF-8.
    package func page() throws -> [UInt8] {
        try page(live: nil, start: nil)
    }

    /// Returns the page.
    ///
    /// - Parameters:
    ///   - live: for an ongoing drive, the number of its last batch.
    ///   - start: for an ongoing drive, its start, ns.
    func page(live: Int64?, start: Int64?) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let times = times(start: start), document = document(times, live: live)
        let summaries = zip(runs, times).map { DriveSummary($0.content, since: $1.start, within: $1.span) }
        let title = runs.map(\.name).joined(separator: " – ")
        let script = (live == nil ? "" : String(cString: creportpage_live())) + String(cString: creportpage_script())
        var page: [UInt8] = []
        var rest = Substring(String(cString: creportpage_html()))
        for (mark, text) in [
            ("@TITLE@", Array(escapedForMarkup(title).utf8)), ("@CSS@", Array(String(cString: creportpage_css()).utf8)),
        ] + PageText(document, summaries).parts.map({ ($0.mark, Array($0.markup.utf8)) }) + [
            ("@DATA@", Self.escaped(Array(try encoder.encode(document)))), ("@SCRIPT@", Array(script.utf8)),
        ] {
            guard let place = rest.firstRange(of: mark) else { continue }
            page += rest[..<place.lowerBound].utf8
            page += text
            rest = rest[place.upperBound...]
        }
        return page + Array(rest.utf8)
    }

    /// Escapes JSON for a script element; characters that could end the element or begin a comment occur only in strings.
    private static func escaped(_ json: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(json.count)
        for byte in json {
            if byte == UInt8(ascii: "<") { text += Array("\\u003c".utf8) } else { text.append(byte) }
        }
        return text
    }

    // MARK: The data

    struct Document: Encodable {
        var version: String
        var map: MapDocument?
        var runs: [RunDocument]
        var changes: [ChangeDocument]
        var live: Int64?
    }

    struct MapDocument: Encodable {
        var attribution: String
        var source: String
        var tolerance: Double
        var names: [String]
        var classes: String
        var flags: String
        var name: String
        var counts: String
        var lat: String
        var lon: String
    }

    struct RunDocument: Encodable {
        var name: String
        /// Milliseconds since the Unix epoch.
        var start: Int64
        /// Milliseconds.
        var duration: Int64
        var fixes: PackedTable
        var positions: PackedTable
        var progress: PackedTable
        var rejected: PackedTable
        var reasons: [String: String]
        var roads: [String]
        var receivers: [String]
        var routes: [RouteDocument]
        var events: [EventDocument]
        var instructions: [InstructionDocument]
        var nodes: [NodeDocument]
        var latencies: [LatencyDocument]
        var topics: [TopicDocument]
        /// The arrivals at destinations by time, milliseconds since the start.
        var arrivals: [Int64]
        var notes: [String]
    }

    struct RouteDocument: Encodable {
        var t: Int64
        var id: String
        var text: String
        var reason: String
        var lat: String
        var lon: String
        var stops: [StopDocument]
    }

    struct StopDocument: Encodable {
        var lat: Double
        var lon: Double
        var name: String
    }

    struct EventDocument: Encodable {
        var t: Int64
        var kind: String
        var text: String
    }

    struct InstructionDocument: Encodable {
        var t: Int64
        var text: String
        var type: Int32
        var modifier: Int32
        var urgency: Int32
        var distance: Int?
    }

    struct NodeDocument: Encodable {
        var name: String
        var states: [StateDocument]
    }

    struct StateDocument: Encodable {
        var t: Int64
        var state: Int32
        var reason: String
    }

    struct LatencyDocument: Encodable {
        var name: String
        var table: PackedTable
    }

    struct TopicDocument: Encodable {
        var topic: String
        var type: String
        var count: Int
    }

    struct ChangeDocument: Encodable {
        var t: Int64
        /// Milliseconds in the second run; nil when the item is not in it.
        var other: Int64?
        var change: String
        var text: String
    }

    /// Returns the stamp of time 0 and the time span of each run, ns.
    ///
    /// - Parameter start: the start of an ongoing drive, ns.
    private func times(start: Int64?) -> [(start: Int64, span: ClosedRange<Int64>)] {
        var spans = runs.map { Self.span(of: $0.content) }
        if let start { spans = [start...max(start, spans[0].upperBound)] }
        // Two runs of one recording share its time; other drives are aligned at their starts.
        var starts = spans.map(\.lowerBound)
        if spans.count == 2, spans[0].overlaps(spans[1]) {
            starts = Array(repeating: min(starts[0], starts[1]), count: 2)
        }
        return Array(zip(starts, spans))
    }

    private func document(_ times: [(start: Int64, span: ClosedRange<Int64>)], live: Int64?) -> Document {
        Document(
            version: version, map: map.map(Self.document),
            runs: zip(runs, times).map { Self.document($0, start: $1.start, span: $1.span) },
            changes: runs.count == 2 ? changes(times.map(\.start), times.map(\.span)) : [], live: live)
    }

    /// Returns the time span of a drive, ignoring times far from the median.
    static func span(of content: DriveCollector) -> ClosedRange<Int64> {
        let tables = [content.positions, content.fixes, content.progress].map(\.stamps)
        var stamps = tables.first { !$0.isEmpty } ?? content.happened.map(\.time)
        guard !stamps.isEmpty else { return 0...0 }
        stamps.sort()
        let middle = stamps[stamps.count / 2]
        let possible = middle.clampedSubtracting(farthest)...middle.clampedAdding(farthest)
        var all = tables.flatMap { $0 }
        all += content.happened.map(\.time)
        all += content.routes.map(\.time)
        all = all.filter(possible.contains)
        return (all.min() ?? middle)...(all.max() ?? middle)
    }

    private func changes(_ starts: [Int64], _ spans: [ClosedRange<Int64>]) -> [ChangeDocument] {
        let events = zip(runs, zip(starts, spans)).map { run, time in
            run.content.happened.filter { time.1.contains($0.time) }.sorted { $0.time < $1.time }.map {
                EventDiff.Event(time: Double($0.time - time.0) * 1e-9, topic: $0.topic, text: $0.text)
            }
        }
        let milliseconds = { (seconds: Double) in Int64((seconds * 1_000).rounded()) }
        return EventDiff(events[0], events[1]).changes.map { change in
            switch change {
            case .removed(let event):
                ChangeDocument(t: milliseconds(event.time), change: "removed", text: event.text)
            case .added(let event):
                ChangeDocument(t: milliseconds(event.time), change: "added", text: event.text)
            case .moved(let event, let time):
                ChangeDocument(
                    t: milliseconds(event.time), other: milliseconds(time), change: "moved", text: event.text)
            }
        }
    }

    static func document(_ run: Run, start: Int64, span: ClosedRange<Int64>) -> RunDocument {
        let content = run.content
        let time = { (stamp: Int64) in (stamp - start) / 1_000_000 }
        let table = { (table: SampleTable) in table.document(since: start, within: span) }
        let reasons = FixRejectionReason.names.map {
            ("\($0.value)", $0.name.replacing("FIX_REJECTION_REASON_", with: ""))
        }
        var notes = run.notes
        notes += content.leftOut.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key) were omitted" }
        let strange = content.happened.count { !span.contains($0.time) }
        let foreign = content.heard.filter { !Self.belongs($0.value, to: span, within: healthMargin) }.keys.sorted()
        let distant = foreign.filter { name in
            content.heard[name].map { !Self.belongs($0, to: span, within: farthest) } ?? false
        }
        if !distant.isEmpty {
            notes.append(
                "the health of \(distant.joined(separator: ", ")) has a different clock than the drive and is not shown; "
                    + "set 'sim_time: true' to run a node on the clock of a playback")
        }
        if strange > 0 { notes.append("\(strange) events outside the time of the drive are not shown") }
        return RunDocument(
            name: run.name, start: start / 1_000_000, duration: time(span.upperBound), fixes: table(content.fixes),
            positions: table(content.positions),
            progress: table(content.progress),
            rejected: table(content.rejected),
            reasons: Dictionary(reasons, uniquingKeysWith: { first, _ in first }), roads: content.roads,
            receivers: content.receivers,
            routes: content.routes.filter { span.contains($0.time) }.map { route in
                let line = Line.packed([route.line])
                return RouteDocument(
                    t: time(route.time), id: "\(route.id)", text: route.text, reason: route.reason, lat: line.lat,
                    lon: line.lon,
                    stops: route.stops.map {
                        StopDocument(lat: $0.place.latitude, lon: $0.place.longitude, name: $0.name)
                    })
            },
            events: content.happened.filter { span.contains($0.time) && $0.kind != "instruction" }
                .map { EventDocument(t: time($0.time), kind: $0.kind, text: $0.text) }.sorted { $0.t < $1.t },
            instructions: content.utterances.filter { span.contains($0.time) }.map {
                InstructionDocument(
                    t: time($0.time), text: $0.text, type: $0.type, modifier: $0.modifier, urgency: $0.urgency,
                    distance: $0.distance.flatMap { Int(exactly: $0.rounded()) })
            }.sorted { $0.t < $1.t },
            nodes: content.nodes.sorted { $0.key < $1.key }.map { node in
                let states = node.value.map {
                    StateDocument(t: time($0.time.clamped(to: span)), state: $0.state, reason: $0.reason)
                }
                let reason =
                    distant.contains(node.key)
                    ? "its health has a different clock than the drive" : "no health received during the drive"
                let unknown = StateDocument(t: time(span.lowerBound), state: 0, reason: reason)
                return NodeDocument(name: node.key, states: foreign.contains(node.key) ? [unknown] : states)
            },
            latencies: content.latencies.sorted { $0.key < $1.key }.map {
                LatencyDocument(name: $0.key, table: table($0.value))
            },
            topics: content.topics.sorted { $0.key < $1.key }.map {
                TopicDocument(topic: $0.key, type: $0.value.type, count: $0.value.count)
            },
            arrivals: content.arrivals.filter(span.contains).map(time).sorted(), notes: notes)
    }

    /// Whether health messages of a time span may belong to a drive.
    private static func belongs(
        _ heard: ClosedRange<Int64>, to span: ClosedRange<Int64>, within margin: Int64
    ) -> Bool {
        heard.overlaps(span.lowerBound.clampedSubtracting(margin)...span.upperBound.clampedAdding(margin))
    }

    static func document(_ map: MapExtract) -> MapDocument {
        let line = Line.packed(map.roads.map(\.line))
        return MapDocument(
            attribution: map.attribution, source: map.source, tolerance: map.tolerance, names: map.names,
            classes: Packing.text(map.roads.map { Int64($0.roadClass.rawValue) }),
            flags: Packing.text(map.roads.map { Int64($0.flags) }),
            name: Packing.text(map.roads.map { Int64($0.name) }),
            counts: Packing.text(map.roads.map { Int64($0.line.count) }), lat: line.lat, lon: line.lon)
    }
}

extension Int64 {
    fileprivate func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? .min : difference
    }
}
