import Dispatch
import Foundation
import NavBench
import NavGuidance
import NavMap
import NavRouting
import NavSimulation
import NavigationNode

/// The comparisons of `navbus-bench route`, over one set of tiles and one list of pairs.
///
/// The suite runs on one thread; the closures of its comparisons share the workspace.
final class RouteSuite {
    let pairs: RoutePairs
    let directory: String
    let tiles: [RoadTile]
    let graph: RoadGraph
    let router: Router
    let hierarchy: HierarchyMetric
    let workspace = SearchWorkspace()
    let verified: Int
    let random: [RouteRequest]
    let local: [RouteRequest]

    private let stopwatch: Stopwatch

    static let snapRadius = RouteRequest.defaultSnapRadius

    /// - Parameters:
    ///   - pairs: a file of pairs; nil to draw `count` of each kind from `seed`.
    ///   - verify: the number of pairs to check by plain searches.
    init(directory: String, pairs: String?, count: Int, seed: UInt64, verify: Int, processorTime: Bool) throws {
        let set = try TilesetDirectory(path: directory)
        self.directory = directory
        tiles = try set.loadTiles()
        graph = RoadGraph(tiles: tiles, mapVersion: set.tileset.mapVersion)
        router = Router.fastest(Metric(TurnGraph(graph), model: CostModel()))
        guard let hierarchy = router.hierarchyMetric else {
            throw BenchError("'\(directory)' was built without road ranks: run 'navbus map build' again")
        }
        self.hierarchy = hierarchy
        if let pairs {
            self.pairs = try RoutePairs(path: pairs)
        } else {
            self.pairs = try RoutePairs(graph, count: count, seed: seed)
        }
        local = self.pairs.local.map(\.request)
        random = self.pairs.random.map(\.request)
        verified = verify
        stopwatch = Stopwatch(processorTime: processorTime)
    }

    /// Lines for the report's header.
    var lines: [String] {
        let turns = hierarchy.hierarchy.turns
        return [
            "map      \(directory): \(tiles.count) tiles, \(graph.edgeCount) edges, \(turns.stateCount) states, "
                + "\(turns.arcCount) turns, \(hierarchy.hierarchy.arcCount) arcs",
            "pairs    \(local.count) local, \(random.count) random; \(min(verified, local.count)) of each are checked",
            "clock    \(stopwatch.countsProcessorTime ? "CPU time of the thread; wall-clock time for updates and builds" : "wall")",
        ]
    }

    func comparisons(of part: RouteCommand.Part) -> [Comparison] {
        switch part {
        case .queries: [snap, path("route.local", local), path("route.random", random), query, checks]
        case .full: [full]
        case .alternatives: [alternatives, alternativeChecks]
        case .updates: updates
        case .dijkstra: [dijkstra, plain]
        case .build: []
        }
    }

    // MARK: Measuring

    static let times: [Comparison.Measure] = [.init("p50", "ms"), .init("p99", "ms"), .init("failed", "pairs")]

    /// Measures `body`, which returns whether there was a result, for every request.
    private func time(_ requests: [RouteRequest], _ body: (RouteRequest) -> Bool) -> [String: Double] {
        var samples: [Int64] = []
        samples.reserveCapacity(requests.count)
        var failed = 0
        for request in requests {
            let start = now()
            let isFound = body(request)
            samples.append(now() - start)
            if !isFound { failed += 1 }
        }
        return Self.percentiles(samples).merging(["failed": Double(failed)]) { $1 }
    }

    static func percentiles(_ nanoseconds: [Int64]) -> [String: Double] {
        Statistics.latencies(nanoseconds: nanoseconds).mapValues { $0 / 1000 }
    }

    /// Returns the time of a monotonic clock, ns.
    private func now() -> Int64 { stopwatch.now() }

    private func alone(
        _ name: String, _ measures: [Comparison.Measure] = RouteSuite.times, _ run: @escaping Comparison.Run
    ) -> Comparison {
        Comparison(name, peer: nil, measures, ours: run, theirs: nil)
    }

    // MARK: Queries

