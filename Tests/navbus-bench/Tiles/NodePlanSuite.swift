import Foundation
import NavBench
import NavBus
import NavDigest
import NavGeo
import NavMap
import NavTileCache
import NavTileStore
import TileCacheNode

/// The node's cost of a new route and of each fix, as processor time of the planning thread: reading messages,
/// planning, querying the store for missing tiles, filling the queue.
///
/// A server that lists every tile and delivers none is the most expensive case: all tiles stay missing. With a working
/// server, all tiles are stored, because the line is driven twice and only the second drive is measured: storing is not
/// included.
final class NodePlanSuite {
    private let line: Polyline
    private let server: TileServer
    private let fixCount: Int
    private let kilometres: Int

    /// The time between two fixes, ns: long enough for the work of one fix.
    private static let pause: Int64 = 10_000_000

    init(nginx: String, seed: UInt64, isQuick: Bool) throws {
        kilometres = isQuick ? 50 : PlanSuite.fixKilometres
        line = SyntheticRoute.line(metres: Double(kilometres) * 1_000, seed: seed)
        fixCount = isQuick ? 50 : 1_500
        server = try TileServer(
            nginx,
            locations: """
                location ~ "^/none/.*\\.(road|rank|pbf)$" { return 503; }
                location ~ "^/all/.*\\.(road|rank|pbf)$" { try_files /any =404; }
                """)
        let content = MapTiles.content(20_000, seed: seed)
        try Data(content).write(to: URL(fileURLWithPath: server.root + "/any"))
        let list = try Self.list(of: line, content)
        for name in ["none", "all"] {
            let folder = "\(server.root)/\(name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try list.write(to: URL(fileURLWithPath: folder + "/tileset.json"))
        }
    }

    var comparisons: [Comparison] {
        let fix = [Comparison.Measure("fix.p50", "us"), .init("fix.p99", "us"), .init("fix.mean", "us")]
        return [
            Comparison("tiles.node", peer: nil, fix, ours: { try self.driveAgain() }, theirs: nil),
            Comparison(
                "tiles.node.missing", peer: nil, [.init("plan_\(kilometres)km", "ms")] + fix,
                ours: { try self.driveInVain() }, theirs: nil),
        ]
    }

    /// Returns the list of all road tiles along a line, all with the same content.
    private static func list(of line: Polyline, _ content: [UInt8]) throws -> Data {
        var planner = CachePlanner(PredictiveKeys().navigationProfile)
        var tiles = Set(planner.follow(PlannedLine(line)).added.map(\.tile))
        for place in line.coordinates { tiles.formUnion(planner.move(to: place).added.map(\.tile)) }
        let hash = ContentHash(of: content)?.hexadecimal ?? ""
        let entries = tiles.compactMap { tile -> Tileset.Entry? in
            guard let layer = RoadLayer.allCases.first(where: { $0.zoom == tile.zoom }) else { return nil }
            let box = tile.bounds
            let id = RoadTileID(
                layer: layer,
                containing: Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2))
            return Tileset.Entry(
                id: id.rawValue, file: id.path, bytes: content.count, sha256: hash,
                ranks: Tileset.RanksEntry(file: id.ranksPath, bytes: content.count, sha256: hash))
        }
        return try JSONEncoder().encode(
            Tileset(
                mapVersion: "bench", source: "none", sourceTimestamp: nil,
                bounds: BoundingBox(south: -85, west: -180, north: 85, east: 180), attribution: "none",
                tiles: entries.sorted { $0.id < $1.id }))
    }

    // MARK: Drives

    private func driveInVain() throws -> [String: Double] {
        let node = try start("none")
        defer { node.close() }
        let before = try settled(node)
        node.follow(line.coordinates[...])
        // On a busy machine the node may not be scheduled for a while and would appear idle.
        for _ in 0..<100 {
            guard try node.planningTime() - before < Self.idleWork else { break }
            sleep(until: Clocks.monotonic() + 300_000_000)
            try node.drain()
        }
        let planned = try settled(node)
        var result = try drive(node)
        result["plan_\(kilometres)km"] = Double(planned - before) / 1e6
        return result
    }

    private func driveAgain() throws -> [String: Double] {
        let node = try start("all")
        defer { node.close() }
        node.follow(line.coordinates[...])
        _ = try settled(node)
        _ = try drive(node)
        _ = try settled(node)
        // A different line; otherwise the node would treat it as a refresh of the previous route.
        node.follow(line.coordinates.dropLast())
        _ = try settled(node)
        return try drive(node)
    }

    private func start(_ name: String) throws -> CacheNode {
        let url = "\(server.url)/\(name)"
        let node = try CacheNode([
            "tilesets": "name=roads,source=\(url),domain=navigation;"
                + "name=map,source=\(url)/{z}/{x}/{y}.pbf,domain=maps"
        ])
        do {
            _ = try node.waitUntilReady()
            _ = try settled(node)
            return node
        } catch {
            node.close()
            throw error
        }
    }

    /// Drives the beginning of the line and returns the cost of each fix.
    private func drive(_ node: CacheNode) throws -> [String: Double] {
        var nanoseconds: [Int64] = []
        var (due, last) = (Clocks.monotonic(), try node.planningTime())
        for number in 0..<fixCount {
            let offset = Double(number) * PlanSuite.spacing
            guard let place = line.coordinate(at: offset) else { break }
            node.move(to: place, offset: offset)
            due = max(due, Clocks.monotonic() - Self.pause / 2) + Self.pause
            sleep(until: due)
            try node.drain()
            var now = try node.planningTime()
            // On a busy machine the node may not have been scheduled yet.
            for _ in 0..<1_000 where now == last {
                sleep(until: Clocks.monotonic() + Self.pause / 10)
                now = try node.planningTime()
            }
            nanoseconds.append(now - last)
            last = now
        }
        let latencies = Statistics.latencies(nanoseconds: nanoseconds)
        return [
            "fix.p50": latencies["p50"] ?? 0, "fix.p99": latencies["p99"] ?? 0,
            "fix.mean": Double(nanoseconds.reduce(0, +)) / Double(max(nanoseconds.count, 1)) / 1_000,
        ]
    }

    /// The maximum time that the thread uses while idle, ns, for its check of due work once a second.
    private static let idleWork: Int64 = 300_000

    /// Returns the thread's processor time once it is idle.
    private func settled(_ node: CacheNode) throws -> Int64 {
        var last = try node.planningTime()
        for _ in 0..<200 {
            sleep(until: Clocks.monotonic() + 300_000_000)
            try node.drain()
            let now = try node.planningTime()
            if now - last < Self.idleWork { return now }
            last = now
        }
        throw BenchError("the tile-cache-node did not become idle within a minute")
    }
}
