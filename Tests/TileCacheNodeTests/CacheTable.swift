import Foundation
import Logging
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import NavTestKit
import NavTileCache
import NavTileStore
import NavWire
import Synchronization
import Testing
import TileCacheNode

/// A tile cache with a caller and a subscriber to its publications.
final class CacheTable {
    let network = InProcessNetwork(pipeDepth: 100_000)
    let caller: InProcessBus
    let out: NodeLink
    private let temporary: TemporaryFolder
    /// The folder that the test may write to; it contains the store.
    var folder: String { temporary.path }
    private(set) var node: NodeRunner<TileCacheNode>?
    private(set) var heard: [Delivery] = []
    private let settings: [String]
    private let isPlayed: Bool
    private let hearsLog: Bool
    /// The wall clock of the cache.
    let wallClock = WallClock()
    private var stamp: Int64 = 1_767_258_000_000_000_000

    /// - Parameters:
    ///   - isPlayed: whether the cache uses the time of `/clock`.
    ///   - hearsLog: whether the cache's warnings are recorded.
    init(
        _ settings: [String], isPlayed: Bool = false, hearsLog: Bool = false, make: (String) throws -> Void = { _ in }
    ) throws {
        let temporary = try TemporaryFolder()
        self.temporary = temporary
        try make(temporary.path)
        caller = try InProcessBus(name: "caller", network: network)
        out = NodeLink(
            try InProcessBus(name: "navigation-node", network: network), log: NodeLog(node: "test", level: .critical))
        try out.advertise([
            Topics.clock, Topics.position, Topics.progress, Topics.state, Topics.route, Topics.alternatives,
        ])
        self.isPlayed = isPlayed
        self.hearsLog = hearsLog
        self.settings = settings.map { $0.replacingOccurrences(of: "FOLDER", with: temporary.path) }
        _ = try caller.subscribe(
            matching: TopicFilter(include: ["/tiles/*", "/health/*", "/log"]), qos: .keepLast(100_000),
            maximumPayloadSize: 1 << 24)
        setTime()
        try start()
    }

    deinit {
        guard let node else { return }
        // After a test has thrown, waiting here would block a thread that the node's own tasks need.
        let (runner, temporary) = (Transferred(node), temporary)
        Thread.detachNewThread { withExtendedLifetime(temporary) { runner.node.finish() } }
    }

    /// A node that is passed to another thread, which is then its only owner.
    private struct Transferred: @unchecked Sendable {
        // Unchecked because only the receiving thread uses the node.
        let node: NodeRunner<TileCacheNode>

        init(_ node: NodeRunner<TileCacheNode>) { self.node = node }
    }

    /// Returns a cache that serves tiles of a folder over HTTP, and its address.
    ///
    /// - Parameters:
    ///   - tileset: the setting of the tileset.
    ///   - make: a closure that writes the tiles into the folder.
    static func serving(
        _ tileset: String = "tilesets=name=map,domain=maps,source=FOLDER/map", make: (String) throws -> Void
    ) async throws -> (server: CacheTable, address: String) {
        let server = try CacheTable([tileset, "http.listen=127.0.0.1:0"], make: make)
        try await server.settle()
        return (server, try #require(server.node?.node.serverAddress))
    }

    /// Ends the node and removes its files.
    func end() async {
        await stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts the node; settings given here take precedence.
    func start(_ more: [String] = []) throws {
        var configuration = try ConfigLoader.load(
            TileCacheConfiguration.self, file: nil, overrides: ["store.path=\(folder)/store"] + settings + more)
        configuration.wallClock = { [wallClock] in wallClock.now }
        // The tests share the threads of their tasks: work that takes milliseconds in a node may take seconds here.
        configuration.samplingTime = .seconds(120)
        var run = RunConfiguration(configuration)
        run.kit.simTime = isPlayed
        node = try NodeRunner<TileCacheNode>(
            try InProcessBus(name: "tile-cache-node", network: network), configuration: run,
            log: NodeLog(
                node: "tile-cache-node", level: hearsLog ? .warning : .critical, isWrittenToStandardError: !hearsLog))
    }

    /// Ends the node but keeps its store.
    func stop() async {
        guard let node else { return }
        let runner = Transferred(node)
        self.node = nil
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                runner.node.finish()
                continuation.resume()
            }
        }
        node.context.bus.close()
    }

    func turn() throws {
        setTime()
        try node?.step(waiting: .zero)
        while let delivery = try caller.poll(timeout: .zero) { heard.append(delivery) }
    }

    /// Sets the time of the network. Deadlines follow the machine's clock, because downloads do not use the bus. A
    /// stall of the machine does not count as time, since the nodes would otherwise consider each other dead.
    private func setTime() {
        let now = Clocks.monotonic()
        let last = network.now.monotonicNanoseconds
        network.now.monotonicNanoseconds = last == 0 ? now : last + min(max(now - last, 0), 50_000_000)
    }

    /// Runs the node until a condition is true; the test fails if it remains false.
    func until(_ what: String, _ condition: () throws -> Bool) async throws {
        try await eventually(what, pause: 2) {
            try turn()
            return try condition()
        }
    }

    /// Runs the node until the cache has nothing left to do or report.
    func settle() async throws {
        var quiet = 0
        try await until("the cache is idle") {
            let state = try states.last
            let isIdle =
                node?.node.pendingCount == 0 && state?.pendingCount ?? 0 == 0 && state?.downloadingCount ?? 0 == 0
            quiet = isIdle && state != nil ? quiet + 1 : 0
            return quiet > 100
        }
    }

