import ArgumentParser
import NavBus
import NavGeo
import NavHTTPServer
import NavKit
import NavMessages
import NavReport
import NavigationNode
import Synchronization

/// `navbus view`.
struct ViewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "view", abstract: "Show the drive on the bus live in a browser, until Ctrl-C.",
        discussion: """
            The page of 'navbus report', live: map, routes, positions, events and plots, and the nodes with their health, topics and \
            rates. It reads the bus and changes nothing on it.
            """)

    @Option(help: ArgumentHelp("The address to listen on; port 0 picks a free one.", valueName: "HOST:PORT"))
    var listen = "127.0.0.1:8800"
    @Flag(help: "Allow an address that other machines can reach: there is no password, they can read everything.")
    var allowRemote = false
    @Option(help: ArgumentHelp("Directory of road tiles, for the roads of the map.", valueName: "DIR")) var tiles:
        String?

    /// The seconds between two batches.
    private static let interval = 0.25
    private static let mostNodes = 256

    func run() throws {
        let directory = try tiles.map { try TilesetDirectory(path: $0) }
        let tool = try ToolBus("view")
        defer { tool.close() }
        let filter = TopicFilter(
            include: TopicCatalogue.all.filter {
                DriveCollector.shown.contains($0.type.fullName) && $0.name != Topics.preview.name
                    && !$0.name.contains("<")
            }.map { $0.name } + [Topics.health(of: "*").name, Topics.clock.name])
        try tool.subscribe(filter.include, depth: 1_000)
        let view = LiveView()
        let server = try WebServer(listen, allowsRemote: allowRemote, view)
        defer { server.stop() }
        var output = Output()
        output.line("http://\(server.address)/")
        output.flush()
        var health: [String: NodeHealth] = [:]
        var rates = ArrivalRates()
        var (nextBatch, nextNodes) = (MonotonicClock.now(), MonotonicClock.now())
        var roads = RoadsAround(directory: directory)
        while !tool.stop.isStopped {
            if let delivery = try tool.poll(.milliseconds(50)),
                let type = TopicCatalogue.topic(named: delivery.topic)?.type.fullName
            {
                rates.add(topic: delivery.topic, publisher: delivery.header.bootID)
                let bytes = delivery.payload.bytes
                if type == NodeHealth.fullName, let message = try? NodeHealth(decoding: bytes), let node = message.node,
                    health.count < Self.mostNodes || health[node] != nil
                {
                    health[node] = message
                }
                view.add(
                    type, topic: delivery.topic, publisher: delivery.header.bootID,
                    sequence: UInt32(truncatingIfNeeded: delivery.header.sequence),
                    stamp: delivery.header.stampNanoseconds, bytes)
            }
            let now = MonotonicClock.now()
            guard now >= nextBatch else { continue }
            nextBatch = now + .seconds(Self.interval)
            var nodes: [LiveDrive.Node]?
            if now >= nextNodes {
                nextNodes = now + .seconds(1)
                let present = try tool.snapshot().nodes.prefix(Self.mostNodes)
                health = health.filter { entry in present.contains { $0.node == entry.key } }
                rates.tick(now, present: Set(present.map(\.bootID)))
                nodes = present.map { node in
                    if let health = health[node.node] { return LiveDrive.Node(name: node.node, health) }
                    return LiveDrive.Node(
                        name: node.node, publisher: node.bootID, announced: node.topics.map(\.name), rates,
                        isRead: filter.matches)
                }
                if let map = roads.next(view.drive) { view.set(map) }
            }
            try view.flush(nodes)
        }
    }
}

extension MapExtract {
    /// Reports that road tiles are absent; returns whether some are.
    @discardableResult
    func noteAbsentTiles() -> Bool {
        guard absentTiles > 0 else { return false }
        Console.note("the map lacks the roads of \(absentTiles) tiles around the drive, which are not in the directory")
        return true
    }
}

/// The roads around an ongoing drive, read again when the vehicle leaves them.
private struct RoadsAround {
    /// The greatest distance from the vehicle to the places with loaded roads, metres; roads reach twice as far.
    private static let reach = 700.0

