import Foundation
import Logging
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import Testing

struct EchoConfiguration: NodeConfiguration, Equatable {
    var gain = 1.0
    var limit = 10
    var isLoud = false
    var title = "echo"

    static var keys: [ConfigKey<EchoConfiguration>] {
        [
            .number("gain_m", \.gain, in: 0...5, "How much it is moved, metres.").live,
            .integer("limit", \.limit, in: 1...100, "How many there may be.").live,
            .flag("loud", \.isLoud, "Whether it is loud.").live,
            .string("title", \.title, "What it is called."),
        ]
    }
}

/// A node that answers each fix with a position, and records its events.
final class EchoNode: Node {
    static let defaultName = "echo"
    static let failing = "fail"

    let context: NodeContext
    var configuration: EchoConfiguration
    var events: [String] = []
    var pending = 0

    init(configuration: EchoConfiguration, context: NodeContext) throws(NodeError) {
        self.context = context
        self.configuration = configuration
        try context.advertise([Topics.position])
        try context.subscribe(to: Topics.gnssFix, isRequired: true) { [unowned self] fix, _ in
            events.append("fix \(configuration.title) \(self.configuration.gain)")
            context.publish(MatchedPosition(), on: Topics.position, stamp: NavGeo.Timestamp(nanoseconds: 7))
        }
        try context.subscribe(to: Topics.odometry) { [unowned self] _, _ in
            events.append("odometry")
        }
        try context.subscribe(to: Topics.route) { [unowned self] _, _ in events.append("route") }
    }

    func activate() throws(NodeError) {
        if configuration.title == EchoNode.failing { throw NodeError(.missing, "it cannot be") }
        events.append("activate")
    }
    func deactivate() { events.append("deactivate") }
    func reconfigure(_ configuration: EchoConfiguration) {
        self.configuration = configuration
        events.append("reconfigure")
    }
    func findings(_ now: Int64) -> [HealthFinding] {
        configuration.isLoud ? [HealthFinding("too_loud", "It is loud: turn it down.")] : []
    }
    func finish() { events.append("finish") }
}

/// An echo node and a peer on a bus without sockets.
final class EchoStage {
    let network = InProcessNetwork(pipeDepth: 100_000)
    let runner: NodeRunner<EchoNode>
    let peer: InProcessBus
    let fixes: NodeLink
    let options = CallOptions(timeout: .seconds(30))
    private(set) var heard: [Delivery] = []

    init(
        _ configuration: EchoConfiguration = EchoConfiguration(), autostart: Bool = true, simTime: Bool = false,
        remaps: [String: String] = [:], log: NodeLog? = nil
    ) throws {
        var run = RunConfiguration(configuration)
        run.kit.autostart = autostart
        run.kit.simTime = simTime
        peer = try InProcessBus(name: "peer", network: network)
        let quiet = NodeLog(node: "peer", level: .critical)
        fixes = NodeLink(peer, log: quiet)
        _ = try peer.subscribe(matching: TopicFilter(), qos: .keepLast(100_000), maximumPayloadSize: 1 << 22)
        runner = try NodeRunner(
            try InProcessBus(name: "echo", network: network), remaps: remaps, configuration: run,
            log: log ?? NodeLog(node: "echo", level: .info, isWrittenToStandardError: false))
    }

    var events: [String] { runner.node.events }

    /// Runs one turn of the node and delivers its publications.
    func turn() throws {
        try runner.step(waiting: .zero)
        while let delivery = try peer.poll(timeout: .zero) { heard.append(delivery) }
    }

    func call<Request, Response>(_ method: UnaryMethod<Request, Response>, _ request: Request) throws -> Response {
        var answer: Result<Response, CallStatus>?
        try peer.call(method, request, options: options) { answer = $0 }
        for _ in 0..<10 where answer == nil { try turn() }
        return try #require(answer).get()
    }

    func count(_ topic: String) -> Int { heard.count { $0.topic == topic } }

    func all<Content: Message>(_ type: Content.Type, on topic: String) throws -> [Content] {
        try heard.filter { $0.topic == topic }.map { try Content(decoding: $0.payload.bytes) }
    }
}
