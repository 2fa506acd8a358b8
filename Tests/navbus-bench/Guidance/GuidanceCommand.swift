import ArgumentParser
import NavBench

/// The command `navbus-bench guidance`.
struct GuidanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guidance", abstract: "Measure guidance: the cost of a route's instructions and of each fix.",
        discussion: """
            Random routes on the tiles, one thread. `route` is the time to derive all steps, banners, lanes and announcements \
            of a route, `kilometre` the same per kilometre, `search` the time of the route's search for comparison. `fix` is \
            the time to find what is due at a fix, with one fix per second at 14 m/s. All times are in microseconds.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String

    @Option(help: ArgumentHelp("Routes, 1 to 10000.", valueName: "n")) var routes = 200

    @Option(help: ArgumentHelp("The language of the instructions.", valueName: "TAG")) var language = "en"

    @Option(help: ArgumentHelp("Seed of the random routes.", valueName: "n")) var seed: UInt64 = 1

    func validate() throws {
        guard (1...10_000).contains(routes) else { throw ValidationError("--routes takes 1 to 10000, not \(routes).") }
    }

    func run() throws {
        let suite = try GuidanceSuite(
            tiles: tiles, count: options.quick ? min(routes, 5) : routes, language: language, seed: seed)
        try Report(options: options, peers: suite.lines).run(suite.comparisons)
    }
}
