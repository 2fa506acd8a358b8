import NavBench
import NavGeo
import NavTileCache
import TileCacheNode

/// The pure planner: the cost of a new route, and of each fix on it.
struct PlanSuite {
    /// The lengths of the routes, kilometres.
    private static let kilometres = [50, 500, 5_000]
    /// The length of the route on which fixes are measured, kilometres.
    static let fixKilometres = 500
    /// The distance between two fixes, metres: 130 km/h at 1 Hz.
    static let spacing = 130 / 3.6
    /// The total length planned in each round, kilometres, which is the same work for each length of route.
    private static let effort = 50 * 500

    private let lines: [(kilometres: Int, line: Polyline)]
    private let isQuick: Bool
    private let stopwatch: Stopwatch
    private let profiles: (roads: CacheProfile, maps: CacheProfile)

    /// Creates the suite with the node's own profiles, with the default values of the keys.
    init(seed: UInt64, processorTime: Bool, isQuick: Bool) {
        stopwatch = Stopwatch(processorTime: processorTime)
        self.isQuick = isQuick
        lines = Self.kilometres.map { ($0, SyntheticRoute.line(metres: Double($0) * 1_000, seed: seed)) }
        let keys = PredictiveKeys()
        profiles = (keys.navigationProfile, keys.mapsProfile)
    }

    var comparisons: [Comparison] {
        let plans = lines.map { kilometres, line in
            Comparison(
                "tiles.plan_\(kilometres)km", peer: nil,
                [
                    .init("", "ms"), .init("p99", "ms"), .init("line", "ms"), .init("roads", "ms"),
                    .init("maps", "ms"), .init("tiles", "tiles"),
                ], ours: { self.plan(line, times: self.isQuick ? 2 : max(Self.effort / kilometres, 5)) }, theirs: nil)
        }
        let measures: [Comparison.Measure] = [.init("p50", "us"), .init("p99", "us"), .init("max", "us")]
        let line = lines.first { $0.kilometres == Self.fixKilometres }?.line
        return plans
            + [
                Comparison(
                    "tiles.fix", peer: nil, measures, ours: line.map { line in { self.follow(line) } }, theirs: nil)
            ]
    }

    /// Plans a new route like the node: creates its line for the planners, and plans both kinds of tiles.
    private func plan(_ line: Polyline, times: Int) -> [String: Double] {
        var parts = [[Int64]](repeating: [], count: 4)
        var count = 0
        for _ in 0..<times {
            var moments = [stopwatch.now()]
            let planned = PlannedLine(Polyline(line.coordinates))
            moments.append(stopwatch.now())
            count = 0
            for profile in [profiles.roads, profiles.maps] {
                var planner = CachePlanner(profile)
                count += planner.follow(planned).added.count
                moments.append(stopwatch.now())
            }
            for part in 0..<3 { parts[part].append(moments[part + 1] - moments[part]) }
            parts[3].append(moments[3] - moments[0])
        }
        let milliseconds = { (part: Int, permille: Int) in
            Double(Statistics.percentile(parts[part].sorted(), permille: permille) ?? 0) / 1e6
        }
        return [
            "": milliseconds(3, 500), "p99": milliseconds(3, 990), "line": milliseconds(0, 500),
            "roads": milliseconds(1, 500), "maps": milliseconds(2, 500), "tiles": Double(count),
        ]
    }

    /// Drives along the line and plans both kinds of tiles at each fix.
    private func follow(_ line: Polyline) -> [String: Double] {
        let planned = PlannedLine(line)
        var (roads, maps) = (CachePlanner(profiles.roads), CachePlanner(profiles.maps))
        _ = roads.follow(planned)
        _ = maps.follow(planned)
        let fixes = stride(from: 0, to: isQuick ? 20_000 : line.length, by: Self.spacing).compactMap { offset in
            line.coordinate(at: offset).map { (offset, $0) }
        }
        var nanoseconds: [Int64] = []
        nanoseconds.reserveCapacity(fixes.count)
        for (offset, place) in fixes {
            let start = stopwatch.now()
            _ = roads.move(to: place, cursor: offset)
            _ = maps.move(to: place, cursor: offset)
            nanoseconds.append(stopwatch.now() - start)
        }
        var result = Statistics.latencies(nanoseconds: nanoseconds)
        result["max"] = Double(nanoseconds.max() ?? 0) / 1_000
        return result
    }
}
