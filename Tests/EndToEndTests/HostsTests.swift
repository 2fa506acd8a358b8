import Foundation
import Glibc
import NavTestKit
import NavTestSystem
import Testing

/// Two hosts as network namespaces connected by a virtual cable, each with its own bus directory.
///
/// Skipped where `ip` is missing or the user may not create namespaces.
@Suite(.enabled(if: Namespaces.arePossible, "network namespaces need root and the program ip"))
struct HostsTests {
    @Test func driveReachesTheOtherHostButNoHostWithoutAKey() async throws {
        try await withSandbox { box in
            let net = try await Namespaces(box)
            defer { net.remove() }
            let drive = try await Town.shared.drive
            for name in ["vehicle", "desk", "stranger"] { try await box.succeed("navbus", ["keygen", "--out", name]) }
            try box.write("allowed.keys", "\(try net.publicKey("desk")) desk\n")
            try box.write(
                "vehicle.yaml",
                """
                secret_key_file: vehicle.key
                allowed_keys_file: allowed.keys
                listen:
                  player: tcp://10.97.0.1:7600
                """)
            for name in ["desk", "stranger"] {
                try box.write(
                    "\(name).yaml",
                    """
                    secret_key_file: \(name).key
                    peers:
                      - endpoint: tcp://10.97.0.1:7600
                        key_file: vehicle.pub
                    """)
            }

            // The player waits until each topic has a subscriber: the recorder on the other host.
            let player = try net.start("vehicle", "bag", ["play", drive, "--rate", "20", "--wait", "100"])
            try await eventually("the player listens") {
                readFile("\(box.path)/vehicle/0/player/announcement.json") != nil
            }
            let stranger = try net.start("stranger", "topic", ["echo", "/gnss/fix", "--count", "1"], host: "desk")
            try await player.says("denied 10.97.0.2 with the public key '\(try net.publicKey("stranger"))'")
            try await stranger.says("denies this host's key")

            // The tools on the denied host report why no node is visible.
            let refused = try await net.start("stranger", "doctor", [], host: "desk").wait()
            #expect(
                refused.status == 1 && refused.output.contains(#/fail +peer +tcp:.*denies this host's key/#),
                "\(refused.output)")
            let listed = try await net.start("stranger", "node", ["list"], host: "desk").wait()
            #expect(listed.errors.contains("denies this host's key"), "\(listed.errors)")
            let healthy = try await net.start("desk", "doctor", []).wait()
            #expect(healthy.output.contains(#/ok +peer +tcp://10.97.0.1:7600 answers/#), "\(healthy.output)")

            // The tools on either host list the nodes of the other.
            for (command, arguments, says) in [
                ("node", ["list"], "player"), ("topic", ["list"], "/gnss/fix"),
                ("topic", ["info", "/gnss/fix"], "player"),
            ] {
                let seen = try await net.start("desk", command, arguments).wait()
                #expect(seen.status == 0 && seen.output.contains(says), "\(command): \(seen.output)\(seen.errors)")
            }

            let recorder = try net.start("desk", "bag", ["record", "--out", "heard.mcap"])
            try await recorder.says("found node 'player' at tcp://10.97.0.1:7600")
            let echo = try net.start("desk", "topic", ["echo", "/gnss/fix", "--count", "5", "--timeout", "60"])
            let heard = try await echo.wait()
            #expect(heard.status == 0, "\(heard.errors)")
            #expect(heard.outputLines.count == 5 && heard.outputLines.allSatisfy { $0.contains("latitude") })
            #expect(try await player.wait().status == 0)
            recorder.send(SIGTERM)
            #expect(try await recorder.wait().status == 0)
            stranger.send(SIGTERM)
            let nothing = try await stranger.wait()
            #expect(nothing.output.isEmpty)
            // Every fix of the drive reached the other host.
            let counts = try await [drive, "heard.mcap"].asyncMap { bag in
                let info = try await box.succeed("navbus", ["bag", "info", bag, "--json"])
                return try fixes(info.output)
            }
            #expect(counts[0] > 0 && counts[0] == counts[1], "\(counts) \(recorder.errors)")
        }
    }

