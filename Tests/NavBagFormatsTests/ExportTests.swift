import Foundation
import NavBag
import NavBagFormats
import NavGNSS
import NavMessages
import NavTestKit
import Testing

/// Recordings of several receivers in the formats of other tools.
struct ExportTests {
    private static let start: Int64 = 1_767_258_000

    /// A recording of two receivers, both with a fix a second, and of the position matched to them.
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
                // A receiver is named by the frame of its antenna, or else by its source.
                if number == 0 { fix.frameId = name } else { fix.source = name }
                add(fixes, fix.encoded())
            }
            let pose = Pose(latitude: 60.5, longitude: 24 + Double(index) * 1e-3)
            add(positions, MatchedPosition(stampNs: Int64(stamp), matched: pose).encoded())
        }
        return listed
    }

    private func text(_ format: TraceExport.Format, of recording: Listed) throws -> String {
        var text = ""
        var export = TraceExport { text += $0 }
        try export.run(format) { () throws(BagError) in recording }
        return text
    }

    @Test func receiversHaveTracksOfTheirOwnInGPX() throws {
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

    @Test func receiversHaveFeaturesOfTheirOwnInGeoJSON() throws {
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
            // The matched position is no third receiver.
            #expect(found.map(\.frameId) == (0..<10).map { $0 % 2 == 0 ? "front" : "rear" })
            #expect(found.map(\.latitude) == (0..<10).map { $0 % 2 == 0 ? 60 : 61 })
        }
    }
}
