import Foundation
import GNSSNode
import NavBag
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// A drive with new traffic on the way, recorded in a separate folder.
private final class RecordedDrive {
    private let tiles: Tiles
    private let folder: TemporaryFolder
    private var bag: String { folder.path + "/drive.mcap" }

    init() throws {
        tiles = try Tiles()
        folder = try TemporaryFolder()
        try Self.record(bag, tiles: tiles.path)
    }

    /// Records a replay of the drive in Helsinki, with new traffic on the way, as a bag.
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
        // The replay also writes its input, so its bag is as complete as a recording.
        _ = try Replay(map: map, configuration: Helsinki.configuration).run(
            trace.fixes, others: trace.others, into: &out)
        try out.close()
    }

    /// Executes the journal unchanged.
    func execute() throws -> JournalReplay.Summary { try execute(bag) }

    private func execute(_ path: String) throws -> JournalReplay.Summary {
        var log: MessageLog<FileSink>?
        return try JournalReplay(bag: path, tiles: tiles.path).run(into: &log)
    }

    /// Executes the journals of two runs of the node in one bag, which lacks the last progress of the first run.
    func executeTwice() throws -> JournalReplay.Summary {
        let copy = folder.path + "/twice.mcap"
        let reader = try BagReader(path: bag)
        var last: UInt32?
        var progress = reader.messages(BagQuery(topics: ["/nav/progress"]))
        while let message = try progress.next() { last = message.sequence }
        var log = MessageLog(try BagWriter(path: copy, overwrite: true))
        for run in [1, 2] as [UInt64] {
            var cursor = reader.messages(BagQuery(order: .file))
            while let message = try cursor.next() {
                let channel = try #require(reader.index.channel(message.channelID))
                let type = try #require(reader.index.schema(channel.schemaID)).name
                if run == 1, channel.topic == "/nav/progress", message.sequence == last { continue }
                try Array(message.data).withUnsafeBytes { bytes in
                    try log.write(
                        bytes, topic: channel.topic, type: type, sequence: UInt64(message.sequence), publisher: run,
                        logTime: Int64(clamping: message.logTime) + Int64(run) * 86_400_000_000_000,
                        publishTime: Int64(clamping: message.publishTime))
                }
            }
        }
        try log.close()
        return try execute(copy)
    }

    /// Executes the journal of a copy that continues after a clock jump with the drive's start and first fix.
    func executeBeyondAClockJump() throws -> JournalReplay.Summary {
        let copy = folder.path + "/jump.mcap"
        let reader = try BagReader(path: bag)
        var log = MessageLog(try BagWriter(path: copy, overwrite: true))
        var entries: [JournalEntry] = []
        var end: Int64 = 0
        var cursor = reader.messages(BagQuery(order: .file))
        while let message = try cursor.next() {
            let channel = try #require(reader.index.channel(message.channelID))
            let type = try #require(reader.index.schema(channel.schemaID)).name
            if channel.topic == "/nav/journal" { entries.append(try JournalEntry(decoding: Array(message.data))) }
            end = max(end, Int64(clamping: message.logTime))
            try log.write(
                Array(message.data), topic: channel.topic, type: type, sequence: UInt64(message.sequence),
                logTime: Int64(clamping: message.logTime), publishTime: Int64(clamping: message.publishTime))
        }
        let last = try #require(entries.last)
        let map = try #require(entries.compactMap(\.mapSnapshot).max())
        let jump = NavigationCommand(
            caller: JournalCaller.clock, request: .stopNavigation(StopNavigationRequest()))
        var added = [
            JournalEntry(
                stampNs: last.stampNs, sessionId: last.sessionId, entrySequence: last.entrySequence.map { $0 + 1 },
                event: .command(jump))
        ]
        for var entry in entries {
            entry.entrySequence = UInt64(added.count)
            if case .start? = entry.event { entry.mapSnapshot = map }
            added.append(entry)
            if case .fix? = entry.event { break }
        }
        for entry in added {
            end += 1
            try log.write(entry, topic: "/nav/journal", logTime: end, publishTime: end)
        }
        try log.close()
        return try execute(copy)
    }

    /// Executes the journal of a copy in whose second half the clock was set back by an hour.
    func executeAcrossAClockSetBack() throws -> JournalReplay.Summary {
        let copy = folder.path + "/back.mcap"
        let reader = try BagReader(path: bag)
        let half = try #require(reader.index.messageCount) / 2
        var log = MessageLog(try BagWriter(path: copy, overwrite: true))
        var cursor = reader.messages(BagQuery(order: .file))
        while let message = try cursor.next() {
            let channel = try #require(reader.index.channel(message.channelID))
            let type = try #require(reader.index.schema(channel.schemaID)).name
            let logTime = Int64(clamping: message.logTime) - (log.messageCount < half ? 0 : 3_600_000_000_000)
            try log.write(
                Array(message.data), topic: channel.topic, type: type, sequence: UInt64(message.sequence),
                logTime: logTime, publishTime: Int64(clamping: message.publishTime))
        }
        try log.close()
        return try execute(copy)
    }

    /// Executes the journal of a copy in which messages are changed or dropped.
    ///
    /// - Parameter change: returns the bytes that replace a message of a topic; nil drops it.
    func execute(_ change: (String, [UInt8]) throws -> [UInt8]?) throws -> JournalReplay.Summary {
        let copy = folder.path + "/copy.mcap"
        let reader = try BagReader(path: bag)
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
        return try execute(copy)
    }
}

