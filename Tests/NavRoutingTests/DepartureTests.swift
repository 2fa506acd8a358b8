import NavGeo
import NavMap
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "residential"]

@Suite("One turn graph for all vehicles and times of departure")
struct DepartureTests {
    /// A left turn at B is forbidden in the morning, to goods vehicles always; BC is closed at night.
    static func town() throws -> ASCIIMap {
        try ASCIIMap(
            """
                D---F
                |   |
            A---B---C---G
                |   |
                E---H
            """,
            ways: [
                "AB": road, "BC": ["highway": "residential", "motor_vehicle:conditional": "no @ (22:00-06:00)"],
                "CG": road, "BD": road, "DF": road, "FC": road, "BE": road, "EH": road, "HC": road,
            ],
            restrictions: [
                ASCIIMap.Restriction(
                    "", from: "AB", via: "B", to: "BD",
                    tags: ["restriction:conditional": "no_left_turn @ (07:00-09:00)"]),
                ASCIIMap.Restriction("", from: "AB", via: "B", to: "BD", tags: ["restriction:hgv": "no_left_turn"]),
            ])
    }

    static func monday(_ hour: Int) -> LocalTime? { LocalTime(year: 2026, month: 1, day: 5, hour: hour) }

    static let truck = CostModel(profile: VehicleProfile(kind: .truck))

    private static func letters(_ map: ASCIIMap, _ router: Router, _ places: String, at time: LocalTime? = nil) throws
        -> String
    {
        var options = RouteOptions()
        options.departure = time
        let request = RouteRequest(
            waypoints: try places.map { Waypoint(try map.coordinate($0)) }, snapRadius: 20, options: options)
        guard case .found(let route) = router.route(request, workspace: SearchWorkspace()) else { return "none" }
        return map.letters(of: route)
    }

    @Test("a router uses the request's departure instead of its own, with and without a hierarchy")
    func requests() throws {
        let map = try Self.town()
        let hierarchical = Router(graph: map.graph)
        #expect(hierarchical.isHierarchical)
        for router in [hierarchical, Router(hierarchical.metric)] {
            #expect(try Self.letters(map, router, "AD") == "ABD")
            #expect(try Self.letters(map, router, "AD", at: Self.monday(8)) != "ABD")
            #expect(try Self.letters(map, router, "AD", at: Self.monday(9)) == "ABD")
            #expect(try Self.letters(map, router, "AG", at: Self.monday(12)) == "ABCG")
            #expect(["ABDFCG", "ABEHCG"].contains(try Self.letters(map, router, "AG", at: Self.monday(23))))
        }
        let nightly = hierarchical.serving(CostModel(), at: Self.monday(23))
        #expect(nightly.isHierarchical && nightly.metric.turns === hierarchical.metric.turns)
        #expect(try Self.letters(map, nightly, "AG") != "ABCG")
        #expect(try Self.letters(map, nightly, "AG", at: Self.monday(12)) == "ABCG")
    }

    @Test("vehicles share the turn graph, and each obeys its own restrictions")
    func vehicles() throws {
        let map = try Self.town()
        let car = Router(graph: map.graph)
        let truck = car.serving(Self.truck)
        #expect(truck.metric.turns === car.metric.turns)
        #expect(try Self.letters(map, car, "AD") == "ABD")
        #expect(try Self.letters(map, truck, "AD") != "ABD")
    }

    @Test("times with the same active conditions have the same signature")
    func signatures() throws {
        let turns = try Self.town().turns
        func set(_ vehicle: VehicleProfile, _ hour: Int) -> ConditionSet {
            turns.conditions(for: vehicle, at: Self.monday(hour))
        }
        let car = VehicleProfile()
        #expect(set(car, 7) == set(car, 8) && set(car, 7) != set(car, 9) && set(car, 12) == .none)
        #expect(set(car, 23) == set(car, 5) && set(car, 23).count == 1)
        #expect(turns.conditions(for: car, at: nil) == .none)
        #expect(set(Self.truck.profile, 8).count == 1)
    }

