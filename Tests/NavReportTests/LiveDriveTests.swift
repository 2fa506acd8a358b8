import Foundation
import NavGeo
import NavMessages
import NavReport
import Testing

/// A second of recorded time, ns.
private let second: Int64 = 1_000_000_000
private let start: Int64 = 1_767_258_000 * second

struct LiveDriveTests {
    @Test func eventsBeforeTheFirstPositionAreAtTheStart() throws {
        var drive = LiveDrive(sequence: 7)
        // The route in force is latched and was published before the viewer started.
        #expect(!add(Route(routeId: 1, geometry: line), "/nav/route", at: -900, to: &drive))
        #expect(!add(NavigationState(phase: .guidance), "/nav/state", at: -900, to: &drive))
        #expect(try drive.batch(nil) == nil)
        #expect(add(position(0), "/nav/position", at: 0, to: &drive))
        // The same holds for the latched message of a node that is discovered later.
        #expect(!add(ReceiverSelection(receiver: "roof"), "/nav/receiver", at: -400, to: &drive))
        _ = try drive.batch(nil)
        let run = try run(of: drive)
        #expect((run["routes"] as? [[String: Any]])?.map { $0["t"] as? Int } == [0])
        #expect((run["events"] as? [[String: Any]])?.allSatisfy { $0["t"] as? Int == 0 } == true)
        #expect(run["start"] as? Int == Int(start / 1_000_000))
    }

    @Test func pageAndBatchesHaveEachPositionOnce() throws {
        var drive = LiveDrive(sequence: 7)
        for index in 0..<10 { add(position(index), "/nav/position", at: index, to: &drive) }
        let first = try #require(try batch(of: &drive))
        #expect(first["sequence"] as? Int == 8 && rows(first) == 10)
        #expect(try rows(["run": run(of: drive)]) == 10)
        #expect(try batch(of: &drive) == nil)
        for index in 10..<12 { add(position(index), "/nav/position", at: index, to: &drive) }
        let second = try #require(try batch(of: &drive))
        #expect(second["sequence"] as? Int == 9 && rows(second) == 2)
        // The figures cover the whole drive and are sent with the nodes, less often.
        #expect(second["figures"] == nil)
        let third = try #require(try batch(of: &drive, []))
        let figures = (third["figures"] as? [[String: String]] ?? []).map { [$0["name"], $0["value"]] }
        #expect(figures.contains(["Time", "11 s"]) && figures.contains(["Fixes", "12"]), "\(figures)")
        #expect(try rows(["run": run(of: drive)]) == 12)
    }

    @Test func pageReportsThatItIsConnecting() throws {
        var drive = LiveDrive(sequence: 7)
        func page() throws -> String { String(decoding: try drive.page(name: "Live", version: "1"), as: UTF8.self) }
        #expect(try page().contains("<p id=\"when\">connecting · no position yet</p>"))
        for index in 0..<10 { add(position(index), "/nav/position", at: index, to: &drive) }
        #expect(try page().contains("<p id=\"when\">connecting · 2026-01-01 09:00:09 UTC</p>"))
        #expect(try page().contains("aria-live=\"off\">0:09 / 0:09</output>"))
    }

    @Test func messagesOfARestartedPublisherAreNotRepetitions() throws {
        var drive = LiveDrive(sequence: 7)
        add(position(0), "/nav/position", at: 0, to: &drive)
        for (publisher, phase) in [(1, NavigationPhase.guidance), (2, .idle)] as [(UInt64, NavigationPhase)] {
            add(NavigationState(phase: phase), "/nav/state", publisher: publisher, sequence: 1, at: 1, to: &drive)
        }
        #expect(try (run(of: drive)["events"] as? [Any])?.count == 2)
    }

    @Test func severalPositionsOfAnotherTimeBeginANewDrive() throws {
        var drive = LiveDrive(sequence: 7)
        for index in 0..<10 { add(position(index), "/nav/position", at: index, to: &drive) }
        // A receiver with another clock, whose positions alternate with those of the drive, does not begin a new drive.
        for index in 10..<30 {
            #expect(!add(GnssFix(latitude: 1, longitude: 1), "/gnss/fix", at: 86_400 + index, to: &drive))
            #expect(!add(position(index), "/nav/position", at: index, to: &drive))
        }
        #expect(try rows(["run": run(of: drive)]) == 30)
        // A restarted playback begins with its latched values.
        #expect(!add(NavigationState(phase: .guidance), "/nav/state", at: -500, to: &drive))
        let begun = (0..<8).map { add(position($0), "/nav/position", at: $0 - 500, to: &drive) }
        #expect(begun == [false, false, false, false, true, false, false, false])
        let run = try run(of: drive)
        #expect(rows(["run": run]) == 8 && (run["events"] as? [Any])?.count == 1)
        #expect(run["start"] as? Int == Int(start / 1_000_000) - 500_000)
    }

