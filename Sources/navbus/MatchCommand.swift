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
        commandName: "match", abstract: "Match traces to the roads as a vehicle would, without looking ahead.")

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
    @OptionGroup var vehicle: VehicleOptions

    func validate() throws {
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
            let text = TraceMatch(metric: metric, format: format)
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

    func run(_ fixes: [GnssFix], _ line: (String) -> Void) {
        var matcher = StreamingMatcher(metric: metric, recordsPath: format == .edges)
        var tracker = PathTracker()
        var sequence = 0
        var coordinates: [String] = []
        func drive(_ segments: [DrivenSegment]) {
            for segment in segments {
                line("\(sequence),\(segment.fromNodeID),\(segment.toNodeID),\(segment.wayID)")
                sequence += 1
            }
        }
        switch format {
        case .csv: line("t_s,lat,lon,way_id,from_node,to_node,offset_m,confidence,state")
        case .edges: line("seq,from_node,to_node,way_id")
        case .geojson: break
        }
        for (index, message) in fixes.enumerated() {
            guard let fix = Fix(message, sequence: UInt64(index)) else { continue }
            let position = matcher.match(fix)
            switch format {
            case .csv: line(TraceMatch.row(position))
            case .edges: if let step = matcher.step { drive(tracker.append(step)) }
            case .geojson:
                if let road = position.road {
                    coordinates.append(
                        String(format: "[%.7f,%.7f]", road.coordinate.longitude, road.coordinate.latitude))
                }
            }
        }
        if format == .edges { drive(tracker.finish()) }
        if format == .geojson {
            line(
                #"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":["#
                    + coordinates.joined(separator: ",") + "]}}]}")
        }
    }

    private static func row(_ position: NavMatching.MatchedPosition) -> String {
        let stamp = position.stamp.nanoseconds
        let seconds = stamp / 1_000_000_000
        let millis = abs(stamp % 1_000_000_000) / 1_000_000
        let time = millis == 0 ? "\(seconds)" : "\(seconds)." + String(format: "%03d", Int(millis))
        let place = String(format: "%.8f,%.8f", position.coordinate.latitude, position.coordinate.longitude)
        guard let road = position.road else { return "\(time),\(place),,,,,,\(position.state)" }
        return "\(time),\(place),\(road.wayID),\(road.fromNodeID),\(road.toNodeID),"
            + String(format: "%.2f,%.4f,", road.segmentOffset, position.confidence) + "\(position.state)"
    }
}
