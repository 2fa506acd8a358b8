import Foundation
import Logging
import NavBus
import NavKit
import NavMessages
import NavTestKit
import Testing

/// The hosts file: errors found by its check and refused by a node, and the log of events between hosts.
struct HostOptionsTests {
    @Test func eventsBetweenHostsGoToTheLogOfTheNodeAtItsLevel() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/hosts.yaml"
            try "insecure: true\npeers:\n  - endpoint: tcp://127.0.0.1:7600\n".write(
                toFile: path, atomically: false, encoding: .utf8)
            let log = NodeLog(node: "echo", level: .warning, isWrittenToStandardError: false)
            let hosts = try HostOptions.fromEnvironment(
                node: "echo", environment: [HostOptions.variable: path], log: log)
            let onEvent = try #require(hosts?.onEvent)
            let stage = try EchoStage(log: log)
            onEvent(.peerFound(endpoint: "tcp://127.0.0.1:7600", node: "far", bootID: 1))
            onEvent(.peerLost(endpoint: "tcp://127.0.0.1:7600", node: "far", reason: "it shut down"))
            try stage.turn()
            let lines = try stage.all(LogEntry.self, on: "/log").compactMap(\.text)
            #expect(lines.count == 2 && lines.first?.contains("neither encrypted nor authenticated") == true)
            #expect(lines.last == "lost node 'far' at tcp://127.0.0.1:7600: it shut down")
        }
    }

    @Test func checkReportsTheErrorsThatANodeRefuses() throws {
        let scratch = try TemporaryFolder()
        defer { withExtendedLifetime(scratch) {} }
        let folder = scratch.path
        let keys = try CurveKeyPair.generate()
        try keys.write(secretTo: folder + "/a.key", publicTo: folder + "/a.pub", replacing: false)
        func problem(_ text: String) throws -> String? {
            let path = folder + "/hosts.yaml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            do throws(NodeError) {
                _ = try HostOptions.check(environment: [HostOptions.variable: path])
                return nil
            } catch {
                return error.description
            }
        }
        let listen = "secret_key_file: a.key\nlisten: {x: 'tcp://127.0.0.1:7600'}\n"
        #expect(try problem(listen + "allowed_keys_file: a.pub\n") == nil)
        let known = try HostOptions.fromEnvironment(
            node: "x", environment: [HostOptions.variable: folder + "/hosts.yaml"])
        #expect(known?.allowedKeysFile == folder + "/a.pub")
        for text in [listen, "secret_key_file: a.key\n"] {
            let missing = try problem(text + "allowed_keys_file: missing.pub\n")
            #expect(missing?.contains("missing.pub") == true, "\(missing ?? "no problem")")
        }
        #expect(try problem(listen)?.contains("no host may connect") == true)
        #expect(
            try problem("insecure: true\nlisten: {'a/b': 'tcp://127.0.0.1:7600'}\n")?.contains("'a/b'") == true)
        #expect(throws: NodeError.self) {
            try HostOptions.peers(environment: [HostOptions.variable: folder + "/hosts.yaml"])
        }
        // The file's mode is not reported as the problem.
        let open = try problem("secret_key_file: a.pub\n")
        #expect(open?.contains("names the public key") == true && open?.contains("chmod") == false, "\(open ?? "")")
        for key in ["missing.key", "a.pub"] {
            #expect(try problem("secret_key_file: \(key)\n")?.contains(key) == true, "\(key)")
        }
    }
}