    @Test func extremeStampsAndNumbersAreHandled() throws {
        var drive = LiveDrive(sequence: 7)
        for stamp in [Int64.min, .max, 0, start, .min, .max] {
            _ = drive.add(
                MatchedPosition.fullName, topic: "/nav/position", publisher: nil, sequence: 0, stamp: stamp,
                position(1).encoded())
            _ = drive.add(
                NavigationState.fullName, topic: "/nav/state", publisher: nil, sequence: 0, stamp: stamp, [0xFF])
        }
        let health = NodeHealth(
            node: "n", topics: [TopicHealth(topic: "/x", rateHz: .nan)], cpuLoad: .nan, uptimeS: .infinity)
        let batch = try drive.batch([LiveDrive.Node(name: "n", health)])
        #expect(String(decoding: batch ?? [], as: UTF8.self).contains("\"/x\""))
        #expect(try !drive.page(name: "</script>", version: "1").isEmpty)
    }

    @Test func aNodeWithoutHealthHasItsAnnouncedTopicsAndTheirRates() throws {
        var (drive, rates) = (LiveDrive(sequence: 7), ArrivalRates())
        let nodes = { () throws -> [[String: Any]] in
            let node = LiveDrive.Node(
                name: "player", publisher: 1, announced: ["/gnss/fix", "/clock", "/lidar"], rates
            ) { $0 != "/lidar" }
            let batch = try #require(try drive.batch([node]))
            let content = try JSONSerialization.jsonObject(with: Data(batch)) as? [String: Any]
            let shown = try #require((content?["nodes"] as? [[String: Any]])?.first)
            #expect(shown["reason"] as? String == "it publishes no health" && shown["state"] as? Int == 0)
            return try #require(shown["topics"] as? [[String: Any]])
        }
        // Ten messages per second for 20 seconds, and five of another publisher that leaves at the end.
        for tick in 0...20 {
            if tick > 0 {
                for _ in 0..<10 { rates.add(topic: "/gnss/fix", publisher: 1) }
                for _ in 0..<5 { rates.add(topic: "/gnss/fix", publisher: 2) }
            }
            rates.tick(MonotonicInstant(nanoseconds: Int64(tick) * second), present: tick < 20 ? [1, 2] : [1])
        }
        let busy = try nodes()
        #expect(busy.map { $0["topic"] as? String } == ["/gnss/fix", "/clock", "/lidar"])
        #expect(
            busy.map { $0["count"] as? Int } == [200, 0, nil] && busy.map { $0["rate"] as? Double } == [10, nil, nil])
        #expect(busy.allSatisfy { $0["publishes"] as? Bool == true })
        // A silence is visible soon.
        for tick in 21...31 { rates.tick(MonotonicInstant(nanoseconds: Int64(tick) * second), present: [1]) }
        #expect(try nodes().first?["rate"] as? Double == 0)
        // A node that has just started announces its health topic.
        let fresh = LiveDrive.Node(name: "n", publisher: 3, announced: ["/health/n"], rates) { _ in true }
        let text = String(decoding: try drive.batch([fresh]) ?? [], as: UTF8.self)
        #expect(text.contains("\"reason\":\"\"") && text.contains("/health/n"))
    }

    // MARK: Support

    private var line: NavMessages.Polyline {
        NavMessages.Polyline([(latitude: 60.1, longitude: 24.9), (latitude: 60.2, longitude: 24.9)])
    }

    private func position(_ index: Int) -> MatchedPosition {
        let pose = Pose(latitude: 60.1 + Double(index) * 1e-4, longitude: 24.9, course: 0, speedMps: 11)
        return MatchedPosition(raw: pose, matched: pose, isOnRoad: true, source: .measured)
    }

    @discardableResult
    private func add(
        _ message: some Message, _ topic: String, publisher: UInt64? = nil, sequence: UInt32 = 0, at seconds: Int,
        to drive: inout LiveDrive
    ) -> Bool {
        drive.add(
            type(of: message).fullName, topic: topic, publisher: publisher, sequence: sequence,
            stamp: start + Int64(seconds) * second, message.encoded())
    }

    private func batch(of drive: inout LiveDrive, _ nodes: [LiveDrive.Node]? = nil) throws -> [String: Any]? {
        try drive.batch(nodes).map { try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]) }
    }

    private func rows(_ batch: [String: Any]) -> Int? {
        ((batch["run"] as? [String: Any])?["positions"] as? [String: Any])?["rows"] as? Int
    }

    private func run(of drive: LiveDrive) throws -> [String: Any] {
        let page = String(decoding: try drive.page(name: "Live", version: "1"), as: UTF8.self)
        let begin = try #require(page.firstRange(of: "id=\"data\">")).upperBound
        let end = try #require(page[begin...].firstRange(of: "</script>")).lowerBound
        let data = try JSONSerialization.jsonObject(with: Data(page[begin..<end].utf8)) as? [String: Any]
        return try #require((data?["runs"] as? [[String: Any]])?.first)
    }
}