/// Recorded drives whose journals are replayed.
struct JournalReplayTests {
    @Test func aDriveIsReproducedBitForBit() throws {
        let drive = try RecordedDrive()
        let summary = try drive.execute()
        #expect(summary.difference == nil)
        #expect(summary.events > 300 && summary.messages > summary.events * 2 && summary.unrecorded == 0)
        #expect(summary.runs == 1)
    }

    @Test func firstDifferenceIsReported() throws {
        let drive = try RecordedDrive()
        var count = 0
        let summary = try drive.execute { topic, bytes in
            guard topic == "/nav/progress" else { return bytes }
            count += 1
            guard count == 50 else { return bytes }
            var progress = try RouteProgress(decoding: bytes)
            progress.distanceRemainingM = 4_711
            return progress.encoded()
        }
        let difference = try #require(summary.difference)
        #expect(difference.hasPrefix("message 50 of /nav/progress, at journal event "))
        #expect(difference.contains("recorded:   \"distance_remaining_m\": 4711"))
        #expect(difference.contains("reproduced: \"distance_remaining_m\": "))
    }

    @Test func changedFixIsReportedAsADifference() throws {
        let drive = try RecordedDrive()
        var count = 0
        let summary = try drive.execute { topic, bytes in
            guard topic == "/nav/journal" else { return bytes }
            var entry = try JournalEntry(decoding: bytes)
            guard case .fix(var fix)? = entry.event else { return bytes }
            count += 1
            guard count == 100 else { return bytes }
            fix.latitude = (fix.latitude ?? 0) + 0.000_05
            entry.event = .fix(fix)
            return entry.encoded()
        }
        let difference = try #require(summary.difference)
        #expect(difference.contains("/nav/position") || difference.contains("/nav/progress"), "\(difference)")
    }

    @Test func messagesMissedByTheRecorderAreCounted() throws {
        let drive = try RecordedDrive()
        var count = 0
        let summary = try drive.execute { topic, bytes in
            if topic == "/nav/position" { count += 1 }
            return topic == "/nav/position" && (60..<63).contains(count) ? nil : bytes
        }
        #expect(summary.difference == nil && summary.unrecorded == 3)
    }

    @Test func messagesOfTwoRunsAreComparedSeparately() throws {
        let drive = try RecordedDrive()
        let once = try drive.execute()
        let twice = try drive.executeTwice()
        #expect(twice.difference == nil && twice.runs == 2)
        #expect(twice.unrecorded == 1 && twice.messages == 2 * once.messages - 1)
    }

    @Test func mapChangeIsReproducedBeforeAClockJump() throws {
        let drive = try RecordedDrive()
        let once = try drive.execute()
        let summary = try drive.executeBeyondAClockJump()
        #expect(summary.difference == nil && summary.runs == 1)
        #expect(summary.messages > once.messages && summary.events > once.events)
    }

    @Test func journalIsExecutedAcrossAClockThatIsSetBack() throws {
        let drive = try RecordedDrive()
        #expect(try drive.executeAcrossAClockSetBack() == drive.execute())
    }

    @Test func incompleteJournalIsRejectedWithItsGaps() throws {
        let drive = try RecordedDrive()
        for (from, words) in [(0, "after the core's start"), (40, "lacks entries 41 to 42")] {
            var count = 0
            let error = try #require(throws: NodeError.self) {
                try drive.execute { topic, bytes in
                    guard topic == "/nav/journal" else { return bytes }
                    defer { count += 1 }
                    return (from..<from + 2).contains(count) ? nil : bytes
                }
            }
            #expect(error.description.contains(words), "\(error)")
        }
        for (missing, words) in [
            ("/traffic/speeds", "/traffic/speeds"), ("/nav/journal", "no messages of /nav/journal"),
        ] {
            let error = try #require(throws: NodeError.self) {
                try drive.execute { topic, bytes in topic == missing ? nil : bytes }
            }
            #expect(error.description.contains(words), "\(error)")
        }
    }
}
