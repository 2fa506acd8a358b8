/// A rule for restarting a process that ended, and the delay before the restart.
package struct RestartPolicy: Sendable, Equatable {
    /// The ends that lead to a restart.
    package enum Mode: String, Sendable, CaseIterable {
        case never
        /// An exit status other than 0, a signal, or a start that failed.
        case onFailure = "on-failure"
        case always
    }

    /// The ends that lead to a restart.
    package var mode: Mode
    /// The delay before the first restart; it doubles with each further one, up to `maximumDelay`.
    package var delay: Duration
    /// The longest delay before a restart.
    package var maximumDelay: Duration
    /// The most consecutive restarts; a run of at least `SupervisorStateMachine.steadyAfter` resets the count.
    package var limit: Int

    /// Creates a policy; the defaults are 0.5 s, doubling up to 30 s, ten times.
    package init(
        mode: Mode = .never, delay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30),
        limit: Int = 10
    ) {
        self.mode = mode
        self.delay = delay
        self.maximumDelay = maximumDelay
        self.limit = limit
    }

    /// Returns the delay before the restart after an end; nil when the process is not restarted.
    func delay(after end: ProcessEnd, restartsInARow: Int) -> Duration? {
        switch mode {
        case .never: return nil
        case .onFailure where end.isSuccess: return nil
        case .onFailure, .always: break
        }
        guard restartsInARow < limit else { return nil }
        var delay = delay
        for _ in 0..<min(restartsInARow, 40) where delay < maximumDelay { delay *= 2 }
        return min(delay, maximumDelay)
    }
}

/// A process of a launch file, after substituting arguments and resolving paths.
package struct LaunchNode: Sendable, Equatable {
    /// Name on the bus and in front of the output, namespace included (`left-player`).
    package var name: String
    /// Absolute path of the executable.
    package var executable: String
    package var arguments: [String]
    /// The variables that replace or extend the launcher's own environment; the last of equal names wins.
    package var environment: [EnvironmentVariable]
    /// Whether the end of this process ends the launch.
    package var required: Bool
    /// The rule for restarts.
    package var restart: RestartPolicy
    /// The longest silence, after its first heartbeat (sd_notify(3), `WATCHDOG=1`), before the process counts as hung and
    /// is ended; zero turns this off.
    package var watchdog: Duration
    /// The condition that makes it ready; if nil, the process is ready when started.
    package var readiness: Readiness?
    /// The names of the nodes that must be ready before it starts, and that are stopped after it.
    package var after: [String]
    package var settings: ProcessSettings

    /// Creates a process from its path; a launch file supplies the rest.
    package init(
        name: String, executable: String, arguments: [String] = [], environment: [EnvironmentVariable] = [],
        required: Bool = false, restart: RestartPolicy = RestartPolicy(), readiness: Readiness? = nil,
        after: [String] = [], settings: ProcessSettings = ProcessSettings(), watchdog: Duration = defaultWatchdog
    ) {
        self.name = name
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.required = required
        self.restart = restart
        self.readiness = readiness
        self.after = after
        self.settings = settings
        self.watchdog = watchdog
    }

    /// 10 s: an iteration of a node's loop takes less than a tenth of that, even on a machine short of memory.
    package static let defaultWatchdog = Duration.seconds(10)

    /// The command in shell syntax.
    package var commandLine: String {
        ([executable] + arguments).map(shellQuoted).joined(separator: " ")
    }

    /// Further facts for display before a start, one per line: order, readiness, settings.
    package var details: [String] {
        var lines: [String] = []
        if !after.isEmpty { lines.append("after \(after.joined(separator: ", "))") }
        if let readiness {
            lines.append(
                "ready when there is \(readiness.conditions.map(\.description).joined(separator: " and ")), within "
                    + seconds(readiness.timeout) + (readiness.onTimeout == .proceed ? ", else continuing" : ""))
        }
        if watchdog != Self.defaultWatchdog {
            lines.append(watchdog > .zero ? "watchdog after \(seconds(watchdog))" : "no watchdog")
        }
        return lines + settings.details
    }
}

/// A variable of a process's environment.
package struct EnvironmentVariable: Sendable, Equatable {
    /// The name, non-empty and without `=`.
    package var name: String
    /// The value, without NUL.
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A valid launch file: the processes to run and their settings. <doc:LaunchFileReference> lists the keys.
package struct LaunchFile: Sendable, Equatable {
    /// The nodes in the order of the files; they start in this order as far as `after` permits.
    package let nodes: [LaunchNode]
    /// The findings that are probably mistakes, or correct only on another machine.
    package let warnings: [LaunchProblem]

    /// Creates a launch file for processes that no file describes.
    package init(nodes: [LaunchNode], warnings: [LaunchProblem] = []) {
        self.nodes = nodes
        self.warnings = warnings
    }

    /// Reads, substitutes, resolves and checks a file and its includes; starts nothing.
    ///
    /// - Parameters:
    ///   - path: the YAML file, at most 1 MiB.
    ///   - arguments: values for the file's `arguments`, by name.
    ///   - context: the folders of executables, and the environment that `${env:…}` reads.
    /// - Throws: every problem found, each with its file and line.
    package static func load(
        path: String, arguments: [String: String] = [:], context: LaunchContext = .current()
    ) throws(LaunchFileError) -> LaunchFile {
        var reader = LaunchFileReader(context: context)
        return try reader.read(path: path, arguments: arguments)
    }

    /// Parses the `name:=value` words of a command line.
    ///
    /// - Throws: an error for a word of another form, or a name given twice.
    package static func parseArguments(_ words: [String]) throws(LaunchFileError) -> [String: String] {
        let problems = ProblemList()
        let place = Place(file: "command line", line: nil, column: nil)
        var arguments: [String: String] = [:]
        for word in words {
            guard let range = word.firstRange(of: ":="), range.lowerBound > word.startIndex else {
                problems.add("\"\(word)\" is not an argument: write NAME:=VALUE", at: place)
                continue
            }
            let name = String(word[..<range.lowerBound])
            if arguments.updateValue(String(word[range.upperBound...]), forKey: name) != nil {
                problems.add("the argument \"\(name)\" is given twice", at: place)
            }
        }
        guard problems.problems.isEmpty else { throw LaunchFileError(problems: problems.problems) }
        return arguments
    }
}

/// Returns a word quoted for a shell.
package func shellQuoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            return true
        default:
            return "-_./=:,+@%".utf8.contains(byte)
        }
    }
    if plain, !word.isEmpty { return word }
    return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
