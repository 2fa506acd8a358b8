import Foundation
import NavBench
import NavBus
import NavGeo
import NavKit
import NavMap
import NavRouting
import NavSimulation
import NavTileCache
import NavTileStore
import NavigationNode
import TileCacheNode

/// The share of tiles that arrive before the vehicle: a tile-cache-node with an empty store behind a slow link, a
/// vehicle at 130 km/h, and another process that inspects the store ten times per second of the drive.
///
/// A hit is a tile, of any layer, that is stored and that the vehicle is on or will reach within 2 km. The vehicle
/// waits at the start until all tiles needed there are stored. Speed and bandwidth may be a multiple of the real ones:
/// the bytes per metre stay the same, while the time of a request or a disk access has more weight.
final class DriveSuite {
    /// The conditions of a drive: its route and its link.
    struct Conditions {
        /// The factor by which time passes faster than the clock.
        var pace = 10.0
        /// The bandwidth of the link, Mbit/s.
        var bandwidth = 2.0
        /// The round-trip time of the link, seconds; not shortened by `pace`.
        var roundTrip = 0.05
        /// The number of concurrent requests.
        var concurrency = 6
        /// The speed of the vehicle, m/s.
        var speed = 130 / 3.6
        /// The maximum length of the route, metres.
        var length = Double.infinity
    }

    private let conditions: Conditions
    private let server: TileServer
    /// The sizes of the tiles, bytes.
    private let sizes: [TileID: Int]
    private let trips: [(name: String, trip: DriveTrip)]

    /// The number of random routes, of which the one with the highest mean speed is driven.
    private static let drawnCount = 40
    /// The seconds of the drive between two positions, and between two inspections.
    private static let (fixInterval, lookInterval) = (1.0, 0.1)

    init(tiles path: String, nginx: String, seed: UInt64, conditions: Conditions) throws {
        self.conditions = conditions
        let directory = try TilesetDirectory(path: path)
        sizes = Dictionary(
            zip(directory.tileset.tileIDs.map(\.tile), directory.tileset.tiles.map { $0.bytes + $0.ranks.bytes }),
            uniquingKeysWith: { first, _ in first })
        let tiles = Set(sizes.keys)
        let router = Router(Metric(TurnGraph(try directory.loadGraph()), model: CostModel()))
        let route = try Self.draw(router, reach: directory.tileset.bounds.diagonal / 2, seed: seed)
        let planner = DetourPlanner(router: router, workspace: SearchWorkspace())
        var trips = [("tiles.drive", DriveTrip(route, tiles: tiles))]
        if let turn = DriveTrip(
            route, leavingWith: planner, metric: router.metric, speed: conditions.speed, tiles: tiles)
        {
            trips.append(("tiles.drive.turn", turn))
        }
        self.trips = trips
        server = try TileServer(
            nginx, locations: "location / { alias \(URL(fileURLWithPath: directory.path).path)/; }")
    }

    var lines: [String] {
        let link =
            "link     \(conditions.bandwidth) Mbit/s, \(Int(conditions.roundTrip * 1_000)) ms, "
            + "\(conditions.concurrency) tiles at a time; \(conditions.pace) times real time"
        return [link]
            + trips.map { name, trip in
                let first = trip.needs.filter { $0.range.contains(0) }
                let bytes = first.reduce(0) { $0 + (sizes[$1.tile] ?? 0) }
                let seconds = Double(bytes) / (conditions.bandwidth / 8 * 1e6)
                return
                    "drive    \(name): \(Int(end(of: trip) / 1_000)) km over \(trip.needs.count) tiles; "
                    + "the start needs \(first.count) of \(bytes / 1_000) kB, \(Int(seconds.rounded())) s of the link"
            }
    }

    var comparisons: [Comparison] {
        trips.map { name, trip in
            Comparison(
                name, peer: nil,
                [
                    .init("hits", "%"), .init("hits_with_start", "%"), .init("start", "s"), .init("spare.p1", "s"),
                    .init("spare.p50", "s"), .init("fetched", "MB"),
                ], ours: { try self.drive(trip) }, theirs: nil)
        }
    }

    /// Returns the fastest of several long routes, which is the one with the most motorway.
    private static func draw(_ router: Router, reach: Double, seed: UInt64) throws -> Route {
        var places = RandomPlaces(router, seed: seed)
        var routes: [Route] = []
        for _ in 0..<20_000 where routes.count < drawnCount {
            guard let from = places.place(), let to = places.place(),
                let route = places.route(from: from, to: to, apart: reach ... .infinity), route.duration > 0
            else { continue }
            routes.append(route)
        }
        guard let fastest = routes.max(by: { $0.length / $0.duration < $1.length / $1.duration }) else {
            throw NodeError(.missing, "the map has no two connected places half of its extent apart")
        }
        return fastest
    }

    // MARK: The drive

