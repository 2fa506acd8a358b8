import ArgumentParser
import NavKit

/// The command line.
@main
struct Navbus: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "navbus",
        abstract: "Turn-by-turn navigation as nodes on a message bus.",
        version: NavbusVersion.full,
        subcommands: [
            MapCommand.self, RouteCommand.self, MatchCommand.self, IntegrityCommand.self, SimulateCommand.self,
            ReplayCommand.self, CheckCommand.self, BagCommand.self, ReportCommand.self, ViewCommand.self,
            BridgeCommand.self, LaunchCommand.self,
            TopicCommand.self, ServiceCommand.self, NodeCommand.self, RegionCommand.self, DoctorCommand.self,
            KeygenCommand.self,
        ])

    static func main() { runAndExit() }
}
