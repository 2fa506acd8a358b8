/// The rule by which a process that ended is started again, and the pause before.
public struct RestartPolicy: Sendable, Equatable {
    /// The ends that lead to a restart.
    public enum Mode: String, Sendable, CaseIterable {
        case never
        /// An exit status other than 0, a signal, or a start that failed.
        case onFailure = "on-failure"
        case always
    }

    /// The ends that lead to a restart.
    public var mode: Mode
    /// Delay before the first restart; it doubles with each one that follows, up to `maximumDelay`.
    public var delay: Duration
    /// Longest delay between an end and the restart.
    public var maximumDelay: Duration
    /// Restarts in a row after which the process is given up; one that ran for `SupervisorStateMachine.steadyAfter`
    /// starts counting anew.
    public var limit: Int

    /// Defaults: 0.5 s, doubling up to 30 s, ten times.
    public init(
        mode: Mode = .never, delay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30),
        limit: Int = 10
    ) {
        self.mode = mode
        self.delay = delay
        self.maximumDelay = maximumDelay
        self.limit = limit
    }

    /// The pause before the restart that follows an end; nil when none does.
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

/// A process of a launch file, with every argument substituted and every path resolved.
public struct LaunchNode: Sendable, Equatable {
    /// Name on the bus and in front of the output, namespace included (`left-player`).
    public var name: String
    /// Absolute path of the executable.
    public var executable: String
    public var arguments: [String]
    /// Variables that replace or add to the launcher's own environment, in order; a later one wins.
    public var environment: [EnvironmentVariable]
    /// The end of this process ends everything.
    public var required: Bool
    /// The rule for starting it again.
    public var restart: RestartPolicy
    /// The longest silence, once it has said that its loop runs (sd_notify(3), `WATCHDOG=1`), before it counts as hung and is
    /// ended; zero: for ever.
    public var watchdog: Duration
    /// The condition that makes it ready; nil: that it was started.
    public var readiness: Readiness?
    /// Names of the nodes that must be ready before it starts, and that are stopped after it.
    public var after: [String]
    public var settings: ProcessSettings

    /// A process by its path; a launch file fills in the rest.
    public init(
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

    /// 10 s: no turn of a node's loop takes a tenth of that, also on a machine that is short of memory.
    public static let defaultWatchdog = Duration.seconds(10)

    /// The command as a shell would take it.
    public var commandLine: String {
        ([executable] + arguments).map(shellQuoted).joined(separator: " ")
    }

    /// Further facts to know before a start, a line each: order, readiness, settings.
    public var details: [String] {
        var lines: [String] = []
        if !after.isEmpty { lines.append("after \(after.joined(separator: ", "))") }
        if let readiness {
            lines.append(
                "ready when there is \(readiness.conditions.map(\.description).joined(separator: " and ")), within "
                    + seconds(readiness.timeout) + (readiness.onTimeout == .goOn ? ", else going on" : ""))
        }
        if watchdog != Self.defaultWatchdog {
            lines.append(watchdog > .zero ? "watchdog after \(seconds(watchdog))" : "no watchdog")
        }
        return lines + settings.details
    }
}

/// A variable of a process's environment.
public struct EnvironmentVariable: Sendable, Equatable {
    /// Never empty, and without `=`.
    public var name: String
    /// Any text without NUL.
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A launch file that was read and found right: which processes to run, and how. <doc:LaunchFileReference> has the keys.
public struct LaunchFile: Sendable, Equatable {
    public let path: String
    /// In the order of the files. They start in this order as far as `after` leaves it open.
    public let nodes: [LaunchNode]
    /// The findings that are probably mistakes, or right on another machine only.
    public let warnings: [LaunchProblem]

    /// For processes that no file describes.
    public init(path: String, nodes: [LaunchNode], warnings: [LaunchProblem] = []) {
        self.path = path
        self.nodes = nodes
        self.warnings = warnings
    }

    /// Reads, substitutes, resolves and checks a file and what it includes; starts nothing.
    ///
    /// - Parameters:
    ///   - path: the YAML file, at most 1 MiB.
    ///   - arguments: values for the file's `arguments`, by name.
    ///   - context: where executables are looked for and which environment `${env:…}` reads.
    /// - Throws: every problem found, each with its file and line.
    public static func load(
        path: String, arguments: [String: String] = [:], context: LaunchContext = .current()
    ) throws(LaunchFileError) -> LaunchFile {
        var reader = LaunchFileReader(context: context)
        return try reader.read(path: path, arguments: arguments)
    }

    /// Splits `name:=value` words of a command line.
    ///
    /// - Throws: for a word that is not of this form, or a name that is given twice.
    public static func parseArguments(_ words: [String]) throws(LaunchFileError) -> [String: String] {
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

/// Returns a word as a shell takes it.
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
