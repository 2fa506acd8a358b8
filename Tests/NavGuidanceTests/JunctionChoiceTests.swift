import NavGuidance
import NavMap
import Testing

@Suite("Choices at junctions")
struct JunctionChoiceTests {
    @Test("A bend away from a straight continuation is announced, even on the road of higher class")
    func bendOffStraight() throws {
        var town = Town(
            """
                  N

              L



                  A


                  S
            """)
        town.road("SAL", "Canal Road", roadClass: .trunk)
        town.road("AN", "Mill Road", oneway: true, roadClass: .primary)
        #expect(try town.told("SAL").first?.hasPrefix("Turn left") == true)
        #expect(try town.told("SAN") == ["Go straight onto Mill Road"])
    }

    /// Vermont Avenue at K Street in Washington: the carriageways part shortly before the crossing, and that of the
    /// route bends.
    @Test("A carriageway that bends in its last metres goes straight over a crossing street")
    func bentCarriageway() throws {
        var town = Town("X")
        town.road("X", "N", over: [(31, 95)], "Mill Lane")
        town.road(
            "X", "K", over: [(-4.9, -2.8), (-9.3, -10.4), (-10.5, -14.1), (-7.7, -20.3)], "Mill Lane", oneway: true)
        town.road("K", "Y", over: [(5.2, -59.8)], "Mill Lane", oneway: true)
        town.place("P", rightOf: "K", 13.8)
        town.place("E", rightOf: "K", 100)
        town.place("W", rightOf: "K", -100)
        town.road("PX", "Mill Lane", oneway: true)
        town.road("EPKW", "High Street", oneway: true)
        #expect(try town.told("NXKY") == [])
        #expect(try town.told("NXKW") == ["Turn right onto High Street"])
    }

    /// The same place: the side carriageway of K Street begins between Vermont Avenue and the main carriageway, and
    /// then bends to run parallel to it.
    @Test(
        "A road with another name that leaves at a small angle and then bends is announced where another street begins",
        arguments: [
            (RoadClass.residential, .residential, (-60, 14.6), ["Turn slightly left onto Side Lane"]),
            (.residential, .residential, (-36, 49.6), []), (.residential, .service, (-60, 14.6), []),
            (.secondary, .residential, (-60, 14.6), []),
        ] as [(RoadClass, RoadClass, (Double, Double), [String])])
    func bendThatGoesOn(road: RoadClass, crossing: RoadClass, end: (Double, Double), told: [String]) throws {
        var town = Town(
            """
            W    A    E


                 S
            """)
        town.road("SA", "Mill Lane", roadClass: road)
        town.road("WAE", "High Street", roadClass: crossing)
        town.road("A", "L", over: [(-10.6, 14.6), end], "Side Lane", roadClass: road)
        #expect(try town.told("SAL") == told)
        #expect(try town.told("SAW") == ["Turn left onto High Street"])
    }

    /// Returns places for a road straight on to H and a road at a small angle to B.
    private func slightExit() -> Town {
        Town(
            """
              H B





              A



              S
            """)
    }

    @Test("A road that forks off beside a straighter one is announced with its side")
    func sideOfSlightExit() throws {
        var main = slightExit()
        main.road("SAH", "High Street", roadClass: .secondary)
        main.road("AB", "Mill Lane", roadClass: .tertiary)
        #expect(try main.told("SAH") == [])
        #expect(try main.told("SAB") == ["Turn slightly right onto Mill Lane"])
        // The same applies where another road only leads to the junction.
        var crossing = main
        crossing.place("C", rightOf: "A", -40)
        crossing.road("CA", "Side Lane", oneway: true)
        #expect(try crossing.told("SAH") == [])
        #expect(try crossing.told("SAB") == ["Turn slightly right onto Mill Lane"])
    }

    @Test("A main road is followed past a straighter unnamed street", arguments: ["High Street", ""])
    func straighterSideStreet(name: String) throws {
        var town = slightExit()
        town.road("SAB", name, roadClass: .trunk)
        town.road("AH", "", oneway: true)
        #expect(try town.told("SAB") == [])
        #expect(try town.told("SAH") == ["Turn slightly left"])
    }

    @Test("Joining a street after another turn is announced only where there is a choice")
    func joiningWithoutChoice() throws {
        var town = Town(
            """
                  N

                     Q


                  J


                  C

            W   X         E
            """, scale: 5)
        town.road("WXE", "Mill Lane", roadClass: .primary)
        town.road("XJ", "", oneway: true, roadClass: .primary)
        town.road("CJN", "High Street", roadClass: .primary)
        #expect(try town.told("WXJN") == ["Turn left onto High Street"])
        town.road("JQ", "Side Lane", roadClass: .primary)
        #expect(try town.told("WXJN").count == 2)
    }

    @Test("Two turns where the first road ends at the second are not a crossing")
    func noOffsetCrossing() throws {
        var town = Town(
            """
                  N

            X    AB

                S R
            """, scale: 6)
        town.road("SA", "Mill Lane")
        town.road("XAB", "Side Lane")
        town.road("NBR", "High Street")
        #expect(try town.told("SABN").first == "Turn right onto Side Lane")
    }

