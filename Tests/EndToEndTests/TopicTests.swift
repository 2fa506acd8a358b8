import Foundation
import NavTestSystem
import Testing

/// `navbus topic` on a bus with a running node and a drive that is played.
struct TopicTests {
    @Test func aLiveBusIsListedEchoedAndMeasured() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let drive = box.path + "/drive.mcap"
            try await box.succeed("navbus", Town.simulation(tiles: tiles, to: drive, ["--rate", "10"]))
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let player = try box.start("navbus", ["bag", "play", drive, "--clock"])
            try await box.announces("/gnss/fix", node: "player")

            let list = try await box.succeed("navbus", ["topic", "list"])
            for topic in ["/gnss/fix", "/clock", "/nav/progress", "/health/navigation-node"] {
                #expect(list.outputLines.contains { $0.hasPrefix(topic + " ") }, "\(topic) in \(list.output)")
            }
            let rows = try #require(
                try json(try await box.succeed("navbus", ["topic", "list", "--json"]).output) as? [[String: String]])
            // The player may have announced more topics since.
            let listed = Set(list.outputLines.compactMap { $0.split(separator: " ").first.map(String.init) })
            #expect(listed.isSubset(of: rows.compactMap { $0["topic"] }), "\(listed) in \(rows)")
            let fix = try #require(rows.first { $0["topic"] == "/gnss/fix" })
            #expect(fix["publisher"] == "player" && fix["type"] == "navbus.v1.GnssFix")

            let echo = try await box.succeed("navbus", ["topic", "echo", "/nav/progress", "--count", "5"])
            let progress = try echo.outputLines.map { try #require(try json($0) as? [String: Any]) }
            #expect(progress.count == 5)
            #expect(progress.allSatisfy { ($0["distance_remaining_m"] as? Double ?? 0) > 0 })

            // A late joiner still gets the latched value.
            let route = try await box.succeed("navbus", ["topic", "echo", "/nav/route", "--count", "1"])
            #expect((try json(route.output) as? [String: Any])?["geometry"] != nil)

            let last = try await box.succeed(
                "navbus", ["topic", "echo", "/nav/progress", "--count", "1", "--field", "distance_remaining_m"])
            #expect(Double(last.outputLines.first ?? "") != nil, "\(last.output)")
            let info = try await box.succeed("navbus", ["topic", "info", "/nav/progress"])
            for text in ["navigation-node", "each fix", "same", "double distance_remaining_m"] {
                #expect(info.output.contains(text), "\(text) in \(info.output)")
            }

            #expect(info.output.contains(#/subscribers +none known/#))
            let fixes = try await box.succeed("navbus", ["topic", "info", "/gnss/fix"])
            #expect(fixes.output.contains(#/subscribers +navigation-node/#), "\(fixes.output)")

            // The node reports itself as healthy.
            let nodes = try await box.succeed("navbus", ["node", "list"])
            #expect(nodes.output.contains(#/navigation-node +\d+ +\w+ +active/#), "\(nodes.output)")
            let who = ["service", "call", "navbus.v1.Node/GetInfo", "--node", "navigation-node"]
            let told = try json(try await box.succeed("navbus", who).output) as? [String: Any]
            #expect(told?["node"] as? String == "navigation-node")
            let parameters = try await box.succeed("navbus", ["node", "params", "navigation-node", "get", "tiles"])
            #expect(parameters.output.contains(tiles))
            let refused = try await box.run("navbus", ["node", "params", "navigation-node", "set", "tiles=x"])
            #expect(refused.status == 1 && refused.errors.contains("--set tiles=x"), "\(refused.errors)")
            func set(_ change: String) async throws -> Program.Result {
                try await box.run("navbus", ["node", "params", "navigation-node", "set", change])
            }
            // An optional number can be cleared again.
            for change in ["arrival.max_speed_mps=12.5", "arrival.max_speed_mps="] {
                let changed = try await set(change)
                #expect(changed.status == 0, "\(change): \(changed.errors)")
                #expect(changed.output.contains("12.5") == change.hasSuffix("12.5"), "\(change): \(changed.output)")
            }
            let unset = try await set("reroute.cooldown_s=")
            #expect(unset.status == 1 && unset.errors.contains("0 … 600"), "\(unset.errors)")
            let doctor = try await box.succeed("navbus", ["doctor", "--tiles", tiles])
            #expect(doctor.output.contains(#/ok +schemas/#), "\(doctor.output)")

            // Ten messages per second. The machine may be busy, so the median of five counts is compared with wide
            // bounds.
            let hz = try await box.succeed("navbus", ["topic", "hz", "/gnss/fix", "--duration", "5.5"])
            let rates = hz.outputLines.compactMap { Double($0.split(separator: " ")[0]) }.sorted()
            #expect(rates.count >= 3 && hz.output.contains(" 0 lost"))
            #expect((5...20).contains(rates[rates.count / 2]), "\(hz.output)")

            for program in [player, node] {
                program.send(SIGTERM)
                #expect(try await program.wait().status == 0)
            }
            let empty = try await box.succeed("navbus", ["topic", "list", "--json"])
            #expect((try json(empty.output) as? [Any])?.isEmpty == true, "\(empty.output)")
        }
    }

    @Test func routeDocumentDescribesEveryEdgeAndLeg() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let result = try await box.succeed(
                "navbus", ["route", "--tiles", tiles, "--from", Town.from, "--to", Town.to])
            let route = try #require(try json(result.output) as? [String: Any])
            for key in [
                "distance_m", "duration_s", "duration_free_flow_s", "traffic_delay_s", "geometry", "nodes", "legs",
                "toll", "ferries", "restrictions", "driving_side", "map_version",
            ] {
                #expect(route[key] != nil, "\(key)")
            }
            let countries = try #require(route["countries"] as? [[String: Any]])
            #expect(countries.count == 1 && countries[0]["country"] as? String == "FI")
            #expect(countries[0]["route_offset_m"] as? Double == 0)
            let edges = try #require(route["edges"] as? [[String: Any]])
            for key in [
                "edge_id", "way_id", "length_m", "duration_s", "duration_free_flow_s", "speed_mps", "speed_limit_mps",
                "unlimited", "congestion", "country", "driving_side", "class",
            ] {
                #expect(edges.allSatisfy { $0[key] != nil }, "\(key)")
            }
            let legs = try #require(route["legs"] as? [[String: Any]])
            #expect(legs.compactMap { $0["edge_count"] as? Int }.reduce(0, +) == edges.count)
        }
    }

    @Test func filtersCompareEnumsByTheirNamesAndIntegersExactly() async throws {
        try await withSandbox { box in
            func printed(_ topic: String, _ messages: [String], _ condition: String, count: Int) async throws
                -> [String]
            {
                try box.write("messages", messages.joined(separator: "\n"))
                let echo = try box.start(
                    "navbus", ["topic", "echo", topic, "--filter", condition, "--count", "\(count)"])
                try await box.succeed("navbus", ["topic", "pub", topic, "--file", "messages", "--wait", "60"])
                return try await echo.wait().outputLines.map(String.init)
            }
            let fixes = ["NOT_DETECTED", "DETECTED", "NOT_DETECTED", "SPOOFING_STATUS_DETECTED"].map {
                #"{"spoofing":"\#($0)"}"#
            }
            let detected = try await printed("/gnss/fix", fixes, "spoofing=DETECTED", count: 2)
            #expect(detected == [String](repeating: #"{"spoofing":"SPOOFING_STATUS_DETECTED"}"#, count: 2))
            // Both integers convert to the same floating-point number.
            let positions = ["185127663281636444", "185127663281636445"].map { #"{"road":{"edge_id":"\#($0)"}}"# }
            let edge = "road.edge_id=185127663281636445"
            #expect(try await printed("/nav/position", positions, edge, count: 1) == [positions[1]])
        }
    }

    @Test func everyJSONReportIsValid() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let calls = [
                ["map", "build", Project.map, "--out", "t", "--json"], ["map", "info", tiles, "--json"],
                ["route", "--tiles", tiles, "--from", Town.from, "--to", Town.to],
                ["route", "--tiles", tiles, "--from", Town.from, "--to", Town.to, "--format", "geojson"],
                ["route", "--tiles", tiles, "--from", Town.from, "--to", Town.to, "--format", "osrm"],
                ["route", "--tiles", tiles, "--from", Town.from, "--to", Town.to, "--depart", "2026-01-05T08:00"]
                    + ["--profile", "truck", "--weight", "7.5", "--axle-load", "5", "--dangerous-goods"],
                ["match", "--tiles", tiles, drive, "--format", "geojson"],
                Town.simulation(tiles: tiles, to: "d.mcap", ["--json"]),
                ["replay", drive, "--tiles", tiles, "--out", "o.mcap", "--json"], ["bag", "info", drive, "--json"],
                ["topic", "list", "--json"], ["topic", "info", "--json"], ["topic", "info", "/gnss/fix", "--json"],
                ["topic", "info", "--type", "navbus.v1.Route", "--json"], ["service", "list", "--json"],
                ["service", "info", "Node/GetInfo", "--json"], ["node", "list", "--json"],
            ]
            for call in calls {
                let result = try await box.succeed("navbus", call)
                #expect(throws: Never.self, "\(call): \(result.output)") { try json(result.output) }
                #expect(result.errors.isEmpty, "\(call): \(result.errors)")
            }
        }
    }
}
