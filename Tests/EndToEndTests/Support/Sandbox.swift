import Foundation
import NavTestKit
import NavTestSystem
import Synchronization

/// A temporary folder of one test with a separate bus, and the processes that the test starts in it.
final class Sandbox: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }
    private let programs = Mutex<[Program]>([])

    fileprivate init() throws { folder = try TemporaryFolder() }

    fileprivate func end() {
        for program in programs.withLock({ $0 }).reversed() { program.end() }
    }

    /// The environment of the processes: the test's environment without navbus settings, and a bus in the folder.
    var environment: [String: String] {
        var result = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("NAVBUS_") }
        result["NAVBUS_DIR"] = path + "/b"
        result["PATH"] = "\(Programs.folder):\(result["PATH"] ?? "/usr/bin:/bin")"
        return result
    }

    /// Starts a program of this project by name, or any other by path.
    @discardableResult
    func start(
        _ tool: String, _ arguments: [String] = [], in folder: String? = nil, environment extra: [String: String] = [:]
    ) throws -> Program {
        let executable = try Programs.path(tool)
        return try programs.withLock { programs in
            let program = try Program(
                [executable] + arguments, name: ([tool] + arguments.prefix(2)).joined(separator: " "),
                folder: folder ?? path, environment: environment.merging(extra) { $1 },
                logs: "\(path)/log-\(programs.count)")
            programs.append(program)
            return program
        }
    }

    /// Runs a program until it ends.
    func run(
        _ tool: String, _ arguments: [String] = [], in folder: String? = nil, environment: [String: String] = [:]
    ) async throws -> Program.Result {
        try await start(tool, arguments, in: folder, environment: environment).wait()
    }

    /// Runs a program until it ends and throws if it fails.
    @discardableResult
    func succeed(_ tool: String, _ arguments: [String] = [], environment: [String: String] = [:]) async throws
        -> Program.Result
    {
        let result = try await run(tool, arguments, environment: environment)
        guard result.status == 0 else {
            throw Failure("\(tool) \(arguments.joined(separator: " ")): exit \(result.status)\n\(result.errors)")
        }
        return result
    }

    /// Writes a file of the folder and returns its path.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }

    /// Returns a copy of the demo map's tiles that a test may modify.
    func copyTiles() async throws -> String {
        let copy = path + "/tiles-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.copyItem(atPath: try await Town.shared.tiles, toPath: copy)
        return copy
    }

    /// Waits until a node has joined the sandbox's bus and announces a topic.
    func announces(_ topic: String, node: String, domain: String = "0") async throws {
        let file = "\(path)/b/\(domain)/\(node)/announcement.json"
        try await eventually("\(node) announces \(topic)", detail: { readFile(file) ?? "no \(file)" }) {
            readFile(file)?.contains("\"\(topic)\"") ?? false
        }
    }
}

/// Runs a test in a sandbox, whose processes are ended afterwards, whether the test passes or fails.
func withSandbox<Result>(_ body: (Sandbox) async throws -> Result) async throws -> Result {
    let sandbox = try Sandbox()
    defer { sandbox.end() }
    return try await body(sandbox)
}

/// A drive through Helsinki with a wrong turn, generated once for all tests.
actor Town {
    static let shared = Town()
    /// Start and destination of the demo.
    static let from = "60.1655,24.9375"
    static let to = "60.1765,24.9505"

    private let made: Task<Sandbox, any Error>

    private init() {
        made = Task {
            let sandbox = try Sandbox()
            removeAtExit.withLock { $0.append(sandbox.path) }
            atexit { removeAtExit.withLock { $0 }.forEach { try? FileManager.default.removeItem(atPath: $0) } }
            try await sandbox.succeed("navbus", ["map", "build", Project.map, "--out", "tiles"])
            try await sandbox.succeed("navbus", Town.simulation(tiles: "tiles", to: "drive.mcap"))
            return sandbox
        }
    }

    /// The folder of the road tiles, which tests must not modify.
    var tiles: String {
        get async throws { try await made.value.path + "/tiles" }
    }

    /// The number of fixes in the drive, one per second.
    static let fixCount = 378

    var drive: String {
        get async throws { try await made.value.path + "/drive.mcap" }
    }

    static func simulation(tiles: String, seed: Int = 7, to bag: String, _ more: [String] = []) -> [String] {
        [
            "simulate", "--tiles", tiles, "--from", from, "--to", to, "--deviate-at", "500", "--noise", "urban",
            "--seed", "\(seed)", "--out", bag,
        ] + more
    }
}

private let removeAtExit = Mutex<[String]>([])
