import ArgumentParser
import NavBench

/// The command `navbus-bench match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match", abstract: "Measure the matcher: points per second and time per fix.",
        discussion: """
            Simulated drives on the tiles, one thread. Fixes are matched as in a vehicle, without looking ahead; figures \
            named smooth look ahead. The same map, seed and number give the same drives. Each fix is timed separately for \
            p50 and p99, in microseconds, including the clock. Tests/Peers/matching.py compares OSRM, Valhalla and fastmm \
            on the same traces.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String

    @Option(help: ArgumentHelp("Drives, 1 to 10000.", valueName: "n")) var drives = 60

    @Option(help: ArgumentHelp("Fixes per second, 0.01 to 100.", valueName: "HZ")) var rate = 1.0

    @Option(help: ArgumentHelp("Seed of the random drives.", valueName: "n")) var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "Write the traces and the true edges into an existing directory, for other systems.",
            valueName: "DIR"))
    var saveTraces: String?

    @Flag(help: "Measure the thread's CPU time instead of wall-clock time, for busy machines.")
    var processorTime = false

    func validate() throws {
        guard (1...10_000).contains(drives) else { throw ValidationError("--drives takes 1 to 10000, not \(drives).") }
        guard (0.01...100).contains(rate) else { throw ValidationError("--rate takes 0.01 to 100, not \(rate).") }
    }

    func run() throws {
        let suite = try MatchSuite(
            directory: tiles, count: options.quick ? min(drives, 2) : drives, rate: rate, seed: seed,
            processorTime: processorTime)
        if let saveTraces { try suite.save(to: saveTraces) }
        try Report(options: options, peers: suite.lines).run(suite.comparisons)
    }
}
