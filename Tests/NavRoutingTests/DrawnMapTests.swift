import NavGeo
import NavMap
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "residential"]
private let oneway = ["highway": "residential", "oneway": "yes"]

@Suite("Routes on drawn maps")
struct DrawnMapTests {
    @Test("a faster road is preferred to a shorter one")
    func fasterRoad() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |       |
            D-------E
            """, ways: ["ABC": ["highway": "living_street"], "AD": road, "CE": road, "DE": ["highway": "primary"]])
        #expect(try map.route("AC") == "ADEC")
        #expect(try map.route("AB") == "AB")
    }

    @Test("one-way streets are driven in their direction only")
    func oneWay() throws {
        let map = try ASCIIMap(
            """
            A---B
            |   |
            D---C
            """, ways: ["AB": oneway, "BC": oneway, "CD": oneway, "DA": oneway])
        #expect(try map.route("AB") == "AB")
        #expect(try map.route("BA") == "BCDA")
    }

    static let cross = """
            D
            |
        A---B---C
            |
            E
        """

    @Test("a forbidden turn is not made")
    func noTurn() throws {
        let map = try ASCIIMap(
            """
                D---F
                |   |
            A---B---C
            """, ways: ["AB": road, "BC": road, "BD": road, "DF": road, "FC": road],
            restrictions: [.init("no_left_turn", from: "AB", via: "B", to: "BD")])
        #expect(map.restrictionCount == 1)
        #expect(try map.route("AD") == "ABCFD")
        #expect(try map.route("DA") == "DBA")
        #expect(try map.route("CD") == "CFD" || map.route("CD") == "CBD")
    }

    @Test("a mandatory turn is the only turn")
    func onlyTurn() throws {
        let map = try ASCIIMap(
            """
                D---F
                |   |
            A---B---C---G
            """, ways: ["AB": road, "BC": road, "BD": road, "DF": road, "FC": road, "CG": road],
            restrictions: [.init("only_left_turn", from: "AB", via: "B", to: "BD")])
        #expect(try map.route("AG") == "ABDFCG")
        #expect(try map.route("GA") == "GCBA")
        #expect(try map.route("AD") == "ABD")
    }

    @Test("a via-way restriction applies only to vehicles that come from its first way")
    func viaWay() throws {
        let map = try ASCIIMap(
            """
            F---E---D---G---H
                    |   |
            A---B---C   |
                |       |
                J-------K
            """,
            ways: [
                "AB": road, "BC": road, "CD": road, "DE": road, "EF": road, "DG": road, "GH": road, "GK": road,
                "JK": road, "BJ": road,
            ], restrictions: [.init("no_u_turn", from: "BC", via: "CD", to: "DE")])
        #expect(map.restrictionCount == 1)
        #expect(map.turns.stateCount > map.graph.edgeCount)
        #expect(try map.route("CF") == "CDEF")
        #expect(try map.route("AH") == "ABCDGH")
        // From A the turn at D is forbidden; the detour over J, K and G enters D from G.
        #expect(try map.route("AF") == "ABJKGDEF")
    }

    @Test("U-turns are made only at dead ends and turning circles")
    func uTurns() throws {
        let ways: KeyValuePairs<String, [String: String]> = ["AB": road, "BC": road, "BD": road, "BE": road]
        let away = try ASCIIMap(Self.cross, ways: ways)
        let start = Waypoint(try away.position(between: "A", "B", at: 0.8), bearing: try away.bearing("A", "B"))
        let goal = Waypoint(try away.position(between: "A", "B", at: 0.2), bearing: try away.bearing("B", "A"))
        let route = try away.route([start, goal])
        #expect(["ABCBA", "ABDBA", "ABEBA"].contains(away.letters(of: route)))
        #expect(route.edges.filter { $0.turnDuration >= CostModel.uTurnDuration }.count == 1)

        let circle = try ASCIIMap(Self.cross, ways: ways, nodes: ["B": ["highway": "turning_circle"]])
        #expect(circle.letters(of: try circle.route([start, goal])) == "ABA")
    }

    @Test("a barrier blocks the road and permits a U-turn")
    func barrier() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |       |
            D-------E
            """, ways: ["ABC": road, "AD": road, "CE": road, "DE": road], nodes: ["B": ["barrier": "bollard"]])
        #expect(try map.route("AC") == "ADEC")
        let start = Waypoint(try map.position(between: "A", "B", at: 0.8), bearing: .pi / 2)
        let goal = Waypoint(try map.position(between: "A", "B", at: 0.2), bearing: 3 * .pi / 2)
        #expect(map.letters(of: try map.route([start, goal])) == "ABA")
    }

    @Test("private ground is closed to through traffic but open to traffic to and from it")
    func privateGround() throws {
        let map = try ASCIIMap(
            """
            A---B---C---G
                |   |
                |   |
                D---E
                |
                F
            """,
            ways: [
                "AB": road, "BC": ["highway": "service", "access": "private"], "BD": road, "DE": road, "EC": road,
                "CG": road, "DF": ["highway": "service", "access": "destination"],
            ])
        #expect(try map.route("AG") == "ABDECG")
        #expect(try map.route("AF") == "ABDF")
        #expect(try map.route("FG") == "FDECG")
        let inside = Waypoint(try map.position(between: "B", "C"))
        #expect(map.letters(of: try map.route([inside, Waypoint(try map.coordinate("G"))])) == "BCG")
    }

    @Test("the bearing at the origin determines the direction")
    func heading() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |       |
            D-------E
            """, ways: ["ABC": road, "AD": road, "CE": road, "DE": road])
        let goal = Waypoint(try map.coordinate("A"))
        let place = try map.position(between: "A", "B")
        #expect(map.letters(of: try map.route([Waypoint(place), goal])) == "BA")
        let east = Waypoint(place, bearing: .pi / 2)
        #expect(map.letters(of: try map.route([east, goal])) == "ABCEDA")
        let across = Waypoint(place, bearing: 0, bearingTolerance: 0.3)
        #expect(map.outcome([across, goal]) != .offRoad(waypoint: 1))
        #expect(map.names(of: try map.route([across, goal])).first != "ABC")
    }

    @Test("two places on one edge are connected in both directions")
    func sameEdge() throws {
        let map = try ASCIIMap("A---B---C", ways: ["ABC": road])
        let first = Waypoint(try map.position(between: "A", "B"))
        let second = Waypoint(try map.position(between: "B", "C"))
        let there = try map.route([first, second])
        #expect(there.edges.count == 1 && abs(there.length - 400) < 0.5)
        let back = try map.route([second, first])
        #expect(back.edges.count == 1 && abs(back.length - 400) < 0.5)
        #expect(there.edges[0].key != back.edges[0].key)
        let none = try map.route([first, first])
        #expect(none.length == 0 && none.legs.count == 1)

        let ring = try ASCIIMap("A---B\n|   |\nD---C", ways: ["AB": oneway, "BC": oneway, "CD": oneway, "DA": oneway])
        let ahead = Waypoint(try ring.position(between: "A", "B", at: 0.7))
        let behind = Waypoint(try ring.position(between: "A", "B", at: 0.3))
        #expect(ring.letters(of: try ring.route([behind, ahead])) == "AB")
        #expect(ring.letters(of: try ring.route([ahead, behind])) == "ABCDAB")
    }

    @Test("a place at a junction snaps to every road of the junction")
    func atJunction() throws {
        let map = try ASCIIMap(Self.cross, ways: ["AB": road, "BC": road, "DB": oneway, "BE": oneway])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("B"))])
        #expect(route.edges.count == 1 && route.edges[0].turnDuration == 0)
        let onward = try map.route([Waypoint(try map.coordinate("B")), Waypoint(try map.coordinate("C"))])
        #expect(onward.edges.count == 1)
    }

    @Test("a U-turn is permitted at a stop but not at a pass-through point")
    func waypoints() throws {
        let map = try ASCIIMap(
            """
            A---B---C---D
                |   |
                E---F
            """, ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road])
        let start = Waypoint(try map.coordinate("A"))
        let place = try map.position(between: "B", "C")
        let stopped = try map.route([start, Waypoint(place), start])
        #expect(map.letters(of: stopped) == "ABCBA")
        #expect(stopped.legs.count == 2)
        #expect(stopped.edges[stopped.legs[1].edges.lowerBound].turnDuration == CostModel.uTurnDuration)
        let passed = try map.route([start, Waypoint(place, isStop: false), start])
        #expect(["ABCFEBA", "ABEFCBA"].contains(map.letters(of: passed)))
        #expect(passed.legs.count == 1 && passed.waypoints.count == 3)
    }

    @Test("unreachable, off-road and invalid requests are distinguished")
    func refusals() throws {
        let map = try ASCIIMap("A---B   C---D", ways: ["AB": road, "CD": road])
        let a = Waypoint(try map.coordinate("A"))
        #expect(map.outcome([a, Waypoint(try map.coordinate("A", north: 6_000))]) == .offRoad(waypoint: 1))
        #expect(map.outcome([a]) == .invalid("a route needs a start and a destination"))
        for odd in [Double.nan, .infinity, 91] {
            guard case .invalid = map.outcome([a, Waypoint(Coordinate(latitude: odd, longitude: 0))]) else {
                Issue.record("latitude \(odd) was accepted")
                continue
            }
        }
        for radius in [Double.nan, .infinity, -1, 1e300] {
            let request = RouteRequest(waypoints: [a, a], snapRadius: radius)
            guard case .invalid = map.router().route(request, workspace: SearchWorkspace()) else {
                Issue.record("snap radius \(radius) was accepted")
                continue
            }
        }
        guard case .invalid = map.outcome([a, Waypoint(a.coordinate, bearing: .nan)]) else {
            Issue.record("a bearing that is NaN was accepted")
            return
        }
    }

    @Test("islands are unreachable; a waypoint on an isolated road moves to the nearest connected road")
    func islands() throws {
        let apart = try ASCIIMap("A---B" + String(repeating: " ", count: 30) + "C---D", ways: ["AB": road, "CD": road])
        let outcome = apart.outcome([Waypoint(try apart.coordinate("A")), Waypoint(try apart.coordinate("D"))])
        guard case .unreachable = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let near = try ASCIIMap(
            """
            A---B---C

              E-F
            """, ways: ["ABC": road, "EF": road])
        let route = try near.route([Waypoint(try near.coordinate("E")), Waypoint(try near.coordinate("C"))])
        #expect(near.names(of: route) == ["ABC"])
    }

    @Test("avoided roads are bypassed, and used where there is no other way")
    func avoidance() throws {
        let map = try ASCIIMap(
            """
            A-------B---C
            |       |
            D-------E
            """,
            ways: [
                "AB": ["highway": "primary", "toll": "yes"], "AD": road, "DE": road, "EB": road,
                "BC": ["highway": "residential", "tunnel": "yes"],
            ])
        #expect(try map.route("AC") == "ABC")
        #expect(try map.route("AC", VehicleProfile(avoid: [.tolls])) == "ADEBC")
        #expect(try map.route("AC", VehicleProfile(avoid: [.tunnels])) == "ABC")
    }

    @Test("limits of size, weight and access apply to trucks")
    func trucks() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |   |   |
            D---E---F
            """,
            ways: [
                "AB": ["highway": "primary", "maxheight": "3.5"], "BC": ["highway": "primary", "maxweight": "7.5"],
                "AD": road, "DE": road, "BE": ["highway": "residential", "hgv": "no"], "EF": road, "CF": road,
            ])
        #expect(try map.route("AC") == "ABC")
        #expect(try map.route("AC", VehicleProfile(kind: .truck)) == "ADEFC")
        #expect(try map.route("AC", VehicleProfile(kind: .truck, height: 3, weight: 7)) == "ABC")
        #expect(try map.route("AB", VehicleProfile(kind: .truck)) != "ADEB")
    }

    @Test("an edge's signals and toll booths count in the duration and in the cost")
    func clockAndCost() throws {
        let map = try ASCIIMap(
            "A---B---C---D", ways: ["ABC": road, "CD": road],
            nodes: ["B": ["highway": "traffic_signals"], "C": ["barrier": "toll_booth"]])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("D"))])
        #expect(abs(Double(route.cost) / 1_000 - route.duration) < 0.01)
        let plain = try ASCIIMap("A---B---C---D", ways: ["ABC": road, "CD": road])
        let free = try plain.route([Waypoint(try plain.coordinate("A")), Waypoint(try plain.coordinate("D"))])
        #expect(
            abs(route.duration - free.duration - CostModel.signalDuration - CostModel.boothDuration) < 0.01)
    }

    @Test("a turn takes time at a junction, also with an incoming one-way street; a bend takes none")
    func turnAtOneWayStreets() throws {
        let drawing = """
                C
                |
            A---B---D
            """
        func turn(_ ways: KeyValuePairs<String, [String: String]>) throws -> Double {
            let map = try ASCIIMap(drawing, ways: ways)
            return try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("C"))])
                .edges.reduce(0) { $0 + $1.turnDuration }
        }
        #expect(try turn(["AB": oneway, "BC": oneway, "DB": oneway]) > 3)
        #expect(try turn(["AB": road, "BC": road, "DB": oneway]) > 3)
        #expect(try turn(["AB": road, "BC": road]) == 0)
    }

    @Test("a route never leaves a roundabout by an exit before its entry")
    func exitBeforeEntry() throws {
        let drawing = """
            A-------C

                B
              H   E
                G
            """
        let ring = ["highway": "residential", "junction": "roundabout"]
        let entry = try ASCIIMap(drawing, ways: ["AB": oneway, "BC": oneway, "BHGEB": ring])
        #expect(try entry.route("AC") == "ABHGEBC")
        let exit = try ASCIIMap(drawing, ways: ["CB": oneway, "BA": oneway, "BHGEB": ring])
        #expect(try exit.route("CA") == "CBA")
        // The same roundabout in the opposite direction.
        let mirrored = try ASCIIMap(drawing, ways: ["CB": oneway, "BA": oneway, "BEGHB": ring])
        #expect(try mirrored.route("CA") == "CBEGHBA")
    }

    @Test("a car has default dimensions")
    func carSizes() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |   |   |
            D---E---F
            """,
            ways: [
                "AB": ["highway": "residential", "maxheight": "1.8"], "BC": ["highway": "residential", "width": "1.8"],
                "AD": road, "DE": road, "BE": road, "EF": road, "CF": road,
            ])
        #expect(try map.route("AC") == "ADEFC")
        #expect(try map.route("AB") == "ADEB")
        #expect(try map.route("AB", VehicleProfile(height: 1.5)) == "AB")
        #expect(try map.route("AC", VehicleProfile(height: 1.5, width: 1.6)) == "ABC")
    }

    @Test("turns across oncoming traffic cost more, mirrored in left-hand traffic")
    func turnCosts() {
        for degrees in stride(from: 10.0, to: 180, by: 10) {
            let angle = Angle.radians(degrees)
            let (right, left) = (
                CostModel.turnDuration(angle: angle, leftHandTraffic: false),
                CostModel.turnDuration(angle: -angle, leftHandTraffic: false)
            )
            #expect(left > right && right > 0 && left < 7.5)
            #expect(CostModel.turnDuration(angle: -angle, leftHandTraffic: true) == right)
        }
    }
}
