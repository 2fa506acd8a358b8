import NavGuidance
import NavMap
import Testing

@Suite("Roundabouts")
struct RoundaboutTests {
    /// Returns four arms, driven anticlockwise; the western and southern arms are two-way.
    private func circle(name: String = "") -> Town {
        var town = Town(
            """
                     N



                     n

            W     w     e     E

                     s



                     S
            """, scale: 8)
        town.road("senws", name, oneway: true, flags: .roundabout)
        town.road("Nn", "North Road")
        town.road("Ee", "East Road")
        town.road("Ss", "South Road")
        town.road("Ww", "West Road")
        return town
    }

    @Test(
        "Exits are counted from the entry",
        arguments: [
            ("SseE", "first", "East Road"), ("SsenN", "second", "North Road"), ("SsenwW", "third", "West Road"),
        ])
    func exits(path: String, nth: String, road: String) throws {
        #expect(try circle().told(path) == ["At the roundabout, take the \(nth) exit onto \(road)"])
    }

    @Test("A full circle counts the exit back to the entry road, also with a waypoint inside the roundabout")
    func fullCircle() throws {
        let town = circle()
        let via = town.coordinate("n", east: -12, north: -12)
        #expect(
            try town.told("SsenwsS", via: via) == ["At the roundabout, take the fourth exit onto South Road"])
    }

    @Test("Entry and exit are one maneuver that ends at the exit")
    func oneManeuver() throws {
        let maneuver = try circle().maneuvers("SsenN")[1]
        #expect(maneuver.type == .roundabout)
        #expect(maneuver.modifier == .straight)
        #expect(maneuver.roundaboutExit == 2)
        #expect(maneuver.endOffset > maneuver.routeOffset + 40)
    }

    @Test("Driveways and exits closed to cars are not counted")
    func uncountedExits() throws {
        var town = Town(
            """
                     N

                     n
                  w     e     E
                     s

                     S
            """, scale: 8)
        town.road("senws", "", oneway: true, flags: .roundabout)
        town.road("Nn", "North Road")
        town.road("Ee", "Bus Road", access: [.bus])
        town.road("Ss", "South Road")
        #expect(try town.told("SsenN") == ["At the roundabout, take the first exit onto North Road"])
    }

    @Test("An exit forbidden by a turn restriction is not counted")
    func refusedExits() throws {
        var town = circle()
        town.refusedTurns = ["seE"]
        #expect(try town.told("SsenN") == ["At the roundabout, take the first exit onto North Road"])
    }

    @Test("A named roundabout is announced by its name")
    func rotary() throws {
        #expect(try circle(name: "Star Place").told("SsenN") == ["At Star Place, take the second exit onto North Road"])
    }

    @Test("A roundabout named like the street beyond an unnamed entry is not announced by name")
    func streetName() throws {
        var town = Town(
            """
                     N



                     n

            W b a w     e     E

                     s



                     S
            """, scale: 8)
        town.road("senws", "West Road", oneway: true, flags: .roundabout)
        town.road("Nn", "North Road")
        town.road("Ee", "East Road")
        town.road("Ss", "South Road")
        town.road("Wb", "West Road")
        town.road("baw", "")
        #expect(try town.told("SsenN") == ["At the roundabout, take the second exit onto North Road"])
        #expect(try town.told("WbawseE") == ["At the roundabout, take the second exit onto East Road"])
    }

    @Test(
        "Roads that leave a roundabout at one place in distinct directions are separate exits",
        arguments: [
            ("SseF", "first", "Field Road"), ("SseE", "second", "East Road"), ("SseG", "second", "Garden Road"),
            ("SsenN", "third", "North Road"),
        ])
    func exitsOfOnePlace(path: String, nth: String, road: String) throws {
        var town = circle()
        town.place("G", below: "E", -8)
        town.place("F", below: "E", 48)
        town.road("eF", "Field Road")
        town.road("eG", "Garden Road")
        #expect(try town.told(path) == ["At the roundabout, take the \(nth) exit onto \(road)"])
    }

    @Test("A leg that starts in a roundabout starts with its exit")
    func startInside() throws {
        #expect(try circle().told("enN") == ["Exit the roundabout onto North Road"])
    }

    @Test("A mini-roundabout is a turn")
    func miniRoundabout() throws {
        var town = Town(
            """
                 N

            L    A    R

                 S
            """)
        town.road("LAR", "High Street")
        town.road("SAN", "Mill Lane")
        town.nodeFlags["A"] = .miniRoundabout
        #expect(try town.told("SAR") == ["At the roundabout, turn right onto High Street"])
        #expect(try town.told("SAN") == [])
    }

    @Test("A sharp turn at a mini-roundabout mentions it")
    func sharpTurnAtMiniRoundabout() throws {
        var town = Town(
            """
                 N



                 A



            B    S
            """)
        town.road("SAN", "Mill Lane")
        town.road("AB", "West Road")
        town.nodeFlags["A"] = .miniRoundabout
        #expect(try town.told("SAB") == ["At the roundabout, make a sharp left onto West Road"])
    }
}
