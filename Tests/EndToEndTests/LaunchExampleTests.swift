import Foundation
import Glibc
import NavTestSystem
import Testing

/// The example launch files, each started with the command in its first lines.
struct LaunchExampleTests {
    private static func file(_ name: String) -> String { Project.root + "/launch/" + name }

    @Test func vehicleWithGPSDDrivesToItsDestination() async throws {
        let place = Town.from.split(separator: ",")
        // A stationary receiver for some seconds, with 200 reports per second.
        let reports = (0..<1_200).map { second in
            let clock = String(format: "12:%02d:%02d", second / 60, second % 60)
            return #"{"class":"TPV","device":"/dev/ttyACM0","mode":3,"time":"2026-01-01T\#(clock).000Z","#
                + #""lat":\#(place[0]),"lon":\#(place[1]),"eph":3.0,"speed":0.0}"# + "\n"
        }.joined()
        let server = try GPSDServer(Array(reports.utf8))
        defer { server.stop() }
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let launch = try box.start(
                "navbus",
                [
                    "launch", Self.file("vehicle.yaml"), "tiles:=\(tiles)", "destination:=\(Town.to)",
                    "source:=gpsd://127.0.0.1:\(server.port)", "record:=true", "bag:=\(box.path)/drive.mcap",
                ])
            try await launch.says("state GUIDANCE")
            let echo = try box.start("navbus", ["topic", "echo", "/nav/progress", "--count", "20"])
            #expect(try await echo.wait().status == 0)
            launch.send(SIGINT)
            let result = try await launch.wait()
            #expect(result.status == 0, "\(result.errors)\n\(result.output)")
            let info = try await box.succeed("navbus", ["bag", "info", "drive.mcap", "--json"])
            let counts = try topicCounts(of: info.output)
            #expect((counts["/gnss/fix"] ?? 0) > 0 && counts["/nav/route"] == 1, "\(counts)")
        }
    }

    @Test func launchCheckFindsInvalidOptionsOfTheNodes() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            func check(_ node: String) async throws -> Program.Result {
                try box.write("drive.yaml", "nodes:\n  - name: it\n" + node)
                return try await box.run("navbus", ["launch", "--check", "drive.yaml"])
            }
            try box.write("own.yaml", "reroute: {cooldown: 5}\n")
            for (node, says) in [
                (
                    "    executable: navigation-node\n    set: {tiles: '\(tiles)', reroute.cooldown: 5}",
                    "reroute.cooldown_s"
                ),
                (
                    "    executable: navigation-node\n    set: {tiles: '\(tiles)', reroute.cooldown_s: never}",
                    "reroute.cooldown_s"
                ),
                ("    executable: navigation-node\n    config: own.yaml", "reroute.cooldown"),
                ("    executable: navigation-node\n    set: {tiles: nowhere}", "tiles: 'nowhere' does not exist"),
                ("    executable: navigation-node\n    args: [--tile, x]", "--tile"),
                ("    executable: navigation-node", "no map"), ("    executable: gnss-node", "no source"),
                ("    executable: gnss-node\n    set: {source: /nowhere/drive.nmea}", "/nowhere/drive.nmea"),
                ("    executable: gnss-node\n    set: {sorce: gpsd://localhost}", "did you mean 'source'?"),
                ("    executable: tile-cache-node\n    set: {predictive.enable: true}", "predictive.enabled"),
                ("    executable: navbus\n    args: [bag, record, --out, x.mcap, --ouput, y.mcap]", "--ouput"),
                ("    executable: navbus\n    args: [bag, play, nowhere.mcap]", "'nowhere.mcap' does not exist"),
                (
                    "    executable: navbus\n    args: [bag, record, --out, /nowhere/x.mcap]",
                    "'/nowhere/x.mcap' cannot be"
                ),
                (
                    "    executable: tile-cache-node\n    set: {store.path: /nowhere/store}",
                    "store.path: '/nowhere/store' cannot be written"
                ),
                (
                    "    executable: navigation-node\n    set: {tiles: '\(tiles)', directions.url: 'https://127.0.0.1', "
                        + "directions.token_file: /no.tok}", "directions.token_file: '/no.tok' does not exist"
                ),
                (
                    "    executable: navigation-node\n    set: {tiles: '\(tiles)', directions.url: 'https://127.0.0.1', "
                        + "directions.ca_file: /no.pem}", "directions.ca_file: '/no.pem' does not exist"
                ),
                (
                    "    executable: navigation-node\n    set: {tiles: '\(tiles)', state.path: /nowhere/trip}",
                    "state.path: '/nowhere/trip' cannot be written"
                ),
            ] {
                let result = try await check(node)
                #expect(result.status == 2, "\(node): \(result.output)\(result.errors)")
                #expect(result.errors.contains(says) && result.errors.contains("\"it\""), "\(node): \(result.errors)")
            }
            let well = try await check(
                "    executable: navigation-node\n    set: {tiles: '\(tiles)', reroute.cooldown_s: 5}")
            #expect(well.status == 0, "\(well.errors)")
        }
    }

    @Test func launchCheckReadsTheHostsFile() async throws {
        try await withSandbox { box in
            try await box.succeed("navbus", ["keygen", "--out", "vehicle"])
            let tiles = try await Town.shared.tiles
            func check(_ hosts: String) async throws -> Program.Result {
                try box.write("hosts.yaml", hosts)
                let arguments = ["hosts:=\(box.path)/hosts.yaml", "tiles:=\(tiles)"]
                return try await box.run("navbus", ["launch", "--check", Self.file("two-hosts.yaml")] + arguments)
            }
            func text(_ key: String, _ allowed: String, _ node: String, _ port: Int) -> String {
                "{secret_key_file: \(key), \(allowed): vehicle.pub, listen: {\(node): 'tcp://127.0.0.1:\(port)'}}"
            }
            for (hosts, says) in [
                (text("vehicle.key", "allowed_keys_file", "navigation-node", 99_999), "99999"),
                (text("none.key", "allowed_keys_file", "navigation-node", 7_600), "none.key"),
                (text("vehicle.pub", "allowed_keys_file", "navigation-node", 7_600), "the public key"),
                (
                    text("vehicle.key", "allowed_key_file", "navigation-node", 7_600),
                    "did you mean 'allowed_keys_file'?"
                ),
            ] {
                let result = try await check(hosts)
                #expect(result.status == 2 && result.errors.contains(says), "\(hosts): \(result.errors)")
                #expect(result.errors.contains("node \"navigation-node\": hosts file"), "\(result.errors)")
            }
            let missing = try await box.run(
                "navbus", ["launch", "--check", Self.file("two-hosts.yaml"), "hosts:=/nope.yaml", "tiles:=\(tiles)"])
            #expect(missing.status == 2 && missing.errors.contains("/nope.yaml"), "\(missing.errors)")
            let stray = try await check(text("vehicle.key", "allowed_keys_file", "navigation-nod", 7_600))
            #expect(
                stray.status == 0
                    && stray.errors.contains("\"navigation-nod\" in \"listen\" is not a node of this launch"),
                "\(stray.errors)")
            let well = try await check(text("vehicle.key", "allowed_keys_file", "navigation-node", 7_600))
            #expect(well.status == 0 && well.errors.isEmpty, "\(well.errors)")
        }
    }

    @Test func playbackIsReproducibleAndShowsTheEffectOfASetting() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            func play(_ input: String, to bag: String, _ more: [String] = []) async throws {
                try await box.succeed(
                    "navbus",
                    [
                        "launch", Self.file("playback.yaml"), "drive:=\(input)", "tiles:=\(tiles)",
                        "destination:=\(Town.to)", "bag:=\(box.path)/\(bag)",
                    ] + more)
            }
            try await play(drive, to: "one.mcap")
            // A recording is a valid input: only its fixes are played.
            try await play(box.path + "/one.mcap", to: "two.mcap")
            let one = try #require(readBytes(box.path + "/one.mcap"))
            #expect(one == readBytes(box.path + "/two.mcap"))
            try await play(drive, to: "other.mcap", ["change:=reroute.detect=false"])
            let diff = try await box.run("navbus", ["bag", "diff", "one.mcap", "other.mcap"])
            #expect(diff.output.contains("reroute WILL_REROUTE"), "\(diff.output)\(diff.errors)")
        }
    }
}
