import ArgumentParser
import NavBag
import NavConfig
import NavGeo
import NavMessages
import NavNavigator
import NavNodes
import NavRouting

/// `navbus replay`.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run the navigation core over recorded fixes, as fast as it can.",
        discussion: """
            Of a bag its /gnss/fix, /vehicle/odometry and /traffic/speeds enter the core, in the order in which they were recorded. \
            Equal input, configuration and tiles give byte-identical output.
            """)

    @Argument(help: "The fixes: a bag (its /gnss/fix), CSV, GPX, NMEA 0183 or gpsd JSON.") var input: String
    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(help: ArgumentHelp("Configuration file of the navigation node.", valueName: "FILE")) var config: String?
    @Option(help: ArgumentHelp("A configuration key; may be given several times.", valueName: "KEY=VALUE")) var set:
        [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where to guide to, degrees; wins over the configured destination.", valueName: "LAT,LON"))
    var to: NavGeo.Coordinate?
    @Option(help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap")) var out: String
    @Flag(help: "Print the summary as JSON.") var json = false

    func run() throws {
        // The file may be a node's, with the keys that every node has.
        var configuration = try ConfigLoader.load(
            RunConfiguration<NavigationConfiguration>.self, file: config, overrides: set
        ).node
        if let to { configuration.destination = to }
        guard !isSameFile(input, out) else {
            throw NodeError(.usage, "'\(out)' is the input, which would be lost: name another file with --out")
        }
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let map = MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile))
        let file = configuration.traffic.isEmpty ? nil : try TrafficFile(path: configuration.traffic)
        let trace = try TraceInput(path: input)
        let fixes = trace.fixes
        let bar = ProgressBar()
        let summary: Replay.Summary
        do throws(BagError) {
            var log = MessageLog(try BagWriter(path: out, overwrite: true))
            summary = try Replay(map: map, configuration: configuration, file: file).run(
                fixes, others: trace.others, into: &log
            ) { done in
                bar.show(Double(done) / Double(max(fixes.count, 1)), "fixes")
            }
            try log.close()
        } catch {
            throw NodeError(.system, "cannot write the replay: \(error)")
        }
        bar.finish()
        if json {
            print(try navbus.json(summary))
        } else {
            let motion = summary.odometry > 0 ? "\(summary.odometry) reports of odometry, " : ""
            print(
                "\(out): \(summary.fixes) fixes, \(motion)\(summary.messages) messages, \(summary.routes) routes, \(summary.reroutes) reroutes, "
                    + "\(summary.arrivals) arrivals, \(summary.rejected) fixes rejected")
        }
    }
}
