import Foundation
import Glibc
import NavGeo
import NavTileStore
import Testing

/// How fast tiles come beside `curl --parallel`, from the same nginx, in turns; the medians count.
///
/// It measures and does not judge; it runs when `NAVBUS_BENCH=download` and `NAVBUS_TILES` names a directory of road tiles.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["NAVBUS_BENCH"] == "download"))
struct DownloadThroughputMeasurements {
    private static let connections = 6
    private static let rounds = 9

    /// Fetches everything through the queue; seconds and bytes.
    private func ours(_ configuration: TileSourceConfiguration, _ tiles: [TileID]) async throws -> (Double, Int64) {
        var configuration = configuration
        configuration.concurrency = Self.connections
        let source = try configuration.open()
        var limits = DownloadConfiguration()
        limits.concurrency = Self.connections
        let queue = try DownloadQueue([source], limits)
        let clock = ContinuousClock()
        let began = clock.now
        var bytes: Int64 = 0
        if configuration.domain == .navigation { _ = try await queue.edition(of: configuration.tileset) }
        queue.want(
            tiles.map { TileWant(TileAddress(configuration.tileset, $0)) }, for: DownloadOwner(.region, "all"))
        var count = 0
        while count < tiles.count, let batch = await queue.next() {
            count += batch.count
            for result in batch {
                bytes += try result.outcome.get().tile?.parts.reduce(0) { $0 + Int64($1.data.count) } ?? 0
            }
        }
        let seconds = (clock.now - began) / .seconds(1)
        await queue.stop()
        await source.close()
        return (seconds, bytes)
    }

    /// Fetches the same with curl, thrown away as it comes.
    private func curl(_ urls: [String], _ folder: SourceFolder) throws -> Double {
        try folder.write(
            "urls", Array(urls.map { "url = \"\($0)\"\noutput = \"/dev/null\"\n" }.joined().utf8))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "curl", "--silent", "--fail", "--parallel", "--parallel-max", "\(Self.connections)", "--config",
            folder.path + "/urls",
        ]
        let clock = ContinuousClock()
        let began = clock.now
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SourceFailure("curl failed") }
        return (clock.now - began) / .seconds(1)
    }

    /// Seconds that this process, or its children that have ended, had a processor.
    private func processorTime(_ whose: Int32) -> Double {
        var usage = rusage()
        getrusage(whose, &usage)
        let times = [usage.ru_utime, usage.ru_stime]
        return times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
    }

    private func compare(
        _ name: String, _ configuration: TileSourceConfiguration, _ tiles: [TileID], _ urls: [String]
    ) async throws {
        let folder = try SourceFolder()
        var (times, timesCurl, bytes) = ([Double](), [Double](), Int64(0))
        var (processor, processorCurl) = ([Double](), [Double]())
        for _ in 0..<Self.rounds {
            let began = processorTime(RUSAGE_SELF.rawValue)
            let (seconds, count) = try await ours(configuration, tiles)
            processor.append(processorTime(RUSAGE_SELF.rawValue) - began)
            times.append(seconds)
            bytes = count
            let beganCurl = processorTime(RUSAGE_CHILDREN.rawValue)
            timesCurl.append(try curl(urls, folder))
            processorCurl.append(processorTime(RUSAGE_CHILDREN.rawValue) - beganCurl)
        }
        let median = { (values: [Double]) in values.sorted()[values.count / 2] }
        let rate = { (seconds: Double) in String(format: "%.1f MB/s", Double(bytes) / seconds / 1e6) }
        let ratio = { (ours: Double, curls: Double) in String(format: "%.2f", curls / ours) }
        let file = { (seconds: Double) in String(format: "%.0f", seconds / Double(urls.count) * 1e6) }
        var load = 0.0
        getloadavg(&load, 1)
        print(
            "\(name): \(tiles.count) tiles, \(bytes) bytes: \(rate(median(times))), curl \(rate(median(timesCurl))), "
                + "ratio \(ratio(median(times), median(timesCurl))), of the best "
                + "\(ratio(times.min() ?? 0, timesCurl.min() ?? 0)); processor \(file(median(processor))) and "
                + "\(file(median(processorCurl))) us a file; load \(load)")
    }

    @Test("Road tiles")
    func roads() async throws {
        let path = try #require(ProcessInfo.processInfo.environment["NAVBUS_TILES"])
        let nginx = try SourceNginx("location /roads/ { alias \(path)/; }")
        let folder = try TileSourceConfiguration("roads", .navigation, address: path).open()
        let tiles = try await SourceFixture.edition(folder).tiles?.map(\.tile) ?? []
        let urls = tiles.flatMap { tile in
            ["road", "rank"].map { "\(nginx.url)/roads/\(tile.zoom)/\(tile.x)/\(tile.y).\($0)" }
        }
        try await compare(
            "roads", TileSourceConfiguration("roads", .navigation, address: nginx.url + "/roads"), tiles,
            [nginx.url + "/roads/tileset.json"] + urls)
    }

    @Test("Many small tiles of a map, packed or not", arguments: [false, true])
    func maps(isPacked: Bool) async throws {
        let nginx = try SourceNginx()
        var random = SourceRandom(seed: 1)
        var tiles: [TileID] = []
        for index in 0..<5_000 as Range<UInt32> {
            let tile = SourceFixture.tile(14, 8_000 + index % 100, 6_000 + index / 100)
            let bytes = SourceFixture.vectorTile(Int.random(in: 500...30_000, using: &random), seed: UInt64(index))
            try nginx.root.write("\(tile.zoom)/\(tile.x)/\(tile.y).pbf", isPacked ? SourceFixture.gzip(bytes) : bytes)
            tiles.append(tile)
        }
        try await compare(
            isPacked ? "packed map" : "map",
            TileSourceConfiguration("map", .maps, address: nginx.url + "/{z}/{x}/{y}.pbf"), tiles,
            tiles.map { "\(nginx.url)/\($0.zoom)/\($0.x)/\($0.y).pbf" })
    }
}
