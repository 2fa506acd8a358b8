import Foundation
import NavTestSystem
import Testing

/// `navbus node` and `navbus doctor` with a node that serves its own schema and status.
@Suite(
    .enabled(
        if: Project.hasPython && Project.find("protoc") != nil,
        "needs protoc, and Python with zmq, google.protobuf, mcap and mcap_protobuf: set NAVBUS_PYTHON"))
struct NodeToolTests {
    private func withWeather(_ body: (Sandbox, Program) async throws -> Void) async throws {
        try await withSandbox { box in
            let script = Project.root + "/Tests/Peers/weather_node.py"
            let node = try box.start(Project.python, [script, "weather"])
            try await box.announces("/weather", node: "weather")
            try await body(box, node)
        }
    }

    @Test func nodesAreListedWithTheirHealth() async throws {
        try await withWeather { box, _ in
            let list = try await box.succeed("navbus", ["node", "list"])
            let row = try #require(list.outputLines.first { $0.hasPrefix("weather ") }, "\(list.output)")
            #expect(row.contains("DEGRADED") && row.contains("windy: the mast shakes"))
            let rows = try #require(
                try json(try await box.succeed("navbus", ["node", "list", "--json"]).output) as? [[String: Any]])
            #expect(rows.count == 1 && rows[0]["topics"] as? Int == 2 && rows[0]["services"] as? Int == 2)

            let info = try await box.succeed("navbus", ["node", "info", "weather"])
            for text in ["1.2.3", "publishes", "/weather", "subscribes", "/weathr", "serves weather.v1.Weather"] {
                #expect(info.output.contains(text), "\(text) in \(info.output)")
            }
            let near = try await box.run("navbus", ["node", "info", "wether"])
            #expect(near.status == 1 && near.errors.contains("did you mean 'weather'?"))
            let subscribers = try await box.succeed("navbus", ["topic", "info", "/gnss/fix"])
            #expect(subscribers.output.contains(#/subscribers +weather/#))
        }
    }

    @Test(arguments: [60, 80])
    func tablesFitTheTerminal(columns: Int) async throws {
        try await withWeather { box, _ in
            for call in [
                ["node", "list"], ["node", "info", "weather"], ["node", "params", "weather"], ["topic", "list"],
                ["service", "list"], ["topic", "info", "/weather"], ["service", "info", "Navigation"],
                ["service", "info", "weather.v1.Weather"],
            ] {
                let shown = try await box.run("navbus", call, environment: ["COLUMNS": "\(columns)"])
                let wide = shown.outputLines.filter { $0.count > columns }
                #expect(shown.status == 0 && wide.isEmpty, "\(call): \(wide)")
                // No column is dropped. Values and their units differ between calls.
                let whole = try await box.succeed("navbus", call).output
                func words(_ text: String) -> [Substring] {
                    text.split { " ,\n".contains($0) }.filter { $0.first?.isLetter == true && $0.count > 3 }
                        .sorted()
                }
                #expect(words(shown.output) == words(whole), "\(call): \(shown.output)")
            }
        }
    }

    @Test func parametersAreReadAndChanged() async throws {
        try await withWeather { box, _ in
            let list = try await box.succeed("navbus", ["node", "params", "weather"])
            #expect(list.output.contains(#/rate_hz +10.0 +Hz +live +1 … 100 +How often./#), "\(list.output)")
            let set = ["node", "params", "weather", "set", "rate_hz=20", "verbose=true"]
            #expect(try await box.succeed("navbus", set).output.contains("20.0"))
            let get = try await box.succeed("navbus", ["node", "params", "weather", "get", "rate_hz", "--json"])
            let values = try #require(try json(get.output) as? [[String: Any]])
            #expect(values.map { $0["double_value"] as? Double } == [20])
            for (change, status, says) in [
                ("rate_hz=1000", 1, "1 … 100"), ("rate_hz=fast", 2, "a number, 1 … 100"), ("station=x", 1, "--set"),
                ("rat_hz=1", 2, "did you mean 'rate_hz'?"), ("verbose=7", 2, "give true or false\n"),
                ("rate_hz=0x10", 2, "a number, 1 … 100"),
            ] as [(String, Int32, String)] {
                let refused = try await box.run("navbus", ["node", "params", "weather", "set", change])
                #expect(refused.status == status && refused.errors.contains(says), "\(change): \(refused.errors)")
            }
        }
    }

    @Test func doctorReportsProblemsAndFailsOnlyThen() async throws {
        try await withWeather { box, node in
            let well = try await box.run("navbus", ["doctor"])
            for text in ["libzmq", "CURVE", "inotify", "registry", "time sync", "every node answers"] {
                #expect(well.output.contains(text), "\(text) in \(well.output)")
            }
            #expect(well.status == 0, "\(well.output)")
            #expect(
                well.output.contains(
                    #/warn +topic /weathr +subscribed to by weather, but not published; did you mean /weather\?/#))
            #expect(well.output.contains(#/warn +node weather +DEGRADED: windy/#))

            try box.write(
                "hosts.yaml",
                """
                insecure: true
                listen: {wether: 'tcp://127.0.0.1:7600', weather: 'tcp://127.0.0.1:7602'}
                """)
            let hosts = try await box.run(
                "navbus", ["doctor"], environment: ["NAVBUS_HOSTS": box.path + "/hosts.yaml"])
            #expect(hosts.output.contains("no node 'wether' is running in this domain"), "\(hosts.output)")
            #expect(hosts.output.contains("did you mean \"weather\"?") && !hosts.output.contains("no node 'weather'"))
            #expect(hosts.output.contains("; 0 other hosts;") && hosts.status == 0, "\(hosts.output)")

            // A second source of fixes, stale files of a dead node, and a node that hangs.
            let fix = ["topic", "pub", "/gnss/fix", "{}", "--wait", "0", "--rate", "10", "--name"]
            let sources = try ["left", "right"].map { try box.start("navbus", fix + [$0]) }
            for name in ["left", "right"] { try await box.announces("/gnss/fix", node: name) }
            sources[0].send(SIGKILL)
            _ = try await sources[0].wait()
            let third = try box.start("navbus", fix + ["third"])
            try await box.announces("/gnss/fix", node: "third")
            let dead = try box.start("navbus", fix + ["dead"])
            try await box.announces("/gnss/fix", node: "dead")
            dead.send(SIGKILL)
            _ = try await dead.wait()
            node.send(SIGSTOP)
            let ill = try await box.run("navbus", ["doctor", "--json", "--peer", "127.0.0.1:1", "--tiles", "nowhere"])
            node.send(SIGCONT)
            #expect(ill.status == 1)
            let findings = try #require(try json(ill.output) as? [[String: String]])
            func says(_ check: String, _ state: String, _ text: String) -> Bool {
                findings.contains {
                    $0["check"] == check && $0["state"] == state && $0["text"]?.contains(text) == true
                }
            }
            #expect(says("topic /gnss/fix", "warn", "right and third"), "\(ill.output)")
            #expect(says("leftovers", "warn", "dead"), "\(ill.output)")
            #expect(says("node weather", "fail", "does not answer within 1 s"), "\(ill.output)")
            #expect(says("peer", "fail", "127.0.0.1:1"), "\(ill.output)")
            #expect(says("tiles", "fail", "nowhere"), "\(ill.output)")
            _ = third
        }
    }

    @Test func doctorDetectsAnUnusableBus() async throws {
        try await withSandbox { box in
            let long = "/tmp/" + String(repeating: "x", count: 100)
            let path = try await box.run("navbus", ["doctor"], environment: ["NAVBUS_DIR": long])
            #expect(path.status == 1 && path.output.contains(#/fail +socket paths .*bytes shorter/#), "\(path.output)")
            try FileManager.default.createDirectory(atPath: box.path + "/b", withIntermediateDirectories: false)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: box.path + "/b")
            let open = try await box.run("navbus", ["doctor"])
            #expect(open.status == 1 && open.output.contains(#/fail +registry .*chmod 700/#), "\(open.output)")
        }
    }
}