    @Test("the cache holds one router per vehicle and signature and evicts the least recently used")
    func cache() throws {
        let map = try Self.town()
        var cache = RouterCache(Router(graph: map.graph), capacity: 2)
        let base = cache.router(for: CostModel(), at: Self.monday(12))
        #expect(base.metric === cache.base.metric && cache.count == 0)
        let night = cache.router(for: CostModel(), at: Self.monday(23))
        #expect(try Self.letters(map, night, "AG") != "ABCG")
        #expect(cache.router(for: CostModel(), at: Self.monday(2)).metric === night.metric && cache.count == 1)
        let truck = cache.router(for: Self.truck, at: nil)
        #expect(cache.router(for: CostModel(), at: Self.monday(23)).metric === night.metric)
        _ = cache.router(for: CostModel(), at: Self.monday(8))
        #expect(cache.count == 2)
        #expect(cache.router(for: CostModel(), at: Self.monday(23)).metric === night.metric)
        #expect(cache.router(for: Self.truck, at: nil).metric !== truck.metric)
        var none = RouterCache(cache.base, capacity: 0)
        #expect(try Self.letters(map, none.router(for: Self.truck, at: nil), "AD") != "ABD" && none.count == 0)
    }

    @Test("the last priced metric is reused for the same vehicle, conditions and traffic")
    func metricCache() throws {
        let base = Router(graph: try Self.town().graph).live(
            TrafficTests.overlay(TrafficTests.speed("BE", "B", "E", 2)))
        var cache = MetricCache(base)
        #expect(cache.metric(for: CostModel(), at: Self.monday(12)) === base.metric)
        let night = cache.metric(for: CostModel(), at: Self.monday(23))
        #expect(night !== base.metric)
        #expect((0..<base.metric.turns.graph.edgeCount).contains { night.liveDuration(of: EdgeIndex($0)) != nil })
        #expect(cache.metric(for: CostModel(), at: Self.monday(2)) === night)
        #expect(cache.metric(for: CostModel(), at: nil) === base.metric)
        #expect(cache.metric(for: CostModel(), at: nil, usesTraffic: false) === base.freeFlow)
        #expect(cache.metric(for: CostModel(), at: Self.monday(23)) === night)
        let free = cache.metric(for: CostModel(), at: Self.monday(23), usesTraffic: false)
        #expect(free !== night && free.conditions == night.conditions)
        let truck = cache.metric(for: Self.truck, at: nil)
        #expect(truck.model == Self.truck && cache.metric(for: Self.truck, at: nil) === truck)
        #expect(cache.metric(for: Self.truck, at: Self.monday(8)).conditions != truck.conditions)
    }

