import NavGeo
import NavGuidance
import NavMap
import NavRouting
import Testing

@Suite("Maneuvers at junctions")
struct ManeuverTests {
    @Test("The end of a road at a crossing road is announced with its side")
    func endOfRoad() throws {
        var town = Town(
            """
            L    A    R
                 |
                 P    Q
                 |
                 S
            """)
        town.road("LAR", "High Street")
        town.road("SPA", "Mill Lane")
        town.road("PQ", "Side Lane")
        #expect(try town.told("SPAL") == ["At the end of the road, turn left onto High Street"])
        #expect(try town.told("SPAR") == ["At the end of the road, turn right onto High Street"])
        // Without a junction before it, "end of road" does not help to find the turn.
        #expect(try town.told("PAL") == ["Turn left onto High Street"])
    }

    @Test("The end of a long road without junctions is announced")
    func endOfLongRoad() throws {
        var town = Town(
            """
            L    A    R


                 S
            """, scale: 60)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        #expect(try town.told("SAL") == ["At the end of the road, turn left onto High Street"])
        #expect(try town.told("SAR") == ["At the end of the road, turn right onto High Street"])
        // As in OSRM, the type is the end of a road only where other junctions were passed on it.
        #expect(try town.maneuvers("SAL")[1].type == .turn)
    }

    @Test("A side road after a maneuver does not make it ambiguous")
    func sideRoadBehind() throws {
        var town = Town(
            """
                 C

            M    D

            S    A    E
            """)
        town.road("SAE", "High Street")
        town.road("ADC", "Mill Lane")
        town.road("DM", "Side Lane")
        let maneuvers = try town.maneuvers("SADC")
        #expect(maneuvers.map(\.type) == [.depart, .turn, .arrive])
        #expect(maneuvers[1].unambiguousOffset == 0)
    }

