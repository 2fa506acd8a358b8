import ArgumentParser
import GNSSNode
import NavBag
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavigationNode

/// `navbus replay`.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run the navigation core over recorded fixes, as fast as it can.",
        discussion: """
            From a bag, /gnss/fix, /vehicle/odometry and /traffic/speeds enter the core in the order of their log times, with the \
            commands and policy decisions of /nav/journal. Unless a destination is given, a bag that begins during a trip resumes it \
            from its first /nav/route. Equal input, configuration and tiles give byte-identical output; \
            'navbus bag diff' shows what another configuration changes. The exit status is 1 when a destination was given and no \
            route to it was found.

            With --journal the events of the bag's /nav/journal are executed again in order, and the output must be that of the \
            recorded node bit for bit: otherwise the first difference is printed and the exit status is 1.
            """)

    @Argument(help: "The fixes: a bag (its /gnss/fix), CSV, GPX, NMEA 0183, UBX or gpsd JSON.") var input: String
    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String
    @Option(help: ArgumentHelp("Configuration file of the navigation node.", valueName: "FILE")) var config: String?
    @Option(help: ArgumentHelp("A configuration key; may be given several times.", valueName: "KEY=VALUE")) var set:
        [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Destination, degrees; overrides the configured one.", valueName: "LAT,LON"),
        transform: NavGeo.Coordinate.option)
    var to: NavGeo.Coordinate?
    @Option(help: ArgumentHelp("The bag to write (.mcap); optional with --journal.", valueName: "FILE.mcap"))
    var out: String?
    @Flag(help: "Replace any existing file; a bag written by this command without --journal is always replaced.")
    var overwrite = false
    @Flag(help: "Execute the recorded journal again and compare the output.") var journal = false
    @Flag(help: "Print the summary as JSON.") var json = false

    func validate() throws {
        if let out { try checkBagName(out) }
        if journal, config != nil || !set.isEmpty || to != nil {
            throw ValidationError("--journal uses the recorded configuration; omit --config, --set and --to")
        }
        if set.contains(where: { $0.hasPrefix("tiles=") }) {
            throw ValidationError("--set tiles has no effect; set the map with --tiles DIR")
        }
        if !journal, out == nil { throw ValidationError("give the bag to write with --out FILE.mcap") }
    }

    func run() throws {
        if let out, isSameFile(input, out) {
            throw NodeError(.usage, "'\(out)' is the input: give another file with --out")
        }
        if journal { try runJournal() } else if let out { try runFixes(to: out) }
    }

    private func runJournal() throws {
        let file = try out.map { try OutputFile($0, replacing: .none, overwrite: overwrite) }
        let replay = try JournalReplay(bag: input, tiles: tiles)
        let bar = ProgressBar()
        var log = try file.map { MessageLog(try BagWriter(path: $0.partial, overwrite: true)) }
        let summary = try replay.run(into: &log) { bar.show($0, "events") }
        try log?.close()
        try file?.finish()
        bar.finish()
        if let warning = summary.warning { Console.note(warning) }
        if json {
            print(try navbus.json(summary))
        } else {
            let unrecorded = summary.unrecorded > 0 ? "; \(summary.unrecorded) more are not in the bag" : ""
            print(
                "\(input): \(summary.events) events, \(summary.messages) messages "
                    + (summary.difference.map { "until the first difference\n\($0)" }
                        ?? "reproduced bit for bit\(unrecorded)"))
        }
        if summary.difference != nil { throw ExitCode(1) }
    }

    private func runFixes(to out: String) throws {
        let output = try OutputFile(out, replacing: .replays, overwrite: overwrite)
        // The file may be a node's configuration, which includes the keys common to all nodes.
        var configuration = try ConfigLoader.load(
            RunConfiguration<NavigationConfiguration>.self, file: config, overrides: set
        ).node
        if let to { configuration.destination = to }
        let directory = try TilesetDirectory(path: tiles)
        let graph = try directory.loadGraph()
        let map = MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile))
        let file = configuration.traffic.isEmpty ? nil : try TrafficFile(path: configuration.traffic)
        let trace = try TraceInput(path: input)
        guard trace.fixes.haveTimes else {
            throw NodeError(.invalid, "'\(input)': no fix has a time, so there is no drive to replay")
        }
        if let warning = trace.warning(about: input) { Console.note(warning) }
        for note in try trace.notes(about: input) { Console.note("'\(input)': \(note)") }
        try directory.noteIfOutside(trace, input)
        let fixes = trace.fixes
        let bar = ProgressBar()
        let summary: Replay.Summary
        do throws(BagError) {
            var log = MessageLog(try BagWriter(path: output.partial, overwrite: true))
            summary = try Replay(map: map, configuration: configuration, file: file).run(
                fixes, others: trace.others, into: &log
            ) { done in
                bar.show(Double(done) / Double(max(fixes.count, 1)), "fixes")
            }
            try log.close()
        } catch {
            throw NodeError(.system, "cannot write the replay: \(error)")
        }
        try output.finish()
        bar.finish()
        if json {
            print(try navbus.json(summary))
        } else {
            let motion = summary.odometry > 0 ? "\(summary.odometry) odometry reports, " : ""
            let commandCount = summary.commands > 0 ? "\(summary.commands) commands, " : ""
            print(
                "\(out): \(summary.fixes) fixes, \(motion)\(commandCount)\(summary.messages) messages, \(summary.routes) routes, \(summary.reroutes) reroutes, "
                    + "\(summary.arrivals) arrivals, \(summary.rejected) fixes rejected")
        }
        if let note = trace.noteOfMissingGuidance(routes: summary.routes, option: "--to") {
            Console.note("'\(input)': \(note)")
        }
        let unused = (trace.others?.odometryCount ?? 0) - summary.odometry
        if unused > 0 {
            Console.note(
                "not used: \(unused) odometry reports before the first accepted fix, or with a time other than that of the "
                    + "fixes"
            )
        }
        // Without a start position no route is requested, so none fails.
        let unstarted =
            configuration.destination.map { _ in
                "none of \(summary.fixes) fixes was used as a start, \(summary.rejected) were rejected: see \(Topics.fixRejected.name)"
            }
        if summary.routes == 0, let reason = summary.failure ?? unstarted {
            throw NodeError(.missing, "no route was found, '\(out)' is a drive without guidance: \(reason)")
        }
    }
}
