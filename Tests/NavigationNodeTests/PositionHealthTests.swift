import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavTestBus
import NavWire
import NavigationNode
import Testing

/// The health of positioning on `/health/navigation-node` and `/nav/state`.
struct PositionHealthTests {
    /// A node whose clock follows the fixes it receives.
    private final class Bench {
        let node: NodeRunner<NavigationNode>
        private let player: NodeLink
        private let ear: InProcessBus
        private let tiles: Tiles
        private(set) var health = NodeHealth()
        private(set) var states: [NavigationState] = []

        init(_ configure: (inout NavigationConfiguration) -> Void = { _ in }) throws {
            tiles = try Tiles()
            let network = InProcessNetwork(pipeDepth: 10_000)
            let quiet = NodeLog(node: "test", level: .critical)
            var configuration = Helsinki.configuration
            configuration.tiles = tiles.path
            configure(&configuration)
            var run = RunConfiguration(configuration)
            run.kit.simTime = true
            ear = try InProcessBus(name: "ear", network: network)
            node = try NodeRunner<NavigationNode>(
                try InProcessBus(name: "navigation-node", network: network), configuration: run, log: quiet)
            _ = try ear.subscribe(
                matching: TopicFilter(include: ["/nav/state", "/health/*"]), qos: .keepLast(10_000),
                maximumPayloadSize: 1 << 20)
            player = NodeLink(try InProcessBus(name: "player", network: network), log: quiet)
            try player.advertise([Topics.clock, Topics.gnssFix, Topics.odometry])
        }

        /// Advances the time to that of a fix, and delivers the fix unless it is missing.
        func take(_ fix: GnssFix, isMissing: Bool = false, _ odometry: VehicleOdometry? = nil) async throws {
            let stamp = NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0)
            player.publish(Clock(stampNs: fix.stampNs), on: Topics.clock, stamp: stamp)
            if !isMissing { player.publish(fix, on: Topics.gnssFix, stamp: stamp) }
            if let odometry { player.publish(odometry, on: Topics.odometry, stamp: stamp) }
            for _ in 0..<3 { try node.step(waiting: .zero) }
            try await node.finishWork()
            while let delivery = try ear.poll(timeout: .zero) {
                if delivery.topic == "/nav/state" {
                    states.append(try NavigationState(decoding: delivery.payload.bytes))
                } else {
                    health = try NodeHealth(decoding: delivery.payload.bytes)
                }
            }
        }