    // MARK: Vehicle

    private func publish<Content>(_ message: Content, on topic: Topic<Content>) {
        stamp += 1_000_000
        out.publish(message, on: topic, stamp: NavGeo.Timestamp(nanoseconds: stamp))
    }

    func position(_ place: NavGeo.Coordinate) {
        let pose = Pose(latitude: place.latitude, longitude: place.longitude)
        publish(MatchedPosition(raw: pose, matched: pose), on: Topics.position)
    }

    func route(_ line: [NavGeo.Coordinate], id: UInt64 = 1) {
        publish(Self.route(line, id), on: Topics.route)
    }

    static func route(_ line: [NavGeo.Coordinate], _ id: UInt64) -> Route {
        Route(routeId: id, geometry: NavMessages.Polyline(line.map { ($0.latitude, $0.longitude) }))
    }

    func alternative(_ line: [NavGeo.Coordinate], forkPoint: Int, forkOffset: Double, of route: UInt64 = 1) {
        let other = Alternative(
            route: Self.route(line, 7), forkOffsetM: forkOffset, forkPointMain: UInt32(forkPoint),
            forkPoint: UInt32(forkPoint))
        publish(Alternatives(routeId: route, alternatives: [other], added: [7]), on: Topics.alternatives)
    }

    func progress(_ metres: Double, route: UInt64 = 1) {
        publish(RouteProgress(routeId: route, distanceTraveledM: metres), on: Topics.progress)
    }

    /// Publishes the time of a played drive; `epoch` counts its jumps.
    func clock(_ seconds: Int64, epoch: UInt32) {
        publish(
            Clock(stampNs: seconds * 1_000_000_000, rate: 1, epoch: epoch),
            on: Topics.clock)
    }

    func state(_ phase: NavigationPhase) { publish(NavigationState(phase: phase), on: Topics.state) }

    // MARK: Output

    var states: [TilesState] { get throws { try messages("/tiles/state") } }
    var events: [RegionEvent] { get throws { try messages("/tiles/region_event") } }

    /// The findings of the last health message.
    var findings: [HealthReason] {
        get throws { try (messages("/health/tile-cache-node") as [NodeHealth]).last?.reasons ?? [] }
    }

    /// The logged warnings.
    var log: [String] { get throws { try (messages("/log") as [LogEntry]).compactMap(\.text) } }

    /// The number of health messages, about one per second.
    var healthCount: Int { heard.count { $0.topic == "/health/tile-cache-node" } }

    /// Runs the node for some seconds of its own time, in which it performs due work; it informs the store of the tiles
    /// ahead about as often as it publishes its health.
    func pass(seconds: Int) async throws {
        let seen = healthCount
        try await until("\(seconds) seconds have passed") { healthCount > seen + seconds }
    }

    func messages<Content: Message>(_ topic: String) throws -> [Content] {
        try heard.filter { $0.topic == topic }.map { try Content(decoding: $0.payload.bytes) }
    }

    func call<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request, timeout: Duration = .seconds(600)
    ) async throws -> Response {
        var answer: Result<Response, CallStatus>?
        try caller.call(method, request, options: CallOptions(timeout: timeout)) { answer = $0 }
        try await until("\(method.name) returns an answer") { answer != nil }
        return try #require(answer).get()
    }

    /// Loads a region and waits for the end of the stream.
    func load(_ definition: RegionDefinition) async throws -> [LoadRegionResponse] {
        var answers: [LoadRegionResponse] = []
        var end: CallStatus?
        try caller.call(
            TileCacheService.loadRegion, LoadRegionRequest(definition: definition),
            options: CallOptions(timeout: .seconds(600))
        ) {
            switch $0 {
            case .response(let response): answers.append(response)
            case .end(let status): end = status
            }
        }
        try await until("the stream ends") { end != nil }
        #expect(end?.code == .ok, "\(String(describing: end))")
        return answers
    }

    func set(_ key: String, _ value: Parameter.Value) async throws {
        let answer = try await call(
            NodeService.setParameters, SetParametersRequest(parameters: [Parameter(key: key, value: value)]))
        #expect(answer.error == nil, "\(String(describing: answer.error))")
    }

    // MARK: Store

    /// Returns the stored tiles of a tileset, as read by another process.
    func onBoard(_ tileset: String, of tiles: some Sequence<TileID>) throws -> Set<TileID> {
        let reader = try TileStoreReader(folder: folder + "/store")
        let editions = try reader.editions()
        guard let current = editions.first(where: { $0.isCurrent && $0.key.tileset == tileset })?.key else { return [] }
        let all = Array(Set(tiles))
        return Set(all).subtracting(try reader.absent(all, in: current))
    }

    /// Returns the findings of the store check.
    func check() throws -> [String] {
        try TileStoreReader(folder: folder + "/store").check().findings.map(\.description)
    }
}

/// A wall clock that a test can set, and that is correct until then.
final class WallClock: Sendable {
    private let offset = Mutex<Int64>(0)

    var now: NavGeo.Timestamp {
        let now = TileSourceConfiguration.wallClock()
        return NavGeo.Timestamp(nanoseconds: now.nanoseconds + offset.withLock { $0 })
    }

    /// Sets the clock some seconds ahead of the true time, or behind it if negative.
    func set(ahead seconds: Int64) { offset.withLock { $0 = seconds * 1_000_000_000 } }
}
