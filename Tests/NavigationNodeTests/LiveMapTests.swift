import Foundation
import GNSSNode
import Logging
import NavBag
import NavBus
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestBus
import NavTestKit
import NavTestSystem
import NavWire
import NavigationNode
import Testing

/// New traffic and new tiles in a running node.
struct LiveMapTests {
    /// A navigation node on a bus without sockets, with a publisher and a subscriber.
    private final class NodeHarness {
        let node: NodeRunner<NavigationNode>
        let out: NodeLink
        let ear: InProcessBus
        var heard: [Delivery] = []

        init(_ configuration: NavigationConfiguration) throws {
            let network = InProcessNetwork(pipeDepth: 100_000)
            let quiet = NodeLog(node: "test", level: .critical)
            ear = try InProcessBus(name: "ear", network: network)
            out = NodeLink(try InProcessBus(name: "source", network: network), log: quiet)
            // Time comes from the drive, because the clock of a stalled machine would run ahead of it.
            var run = RunConfiguration(configuration)
            run.kit.simTime = true
            node = try NodeRunner<NavigationNode>(
                try InProcessBus(name: "navigation-node", network: network), configuration: run, log: quiet)
            try out.advertise([Topics.clock, Topics.gnssFix, Topics.trafficSpeeds])
            _ = try ear.subscribe(
                matching: TopicFilter(include: ["/nav/*"]), qos: .keepLast(100_000), maximumPayloadSize: 1 << 24)
        }

        /// Lets the node finish its pending work.
        func settle() async throws {
            // A step ends once the time has advanced.
            for _ in 0..<3 { try node.step(waiting: .zero) }
            try await node.finishWork()
            try node.step(waiting: .zero)
            while let delivery = try ear.poll(timeout: .zero) { heard.append(delivery) }
        }

        func send(_ fix: GnssFix) async throws {
            let stamp = NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0)
            out.publish(Clock(stampNs: fix.stampNs), on: Topics.clock, stamp: stamp)
            out.publish(fix, on: Topics.gnssFix, stamp: stamp)
            try await settle()
        }

        func send(_ traffic: TrafficSpeeds) async throws {
            out.publish(traffic, on: Topics.trafficSpeeds, stamp: NavGeo.Timestamp(nanoseconds: traffic.stampNs ?? 0))
            try await settle()
        }

        func all<M: Message>(_ type: M.Type, on topic: String) throws -> [M] {
            try heard.filter { $0.topic == topic }.map { try M(decoding: $0.payload.bytes) }
        }