        var codes: [String] { health.reasons.compactMap(\.code) }
        func counter(_ name: String) -> UInt64? { health.counters.first { $0.name == name }?.value }
    }

    @Test(arguments: [(.suspected, "suspects"), (.detected, "detects")] as [(SpoofingStatus, String)])
    func spoofingIsReportedAsCertainAsItIs(status: SpoofingStatus, word: String) async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<10] { try await bench.take(fix) }
        for fix in drive[10..<14] {
            var fix = fix
            fix.spoofing = status
            try await bench.take(fix)
        }
        let reason = try #require(bench.health.reasons.first { $0.code == "gnss_spoofing" })
        #expect(reason.message == "the receiver \(word) spoofed signals")
        #expect(bench.health.state == (status == .detected ? .lost : .degraded))
    }

    @Test func spoofingAndItsEndAreReported() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<20] { try await bench.take(fix) }
        #expect(bench.health.state == .ok && bench.codes.isEmpty)
        #expect(bench.states.last?.gnss?.quality == .full)
        for fix in drive[20..<26] {
            var fix = fix
            fix.spoofing = .detected
            try await bench.take(fix)
        }
        #expect(bench.health.state == .lost && bench.codes.contains("gnss_spoofing"))
        #expect((bench.counter("fixes_rejected_spoofing") ?? 0) >= 5)
        #expect(bench.states.last?.gnss?.quality == .lost)
        #expect(bench.states.last?.gnss?.reasons.contains(.spoofing) == true)
        #expect((bench.states.last?.gnss?.lastQualifiedAgeS ?? 0) >= 1)
        for fix in drive[26..<40] { try await bench.take(fix) }
        #expect(bench.health.state == .ok && bench.codes.isEmpty)
        #expect(bench.states.last?.gnss?.quality == .full && bench.states.last?.gnss?.reasons.isEmpty == true)
    }

    @Test func rejectedAndMissingFixesAreReported() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<20] { try await bench.take(fix) }
        for fix in drive[20..<28] {
            var fix = fix
            fix.horizontalAccuracyM = 300
            try await bench.take(fix)
        }
        #expect(bench.codes.contains("gnss_no_fix") && bench.health.state != .ok)
        #expect((bench.counter("fixes_rejected_accuracy") ?? 0) >= 7)
        #expect(bench.counter("fixes_rejected_jump") == nil)
        for fix in drive[28..<40] { try await bench.take(fix) }
        #expect(bench.codes.isEmpty)
        for fix in drive[40..<50] {
            try await bench.take(fix, isMissing: true)
            #expect(bench.health.state != .lost, "\(bench.codes)")
        }
        // For 0.3 s after a stall of this process the node publishes no predictions.
        for fix in drive[50..<80] where !bench.codes.contains("gnss_no_fix") {
            try await bench.take(fix, isMissing: true)
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(bench.codes.contains("topic_silent") && bench.codes.contains("gnss_no_fix"))
        let topic = bench.health.topics.first { $0.topic == "/gnss/fix" }
        #expect((topic?.ageS ?? 0) >= 8)
    }

    @Test func missingPositionIsReported() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        try await bench.take(drive[0], isMissing: true)
        #expect(bench.codes.contains("gnss_no_fix") && bench.health.state != .ok)
        for fix in drive[1..<10] {
            var fix = fix
            fix.fixType = .noFix
            try await bench.take(fix)
        }
        #expect(bench.codes.contains("gnss_no_fix") && bench.health.state == .lost)
        #expect(bench.states.last?.gnss?.quality == .lost && bench.states.last?.gnss?.reasons == [.noFix])
        var timeless = drive[10]
        (timeless.timestamp, timeless.stampNs) = (nil, nil)
        for _ in 0..<3 { try await bench.take(timeless) }
        for fix in drive[10..<12] { try await bench.take(fix) }
        #expect(bench.codes.contains("fix_without_time"))
        try await bench.take(drive[20])
        #expect(bench.counter("fixes_left_out") == 3)
    }

    @Test func invalidTimeIsReportedAsSuch() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<5] { try await bench.take(fix) }
        var fix = drive[5]
        fix.timestamp?.seconds = 1_000_000_000_000_000
        try await bench.take(fix)
        fix = drive[5]
        fix.timestamp?.nanos = -5
        try await bench.take(fix)
        for fix in drive[6..<8] { try await bench.take(fix) }
        #expect(bench.codes.contains("fix_time_invalid") && !bench.codes.contains("fix_without_time"))
        #expect(bench.counter("fixes_left_out") == 2)
    }

    @Test func firstFixesWithoutATimeAreNotReportedAsMissing() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        try await bench.take(drive[0], isMissing: true)
        var timeless = drive[0]
        timeless.stampNs = nil
        try await bench.take(timeless)
        for fix in drive[1..<3] { try await bench.take(fix, isMissing: true) }
        #expect(bench.codes.contains("fix_without_time"))
        let missing = try #require(bench.health.reasons.first { $0.code == "gnss_no_fix" })
        #expect(missing.message == "no fix with a valid time has arrived yet")
    }

    @Test func missingFirstFixMeansLostAfterTenSeconds() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<9] { try await bench.take(fix, isMissing: true) }
        #expect(bench.health.state == .degraded && Set(bench.codes) == ["gnss_no_fix", "topic_silent"])
        for fix in drive[9..<13] { try await bench.take(fix, isMissing: true) }
        #expect(bench.health.state == .lost)
    }

    @Test func unusedValuesAreReportedWhileTheyArrive() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<20] {
            var fix = fix
            fix.course = 325
            try await bench.take(fix, VehicleOdometry(speedMps: -5))
        }
        func message(_ code: String) -> String? { bench.health.reasons.first { $0.code == code }?.message }
        #expect(message("fix_field_out_of_range")?.contains("course 325.0 (radians, 0 to 2 pi)") == true)
        #expect(message("odometry_field_out_of_range")?.contains("speed_mps -5.0 (m/s, 0 to 150; reverse") == true)
        #expect((bench.counter("fix_fields_out_of_range") ?? 0) >= 18)
        #expect((bench.counter("odometry_fields_out_of_range") ?? 0) >= 18 && bench.counter("odometry_used") == 0)
        // Odometry without a time takes the time of its header.
        for fix in drive[20..<35] { try await bench.take(fix, VehicleOdometry(speedMps: fix.speed)) }
        #expect(message("fix_field_out_of_range") == nil && message("odometry_field_out_of_range") == nil)
        #expect((bench.counter("odometry_used") ?? 0) >= 10)
    }

    /// The route is the fastest, so no search finds a faster one.
    @Test(arguments: [1.0, 1_000_000]) func searchesForFasterRoutesAreCounted(minimumRemaining: Double) async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench {
            $0.navigator.faster.interval = 5
            $0.navigator.faster.minimumRemaining = minimumRemaining
        }
        defer { bench.node.finish() }
        for fix in drive[..<32] { try await bench.take(fix) }
        let requests = try #require(bench.counter("faster_route_requests"))
        let heldBack = try #require(bench.counter("faster_route_held_back"))
        let notWorthIt = try #require(bench.counter("faster_route_not_worth_it"))
        #expect(bench.counter("faster_route_detected") == 0)
        if minimumRemaining == 1 {
            // The answer to the last one may come after the report.
            #expect((3...6).contains(requests) && (requests - 1...requests).contains(notWorthIt))
        } else {
            // A search that is due is held back once, however long.
            #expect(requests == 0 && heldBack == 1 && notWorthIt == 0)
        }
    }

    @Test func odometryOfAnotherClockIsReported() async throws {
        let drive = try Helsinki.drive.get()
        let bench = try Bench()
        defer { bench.node.finish() }
        for fix in drive[..<20] {
            let report = VehicleOdometry(stampNs: (fix.stampNs ?? 0) + 3_600_000_000_000, speedMps: 5)
            try await bench.take(fix, report)
        }
        #expect(bench.health.state == .degraded && bench.codes == ["odometry_stray"])
        #expect((bench.counter("odometry_left_out") ?? 0) >= 18 && bench.counter("odometry_used") == 0)
    }
}
