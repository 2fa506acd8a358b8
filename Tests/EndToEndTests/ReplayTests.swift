import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The same drive, configuration and map give the same bytes.
struct ReplayTests {
    private func replay(
        _ input: String, tiles: String, in box: Sandbox, as name: String, _ more: [String] = []
    ) async throws -> [UInt8] {
        let bag = "\(box.path)/\(name).mcap"
        try await box.succeed("navbus", ["replay", input, "--tiles", tiles, "--out", bag] + more)
        return try #require(readBytes(bag))
    }

    @Test func aSimulatedDriveGivesTheSameBytesTwice() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let first = try await replay(drive, tiles: tiles, in: box, as: "1", ["--to", Town.to])
            let second = try await replay(drive, tiles: tiles, in: box, as: "2", ["--to", Town.to])
            #expect(first == second)
            let undirected = try await replay(drive, tiles: tiles, in: box, as: "3")
            #expect(undirected != first, "the destination makes no difference")
        }
    }

    @Test func simulatedDriveDependsOnTheSeedOnly() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            for (name, seed) in [("a", 3), ("b", 3), ("c", 4)] {
                try await box.succeed("navbus", Town.simulation(tiles: tiles, seed: seed, to: name + ".mcap"))
            }
            let drives = try ["a", "b", "c"].map { try #require(readBytes("\(box.path)/\($0).mcap")) }
            #expect(drives[0] == drives[1])
            #expect(drives[0] != drives[2])
        }
    }

    @Test func aReplayOfAReplayGivesTheSameBytes() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let first = try await replay(drive, tiles: tiles, in: box, as: "1", ["--to", Town.to])
            let second = try await replay(box.path + "/1.mcap", tiles: tiles, in: box, as: "2", ["--to", Town.to])
            #expect(first == second)
        }
    }

    @Test func aRecordedBagReplaysLikeTheDriveThatWasPlayed() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--out", "live.mcap"])
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            try await box.succeed("navbus", ["bag", "play", drive, "--rate", "100", "--subscribers", "2"])
            for program in [node, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0)
            }
            let played = try await replay(drive, tiles: tiles, in: box, as: "1", ["--to", Town.to])
            let recorded = try await replay(box.path + "/live.mcap", tiles: tiles, in: box, as: "2", ["--to", Town.to])
            #expect(played == recorded)
        }
    }

    @Test func odometryIsSimulatedReplayedAndRecorded() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let wheels = ["--odometry", "20", "--outage", "200-240", "--latency", "0.2", "--back-up", "8", "--json"]
            var bags: [[UInt8]] = []
            for name in ["drive.mcap", "again.mcap"] {
                let said = try await box.succeed("navbus", Town.simulation(tiles: tiles, to: name, wheels))
                let report = try json(said.output) as? [String: Any]
                #expect((report?["odometry"] as? Int ?? 0) > 20 * 300 && (report?["outage"] as? Double ?? 0) >= 41)
                bags.append(try #require(readBytes("\(box.path)/\(name)")))
            }
            #expect(bags[0] == bags[1])

            let said = try await box.succeed(
                "navbus",
                ["replay", "drive.mcap", "--tiles", tiles, "--to", Town.to, "--out", "1.mcap", "--json"])
            let summary = try json(said.output) as? [String: Any]
            #expect((summary?["odometry"] as? Int ?? 0) > 20 * 300 && summary?["rejected"] as? Int == 0)
            // Unused reports are counted in a message.
            let recorded = try topicCounts(
                of: try await box.succeed("navbus", ["bag", "info", "drive.mcap", "--json"]).output)
            let unused = (recorded["/vehicle/odometry"] ?? 0) - (summary?["odometry"] as? Int ?? 0)
            #expect(
                unused == 0 || said.errors.contains("not used: \(unused) odometry reports before"), "\(said.errors)")
            let info = try await box.succeed("navbus", ["bag", "info", "1.mcap", "--json"])
            let counts = try topicCounts(of: info.output)
            #expect((counts["/vehicle/odometry"] ?? 0) > 20 * 300 && counts["/nav/simulation"] == 4)
            #expect((counts["/nav/receiver"] ?? 0) == 1)

            // A node that gets the bag in lockstep publishes the same.
            let recorder = try box.start("navbus", ["bag", "record", "--lockstep", "--out", "live.mcap"])
            let node = try box.start(
                "navigation-node",
                ["--set", "sim_time=true", "--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.succeed(
                "navbus", ["bag", "play", "drive.mcap", "--lockstep", "--wait-for", "navigation-node,recorder"])
            for program in [node, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0)
            }
            let live = try topicCounts(
                of: try await box.succeed("navbus", ["bag", "info", "live.mcap", "--json"]).output)
            for topic in ["/vehicle/odometry", "/gnss/fix", "/nav/simulation", "/nav/receiver", "/nav/reroute"] {
                #expect(live[topic] == counts[topic], "\(topic)")
            }
        }
    }

    @Test(.needs("osm/andorra.osm.pbf"))
    func mappedTunnelIsAnOutageWithReceiverErrors() async throws {
        try await withSandbox { box in
            let data = TestData.directory
            try await box.succeed("navbus", ["map", "build", data + "/osm/andorra.osm.pbf", "--out", "tiles"])
            func simulate(_ name: String, _ options: [String]) async throws -> [String: Any] {
                let places = ["--from", "42.5532044,1.5896371", "--to", "42.5085268,1.5354605"]
                let said = try await box.succeed(
                    "navbus", ["simulate", "--tiles", "tiles", "--out", name, "--json"] + places + options)
                return try #require(try json(said.output) as? [String: Any])
            }
            let dark = try await simulate("dark.mcap", ["--odometry", "20"])
            #expect((dark["outage"] as? Double ?? 0) >= 10)
            for options in [["--noise", "none"], ["--no-tunnel-outages"]] {
                #expect(try await simulate("light.mcap", options)["outage"] as? Double == 0)
            }
            #expect(
                (try await simulate("none.mcap", ["--noise", "none", "--tunnel-outages"])["outage"] as? Double ?? 0)
                    >= 10)
            try await box.succeed(
                "navbus",
                ["replay", "dark.mcap", "--tiles", "tiles", "--to", "42.5085268,1.5354605", "--out", "1.mcap"])
            let counts = try topicCounts(
                of: try await box.succeed("navbus", ["bag", "info", "1.mcap", "--json"]).output)
            #expect((counts["/nav/simulation"] ?? 0) >= 4 && (counts["/nav/reroute"] ?? 0) == 0)
        }
    }

    @Test(.needs("gnss/hof", "gnss/wire/nagoya/nmea.txt"))
    func aRealDriveGivesTheSameBytesTwice() async throws {
        try await withSandbox { box in
            let data = TestData.directory + "/gnss"
            try await box.succeed("navbus", ["map", "build", data + "/hof/network.osm.pbf", "--out", "tiles"])
            let trace = data + "/hof/open/000/trace.csv"
            let first = try await replay(trace, tiles: "tiles", in: box, as: "1")
            let second = try await replay(trace, tiles: "tiles", in: box, as: "2")
            #expect(first == second)
            let info = try await box.succeed("navbus", ["bag", "info", "1.mcap", "--json"])
            let fixes = try #require(readFile(trace)).split(whereSeparator: \.isNewline).count - 1
            #expect(try topicCounts(of: info.output)["/gnss/fix"] == fixes)

            // A drive outside the map is no error: it is free driving without a road.
            let nagoya = data + "/wire/nagoya/nmea.txt"
            let outside = try await replay(nagoya, tiles: "tiles", in: box, as: "3")
            #expect(outside == (try await replay(nagoya, tiles: "tiles", in: box, as: "4")))
        }
    }
}
