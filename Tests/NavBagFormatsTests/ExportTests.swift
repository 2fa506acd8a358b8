import Foundation
import NavBag
import NavBagFormats
import NavGNSS
import NavMessages
import NavTestKit
import Testing

/// Exports of recordings with several receivers to the formats of other tools.
struct ExportTests {
    private static let start: Int64 = 1_767_258_000

    /// Returns a recording of two receivers, each with one fix per second, and of the positions matched to them.
    private func recording(_ names: [String] = ["front", "rear <&\"2\">"]) -> Listed {
        let fixes = RecordChannel.protobuf("/gnss/fix", named: GnssFix.fullName)
        let positions = RecordChannel.protobuf("/nav/position", named: MatchedPosition.fullName)
        var listed = Listed([])
        for index in 0..<5 as Range<Int64> {
            let stamp = UInt64(Self.start + index) * 1_000_000_000
            func add(_ channel: RecordChannel, _ bytes: [UInt8]) {
                listed.records.append(
                    Record(channel: channel, logTime: stamp, publishTime: stamp, data: bytes[...]))
            }
            for (number, name) in names.enumerated() {
                var fix = GnssFix(
                    latitude: 60 + Double(number), longitude: 24 + Double(index) * 1e-3,
                    timestamp: Timestamp(seconds: Self.start + index, nanos: 0))
                // The receiver's name is the frame of its antenna, or else its source.
                if number == 0 { fix.frameId = name } else { fix.source = name }
                add(fixes, fix.encoded())
            }
            let pose = Pose(latitude: 60.5, longitude: 24 + Double(index) * 1e-3)
            add(positions, MatchedPosition(stampNs: Int64(stamp), matched: pose).encoded())
        }
        return listed
    }

    private func text(_ format: TraceExport.Format, of recording: Listed) throws -> String {
        try document(format, of: recording).text
    }

    private func document(
        _ format: TraceExport.Format, of recording: Listed
    ) throws -> (text: String, count: Int) {
        var text = ""
        var export = TraceExport { text += $0 }
        try export.run(format) { () throws(BagError) in recording }
        return (text, export.count)
    }

    @Test func receiversHaveSeparateTracksInGPX() throws {
        let document = try text(.gpx, of: recording())
        let tracks = document.components(separatedBy: "<trk>").dropFirst()
        #expect(tracks.count == 2)
        for (track, (name, latitude)) in zip(tracks, [("front", "60.0"), ("rear &lt;&amp;_2_&gt;", "61.0")]) {
            #expect(track.hasPrefix("<name>\(name)</name><trkseg>\n"), "\(track)")
            #expect(track.components(separatedBy: "<trkpt lat=\"\(latitude)\"").count == 6)
            #expect(track.components(separatedBy: "<trkpt").count == 6)
        }
        #expect(try TraceReader.read(Array(document.utf8), name: "x.gpx").fixes.count == 10)
        let single = try text(.gpx, of: recording(["front"]))
        #expect(single.contains("\n<trk><trkseg>\n<trkpt") && single.hasSuffix("</trkseg></trk>\n</gpx>\n"))
    }

