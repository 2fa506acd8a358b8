import Foundation
import GNSSNode
import Logging
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestKit
import NavTestBus
import NavWire
import NavigationNode
import Testing
import TileCacheNode

/// A node with a client and, if needed, a policy node.
final class ServiceTable {
    let network = InProcessNetwork(pipeDepth: 100_000)
    let caller: InProcessBus
    let owner: InProcessBus
    let out: NodeLink
    let node: NodeRunner<NavigationNode>
    let tiles: Tiles
    private(set) var heard: [Delivery] = []

    /// - Parameters:
    ///   - log: the node's log; the default is nearly silent.
    ///   - prepare: receives the folder of the tiles before the node reads it.
    init(
        _ settings: [(String, String)] = [], owner provider: (any PolicyServiceProvider)? = nil,
        log: NodeLog? = nil, prepare: (String) throws -> Void = { _ in }
    ) throws {
        tiles = try Tiles()
        try prepare(tiles.path)
        let quiet = NodeLog(node: "test", level: .critical)
        caller = try InProcessBus(name: "caller", network: network)
        owner = try InProcessBus(name: "owner", network: network)
        out = NodeLink(try InProcessBus(name: "source", network: network), log: quiet)
        let overrides = ["tiles=\(tiles.path)"] + settings.map { "\($0)=\($1)" }
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil, overrides: overrides)
        if let provider { try owner.serve(PolicyService.served(by: provider)) }
        // Time comes from the drive, because the clock of a stalled machine would run ahead of it.
        var run = RunConfiguration(configuration)
        run.kit.simTime = true
        node = try NodeRunner<NavigationNode>(
            try InProcessBus(name: "navigation-node", network: network), configuration: run, log: log ?? quiet)
        try out.advertise([Topics.clock, Topics.gnssFix])
        _ = try caller.subscribe(
            matching: TopicFilter(include: ["/nav/*"]), qos: .keepLast(100_000), maximumPayloadSize: 1 << 22)
        tell(try Helsinki.drive.get().first?.stampNs ?? 0)
    }

    private func tell(_ time: Int64) {
        out.publish(Clock(stampNs: time), on: Topics.clock, stamp: NavGeo.Timestamp(nanoseconds: time))
    }

    deinit { node.finish() }

    func turn() throws {
        try node.step(waiting: .zero)
        while try owner.poll(timeout: .zero) != nil {}
        while let delivery = try caller.poll(timeout: .zero) { heard.append(delivery) }
    }

    /// Runs until no work is pending in the node or between the nodes.
    func settle() async throws {
        try await eventually("the node has no work", pause: 5) {
            for _ in 0..<4 { try turn() }
            guard node.node.pendingCount == 0 else { return false }
            for _ in 0..<4 { try turn() }
            return node.node.pendingCount == 0
        }
    }

    func drive(_ fixes: some Sequence<GnssFix>) async throws {
        for fix in fixes { try await publish(fix, stampNs: fix.stampNs ?? 0) }
    }

    /// Publishes a fix with a message stamp; the fix itself may have no stamp.
    func publish(_ fix: GnssFix, stampNs: Int64) async throws {
        tell(stampNs)
        out.publish(fix, on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: stampNs))
        try await settle()
    }

    func call<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request
    ) async throws -> Response {
        var answer: Result<Response, CallStatus>?
        try caller.call(method, request, options: CallOptions(timeout: .seconds(60))) { answer = $0 }
        while answer == nil { try await settle() }
        return try #require(answer).get()
    }

    func routes(_ request: CalculateRouteRequest) async throws -> [CalculateRouteResponse] {
        var answers: [CalculateRouteResponse] = []
        var end: CallStatus?
        try caller.call(NavigationService.calculateRoute, request, options: CallOptions(timeout: .seconds(60))) {
            switch $0 {
            case .response(let response): answers.append(response)
            case .end(let status): end = status
            }
        }
        while end == nil { try await settle() }
        #expect(end?.code == .ok)
        return answers
    }

    func messages<Content: Message>(_ topic: String, as type: Content.Type) throws -> [Content] {
        try heard.filter { $0.topic == topic }.map { try Content(decoding: $0.payload.bytes) }
    }
}