    /// The tools call services and read parameters of a node on the other host, by name and with `--node`.
    @Test func toolsReachTheServicesOfTheOtherHost() async throws {
        try await withSandbox { box in
            let net = try await Namespaces(box)
            defer { net.remove() }
            let tiles = try await Town.shared.tiles
            for name in ["vehicle", "desk"] { try await box.succeed("navbus", ["keygen", "--out", name]) }
            try box.write("allowed.keys", "\(try net.publicKey("desk")) desk\n")
            try box.write(
                "vehicle.yaml",
                """
                secret_key_file: vehicle.key
                allowed_keys_file: allowed.keys
                listen:
                  navigation-node: tcp://10.97.0.1:7600
                """)
            try box.write(
                "desk.yaml",
                """
                secret_key_file: desk.key
                peers:
                  - endpoint: tcp://10.97.0.1:7600
                    key_file: vehicle.pub
                """)
            try net.start("vehicle", "--set", ["tiles=\(tiles)"], program: "navigation-node")
            let announcement = "\(box.path)/vehicle/0/navigation-node/announcement.json"
            try await eventually("the node serves") { readFile(announcement)?.contains("navbus.v1.Node") ?? false }
            for (command, arguments, says) in [
                ("service", ["list"], "navbus.v1.Navigation"),
                ("service", ["info", "navbus.v1.Navigation"], "served by navigation-node"),
                ("node", ["info", "navigation-node"], "/nav/position"),
                ("node", ["params", "navigation-node", "get", "tiles"], tiles),
                ("node", ["params", "navigation-node", "set", "log.level=debug"], "debug"),
                (
                    "service", ["call", "navbus.v1.Node/GetInfo", "{}", "--node", "navigation-node"],
                    #""node":"navigation-node""#
                ),
            ] {
                let seen = try await net.start("desk", command, arguments).wait()
                #expect(
                    seen.status == 0 && seen.output.contains(says),
                    "\(command) \(arguments): \(seen.output)\(seen.errors)")
            }
        }
    }

    @Test func invalidHostsFileIsReportedWithItsPlace() async throws {
        try await withSandbox { box in
            try await box.succeed("navbus", ["keygen", "--out", "a"])
            let again = try await box.run("navbus", ["keygen", "--out", "a"])
            #expect(again.status == 1 && again.errors.contains("a.key exists"))
            for (text, expected) in [
                ("secret_keyfile: a.key", "did you mean 'secret_key_file'?"), ("peers: 5", "'peers' takes a list"),
                ("peers: [{key: x}]", "needs an 'endpoint'"), ("listen: {x: tcp://10.0.0.1:1}\n", "navbus keygen"),
                ("insecure: true\nsecret_key_file: a.key\npeers: [{endpoint: 'tcp://10.0.0.1:1'}]", "contradict"),
                ("secret_key_file: a.key\npeers: [{endpoint: 'tcp://host:1'}]", "numeric address"),
                ("secret_key_file: a.key\npeers: [{endpoint: 'tcp://10.0.0.1:1', key: x}]", "not a public key"),
                ("secret_key_file: b.key\nlisten: {x: tcp://10.0.0.1:1}", "cannot read"),
                ("secret_key_file: a.key\nlisten: {x: 'tcp://127.0.0.1:0'}", "no host may connect"),
            ] {
                let file = try box.write("hosts.yaml", text)
                let result = try await box.run(
                    "navbus", ["bag", "record", "--out", "x.mcap", "--name", "x"], environment: ["NAVBUS_HOSTS": file])
                #expect(result.status != 0 && result.errors.contains(expected), "\(text): \(result.errors)")
                #expect(result.errorLines.count == 1, "\(result.errors)")
            }
        }
    }

    private func fixes(_ json: String) throws -> Int {
        let info = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        let topics = info?["topics"] as? [[String: Any]] ?? []
        let fix = topics.first { ($0["topic"] ?? $0["name"]) as? String == "/gnss/fix" }
        return try #require((fix?["messages"] ?? fix?["count"]) as? Int, "\(json)")
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

/// Two network namespaces, `vehicle` at 10.97.0.1 and `desk` at 10.97.0.2.
private final class Namespaces {
    private static let program = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first { (path: String) in
        access(path, X_OK) == 0
    }

    /// Whether this machine and user can create namespaces, determined by creating one and removing it at once.
    static let arePossible: Bool = {
        guard let ip = program, geteuid() == 0 else { return false }
        let name = "nb-probe-\(getpid())"
        defer { _ = Programs.succeeds(ip, ["netns", "del", name]) }
        return Programs.succeeds(ip, ["netns", "add", name])
            && Programs.succeeds(
                ip, ["-n", name, "link", "add", "nbp0", "type", "veth", "peer", "name", "nbp1"])
    }()

    private let box: Sandbox
    private let ip: String
    private let tag = String(UInt32.random(in: 0 ... .max), radix: 36)

    init(_ box: Sandbox) async throws {
        self.box = box
        ip = try #require(Self.program)
        for host in ["vehicle", "desk"] { try await box.succeed(ip, ["netns", "add", name(host)]) }
        try await box.succeed(
            ip,
            ["-n", name("vehicle"), "link", "add", "nb0", "type", "veth", "peer", "name", "nb0"]
                + ["netns", name("desk")])
        for (host, address) in [("vehicle", "10.97.0.1/24"), ("desk", "10.97.0.2/24")] {
            try await box.succeed(ip, ["-n", name(host), "addr", "add", address, "dev", "nb0"])
            for device in ["lo", "nb0"] { try await box.succeed(ip, ["-n", name(host), "link", "set", device, "up"]) }
        }
    }

    func remove() {
        for host in ["vehicle", "desk"] { _ = Programs.succeeds(ip, ["netns", "del", name(host)]) }
    }

    private func name(_ host: String) -> String { "nb-\(tag)-\(host)" }

    /// Starts a program in the namespace of a host, with the bus directory and hosts file of `user`.
    @discardableResult
    func start(
        _ user: String, _ command: String, _ arguments: [String], host: String? = nil, program: String = "navbus"
    ) throws -> Program {
        try box.start(
            ip, ["netns", "exec", name(host ?? user), "\(Programs.folder)/\(program)", command] + arguments,
            environment: ["NAVBUS_DIR": "\(box.path)/\(user)", "NAVBUS_HOSTS": "\(box.path)/\(user).yaml"])
    }

    func publicKey(_ user: String) throws -> String {
        try #require(readFile("\(box.path)/\(user).pub")).trimmingCharacters(in: .newlines)
    }
}