    @Test func receiversHaveSeparateFeaturesInGeoJSON() throws {
        let document = try text(.geojson, of: recording())
        let root = try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]
        let features = try #require(root?["features"] as? [[String: Any]])
        let properties = features.map { $0["properties"] as? [String: String] }
        #expect(
            properties == [
                ["name": "fixes", "receiver": "front"], ["name": "fixes", "receiver": "rear <&_2_>"],
                ["name": "matched"],
            ])
        for (feature, latitude) in zip(features, [60, 61, 60.5]) {
            let line = (feature["geometry"] as? [String: Any])?["coordinates"] as? [[Double]]
            #expect(line?.count == 5 && line?.allSatisfy { $0[1] == latitude } == true)
        }
        #expect(try text(.geojson, of: recording(["front"])).contains(#"{"name":"fixes"}"#))
    }

    @Test func receiversAreAColumnOfCSVThatIsReadBack() throws {
        let document = try text(.csv, of: recording(["front", "rear, left"]))
        let fixes = try TraceReader.read(Array(document.utf8), name: "x.csv").fixes
        #expect(fixes.map(\.source) == (0..<10).map { $0 % 2 == 0 ? "front" : "rear, left" })
        #expect(fixes.map(\.latitude) == (0..<10).map { $0 % 2 == 0 ? 60 : 61 })
        #expect(try !text(.csv, of: recording(["front"])).contains("receiver"))
    }

    /// A recording in which usable positions alternate with unusable ones, and no other number is finite.
    private var wild: Listed {
        let positions: [(Double?, Double?)] = [
            (60, 24), (.nan, 24), (60, .nan), (60.1, 24), (.infinity, 24), (nil, 24), (91, 24), (60, 181), (60.2, 24),
        ]
        let fixes = RecordChannel.protobuf("/gnss/fix", named: GnssFix.fullName)
        let matched = RecordChannel.protobuf("/nav/position", named: MatchedPosition.fullName)
        var listed = Listed([])
        for (index, (latitude, longitude)) in positions.enumerated() {
            let stamp = UInt64(Self.start + Int64(index)) * 1_000_000_000
            let fix = GnssFix(
                latitude: latitude, longitude: longitude, altitude: .nan,
                timestamp: Timestamp(seconds: Self.start + Int64(index), nanos: 0), speed: .infinity, course: .nan,
                hdop: -.infinity, horizontalAccuracyM: .nan)
            let pose = Pose(latitude: latitude, longitude: longitude)
            for (channel, bytes) in [(fixes, fix.encoded()), (matched, MatchedPosition(matched: pose).encoded())] {
                listed.records.append(
                    Record(channel: channel, logTime: stamp, publishTime: stamp, data: bytes[...]))
            }
        }
        return listed
    }

    @Test func numbersThatAreNotFiniteAreUnknown() throws {
        let gpx = try document(.gpx, of: wild)
        #expect(gpx.count == 3 && gpx.text.components(separatedBy: "<trkpt").count == 4)
        let geojson = try document(.geojson, of: wild)
        let root = try JSONSerialization.jsonObject(with: Data(geojson.text.utf8)) as? [String: Any]
        let lines = (root?["features"] as? [[String: Any]])?.map {
            ($0["geometry"] as? [String: Any])?["coordinates"] as? [[Double]]
        }
        #expect(lines == [[[24, 60], [24, 60.1], [24, 60.2]], [[24, 60], [24, 60.1], [24, 60.2]]])
        #expect(geojson.count == 6)
        let csv = try document(.csv, of: wild)
        #expect(csv.count == 9 && csv.text.contains("\n1767258001,,,,,,,1767258001\n"), "\(csv.text)")
        for text in [gpx.text, csv.text] { #expect(!text.contains("nan") && !text.contains("inf"), "\(text)") }
        let (drawn, failures) = drain(FoxgloveRecords(wild))
        #expect(failures == 0)
        for topic in ["/foxglove/fix", "/foxglove/position"] {
            #expect(drawn.count { $0.channel.topic == topic } == 3, "\(topic)")
        }
    }

    @Test func aROS2BagOfTwoReceiversIsReadBack() throws {
        try withTemporaryFolder { folder in
            var export = try ROS2Export(folder: folder + "/ros")
            for record in recording(["front", "rear"]).records { try export.write(record) }
            try export.close()
            #expect(
                export.tally.lines == [
                    "/gnss/fix: 10 messages became /fix (sensor_msgs/msg/NavSatFix)",
                    "/nav/position: 5 messages became /nav/position (sensor_msgs/msg/NavSatFix)",
                ])
            let found = try fixes(folder + "/ros")
            // The matched position is not a third receiver.
            #expect(found.map(\.frameId) == (0..<10).map { $0 % 2 == 0 ? "front" : "rear" })
            #expect(found.map(\.latitude) == (0..<10).map { $0 % 2 == 0 ? 60 : 61 })
        }
    }

    @Test func accuracyIsTheSameRadiusInEveryFormat() throws {
        let channel = RecordChannel.protobuf("/gnss/fix", named: GnssFix.fullName)
        let positions = RecordChannel.protobuf("/nav/position", named: MatchedPosition.fullName)
        let fix = GnssFix(
            latitude: 60, longitude: 24, timestamp: Timestamp(seconds: Self.start, nanos: 0), horizontalAccuracyM: 3.206
        )
        let pose = Pose(latitude: 60, longitude: 24, horizontalAccuracyM: 2)
        let stamp = UInt64(Self.start) * 1_000_000_000
        func listed(_ messages: [(RecordChannel, [UInt8])]) -> Listed {
            var listed = Listed([])
            listed.records = messages.map { channel, bytes in
                Record(channel: channel, logTime: stamp, publishTime: stamp, data: bytes[...])
            }
            return listed
        }
        let recording = listed([(channel, fix.encoded()), (positions, MatchedPosition(matched: pose).encoded())])
        // The radius contains 68 % of a two-dimensional normal distribution with this standard deviation per axis.
        let sigma = 3.206 / (-2 * log(0.32)).squareRoot()
        let drawn = drain(FoxgloveRecords(recording)).records
        let circle = try #require(drawn.first { $0.channel.topic == "/foxglove/fix" })
        let drawing = try FoxgloveLocationFix(decoding: Array(circle.data))
        #expect(abs((drawing.positionCovariance.first ?? 0) - sigma * sigma) < 1e-9)
        try withTemporaryFolder { folder in
            var export = try ROS2Export(folder: folder + "/ros")
            for record in recording.records { try export.write(record) }
            try export.close()
            let read = try #require(fixes(folder + "/ros").first)
            #expect(abs((read.positionCovariance.first ?? 0) - sigma * sigma) < 1e-9)
            let rows = try text(.csv, of: listed([(channel, read.encoded())]))
            #expect(rows.contains(",3.206,"), "\(rows)")
            // The accuracy of a matched position is a standard deviation; the message ends with the covariance and a
            // byte for its type.
            let position = try #require(
                drain(RecordingFile.open(folder + "/ros")).records.first { $0.channel.topic == "/nav/position" })
            let variance = Array(position.data).dropLast().suffix(72).prefix(8).reversed().reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            #expect(abs(Double(bitPattern: variance) - 4) < 1e-9)
        }
    }
}
