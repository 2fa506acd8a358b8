import ArgumentParser
import Foundation
import NavKit
import NavLaunch
import NavMessages

/// `navbus launch`.
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch", abstract: "Start the processes of a launch file and stop them together.")

    @Argument(help: "The launch file (YAML).") var file: String
    @Argument(help: "Arguments of the launch file, NAME:=VALUE.") var arguments: [String] = []
    @Flag(help: "Check the file and print the commands; start nothing.") var check = false

    func run() throws {
        var context = LaunchContext.current()
        context.topics = TopicCatalogue.all.map(\.name)
        context.services = ServiceCatalogue.all.map(\.name)
        let launchFile: LaunchFile
        do throws(LaunchFileError) {
            launchFile = try LaunchFile.load(
                path: file, arguments: try LaunchFile.parseArguments(arguments), context: context)
        } catch {
            throw NodeError(.usage, error.description)
        }
        // On standard error, so that the commands of `--check` can be piped.
        let (problems, warnings) = LaunchCheck.findings(launchFile)
        for warning in launchFile.warnings.map(\.description) + warnings {
            StandardError.write("warning: \(warning)\n")
        }
        if check, !problems.isEmpty {
            throw NodeError(.usage, "\(file): " + problems.joined(separator: "\n"))
        }
        for problem in problems { StandardError.write("warning: \(problem)\n") }
        if check {
            for node in launchFile.nodes {
                print("\(node.name): \(node.commandLine)")
                for line in node.details { print("    \(line)") }
            }
            return
        }
        var environment = context.environment
        // A recorder attaches the file to its bag.
        environment["NAVBUS_LAUNCH_FILE"] = URL(fileURLWithPath: file).path
        let status = Launcher(launchFile, environment: environment).run()
        if status != 0 { throw ExitCode(status) }
    }
}
