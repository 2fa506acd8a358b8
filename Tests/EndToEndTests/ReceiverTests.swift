import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// `gnss-node` with every kind of source.
struct ReceiverTests {
    /// Starts the node on a source, with a listener that ends after `count` positions; returns when each has discovered
    /// the other.
    private func start(_ source: String, count: Int, in box: Sandbox, _ settings: [String] = []) async throws
        -> (node: Program, echo: Program)
    {
        let echo = try box.start("navbus", ["topic", "echo", "/gnss/fix", "--count", "\(count)"])
        let keys = (["source=\(source)"] + settings).flatMap { ["--set", $0] }
        return (try box.start("gnss-node", keys), echo)
    }

    private func positions(_ echo: Program) async throws -> [(latitude: Double, longitude: Double)] {
        let result = try await echo.wait()
        guard result.status == 0 else { throw Failure("echo: exit \(result.status)\n\(result.errors)") }
        return try result.outputLines.map { line in
            let fix = try json(line) as? [String: Any]
            return (try #require(fix?["latitude"] as? Double), try #require(fix?["longitude"] as? Double))
        }
    }

    private static func isInNagoya(_ place: (latitude: Double, longitude: Double)) -> Bool {
        (35.0...35.4).contains(place.latitude) && (136.7...137.2).contains(place.longitude)
    }

    /// Returns one sentence per second of a drive northwards.
    private static func sentences(_ count: Int, from second: Int = 0) -> String {
        (second..<second + count).map { second in
            let clock = String(format: "12%02d%02d.00", second / 60, second % 60)
            let minutes = String(format: "10.%04d", second * 10)
            return nmea("GPRMC,\(clock),A,60\(minutes),N,02456.0000,E,10.0,0.0,010126,,,A")
                + nmea("GPGGA,\(clock),60\(minutes),N,02456.0000,E,1,08,0.9,10.0,M,18.0,M,,")
        }.joined()
    }

    private static func nmea(_ content: String) -> String {
        "$\(content)*" + String(format: "%02X", content.utf8.reduce(0, ^)) + "\r\n"
    }

    @Test(.needs("gnss/wire/nagoya/gpsd.jsonl"))
    func gpsdReportsAreRequestedAndReceived() async throws {
        let data = TestData.directory
        let reports = try #require(readBytes(data + "/gnss/wire/nagoya/gpsd.jsonl"))
        let server = try GPSDServer(reports)
        defer { server.stop() }
        try await withSandbox { box in
            let (node, echo) = try await start("gpsd://127.0.0.1:\(server.port)", count: 20, in: box)
            let places = try await positions(echo)
            #expect(places.count == 20)
            #expect(places.allSatisfy(Self.isInNagoya))
            #expect(server.asked.contains("?WATCH"))
            #expect(server.asked.contains(#""json":true"#))
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test(.needs("gnss/wire/nagoya/gpsd.jsonl"))
    func restartedDaemonIsFoundAgain() async throws {
        let data = TestData.directory
        let reports = try #require(readBytes(data + "/gnss/wire/nagoya/gpsd.jsonl"))
        let first = try GPSDServer(reports)
        defer { first.stop() }
        try await withSandbox { box in
            let (node, echo) = try await start(
                "gpsd://127.0.0.1:\(first.port)", count: 5, in: box, ["retry.max_s=0.2"])
            _ = try await positions(echo)
            first.stop()
            try await node.says("trying again")

            let again = try box.start("navbus", ["topic", "echo", "/gnss/fix", "--count", "5"])
            try await box.announces("/gnss/fix", node: "gnss-node")
            let second = try GPSDServer(reports, port: first.port)
            defer { second.stop() }
            let places = try await positions(again)
            #expect(places.allSatisfy(Self.isInNagoya))
            #expect(node.exitStatus == nil)
            // One line for the lost connection and one for the failing attempts, however many there are.
            #expect(node.errors.ranges(of: "trying again").count <= 2, "\(node.errors)")
        }
    }

    @Test func missingDaemonIsRetriedWithAWarning() async throws {
        let server = try GPSDServer([])
        server.stop()
        try await withSandbox { box in
            let node = try box.start("gnss-node", ["--set", "source=gpsd://127.0.0.1:\(server.port)"])
            try await node.says("cannot connect to 127.0.0.1:\(server.port): Connection refused; trying again")
            node.send(SIGINT)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test func silentDaemonIsLoggedWithAdvice() async throws {
        let server = try GPSDServer([])
        defer { server.stop() }
        try await withSandbox { box in
            let node = try box.start("gnss-node", ["--set", "source=gpsd://127.0.0.1:\(server.port)"])
            try await node.says("connected to it (gpsmon)")
            #expect(node.errors.contains("fix_stale: no fix yet from gpsd://127.0.0.1"), "\(node.errors)")
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test func unknownHostIsReported() async throws {
        try await withSandbox { box in
            let node = try box.start("gnss-node", ["--set", "source=gpsd://no-such-host.invalid:2947"])
            try await node.says("cannot find host 'no-such-host.invalid'")
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
        }
    }

    /// Runs gpsd itself, fed by gpsfake through a pseudo-terminal.
    @Test(
        .enabled(
            if: Project.find("gpsfake") != nil && Project.find("gpsd") != nil,
            "needs the Debian packages gpsd and gpsd-clients"))
    func realGPSDFeedsTheNode() async throws {
        let gpsfake = try #require(Project.find("gpsfake"))
        let free = try GPSDServer([])
        free.stop()
        try await withSandbox { box in
            let log = try box.write("drive.nmea", Self.sentences(60))
            let (node, echo) = try await start(
                "gpsd://127.0.0.1:\(free.port)", count: 5, in: box, ["retry.max_s=0.5"])
            let daemon = try box.start(gpsfake, ["-q", "-c", "0.2", "-P", "\(free.port)", log])
            let places: [(latitude: Double, longitude: Double)]
            do {
                places = try await positions(echo)
            } catch {
                throw Failure("\(error)\ngnss-node: \(node.errors)\ngpsfake: \(daemon.output)\(daemon.errors)")
            }
            #expect(places.allSatisfy { (60.1...60.3).contains($0.latitude) && (24.9...25).contains($0.longitude) })
            daemon.send(SIGINT)
            _ = try await daemon.wait()
        }
    }

    /// A reception time would be that of the playback, which says nothing about the latency of recorded fixes.
    @Test func fixesOfAFileHaveNoReceiveStamp() async throws {
        try await withSandbox { box in
            let log = try box.write("drive.nmea", Self.sentences(3))
            let (node, echo) = try await start(log, count: 3, in: box)
            let result = try await echo.wait()
            #expect(result.status == 0, "\(result.errors)")
            for line in result.outputLines {
                let fix = try #require(try json(line) as? [String: Any])
                #expect(fix["latitude"] != nil && fix.keys.allSatisfy { !$0.hasPrefix("receive_") }, "\(line)")
            }
            #expect(try await node.wait().status == 0)
        }
    }

    /// A file that is played fast is not mistaken for a receiver with a wrong clock.
    @Test func aFastFileLeadsToTheSameReroute() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            try await box.succeed("gnss-node", ["--set", "source=\(drive)", "--set", "file.rate=25"])
            try await node.says("arrival ARRIVED destination")
            expectInOrder(
                ["reroute WILL_REROUTE", "reroute APPLIED", "arrival ARRIVED"], in: node.output + node.errors)
        }
    }

    @Test func aSerialDeviceIsRead() async throws {
        let receiver = try SerialReceiver()
        try await withSandbox { box in
            let (node, echo) = try await start(receiver.device, count: 5, in: box)
            try await node.says("reading '\(receiver.device)'")
            var second = 0
            try await eventually("five positions", detail: { node.errors + echo.errors }) {
                receiver.send(Self.sentences(1, from: second % 3_600))
                second += 1
                return echo.exitStatus != nil
            }
            let places = try await positions(echo)
            #expect(places.count == 5)
            #expect(places.allSatisfy { (60.1...61.0).contains($0.latitude) && abs($0.longitude - 24.9333) < 1e-3 })
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test func gpsWeekRolloverIsCorrected() async throws {
        let receiver = try SerialReceiver()
        try await withSandbox { box in
            // 2006-05-18 is 2026-01-01 minus 1,024 weeks.
            let echo = try box.start("navbus", ["topic", "echo", "/gnss/fix", "--count", "3"])
            let node = try box.start("gnss-node", ["--name", "roof", "--set", "source=\(receiver.device)"])
            try await node.says("reading '\(receiver.device)'")
            var second = 0
            try await eventually("three positions", detail: { node.errors + echo.errors }) {
                receiver.send(
                    Self.nmea(
                        "GPRMC,1200" + String(format: "%02d", second % 60)
                            + ",A,6010.0000,N,02456.0000,E,10.0,0.0,180506,,,A"))
                second += 1
                return echo.exitStatus != nil
            }
            let noon = 1_767_268_800.0
            for line in try await echo.wait().outputLines {
                let fix = try json(line) as? [String: Any]
                let time = (fix?["timestamp"] as? [String: Any])?["seconds"]
                let seconds = try #require((time as? Double) ?? (time as? String).flatMap(Double.init), "\(line)")
                #expect((noon..<noon + 60).contains(seconds))
                // Where the format does not name the receiver, the node's name for it is used.
                #expect(fix?["source"] as? String == "roof")
            }
            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test func filesOfEveryKindArePlayedToTheirEnd() async throws {
        try await withSandbox { box in
            let csv =
                "t_s,lat,lon,speed_mps,heading_deg,hdop\n"
                + (0..<10).map { "\(1_767_258_000 + $0),60.17,\(24.94 + Double($0) * 1e-4),,,\n" }.joined()
            let files = [
                try box.write("drive.csv", csv), try box.write("drive.nmea", Self.sentences(10)),
                try await Town.shared.drive,
            ]
            for file in files {
                let rate = file.hasSuffix(".mcap") ? 200 : 20
                let count = file.hasSuffix(".mcap") ? Town.fixCount : 10
                let (node, echo) = try await start(file, count: count, in: box, ["file.rate=\(rate)"])
                #expect(try await positions(echo).count == count)
                let result = try await node.wait()
                #expect(result.status == 0)
                #expect(result.errors.contains("\(count) fixes published"), "\(result.errors)")
            }
        }
    }

    @Test(.needs("gnss/wire/nagoya"))
    func recordedFilesOfARealDriveArePlayed() async throws {
        let folder = TestData.gnss("wire/nagoya")
        try await withSandbox { box in
            for name in ["nmea.txt", "gpsd.jsonl", "track.gpx"] {
                let (node, echo) = try await start("\(folder)/\(name)", count: 20, in: box, ["file.rate=50"])
                #expect(try await positions(echo).allSatisfy(Self.isInNagoya))
                node.send(SIGTERM)
                #expect(try await node.wait().status == 0)
            }
        }
    }
}