    /// The observations during a drive.
    private struct Watch {
        let reader: TileStoreReader
        let edition: EditionKey
        let needs: [DriveTrip.Need]
        /// The time at which each tile was first found stored, seconds of the drive; negative before the start.
        var arrivals: [TileID: Double] = [:]

        /// Checks which tiles are stored.
        ///
        /// - Returns: the numbers of tiles needed at a place that are stored, and that are missing.
        mutating func look(at offset: Double, _ time: Double) throws -> (hits: Int, misses: Int) {
            let absent = Set(try reader.absent(needs.map(\.tile), in: edition))
            var (hits, misses) = (0, 0)
            for need in needs {
                if !absent.contains(need.tile), arrivals[need.tile] == nil { arrivals[need.tile] = time }
                guard need.range.contains(offset) else { continue }
                if absent.contains(need.tile) { misses += 1 } else { hits += 1 }
            }
            return (hits, misses)
        }
    }

    private func drive(_ trip: DriveTrip) throws -> [String: Double] {
        let link = try SlowLink(
            to: server.port, bytesPerSecond: conditions.bandwidth / 8 * 1e6 * conditions.pace,
            roundTrip: conditions.roundTrip)
        defer { link.close() }
        let node = try CacheNode([
            "tilesets": "name=roads,source=http://127.0.0.1:\(link.port),domain=navigation,"
                + "concurrency=\(conditions.concurrency)", "network.concurrency": "\(conditions.concurrency)",
        ])
        defer { node.close() }
        let version = try node.waitUntilReady()
        var watch = Watch(
            reader: try TileStoreReader(folder: node.store), edition: EditionKey("roads", version), needs: trip.needs)
        let listed = link.passed
        let standing = try stand(trip, node, &watch)
        let driving = try go(trip, node, &watch)
        // A tile that never arrived was still missing when the vehicle left it.
        let spare = trip.needs.filter { $0.range.lowerBound > 0 && $0.range.lowerBound < end(of: trip) }.map { need in
            let due = need.range.lowerBound / conditions.speed
            let arrival = watch.arrivals[need.tile] ?? need.range.upperBound / conditions.speed
            return Int64((due - arrival) * 1e9)
        }.sorted()
        let share = { (hits: Int, misses: Int) in 100 * Double(hits) / Double(max(hits + misses, 1)) }
        return [
            "hits": share(driving.hits, driving.misses),
            "hits_with_start": share(driving.hits + standing.hits, driving.misses + standing.misses),
            "start": standing.seconds,
            "spare.p1": Double(Statistics.percentile(spare, permille: 10) ?? 0) / 1e9,
            "spare.p50": Double(Statistics.percentile(spare, permille: 500) ?? 0) / 1e9,
            "fetched": Double(link.passed - listed) / 1e6,
        ]
    }

    private func end(of trip: DriveTrip) -> Double { min(trip.line.length, conditions.length) }

    /// Returns the seconds of the drive since a time, monotonic ns.
    private func time(since began: Int64) -> Double { Double(Clocks.monotonic() - began) / 1e9 * conditions.pace }

    private func wait() { sleep(until: Clocks.monotonic() + Int64(Self.lookInterval / conditions.pace * 1e9)) }

    /// Waits at the start until all tiles needed there are stored.
    private func stand(
        _ trip: DriveTrip, _ node: CacheNode, _ watch: inout Watch
    ) throws -> (hits: Int, misses: Int, seconds: Double) {
        guard let start = trip.line.coordinates.first, let first = trip.announcements.first else { return (0, 0, 0) }
        let began = Clocks.monotonic()
        node.follow(first.route.coordinates[...])
        node.move(to: start, offset: 0)
        var (hits, misses) = (0, 0)
        while true {
            try node.drain()
            let seen = try watch.look(at: 0, 0)
            let seconds = time(since: began)
            if seen.misses == 0 { return (hits, misses, seconds) }
            (hits, misses) = (hits + seen.hits, misses + seen.misses)
            guard seconds < 600 else {
                throw BenchError("\(seen.misses) tiles of the start are missing after ten minutes of driving")
            }
            wait()
        }
    }

    private func go(
        _ trip: DriveTrip, _ node: CacheNode, _ watch: inout Watch
    ) throws -> (hits: Int, misses: Int) {
        let began = Clocks.monotonic()
        var (hits, misses, next, told) = (0, 0, 0.0, 0)
        while true {
            let seconds = time(since: began)
            let offset = seconds * conditions.speed
            guard offset < end(of: trip), let place = trip.line.coordinate(at: offset) else { return (hits, misses) }
            if told + 1 < trip.announcements.count, trip.announcements[told + 1].at <= offset {
                told += 1
                node.follow(trip.announcements[told].route.coordinates[...])
            }
            if seconds >= next {
                next = seconds + Self.fixInterval
                let route = trip.announcements[told]
                node.move(to: place, offset: min(offset, route.end) - route.origin)
            }
            try node.drain()
            let seen = try watch.look(at: offset, seconds)
            (hits, misses) = (hits + seen.hits, misses + seen.misses)
            wait()
        }
    }
}
