import NavGeo
import NavMap
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A trip with a vehicle other than the node's, whose durations apply in new traffic, too.
struct OtherVehicleTests {
    private static let truck = VehicleProfile(kind: .truck)

    private static func town() throws -> Town {
        try Town(
            """
            A---------B---------C---------D
            """,
            ways: [
                "AB": ["highway": "trunk", "maxspeed": "100"], "BC": ["highway": "trunk", "maxspeed": "100"],
                "CD": ["highway": "trunk", "maxspeed": "100", "hgv": "no"],
            ])
    }

    /// Starts a ride with `vehicle` on the map of a node for another vehicle, and returns its first route.
    private static func ride(
        of vehicle: VehicleProfile, node: VehicleProfile, on town: Town, to end: String
    ) throws -> (ride: Ride, map: MapSnapshot, route: Route) {
        let map = MapSnapshot(graph: town.map.graph, model: CostModel(profile: node))
        var ride = Ride(map)
        ride.answering = .byHand
        let preferences = RoutePreferences(options: RouteOptions(), vehicle: vehicle)
        ride.command(.navigate(RouteOrder(waypoints: [try town.waypoint(end)], preferences: preferences), nil))
        ride.drive(town.standing(at: try town.place("AB", 0.1), seconds: 1))
        let query = try #require(ride.open.first)
        #expect(query.vehicle == vehicle)
        let own = MapSnapshot(graph: town.map.graph, model: CostModel(profile: vehicle))
        ride.answer(query, Planner().answer(query, on: own))
        return (ride, map, try #require(route(ride)))
    }

    /// Returns the route in force.
    private static func route(_ ride: Ride) -> Route? {
        for (_, what) in ride.told.reversed() { if case .route(let plan, _) = what { return plan?.route } }
        return nil
    }

    private func phases(_ ride: Ride) -> [RefreshEvent.Phase] {
        ride.told.compactMap { if case .refresh(let event) = $0.what { event.phase } else { nil } }
    }

    private static func traffic(_ speed: Double, _ town: Town, _ from: Character, _ to: Character) -> TrafficOverlay {
        var overlay = TrafficOverlay()
        _ = overlay.apply([
            TrafficSpeed(fromNodeID: ASCIIMap.nodeID(from), toNodeID: ASCIIMap.nodeID(to), speed: speed)
        ])
        return overlay
    }

    @Test func aRefreshDoesNotTurnATruckIntoACar() throws {
        let town = try Self.town()
        var (ride, map, route) = try Self.ride(of: Self.truck, node: VehicleProfile(), on: town, to: "BC")
        guard case .refreshed(let event) = ride.command(.refreshRoute, call: 1),
            event.phase == .refreshed(changedSegments: 0)
        else {
            Issue.record("a refresh without traffic changes the route: \(ride.replies)")
            return
        }
        // Cars drive at 100 km/h, which does not exceed the truck's limit; slower traffic slows the truck, too.
        for (speed, isSlower) in [(27.7, false), (5.0, true)] {
            let live = MapSnapshot(map, router: map.router.live(Self.traffic(speed, town, "A", "B"), at: nil))
            ride.send(.mapChanged(live))
            ride.command(.refreshRoute, call: 1)
            let now = try #require(Self.route(ride))
            #expect(now.duration > route.length / Double(Self.truck.maximumSpeed) - 0.001)
            #expect((now.duration > route.duration * 1.5) == isSlower)
        }
    }

    @Test func roadClosedToTheDefaultVehicleIsOpenToAnother() throws {
        let town = try Self.town()
        var (ride, map, _) = try Self.ride(of: VehicleProfile(), node: Self.truck, on: town, to: "CD")
        let live = MapSnapshot(map, router: map.router.live(Self.traffic(5, town, "A", "B"), at: nil))
        ride.send(.mapChanged(live), at: ride.now.advanced(bySeconds: 200))
        #expect(!phases(ride).contains(.invalidated))
        let closed = MapSnapshot(map, router: map.router.live(Self.traffic(0, town, "B", "C"), at: nil))
        ride.send(.mapChanged(closed), at: ride.now.advanced(bySeconds: 200))
        #expect(phases(ride).contains(.invalidated))
    }
}
