/// When a process that ended is started again, and how long after.
public struct RestartPolicy: Sendable, Equatable {
    /// Which ends lead to a restart.
    public enum Mode: String, Sendable, CaseIterable {
        /// None.
        case never
        /// An exit status other than 0, a signal, or a start that failed.
        case onFailure = "on-failure"
        /// Every end.
        case always
    }

    /// Which ends lead to a restart.
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
}

/// A process of a launch file, with every argument substituted and every path resolved.
public struct LaunchNode: Sendable, Equatable {
    /// Name on the bus and in front of the output, namespace included (`left.player`).
    public var name: String
    /// Absolute path of the executable.
    public var executable: String
    /// What follows the executable on the command line.
    public var arguments: [String]
    /// Variables that replace or add to the launcher's own environment, in order; a later one wins.
    public var environment: [EnvironmentVariable]
    /// The end of this process ends everything.
    public var required: Bool
    /// When to start it again.
    public var restart: RestartPolicy

    /// A process by its path; a launch file fills in the rest.
    public init(
        name: String, executable: String, arguments: [String] = [], environment: [EnvironmentVariable] = [],
        required: Bool = false, restart: RestartPolicy = RestartPolicy()
    ) {
        self.name = name
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.required = required
        self.restart = restart
    }

    /// The command as a shell would take it.
    public var commandLine: String {
        ([executable] + arguments).map(shellQuoted).joined(separator: " ")
    }
}

/// A variable of a process's environment.
public struct EnvironmentVariable: Sendable, Equatable {
    /// Never empty, and without `=`.
    public var name: String
    /// Any text without NUL.
    public var value: String

    /// A variable and its value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A launch file that was read and found right: which processes to run, and how.
///
/// ```yaml
/// arguments:                      # NAME: default, or NAME: {default: …, description: …}; no default = must be given
///   tiles: .build/tiles           #   a default may use the arguments above it
///   rate: 10
/// namespace: left                 # node names become left.NAME
/// env: {NAVBUS_DOMAIN: demo}      # for every process
/// remaps: {/gnss/fix: /left/fix}  # for every node of the bus
/// include:
///   - {file: sensors.yaml, namespace: front, arguments: {rate: "${rate}"}, when: "${sensors}"}
/// nodes:
///   - name: navigation-node
///     executable: navigation-node # beside navbus, else on PATH; with a "/" relative to this file
///     args: [--verbose]           # first on the command line
///     config: navigation.yaml     # --config FILE, relative to this file, must exist
///     set: {tiles: "${tiles}"}    # --set tiles=…
///     env: {TZ: UTC}
///     remaps: {/nav/route: /r}    # --remap /nav/route:=/r
///     bus: true                   # false: an ordinary process, which gets no --name and no --remap
///     required: true              # its end ends everything
///     restart: on-failure         # or {policy: on-failure, delay_s: 0.5, max_delay_s: 30, limit: 10}
///     when: "${navigation}"       # true or false
/// ```
/// `${launch_dir}` is the folder of the file, `${env:NAME}` the launcher's environment, `$$` a dollar sign.
public struct LaunchFile: Sendable, Equatable {
    /// The file as it was named.
    public let path: String
    /// In the order in which they are started.
    public let nodes: [LaunchNode]

    /// For processes that no file describes.
    public init(path: String, nodes: [LaunchNode]) {
        self.path = path
        self.nodes = nodes
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

private func shellQuoted(_ word: String) -> String {
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
