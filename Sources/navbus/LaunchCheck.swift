import ArgumentParser
import Foundation
import GNSSNode
import NavConfig
import NavSpelling
import NavKit
import NavLaunch
import NavigationNode
import TileCacheNode

/// A check of the command lines of navbus programs, without starting them.
enum LaunchCheck {
    /// Returns one line for each problem, and one for each warning.
    ///
    /// Other programs are not checked. Road tiles may be missing if the launch file starts a tile cache that fetches them.
    static func findings(_ file: LaunchFile) -> (problems: [String], warnings: [String]) {
        let own = folder(of: Bundle.main.executablePath ?? CommandLine.arguments[0])
        let hasCache = file.nodes.contains { URL(filePath: $0.executable).lastPathComponent == "tile-cache-node" }
        var findings: (problems: [String], warnings: [String]) = ([], [])
        var hostsFiles = Set<String>()
        for node in file.nodes where folder(of: node.executable) == own {
            var environment = ProcessInfo.processInfo.environment
            for variable in node.environment { environment[variable.name] = variable.value }
            let program = URL(filePath: node.executable).lastPathComponent
            var problems = problems(of: program, node.arguments, environment, needsTiles: !hasCache)
            // Nodes usually share a hosts file.
            if let path = environment[HostOptions.variable], hostsFiles.insert(path).inserted {
                do throws(NodeError) {
                    findings.warnings += try strayListeners(environment, among: file.nodes.map(\.name))
                } catch {
                    problems.append(error.description)
                }
            }
            findings.problems += problems.map { "node \"\(node.name)\": \($0)" }
        }
        return findings
    }

    /// Checks a hosts file, and returns a line for each name in its `listen` that is not a node of the launch.
    private static func strayListeners(
        _ environment: [String: String], among nodes: [String]
    ) throws(NodeError) -> [String] {
        guard let hosts = try HostOptions.check(environment: environment) else { return [] }
        return hosts.listen.keys.sorted().filter { !nodes.contains($0) }.map {
            "\(hosts.path): \"\($0)\" in \"listen\" is not a node of this launch\(suggestion(for: $0, among: nodes))"
        }
    }

    private static func folder(of path: String) -> String {
        URL(filePath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    private static func problems(
        of program: String, _ arguments: [String], _ environment: [String: String], needsTiles: Bool
    ) -> [String] {
        var inputs: [(key: String, path: String)] = []
        var outputs: [(key: String, path: String)] = []
        let refused: String?
        switch program {
        case NavigationNode.defaultName:
            refused = refusal(NavKit.NodeCommand<NavigationNode>.self, arguments) {
                let configuration = try $0.options.configuration(NavigationNode.self, environment: environment)
                inputs = configuration.node.inputPaths
                outputs = configuration.kit.simTime ? [] : configuration.node.outputPaths
                return configuration.omission
            }
        case GNSSNode.defaultName:
            refused = refusal(NavKit.NodeCommand<GNSSNode>.self, arguments) {
                let configuration = try $0.options.configuration(GNSSNode.self, environment: environment)
                inputs = configuration.node.inputPaths
                return configuration.omission
            }
        case TileCacheNode.defaultName:
            refused = refusal(TileCacheCommand.self, arguments) {
                let configuration = try $0.options.configuration(TileCacheNode.self, environment: environment)
                inputs = configuration.node.inputPaths
                outputs = configuration.node.outputPaths
                return configuration.omission
            }
        case Navbus._commandName:
            refused = refusal(Navbus.self, arguments)
            let command = try? Navbus.parseAsRoot(arguments)
            if let play = command as? BagPlay { inputs = [("bag", play.bag)] }
            if let record = command as? BagRecord { outputs = [("--out", record.out)] }
        default: refused = nil
        }
        let missing = inputs.filter { needsTiles || $0.key != "tiles" }.filter {
            !FileManager.default.fileExists(atPath: $0.path)
        }
        let unwritable = outputs.filter { !FileManager.default.isWritableFile(atPath: folder(of: $0.path)) }
        return (refused.map { [$0] } ?? []) + missing.map { "\($0.key): '\($0.path)' does not exist" }
            + unwritable.map {
                "\($0.key): '\($0.path)' cannot be written: its folder does not exist or is not writable"
            }
    }

    /// Returns the reason why a program rejects its command line; nil when it accepts it.
    ///
    /// - Parameter use: A further check of the parsed command, which returns a reason for rejection or nil.
    private static func refusal<Command: ParsableCommand>(
        _ type: Command.Type, _ arguments: [String], _ use: (Command) throws -> String? = { _ in nil }
    ) -> String? {
        do {
            let command = try Command.parseAsRoot(arguments)
            return try (command as? Command).flatMap(use)
        } catch let error as ConfigError {
            return error.description
        } catch {
            return Command.exitCode(for: error) == .success ? nil : Command.message(for: error)
        }
    }
}
