import Foundation
import GNSSNode
import NavBag
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// Reading fixes from files of every kind.
struct TraceInputTests {
    private static let csv =
        "t_s,lat,lon,speed_mps,heading_deg,hdop\n1767258000,60.17,24.94,5,90,0.8\n1767258001,60.18,24.95,,,\n"
    private static let gpx = """
        <?xml version="1.0"?><gpx version="1.1"><trk><trkseg>
        <trkpt lat="60.17" lon="24.94"><time>2026-01-01T09:00:00Z</time></trkpt>
        <trkpt lat="60.18" lon="24.95"><time>2026-01-01T09:00:01Z</time></trkpt>
        </trkseg></trk></gpx>
        """
    private static let gpsd = """
        {"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}
        {"class":"TPV","mode":3,"time":"2026-01-01T09:00:00.000Z","lat":60.17,"lon":24.94}
        {"class":"TPV","mode":3,"time":"2026-01-01T09:00:01.000Z","lat":60.18,"lon":24.95}

        """
    private static let nmea = """
        $GPRMC,090000.00,A,6010.2000,N,02456.4000,E,0.0,0.0,010126,,,A*63\r
        $GPRMC,090001.00,A,6010.8000,N,02457.0000,E,0.0,0.0,010126,,,A*6D\r

        """

