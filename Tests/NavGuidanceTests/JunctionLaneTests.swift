import NavGuidance
import NavMap
import NavRouting
import NavTestSupport
import Testing

@Suite("Lanes at junctions")
struct JunctionLaneTests {
    /// Returns a street with a road to the right at A and one to the left at B.
    private func town(
        before first: String, between second: String = "", distance: String = "    ", changes: String = "",
        signs: String = ""
    ) -> Town {
        let gap = String(distance.map { _ in " " })
        var town = Town(
            """
                 \(gap)L

            S    A\(distance)B    C

                 D
            """)
        town.road("SA", "High Street", turnLanes: first, destinationLanes: signs)
        town.road("AB", "High Street", turnLanes: second, laneChanges: changes)
        town.road("BC", "High Street")
        town.road("AD", "Mill Lane")
        town.road("BL", "Church Lane")
        return town
    }

    @Test("A junction without an instruction also has lanes")
    func passedJunction() throws {
        let step = try #require(try town(before: "through|through;right|right").guidance("SABC").steps.first)
        #expect(step.junctions.count == 3)
        #expect(step.junctions[1].lanes.map(\.isValid) == [true, true, false])
        #expect(step.junctions[1].lanes.map(\.active) == [.straight, .straight, nil])
        #expect(step.junctions[2].lanes.isEmpty)
    }

