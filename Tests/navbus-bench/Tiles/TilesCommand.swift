import ArgumentParser
import NavBench
import NavKit

/// The command `navbus-bench tiles`.
struct TilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tiles",
        abstract: "Measure the tile cache: planning, hits while driving, downloads, the store.",
        discussion: """
            plan: the pure planner on routes of 50, 500 and 5000 km, and each fix on 500 km. node: the same in a \
            tile-cache-node, as CPU time of its thread. drive: a tile-cache-node with an empty store behind a slow link, \
            a vehicle at 130 km/h, and whether tiles arrive before the vehicle. download: the queue against curl \
            --parallel, from the same nginx. store: a store of --count tiles, and lookups from another process. \
            durable: the store's durable writes against syncfs. Requires nginx, and curl for downloads.
            """)

    /// The parts of the suite.
    enum Part: String, CaseIterable {
        case plan, node, drive, download, store, durable
    }

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles, for drives and downloads.", valueName: "DIR"))
    var tiles: String?

    @Option(
        help: ArgumentHelp(
            "Parts of the suite, of plan,node,drive,download,store,durable; all unless given.", valueName: "parts"))
    var only: String?

    @Option(
        help: ArgumentHelp(
            "Tiles in the store, 100 to 10000000; a thousand take about a second of disk.", valueName: "n"))
    var count = 100_000

    @Option(help: ArgumentHelp("Speed-up of vehicle and link on a drive, 0.1 to 100.", valueName: "X"))
    var pace = 10.0

    @Option(help: ArgumentHelp("Maximum length of a drive, 1 to 10000 km.", valueName: "KM")) var length = 60.0

    @Option(help: ArgumentHelp("Bandwidth of the link on a drive, 0.1 to 1000 Mbit/s.", valueName: "MBIT"))
    var bandwidth = 2.0

    @Option(help: ArgumentHelp("Round trip of the link on a drive, 0 to 5000 ms.", valueName: "MS"))
    var roundTrip = 50.0

    @Option(
        help: ArgumentHelp(
            "Parent folder of stores and files, on the disk to measure; the system's temporary folder unless given.",
            valueName: "DIR"))
    var folder: String?

    @Option(help: ArgumentHelp("The nginx that serves tiles.", valueName: "FILE")) var nginx = "/usr/sbin/nginx"

    @Option(help: ArgumentHelp("Seed of the random routes, places and tiles.", valueName: "n")) var seed: UInt64 = 1

    @Option(help: ArgumentHelp("Concurrent tile requests on a drive, 1 to 64.", valueName: "n"))
    var concurrency = 6

    @Flag(
        help:
            "Measure the thread's CPU time in plans and lookups instead of wall-clock time, for busy machines."
    )
    var processorTime = false

    func validate() throws {
        guard (100...10_000_000).contains(count) else {
            throw ValidationError("--count takes 100 to 10000000, not \(count).")
        }
        guard (0.1...100).contains(pace) else { throw ValidationError("--pace takes 0.1 to 100, not \(pace).") }
        guard (1...10_000).contains(length) else { throw ValidationError("--length takes 1 to 10000, not \(length).") }
        guard (0.1...1_000).contains(bandwidth) else {
            throw ValidationError("--bandwidth takes 0.1 to 1000, not \(bandwidth).")
        }
        guard (1...64).contains(concurrency) else {
            throw ValidationError("--concurrency takes 1 to 64, not \(concurrency).")
        }
        guard (0...5_000).contains(roundTrip) else {
            throw ValidationError("--round-trip takes 0 to 5000, not \(roundTrip).")
        }
    }

    func run() throws {
        do {
            try measure(try chosenParts())
        } catch let error as BenchError {
            throw NodeError(.system, error.description)
        }
    }

    private func chosenParts() throws -> [Part] {
        let parts = try only?.split(separator: ",").map { word in
            guard let part = Part(rawValue: String(word)) else {
                let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw NodeError(.usage, "'\(word)' is not a part of the suite; available: \(known)")
            }
            return part
        }
        let chosen = parts ?? Part.allCases
        if tiles == nil, chosen.contains(.drive) || parts == nil {
            throw NodeError(.usage, "give --tiles DIR, or --only with parts that need no tiles")
        }
        return chosen
    }

    private func measure(_ parts: [Part]) throws {
        var comparisons: [Comparison] = []
        var lines: [String] = []
        if parts.contains(.plan) {
            comparisons += PlanSuite(seed: seed, processorTime: processorTime, isQuick: options.quick).comparisons
        }
        if parts.contains(.node) {
            comparisons += try NodePlanSuite(nginx: nginx, seed: seed, isQuick: options.quick).comparisons
        }
        if parts.contains(.drive), let tiles {
            let suite = try DriveSuite(tiles: tiles, nginx: nginx, seed: seed, conditions: conditions)
            comparisons += suite.comparisons
            lines += suite.lines
        }
        if parts.contains(.download) {
            let suite = try DownloadSuite(
                tiles: tiles, nginx: nginx, count: options.quick ? 100 : 5_000, seed: seed,
                isQuick: options.quick)
            comparisons += suite.comparisons
            lines += suite.lines
        }
        if parts.contains(.store) {
            comparisons += try StoreSuite(
                count: options.quick ? min(count, 1_000) : count, parent: folder,
                processorTime: processorTime, isQuick: options.quick
            ).comparisons
        }
        if parts.contains(.durable) {
            comparisons += try DurabilitySuite(parent: folder, isQuick: options.quick).comparisons
        }
        try Report(options: options, peers: lines).run(comparisons)
    }

    private var conditions: DriveSuite.Conditions {
        var conditions = DriveSuite.Conditions()
        conditions.pace = options.quick ? max(pace, 50) : pace
        conditions.bandwidth = bandwidth
        conditions.concurrency = concurrency
        conditions.roundTrip = options.quick ? 0 : roundTrip / 1_000
        conditions.length = min(length * 1_000, options.quick ? 3_000 : .infinity)
        return conditions
    }
}
