import NavConfig
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestSupport
import NavWire
import NavigationNode
import Testing

/// The source of a route's durations and the age of its traffic.
struct RoutePricingTests {
    /// Two ways from B to E, of which the northern is much faster.
    private static let town = Result {
        try ASCIIMap(
            """
                  C---------D
                 /           \\
            A---B             E-------F
                 \\           /
                  G---------H
            """,
            ways: [
                "AB": ["highway": "secondary"], "EF": ["highway": "secondary"], "BCDE": ["highway": "secondary"],
                "BGHE": ["highway": "tertiary"],
            ])
    }

    private static let start = NavGeo.Timestamp(nanoseconds: 1_767_600_000_000_000_000)

    /// A session with a planner and a map.
    private final class Harness {
        let map: ASCIIMap
        let store: MapStore
        let session: NavigationSession
        let planner = RoutePlanner()
        var messages: [OutgoingMessage] = []
        var replies: [CommandReply] = []
        var queries: [RouteQuery] = []
        private var second = 0

        init(_ keys: [String] = []) throws {
            map = try RoutePricingTests.town.get()
            store = MapStore(MapSnapshot(graph: map.graph))
            let configuration = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: keys)
            session = NavigationSession(map: store.current, configuration: configuration, nodeName: "test")
        }

        private func take(_ first: NavigationSession.Outcome) {
            var outcomes = [first]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                replies += outcome.replies.map(\.reply)
                queries += outcome.queries
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: store.current), to: $0) }
            }
        }

        func stand(_ seconds: Int, at share: Double = 0.2, speed: Double = 0) throws {
            for _ in 0..<seconds {
                let fix = GnssFix(
                    Fix(
                        stamp: RoutePricingTests.start.advanced(bySeconds: Double(second)),
                        coordinate: try map.position(between: "A", "B", at: share), horizontalSigma: 4, speed: speed,
                        type: .fix3D))
                second += 1
                take(session.handle(fix, sequence: UInt64(second)))
            }
        }

        func command(_ request: NavigationCommand.Request) {
            take(session.handle(request, call: 1, caller: "test", at: RoutePricingTests.start))
        }

        func traffic(_ from: Character, _ to: Character, _ speed: Double, stamp: Int64? = nil) {
            let message = TrafficSpeeds(
                stampNs: stamp,
                speeds: [
                    NavMessages.TrafficSpeed(
                        fromNode: ASCIIMap.nodeID(from), toNode: ASCIIMap.nodeID(to), speedMps: speed)
                ])
            let now = RoutePricingTests.start.advanced(bySeconds: Double(second))
            #expect(store.update([TrafficUpdate(message)], at: now).isChanged)
            take(session.handle(MapChange(map: store.current, traffic: [(message, 1)], at: now)))
        }

        func all<M: Message>(_ type: M.Type) -> [M] { messages.compactMap { $0.message as? M } }

        /// Sets the northern way as an external route with a duration in seconds.
        func setRoute(_ duration: Double?, _ options: NavMessages.RouteOptions? = nil) throws {
            let line = try "ABCDEF".map { try map.coordinate($0) }
            var route = NavMessages.Route(geometry: NavMessages.Polyline(line))
            if let duration {
                route.legs = [
                    NavMessages.RouteLeg(firstPoint: 0, lastPoint: UInt32(line.count - 1), durationS: duration)
                ]
            }
            route.options = options
            command(.setRoute(SetRouteRequest(target: .route(route))))
        }
    }

    @Test("the durations of an external route survive refreshes and change with the traffic")
    func externalDurationsSurviveRefreshes() throws {
        let harness = try Harness(["alternatives.enabled=false", "faster.enabled=false"])
        try harness.stand(3)
        try harness.setRoute(1_500)
        let route = try #require(harness.all(NavMessages.Route.self).last)
        #expect(route.provider == .external)
        #expect(abs((route.summary?.durationS ?? 0) - 1_500) < 1)
        try harness.stand(300)
        #expect(harness.all(NavMessages.RouteRefresh.self).filter { $0.phase == .refreshed }.count >= 2)
        let before = try #require(harness.all(NavMessages.RouteProgress.self).last?.durationRemainingS)
        #expect(before > 1_300)
        // On the last street traffic halves the usual speed, so the duration of that street doubles; the rest stays.
        harness.traffic("E", "F", 5)
        try harness.stand(10)
        let after = try #require(harness.all(NavMessages.RouteProgress.self).last?.durationRemainingS)
        #expect(after > before + 100 && after < before * 2)
    }

    @Test("an external route is mapped and timed for the vehicle and traffic of its options")
    func externalRoutesHaveTheVehicleAndTrafficOfTheirOptions() throws {
        let harness = try Harness(["alternatives.enabled=false", "faster.enabled=false"])
        try harness.stand(3)
        harness.traffic("C", "D", 0.5)
        try harness.setRoute(
            1_500,
            NavMessages.RouteOptions(vehicle: NavMessages.VehicleProfile(maxSpeedMps: 5), useTraffic: false))
        let route = try #require(harness.all(NavMessages.Route.self).last)
        #expect(route.provider == .external && route.options?.vehicle?.maxSpeedMps == 5)
        try harness.stand(2)
        let before = try #require(harness.all(NavMessages.RouteProgress.self).last?.durationRemainingS)
        try harness.stand(300)
        #expect(harness.all(NavMessages.RouteRefresh.self).filter { $0.phase == .refreshed }.count >= 2)
        let after = try #require(harness.all(NavMessages.RouteProgress.self).last?.durationRemainingS)
        #expect(abs(after - before) < 1)
    }

    @Test("a route without times uses the durations of the router on board")
    func routeWithoutTimesUsesOnBoardDurations() throws {
        let harness = try Harness()
        try harness.stand(3)
        try harness.setRoute(nil)
        let route = try #require(harness.all(NavMessages.Route.self).last)
        #expect(route.provider == .external && (route.summary?.durationS ?? 0) > 60)
    }

    @Test("routes with durations of two sources are compared by one source")
    func routesAreComparedByOnePricing() throws {
        // The way with the long external duration is the fastest on the on-board map, so a change gains no time.
        let slow = try Harness([
            "faster.interval_s=20", "faster.min_remaining_s=10", "faster.min_gain_s=1",
            "alternatives.refresh_interval_s=30",
        ])
        try slow.stand(3)
        try slow.setRoute(1_500)
        try slow.stand(100)
        #expect(slow.queries.filter { $0.purpose == .fasterRoute }.count >= 4)
        #expect(slow.all(NavMessages.FasterRoute.self).isEmpty)
        // With a jam on it there is a gain, as large as the delay on the on-board map.
        slow.traffic("C", "D", 2, stamp: Self.start.nanoseconds)
        try slow.stand(40)
        let found = try #require(slow.all(NavMessages.FasterRoute.self).first)
        #expect(found.phase == .detected && found.pricing == .onBoard && (found.gainS ?? 0) < 600)
        let told = slow.all(NavMessages.FasterRoute.self)
        #expect(told.contains { $0.phase == .applied })
        #expect(told.allSatisfy { $0.trafficStampNs == Self.start.nanoseconds })
    }

    @Test(
        "an external route has alternatives, and the durations of both are by one source",
        arguments: [nil, 1_500] as [Double?])
    func externalRouteHasAlternatives(duration: Double?) throws {
        func offered(_ keys: [String] = []) throws -> [NavMessages.Alternative] {
            let harness = try Harness(["faster.enabled=false"] + keys)
            try harness.stand(3)
            try harness.setRoute(duration)
            // Alternatives are requested while the vehicle moves.
            for share in stride(from: 0.2, to: 0.8, by: 0.03) { try harness.stand(1, at: share, speed: 10) }
            return harness.all(NavMessages.Alternatives.self).last?.alternatives ?? []
        }
        let alternatives = try offered()
        #expect(alternatives.count == 1)
        let southern = try #require(alternatives.first)
        // By the map on board, the southern way takes about half a minute longer than the northern one.
        #expect((20..<60).contains(southern.durationDeltaS ?? 0))
        #expect((southern.durationFromHereS ?? 0) - (southern.durationFromForkS ?? 0) < 30)
        #expect(try offered(["alternatives.accept=faster"]).isEmpty)
    }

    @Test("refreshes are counted, start at the vehicle, and carry the age of the traffic")
    func refreshesAreCounted() throws {
        let harness = try Harness(["alternatives.enabled=false", "faster.enabled=false", "refresh.min_interval_s=0"])
        let to = try harness.map.coordinate("F")
        try harness.stand(2)
        harness.command(
            .setRoute(
                SetRouteRequest(
                    target: .calculate(
                        CalculateRouteRequest(waypoints: [
                            NavMessages.Waypoint(latitude: to.latitude, longitude: to.longitude)
                        ])))))
        try harness.stand(2)
        let first = try #require(harness.all(NavMessages.Route.self).last)
        #expect(first.summary?.trafficStampNs == nil && first.refreshCount == 0)
        let free = try #require(harness.all(NavMessages.RouteProgress.self).last)
        #expect(free.trafficDelayRemainingS == nil && free.trafficStampNs == nil)
        // The vehicle advances to three quarters of the first street.
        for share in [0.3, 0.45, 0.6, 0.75] { try harness.stand(4, at: share) }
        try harness.stand(20, at: 0.75)
        let measured = Self.start.nanoseconds - 7_000_000_000
        harness.traffic("E", "F", 5, stamp: measured)
        try harness.stand(2, at: 0.75)
        let route = try #require(harness.all(NavMessages.Route.self).last)
        #expect(route.reason == .refreshed && route.refreshCount == 1)
        #expect(route.summary?.trafficStampNs == measured && route.summary?.trafficDelayScope == .complete)
        let refresh = try #require(harness.all(NavMessages.RouteRefresh.self).last { $0.phase == .refreshed })
        let rest = try #require(refresh.summary)
        let progress = try #require(harness.all(NavMessages.RouteProgress.self).last)
        #expect(refresh.trafficStampNs == measured && rest.trafficDelayScope == .remaining)
        #expect(abs((rest.distanceM ?? 0) - (progress.distanceRemainingM ?? 0)) < 30)
        #expect((rest.distanceM ?? 0) < (route.summary?.distanceM ?? 0) - 150)
        #expect(abs((refresh.progress?.durationRemainingS ?? 0) - (rest.durationS ?? 0)) < 0.001)
        #expect(route.summary?.etaNs == rest.etaNs)
        #expect((progress.trafficDelayRemainingS ?? 0) > 20 && progress.trafficStampNs == measured)
        #expect(abs((progress.trafficDelayRemainingS ?? 0) - (rest.trafficDelayS ?? 0)) < 0.5)
    }

    @Test("a request without traffic is answered as if there were none")
    func withoutTraffic() throws {
        let harness = try Harness()
        let to = try harness.map.coordinate("F")
        try harness.stand(2)
        harness.traffic("C", "D", 0.5, stamp: Self.start.nanoseconds)
        func route(_ usesTraffic: Bool?) throws -> NavRouting.Route {
            harness.command(
                .calculateRoute(
                    CalculateRouteRequest(
                        waypoints: [NavMessages.Waypoint(latitude: to.latitude, longitude: to.longitude)],
                        options: NavMessages.RouteOptions(useTraffic: usesTraffic))))
            guard case .routes(let routes, _)? = harness.replies.last else { throw ASCIIMapNoRoute() }
            return try #require(routes.first).plan.route
        }
        let (usual, live, free) = (try route(nil), try route(true), try route(false))
        #expect(harness.map.letters(of: usual) == harness.map.letters(of: live))
        #expect(harness.map.letters(of: live).contains("GH") && harness.map.letters(of: free).contains("CD"))
        #expect(live.trafficStamp == Self.start && free.trafficStamp == nil)
    }
}

private struct ASCIIMapNoRoute: Error {}