    @Test("A signal or stop sign at the stop line belongs to the junction")
    func stopLine() throws {
        let map = try ASCIIMap(
            """
                  F          G
                  |          |
            A---S-B----C---T-D---E
            """, gridMetres: 10,
            ways: [
                "ASBCTDE": ["highway": "tertiary"], "FB": ["highway": "residential"],
                "GD": ["highway": "residential"],
            ],
            nodes: ["S": ["highway": "traffic_signals"], "T": ["highway": "stop"], "C": ["highway": "stop"]])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("E"))])
        let junctions = RouteGuidance(route: route, graph: map.graph).steps.flatMap(\.junctions)
        let signs = junctions.filter { $0.bearings.count == 3 }.map { [$0.hasSignal, $0.hasStop] }
        #expect(signs == [[true, false], [false, true]])
    }

    @Test("A lane closed to the vehicle is never valid but keeps its position")
    func closedLane() throws {
        let steps = try town(before: "through;no_truck|through;right|through;right;no_car;no_truck").guidance("SAD")
            .steps
        #expect(steps[1].maneuver.lanes.map(\.isValid) == [false, true, false])
        #expect(
            steps[1].maneuver.lanes.map(\.isClosed) == [false, false, true], "a lane closed to trucks is open to cars")
        let only = try town(before: "through|right;no_car").guidance("SAD").steps
        #expect(only[1].maneuver.lanes.isEmpty, "no lanes are announced where none may be used")
    }

    @Test("The lanes ahead belong to the next junction with lanes")
    func ahead() throws {
        let guidance = try town(before: "through|through;right", between: "left|through").guidance("SABL")
        let turn = guidance.steps[1]
        let first = try #require(guidance.lanes(in: 0...100))
        #expect(
            abs(first.routeOffset - 50) < 1 && first.lanes.map(\.isValid) == [true, false], "a left turn follows")
        let second = try #require(guidance.lanes(in: 50.5...turn.routeOffset + 1))
        #expect(second.routeOffset == turn.routeOffset && second.lanes == turn.maneuver.lanes)
        #expect(guidance.lanes(in: 0...20) == nil && guidance.lanes(in: 101...500) == nil)
    }

    @Test("The valid lanes of a junction also permit the next turn")
    func anticipation() throws {
        let steps = try town(before: "through|through|right", between: "left|through").guidance("SABL").steps
        #expect(steps[0].junctions[1].lanes.map(\.isValid) == [true, false, false])
        #expect(steps[1].maneuver.lanes.map(\.isValid) == [true, false])
        #expect(steps[1].junctions[0].lanes == steps[1].maneuver.lanes)
    }

    @Test(
        "Of the lanes that lead to a turn, those nearest to the next turn are preferred, or alone valid if it is close",
        arguments: [
            (50, "left|through", [true, false], [true, false]), (600, "left|through", [true, true], [true, false]),
            (600, "", [true, true], [true, false]), (600, "left|left", [true, true], [true, true]),
            (1200, "left|through", [true, true], [true, true]),
        ])
    func preferredLanes(metres: Int, next: String, valid: [Bool], preferred: [Bool]) throws {
        let distance = String(repeating: " ", count: metres / 10 - 1)
        let town = town(before: "through|through|right", between: next, distance: distance)
        let lanes = try town.guidance("SABL").steps[0].junctions[1].lanes
        #expect(lanes.map(\.isPossible) == [true, true, false])
        #expect(lanes.map(\.active) == [.straight, .straight, nil])
        #expect(lanes.map(\.isValid) == valid + [false])
        #expect(lanes.map(\.isRecommended) == preferred + [false])
    }

    @Test(
        "A lane is invalid if solid lines separate it from the next turn",
        arguments: [
            ("", [true, true]), ("no|no", [true, false]), ("no", [true, false]), ("not_left|not_left", [true, false]),
            ("not_left|yes", [true, true]), ("|only_left", [true, true]), ("yes|only_right", [true, false]),
            ("no|no|no", [true, true]),
        ])
    func solidLines(changes: String, valid: [Bool]) throws {
        let town = town(
            before: "through|through|right", between: "left|through", distance: String(repeating: " ", count: 59),
            changes: changes)
        let lanes = try town.guidance("SABL").steps[0].junctions[1].lanes
        #expect(lanes.map(\.isPossible) == [true, true, false])
        #expect(lanes.map(\.isValid) == valid + [false])
    }

    @Test("A solid line beside the lanes of a close turn does not shift the lanes that lead to it")
    func lineBetweenCloseTurns() throws {
        let town = town(
            before: "through|through|through|through;right",
            between: "left|through|through|through;no_car;no_truck", changes: "yes|yes|yes|no")
        let lanes = try town.guidance("SABC").steps[0].junctions[1].lanes
        #expect(lanes.map(\.isPossible) == [true, true, true, true])
        #expect(lanes.map(\.isValid) == [false, true, true, false])
        let left = try town.guidance("SABL").steps[0].junctions[1].lanes
        #expect(left.map(\.isValid) == [true, false, false, false])
    }

    @Test("Lanes without arrows are announced where one is closed to the vehicle")
    func closedLaneWithoutArrows() throws {
        let town = town(before: "||no_car;no_truck", between: "|no_truck")
        let passed = try town.guidance("SABC").steps[0].junctions
        #expect(passed[1].lanes.map(\.isValid) == [true, true, false])
        #expect(passed[1].lanes.map(\.isClosed) == [false, false, true])
        #expect(passed[1].lanes.allSatisfy { $0.indications.isEmpty && $0.active == nil })
        #expect(passed[2].lanes.isEmpty, "a lane closed to trucks is open to cars")
        #expect(try town.maneuvers("SAD")[1].lanes.map(\.isValid) == [false, true, false])
        #expect(try town.told("SAD") == self.town(before: "").told("SAD"))
    }

    @Test("Arrows ahead of a junction take precedence over a closed lane in its last metres")
    func arrowsBeforeClosedLane() throws {
        var town = Town(
            """
            S     PA    N

                   D
            """)
        town.road("SP", "High Street", turnLanes: "through|right|right")
        town.road("PA", "High Street", turnLanes: "||no_car;no_truck")
        town.road("AN", "High Street")
        town.road("AD", "Mill Lane")
        let lanes = try town.maneuvers("SPAD")[1].lanes
        #expect(lanes.map(\.indications) == [[.straight], [.right], [.right]])
        #expect(lanes.map(\.isValid) == [false, true, true])
    }

    @Test("A lane that is narrower than the vehicle is closed")
    func narrowLane() throws {
        let lanes = try town(before: "through;no_1.8|through|through;no_2.1").guidance("SABC").steps[0].junctions[1]
            .lanes
        #expect(lanes.map(\.isClosed) == [true, false, false] && lanes.map(\.isValid) == [false, true, true])
        #expect(
            try town(before: "|no_1.8").guidance("SABC").steps[0].junctions[1].lanes.map(\.isClosed) == [false, true])
        #expect(try town(before: "|no_2.1").guidance("SABC").steps[0].junctions[1].lanes.isEmpty)
    }

    @Test(
        "Signs over the lanes that serve only the turn give its destinations",
        arguments: [
            ("through|right", "Porto|Braga;Guimarães", ["Braga", "Guimarães"]),
            ("through;right|right", "Porto|Braga", ["Braga"]), ("through|through;right", "Porto|Porto;Braga", []),
            ("through|right|right", "Porto|Braga|Braga;none", ["Braga"]), ("through|right", "Porto|Lisboa|Braga", []),
        ])
    func signsOverLanes(lanes: String, signs: String, destinations: [String]) throws {
        let turn = try town(before: lanes, signs: signs).maneuvers("SAD")[1]
        #expect(turn.road.destinations == destinations && turn.road.name == "Mill Lane")
    }

    @Test("Where a road widens after a turn, any lane of the turn leads to the next one")
    func wideningRoad() throws {
        var town = Town(
            """
            S    A    Q

            W    B    E

            R    C    L
            """)
        town.road("SA", "High Street", turnLanes: "through|right|right|right")
        town.road("AQ", "High Street")
        town.road("AB", "Main Street", turnLanes: "left|through|through|through|through|right")
        town.road("BC", "Main Street", turnLanes: "left|left|right|right")
        for side in ["BW", "BE"] { town.road(side, "Side Street") }
        town.road("CL", "Low Street")
        town.road("CR", "Low Street")
        let steps = try town.guidance("SABCL").steps
        #expect(steps[1].maneuver.lanes.map(\.isValid) == [false, true, true, true])
        #expect(steps[1].junctions[1].lanes.map(\.isValid) == [false, true, true, false, false, false])
        #expect(steps[2].maneuver.lanes.map(\.isValid) == [true, true, false, false])
    }

    @Test("The lanes tagged before one junction do not apply to the next")
    func lanesOfAnotherJunction() throws {
        let steps = try town(before: "left|through;right", distance: "  ").guidance("SABL").steps
        // No road turns left at A, so the left lane belongs to a later junction.
        #expect(steps[0].junctions[1].lanes.map(\.isValid) == [true, true])
        #expect(steps[1].maneuver.type == .turn)
        #expect(steps[1].maneuver.lanes.isEmpty)
    }

    /// Returns a road from E that divides at X: the left branch is straight to L, the right one bends by 27° to D.
    private func partingRoad(lanes left: UInt8?, _ right: UInt8?) -> Town {
        var town = Town(
            """
            D



            L       X        E

            S
            """)
        town.road("EX", "High Street", oneway: true, lanes: 4, turnLanes: "left|left|through|through;right")
        town.road("XL", "High Street", oneway: true, lanes: left)
        town.road("XD", "High Street", oneway: true, lanes: right)
        town.road("LS", "Mill Lane", oneway: true)
        return town
    }

    @Test("Where a road divides, no branch has more lanes than mapped")
    func partedLanes() throws {
        let town = partingRoad(lanes: 2, 3)
        let view = try #require(
            JunctionView(near: town.coordinate("X"), radius: 10, in: try town.graph(), for: .car))
        let ways = try #require(view.approaches.first).ways.filter { $0.obstacle == nil }
        #expect(ways.map { view.arms[$0.arm].bearing > 280 } == [true, false])
        #expect(ways.map(\.lanes) == [[2, 3], [0, 1]])
    }

    @Test("Where a road narrows after a crossing, all its lanes lead ahead")
    func narrowedRoad() throws {
        var town = Town(
            """
                 N

            W    X    E

                 S
            """)
        town.road("WX", "High Street", oneway: true, lanes: 3, turnLanes: "through||")
        town.road("XE", "High Street", oneway: true, lanes: 1)
        town.road("NXS", "Mill Lane")
        let view = try #require(
            JunctionView(near: town.coordinate("X"), radius: 10, in: try town.graph(), for: .car))
        let ways = view.approaches.flatMap(\.ways).filter { $0.turn.magnitude < 1 && !$0.lanes.isEmpty }
        #expect(ways.map(\.lanes) == [[0, 1, 2]])
    }

    /// Returns a road from E with a left lane for a link, which appears straight on, to L, `length` grid steps away.
    private func link(_ length: Int) -> Town {
        let before = String(repeating: " ", count: 39 - length)
        let gap = String(repeating: " ", count: length - 1)
        var town = Town(
            """
                                                        R
            D


            \(before)L\(gap)X      E

            \(before)S
            """)
        town.road("EX", "High Street", oneway: true, roadClass: .primary, lanes: 3, turnLanes: "left|through|none")
        town.road("XD", "High Street", oneway: true, roadClass: .primary, lanes: 2)
        town.road("XL", oneway: true, roadClass: .primary, flags: .link, lanes: 1)
        town.road("RX", oneway: true, roadClass: .motorway, flags: .link)
        town.road("LS", "Mill Lane")
        return town
    }

    @Test("A straight branch with its own turn lane is a fork")
    func branchWithLane() throws {
        let town = link(30)
        let branch = try town.maneuvers("EXL")[1]
        #expect(branch.type == .fork && branch.modifier == .slightLeft)
        #expect(branch.lanes.map(\.isValid) == [true, false, false])
        let road = try town.guidance("EXD")
        #expect(road.maneuvers.count == 2, "following the main road needs no instruction")
        #expect(road.steps[0].junctions[1].lanes.map(\.isValid) == [false, true, true])
    }

    @Test("A short branch with its own turn lane belongs to the turn at its end")
    func shortBranchWithLane() throws {
        #expect(try !link(3).maneuvers("EXLS").contains { $0.type == .fork })
    }
}
