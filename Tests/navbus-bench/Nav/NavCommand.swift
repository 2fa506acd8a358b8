import ArgumentParser
import Foundation
import NavBench

/// The command `navbus-bench nav`.
struct NavCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nav", abstract: "Measure the navigation node: from a fix to its progress on the bus.",
        discussion: """
            Starts a navigation-node that follows routes of several lengths, publishes each fix when it is due and waits \
            for its progress: two processes and two hops over ipc. Long routes go back and forth between random places \
            of the tiles. Alternatives and faster routes are searched meanwhile, as in a vehicle. Times are in microseconds.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Directory of road tiles.", valueName: "DIR")) var tiles: String

    @Option(help: ArgumentHelp("Length of the longest route, 10 to 2000 km.", valueName: "KM")) var length = 500.0

    @Option(help: ArgumentHelp("Fixes per second, 1 to 100.", valueName: "HZ")) var rate = 20.0

    @Option(help: ArgumentHelp("Seconds driven in each round on each route, 1 to 600.", valueName: "S")) var seconds =
        30.0

    @Option(help: ArgumentHelp("Seed of the random places.", valueName: "n")) var seed: UInt64 = 1

    func validate() throws {
        guard (10...2_000).contains(length) else { throw ValidationError("--length takes 10 to 2000, not \(length).") }
        guard (1...100).contains(rate) else { throw ValidationError("--rate takes 1 to 100, not \(rate).") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds takes 1 to 600, not \(seconds).") }
    }

    func run() throws {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        let suite = try NavSuite(
            tiles: tiles, program: folder + "/navigation-node",
            kilometres: [10, length / 5].filter { (10..<length).contains($0) } + [length], rate: rate,
            seconds: options.quick ? 3 : seconds, seed: seed)
        try Report(options: options, peers: suite.lines).run(suite.comparisons)
    }
}