        func routes() throws -> [NavMessages.Route] {
            try all(NavMessages.Route.self, on: "/nav/route").filter { $0.geometry != nil }
        }
    }

    private static func configuration(_ tiles: String) -> NavigationConfiguration {
        var configuration = Helsinki.configuration
        configuration.tiles = tiles
        return configuration
    }

    /// Returns the OSM nodes along a route.
    private static func nodes(_ route: NavMessages.Route) -> [Int64] {
        route.legs.flatMap { $0.annotation?.nodeIds ?? [] }
    }

    private static func passes(_ route: NavMessages.Route, _ from: Int64, _ to: Int64) -> Bool {
        let nodes = nodes(route)
        return zip(nodes, nodes.dropFirst()).contains { $0 == (from, to) }
    }

    @Test func closureAheadTriggersARerouteWhileDriving() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let rig = try NodeHarness(Self.configuration(tiles.path))
        defer { rig.node.finish() }
        for fix in drive.prefix(12) { try await rig.send(fix) }
        let first = try #require(try rig.routes().last)
        let nodes = Self.nodes(first)
        let (from, to) = (nodes[nodes.count * 2 / 3], nodes[nodes.count * 2 / 3 + 1])

        try await rig.send(
            TrafficSpeeds(
                stampNs: drive[11].stampNs, provider: "test",
                speeds: [
                    NavMessages.TrafficSpeed(fromNode: from, toNode: to, closed: true),
                    NavMessages.TrafficSpeed(fromNode: to, toNode: from, closed: true),
                ]))
        var sent = 12
        var events: [NavMessages.RerouteEvent] = []
        while sent < 16 || sent < 30 && events.last?.phase != .applied {
            try await rig.send(drive[sent])
            sent += 1
            events = try rig.all(NavMessages.RerouteEvent.self, on: "/nav/reroute")
        }
        #expect(events.compactMap(\.phase) == [.willReroute, .fetching, .fetched, .applied])
        #expect(events.allSatisfy { $0.reason == .routeInvalidated })
        let second = try #require(try rig.routes().last)
        #expect(Self.passes(first, from, to) && !Self.passes(second, from, to))
        // The drive was not interrupted, and the journal has the traffic messages without the speeds.
        let progress = try rig.all(NavMessages.RouteProgress.self, on: "/nav/progress")
        #expect(progress.count >= 13)
        #expect(Set(progress.compactMap(\.deviation)).isSubset(of: [.onRoute, .uncertain]))
        let traffic = try rig.all(JournalEntry.self, on: "/nav/journal").compactMap { entry -> TrafficSpeeds? in
            if case .traffic(let header)? = entry.event { header } else { nil }
        }
        #expect(traffic.map(\.provider) == ["test"] && traffic.allSatisfy(\.speeds.isEmpty))

        // The road opens again, which needs no reroute.
        try await rig.send(TrafficSpeeds(replacesAll: true))
        try await rig.send(drive[sent])
        #expect(try rig.all(NavMessages.RerouteEvent.self, on: "/nav/reroute").count == events.count)
    }

    @Test func trafficFileAppliesFromTheFirstRouteUntilReplaced() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let free = try NodeHarness(Self.configuration(tiles.path))
        defer { free.node.finish() }
        for fix in drive.prefix(3) { try await free.send(fix) }
        let usual = try #require(try free.routes().first)
        #expect(usual.summary?.trafficDelayS == nil && usual.legs.allSatisfy { $0.annotation?.congestion == [] })
        #expect(usual.summary?.durationS == usual.summary?.durationTypicalS)

        // Traffic at walking pace everywhere in the city.
        let graph = try Helsinki.map.get().graph
        var lines = ["from_node,to_node,speed_kmh"]
        for index in 0..<graph.edgeCount {
            let shape = graph.shape(of: EdgeIndex(index))
            for point in 1..<shape.count { lines.append("\(shape.nodeID(point - 1)),\(shape.nodeID(point)),5,extra") }
        }
        let file = tiles.path + "/traffic.csv"
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        var configuration = Self.configuration(tiles.path)
        configuration.traffic = file
        let rig = try NodeHarness(configuration)
        defer { rig.node.finish() }
        for fix in drive.prefix(3) { try await rig.send(fix) }
        let slow = try #require(try rig.routes().first)
        let summary = try #require(slow.summary)
        let (duration, typical) = (try #require(summary.durationS), try #require(summary.durationTypicalS))
        #expect(duration > typical * 3)
        #expect(abs((summary.trafficDelayS ?? 0) - (duration - typical)) < 0.01)
        #expect(summary.trafficDelayScope == .complete)
        let annotation = try #require(slow.legs.first?.annotation)
        #expect(annotation.congestion.contains { $0.level == .severe })
        let covered = annotation.congestion.reduce(0) { $0 + Int($1.segmentCount ?? 0) }
        #expect(covered == annotation.durationsS.count)
    }

    @Test func arrivingTileMakesTheRoutePossible() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let hidden = try Self.hide(in: tiles.path)
        let rig = try NodeHarness(Self.configuration(tiles.path))
        defer { rig.node.finish() }
        for fix in drive.prefix(5) { try await rig.send(fix) }
        #expect(try rig.routes().isEmpty)
        let failures = try rig.all(NavMessages.RerouteEvent.self, on: "/nav/reroute").filter { $0.phase == .failed }
        #expect(!failures.isEmpty)

        // A damaged tile arrives first and leaves the map unchanged.
        for file in hidden { try Data("not a tile".utf8).write(to: URL(fileURLWithPath: file)) }
        try await Self.wait(rig, for: 1.6)
        #expect(try !rig.all(JournalEntry.self, on: "/nav/journal").contains { Self.isArrival($0) })

        for file in hidden {
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: file + ".away", toPath: file)
        }
        for _ in 0..<100 {
            try await Self.wait(rig, for: 0.1)
            if try rig.all(JournalEntry.self, on: "/nav/journal").contains(where: { Self.isArrival($0) }) { break }
        }
        // The fixes' stamps determine the time of the next attempt; its answer comes from another thread.
        for fix in drive.dropFirst(5).prefix(40) {
            try await rig.send(fix)
            try await Self.wait(rig, for: 0.05)
            if try !rig.routes().isEmpty { break }
        }
        let events = try rig.all(NavMessages.RerouteEvent.self, on: "/nav/reroute")
        #expect(try rig.routes().count >= 1, "\(events.map { ($0.phase, $0.error?.message) })")
    }

    @Test func tileThatLeavesTheTilesetIsJournaled() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let rig = try NodeHarness(Self.configuration(tiles.path))
        defer { rig.node.finish() }
        for fix in drive.prefix(5) { try await rig.send(fix) }
        var tileset = try TilesetDirectory(path: tiles.path).tileset
        let sizes = tileset.tiles.map(\.bytes)
        let gone = tileset.tiles.remove(at: try #require(sizes.indices.min { sizes[$0] < sizes[$1] }))
        try JSONEncoder().encode(tileset).write(
            to: URL(fileURLWithPath: tiles.path + "/tileset.json"), options: .atomic)
        var removed: [TileKey] = []
        for _ in 0..<100 where removed.isEmpty {
            try await Self.wait(rig, for: 0.1)
            removed = try rig.all(JournalEntry.self, on: "/nav/journal").flatMap { entry -> [TileKey] in
                if case .tiles(let arrival)? = entry.event { arrival.removed } else { [] }
            }
        }
        #expect(removed == [TileKey(try #require(gone.tile))])
    }

    private static func isArrival(_ entry: JournalEntry) -> Bool {
        if case .tiles? = entry.event { true } else { false }
    }

    private static func wait(_ rig: NodeHarness, for seconds: Double) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            try await rig.settle()
        }
    }

    /// Moves the tile with most of the streets to another folder and returns its files.
    private static func hide(in path: String) throws -> [String] {
        let directory = try TilesetDirectory(path: path)
        let entry = try #require(directory.tileset.tiles.max { $0.bytes < $1.bytes })
        #expect(directory.tileset.tiles.count > 1)
        let files = [entry.file, entry.ranks.file].map { path + "/" + $0 }
        for file in files { try FileManager.default.moveItem(atPath: file, toPath: file + ".away") }
        return files
    }

    @Test func trafficOfABagIsReplayedAtItsTimeAndRepeatably() throws {
        let drive = try Helsinki.drive.get()
        let map = try Helsinki.map.get()
        func replay(_ trace: TraceInput, to path: String) throws -> Replay.Summary {
            var log = MessageLog(try BagWriter(path: path, overwrite: true))
            let summary = try Replay(map: map, configuration: Helsinki.configuration)
                .run(trace.fixes, others: trace.others, into: &log)
            try log.close()
            return summary
        }
        try withTemporaryFolder { folder in
            let planner = RoutePlanner()
            let session = NavigationSession(map: map, configuration: Helsinki.configuration, nodeName: "test")
            var route: NavMessages.Route?
            for (index, fix) in drive.prefix(5).enumerated() {
                for query in session.handle(fix, sequence: UInt64(index)).queries {
                    for message in session.handle(planner.answer(query, on: map), to: query).messages {
                        if let found = message.message as? NavMessages.Route { route = found }
                    }
                }
            }
            let nodes = Self.nodes(try #require(route))
            let middle = nodes.count * 2 / 3
            let closure = TrafficSpeeds(speeds: [
                NavMessages.TrafficSpeed(
                    fromNode: nodes[middle], toNode: nodes[middle + 1], closed: true,
                    validUntilNs: (drive[40].stampNs ?? 0) + 1)
            ])
            var log = MessageLog(try BagWriter(path: folder + "/in.mcap", overwrite: true))
            for (index, fix) in drive.enumerated() {
                let stamp = fix.stampNs ?? 0
                try log.write(fix, topic: "/gnss/fix", logTime: stamp, publishTime: stamp)
                if index == 11 { try log.write(closure, topic: "/traffic/speeds", logTime: stamp, publishTime: stamp) }
            }
            try log.close()
            let trace = try TraceInput(path: folder + "/in.mcap")
            #expect(try trace.others?.count == 1 && trace.fixes.all() == drive)
            let first = try replay(trace, to: folder + "/a.mcap")
            _ = try replay(trace, to: folder + "/b.mcap")
            #expect(first.reroutes >= 1)
            let (a, b) = (try content(of: folder + "/a.mcap"), try content(of: folder + "/b.mcap"))
            #expect(a == b)
            // The fixes of a long bag are not kept in memory, yet the traffic is replayed between the same fixes.
            _ = try replay(try TraceInput(path: folder + "/in.mcap", keeping: 5), to: folder + "/b.mcap")
            #expect(try content(of: folder + "/b.mcap") == a)
            let entries = try a.filter { $0.topic == "/nav/journal" }.map { try JournalEntry(decoding: $0.data) }
            let traffic = entries.indices.filter { if case .traffic? = entries[$0].event { true } else { false } }
            // The closure follows the twelfth fix, and its end precedes the forty-second.
            let fixes = traffic.map { index in
                entries[..<index].count { if case .fix? = $0.event { true } else { false } }
            }
            #expect(fixes == [12, 41])
            // A replay of the replay is identical.
            _ = try replay(try TraceInput(path: folder + "/a.mcap"), to: folder + "/c.mcap")
            #expect(try content(of: folder + "/c.mcap") == a)
        }
    }

    @Test(arguments: [
        ("1,2,50\n", 1), ("from_node,to_node,speed\n1,2,50\n\n3,4,0,whatever\n", 2), ("1,2,50\n1,2,40\r\n", 1), ("", 0),
    ])
    func aTrafficFileIsRead(text: String, count: Int) throws {
        let file = try TrafficFile(text: text, name: "test.csv")
        #expect(file.overlay.speeds.count == count)
        if text.hasPrefix("1,2,50\n1,2,40") { #expect(abs(file.overlay.speeds[0].speed - 40 / 3.6) < 1e-9) }
    }

    @Test(arguments: [
        "1,2\n", "a,2,3\n", "1,2,-5\n", "1,1,5\n", "1,2,1e9\n", "1,2,nan\n", "99999999999999999999,1,5\n",
    ])
    func invalidTrafficFileIsRejectedWithItsLine(text: String) {
        let error = #expect(throws: NodeError.self) { try TrafficFile(text: "5,6,50\n" + text, name: "test.csv") }
        #expect(error?.description.contains("line 2") == true)
    }
}
