import ArgumentParser
import Foundation
import NavGeo
import NavMap
import NavMatching
import NavMessages
import NavNodes
import NavRouting

/// `navbus match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match", abstract: "Match traces to the roads as a vehicle would, without looking ahead.",
        discussion: """
            Without --smooth the position of each fix is decided when the fix comes, by the fixes up to it. The driven path \
            (--format edges) also holds the roads between fixes: a segment is written once it is certain, at the latest \
            --lag fixes that moved after it was driven, and is never taken back. With --smooth each position and the path \
            are those that the whole drive makes most probable.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case csv, edges, geojson }

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Argument(
        help: "The trace: CSV, GPX, NMEA 0183, gpsd JSON or MCAP; several are written one after the other to --out-dir."
    )
    var traces: [String]
    @Option(
        help: ArgumentHelp(
            "csv: a row per fix; edges: a row per OSM segment driven from end to end; geojson: the matched line.",
            valueName: "FORMAT")) var format =
        Format.csv
    @Option(
        help: ArgumentHelp(
            "An existing directory for one output file per trace, FOLDER-NAME.FORMAT.csv.", valueName: "DIR"))
    var outDir: String?
    @Flag(help: "Judge each fix by the whole drive, also by what comes after it.") var smooth = false
    @Option(
        help: ArgumentHelp(
            "Fixes by which the driven path may lag behind the position, 0 to 1000; 0 decides at once.",
            valueName: "FIXES")) var lag: Int?
    @OptionGroup var vehicle: VehicleOptions

    func validate() throws {
        if let lag, !(0...1000).contains(lag) { throw ValidationError("--lag takes 0 to 1000, not \(lag)") }
        if smooth, lag != nil { throw ValidationError("--smooth waits for the whole drive: leave out --lag") }
        if traces.isEmpty { throw ValidationError("give a trace") }
        if traces.count > 1, outDir == nil { throw ValidationError("several traces need --out-dir DIRECTORY") }
    }

    func run() throws {
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let metric = Metric(TurnGraph(graph), model: CostModel(profile: try vehicle.vehicle))
        let bar = ProgressBar()
        for (index, trace) in traces.enumerated() {
            let fixes = try TraceInput(path: trace).fixes
            var output = Output()
            let text = TraceMatch(
                metric: metric, format: format, lag: lag ?? PathTracker.usualLag, isSmoothed: smooth)
            if let outDir {
                let file = try MatchCommand.outputFile(trace, in: outDir, format: format)
                var lines = ""
                text.run(fixes) { lines += $0 + "\n" }
                do {
                    try lines.write(toFile: file, atomically: true, encoding: .utf8)
                } catch {
                    throw NodeError(.system, "cannot write '\(file)': does '\(outDir)' exist?")
                }
            } else {
                text.run(fixes) { output.line($0) }
                output.flush()
            }
            bar.show(Double(index + 1) / Double(traces.count), "traces")
        }
        bar.finish()
    }

    /// `DIR/NAME.FORMAT.csv`, with the trace's folder in the name where traces of several folders are called alike.
    private static func outputFile(_ trace: String, in directory: String, format: Format) throws -> String {
        let url = URL(fileURLWithPath: trace)
        let folder = url.deletingLastPathComponent().lastPathComponent
        let name =
            folder.isEmpty || folder == "."
            ? url.deletingPathExtension().lastPathComponent
            : "\(folder)-\(url.deletingPathExtension().lastPathComponent)"
        return "\(directory)/\(name).\(format.rawValue)\(format == .geojson ? "" : ".csv")"
    }
}

/// Matches one trace and writes it in a format.
struct TraceMatch {
    let metric: Metric
    let format: MatchCommand.Format
    /// Fixes by which the driven path may lag.
    let lag: Int
    /// Whether the whole drive is looked at before anything is decided.
    let isSmoothed: Bool

    func run(_ messages: [GnssFix], _ line: (String) -> Void) {
        let fixes = messages.enumerated().compactMap { Fix($0.element, sequence: UInt64($0.offset)) }
        switch format {
        case .csv: line("t_s,lat,lon,way_id,from_node,to_node,offset_m,confidence,state")
        case .edges: line("seq,from_node,to_node,way_id")
        case .geojson: break
        }
        var text = Text(format: format)
        if isSmoothed {
            smooth(fixes, &text, line)
        } else {
            follow(fixes, &text, line)
        }
        text.end(line)
    }

    private func follow(_ fixes: [Fix], _ text: inout Text, _ line: (String) -> Void) {
        var matcher = StreamingMatcher(metric: metric, recordsPath: format == .edges)
        var tracker = PathTracker(lag: lag)
        for fix in fixes {
            let position = matcher.match(fix)
            text.add(position, line)
            if let step = matcher.step { text.add(tracker.append(step), line) }
        }
        text.add(tracker.finish(), line)
    }

    private func smooth(_ fixes: [Fix], _ text: inout Text, _ line: (String) -> Void) {
        let drive = DriveSmoother(metric: metric).smooth(fixes)
        for position in drive.positions { text.add(position, metric.turns.graph, line) }
        text.add(drive.segments, line)
    }
}

/// What has been matched, as lines of a format.
private struct Text {
    let format: MatchCommand.Format
    private var sequence = 0
    private var coordinates: [String] = []

    init(format: MatchCommand.Format) { self.format = format }

    mutating func add(_ segments: [DrivenSegment], _ line: (String) -> Void) {
        guard format == .edges else { return }
        for segment in segments {
            line("\(sequence),\(segment.fromNodeID),\(segment.toNodeID),\(segment.wayID)")
            sequence += 1
        }
    }

    mutating func add(_ position: NavMatching.MatchedPosition, _ line: (String) -> Void) {
        switch format {
        case .edges: break
        case .geojson: if let road = position.road { add(road.coordinate) }
        case .csv:
            let road = position.road.map {
                Text.road($0.wayID, $0.fromNodeID, $0.toNodeID, $0.segmentOffset)
                    + String(format: ",%.4f,", position.confidence)
            }
            line(Text.start(position.stamp, position.coordinate) + (road ?? ",,,,,") + "\(position.state)")
        }
    }

    mutating func add(_ position: SmoothedPosition, _ graph: RoadGraph, _ line: (String) -> Void) {
        switch format {
        case .edges: break
        case .geojson: if position.edge != nil { add(position.coordinate) }
        case .csv:
            let start = Text.start(position.stamp, position.coordinate)
            guard let edge = position.edge else {
                line(start + ",,,,,\(NavMatching.MatchedPosition.State.offRoad)")
                return
            }
            let shape = graph.shape(of: edge)
            let segment = graph.position(at: position.offset, of: edge).segment
            let road = Text.road(
                graph.wayID(of: edge), shape.nodeID(segment), shape.nodeID(segment + 1),
                Geodesy.distance(shape[segment].coordinate, position.coordinate))
            line(start + road + ",,\(NavMatching.MatchedPosition.State.onRoad)")
        }
    }

    func end(_ line: (String) -> Void) {
        guard format == .geojson else { return }
        line(
            #"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":["#
                + coordinates.joined(separator: ",") + "]}}]}")
    }

    private mutating func add(_ coordinate: NavGeo.Coordinate) {
        coordinates.append(String(format: "[%.7f,%.7f]", coordinate.longitude, coordinate.latitude))
    }

    private static func start(_ stamp: NavGeo.Timestamp, _ coordinate: NavGeo.Coordinate) -> String {
        let seconds = stamp.nanoseconds / 1_000_000_000
        let millis = abs(stamp.nanoseconds % 1_000_000_000) / 1_000_000
        let time = millis == 0 ? "\(seconds)" : "\(seconds)." + String(format: "%03d", Int(millis))
        return time + String(format: ",%.8f,%.8f", coordinate.latitude, coordinate.longitude)
    }

    private static func road(_ way: Int64, _ from: Int64, _ to: Int64, _ offset: Double) -> String {
        ",\(way),\(from),\(to)," + String(format: "%.2f", offset)
    }
}
