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
        discussion: "Equal input, configuration and tiles give byte-identical output.")

    @Argument(help: "The fixes: a bag, CSV, GPX, NMEA 0183 or gpsd JSON.") var input: String
    @Option(help: "Directory of road tiles.") var tiles: String
    @Option(help: "Configuration file of the navigation node.") var config: String?
    @Option(help: "Configuration key, KEY=VALUE; may be given several times.") var set: [String] = []
    @Option(parsing: .unconditional, help: "Where to guide to, LAT,LON in degrees.") var to: NavGeo.Coordinate?
    @Option(help: "The bag to write (.mcap).") var out: String
    @Flag(help: "Print the summary as JSON.") var json = false

    func run() throws {
        var configuration = try ConfigLoader.load(NavigationConfiguration.self, file: config, overrides: set)
        if let to { configuration.destination = to }
        guard !isSameFile(input, out) else {
            throw NodeError(.usage, "'\(out)' is the input, which would be lost: name another file with --out")
        }
        let graph = try TilesetDirectory(path: tiles).loadGraph()
        let map = MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile))
        let fixes = try TraceInput(path: input).fixes
        let bar = ProgressBar()
        let summary: Replay.Summary
        do throws(BagError) {
            var log = MessageLog(try BagWriter(path: out, overwrite: true))
            summary = try Replay(map: map, configuration: configuration).run(fixes, into: &log) { done in
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
            print(
                "\(out): \(summary.fixes) fixes, \(summary.messages) messages, \(summary.routes) routes, \(summary.reroutes) reroutes, "
                    + "\(summary.arrivals) arrivals, \(summary.rejected) fixes rejected")
        }
    }
}
