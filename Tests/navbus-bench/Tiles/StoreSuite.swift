import Foundation
import NavBench
import NavGeo
import NavSimulation
import NavTileStore

/// The cost of a large store, created once by a separate process and then read from this one.
final class StoreSuite {
    private let count: Int
    private let lookupCount: Int
    private let stopwatch: Stopwatch
    private let workers: Workers
    private let scratch: ScratchFolder
    private var costs: [String: Double]?

    /// - Parameters:
    ///   - count: the number of tiles.
    ///   - parent: the folder in which a separate folder is created; nil for the system's temporary files.
    init(count: Int, parent: String?, processorTime: Bool, isQuick: Bool) throws {
        stopwatch = Stopwatch(processorTime: processorTime)
        self.count = count
        lookupCount = isQuick ? 500 : 50_000
        workers = try Workers()
        scratch = try ScratchFolder(in: parent ?? workers.folder)
    }

    var comparisons: [Comparison] {
        let latencies: [Comparison.Measure] = [.init("p50", "us"), .init("p99", "us"), .init("p99.9", "us")]
        return [
            Comparison(
                "tiles.store", peer: nil,
                StoreWorker.figures.map { .init($0.name, $0.unit) }, ours: { try self.made() }, theirs: nil),
            Comparison("tiles.lookup", peer: nil, latencies, ours: { try self.lookUp(isThere: true) }, theirs: nil),
            Comparison(
                "tiles.lookup.miss", peer: nil, latencies, ours: { try self.lookUp(isThere: false) }, theirs: nil),
        ]
    }

    /// Creates the store on the first call and returns the cost.
    private func made() throws -> [String: Double] {
        if let costs { return costs }
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        try workers.start(
            "store", [program, "store-worker", "--folder", scratch.path + "/store", "--count", "\(count)"])
        try workers.finish(within: 7_200)
        let found = workers.words(of: "store").compactMapValues { Double($0) }
        costs = found
        return found
    }

    /// Looks up stored tiles, or tiles that never existed.
    private func lookUp(isThere: Bool) throws -> [String: Double] {
        _ = try made()
        let reader = try TileStoreReader(folder: scratch.path + "/store")
        let now = Timestamp(nanoseconds: 1)
        var random = SeededRandom(seed: 5)
        var nanoseconds: [Int64] = []
        nanoseconds.reserveCapacity(lookupCount)
        for _ in 0..<lookupCount {
            // The first tiles were evicted, and those from `count` on never existed.
            let first = isThere ? StoreWorker.evictedCount : count
            let address = StoreWorker.address(
                first + Int(random.next() % UInt64(count - StoreWorker.evictedCount)))
            let start = stopwatch.now()
            let found = try reader.tile(address, now: now)
            nanoseconds.append(stopwatch.now() - start)
            guard (found != nil) == isThere else {
                throw BenchError("the store \(isThere ? "lost" : "invented") tile \(address)")
            }
        }
        return Statistics.latencies(nanoseconds: nanoseconds)
    }
}
