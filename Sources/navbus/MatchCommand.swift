import NavWire
import ArgumentParser
import Foundation
import GNSSNode
import NavConfig
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavPositioning
import NavRecording
import NavRouting
import NavigationNode

/// `navbus match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match", abstract: "Match traces to the roads as a vehicle would, without looking ahead.",
        discussion: """
            Without --smooth the position of each fix is decided when the fix arrives, from the fixes up to it. The driven path \
            (--format edges) also has the roads between fixes: a segment is written once it is certain, at the latest \
            --lag moving fixes after it was driven, and is never revised. With --smooth the positions and the path are the \
            most probable ones given the whole drive.

            The positions are those of the navigation node on the same recording, with the odometry of a bag and without a route: fixes \
            are qualified, filtered and matched, and blended in after an outage. Rejected fixes (out of order, duplicate, frozen, jumped, \
            too inaccurate, without a position) are rows without a position, with 'rejected' and the reason as state; a fix that arrives \
            after a later position was predicted is 'outdated'. --predictions adds the positions predicted where fixes are missing. \
            --raw matches every fix unchanged, which is best for positions without a speed that are seconds apart.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case csv, edges, geojson }

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Argument(
        help:
            "The trace: CSV, GPX, NMEA 0183, UBX, gpsd JSON or MCAP; several are written one after the other to --out-dir."
    )
    var traces: [String]
    @Option(
        help: ArgumentHelp(
            "csv: a row per fix; edges: a row per OSM segment driven from end to end; geojson: the matched line.",
            valueName: "FORMAT")) var format =
        Format.csv
    @Option(
        help: ArgumentHelp(
            "An existing directory for one output file per trace, FOLDER-NAME.FORMAT.csv, with more folders where names are equal.",
            valueName: "DIR"))
    var outDir: String?
    @Flag(help: "Match each fix by the whole drive, including later fixes.") var smooth = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Fixes by which the driven path may lag behind the position, 0 to 1000; 0 decides at once.",
            valueName: "FIXES")) var lag: Int?
    @Flag(help: "Match every fix unchanged: none is rejected or filtered.") var raw = false
    @Flag(help: "Add a row for each position predicted where fixes are missing, in csv and geojson.")
    var predictions = false
    @OptionGroup var vehicle: VehicleOptions

    func validate() throws {
        if let lag, !(0...1000).contains(lag) { throw ValidationError("--lag takes 0 to 1000, not \(lag)") }
        if smooth, lag != nil { throw ValidationError("--smooth waits for the whole drive; omit --lag") }
        if predictions, smooth || raw {
            throw ValidationError("--predictions cannot be combined with --smooth or --raw")
        }
        if predictions, format == .edges { throw ValidationError("--predictions has rows only in csv and geojson") }
        if lag != nil, format != .edges { throw ValidationError("--lag is for the driven path; add --format edges") }
        if traces.isEmpty { throw ValidationError("give a trace") }
        if Set(traces).count < traces.count { throw ValidationError("give each trace once") }
        if traces.count > 1, outDir == nil { throw ValidationError("several traces need --out-dir DIRECTORY") }
    }

    func run() throws {
        var isFolder = ObjCBool(false)
        if let outDir, !FileManager.default.fileExists(atPath: outDir, isDirectory: &isFolder) || !isFolder.boolValue {
            throw NodeError(.system, "cannot write into '\(outDir)': create this directory first")
        }
        let directory = try TilesetDirectory(path: tiles)
        let graph = try directory.loadGraph()
        let metric = Metric(TurnGraph(graph), model: CostModel(profile: try vehicle.vehicle))
        let names = Self.outputNames(traces)
        guard outDir == nil || Set(names).count == names.count else {
            throw NodeError(.usage, "two traces differ only in the extension: match them one at a time")
        }
        let bar = ProgressBar()
        for (index, trace) in traces.enumerated() {
            let inputs = try Inputs(trace, on: directory)
            if smooth { try Self.refuseLong(inputs.trace, trace, for: "--smooth") }
            var output = Output()
            let text = TraceMatch(
                metric: metric, format: format, lag: lag ?? PathTracker.usualLag, isSmoothed: smooth, isRaw: raw,
                showsPredictions: predictions)
            if let outDir {
                let file = "\(outDir)/\(names[index]).\(format.rawValue)\(format == .geojson ? "" : ".csv")"
                let output = try OutputFile(file, replacing: .none, overwrite: true)
                try output.writeLines { line in try text.run(inputs, line) }
            } else {
                try text.run(inputs) { output.line($0) }
                output.flush()
            }
            bar.show(Double(index + 1) / Double(traces.count), "traces")
        }
        bar.finish()
    }

    /// The maximum number of fixes of a trace that is kept in memory as a whole.
    private static let mostAtOnce = 1_000_000

    /// Throws for a trace that is too long to be kept in memory as a whole, as required by `purpose`.
    static func refuseLong(_ trace: TraceInput, _ path: String, for purpose: String) throws(NodeError) {
        guard trace.fixes.count <= mostAtOnce else {
            throw NodeError(
                .invalid,
                "'\(path)' has \(trace.fixes.count) fixes, and \(purpose) takes at most \(mostAtOnce); "
                    + "cut out a part with 'navbus bag cut'")
        }
    }

    /// The inputs of a trace, in time order.
    struct Inputs {
        let trace: TraceInput

        /// The defects that affect a position of a trace.
        private static let defects: Set<String> = ["malformed_field", "out_of_range", "bad_time", "field_count"]

        /// Reads a trace; fixes without a time, which cannot be used, are reported on standard error.
        init(_ path: String, on map: TilesetDirectory? = nil) throws {
            var timeless = 0
            trace = try TraceInput(path: path)
            if let warning = trace.warning(about: path) { Console.note(warning) }
            try map?.noteIfOutside(trace, path)
            try trace.fixes.forEach { if Fix($0, sequence: nil) == nil { timeless += 1 } }
            let unread = trace.rejected.filter { Self.defects.contains($0.reason) }.reduce(0) { $0 + $1.count }
            if unread > 0 { Console.note("'\(path)': \(unread) rows or sentences cannot be read and are skipped") }
            guard timeless > 0 else { return }
            guard timeless < trace.fixes.count else {
                throw NodeError(.invalid, "'\(path)': no position has a time, which matching requires")
            }
            Console.note("'\(path)': \(timeless) positions without a time are skipped")
        }

        /// Calls `body` with each input.
        func forEach(_ body: (Positioning.Event) -> Void) throws(NodeError) {
            var receivers = ReceiverRegister(preferred: [])
            try trace.forEachInput { input in
                switch input {
                case .odometry(let message): if let odometry = Odometry(message) { body(.odometry(odometry)) }
                case .fix(let message):
                    guard var fix = Fix(message, sequence: nil) else { return }
                    fix.receiver = receivers.number(of: message)
                    body(.fix(fix))
                }
            }
        }
    }

    /// Returns the name of each trace's output: its folder and file name, preceded by as many parent folders as necessary to distinguish
    /// equal names.
    private static func outputNames(_ traces: [String]) -> [String] {
        let parts = traces.map { trace in
            URL(fileURLWithPath: trace).standardizedFileURL.deletingPathExtension().pathComponents.filter { $0 != "/" }
        }
        var lengths = traces.map { ["", "."].contains($0.parentFolder) ? 1 : 2 }
        while true {
            let names = zip(parts, lengths).map { $0.suffix($1).joined(separator: "-") }
            let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
            let unclear = names.indices.filter { counts[names[$0], default: 0] > 1 && lengths[$0] < parts[$0].count }
            guard !unclear.isEmpty else { return names }
            for index in unclear { lengths[index] += 1 }
        }
    }
}

extension TilesetDirectory {
    /// Reports on standard error a trace that lies almost entirely outside the map.
    func noteIfOutside(_ trace: TraceInput, _ path: String) throws(NodeError) {
        if let mismatch = try mismatch(with: trace, path) { Console.note(mismatch) }
    }

    /// Returns a description of a trace of which less than one position in twenty lies within the map; nil for other traces.
    func mismatch(with trace: TraceInput, _ path: String) throws(NodeError) -> String? {
        var (count, inside) = (0, 0)
        var first: NavGeo.Coordinate?
        try trace.fixes.forEach { fix in
            guard let latitude = fix.latitude, let longitude = fix.longitude else { return }
            let place = NavGeo.Coordinate(latitude: latitude, longitude: longitude)
            first = first ?? place
            count += 1
            if tileset.bounds.contains(place) { inside += 1 }
        }
        guard let first, inside * 20 < count else { return nil }
        let share =
            inside == 0 ? "no position of '\(path)' lies" : "only \(inside) of \(count) positions of '\(path)' lie"
        return "\(share) within the map '\(self.path)'; the first is at \(first.text): is this the map of that drive?"
    }
}