    @Test("Going straight over a crossing has no instruction, even if the name changes")
    func straightOn() throws {
        var town = Town(
            """
                 N

            L    A    R

                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        town.road("AN", "Church Lane")
        #expect(try town.told("SAN") == [])
        #expect(try town.told("SAL") == ["Turn left onto High Street"])
        #expect(try town.told("NAL") == ["Turn right onto High Street"])
    }

    @Test("A street with two names is announced with both")
    func twoNames() throws {
        var town = Town(
            """
            L    A    R

                 S
            """)
        town.road("LAR", "High Street;Mile End")
        town.road("SA", "Mill Lane")
        #expect(try town.told("SAL") == ["Turn left onto High Street / Mile End"])
    }

    @Test("Turns and forks at a mini-roundabout mention it")
    func miniRoundabout() throws {
        var crossing = Town(
            """
                 N

            L    A    R

                 S
            """)
        crossing.road("LAR", "High Street")
        crossing.road("SAN", "Mill Lane")
        crossing.nodeFlags["A"] = .miniRoundabout
        #expect(try crossing.told("SAL") == ["At the roundabout, turn left onto High Street"])
        #expect(try crossing.told("SAN") == [])
        var fork = Town(
            """
            L    R



              A


              S
            """)
        fork.road("SA", "Mill Lane")
        fork.road("AL", "High Street")
        fork.road("AR", "Church Street")
        #expect(try fork.maneuvers("SAL")[1].type == .fork)
        fork.nodeFlags["A"] = .miniRoundabout
        #expect(try fork.told("SAL") == ["At the roundabout, turn slightly left onto High Street"])
        #expect(try fork.told("SAR") == ["At the roundabout, turn slightly right onto Church Street"])
    }

    @Test("A name change ahead is announced only on request")
    func nameChange() throws {
        var town = Town("S    A    N    M", scale: 25)
        town.road("SA", "Mill Lane")
        town.road("AN", "Church Lane")
        town.road("NM", "Mill Lane")
        #expect(try town.told("SAN") == [])
        let loud = try town.guidance("SAN", options: GuidanceOptions(announcesNameChanges: true))
        #expect(loud.maneuvers.map(\.type) == [.depart, .newName, .arrive])
        #expect(loud.options.text.instruction(loud.maneuvers[1]) == "Continue onto Church Lane")
        // A name of only a few metres is ignored.
        var short = Town("S    A  N    M", scale: 25)
        short.road("SA", "Mill Lane")
        short.road("AN", "Church Lane")
        short.road("NM", "Mill Lane")
        let quiet = try short.guidance("SANM", options: GuidanceOptions(announcesNameChanges: true))
        #expect(quiet.maneuvers.map(\.type) == [.depart, .arrive])
    }

    @Test(
        "A new name at a bend is a turn where another road continues straight on",
        arguments: [RoadClass.residential, .service])
    func nameChangeAtBend(ahead: RoadClass) throws {
        var town = Town(
            """
                 N

                 A    R

                 S
            """)
        town.road("SA", "Mill Lane", roadClass: .secondary)
        town.road("AR", "High Street", roadClass: .secondary)
        town.road("AN", "", roadClass: ahead)
        #expect(try town.told("SAR") == ["Turn right onto High Street"])
    }

    @Test("A new name at a sharp bend is a turn where any other road begins")
    func nameChangeAtSharpBend() throws {
        var town = Town(
            """
            B    A    R


                 S
            """)
        town.road("SA", "Mill Lane", roadClass: .secondary)
        town.road("AR", "High Street", roadClass: .secondary)
        town.road("AB", "", roadClass: .service)
        #expect(try town.told("SAR") == ["Turn right onto High Street"])
    }

    @Test("A new name at a slight bend is not announced, even if another road begins there")
    func nameChangeAtSlightBend() throws {
        var town = Town(
            """
                  R


            B    A


                 S
            """)
        town.road("SA", "Mill Lane", roadClass: .secondary)
        town.road("AR", "High Street", roadClass: .secondary)
        town.road("AB", "", roadClass: .service)
        #expect(try town.told("SAR") == [])
    }

    @Test("A bend without another road is not a maneuver, however sharp")
    func bend() throws {
        var town = Town(
            """
            N    A

                 S
            """)
        town.road("SAN", "Mill Lane")
        #expect(try town.told("SAN") == [])
    }

    @Test("An unnamed road takes the name of the road straight ahead, not of the road after a turn")
    func unnamedRoad() throws {
        var town = Town(
            """
                          T

            L      A      B      E

                   S
            """, scale: 5)
        town.road("SA", "Mill Lane")
        town.road("AL", "West Road")
        town.road("AB", "")
        town.road("TB", "High Street")
        town.road("BE", "East Road")
        #expect(try town.told("SABT") == ["Turn right", "Turn left onto High Street"])
        #expect(try town.told("SABE") == ["Turn right onto East Road"])
        #expect(try town.maneuvers("ABT")[0].road.isUnnamed)
        #expect(try town.maneuvers("ABE")[0].road.name == "East Road")
    }

    @Test("An at-grade link takes the name of the road that it joins, not of the road after a turn")
    func linkAtGrade() throws {
        var town = Town(
            """
                          T

            L      A      B      E

                   S
            """, scale: 5)
        town.road("SA", "Mill Lane", roadClass: .secondary)
        town.road("AL", "West Road", roadClass: .secondary)
        town.road("AB", "", roadClass: .secondary, flags: .link)
        town.road("TB", "High Street", roadClass: .secondary)
        town.road("BE", "East Road", roadClass: .secondary)
        #expect(try town.told("SABT") == ["Turn right", "Turn left onto High Street"])
        #expect(try town.told("SABE") == ["Turn right onto East Road"])
    }

    @Test(
        "A name that repeats the road's number is announced as a number",
        arguments: [("CG-2", "", ["CG-2"]), ("CG 2", "", ["CG-2"]), ("CG-21", "CG-21", ["CG-2"])])
    func nameOfNumber(name: String, told: String, numbers: [String]) throws {
        var town = Town(
            """
            L    A    R

                 S
            """)
        town.road("LAR", name, reference: "CG-2")
        town.road("SA", "Mill Lane")
        let road = try town.maneuvers("SAL")[1].road
        #expect(road.name == told)
        #expect(road.references == numbers)
    }

    @Test("A main road that bends away from a straight lane is announced as staying on it")
    func bendingMainRoad() throws {
        var town = Town(
            """
                 N

            L    A

                 S
            """)
        town.road("SAL", "High Street", roadClass: .secondary)
        town.road("AN", "Mill Lane")
        #expect(try town.told("SAL") == ["Turn left to stay on High Street"])
        #expect(try town.told("SAN") == ["Go straight onto Mill Lane"])
    }

    @Test(
        "An instruction to stay on a road requires the same announced name before",
        arguments: [
            ("High Street", "High Street", "Turn left to stay on High Street"),
            ("High Street", "High Street North", "Turn left to stay on High Street North"),
            ("High Street", "High Street (Spur)", "Turn left onto High Street (Spur)"),
            ("", "High Street", "Turn left onto High Street"), ("", "", "Turn left to stay on B 37"),
        ])
    func stayingOnRoad(before: String, after: String, told: String) throws {
        var town = Town(
            """
                 N

            L    A

                 S
            """)
        town.road("SA", before, roadClass: .secondary, reference: "B 37")
        town.road("AL", after, roadClass: .secondary, reference: "B 37")
        town.road("AN", "Mill Lane")
        #expect(try town.told("SAL") == [told])
    }

    @Test("Driveways and roads closed to cars do not form a junction")
    func ignoredRoads() throws {
        var town = Town(
            """
                 N

            L    A

                 S
            """)
        town.road("SAL", "High Street")
        town.road("AN", "", roadClass: .service, flags: .driveway)
        town.road("AN", "Bus Way", access: [.bus])
        #expect(try town.told("SAL") == [])
    }

    @Test("A road mapped twice over the same nodes does not form a junction")
    func duplicateRoad() throws {
        var town = Town("S    A    N")
        town.road("SAN", "Mill Lane")
        town.road("SAN", "Mill Lane", oneway: true)
        #expect(try town.told("SAN") == [])
    }

    /// Rotenbodenstrasse and Allmeinastrasse in Triesenberg: the left arm soon bends left, the right one first runs
    /// beside it.
    @Test("The first metres of winding arms decide their sides")
    func windingFork() throws {
        var town = Town("A")
        town.road(
            "A", "S", over: [(6.2, -2.9), (44.7, -45.1), (65, -52.8), (87.2, -57.2), (97.8, -63.8)], "Mill Lane")
        town.road(
            "A", "L", over: [(-9.1, 5.3), (-17.6, 8.2), (-39.2, 12.4), (-64.1, 14.9), (-91.6, 22.3), (-148.5, 51.9)],
            "Mill Lane")
        town.road(
            "A", "R",
            over: [
                (-10.4, 8.5), (-26.5, 15.5), (-52.9, 28.5), (-64.5, 46), (-79.2, 59), (-90.2, 71.2), (-95.2, 86.3),
                (-94.1, 102.7), (-109.3, 120.2),
            ], "East Road")
        #expect(try town.maneuvers("SAL")[1].modifier == .slightLeft)
        #expect(try town.maneuvers("SAR")[1].modifier == .slightRight)
    }

    @Test("Similar arms of a fork are distinguished by side")
    func fork() throws {
        var town = Town(
            """
            L    R



              A


              S
            """)
        town.road("SA", "Mill Lane")
        town.road("AL", "West Road")
        town.road("AR", "East Road")
        #expect(try town.told("SAL") == ["Keep left onto West Road"])
        #expect(try town.told("SAR") == ["Keep right onto East Road"])
        #expect(try town.maneuvers("SAR").map(\.type) == [.depart, .fork, .arrive])
    }

    @Test(
        "A turn lane that branches off causes no instruction on the through road",
        arguments: [
            ("left|through", true), ("left|left|through|through", true), ("left;through|through", false),
            ("through|through", false), ("", false),
        ])
    func turningLaneOnItsOwn(lanes: String, isSilent: Bool) throws {
        var town = Town(
            """
            L    R



              A


              S
            """)
        town.road("SA", "Mill Lane", oneway: true, turnLanes: lanes)
        town.road("AL", "Mill Lane", oneway: true)
        town.road("AR", "Mill Lane", oneway: true)
        #expect(try town.maneuvers("SAR").map(\.type) == (isSilent ? [.depart, .arrive] : [.depart, .fork, .arrive]))
        // The other branch is always announced.
        #expect(try town.maneuvers("SAL").count == 3)
    }

    @Test("A turn across the median into a one-way carriageway is announced")
    func ontoDualCarriageway() throws {
        var town = Town(
            """
            1         B         2

            4         A         3


                      S
            """)
        town.road("2B1", "Ring Road", oneway: true, roadClass: .primary)
        town.road("4A3", "Ring Road", oneway: true, roadClass: .primary)
        town.road("SA", "Mill Lane")
        town.road("AB", "", roadClass: .residential)
        #expect(try town.told("SAB1") == ["At the end of the road, turn left onto Ring Road"])
        #expect(try town.told("SA3") == ["Turn right onto Ring Road"])
    }

    @Test("Two left turns across a median are one U-turn")
    func uTurnOverMedian() throws {
        var town = Town(
            """
            1         B         2

            4         A         3
            """)
        town.road("2B1", "Ring Road", oneway: true, roadClass: .primary)
        town.road("4A3", "Ring Road", oneway: true, roadClass: .primary)
        town.road("AB", "", roadClass: .service)
        let maneuvers = try town.maneuvers("4AB1")
        #expect(maneuvers.map(\.modifier) == [nil, .uTurn, .straight])
        #expect(maneuvers[1].endOffset > maneuvers[1].routeOffset + 15)
        #expect(try town.told("4AB1") == ["Make a U-turn and continue on Ring Road"])
    }

    @Test("Turning round on the same road is a U-turn")
    func uTurn() throws {
        var town = Town("S    A    N")
        town.road("SAN", "Mill Lane")
        #expect(try town.told("SANAS", via: town.coordinate("N")) == ["Make a U-turn and continue on Mill Lane"])
    }

    @Test("A slip lane counts as the turn that it serves")
    func slipLane() throws {
        var town = Town(
            """
                      N


            L         A    T    R



                      P
                      S
            """)
        town.road("SPAN", "Mill Lane", roadClass: .secondary)
        town.road("LATR", "High Street", roadClass: .secondary)
        town.road("PT", "", oneway: true, roadClass: .secondary, flags: .link)
        #expect(try town.told("SPTR") == ["Turn right onto High Street"])
        #expect(try town.told("SPAN") == [])
    }

    @Test("A motorway exit has its number and destination; staying on has no instruction")
    func motorwayExit() throws {
        var town = Town(
            """
                               E
            A    B    C    D
            """, scale: 50)
        town.road("ABCD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1;E 18")
        town.road(
            "BE", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20, destination: "Espoo;Hanko")
        town.exits["B"] = "23"
        #expect(try town.told("ABE") == ["Take exit 23 on the left towards Espoo, Hanko"])
        #expect(try town.told("ABCD") == [])
    }

    @Test("A ramp that joins a motorway is a merge with its side")
    func merge() throws {
        var town = Town(
            """
            A         M         B
            R
            """, scale: 50)
        town.road("AMB", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 1")
        town.road("RM", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20)
        #expect(try town.told("RMB") == ["Merge left onto A 1"])
    }

    @Test("Boarding and leaving a ferry are announced")
    func ferry() throws {
        var town = Town("A    B    C    D")
        town.road("AB", "Quay")
        town.road("BC", "Sea Line", roadClass: .ferry, speed: 5)
        town.road("CD", "Island Road")
        #expect(try town.told("ABCD") == ["Take the Sea Line ferry", "Leave the ferry and continue on Island Road"])
        #expect(try town.maneuvers("ABCD")[1].notes == [.boardsFerry])
    }

    @Test("The instruction names a ferry at the end of a road or at a mini-roundabout")
    func ferryAtTurn() throws {
        var town = Town(
            """
            L    A    R
                 |
                 P    Q
                 |
                 S
            """)
        town.road("SPA", "Quay", roadClass: .service)
        town.road("PQ", "Side Lane", roadClass: .service)
        town.road("LA", "Shore", roadClass: .service)
        town.road("AR", "Sea Line", roadClass: .ferry, speed: 5)
        #expect(try town.maneuvers("SPAR")[1].type == .endOfRoad)
        #expect(try town.told("SPAR") == ["Take the Sea Line ferry"])
        #expect(try town.told("SPAL") == ["At the end of the road, turn left onto Shore"])
        town.nodeFlags["A"] = .miniRoundabout
        #expect(try town.maneuvers("SPAR")[1].type == .roundaboutTurn)
        #expect(try town.told("SPAR") == ["Take the Sea Line ferry"])
    }

    @Test("Distances and durations between maneuvers add up to the route's")
    func measures() throws {
        var town = Town(
            """
            L    A    R
                 |
                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        let route = try town.route("SAL")
        let guidance = RouteGuidance(route: route, graph: try town.graph())
        #expect(abs(guidance.steps.reduce(0) { $0 + $1.length } - route.length) < 1e-6)
        #expect(abs(guidance.steps.reduce(0) { $0 + $1.duration } - route.duration) < 1e-6)
        #expect(guidance.steps.map(\.name) == ["Mill Lane", "High Street", "High Street"])
    }

    @Test("A route of another map version has only its departure and arrival")
    func unknownMap() throws {
        var town = Town(
            """
            L    A    R
                 |
                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        var route = try town.route("SAL")
        route.mapVersion = "another"
        let guidance = RouteGuidance(route: route, graph: try town.graph())
        #expect(guidance.maneuvers.map(\.type) == [.depart, .arrive])
    }

    @Test("A motorway is announced by its number, and a fork of ramps by its target road")
    func numbers() throws {
        var town = Town(
            """
                           D    E
            A    B
                           C    F
            """, scale: 50)
        town.road("AB", "Western Motorway", oneway: true, roadClass: .motorway, speed: 30, reference: "A 4;E 82")
        town.road("BC", "Western Motorway", oneway: true, roadClass: .motorway, speed: 30, reference: "A 4")
        town.road("BD", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 28")
        town.road("DE", "", oneway: true, roadClass: .motorway, speed: 30, reference: "A 28")
        town.road("CF", "", oneway: true, roadClass: .motorway, flags: .link, speed: 20)
        #expect(try town.told("ABC") == ["Keep right to stay on A 4"])
        #expect(try town.told("ABDE") == ["Keep left onto A 28"])

        var ramps = Town(
            """
                           D    E
            A    B
                           C    F
            """, scale: 50)
        ramps.road("AB", "", oneway: true, roadClass: .motorway, flags: .link)
        ramps.road("BD", "", oneway: true, roadClass: .motorway, flags: .link)
        ramps.road("BC", "", oneway: true, roadClass: .motorway, flags: .link)
        ramps.road("DE", "", oneway: true, roadClass: .motorway, reference: "A 28")
        ramps.road("CF", "", oneway: true, roadClass: .motorway, reference: "A 4")
        #expect(try ramps.told("ABDE") == ["Keep left onto A 28"])
        #expect(try ramps.told("ABCF") == ["Keep right onto A 4"])
    }

    @Test("Zero-length edges at a waypoint on a junction are not roads to turn onto")
    func pointPieces() throws {
        var town = Town(
            """
            L    A    R
                 |
                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        var route = try town.route("SAL")
        // The destination moves to a metre after the junction.
        let junction = route.edges[1].routeOffset
        route.edges[1].endOffset = 1
        route.line = Polyline([
            route.coordinates[0], route.coordinates[1], try #require(route.line.coordinate(at: junction + 1)),
        ])
        route.legs[0].length = junction + 1
        let guidance = RouteGuidance(route: route, graph: try town.graph())
        #expect(guidance.maneuvers.map(\.type) == [.depart, .arrive])
        #expect(guidance.maneuvers.last?.routeOffset == junction + 1)
    }

    @Test("An offset crossing is announced as straight on")
    func offsetCrossing() throws {
        func town(scale: Double) throws -> Town {
            var town = Town(
                """
                          N

                L        AB        R

                         S
                """, scale: scale)
            town.road("LABR", "High Street", roadClass: .secondary)
            town.road("SA", "Mill Lane")
            town.road("BN", "Church Lane")
            return town
        }
        #expect(try town(scale: 6).told("SABN") == ["Go straight onto Church Lane"])
        #expect(
            try town(scale: 10).told("SABN") == ["Turn right onto High Street", "Turn left onto Church Lane"])
    }
}
