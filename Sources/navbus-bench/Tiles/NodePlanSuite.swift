import Foundation
import NavBench
import NavBus
import NavGeo
import NavMap
import NavNodes
import NavTileCache

/// What a new route and each fix cost the node, as processor time of the thread that plans: reading messages, planning,
/// asking the store what is missing, telling the queue.
///
/// The server knows every tile and gives none, so that nothing is on board and all of it stays wanted: the dearest case.
final class NodePlanSuite {
    private let line: Polyline
    private let server: TileServer
    private let fixCount: Int

    /// Between two fixes, ns: long enough for one to be done with.
    private static let pause: Int64 = 10_000_000

    init(nginx: String, seed: UInt64, isQuick: Bool) throws {
        line = SyntheticRoute.line(metres: Double(isQuick ? 50 : PlanSuite.fixKilometres) * 1_000, seed: seed)
        fixCount = isQuick ? 50 : 2_000
        server = try TileServer(nginx, locations: "location ~ \"[0-9]\\.(road|rank|pbf)$\" { return 503; }")
        var planner = CachePlanner(PredictiveKeys().navigationProfile)
        let tiles = planner.follow(PlannedLine(line)).added.map(\.tile)
        try Self.write(tiles, to: server.root + "/tileset.json")
    }

    var comparisons: [Comparison] {
        [
            Comparison(
                "tiles.node", peer: nil,
                [
                    .init("plan_\(Int(line.length / 1_000))km", "ms"), .init("fix.p50", "us"), .init("fix.p99", "us"),
                    .init("fix.mean", "us"),
                ], ours: { try self.run() }, theirs: nil)
        ]
    }

    /// A list of road tiles that are nowhere.
    private static func write(_ tiles: [TileID], to path: String) throws {
        let hash = String(repeating: "0", count: 64)
        let entries = tiles.compactMap { tile -> Tileset.Entry? in
            guard let layer = RoadLayer.allCases.first(where: { $0.zoom == tile.zoom }) else { return nil }
            let box = tile.bounds
            let id = RoadTileID(
                layer: layer,
                containing: Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2))
            return Tileset.Entry(
                id: id.rawValue, file: id.path, bytes: 100_000, sha256: hash,
                ranks: Tileset.RanksEntry(file: id.ranksPath, bytes: 10_000, sha256: hash))
        }
        let tileset = Tileset(
            mapVersion: "none", source: "none", sourceTimestamp: nil,
            bounds: BoundingBox(south: -85, west: -180, north: 85, east: 180), attribution: "none",
            tiles: entries.sorted { $0.id < $1.id })
        try JSONEncoder().encode(tileset).write(to: URL(fileURLWithPath: path))
    }

    private func run() throws -> [String: Double] {
        let node = try CacheNode([
            "tilesets": "name=roads,source=\(server.url),domain=navigation;"
                + "name=map,source=\(server.url)/{z}/{x}/{y}.pbf,domain=maps"
        ])
        defer { node.close() }
        _ = try node.waitUntilReady()
        _ = try settled(node)
        let before = try settled(node)
        node.follow(line.coordinates[...])
        let planned = try settled(node)
        var nanoseconds: [Int64] = []
        var (due, last) = (Clocks.monotonic(), planned)
        for number in 0..<fixCount {
            let offset = Double(number) * PlanSuite.spacing
            guard let place = line.coordinate(at: offset) else { break }
            node.move(to: place, offset: offset)
            due = max(due + Self.pause, Clocks.monotonic() + Self.pause / 2)
            sleep(until: due)
            try node.drain()
            let now = try node.planningTime()
            nanoseconds.append(now - last)
            last = now
        }
        let latencies = Statistics.latencies(nanoseconds: nanoseconds)
        return [
            "plan_\(Int(line.length / 1_000))km": Double(planned - before) / 1e6, "fix.p50": latencies["p50"] ?? 0,
            "fix.p99": latencies["p99"] ?? 0,
            "fix.mean": Double(nanoseconds.reduce(0, +)) / Double(max(nanoseconds.count, 1)) / 1_000,
        ]
    }

    /// The thread's time once it has come to rest.
    private func settled(_ node: CacheNode) throws -> Int64 {
        var last = try node.planningTime()
        for _ in 0..<100 {
            sleep(until: Clocks.monotonic() + 300_000_000)
            try node.drain()
            let now = try node.planningTime()
            // It looks around once a second, which is not work.
            if now - last < 300_000 { return now }
            last = now
        }
        throw BenchError("the tile-cache-node does not come to rest within 30 s")
    }
}
