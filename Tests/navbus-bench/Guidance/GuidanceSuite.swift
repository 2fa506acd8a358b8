import NavBench
import NavBus
import NavGeo
import NavGuidance
import NavKit
import NavMap
import NavRouting
import NavigationNode

/// The guidance of random routes and of drives along them.
final class GuidanceSuite {
    private let graph: RoadGraph
    private let router: Router
    private let routes: [(request: RouteRequest, route: Route)]
    private let options: GuidanceOptions
    private let language: String

    /// The minimum distance between the ends of a route in a straight line, metres; less on a map smaller than four
    /// times this distance.
    private static let reach = 2_000.0
    /// The number of random ends tried for each route before the map counts as too small.
    private static let attempts = 200
    /// The distance between two fixes, metres.
    private static let step = 14.0

    init(tiles: String, count: Int, language: String, seed: UInt64) throws {
        guard let phrases = PhraseTable.named(language) else {
            let known = PhraseTable.all.map(\.language).joined(separator: ", ")
            throw NodeError(.usage, "guidance has no language '\(language)'; available: \(known)")
        }
        self.language = phrases.language
        let directory = try TilesetDirectory(path: tiles)
        graph = try directory.loadGraph()
        router = Router(Metric(TurnGraph(graph), model: CostModel()))
        options = GuidanceOptions(Wording(language: phrases.language))
        let least = min(Self.reach, directory.tileset.bounds.diagonal / 4)
        var random = RandomPlaces(router, seed: seed)
        var routes: [(request: RouteRequest, route: Route)] = []
        for _ in 0..<(count * Self.attempts) where routes.count < count {
            guard let start = random.place(), let end = random.place(),
                let route = random.route(from: start, to: end, apart: least...100_000)
            else { continue }
            routes.append((RouteRequest(waypoints: [Waypoint(start), Waypoint(end)]), route))
        }
        guard routes.count == count else { throw NodeError(.missing, "the map is too small for \(count) routes") }
        self.routes = routes
    }

    /// The description of the measurements for the report's header.
    var lines: [String] {
        let kilometres = routes.reduce(0) { $0 + $1.route.length } / 1_000
        return ["routes   \(routes.count), \(Int(kilometres)) km in all, language \(language)"]
    }

    var comparisons: [Comparison] {
        [
            Comparison(
                "guidance.route", peer: nil,
                Comparison.Measure.latencies
                    + [.init("kilometre", "us"), .init("search", "us"), .init("again", "us")],
                ours: { self.make() }, theirs: nil),
            Comparison(
                "guidance.fix", peer: nil, [.init("", "us"), .init("p99", "us"), .init("max", "us")],
                ours: { self.drive() }, theirs: nil),
        ]
    }

    private func make() -> [String: Double] {
        let workspace = SearchWorkspace()
        var (nanoseconds, searches, again): ([Int64], [Int64], [Int64]) = ([], [], [])
        for (request, route) in routes {
            let start = Clocks.monotonic()
            _ = router.route(request, workspace: workspace)
            let found = Clocks.monotonic()
            // A node caches the junctions of earlier routes, and a reroute passes most of them again.
            let junctions = JunctionModel(graph, for: router.metric.model.profile.access)
            let guidance = RouteGuidance(route: route, junctions: junctions, options: options)
            let first = Clocks.monotonic()
            let second = RouteGuidance(route: route, junctions: junctions, options: options)
            again.append(Clocks.monotonic() - first)
            precondition(!guidance.steps.isEmpty && guidance == second)
            searches.append(found - start)
            nanoseconds.append(first - found)
        }
        var result = Statistics.latencies(nanoseconds: nanoseconds)
        let kilometres = routes.reduce(0) { $0 + $1.route.length } / 1_000
        result["kilometre"] = Double(nanoseconds.reduce(0, +)) / 1_000 / max(kilometres, 0.001)
        result["search"] = Statistics.latencies(nanoseconds: searches)["p50"]
        result["again"] = Statistics.latencies(nanoseconds: again)["p50"]
        return result
    }

    private func drive() -> [String: Double] {
        var nanoseconds: [Int64] = []
        for (_, route) in routes {
            let guidance = RouteGuidance(route: route, graph: graph, options: options)
            var trigger = InstructionTrigger(guidance)
            var offset = 0.0
            while offset < route.length {
                let start = Clocks.monotonic()
                _ = trigger.update(offset: offset, speed: Self.step)
                _ = guidance.lanes(in: offset...(offset + 500))
                nanoseconds.append(Clocks.monotonic() - start)
                offset += Self.step
            }
        }
        var result = Statistics.latencies(nanoseconds: nanoseconds)
        result[""] = Double(nanoseconds.reduce(0, +)) / 1_000 / Double(max(nanoseconds.count, 1))
        result["max"] = Double(nanoseconds.max() ?? 0) / 1_000
        return result
    }
}