    /// Snapping of both ends of each pair.
    private var snap: Comparison {
        alone("route.snap") { [self] in
            time(local) { request in
                request.waypoints.allSatisfy { router.placeCount(of: $0, radius: Self.snapRadius) > 0 }
            }
        }
    }

    /// Measures snapping the ends, searching, and listing the edges.
    private func path(_ name: String, _ requests: [RouteRequest]) -> Comparison {
        alone(name) { [self] in
            time(requests) { request in
                router.edgeCount(of: request, workspace: workspace) != nil
            }
        }
    }

    /// The search between one state at each end, with the list of edges.
    private var query: Comparison {
        let measures = ["p50", "p99"].map { Comparison.Measure($0, "ms") }
        let unpacking = ["unpack.p50", "unpack.p99"].map { Comparison.Measure($0, "ms") }
        return alone("route.query", measures + unpacking) { [self] in
            let query = HierarchyQuery(hierarchy, hierarchyWorkspace)
            var searches: [Int64] = []
            var unpackings: [Int64] = []
            for seeds in singleSeeds {
                let start = now()
                let path = query.run(from: [seeds.from], to: [seeds.to])
                let middle = now()
                searches.append(middle - start)
                if let path {
                    let states = query.states(of: path)
                    if !states.isEmpty { unpackings.append(now() - middle) }
                }
            }
            return Self.percentiles(searches).merging(
                Self.percentiles(unpackings).map { ("unpack." + $0.key, $0.value) }
            ) { $1 }
        }
    }

    private let hierarchyWorkspace = HierarchyWorkspace()

    /// The cheapest state at each end of each local pair.
    lazy var singleSeeds: [(from: HierarchySeed, to: HierarchySeed)] = local.compactMap { request in
        guard let seeds = seeds(request), let from = seeds.origins.min(by: { $0.cost < $1.cost }),
            let to = seeds.destinations.min(by: { $0.cost < $1.cost })
        else { return nil }
        return (from, to)
    }

    func seeds(_ request: RouteRequest) -> (origins: [HierarchySeed], destinations: [HierarchySeed])? {
        router.seeds(
            from: request.waypoints[0], to: request.waypoints[1], radius: Self.snapRadius, workspace: workspace)
    }

    /// Costs of the hierarchy compared with those of plain searches.
    private var checks: Comparison {
        alone("route.check", [.init("checked", "pairs"), .init("wrong", "pairs")]) { [self] in
            let plain = PlainDijkstra(router.metric)
            let query = HierarchyQuery(hierarchy, hierarchyWorkspace)
            var (checked, wrong) = (0, 0)
            for request in Array(local.prefix(verified)) + Array(random.prefix(verified)) {
                guard let seeds = seeds(request) else { continue }
                checked += 1
                let fast = query.run(from: seeds.origins, to: seeds.destinations).map { UInt64($0.cost) }
                if fast != plain.cost(from: seeds.origins, to: seeds.destinations) { wrong += 1 }
            }
            return ["checked": Double(checked), "wrong": Double(wrong)]
        }
    }

    // MARK: Full results

    /// Geometry, legs, attributes and times of every edge, summary, and maneuvers with their instructions.
    private var full: Comparison {
        alone("route.full", Self.times + [.init("steps", "mean")]) { [self] in
            // As in a node, the junctions of earlier routes are cached.
            let junctions = JunctionModel(router.metric.turns.graph, for: router.metric.model.profile.access)
            var steps = 0
            let times = time(local) { request in
                guard case .found(let route) = router.route(request, workspace: workspace) else { return false }
                let summary = RouteSummary(route, for: router.metric.model.profile)
                let guidance = RouteGuidance(route: route, junctions: junctions, options: GuidanceOptions())
                steps += guidance.steps.count
                return summary.ferries.count < route.edges.count
            }
            return times.merging(["steps": Double(steps) / Double(max(local.count, 1))]) { $1 }
        }
    }

    // MARK: Alternatives

    private var alternatives: Comparison {
        let measures = Self.times + [.init("mean_routes", "routes")]
        return alone("route.alternatives", measures) { [self] in
            var routes = 0
            let times = time(local) { request in
                guard case .found(let found) = router.alternatives(request, workspace: workspace) else { return false }
                routes += 1 + found.alternatives.count
                return true
            }
            let found = Double(local.count) - (times["failed"] ?? 0)
            return times.merging(["mean_routes": Double(routes) / max(found, 1)]) { $1 }
        }
    }

