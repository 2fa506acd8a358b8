import Foundation
import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestBus
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// The node on a bus without sockets.
struct NavigationNodeTests {
    @Test func driveOnTheBusIsGuidedToItsDestination() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let network = InProcessNetwork(pipeDepth: 100_000)
        let source = try InProcessBus(name: "source", network: network)
        let ear = try InProcessBus(name: "ear", network: network)
        let quiet = NodeLog(node: "test", level: .critical)
        var configuration = Helsinki.configuration
        configuration.tiles = tiles.path
        // Time comes from the drive, because the clock of a stalled machine would run ahead of it.
        var run = RunConfiguration(configuration)
        run.kit.simTime = true
        let node = try NodeRunner<NavigationNode>(
            try InProcessBus(name: "navigation-node", network: network),
            remaps: ["/gnss/fix": "/front/fix", "/nav/progress": "/guide/progress"], configuration: run, log: quiet)
        defer { node.finish() }

        let out = NodeLink(source, remaps: ["/gnss/fix": "/front/fix"], log: quiet)
        try out.advertise([Topics.clock, Topics.gnssFix])
        _ = try ear.subscribe(
            matching: TopicFilter(include: ["/nav/*", "/guide/*", "/health/*"]), qos: .keepLast(100_000),
            maximumPayloadSize: 1 << 22)
        #expect(out.subscriberCount(of: Topics.gnssFix) == 1)

        var heard: [Delivery] = []
        func listen() throws { while let delivery = try ear.poll(timeout: .zero) { heard.append(delivery) } }
        func count(_ topic: String) -> Int { heard.count { $0.topic == topic } }

