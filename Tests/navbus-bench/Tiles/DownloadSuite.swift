import Foundation
import Glibc
import NavBench
import NavBus
import NavGeo
import NavMap
import NavTileCache
import NavTileStore
import NavigationNode
import TileCacheNode

/// The rate of tiles through the queue, compared with curl from the same nginx with as many connections. Our tiles are
/// checked (road tiles are hashed; map tiles are decompressed, inspected and hashed); curl's are discarded after
/// decompression.
final class DownloadSuite {
    /// The files downloaded by both sides.
    private struct Load {
        var name: String
        /// The address of the server.
        var url: String
        var source: TileSourceConfiguration
        var tiles: [TileID]
        /// Paths on the server; the tiles themselves have `bytes` in total.
        var files: [String]
        var bytes: Int
        /// Whether the server compresses the files and both sides decompress them.
        var isPacked = false
    }

    private static let connections = 6
    /// A good mobile network: the rate in bytes per second, and the round-trip time in seconds.
    private static let mobile = (rate: 25e6, roundTrip: 0.02)
    /// The number of files over the mobile network; large enough that a transfer takes several seconds.
    private static let mobileCount = 600

    private let server: TileServer
    private let link: SlowLink
    private let scratch: Workers
    private var loads: [Load] = []

    /// - Parameters:
    ///   - tiles: a directory of road tiles; nil for map tiles alone.
    ///   - count: the number of map tiles.
    init(tiles: String?, nginx: String, count: Int, seed: UInt64, isQuick: Bool) throws {
        scratch = try Workers()
        let packed = "location /packed/ { rewrite ^/packed(/.*)$ $1 break; gzip_static on; }"
        server = try TileServer(nginx, locations: packed)
        link = try SlowLink(
            to: server.port, bytesPerSecond: Self.mobile.rate, roundTrip: Self.mobile.roundTrip)
        let slow = "http://127.0.0.1:\(link.port)"
        if let tiles {
            let roads = try RoadTiles.write(
                TilesetDirectory(path: tiles), to: server.root + "/roads", isQuick: isQuick)
            loads += [
                Self.roads("roads", server.url, roads.tiles),
                Self.roads("roads.mobile", slow, Array(roads.tiles.prefix(Self.mobileCount / 6))),
            ]
        }
        let map = try MapTiles.write(count, to: server.root, seed: seed)
        loads += [
            try Self.map("map", server.url, map, server.root),
            try Self.map("packed", server.url, map, server.root, isPacked: true),
            try Self.map("map.mobile", slow, Array(map.prefix(Self.mobileCount)), server.root),
        ]
    }

    deinit { link.close() }

    private static func roads(_ name: String, _ url: String, _ entries: [Tileset.Entry]) -> Load {
        Load(
            name: name, url: url, source: TileSourceConfiguration("roads", .navigation, address: url + "/roads"),
            tiles: entries.compactMap(\.tile?.tile),
            files: ["/roads/tileset.json"] + entries.flatMap { ["/roads/\($0.file)", "/roads/\($0.ranks.file)"] },
            bytes: entries.reduce(0) { $0 + $1.bytes + $1.ranks.bytes })
    }

    private static func map(
        _ name: String, _ url: String, _ tiles: [TileID], _ root: String, isPacked: Bool = false
    ) throws -> Load {
        let path = isPacked ? "/packed/" : "/"
        let names = tiles.map { "\($0.zoom)/\($0.x)/\($0.y)" }
        let file = isPacked ? MapTiles.packed : MapTiles.plain
        return Load(
            name: name, url: url,
            source: TileSourceConfiguration("map", .maps, address: url + path + "{z}/{x}/{y}" + MapTiles.plain),
            tiles: tiles, files: names.map { path + $0 + MapTiles.plain },
            bytes: try MapTiles.size(names.map { "\(root)/\($0)\(file)" }), isPacked: isPacked)
    }

    var lines: [String] {
        let sizes = loads.map { "\($0.files.count) files of \($0.name)" }.joined(separator: ", ")
        return [
            "server   nginx on loopback, \(sizes), \(Self.connections) connections",
            "mobile   \(Int(Self.mobile.rate * 8e-6)) Mbit/s, \(Int(Self.mobile.roundTrip * 1_000)) ms",
        ]
    }

    var comparisons: [Comparison] {
        loads.map { load in
            Comparison(
                "tiles.download.\(load.name)", peer: "curl --parallel" + (load.isPacked ? " --compressed" : ""),
                // The link runs in this process and would add its processor time, so that is not measured.
                [.init("", "MB/s"), .init("files", "1/s")]
                    + (load.url == self.server.url ? [.init("processor", "us/file")] : []),
                ours: { try self.ours(load) }, theirs: { try self.curl(load) })
        }
    }

    private func ours(_ load: Load) throws -> [String: Double] {
        let (source, tiles) = (load.source, load.tiles)
        return try Self.measure(load, RUSAGE_SELF.rawValue) {
            let bytes = try finish { try await Self.fetch(source, tiles) }
            guard bytes == load.bytes else {
                throw BenchError("\(bytes) of \(load.bytes) bytes of tiles of \(load.name) arrived")
            }
        }
    }

    private static func fetch(_ configuration: TileSourceConfiguration, _ tiles: [TileID]) async throws -> Int {
        var configuration = configuration
        configuration.concurrency = connections
        let source = try configuration.open()
        var limits = DownloadConfiguration()
        limits.concurrency = connections
        let queue = try DownloadQueue([source], limits)
        if configuration.domain == .navigation { _ = try await queue.edition(of: configuration.tileset) }
        queue.setDemands(
            tiles.map { TileDemand(TileAddress(configuration.tileset, $0)) }, for: DownloadOwner(.region, "all"))
        var (count, bytes) = (0, 0)
        var failure: (any Error)?
        while count < tiles.count, let batch = await queue.next() {
            count += batch.count
            for result in batch {
                do {
                    guard let tile = try result.outcome.get().tile else {
                        throw BenchError("tile \(result.address) is missing at \(source.place)")
                    }
                    bytes += tile.parts.reduce(0) { $0 + $1.data.count }
                } catch {
                    failure = error
                }
            }
        }
        await queue.stop()
        await source.close()
        if let failure { throw failure }
        return bytes
    }

    private func curl(_ load: Load) throws -> [String: Double] {
        let list = scratch.folder + "/urls"
        let text = load.files.map { "url = \"\(load.url)\($0)\"\noutput = \"/dev/null\"\n" }.joined()
        try text.write(toFile: list, atomically: true, encoding: .utf8)
        let workers = try Workers()
        defer { workers.close() }
        return try Self.measure(load, RUSAGE_CHILDREN.rawValue) {
            try workers.start(
                "curl",
                [
                    "/usr/bin/env", "curl", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max",
                    "\(Self.connections)", "--config", list,
                ] + (load.isPacked ? ["--compressed"] : []))
            try workers.finish(within: 600)
        }
    }

    /// - Parameter whose: the process whose processor time is measured: this one, or its children that have ended.
    private static func measure(_ load: Load, _ whose: Int32, _ work: () throws -> Void) throws -> [String: Double] {
        let (began, processor) = (Clocks.monotonic(), processorTime(whose))
        try work()
        let seconds = Double(Clocks.monotonic() - began) / 1e9
        let files = Double(load.files.count)
        return [
            "": Double(load.bytes) / seconds / 1e6, "files": files / seconds,
            "processor": (processorTime(whose) - processor) / files * 1e6,
        ]
    }

    /// Returns the processor time, seconds.
    private static func processorTime(_ whose: Int32) -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(whose), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
    }
}