    @Test(
        "A road number that contains another one is a different number",
        arguments: [("4", "45"), ("D 12", "D 121"), ("45", "5;4"), ("A 1;E 18", "A 10;E 1")])
    func numbersInNumbers(own: String, other: String) throws {
        var town = Town(
            """
                                L

            S         A




                                R
            """, scale: 20)
        town.road("SAR", "", roadClass: .primary, reference: own)
        town.road("AL", "", roadClass: .primary, reference: other)
        let (first, second) = (own.prefix { $0 != ";" }, other.prefix { $0 != ";" })
        #expect(try town.told("SAL") == ["Keep left onto \(second)"])
        #expect(try town.told("SAR") == ["Keep right to stay on \(first)"])
    }

    @Test("One shared number identifies the same road, in any order of the numbers")
    func sharedNumbers() throws {
        var town = Town("S    A    N", scale: 50)
        town.road("SA", "", roadClass: .motorway, reference: "A 1;E 18")
        for numbers in ["E 18; A 1", "A 1", "E 18;A 1;E 63"] {
            var longer = town
            longer.road("AN", "", roadClass: .motorway, reference: numbers)
            let guidance = try longer.guidance("SAN", options: GuidanceOptions(announcesNameChanges: true))
            #expect(guidance.maneuvers.map(\.type) == [.depart, .arrive], "\(numbers)")
        }
        town.road("AN", "", roadClass: .motorway, reference: "A 10")
        let guidance = try town.guidance("SAN", options: GuidanceOptions(announcesNameChanges: true))
        #expect(guidance.maneuvers.map(\.type) == [.depart, .newName, .arrive])
    }

    @Test("A road that bears off is announced beside a straighter unnamed street of similar class")
    func straighterLesserRoad() throws {
        var town = Town(
            """
               G   F  L








                  A

                  S
            """)
        town.road("SAG", roadClass: .tertiary)
        var (straighter, wider) = (town, town)
        straighter.road("AF", roadClass: .residential)
        #expect(try straighter.told("SAG") == ["Keep left at the fork"])
        #expect(try straighter.told("SAF") == ["Keep right at the fork"])
        wider.road("AL", roadClass: .residential)
        #expect(try wider.told("SAG") == [])
    }

    @Test("The end of a side street at a through street is announced at any angle, also without names")
    func namelessEnd() throws {
        var town = Town(
            """
              W



                   A

                   S    B
            """)
        town.road("SA")
        town.road("WAB")
        #expect(try town.told("SAW") == ["Turn left"])
        #expect(try town.told("SAB") == ["Turn right"])
    }

    @Test("Leaving a road that turns onto a minor road is announced, unless the minor road goes straight on")
    func leavingBesideTurn() throws {
        var town = Town(
            """
                    N  D
            C




                    A   B


                    S
            """)
        town.road("SAC", "Mill Road", roadClass: .primary)
        town.road("AB")
        var (aside, ahead) = (town, town)
        aside.road("AD")
        #expect(try aside.told("SAD") == ["Turn slightly right"])
        ahead.road("AN")
        #expect(try ahead.told("SAN") == [])
    }

    @Test("The end of a link is announced with the side of the road that it joins", arguments: [RoadFlags.link, []])
    func sideOfJoining(flags: RoadFlags) throws {
        var town = Town(
            """
                        N



                        A







                   S    P
            """)
        town.place("E", below: "N", -100)
        town.road("SA", oneway: true, roadClass: .secondary, flags: flags)
        town.road("PANE", "Mill Lane", roadClass: .secondary)
        #expect(try town.told("SANE") == ["Turn slightly left onto Mill Lane"])
    }

    @Test("A carriageway mapped twice has no fork and no merge")
    func twinCarriageways() throws {
        var town = Town("A")
        town.place("S", below: "A", 200)
        town.road("A", "B", over: [(4, 10), (5, 140), (0, 150)], "North Road", oneway: true, roadClass: .motorway)
        town.place("N", below: "B", -200)
        town.road("SA", "North Road", oneway: true, roadClass: .motorway)
        town.road("AB", oneway: true, roadClass: .motorway)
        town.road("BN", "North Road", oneway: true, roadClass: .motorway)
        #expect(try town.told("SABN") == [])
    }

    @Test("A road mapped twice between the same nodes is neither a junction nor a U-turn")
    func twinsBothWays() throws {
        var town = Town("A")
        town.place("S", rightOf: "A", -100)
        town.road("SA", "Mill Lane")
        town.road("A", "B", over: [(14.5, 0.6)], "Mill Lane")
        town.road("B", "C", over: [(17.1, -0.1)], "Mill Lane")
        town.road("C", "D", over: [(13, -0.8)], "Mill Lane")
        town.road("D", "E", over: [(11.1, -0.9)], "Mill Lane")
        town.road("E", "N", over: [(300, -30)], "Mill Lane")
        town.road("ABCDE", "Mill Lane")
        #expect(try town.told("SABCDEN") == [])
        #expect(try town.told("NEDCBAS") == [])
    }

    @Test("A slip lane that begins straight ahead, beside a bend of the main road, counts as the turn it serves")
    func slipLaneAhead() throws {
        var town = Town("A")
        town.place("S", rightOf: "A", -100)
        town.road("SA", "Field Lane", oneway: true)
        town.road("A", "C", over: [(10, 4), (38, 4)], "Field Lane", oneway: true)
        town.road("A", "D", over: [(20, 0), (29, -6), (34, -16), (37, -28)], "", oneway: true)
        town.place("N", below: "C", -100)
        town.place("P", below: "D", 100)
        town.road("NCDP", "High Street", oneway: true, roadClass: .primary)
        #expect(try town.told("SADP") == ["Turn right onto High Street"])
    }
}