        func tell(_ fix: GnssFix) {
            out.publish(
                Clock(stampNs: fix.stampNs), on: Topics.clock, stamp: NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0))
        }
        tell(drive[0])

        // An undecodable message is counted and otherwise ignored.
        let noise = try InProcessBus(name: "noise", network: network)
        let publication = try noise.advertise(
            TopicDescription(
                name: "/front/fix", typeName: GnssFix.fullName, schemaFingerprint: 0, qos: .keepLast(1),
                maximumPayloadSize: 100))
        try noise.publish([0xff, 0xff, 0xff], on: publication, stampNanoseconds: 0)
        // Traffic is decoded on another thread and counted, too.
        let traffic = try noise.advertise(
            TopicDescription(
                name: "/traffic/speeds", typeName: TrafficSpeeds.fullName, schemaFingerprint: 0, qos: .keepLast(1),
                maximumPayloadSize: 100))
        try noise.publish([0xff, 0xff, 0xff], on: traffic, stampNanoseconds: 0)
        try node.step(waiting: .zero)
        try listen()

        for fix in drive {
            tell(fix)
            out.publish(fix, on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0))
            // A step ends once the time has advanced.
            for _ in 0..<3 { try node.step(waiting: .zero) }
            try listen()
            // Another thread finds the route; the drive continues once it has arrived.
            try await node.finishWork(listen)
        }
        #expect(count("/guide/progress") > 300 && count("/nav/progress") == 0)
        #expect(count("/nav/journal") > drive.count)
        let healths = try heard.filter { $0.topic == "/health/navigation-node" }
            .map { try NodeHealth(decoding: $0.payload.bytes) }
        #expect(healths.last?.topics.first { $0.topic == "/front/fix" }?.rejectedCount == 1)
        #expect(healths.last?.topics.first { $0.topic == "/traffic/speeds" }?.rejectedCount == 1)
        #expect(healths.contains { $0.reasons.contains { $0.code == "messages_rejected" } })
        let latency = node.context.latency("fix_to_progress").recent(Clocks.monotonic())
        // The statistics cover the last minute only, which is not the whole drive if the machine stalls.
        #expect(latency.count > 0 && (latency.quantile(0.5) ?? 0) > 0)
        let arrivals = try heard.filter { $0.topic == "/nav/arrival" }.map {
            try ArrivalEvent(decoding: $0.payload.bytes)
        }
        #expect(arrivals.contains { $0.phase == .arrived })
        let reroutes = try heard.filter { $0.topic == "/nav/reroute" }.map {
            try RerouteEvent(decoding: $0.payload.bytes)
        }
        #expect(reroutes.compactMap(\.phase) == [.willReroute, .fetching, .fetched, .applied])

        // A late joiner gets the latched messages.
        let late = try InProcessBus(name: "late", network: network)
        _ = try late.subscribe(to: "/nav/state", qos: .latched, maximumPayloadSize: 1 << 20)
        let state = try #require(try late.poll(timeout: .zero))
        #expect(try NavigationState(decoding: state.payload.bytes).phase == .guidance)
    }

    @Test func simulatedNodeWaitsForTheClockAndRestartsAfterAJump() async throws {
        let drive = try Helsinki.drive.get()
        let tiles = try Tiles()
        let network = InProcessNetwork(pipeDepth: 100_000)
        let player = NodeLink(
            try InProcessBus(name: "player", network: network), log: NodeLog(node: "test", level: .critical))
        let ear = try InProcessBus(name: "ear", network: network)
        let quiet = NodeLog(node: "test", level: .critical)
        var configuration = Helsinki.configuration
        configuration.tiles = tiles.path
        var run = RunConfiguration(configuration)
        run.kit.simTime = true
        let node = try NodeRunner<NavigationNode>(
            try InProcessBus(name: "navigation-node", network: network), configuration: run, log: quiet)
        defer { node.finish() }
        try player.advertise([Topics.gnssFix, Topics.clock])
        _ = try ear.subscribe(
            matching: TopicFilter(include: ["/nav/*", "/health/*"]), qos: .keepLast(100_000),
            maximumPayloadSize: 1 << 22)
        var heard: [Delivery] = []
        func turn() async throws {
            // A turn handles one message: the clock, then the fix.
            for _ in 0..<2 { try node.step(waiting: .zero) }
            try await node.finishWork()
            while let delivery = try ear.poll(timeout: .zero) { heard.append(delivery) }
        }
        func lastHealth() throws -> NodeHealth {
            try NodeHealth(decoding: try #require(heard.last { $0.topic.hasPrefix("/health") }).payload.bytes)
        }

        try await turn()
        #expect(Set(try lastHealth().reasons.map(\.code)) == ["clock_none", "gnss_no_fix"])

        for epoch in 0..<2 as Range<UInt32> {
            for fix in drive.prefix(60) {
                let stamp = NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0)
                player.publish(Clock(stampNs: fix.stampNs, epoch: epoch), on: Topics.clock, stamp: stamp)
                player.publish(fix, on: Topics.gnssFix, stamp: stamp)
                try await turn()
            }
        }
        // Health is published in the time of the drive: one second per fix from its start, for both drives.
        let healths = heard.filter { $0.topic.hasPrefix("/health") }.dropFirst()
        #expect(healths.map(\.header.stampNanoseconds) == (drive.prefix(60) + drive.prefix(60)).map { $0.stampNs ?? 0 })
        #expect(try lastHealth().reasons.isEmpty)

        // Both drives are equal, except that the route and instruction of the first are cleared in between.
        let starts = try heard.indices.filter { index in
            guard heard[index].topic == "/nav/journal",
                case .start? = try JournalEntry(decoding: heard[index].payload.bytes).event
            else { return false }
            return true
        }
        #expect(starts.count == 2)
        let between = try heard[..<starts[1]].last { $0.topic == "/nav/route" }
            .map { try NavMessages.Route(decoding: $0.payload.bytes) }
        #expect(between != nil && between?.geometry == nil)
        func places(_ part: ArraySlice<Delivery>) throws -> [Double?] {
            try part.filter { $0.topic == "/nav/progress" }.map {
                try RouteProgress(decoding: $0.payload.bytes).distanceRemainingM
            }
        }
        let first = try places(heard[starts[0]..<starts[1]])
        #expect(try first == places(heard[starts[1]...]) && first.count > 50)
        let lost = ear.statistics.topics.reduce(0) { $0 + $1.lost + $1.duplicates }
        #expect(lost == 0)
    }

    @Test func missingMapIsReportedWithAdvice() throws {
        func failure(_ configuration: NavigationConfiguration) -> NodeError? {
            #expect(throws: NodeError.self) {
                try NodeRunner<NavigationNode>(
                    try InProcessBus(name: "node", network: InProcessNetwork()),
                    configuration: RunConfiguration(configuration), log: NodeLog(node: "test", level: .critical))
            }
        }
        var configuration = NavigationConfiguration()
        #expect(failure(configuration)?.code == .usage)
        configuration.tiles = "/nowhere"
        #expect(failure(configuration)?.code == .missing)
    }
}

/// The tiles of Helsinki on disk, for the lifetime of this object.
final class Tiles {
    let path: String
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        path = try Helsinki.buildTiles(in: folder.path)
    }
}