    let directory: TilesetDirectory?
    private var places: [NavGeo.Coordinate] = []
    private var routeCount = 0
    private var isNoted = false

    init(directory: TilesetDirectory?) { self.directory = directory }

    /// Returns new roads when the loaded ones do not reach far enough; nil when they do.
    mutating func next(_ drive: LiveDrive) -> MapExtract? {
        guard let directory, let here = drive.place else { return nil }
        let isNear = places.contains { Geodesy.distance($0, here) < Self.reach }
        if routeCount == drive.routeCount, isNear { return nil }
        (places, routeCount) = (drive.places, drive.routeCount)
        do throws(NodeError) {
            let map = try MapExtract(directory, around: places)
            if !isNoted { isNoted = map.noteAbsentTiles() }
            return map
        } catch {
            Console.note("the map has no roads: \(error)")
            return nil
        }
    }
}

/// A service of the pages that show the drive on the bus.
private final class LiveView: WebService {
    private struct State {
        var drive = LiveDrive(sequence: WallClock.now().nanoseconds / 1_000_000)
        var clients: Set<WebClient> = []
        /// The last batches, for a page created before them.
        var batches: [(sequence: Int64, text: [UInt8])] = []
    }

    /// The most bytes of kept batches.
    private static let mostBytes = 2 << 20
    private static let reset = Array("event: reset\ndata: 0\n\n".utf8)

    private let state = Mutex(State())
    let subprotocols: [String] = []
    let origins: [String] = []

    var drive: LiveDrive { state.withLock { $0.drive } }

    func set(_ map: MapExtract) { state.withLock { $0.drive.set(map) } }

    func add(_ type: String, topic: String, publisher: UInt64, sequence: UInt32, stamp: Int64, _ bytes: [UInt8]) {
        state.withLock { state in
            guard
                state.drive.add(
                    type, topic: topic, publisher: publisher, sequence: sequence, stamp: stamp, bytes)
            else { return }
            state.batches = []
            for client in state.clients { client.send(Self.reset) }
        }
    }

    /// Sends the latest updates to all pages.
    func flush(_ nodes: [LiveDrive.Node]?) throws { try state.withLock { try Self.flush(&$0, nodes) } }

    private static func flush(_ state: inout State, _ nodes: [LiveDrive.Node]?) throws {
        guard let batch = try state.drive.batch(nodes) else { return }
        let text = Array("data: ".utf8) + batch + Array("\n\n".utf8)
        state.batches.append((state.drive.sequence, text))
        var size = state.batches.reduce(0) { $0 + $1.text.count }
        while size > mostBytes { size -= state.batches.removeFirst().text.count }
        for client in state.clients { client.send(text) }
    }

    func reply(to path: String) -> WebReply {
        do {
            switch path.prefix(while: { $0 != "?" }) {
            case "/":
                // The page contains all batches so far, and requests later ones.
                let drive = try state.withLock { state in
                    try Self.flush(&state, nil)
                    return state.drive
                }
                return .content(
                    status: 200, type: "text/html", try drive.page(name: "Live", version: NavbusVersion.text))
            case "/map": return .content(status: 200, type: "application/json", try drive.mapDocument())
            case "/news": return .events
            default: return .text(404, "not found: the page is at /")
            }
        } catch {
            return .text(500, "\(error)")
        }
    }

    func joined(_ client: WebClient, path: String) {
        let known = path.firstRange(of: "after=").flatMap { Int64(path[$0.upperBound...]) } ?? -1
        state.withLock { state in
            state.clients.insert(client)
            // A page that missed too much, or comes from an earlier process or drive, is reloaded.
            let first = state.batches.first?.sequence ?? state.drive.sequence + 1
            guard known >= first - 1, known <= state.drive.sequence else { return client.send(Self.reset) }
            for batch in state.batches where batch.sequence > known { client.send(batch.text) }
        }
    }

    func received(_ text: [UInt8], from client: WebClient) {}

    func left(_ client: WebClient) { _ = state.withLock { $0.clients.remove(client) } }
}
