import Foundation
import NavBag
import NavConfig
import NavGNSS
import NavGeo
import NavKit
import NavMatching
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavVerdict
import NavWire
import NavigationNode

/// A runner of a fleet's jobs, one after another, which keeps maps between jobs.
final class CheckRunner {
    private struct Area {
        let directory: TilesetDirectory
        let map: MapSnapshot
        let traffic: TrafficFile?
        /// It keeps the junctions and the search's memory from drive to drive.
        let planner = RoutePlanner()
    }

    private var areas: [(key: String, area: Area)] = []
    /// The most maps in memory.
    private static let mostMaps = 2
    /// The most events of a drive.
    private static let mostEvents = 200_000

    /// Runs a job; a failure is noted in the record and does not stop other jobs.
    func record(_ job: CheckJob) -> DriveRecord {
        do {
            return try run(job)
        } catch {
            var record = DriveRecord()
            record.failure = "\(error)"
            return record
        }
    }

    private func run(_ job: CheckJob) throws -> DriveRecord {
        var configuration = try job.configuration()
        let trace = try TraceInput(path: job.path)
        if let loss = trace.loss {
            throw NodeError(
                .invalid,
                "'\(job.path)' is damaged: \(loss); a part of a drive is not judged, "
                    + "'navbus bag recover' makes a bag of what can be read")
        }
        var others = trace.others
        var resumesTrip = false
        if job.destination != nil {
            others = others?.withoutCommands
        } else if configuration.destination == nil {
            resumesTrip = others?.tripUnderWay != nil
            let trip = resumesTrip ? nil : try others?.configuredTrip ?? CheckRunner.simulatedTrip(job.path)
            configuration.destination = trip.flatMap { NavGeo.Coordinate(text: $0.destination) }
            if let via = trip?.via, !via.isEmpty {
                configuration.via = via.split(separator: ";").compactMap { NavGeo.Coordinate(text: String($0)) }
            }
        }
        var first: Int64?
        var (earliest, latest) = (Int64.max, Int64.min)
        try trace.fixes.forEach { fix in
            guard let stamp = fix.stampNs else { return }
            first = first ?? stamp
            (earliest, latest) = (min(earliest, stamp), max(latest, stamp))
        }
        guard let start = first else { throw NodeError(.invalid, "'\(job.path)': no fix has a time") }
        // No verdict depends on the horizon, and it takes a quarter of a drive's time.
        configuration.horizon.isEnabled = false
        let area = try area(job.tiles, configuration)
        // Without roads nothing is published, so a drive on another map could meet every expectation.
        if let mismatch = try area.directory.mismatch(with: trace, job.path) { throw NodeError(.invalid, mismatch) }
        let expectations = Expectations(
            try job.expect.map { try Expectation(SourceLine(number: $0.number, text: $0.text)) })
        var observer = DriveObserver(
            start: start, truth: try CheckRunner.truth(job, start: start, drive: earliest...latest),
            topics: expectations.topics, most: Self.mostEvents)
        let replay = Replay(
            map: area.map, configuration: configuration, file: area.traffic, planner: area.planner)
        let summary = try replay.run(trace.fixes, others: others, into: &observer)
        guard !observer.isFull else {
            throw NodeError(.invalid, "'\(job.path)' has more than \(Self.mostEvents) events: check parts of it")
        }
        var record = DriveRecord()
        var notes = try trace.notes(about: job.path)
        // An empty destination means a drive without guidance.
        if job.destination != "", let note = trace.noteOfMissingGuidance(routes: summary.routes, option: "to") {
            notes.append(note)
        }
        if !notes.isEmpty { record.notes = notes }
        record.fixes = summary.fixes
        record.events = observer.lines
        record.metrics = observer.figures.metrics()
        let unmeasured = observer.figures.unmeasured(
            hasDestination: configuration.destination != nil || resumesTrip)
        if !unmeasured.isEmpty { record.unmeasured = unmeasured }
        record.unexpected = expectations.failures(observer.events, until: observer.end)
        let given = try job.configuration()
        let isCommanded = others?.commands.isEmpty == false || resumesTrip
        // The horizon is off, whatever its keys say.
        for key in configuration.readKeys(isCommanded: isCommanded, observer.keyUse)
        where !key.name.hasPrefix("horizon.") {
            record.keys[key.name] = key.text(of: given)
        }
        return record
    }

