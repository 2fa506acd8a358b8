import ArgumentParser
import Foundation
import NavBench
import NavDigest
import NavGeo
import NavKit
import NavStorage
import NavTileCache
import NavTileStore

/// Creates a tile store in a separate process, which isolates the memory of the store; prints the cost.
struct StoreWorker: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store-worker", abstract: "One process of a measurement.", shouldDisplay: false)

    /// The figures, one per line.
    static let figures = [
        Comparison.Measure("insert", "tiles/s"), .init("memory", "MB"), .init("index", "MB"), .init("evict", "ms"),
        .init("statistics", "ms"), .init("open", "ms"), .init("check", "s"),
    ]

    /// The number of evicted tiles, which are the first ones.
    static let evictedCount = 50
    /// The size of a tile, bytes.
    private static let size = 1_000
    /// The number of tiles in a commit.
    private static let batch = 256

    @Option var folder: String
    @Option var count: Int

    /// Returns the address of the `number`th tile.
    static func address(_ number: Int) -> TileAddress {
        let side = 1 << 14
        let tile = TileID(zoom: 14, x: UInt32(number % side), y: UInt32(number / side % side))
        return TileAddress("map", tile ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: 14))
    }

    func run() throws {
        do {
            try measure()
        } catch let error as StoreError {
            throw NodeError(.system, error.description)
        }
    }

    private func measure() throws {
        var options = TileStoreOptions()
        options.budgetBytes = 1 << 40
        let store = try TileStore(folder: folder, options: options)
        try store.addEdition(
            TilesetEdition(tileset: "map", domain: .maps, version: "", zooms: 0...14), now: Timestamp(nanoseconds: 0))
        say("insert", try Double(count) / seconds { try insert(into: store) })
        let now = Timestamp(nanoseconds: Int64(count))
        store.setBudget(try store.reader.statistics(now: now).objectBytes - Int64(Self.evictedCount * Self.size))
        var removed = 0
        say("evict", try seconds { removed = try store.makeRoom(for: 0, needed: nil).removedCount } * 1e3)
        guard removed == Self.evictedCount else { throw BenchError("unexpected number of evictions: \(removed)") }
        say("statistics", try seconds { _ = try store.reader.statistics(now: now) } * 1e3)
        store.close()
        var reopened: TileStore?
        say("open", try seconds { reopened = try TileStore(folder: folder, options: options) } * 1e3)
        guard let again = reopened else { return }
        say("memory", try residentMegabytes())
        var report: CheckReport?
        say("check", try seconds { report = try again.reader.check(readsContent: false) })
        again.close()
        guard report?.isSound == true else { throw BenchError("the store is not sound: \(report?.findings ?? [])") }
        say("index", Double(try indexSize()) / 1e6)
    }

    /// Inserts tiles, each with different content.
    private func insert(into store: TileStore) throws {
        for first in stride(from: 0, to: count, by: Self.batch) {
            let tiles = try (first..<min(first + Self.batch, count)).map { number in
                var bytes = Array("map \(number)\n".utf8)
                bytes += [UInt8](repeating: 0x20, count: Self.size - bytes.count)
                guard let hash = ContentHash(of: bytes) else { throw BenchError("libcrypto has no SHA-256") }
                return FetchedTile(
                    Self.address(number), edition: "", parts: [FetchedPart(.body, data: bytes, hash: hash)],
                    validators: Validators(etag: "\"\(number)\""))
            }
            let report = try store.commit(tiles, now: Timestamp(nanoseconds: Int64(first)))
            guard report.stored.count == tiles.count else {
                throw BenchError("only \(report.stored.count) of \(tiles.count) tiles were stored")
            }
        }
    }

    /// Returns the size of the index, including its log, bytes.
    private func indexSize() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("index.sqlite") }
            .reduce(0) { sum, name in
                sum + ((try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size] as? Int) ?? 0)
            }
    }

    private func say(_ name: String, _ value: Double) { print("\(name) \(value)") }

    private func seconds(_ work: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try work()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    /// Returns the memory in use by this process, MB, without the system's file caches.
    private func residentMegabytes() throws -> Double {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").compactMap { Double($0) }
        guard pages.count > 2 else { throw NodeError(.system, "/proc/self/statm has no memory figures") }
        return (pages[1] - pages[2]) * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6
    }
}
