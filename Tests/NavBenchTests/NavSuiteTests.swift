import Foundation
import Testing

/// The suite of the navigation node as a program: a node of its own guides and answers. Never how long anything took.
struct NavSuiteTests {
    private static let fixtures =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path + "/Fixtures"

    private static let binaries =
        ProcessInfo.processInfo.environment["NAVBUS_BIN"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Self.binaries + "/" + program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    @Test func eachFixHasItsProgress() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "nvt-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let built = try run("navbus", ["map", "build", Self.fixtures + "/helsinki.osm.pbf", "--out", folder])
        try #require(built.status == 0)
        let bench = try run("navbus-bench", ["nav", "--tiles", folder, "--length", "10", "--quick", "--json"])
        try #require(bench.status == 0)
        let names = try bench.output.split(separator: "\n").map { line in
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect((row["value"] as? Double ?? 0) > 0)
            return try #require(row["name"] as? String)
        }
        #expect(names == ["p50", "p99", "max"].map { "nav.fix_to_progress.\($0)" })
    }
}