    /// The stretch, sharing and local optimality of alternatives, checked by plain searches.
    private var alternativeChecks: Comparison {
        alone("route.alternatives.check", [.init("checked", "routes"), .init("violations", "routes")]) { [self] in
            let check = AlternativeCheck(router.metric, AlternativeCriteria())
            var (checked, violations) = (0, 0)
            for request in local.prefix(verified) {
                guard case .found(let found) = router.alternatives(request, workspace: workspace) else { continue }
                checked += found.alternatives.count
                violations += check.faults(found).count
            }
            return ["checked": Double(checked), "violations": Double(violations)]
        }
    }

    // MARK: New traffic and new tiles

    private static func onTwoThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
        let lanes = min(count, 2)
        DispatchQueue.concurrentPerform(iterations: lanes) { lane in
            for part in stride(from: lane, to: count, by: 2) { body(part) }
        }
    }

    private var updates: [Comparison] {
        let overlay = overlay
        // The node creates this once per map in the background.
        router.metric.turns.prepareForTraffic()
        return [
            single("route.customise.all") { [self] in
                HierarchyMetric(hierarchy.hierarchy, router.metric).hierarchy.arcCount
            },
            single("route.customise.all.2threads") { [self] in
                HierarchyMetric(hierarchy.hierarchy, router.metric, forEach: Self.onTwoThreads).hierarchy.arcCount
            },
            single("route.traffic.all") { [self] in router.live(overlay).hierarchyMetric?.hierarchy.arcCount ?? 0 },
            single("route.traffic.all.2threads") { [self] in
                router.live(overlay, forEach: Self.onTwoThreads).hierarchyMetric?.hierarchy.arcCount ?? 0
            },
            single("route.rebuild.all") { [self] in
                let rebuilt = RoadGraph(tiles: tiles, mapVersion: graph.mapVersion)
                return Router(graph: rebuilt).hierarchyMetric?.hierarchy.arcCount ?? 0
            },
        ]
    }

    /// Measures one update per round; the body returns a part of its result, which is at least 1.
    private func single(_ name: String, _ body: @escaping () -> Int) -> Comparison {
        alone(name, [.init("", "ms")]) {
            let wall = Stopwatch(processorTime: false)
            let start = wall.now()
            guard body() > 0 else { throw BenchError("\(name): the measured call had no result") }
            return ["": Double(wall.now() - start) / 1e6]
        }
    }

    /// Speeds for every segment of every road: 50 to 100 % of the free-flow speed.
    private var overlay: TrafficOverlay {
        var random = SeededRandom(seed: 7)
        var speeds: [TrafficSpeed] = []
        for number in 0..<graph.edgeCount {
            let edge = EdgeIndex(number)
            let shape = graph.shape(of: edge)
            let speed = Double(graph.traits(of: edge).freeFlowSpeed) * (0.5 + random.uniform() / 2)
            for segment in 0..<(shape.count - 1) {
                speeds.append(
                    TrafficSpeed(
                        fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1), speed: speed))
            }
        }
        var overlay = TrafficOverlay()
        _ = overlay.apply(speeds)
        return overlay
    }

    // MARK: Without a hierarchy

    /// The pairs for plain searches, which take a hundred times as long.
    private var few: ArraySlice<RouteRequest> { local.prefix(200) }

    private var dijkstra: Comparison {
        alone("route.dijkstra") { [self] in
            let plain = PlainDijkstra(router.metric)
            return time(Array(few)) { request in
                guard let seeds = seeds(request) else { return false }
                return plain.cost(from: seeds.origins, to: seeds.destinations) != nil
            }
        }
    }

    /// The search on tiles without ranks.
    private var plain: Comparison {
        alone("route.bidirectional") { [self] in
            let plain = Router(router.metric)
            return time(Array(few)) { request in
                plain.edgeCount(of: request, workspace: workspace) != nil
            }
        }
    }
}