    @Test(arguments: [
        ("a.csv", csv), ("a.gpx", gpx), ("a.json", gpsd), ("a.nmea", nmea), ("a.txt", nmea), ("b.txt", csv),
    ])
    func eachFormatIsRead(name: String, text: String) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/\(name)"
            try Self.checked(text).write(toFile: path, atomically: true, encoding: .utf8)
            let fixes = try TraceInput(path: path).fixes.all()
            #expect(fixes.map { Self.rounded($0.latitude) } == [60.17, 60.18])
            #expect(fixes.map { Self.rounded($0.longitude) } == [24.94, 24.95])
            #expect(fixes.compactMap(\.stampNs) == [1_767_258_000_000_000_000, 1_767_258_001_000_000_000])
        }
    }

    @Test func bagReturnsTheFixesWritten() throws {
        try withTemporaryFolder { folder in
            let drive = try Helsinki.drive.get()
            let path = folder + "/a.mcap"
            var log = MessageLog(try BagWriter(path: path))
            for fix in drive {
                try log.write(fix, topic: "/gnss/fix", logTime: fix.stampNs ?? 0, publishTime: fix.stampNs ?? 0)
                try log.write(NavigationState(), topic: "/nav/state", logTime: fix.stampNs ?? 0, publishTime: 0)
            }
            try log.write(
                [0xff], topic: "/gnss/fix", type: GnssFix.fullName, sequence: 1, logTime: .max, publishTime: 0)
            try log.close()
            // The file is recognized by its content, not by its extension.
            try FileManager.default.moveItem(atPath: path, toPath: folder + "/a.csv")
            let trace = try TraceInput(path: folder + "/a.csv")
            #expect(try trace.fixes.all() == drive)
            #expect(trace.rejected.map(\.count) == [1])
            // The fixes of a long bag are not kept but read again.
            let long = try TraceInput(path: folder + "/a.csv", keeping: 3)
            #expect(try long.fixes.count == drive.count && long.fixes.all() == drive)
            #expect(long.rejected.map(\.count) == [1])
            try FileManager.default.removeItem(atPath: folder + "/a.csv")
            #expect(try trace.fixes.all() == drive)
            #expect(throws: NodeError.self) { try long.fixes.all() }
        }
    }

    @Test func missingInputsAndAClockSetBackAreNoted() throws {
        func notes(_ times: [Int64], _ sequences: [UInt64], publisher: UInt64? = 7) throws -> [String] {
            try withTemporaryFolder { folder in
                var log = MessageLog(try BagWriter(path: folder + "/a.mcap"))
                for (time, sequence) in zip(times, sequences) {
                    let stamp = (1_767_258_000 + time) * 1_000_000_000
                    let fix = GnssFix(latitude: 60.17, longitude: 24.94).encoded()
                    try fix.withUnsafeBytes { bytes in
                        try log.write(
                            bytes, topic: "/gnss/fix", type: GnssFix.fullName, sequence: sequence, publisher: publisher,
                            logTime: stamp, publishTime: stamp)
                    }
                }
                try log.close()
                return try TraceInput(path: folder + "/a.mcap").notes(about: folder + "/a.mcap")
            }
        }
        // A partial drive has no gap.
        #expect(try notes([0, 1, 2], [41, 42, 43]) == [])
        let missing = "/gnss/fix: 71 messages are missing from the sequence"
        #expect(try notes([0, 1, 73], [1, 2, 74]) == [missing, "the longest time without input is 72 s"])
        // Other writers use sequence numbers differently.
        #expect(try notes([0, 1, 73], [1, 2, 74], publisher: nil) == [])
        let back = try notes([0, 100, 101, 2, 3], [1, 2, 3, 4, 5])
        #expect(back.count == 1 && back[0].hasPrefix("1 inputs have an earlier log time"), "\(back)")
    }

    @Test func fileWithoutFixesIsRejectedWithItsTopics() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/a.mcap"
            var log = MessageLog(try BagWriter(path: path))
            try log.write(NavigationState(), topic: "/nav/state", logTime: 1, publishTime: 1)
            try log.close()
            expectError(path, .invalid, ["/gnss/fix", "it has: /nav/state"])

            var wrong = MessageLog(try BagWriter(path: folder + "/b.mcap"))
            try wrong.write(NavigationState(), topic: "/gnss/fix", logTime: 1, publishTime: 1)
            try wrong.close()
            expectError(folder + "/b.mcap", .invalid, ["navbus.v1.NavigationState", GnssFix.fullName])

            try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "/c.csv"))
            expectError(folder + "/c.csv", .invalid, ["c.csv"])
            expectError(folder + "/none", .missing, ["none", "does it exist"])
            expectError(folder, .missing, [folder])
        }
    }

    @Test func bagsOfROSAreRejectedWithTheCommandThatConvertsThem() throws {
        try withTemporaryFolder { folder in
            for encoding in ["cdr", "ros1"] {
                let path = "\(folder)/\(encoding).mcap"
                var writer = try BagWriter(path: path)
                let channel = try writer.addChannel(
                    topic: "/fix", schemaName: "sensor_msgs/msg/NavSatFix", schemaEncoding: "ros2msg", schemaData: [],
                    messageEncoding: encoding)
                try writer.write(channel: channel, sequence: 0, logTime: 1, publishTime: 1, data: [0, 1, 0, 0])
                try writer.close()
                expectError(path, .invalid, ["navbus bag convert \(path) --out"])
            }
            for (name, head) in [("a.db3", "SQLite format 3\0"), ("a.bag", "#ROSBAG V2.0\n")] {
                let path = "\(folder)/\(name)"
                try Data((head + "rest").utf8).write(to: URL(fileURLWithPath: path))
                expectError(path, .invalid, ["is a bag of ROS", "navbus bag convert \(path) --out"])
            }
            expectError(folder, .missing, ["navbus bag convert"])
        }
    }

    private func expectError(_ path: String, _ code: NodeError.Code, _ texts: [String]) {
        let error = #expect(throws: NodeError.self) { try TraceInput(path: path) }
        #expect(error?.code == code)
        for text in texts { #expect(error?.description.contains(text) == true, "\(String(describing: error))") }
    }

    private static func rounded(_ value: Double?) -> Double? { value.map { ($0 * 1e6).rounded() / 1e6 } }

    /// Returns NMEA sentences with their checksums.
    private static func checked(_ text: String) -> String {
        guard text.hasPrefix("$") else { return text }
        return text.split(whereSeparator: \.isNewline).map { line in
            let content = line.dropFirst().prefix { $0 != "*" }
            return "$\(content)*" + String(format: "%02X", content.utf8.reduce(0, ^)) + "\r\n"
        }.joined()
    }
}
