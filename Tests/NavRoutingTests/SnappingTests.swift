import NavGeo
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "residential"]
private let track = ["highway": "track", "tracktype": "grade2"]

@Suite("Snapping places to roads")
struct SnappingTests {
    /// A fast road ABC, a slow road GH and an island EF between them; E is nearer to the slow road.
    private static let island = """
        A---B---C
        |       |
        |       |
        |   E-F |
        G-------H
        """

    private func island() throws -> ASCIIMap {
        try ASCIIMap(
            Self.island, gridMetres: 50,
            ways: ["ABC": ["highway": "primary"], "AG": road, "CH": road, "GH": road, "EF": road])
    }

    @Test("an end on an island moves to the nearest connected road, even if the drive gets longer")
    func nearestConnected() throws {
        let map = try island()
        let route = try map.route([Waypoint(try map.coordinate("E")), Waypoint(try map.coordinate("B"))])
        #expect(abs(route.waypoints[0].snapDistance - 50) < 1)
        #expect(map.names(of: route).first == "GH")
    }

    @Test("the end outside the island does not move")
    func otherEndStays() throws {
        let map = try island()
        // From here it would be faster to walk south and start on GH.
        let place = try map.position(between: "A", "G", at: 0.3)
        for ends in [[place, try map.coordinate("E")], [try map.coordinate("E"), place]] {
            let route = try map.route(ends.map { Waypoint($0) })
            let index = try #require(ends.firstIndex(of: place))
            #expect(route.waypoints[index].snapDistance < 1)
        }
    }

    @Test("an end moves off an island of many roads")
    func largeIsland() throws {
        // 20 roads branch off a street that is not connected; a through road is 150 m away.
        let rows = 4
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        var drawing = ""
        var roads: [(way: String, tags: [String: String])] = []
        for row in 0..<rows {
            drawing += (0..<6).map { String(letters[row * 6 + $0]) }.joined(separator: " ") + "\n"
            for column in 0..<5 {
                roads.append(
                    (String([letters[row * 6 + column], letters[row * 6 + column + 1]]), ["highway": "service"]))
                if row > 0 {
                    roads.append(
                        (String([letters[row * 6 + column - 6], letters[row * 6 + column]]), ["highway": "service"]))
                }
            }
        }
        drawing += "\n\n\n\n\n1                                          2\n"
        roads.append(("12", road))
        let map = try ASCIIMap(drawing, gridMetres: 20, roads: roads, nodes: [:], restrictions: [])
        let ends = [Waypoint(try map.coordinate("a")), Waypoint(try map.coordinate("2"))]
        let route = try map.route(ends)
        #expect(map.names(of: route) == ["12"])
        let distance = route.waypoints[0].snapDistance
        #expect(distance > 150)
        // Beyond the radius, the reported distance is that of the connected road, not of the island.
        let outcome = map.router().route(RouteRequest(waypoints: ends, snapRadius: 100), workspace: SearchWorkspace())
        guard case .unreachable(waypoint: 0, let nearest?) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(abs(nearest - distance) < 1)
    }

    @Test("many waypoints move off islands, and a cancelled search ends without a route")
    func manyWaypoints() throws {
        let map = try island()
        let (onRoad, onIsland) = (Waypoint(try map.coordinate("B")), Waypoint(try map.coordinate("E")))
        let request = RouteRequest(waypoints: [onRoad] + (0..<30).flatMap { _ in [onIsland, onRoad] })
        let cancellation = SearchCancellation()
        let workspace = SearchWorkspace(cancellation)
        let hierarchical = Router(graph: map.graph)
        #expect(hierarchical.isHierarchical)
        for router in [hierarchical, Router(hierarchical.metric)] {
            let outcome = router.route(request, workspace: workspace)
            guard case .found(let route) = outcome else {
                Issue.record("no route: \(outcome)")
                continue
            }
            #expect(route.waypoints.allSatisfy { $0.snapDistance < 51 })
            cancellation.cancel()
            if case .found = router.route(request, workspace: workspace) { Issue.record("not cancelled") }
            cancellation.reset()
            #expect(router.route(request, workspace: workspace) == outcome)
        }
    }

