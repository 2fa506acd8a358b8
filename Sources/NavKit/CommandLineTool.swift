public import ArgumentParser
import CProcess
import Foundation
import Glibc
import NavBus
import NavConfig
import NavSpelling

extension ParsableCommand {
    /// Runs the program and exits: 0 on success, 1 when the work failed or its output could not be written, 2 for wrong
    /// usage.
    ///
    /// An error is one line on standard error.
    public static func runAndExit() -> Never {
        // After a reader has closed its pipe early, as `head` does, a write must fail rather than kill the process.
        signal(SIGPIPE, SIG_IGN)
        // The same for a write beyond the file size limit.
        signal(SIGXFSZ, SIG_IGN)
        cprocess_hold_standard_streams()
        cprocess_report_crashes()
        do {
            var command = try parseAsRoot()
            try command.run()
            finish()
        } catch {
            end(error)
        }
    }

    /// Makes the kernel kill this process when its parent ends, for a worker whose result only its parent needs.
    package static func endWithParent() { cprocess_die_with_parent() }

    private static func end(_ error: any Error) -> Never {
        switch error {
        case let error as NodeError:
            complain(error.description)
            Glibc.exit(error.code == .usage ? 2 : 1)
        case let error as ConfigError:
            complain(error.description)
            Glibc.exit(2)
        case let error as ExitCode where error.rawValue == 0: finish()
        case let error as ExitCode: Glibc.exit(error.rawValue)
        default: break
        }
        switch exitCode(for: error) {
        case .success:
            print(fullMessage(for: error))
            finish()
        case .validationFailure:
            complain(usageLine(fullMessage(for: error)))
            Glibc.exit(2)
        default:
            complain(message(for: error))
            Glibc.exit(1)
        }
    }

    /// Returns the parser's explanation as one line: the problem, the meaning of the option, and a reference to the
    /// help.
    private static func usageLine(_ explanation: String) -> String {
        var problem = ""
        var meaning = ""
        var help = "\(_commandName) --help"
        for line in explanation.split(separator: "\n") {
            if line.hasPrefix("Error: ") {
                problem = String(line.dropFirst("Error: ".count))
            } else if line.hasPrefix("Help: "), let gap = line.dropFirst(7).firstRange(of: "  ") {
                meaning = ": " + line[gap.upperBound...].trimmingPrefix(while: { $0 == " " })
            } else if let start = line.firstRange(of: "See '"), let end = line.lastIndex(of: "'") {
                help = String(line[start.upperBound..<end])
            }
        }
        if let unknown = unknownCommand() { problem = unknown }
        // A problem in whole sentences already explains the option.
        let text = problem.hasSuffix(".") || problem.hasSuffix("?") ? problem : problem + meaning
        return text.hasSuffix("?")
            ? "\(text) See '\(help)'" : "\(text.hasSuffix(".") ? String(text.dropLast()) : text); see '\(help)'"
    }

    /// Returns the problem when an argument is an unknown command; nil when every command is known.
    private static func unknownCommand() -> String? {
        var commands = configuration.subcommands
        for word in CommandLine.arguments.dropFirst() {
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            guard let command = commands.first(where: { $0._commandName == word }) else {
                let nearest = nearestName(to: word, among: commands.map { $0._commandName })
                return "unknown command '\(word)'" + (nearest.map { ", did you mean '\($0)'?" } ?? "")
            }
            commands = command.configuration.subcommands
        }
        return nil
    }

    /// Flushes the output and exits; a reader that closed its pipe early is no error.
    private static func finish() -> Never {
        let error = cprocess_flush_output()
        guard error != 0, error != EPIPE else { Glibc.exit(0) }
        complain("standard output cannot be written: \(String(cString: strerror(error)))")
        Glibc.exit(1)
    }

    private static func complain(_ text: String) { StandardError.write("\(_commandName): \(text)\n") }
}

