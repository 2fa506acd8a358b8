import Foundation
import NavBag
import NavGeo
import NavMap
import NavMessages
import NavNavigator
import NavNodes
import NavRouting
import Testing

/// Recorded drives whose journals are executed again.
struct JournalReplayTests {
    /// A replay of the drive in Helsinki with new traffic on the way, as a bag.
    private static func record(_ path: String, tiles: String) throws {
        let drive = try Helsinki.drive.get()
        let map = MapSnapshot(graph: try TilesetDirectory(path: tiles).loadGraph())
        var log = MessageLog(try BagWriter(path: path + ".in", overwrite: true))
        for (index, fix) in drive.enumerated() {
            let stamp = fix.stampNs ?? 0
            try log.write(fix, topic: "/gnss/fix", logTime: stamp, publishTime: stamp)
            guard index == 11 else { continue }
            let speeds = stride(from: 0, to: map.graph.edgeCount, by: 7).map { index -> NavMessages.TrafficSpeed in
                let shape = map.graph.shape(of: EdgeIndex(index))
                return NavMessages.TrafficSpeed(
                    fromNode: shape.nodeID(0), toNode: shape.nodeID(1), speedMps: 2,
                    validUntilNs: stamp + 20_000_000_000)
            }
            try log.write(
                TrafficSpeeds(stampNs: stamp, provider: "test", speeds: speeds), topic: "/traffic/speeds",
                logTime: stamp, publishTime: stamp)
        }
        try log.close()
        let trace = try TraceInput(path: path + ".in")
        var out = MessageLog(try BagWriter(path: path, overwrite: true))
        // The replay writes what it takes in, too: its bag is as good as a recording.
        _ = try Replay(map: map, configuration: Helsinki.configuration).run(
            trace.fixes, others: trace.others, into: &out)
        try out.close()
    }

    private static func execute(_ path: String, tiles: String) throws -> JournalReplay.Summary {
        var log: MessageLog<FileSink>?
        return try JournalReplay(bag: path, tiles: tiles).run(into: &log)
    }

    /// Copies a bag, with its messages changed or left out.
    private static func rewrite(
        _ path: String, to copy: String, _ change: (String, [UInt8]) throws -> [UInt8]?
    ) throws {
        let reader = try BagReader(path: path)
        var log = MessageLog(try BagWriter(path: copy, overwrite: true))
        var cursor = reader.messages(BagQuery(order: .file))
        while let message = try cursor.next() {
            let channel = try #require(reader.index.channel(message.channelID))
            let type = try #require(reader.index.schema(channel.schemaID)).name
            guard let bytes = try change(channel.topic, Array(message.data)) else { continue }
            try log.write(
                bytes, topic: channel.topic, type: type, sequence: UInt64(message.sequence),
                logTime: Int64(clamping: message.logTime), publishTime: Int64(clamping: message.publishTime))
        }
        try log.close()
    }

    @Test func aDriveIsReproducedBitForBit() throws {
        let tiles = try Tiles()
        try withFolder { folder in
            let bag = folder + "/drive.mcap"
            try Self.record(bag, tiles: tiles.path)
            let summary = try Self.execute(bag, tiles: tiles.path)
            #expect(summary.difference == nil)
            #expect(summary.events > 300 && summary.messages > summary.events * 2 && summary.unrecorded == 0)
            #expect(summary.runs == 1)
        }
    }

    @Test func theFirstDifferenceIsNamed() throws {
        let tiles = try Tiles()
        try withFolder { folder in
            let (bag, other) = (folder + "/drive.mcap", folder + "/other.mcap")
            try Self.record(bag, tiles: tiles.path)
            var count = 0
            try Self.rewrite(bag, to: other) { topic, bytes in
                guard topic == "/nav/progress" else { return bytes }
                count += 1
                guard count == 50 else { return bytes }
                var progress = try RouteProgress(decoding: bytes)
                progress.distanceRemainingM = 4_711
                return progress.encoded()
            }
            let difference = try #require(try Self.execute(other, tiles: tiles.path).difference)
            #expect(difference.hasPrefix("message 50 of /nav/progress, with event "))
            #expect(difference.contains("recorded:   \"distance_remaining_m\": 4711"))
            #expect(difference.contains("reproduced: \"distance_remaining_m\": "))
        }
    }

    @Test func aFixThatIsAnotherLeadsToAnotherDrive() throws {
        let tiles = try Tiles()
        try withFolder { folder in
            let (bag, other) = (folder + "/drive.mcap", folder + "/other.mcap")
            try Self.record(bag, tiles: tiles.path)
            var count = 0
            try Self.rewrite(bag, to: other) { topic, bytes in
                guard topic == "/nav/journal" else { return bytes }
                var entry = try JournalEntry(decoding: bytes)
                guard case .fix(var fix)? = entry.event else { return bytes }
                count += 1
                guard count == 100 else { return bytes }
                fix.latitude = (fix.latitude ?? 0) + 0.000_05
                entry.event = .fix(fix)
                return entry.encoded()
            }
            let difference = try #require(try Self.execute(other, tiles: tiles.path).difference)
            #expect(difference.contains("/nav/position") || difference.contains("/nav/progress"), "\(difference)")
        }
    }

    @Test func whatTheRecorderMissedIsCounted() throws {
        let tiles = try Tiles()
        try withFolder { folder in
            let (bag, other) = (folder + "/drive.mcap", folder + "/other.mcap")
            try Self.record(bag, tiles: tiles.path)
            var count = 0
            try Self.rewrite(bag, to: other) { topic, bytes in
                if topic == "/nav/position" { count += 1 }
                return topic == "/nav/position" && (60..<63).contains(count) ? nil : bytes
            }
            let summary = try Self.execute(other, tiles: tiles.path)
            #expect(summary.difference == nil && summary.unrecorded == 3)
        }
    }

    @Test func aJournalThatIsIncompleteIsRefusedWithWhatIsMissing() throws {
        let tiles = try Tiles()
        try withFolder { folder in
            let (bag, other) = (folder + "/drive.mcap", folder + "/other.mcap")
            try Self.record(bag, tiles: tiles.path)
            for (from, words) in [(0, "after the core's start"), (40, "lacks entries 41 to 42")] {
                var count = 0
                try Self.rewrite(bag, to: other) { topic, bytes in
                    guard topic == "/nav/journal" else { return bytes }
                    defer { count += 1 }
                    return (from..<from + 2).contains(count) ? nil : bytes
                }
                let error = try #require(throws: NodeError.self) { try Self.execute(other, tiles: tiles.path) }
                #expect(error.description.contains(words), "\(error)")
            }
            try Self.rewrite(bag, to: other) { topic, bytes in topic == "/traffic/speeds" ? nil : bytes }
            let error = try #require(throws: NodeError.self) { try Self.execute(other, tiles: tiles.path) }
            #expect(error.description.contains("/traffic/speeds"), "\(error)")
            try Self.rewrite(bag, to: other) { topic, bytes in topic == "/nav/journal" ? nil : bytes }
            let none = try #require(throws: NodeError.self) { try Self.execute(other, tiles: tiles.path) }
            #expect(none.description.contains("no messages of /nav/journal"), "\(none)")
        }
    }
}
