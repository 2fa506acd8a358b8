import ArgumentParser
import NavBench

/// `navbus-bench match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match", abstract: "Measure the matcher: points a second, and how long a fix takes.",
        discussion: """
            Simulated drives on the tiles, one thread, every fix matched as it would be in a vehicle, without looking \
            ahead; drives are the same for the same map, seed and number. Figures named smooth look ahead. A fix is \
            timed on its own for p50 and p99, in microseconds, clock included. Tests/Peers/matching.py puts OSRM, \
            Valhalla and fastmm beside it, on the same traces.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String

    @Option(help: ArgumentHelp("Drives, 1 to 10000.", valueName: "n")) var drives = 60

    @Option(help: ArgumentHelp("Fixes a second, 0.01 to 100.", valueName: "HZ")) var rate = 1.0

    @Option(help: ArgumentHelp("What the drives are drawn from.", valueName: "n")) var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "Write the traces and the edges truly driven into an existing directory, for other systems.",
            valueName: "DIR"))
    var saveTraces: String?

    @Flag(help: "Count the thread's processor time instead of the wall's, for machines that do other work.")
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
