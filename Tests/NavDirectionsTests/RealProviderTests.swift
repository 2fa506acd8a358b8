import Foundation
import NavDirections
import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// `osrm-routed` and `valhalla_service`, started on data prepared here, and the map of the same extract.
///
/// `NAVBUS_DIRECTIONS_MAP=porto NAVBUS_DIRECTIONS_PAIRS=300` runs a larger measurement.
@Suite(
    .serialized,
    .enabled(
        if: Providers.areThere,
        "needs Python with osrm-bindings and pyvalhalla (NAVBUS_PYTHON_PEERS) and the shared data's extract"))
struct RealProviderTests {
    /// The outcomes of several requests.
    struct Tally {
        var whole = 0
        var nearly = 0
        var noRoute = 0
        var refused: [String] = []
        var seconds: [Double] = []

        var mapped: Int { whole + nearly }
    }

    @Test func providerRoutesMapOntoOurGraph() async throws {
        let map = try RealMap(path: try #require(RealMap.path(Providers.map)))
        let router = Router(map.router().metric)
        let providers = try Providers()
        let pairs = drawn(Providers.pairs, on: map.graph, router)
        for (url, dialect) in [
            (providers.osrm, DirectionsConfiguration.Dialect.osrm), (providers.valhalla, .valhalla),
        ] {
            var configuration = DirectionsConfiguration()
            configuration.url = url
            configuration.dialect = dialect
            configuration.deadline = 20
            configuration.attemptTimeout = 20
            let provider = try OnlineRouteProvider(configuration)
            var tally = Tally()
            for (number, pair) in pairs.enumerated() {
                let request = RouteRequest(waypoints: pair.map { Waypoint($0) })
                let start = ContinuousClock.now
                do throws(DirectionsError) {
                    let answer = try await provider.routes(request, on: router)
                    guard let mapped = answer.routes.first else { continue }
                    if mapped.share == 1 { tally.whole += 1 } else { tally.nearly += 1 }
                    #expect(faults(of: mapped.route, on: router, request).isEmpty, "\(dialect) \(number)")
                } catch {
                    if error.code == .noRoute || error.code == .noSegment {
                        tally.noRoute += 1
                    } else {
                        tally.refused.append("\(number) \(pair.map(\.brief)): \(error)")
                    }
                }
                tally.seconds.append((ContinuousClock.now - start).inSeconds)
            }
            let answered = pairs.count - tally.noRoute
            tally.seconds.sort()
            print(
                "\(Providers.map) \(dialect): \(pairs.count) pairs, \(tally.noRoute) without route, \(tally.whole) whole, "
                    + "\(tally.nearly) nearly, \(tally.refused.count) refused, ms p50 "
                    + "\(milliseconds(tally.seconds, 0.5)) p99 \(milliseconds(tally.seconds, 0.99))")
            for line in tally.refused.prefix(12) { print("  ", line) }
            #expect(Double(tally.mapped) >= Double(answered) * 0.9, "\(dialect): \(tally.refused)")
        }
    }

    @Test func stopsSilentPointsBearingsAndAlternativesWorkWithBoth() async throws {
        let map = try RealMap(path: try #require(RealMap.path(Providers.map)))
        let router = Router(map.router().metric)
        var providers: Providers? = try Providers()
        let urls = [try #require(providers?.osrm), try #require(providers?.valhalla)]
        let places = drawn(16, on: map.graph, router)
        for (url, dialect) in zip(urls, [DirectionsConfiguration.Dialect.osrm, .valhalla]) {
            var configuration = DirectionsConfiguration()
            configuration.url = url
            configuration.dialect = dialect
            configuration.deadline = 20
            configuration.attemptTimeout = 20
            configuration.alternatives = 2
            let provider = try OnlineRouteProvider(configuration)
            var (answered, mapped, alternatives) = (0, 0, 0)
            var refused: [String] = []
            for (number, (first, second)) in zip(places, places.dropFirst()).enumerated() {
                var request = RouteRequest(waypoints: [first[0], first[1], second[1]].map { Waypoint($0) })
                switch number % 4 {
                case 0: request.waypoints[1].isStop = false
                case 1: break
                case 2: request.waypoints.remove(at: 1)
                default:
                    request.waypoints.remove(at: 1)
                    request.waypoints[0].bearing = 1
                    request.waypoints[0].bearingTolerance = .pi / 2
                    request.waypoints[1].approach = .kerb
                }
                do throws(DirectionsError) {
                    let answer = try await provider.routes(request, on: router)
                    answered += 1
                    mapped += 1
                    alternatives += answer.routes.count - 1
                    for route in answer.routes {
                        let found = faults(of: route.route, on: router, request)
                        #expect(found.isEmpty, "\(dialect) \(number): \(found)")
                    }
                } catch {
                    #expect(error.code == .unmapped || error.code == .noRoute || error.code == .noSegment, "\(error)")
                    if error.code == .unmapped { answered += 1 }
                    refused.append("\(number): \(error)")
                }
            }
            print(
                "\(Providers.map) \(dialect) with points: \(mapped) of \(answered), \(alternatives) alternatives",
                refused)
            #expect(answered >= 10 && mapped * 10 >= answered * 8, "\(dialect): \(refused)")
            #expect(alternatives > 0)
        }
        // Without the servers the same requests fail at once.
        providers = nil
        for (url, dialect) in zip(urls, [DirectionsConfiguration.Dialect.osrm, .valhalla]) {
            var configuration = DirectionsConfiguration()
            configuration.url = url
            configuration.dialect = dialect
            configuration.retries = 0
            let provider = try OnlineRouteProvider(configuration)
            let request = RouteRequest(waypoints: places[0].map { Waypoint($0) })
            let error = await #expect(throws: DirectionsError.self) { try await provider.routes(request, on: router) }
            #expect(error?.code == .unreachable)
        }
    }

    private func milliseconds(_ sorted: [Double], _ share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        return (sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)] * 10_000).rounded() / 10
    }

    /// Returns pairs of seeded random places on roads, at least 1 km apart.
    private func drawn(_ count: Int, on graph: RoadGraph, _ router: Router) -> [[Coordinate]] {
        var random = SeededRandom(seed: 7)
        var pairs: [[Coordinate]] = []
        func place() -> Coordinate {
            while true {
                let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
                guard router.metric.allows(edge) else { continue }
                let offset = random.uniform() * Double(graph.edgeLengths[edge.index])
                return graph.position(at: offset, of: edge).coordinate
            }
        }
        while pairs.count < count {
            let pair = [place(), place()]
            if Geodesy.distance(pair[0], pair[1]) > 1_000 { pairs.append(pair) }
        }
        return pairs
    }
}

/// Returns the defects of a route on a map: gaps, forbidden turns and inconsistent numbers.
func faults(of route: Route, on router: Router, _ request: RouteRequest) -> [String] {
    let turns = router.metric.turns
    let graph = turns.graph
    var faults: [String] = []
    if route.waypoints.count != request.waypoints.count { faults.append("\(route.waypoints.count) waypoints") }
    let legStarts = Set(route.legs.map(\.edges.lowerBound))
    var state: TurnState?
    for (index, piece) in route.edges.enumerated() {
        guard let edge = graph.edge(piece.key) else { return ["edge \(index) is not of this map"] }
        if !router.metric.allows(edge) { faults.append("edge \(index) is closed to the vehicle") }
        if piece.startOffset > piece.endOffset || piece.endOffset > Double(graph.edgeLengths[edge.index]) + 0.01 {
            faults.append("edge \(index) from \(piece.startOffset) to \(piece.endOffset)")
        }
        for number in [piece.duration, piece.freeFlowDuration, piece.turnDuration]
        where !(number >= 0 && number.isFinite) { faults.append("edge \(index) takes \(number) s") }
        if let last = state, !legStarts.contains(index),
            piece.key != route.edges[index - 1].key || piece.startOffset == 0
        {
            state =
                turns.arcs(from: last).filter {
                    turns.edge(of: turns.target(of: $0)) == edge && router.metric.cost(ofArc: $0) != Metric.forbidden
                }.map { turns.target(of: $0) }.first
            if state == nil { faults.append("no turn leads to edge \(index)") }
        }
        if legStarts.contains(index) { state = edge.rawValue }
    }
    for (number, leg) in route.legs.enumerated() {
        let sum = route.edges[leg.edges].reduce(0) { $0 + $1.duration + $1.turnDuration }
        if abs(sum - leg.duration) > 0.01 { faults.append("leg \(number) takes \(leg.duration), its edges \(sum) s") }
    }
    return faults
}

extension Coordinate {
    var brief: String { "\((latitude * 1e5).rounded() / 1e5),\((longitude * 1e5).rounded() / 1e5)" }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
