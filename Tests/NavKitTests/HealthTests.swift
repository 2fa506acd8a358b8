import Glibc
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import NavTestKit
import Testing

/// A node's health and its reasons.
struct HealthTests {
    private let second: Int64 = 1_000_000_000

    /// Returns the health that the monitor reports after some seconds.
    private func health(of stage: EchoStage, after seconds: Int64) -> NodeHealth {
        var monitor = HealthMonitor()
        return monitor.report(
            stage.runner.context, state: stage.runner.lifecycle.state, findings: [],
            now: Clocks.monotonic() + seconds * second, publishers: { _ in nil })
    }

    @Test func silentTopicIsReported() throws {
        let stage = try EchoStage()
        #expect(health(of: stage, after: 0).state == .ok, "silence is not a fault just after the start")
        let never = health(of: stage, after: 4)
        #expect(never.state == .degraded && never.reasons.map(\.code) == ["topic_silent"])
        #expect(never.reasons.first?.message == "/gnss/fix: no message yet (its usual rate is not known)")

        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        stage.fixes.publish(VehicleOdometry(), on: Topics.odometry, stamp: NavGeo.Timestamp(nanoseconds: 1))
        for _ in 0..<3 { try stage.turn() }
        #expect(health(of: stage, after: 1).state == .ok)
        let reasons = health(of: stage, after: 10).reasons.compactMap(\.message)
        #expect(reasons.count == 2)
        #expect(reasons.first?.hasPrefix("/gnss/fix: no message for ") == true)
        #expect(
            reasons.last?.hasPrefix("/vehicle/odometry: no message for ") == true,
            "optional, but it was received before")
    }

    @Test(arguments: [
        (0.1, 2.5, "usually 10 Hz"), (1, 3, "usually 1 Hz"), (5, 15, "usually every 5 s"),
    ])
    func silenceIsComparedWithTheRealRate(period: Double, tolerated: Double, text: String) throws {
        let stage = try EchoStage(simTime: true)
        func nanoseconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }
        // An outage of a minute does not change the usual rate.
        let times = (0..<10).map { Double($0) * period + ($0 < 5 ? 0 : 60) }
        for time in times {
            let stamp = NavGeo.Timestamp(nanoseconds: 1_700_000_000_000_000_000 + nanoseconds(time))
            stage.fixes.publish(Clock(stampNs: stamp.nanoseconds), on: Topics.clock, stamp: stamp)
            stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: stamp)
            for _ in 0..<3 { try stage.turn() }
        }
        func message(after silence: Double) -> String? {
            var monitor = HealthMonitor()
            return monitor.report(
                stage.runner.context, state: .active, findings: [], now: nanoseconds((times.last ?? 0) + silence),
                publishers: { _ in nil }
            ).reasons.first?.message
        }
        #expect(message(after: tolerated - 0.1) == nil)
        #expect(message(after: tolerated + 0.1)?.hasSuffix("(\(text))") == true)
    }

    @Test func silentTopicIsReportedWithItsPublishers() throws {
        let stage = try EchoStage()
        var monitor = HealthMonitor()
        func message(_ publishers: [String]?) -> String? {
            monitor.report(
                stage.runner.context, state: .active, findings: [], now: Clocks.monotonic() + 9 * second,
                publishers: { _ in publishers }
            ).reasons.first?.message
        }
        #expect(message([])?.contains("no node publishes it: start one") == true)
        #expect(message(["gnss-left", "gnss-right"])?.contains("published by gnss-left, gnss-right") == true)
    }

    @Test func topicsHaveCountsAndRates() throws {
        let stage = try EchoStage()
        for stamp in 1...5 {
            stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: Int64(stamp)))
        }
        for _ in 0..<6 { try stage.turn() }
        let topics = health(of: stage, after: 0).topics
        let fix = try #require(topics.first { $0.topic == "/gnss/fix" })
        #expect(fix.isPublisher == false && fix.messageCount == 5 && fix.nominalRateHz == 10 && fix.peerCount == 1)
        #expect(fix.byteCount == UInt64(5 * GnssFix().encoded().count) && fix.ageS != nil)
        #expect(fix.lostCount == 0 && fix.droppedCount == 0 && fix.rejectedCount == 0 && fix.mismatchCount == 0)
        let position = try #require(topics.first { $0.topic == "/nav/position" })
        #expect(position.isPublisher == true && position.messageCount == 5 && position.peerCount == 1)
        #expect(topics.first { $0.topic == "/nav/route" }?.ageS == nil)
    }

    @Test func otherSchemaVersionIsReadAndReportedOnce() throws {
        let stage = try EchoStage()
        let publication = try stage.peer.advertise(
            TopicDescription(
                name: "/gnss/fix", typeName: GnssFix.fullName, schemaFingerprint: 42, qos: .keepLast(64),
                maximumPayloadSize: 100))
        for _ in 0..<3 { try stage.peer.publish(GnssFix().encoded(), on: publication, stampNanoseconds: 1) }
        for _ in 0..<5 { try stage.turn() }
        #expect(stage.events == ["activate"] + Array(repeating: "fix echo 1.0", count: 3))
        let lines = try stage.all(LogEntry.self, on: "/log").compactMap(\.text)
        #expect(lines.count { $0.contains("publishes /gnss/fix with another version of navbus.v1.GnssFix") } == 1)
        let health = health(of: stage, after: 0)
        #expect(health.topics.first { $0.topic == "/gnss/fix" }?.mismatchCount == 3 && health.state == .ok)
    }

    @Test func publisherOfRejectedMessagesIsReported() throws {
        let stage = try EchoStage()
        let publication = try stage.peer.advertise(
            TopicDescription(
                name: "/gnss/fix", typeName: GnssFix.fullName, schemaFingerprint: 42, qos: .keepLast(64),
                maximumPayloadSize: 100))
        for _ in 0..<3 { try stage.peer.publish([0xff, 0xff, 0xff], on: publication, stampNanoseconds: 1) }
        for _ in 0..<5 { try stage.turn() }
        let health = health(of: stage, after: 0)
        let reason = try #require(health.reasons.first)
        #expect(reason.code == "messages_rejected" && health.state == .degraded)
        let boot = String(stage.peer.bootID, radix: 16)
        #expect(reason.message?.contains("boot id \(boot) (its schema is another version) are rejected") == true)
        #expect(health.topics.first { $0.topic == "/gnss/fix" }?.rejectedCount == 3)
        #expect(try stage.all(LogEntry.self, on: "/log").count == 1)
        #expect(self.health(of: stage, after: 11).reasons.map(\.code) == ["topic_silent"], "the finding expires")
    }

    @Test func messagesRejectedByTheBusAreReportedWithTheirCause() throws {
        let stage = try EchoStage()
        for _ in 0..<3 { stage.network.inject([Array("/gnss/fix".utf8) + [0], GnssFix().encoded()]) }
        for _ in 0..<3 { try stage.turn() }
        var monitor = HealthMonitor()
        func report(after seconds: Int64) -> NodeHealth {
            monitor.report(
                stage.runner.context, state: .active, findings: [], now: Clocks.monotonic() + seconds * second,
                publishers: { _ in ["g-two"] })
        }
        let health = report(after: 4)
        #expect(health.state == .degraded && health.reasons.map(\.code) == ["messages_rejected"])
        let text =
            "/gnss/fix: messages are rejected for 2 frames instead of 3 (topic, header, payload); published by g-two"
        #expect(health.reasons.first?.message == text)
        #expect(health.topics.first { $0.topic == "/gnss/fix" }?.rejectedCount == 3)
        #expect(report(after: 5).reasons.map(\.code) == ["messages_rejected"])
        try stage.turn()
        let lines = try stage.all(LogEntry.self, on: "/log").compactMap(\.text)
        #expect(lines.count { $0 == "messages_rejected: \(text)" } == 1, "once as long as it lasts: \(lines)")
        #expect(report(after: 16).reasons.map(\.code) == ["topic_silent"], "the finding expires")
    }

    @Test func publisherIsIdentifiedByItsNodeName() throws {
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            let source = try BusNode(name: "old-source", configuration: BusConfiguration(directory: directory))
            let bus = try BusNode(name: "echo", configuration: BusConfiguration(directory: directory))
            defer {
                bus.close()
                source.close()
            }
            let publication = try source.advertise(
                TopicDescription(
                    name: "/gnss/fix", typeName: GnssFix.fullName, schemaFingerprint: 42, qos: .latched,
                    maximumPayloadSize: 100))
            try source.publish([0xff], on: publication, stampNanoseconds: 1)
            let runner = try NodeRunner<EchoNode>(
                bus, configuration: RunConfiguration(EchoConfiguration()), directory: directory,
                log: NodeLog(node: "echo", isWrittenToStandardError: false))
            let input = try #require(runner.context.inputs.first)
            while input.rejected == 0 {
                _ = try source.poll(timeout: .zero)
                try runner.step(waiting: .milliseconds(1))
            }
            #expect(runner.context.publisher(source.bootID) == "node 'old-source'")
            runner.finish()
        }
    }

    @Test func nodesOfOtherHostsAreReportedAndExcludedFromLockstep() throws {
        try withTemporaryFolder { folder in
            try withTemporaryFolder { far in
                var configuration = BusConfiguration(directory: try BusDirectory(path: far))
                configuration.hosts = HostConfiguration(
                    listen: try TCPEndpoint("tcp://127.0.0.1:0"), security: .insecure)
                let source = try BusNode(name: "far-source", configuration: configuration)
                let directory = try BusDirectory(path: folder)
                configuration = BusConfiguration(directory: directory)
                let peer = HostConfiguration.Peer(endpoint: try #require(source.listeningEndpoint), key: nil)
                configuration.hosts = HostConfiguration(peers: [peer], security: .insecure)
                let bus = try BusNode(name: "echo", configuration: configuration)
                defer {
                    bus.close()
                    source.close()
                }
                _ = try source.advertise(
                    TopicDescription(
                        name: "/clock", typeName: Clock.fullName, schemaFingerprint: 0, qos: .latest,
                        maximumPayloadSize: 100))
                let runner = try NodeRunner<EchoNode>(
                    bus, configuration: RunConfiguration(EchoConfiguration()), directory: directory,
                    log: NodeLog(node: "echo", isWrittenToStandardError: false))
                try until("the peer") {
                    try source.runServices(timeout: .milliseconds(1))
                    try runner.step(waiting: .milliseconds(1))
                    return !bus.peerAnnouncements.isEmpty
                }
                #expect(runner.context.publisher(source.bootID) == "node 'far-source'")
                #expect(directory.players(for: bus, on: "/clock") == [source.bootID: "far-source"])
                var options = LockstepLeader.Options()
                (options.names, options.joining) = (["far-source"], .zero)
                let leader = LockstepLeader(
                    bus, options: options, directory: directory, isStopped: { false }, warn: { _ in })
                let refusal = #expect(throws: NodeError.self) { try leader.begin([]) }
                #expect(refusal?.description.contains("'far-source' is not on this host") == true)
                runner.finish()
            }
        }
    }

    @Test func undiscoverableNodeIsDegraded() throws {
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            var configuration = BusConfiguration(directory: directory)
            configuration.rescanMilliseconds = 10
            let bus = try BusNode(name: "echo", configuration: configuration)
            defer { bus.close() }
            let runner = try NodeRunner<EchoNode>(
                bus, configuration: RunConfiguration(EchoConfiguration()), directory: directory,
                log: NodeLog(node: "echo", isWrittenToStandardError: false))
            #expect(rename(directory.nodePath("echo"), folder + "/away") == 0)
            let other = try NodeLock("echo", in: directory)
            defer { other.release() }
            try until("the problem") {
                try runner.step(waiting: .milliseconds(10))
                return bus.registryProblem != nil
            }
            var monitor = HealthMonitor()
            let health = monitor.report(
                runner.context, state: runner.lifecycle.state, findings: [], now: Clocks.monotonic(),
                publishers: { _ in nil })
            let reason = health.reasons.first { $0.code == "registry_lost" }
            #expect(health.state != .ok)
            #expect(reason?.message?.contains("'echo' is in use by process") == true)
            runner.finish()
        }
    }

    @Test func peersAndRefusedConnectionsAreCounted() throws {
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            var configuration = BusConfiguration(directory: directory)
            let absent = HostConfiguration.Peer(endpoint: try TCPEndpoint("tcp://127.0.0.1:9"), key: nil)
            configuration.hosts = HostConfiguration(peers: [absent], security: .insecure)
            let bus = try BusNode(name: "echo", configuration: configuration)
            let ear = try BusNode(name: "ear", configuration: BusConfiguration(directory: directory))
            defer {
                ear.close()
                bus.close()
            }
            _ = try ear.subscribe(to: "/health/echo", qos: .latched)
            let runner = try NodeRunner<EchoNode>(
                bus, configuration: RunConfiguration(EchoConfiguration()), directory: directory,
                log: NodeLog(node: "echo", isWrittenToStandardError: false))
            var heard: NodeHealth?
            while heard == nil {
                try runner.step(waiting: .milliseconds(1))
                heard = try ear.poll(timeout: .milliseconds(1)).map { try NodeHealth(decoding: $0.payload.bytes) }
            }
            let counters = Dictionary(
                (heard?.counters ?? []).map { ($0.name ?? "", $0.value) }, uniquingKeysWith: { first, _ in first })
            #expect(counters["hosts_peers"] == 1 && counters["hosts_peers_present"] == 0)
            #expect(counters["hosts_denied"] == 0 && counters["call_connections_refused"] == 0)
            runner.finish()
        }
    }

    @Test func lossesAreReportedAndExpire() {
        var memory = HealthMemory()
        #expect(memory.recentLoss("a", total: 0, at: 0) == 0)
        #expect(memory.recentLoss("a", total: 3, at: second) == 3)
        #expect(memory.recentLoss("a", total: 5, at: 5 * second) == 5)
        #expect(memory.recentLoss("b", total: 1, at: 5 * second) == 1)
        #expect(memory.recentLoss("a", total: 5, at: 11 * second) == 2)
        #expect(memory.recentLoss("a", total: 6, at: 12 * second) == 3)
        #expect(memory.recentLoss("a", total: 6, at: 15 * second) == 1)
        // A jump of the clock does not report the loss again.
        memory.startOver()
        #expect(memory.recentLoss("a", total: 6, at: 16 * second) == 0)
        #expect(memory.recentLoss("a", total: 8, at: 17 * second) == 2)
    }

    @Test func aConditionLastsOnlyWithoutInterruption() {
        var memory = HealthMemory()
        func lasts(_ holds: Bool, at now: Int64) -> Bool {
            memory.hasLasted("a", for: 30 * second, holds, at: now * second)
        }
        #expect(!lasts(true, at: 100) && !lasts(true, at: 129) && lasts(true, at: 130) && lasts(true, at: 140))
        #expect(!lasts(false, at: 141) && !lasts(true, at: 142) && !lasts(true, at: 171) && lasts(true, at: 172))
        let isOther = memory.hasLasted("b", for: second, true, at: 172 * second)
        #expect(!isOther)
        memory.startOver()
        #expect(!lasts(true, at: 173))
    }

    @Test func aRateIsMeasuredBetweenTwoReports() {
        var memory = HealthMemory()
        #expect(memory.rate("a", count: 100, at: 0) == nil)
        #expect(memory.rate("a", count: 120, at: 2 * second) == 10)
        #expect(memory.rate("a", count: 120, at: 2 * second) == nil)
        #expect(memory.rate("a", count: 120, at: 3 * second) == 0)
    }

    @Test func reasonKeepsItsStartTime() {
        var memory = HealthMemory()
        let (first, other) = (HealthFinding("x", "1", about: "/a"), HealthFinding("x", "2", about: "/b"))
        #expect(memory.since(of: [first], at: 5) == [5])
        #expect(memory.since(of: [other, first], at: 7) == [7, 5])
        #expect(memory.since(of: [other], at: 8) == [7])
        #expect(memory.since(of: [first], at: 9) == [9])
    }

    @Test func findingsAndCountersOfTheNodeAreIncluded() throws {
        var configuration = EchoConfiguration()
        configuration.isLoud = true
        let stage = try EchoStage(configuration)
        stage.runner.context.counter("echoes").add(3)
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        for _ in 0..<3 { try stage.turn() }
        let first = try #require(try stage.all(NodeHealth.self, on: "/health/echo").first)
        #expect(first.state == .degraded && first.reasons.map(\.message) == ["It is loud: turn it down."])
        #expect((first.residentBytes ?? 0) > 1 << 20 && first.cpuLoad != nil && first.uptimeS != nil)
        let health = health(of: stage, after: 0)
        #expect(health.counters.contains(Counter(name: "echoes", value: 3)))
        #expect(health.counters.contains { $0.name == "calls_refused" })
        #expect(health.latencies.compactMap(\.name) == ["handle", "loop"])
        #expect(health.latencies.first?.sampleCount == 1)
    }
}
