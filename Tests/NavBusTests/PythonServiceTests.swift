import Foundation
import NavBus
import Testing

/// The interpreter that `NAVBUS_PYTHON` names, or the path's.
private enum Python {
    static let isInstalled =
        (try? run(["-c", "import zmq; from google.protobuf.message_factory import GetMessageClass"], [:])) != nil

    private static let path = ProcessInfo.processInfo.environment["NAVBUS_PYTHON"] ?? "python3"

    private struct Failure: Error {
        let status: Int32
    }

    /// What the script prints; throws when it fails.
    static func run(_ arguments: [String], _ variables: [String: String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [path] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
        return String(decoding: output, as: UTF8.self)
    }
}

/// A client in another language: pyzmq and Google's protobuf, from the documentation alone.
@Suite struct PythonServiceTests {
    // Skipped where Python has no zmq or google.protobuf.
    @Test(.enabled(if: Python.isInstalled, "needs Python with zmq and google.protobuf: set NAVBUS_PYTHON to it"))
    func aScriptCallsAUnaryAndAStreamingMethod() throws {
        let bench = try Bench(.zeroMQ)
        let server = try Probe(["server", bench.directory.path, "server"])
        try server.says("ready")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Peers/service_client.py").path
        let output = try Python.run(
            [script, "server", "1000"], ["NAVBUS_DIR": bench.directory.path, "NAVBUS_DOMAIN": bench.directory.domain])
        let wanted = """
            Say subvan
            Count 1000 499500
            status 12: 'test.Echo' has no method 'Sya'; is 'Say' meant?

            """
        #expect(output == wanted)
    }
}