    @Test(
        "an end moves at most by its own limit, or else by the request's", arguments: [0, 1, 2])
    func limits(of waypoint: Int) throws {
        let map = try ASCIIMap("A---B---C", ways: ["ABC": road])
        func outcome(_ metres: Double, radius: Double? = nil, position: Double? = nil) throws -> RouteOutcome {
            var waypoints = try ["A", "B", "C"].map { Waypoint(try map.coordinate($0)) }
            waypoints[waypoint] = Waypoint(
                try map.coordinate(["A", "B", "C"][waypoint], north: metres), radius: radius)
            return map.router().route(
                RouteRequest(waypoints: waypoints, positionSnapRadius: position), workspace: SearchWorkspace())
        }
        func isMoved(_ outcome: RouteOutcome) -> Bool { if case .found = outcome { true } else { false } }
        func tells(_ outcome: RouteOutcome, _ metres: Double) -> Bool {
            guard case .offRoad(waypoint, let nearest?) = outcome else { return false }
            return abs(nearest - metres) < 2
        }
        #expect(isMoved(try outcome(495)))
        #expect(tells(try outcome(505), 505))
        #expect(isMoved(try outcome(700, radius: 705)), "a waypoint's limit may be larger")
        #expect(tells(try outcome(60, radius: 50), 60), "or smaller")
        #expect(isMoved(try outcome(300, position: 150)) == (waypoint > 0), "only the start is the vehicle's position")
        #expect(try outcome(7_000) == .offRoad(waypoint: waypoint), "the nearest road is beyond the search radius")
    }

    @Test("the bearing of a vehicle off the road is only a hint")
    func parkedAcross() throws {
        let map = try ASCIIMap("A---B---C", ways: ["ABC": road])
        let position = Waypoint(try map.coordinate("B", north: 60), bearing: 0)
        func outcome(_ limit: Double?) throws -> RouteOutcome {
            map.router().route(
                RouteRequest(waypoints: [position, Waypoint(try map.coordinate("C"))], positionSnapRadius: limit),
                workspace: SearchWorkspace())
        }
        guard case .found = try outcome(150) else {
            Issue.record("no route from where the vehicle is parked")
            return
        }
        #expect(try outcome(nil) == .offRoad(waypoint: 0), "the bearing of a place is binding")
    }

    /// Returns a street and a parallel track; both lead to the road in the east.
    private func beside(_ tags: [String: String], metres: Double = 28) throws -> ASCIIMap {
        try ASCIIMap(
            """
            A--------B
                     |
            C--------D
            """, gridMetres: metres / 2, ways: ["AB": road, "BD": road, "CD": tags])
    }

    @Test("a place beside a street snaps to the street, not to a nearby track")
    func streetBeforeTrack() throws {
        let map = try beside(track)
        let place = try map.position(between: "C", "D", at: 0.4)
        let near = try map.route([Waypoint(place), Waypoint(try map.coordinate("B"))])
        #expect(map.names(of: near) == ["AB"])
        #expect(abs(near.waypoints[0].snapDistance - 28) < 1, "the distance shows that a nearer road was skipped")
        // At a greater distance from the street, the place snaps to the track.
        let apart = try beside(track, metres: 34)
        let field = try apart.position(between: "C", "D", at: 0.4)
        let far = try apart.route([Waypoint(field), Waypoint(try apart.coordinate("B"))])
        #expect(apart.names(of: far).first == "CD")
    }

    @Test("a place beside a track does not snap to a motorway instead")
    func trackBesideMotorway() throws {
        let map = try ASCIIMap(
            """
            A--------B
                     |
            C--------D
            """, gridMetres: 15, ways: ["AB": ["highway": "motorway"], "BD": road, "CD": track])
        let place = try map.position(between: "C", "D", at: 0.4)
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(place)])
        #expect(map.names(of: route).last == "CD")
    }

    @Test("a track open to the public counts as a normal road")
    func openTrack() throws {
        let map = try beside(track.merging(["motor_vehicle": "yes"]) { $1 })
        let place = try map.position(between: "C", "D", at: 0.4)
        let route = try map.route([Waypoint(place), Waypoint(try map.coordinate("B"))])
        #expect(map.names(of: route).first == "CD")
    }

    @Test("a vehicle driving on a track snaps to the track")
    func vehicleOnTrack() throws {
        let map = try beside(track)
        let place = Waypoint(
            try map.position(between: "C", "D", at: 0.4), bearing: try map.bearing("C", "D"))
        let route = try map.route([place, Waypoint(try map.coordinate("B"))])
        #expect(map.names(of: route).first == "CD")
    }

    @Test("roads are preferred to a forest shortcut, and a place in the forest is reachable")
    func throughTheForest() throws {
        let map = try ASCIIMap(
            """
            X-A---------------------------------------B
              |                                       |
              |                                       |
              |                                       |
              |                                       |
              |                                       |
              |                                       |
              |                                       |
              |                                       |
              C-------------------D-------------------E
            """,
            ways: [
                "AC": ["highway": "track", "tracktype": "grade1", "surface": "asphalt", "maxspeed": "30"],
                "XABEDC": ["highway": "residential", "maxspeed": "40"],
            ])
        #expect(try map.route("XD") == "XABED")
        let forest = try map.position(between: "A", "C", at: 0.4)
        let route = try map.route([Waypoint(forest), Waypoint(try map.coordinate("D"))])
        #expect(map.names(of: route).first == "AC")
    }
}
