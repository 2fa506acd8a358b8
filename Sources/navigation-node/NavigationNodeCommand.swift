import ArgumentParser
import NavNodes

/// `navigation-node`.
@main
struct NavigationNodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "navigation-node",
        abstract:
            "Follows the vehicle, guides it along routes and reroutes it: GNSS fixes in, progress and instructions out.",
        version: NavbusVersion.text)

    static func main() { runAndExit() }

    @OptionGroup var options: NodeCommandOptions

    func run() throws { try options.run(NavigationNode.self) }
}