    private func area(_ tiles: String, _ configuration: NavigationConfiguration) throws -> Area {
        let vehicle = VehicleKeys.keys.map { $0.text(of: configuration.vehicle) }
        let key = ([tiles, configuration.traffic] + vehicle).joined(separator: "\n")
        if let known = areas.first(where: { $0.key == key }) { return known.area }
        let directory = try TilesetDirectory(path: tiles)
        let graph = try directory.loadGraph()
        let area = Area(
            directory: directory, map: MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile)),
            traffic: configuration.traffic.isEmpty ? nil : try TrafficFile(path: configuration.traffic))
        if areas.count >= Self.mostMaps { areas.removeFirst() }
        areas.append((key, area))
        return area
    }

    /// Returns the destination and the stops of a simulated drive; nil when the bag has none.
    private static func simulatedTrip(_ path: String) throws -> (destination: String, via: String)? {
        guard let reader = try? BagReader(path: path),
            let place = reader.index.metadata.first(where: { $0.name == DriveSimulator.mark }),
            case let entries = try reader.metadata(place).entries,
            let destination = entries["to"], !destination.isEmpty
        else { return nil }
        return (destination, entries["via"] ?? "")
    }

    // MARK: Truth

    /// Returns the truth of a drive; nil without one.
    private static func truth(_ job: CheckJob, start: Int64, drive: ClosedRange<Int64>) throws -> Truth? {
        let positions = try job.truthPositions.map { try file($0) } ?? attachment(DriveSimulator.truthPositions, job)
        let edges = try job.truthEdges.map { try file($0) } ?? attachment(DriveSimulator.truthEdges, job)
        guard positions != nil || edges != nil else { return nil }
        var places: [TruePosition] = []
        if let positions {
            let name = job.truthPositions ?? DriveSimulator.truthPositions
            do throws(TraceError) {
                // A bag that was cut from a longer one keeps the whole truth: reading it all takes a tenth of the check.
                let gap = Int64(Truth.longestGap * 1e9)
                let span = max(drive.lowerBound, .min + gap) - gap...min(drive.upperBound, .max - gap) + gap
                places = try truePositions(positions, name, start: start, around: span)
                if places.count < 2 { places = try truePositions(positions, name, start: start, around: nil) }
            } catch {
                throw NodeError(.invalid, "'\(name)': \(error)")
            }
            guard places.count > 1 else {
                throw NodeError(
                    .invalid, "'\(name)' has fewer than two positions with times: no figure can be judged")
            }
        }
        return Truth(places, segments: try edges.map { try segments($0, job.truthEdges ?? DriveSimulator.truthEdges) })
    }

    private typealias TruePosition = (time: Double, coordinate: NavGeo.Coordinate)

    /// Returns the positions of a truth with their times, seconds since the drive's start.
    private static func truePositions(
        _ bytes: [UInt8], _ name: String, start: Int64, around span: ClosedRange<Int64>?
    ) throws(TraceError) -> [TruePosition] {
        try TraceReader.read(bytes, name: name, skippingOutside: span).fixes.compactMap { message in
            Fix(message, sequence: nil).map {
                ($0.stamp.seconds(since: NavGeo.Timestamp(nanoseconds: start)), $0.coordinate)
            }
        }
    }

    private static func file(_ path: String) throws -> [UInt8] { try TextFile.bytes(path, limit: 1 << 30) }

    /// Returns an attachment of the bag; nil when it is absent or the file is not a bag.
    private static func attachment(_ name: String, _ job: CheckJob) throws -> [UInt8]? {
        guard let reader = try? BagReader(path: job.path),
            let place = reader.index.attachments.first(where: { $0.name == name })
        else { return nil }
        return try reader.attachment(place).data
    }

    private static func segments(_ bytes: [UInt8], _ name: String) throws -> Set<Truth.Segment> {
        func fields(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
            line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        func text(_ field: ArraySlice<UInt8>) -> String { String(decoding: field, as: UTF8.self) }
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let columns = lines.first.map(fields)?.map(text) ?? []
        guard let from = columns.firstIndex(of: "from_node"), let to = columns.firstIndex(of: "to_node") else {
            throw NodeError(.invalid, "'\(name)' lacks the columns from_node and to_node of driven segments")
        }
        var segments = Set<Truth.Segment>()
        for (number, line) in lines.enumerated().dropFirst() {
            let fields = fields(line)
            guard fields.count > max(from, to), let first = Int64(text(fields[from])),
                let last = Int64(text(fields[to]))
            else {
                throw NodeError(
                    .invalid,
                    "'\(name)' line \(number + 1) is not a segment: from_node and to_node must be whole numbers")
            }
            segments.insert(Truth.Segment(from: first, to: last))
        }
        return segments
    }
}

/// An observer of a replay's messages, for the verdict.
private struct DriveObserver: ReplayOutput {
    private let start: Int64
    private let most: Int
    private let topics: Set<String>
    private var reader: DriveEventReader
    private(set) var figures: DriveFigures
    /// The events announced to a person following the drive.
    private(set) var lines: [EventDiff.Event] = []
    /// The events that `expect` lines are compared with.
    private(set) var events: [DriveEvent] = []
    /// The time of the last message.
    private(set) var end = 0.0
    private(set) var keyUse = KeyUse()

    static let takesInput = false

    private static let comparedTopics = Set(BagDiff.topics)

    init(start: Int64, truth: Truth?, topics: Set<String>, most: Int) {
        (self.start, self.topics, self.most) = (start, topics, most)
        reader = DriveEventReader(topics: topics)
        figures = DriveFigures(truth: truth)
    }

    var isFull: Bool { lines.count >= most || events.count >= most }

    mutating func write(
        _ message: any Message, topic: String, logTime: Int64, publishTime: Int64
    ) throws(BagError) {
        guard !isFull else { return }
        let time = Double(publishTime &- start) / 1e9
        end = max(end, time)
        keyUse.note(message)
        figures.take(message, at: time, start: start)
        if !topics.isEmpty { events += reader.events(of: message, topic: topic, at: time) }
        if Self.comparedTopics.contains(topic), let text = EventLine.text(message, numbersRoutes: false) {
            // Names in a map may contain any text, but an event is one line of a reference.
            lines.append(
                EventDiff.Event(time: (time * 10).rounded() / 10, topic: topic, text: Console.printable(text)))
        }
    }

    mutating func write(
        recorded message: BagMessage, topic: String, type: String, logTime: Int64
    ) throws(BagError) {}
}
