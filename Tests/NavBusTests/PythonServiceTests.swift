import Foundation
import NavBus
import NavTestSystem
import Testing

/// The interpreter that `NAVBUS_PYTHON` names, or the path's.
private enum Python {
    static let isInstalled =
        (try? run(["-c", "import zmq; from google.protobuf.message_factory import GetMessageClass"])) != nil

    private static let path = ProcessInfo.processInfo.environment["NAVBUS_PYTHON"] ?? "python3"

    /// What the script prints; throws when it fails.
    static func run(_ arguments: [String], _ variables: [String: String] = [:]) throws -> String {
        let run = try Programs.run("/usr/bin/env", [path] + arguments, variables: variables)
        guard run.status == 0 else { throw Failure("python3 ended with \(run.status): \(run.errors)") }
        return run.output
    }
}

/// A client in another language: pyzmq and Google's protobuf, from the documentation alone.
@Suite struct PythonServiceTests {
    // Skipped where Python has no zmq or google.protobuf.
    @Test(.enabled(if: Python.isInstalled, "needs Python with zmq and google.protobuf: set NAVBUS_PYTHON to it"))
    func aScriptCallsAUnaryAndAStreamingMethod() throws {
        let bench = try Bench(.zeroMQ)
        let server = try Probe("NavBusProbe", ["server", bench.directory.path, "server"])
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
