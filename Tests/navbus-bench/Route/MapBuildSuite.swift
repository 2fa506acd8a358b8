import Foundation
import NavBench
import NavKit

/// Builds of a map, each in a separate process.
struct MapBuildSuite {
    private let map: String
    private let output: String
    private let program: String

    init(map: String, folder: String) throws {
        guard FileManager.default.isReadableFile(atPath: map) else {
            throw NodeError(.missing, "'\(map)' cannot be read: does it exist?")
        }
        self.map = map
        output = folder + "/tiles"
        program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    }

    /// Builds the map once and returns the directory.
    func build() throws -> String {
        _ = try run(jobs: nil)
        return output
    }

    /// Builds with as many threads as processors, and with one.
    var comparison: Comparison {
        let measures: [Comparison.Measure] = [
            .init("seconds", "s"), .init("rss_mb", "MiB"), .init("tile_mb", "MB"), .init("1thread.seconds", "s"),
            .init("1thread.rss_mb", "MiB"),
        ]
        return Comparison(
            "map.build", peer: nil, measures,
            ours: {
                let (all, one) = (try run(jobs: nil), try run(jobs: 1))
                return [
                    "seconds": all.seconds, "rss_mb": all.memory, "tile_mb": all.size, "1thread.seconds": one.seconds,
                    "1thread.rss_mb": one.memory,
                ]
            }, theirs: nil)
    }

    private func run(jobs: Int?) throws -> (seconds: Double, memory: Double, size: Double) {
        let workers = try Workers()
        defer { workers.close() }
        let words = [program, "route-worker", "--map", map, "--out", output]
        try workers.start("build", words + (jobs.map { ["--jobs", "\($0)"] } ?? []))
        try workers.finish(within: 3600)
        let found = workers.output(of: "build")
        guard let time = found["milliseconds"], let memory = found["rss_kb"], let bytes = found["bytes"] else {
            throw BenchError("the build of \(map) reported no figures")
        }
        return (Double(time) / 1e3, Double(memory) / 1024, Double(bytes) / 1e6)
    }
}