    @Test("traffic applies to routers for other vehicles and times")
    func traffic() throws {
        let map = try Self.town()
        var overlay = TrafficOverlay()
        _ = overlay.apply([
            TrafficSpeed(fromNodeID: ASCIIMap.nodeID("B"), toNodeID: ASCIIMap.nodeID("E"), speed: 0)
        ])
        let live = Router(graph: map.graph).live(overlay)
        #expect(try Self.letters(map, live, "AG", at: Self.monday(23)) == "ABDFCG")
        #expect(try Self.letters(map, live.serving(CostModel(), at: Self.monday(23)), "AG") == "ABDFCG")
        #expect(
            try Self.letters(map, live.serving(CostModel(), at: Self.monday(23)).live(TrafficOverlay()), "AE") == "ABE")
    }

    @Test("a route keeps its times for its departure when another router reprices it")
    func pricing() throws {
        let road = ["highway": "residential", "maxspeed": "50", "maxspeed:conditional": "30 @ (22:00-06:00)"]
        let map = try ASCIIMap("A---B---C", ways: ["AB": road, "BC": road])
        let router = Router(graph: map.graph)
        for model in [CostModel(), Self.truck] {
            for hour in [12, 23] {
                var options = RouteOptions()
                options.departure = Self.monday(hour)
                let request = RouteRequest(
                    waypoints: try "AC".map { Waypoint(try map.coordinate($0)) }, snapRadius: 20, options: options)
                let found = router.serving(model).route(request, workspace: SearchWorkspace())
                guard case .found(let route) = found else {
                    Issue.record("no route from A to C: \(found)")
                    continue
                }
                for other in [12, 23] {
                    let pricing = RoutePricing(router, for: model.profile, at: Self.monday(other))
                    let (priced, changed) = try #require(pricing.repriced(route))
                    #expect((changed == 0) == (other == hour) && (priced.duration > route.duration) == (other > hour))
                }
            }
        }
    }

    @Test("a path forbidden to trucks may be the start of a path forbidden to cars")
    func nested() throws {
        // Trucks may not drive A B C; cars may not drive A B C D. The states of the longer path continue beyond the
        // shorter one.
        let map = try ASCIIMap(
            """
            A---B---C---D
                |   |   |
                E---F---G
            """,
            ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road, "FG": road, "GD": road],
            restrictions: [
                ASCIIMap.Restriction("", from: "AB", via: "B", to: "BC", tags: ["restriction:hgv": "no_straight_on"]),
                ASCIIMap.Restriction(
                    "", from: "AB", via: "BC", to: "CD", tags: ["restriction:motorcar": "no_straight_on"]),
            ])
        let router = Router(graph: map.graph)
        let car = try Self.letters(map, router, "AD")
        #expect(car != "ABCD" && car.hasPrefix("AB"))
        #expect(try Self.letters(map, router, "AC") == "ABC")
        let truck = router.serving(Self.truck)
        #expect(try Self.letters(map, truck, "AC") == "ABEFC")
        #expect(["ABEFCD", "ABEFGD"].contains(try Self.letters(map, truck, "AD")))
    }

    @Test("a via-way restriction applies across a pass-through point but not across a stop")
    func passing() throws {
        let map = try ASCIIMap(
            """
            A---B---C---D
                |   |   |
                E---F---G
            """,
            ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road, "FG": road, "GD": road],
            restrictions: [ASCIIMap.Restriction("no_straight_on", from: "AB", via: "BC", to: "CD")])
        let router = Router(graph: map.graph)
        let middle = try map.position(between: "B", "C")
        for isStop in [true, false] {
            for router in [router, Router(router.metric)] {
                let request = RouteRequest(waypoints: [
                    Waypoint(try map.coordinate("A")), Waypoint(middle, bearing: .pi / 2, isStop: isStop),
                    Waypoint(try map.coordinate("D")),
                ])
                guard case .found(let route) = router.route(request, workspace: SearchWorkspace()) else {
                    Issue.record("no route through B and C")
                    continue
                }
                #expect((map.letters(of: route) == "ABCD") == isStop)
                let fault = Oracle(OracleRoads(map.graph), CostModel()).fault(in: route)
                #expect(fault == nil)
            }
        }
    }

    @Test("UTC hours convert to local time by the offset of the place")
    func clocks() {
        let noon = Timestamp(nanoseconds: 1_767_614_400_000_000_000)
        #expect(LocalTime(noon, minutesAheadOfUTC: 0) == LocalTime(year: 2026, month: 1, day: 5, hour: 12))
        #expect(LocalTime(noon, minutesAheadOfUTC: 60) == LocalTime(year: 2026, month: 1, day: 5, hour: 13))
        #expect(LocalTime(noon, minutesAheadOfUTC: -780) == LocalTime(year: 2026, month: 1, day: 4, hour: 23))
        #expect(LocalTime(Timestamp(nanoseconds: -1), minutesAheadOfUTC: 0).minuteOfDay == 1_439)
        #expect(LocalTime(noon, minutesAheadOfUTC: .max) == LocalTime(noon, minutesAheadOfUTC: 1_440))
    }
}
