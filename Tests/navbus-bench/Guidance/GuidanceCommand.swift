import ArgumentParser
import NavBench

/// `navbus-bench guidance`.
struct GuidanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guidance", abstract: "Measure guidance: what a route's instructions cost, and each fix.",
        discussion: """
            Random routes of the tiles, one thread. `route` is the time from a route to all its steps, banners, lanes and \
            announcements, `kilometre` its share of each kilometre, `search` beside it the time of the route's own search. \
            `fix` is what is due at a place of the route, one a second at 14 m/s. Microseconds.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String

    @Option(help: ArgumentHelp("Routes, 1 to 10000.", valueName: "n")) var routes = 200

    @Option(help: ArgumentHelp("The language of the instructions.", valueName: "TAG")) var language = "en"

    @Option(help: ArgumentHelp("What the routes are drawn from.", valueName: "n")) var seed: UInt64 = 1

    func validate() throws {
        guard (1...10_000).contains(routes) else { throw ValidationError("--routes takes 1 to 10000, not \(routes).") }
    }

    func run() throws {
        let suite = try GuidanceSuite(
            tiles: tiles, count: options.quick ? min(routes, 5) : routes, language: language, seed: seed)
        try Report(options: options, peers: suite.lines).run(suite.comparisons)
    }
}
