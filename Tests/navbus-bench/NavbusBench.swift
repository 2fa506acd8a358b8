import ArgumentParser
import NavKit

/// The program of the benchmarks: `navbus-bench SUITE`.
@main
struct NavbusBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "navbus-bench",
        abstract: "Measure navbus against its peers in alternating rounds.",
        version: NavbusVersion.full,
        subcommands: [
            BusCommand.self, BagCommand.self, RouteCommand.self, MatchCommand.self, NavCommand.self,
            GuidanceCommand.self, TilesCommand.self, BusWorker.self, RouteWorker.self, StoreWorker.self,
        ])

    static func main() { runAndExit() }
}
