import Foundation
import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavSimulation
import NavTestKit
import Testing

/// A node that uses real sockets between processes: its services, its lifecycle and its end.
struct NodeOnSocketsTests {
    private let options = CallOptions(timeout: .seconds(30))

    @Test func playersAreFoundOnARenamedClock() throws {
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            let player = try BusNode(name: "player", configuration: BusConfiguration(directory: directory))
            let bus = try BusNode(name: "echo", configuration: BusConfiguration(directory: directory))
            defer {
                bus.close()
                player.close()
            }
            _ = try player.advertise(
                TopicDescription(
                    name: "/sim/clock", typeName: NavMessages.Clock.fullName, schemaFingerprint: 0, qos: .latest,
                    maximumPayloadSize: 100))
            let link = NodeLink(
                bus, remaps: ["/clock": "/sim/clock"], simTime: true, directory: directory,
                log: NodeLog(node: "echo", level: .critical))
            #expect(link.clock.players() == [player.bootID: "player"])
        }
    }

    @Test func standbyNodeIsActivatedQueriedAndShutDown() throws {
        try withTemporaryFolder { folder in
            let directory = try BusDirectory(path: folder)
            let isReady = DispatchSemaphore(value: 0)
            let isOver = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                defer { isOver.signal() }
                do {
                    let bus = try BusNode(name: "echo", configuration: BusConfiguration(directory: directory))
                    defer { bus.close() }
                    var configuration = RunConfiguration(EchoConfiguration())
                    configuration.kit.autostart = false
                    let runner = try NodeRunner<EchoNode>(
                        bus, configuration: configuration, directory: directory,
                        log: NodeLog(node: "echo", isWrittenToStandardError: false))
                    isReady.signal()
                    try runner.run(until: StopSignal([]))
                    #expect(runner.node.events == ["activate", "reconfigure", "fix echo 2.0", "deactivate", "finish"])
                } catch {
                    Issue.record(error)
                    isReady.signal()
                }
            }
            isReady.wait()
            let peer = try BusNode(name: "peer", configuration: BusConfiguration(directory: directory))
            defer { peer.close() }
            _ = try peer.subscribe(to: "/nav/position", qos: .latched, maximumPayloadSize: 1 << 20)
            let out = NodeLink(peer, log: NodeLog(node: "peer", level: .critical))
            try out.advertise([Topics.gnssFix])

            let state = try peer.callBlocking(
                NodeService.changeState, ChangeStateRequest(transition: .activate), options: options)
            #expect(state.state == .active)
            let gain = Parameter(key: "gain_m", value: .doubleValue(2))
            let parameters = try peer.callBlocking(
                NodeService.setParameters, SetParametersRequest(parameters: [gain]), options: options)
            #expect(parameters.error == nil)
            while out.subscriberCount(of: Topics.gnssFix) == 0 { try peer.runServices(timeout: .milliseconds(5)) }
            out.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
            while try peer.poll(timeout: .seconds(1)) == nil {}
            let info = try peer.callBlocking(NodeService.getInfo, GetInfoRequest(), options: options)
            #expect(info.lifecycleState == .active && info.node == "echo")

            _ = try peer.callBlocking(NodeService.shutdown, ShutdownRequest(reason: "test"), options: options)
            isOver.wait()
            // The name is free immediately.
            try BusNode(name: "echo", configuration: BusConfiguration(directory: directory)).close()
        }
    }

    @Test func hostileRequestsDoNotCrashTheNode() throws {
        let stage = try EchoStage()
        var generator = SeededRandom(seed: 7)
        let methods = NodeService.descriptor.methods.map(\.name)
        var codes: Set<StatusCode> = []
        for round in 0..<2_000 {
            let method = methods[round % methods.count]
            // These may end the node.
            guard method != "Shutdown", method != "ChangeState" else { continue }
            let bytes = (0..<Int(generator.next() % 40)).map { _ in UInt8(truncatingIfNeeded: generator.next() & 0x3f) }
            var end: CallStatus?
            _ = try stage.peer.call(NodeService.name, method, bytes, options: stage.options) { event in
                if case .end(let status) = event { end = status }
            }
            for _ in 0..<5 where end == nil { try stage.turn() }
            codes.insert(try #require(end).code)
        }
        #expect(codes == [.ok, .invalidArgument])
        #expect(try stage.call(NodeService.getInfo, GetInfoRequest()).node == "echo")
        #expect(stage.runner.configuration.node == EchoConfiguration())
    }

    @Test func failedPublicationIsReportedInTheHealth() throws {
        let stage = try EchoStage()
        stage.runner.context.publish(
            MatchedPosition(roadName: String(repeating: "x", count: 100_000)), on: Topics.position,
            stamp: NavGeo.Timestamp(nanoseconds: 1))
        try stage.turn()
        let health = try #require(try stage.all(NodeHealth.self, on: "/health/echo").first)
        #expect(health.reasons.map(\.code) == ["publish_failed"])
        #expect(health.reasons.first?.message?.contains("/nav/position: 1 messages could not be published") == true)
        #expect(health.topics.first { $0.topic == "/nav/position" }?.rejectedCount == 1)
        #expect(try stage.all(LogEntry.self, on: "/log").first?.text?.contains("cannot publish /nav/position") == true)
    }
}