/// The options of a process on the bus.
public struct BusOptions: ParsableArguments {
    /// The node's name.
    @Option(help: ArgumentHelp("The node's name on the bus; by default the program's name.", valueName: "NAME")) public
        var name: String?
    /// Topic remappings.
    @Option(
        help: ArgumentHelp(
            "Renames a topic on this bus; may be given several times.", valueName: "FROM:=TO"))
    public var remap: [String] = []

    /// Options with nothing given.
    public init() {}

    /// Returns the remappings, by catalogue name.
    public func remaps() throws(NodeError) -> [String: String] { try NodeArguments.remaps(remap) }
}

/// The command line that all nodes share.
public struct NodeCommandOptions: ParsableArguments {
    /// The node's name and topic remappings.
    @OptionGroup public var bus: BusOptions
    /// The path of a YAML configuration file.
    @Option(help: ArgumentHelp("Configuration file (YAML).", valueName: "FILE")) public var config: String?
    /// Configuration keys and their values.
    @Option(
        help: ArgumentHelp(
            "Sets a configuration key, overriding the environment and the file; may be given several times.",
            valueName: "KEY=VALUE")) public var set: [String] = []
    /// The lowest level that is logged.
    @Option(
        help: ArgumentHelp(
            "Lowest log level that is written: trace, debug, info, notice, warning, error or critical.",
            valueName: "LEVEL")) public var logLevel: String?
    /// Whether to print the configuration and exit.
    @Flag(help: "Print the configuration with the meaning and range of every key, and exit.") public var printConfig =
        false

    /// Options with nothing given.
    public init() {}

    /// Returns the prefix of the environment variables that set a program's keys: `NAVIGATION_NODE_SET_` for `navigation-node`.
    static func environmentPrefix(_ program: String) -> String {
        program.uppercased().replacingOccurrences(of: "-", with: "_") + "_SET_"
    }

    /// Returns a node's configuration from the file, the environment and the command line.
    public func configuration<Runnable: Node>(
        _ type: Runnable.Type, environment: [String: String]? = nil
    ) throws -> RunConfiguration<Runnable.Configuration> {
        let level = logLevel.map { ["log.level=\($0)"] } ?? []
        return try ConfigLoader.load(
            RunConfiguration<Runnable.Configuration>.self, file: config,
            environment: environment ?? ProcessInfo.processInfo.environment,
            prefix: NodeCommandOptions.environmentPrefix(Runnable.defaultName), overrides: set + level)
    }

    /// Assembles the configuration, joins the bus and runs a node until a stop is requested.
    public func run<Runnable: Node>(_ type: Runnable.Type) throws {
        let configuration = try configuration(type)
        if printConfig {
            print(ConfigLoader.describe(configuration), terminator: "")
            return
        }
        let remaps = try bus.remaps()
        let name = bus.name ?? Runnable.defaultName
        let log = NodeLog(node: name, level: configuration.kit.logLevel)
        let (node, directory) = try NodeArguments.join(name: name, log: log)
        defer { node.close() }
        let stop = StopSignal(waking: node.makeWaker())
        waitForInputs(configuration, stop, of: type, log)
        guard !stop.isStopped else { return }
        let runner = try NodeRunner<Runnable>(
            node, remaps: remaps, configuration: configuration, directory: directory, log: log)
        try runner.run(until: stop)
    }

    /// Waits until no input of the node is missing, or until `stop` is set.
    private func waitForInputs<Runnable: Node>(
        _ configuration: RunConfiguration<Runnable.Configuration>, _ stop: StopSignal, of type: Runnable.Type,
        _ log: NodeLog
    ) {
        guard let missing = Runnable.missingInput(configuration.node) else { return }
        log.warning("waiting for \(missing)")
        var supervisor = SupervisorNotifier()
        while !stop.isStopped, Runnable.missingInput(configuration.node) != nil {
            supervisor.heartbeat()
            usleep(200_000)
        }
    }
}
