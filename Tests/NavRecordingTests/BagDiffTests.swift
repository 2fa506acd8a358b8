import NavBag
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestKit
import NavVerdict
import Testing

/// The events by which two drives differ.
struct BagDiffTests {
    private static func bag(_ path: String, _ events: [(Double, String)]) throws {
        var log = MessageLog(try BagWriter(path: path, overwrite: true))
        for (second, text) in events {
            let stamp = 1_700_000_000_000_000_000 + Int64(second * 1e9)
            try log.write(
                SpokenInstruction(stampNs: stamp, text: text), topic: "/nav/instruction/spoken", logTime: stamp,
                publishTime: stamp)
            try log.write(RouteProgress(stampNs: stamp), topic: "/nav/progress", logTime: stamp, publishTime: stamp)
        }
        try log.close()
    }

    @Test func eventsAreAddedRemovedAndMoved() throws {
        try withTemporaryFolder { folder in
            let (before, after) = (folder + "/a.mcap", folder + "/b.mcap")
            try Self.bag(before, [(0, "Drive on"), (5, "Turn left"), (9, "Turn right"), (12, "You have arrived")])
            try Self.bag(after, [(0, "Drive on"), (6, "Turn left"), (8, "Make a U-turn"), (12.01, "You have arrived")])
            let diff = try BagDiff(before, after)
            func event(_ time: Double, _ text: String) -> BagDiff.Event {
                BagDiff.Event(time: time, topic: "/nav/instruction/spoken", text: "say: " + text)
            }
            #expect(diff.commonCount == 3)
            #expect(
                Set(diff.changes.map { "\($0)" })
                    == Set(
                        [
                            BagDiff.Change.moved(event(5, "Turn left"), to: 6), .removed(event(9, "Turn right")),
                            .added(event(8, "Make a U-turn")),
                        ].map { "\($0)" }))
            let same = try BagDiff(before, before)
            #expect(same.changes.isEmpty && same.commonCount == 4)
        }
    }

    /// Replays and recordings in lockstep have no publisher ids.
    @Test(arguments: [[1, 2], [nil, nil]] as [[UInt64?]])
    func equalSequencesOfTwoRunsAreTwoEvents(runs: [UInt64?]) throws {
        try withTemporaryFolder { folder in
            var log = MessageLog(try BagWriter(path: folder + "/a.mcap", overwrite: true))
            // The last message repeats the second, as at the start of a recording's next file.
            for (stamp, logTime, text) in [(1, 1, "Drive on"), (2, 2, "Turn left"), (2, 3, "Turn left")]
                as [(Int64, Int64, String)]
            {
                try SpokenInstruction(stampNs: stamp, text: text).encoded().withUnsafeBytes { bytes in
                    try log.write(
                        bytes, topic: "/nav/instruction/spoken", type: SpokenInstruction.fullName, sequence: 1,
                        publisher: runs[Int(stamp) - 1], logTime: logTime, publishTime: stamp)
                }
            }
            try log.close()
            #expect(try BagDiff(folder + "/a.mcap", folder + "/a.mcap").commonCount == 2)
        }
    }

    @Test func routesAreComparedWithoutTheirIDs() throws {
        try withTemporaryFolder { folder in
            func bag(_ name: String, _ id: UInt64, _ metres: Double) throws -> String {
                var log = MessageLog(try BagWriter(path: folder + name, overwrite: true))
                let route = Route(stampNs: 1, routeId: id, summary: RouteSummary(distanceM: metres, durationS: 60))
                try log.write(route, topic: "/nav/route", logTime: 1, publishTime: 1)
                try log.close()
                return folder + name
            }
            let first = try bag("/a.mcap", 3, 5_000)
            #expect(try BagDiff(first, try bag("/b.mcap", 4, 5_000)).changes.isEmpty)
            #expect(try BagDiff(first, try bag("/c.mcap", 3, 7_000)).changes.count == 2)
        }
    }

    @Test func aBagWithoutEventsIsRefused() throws {
        try withTemporaryFolder { folder in
            var log = MessageLog(try BagWriter(path: folder + "/a.mcap", overwrite: true))
            try log.write(RouteProgress(stampNs: 1), topic: "/nav/progress", logTime: 1, publishTime: 1)
            try log.close()
            let error = try #require(throws: NodeError.self) {
                try BagDiff(folder + "/a.mcap", folder + "/a.mcap")
            }
            #expect(error.description.contains("has no events"))
        }
    }
}
