import NavGuidance
import NavMap
import Testing

@Suite("Names that would be announced twice in a row")
struct RepeatedNameTests {
    @Test(
        "A short arm of a ramp is not announced by the name of the street behind its next turn", arguments: [4.0, 15.0])
    func shortRamp(scale: Double) throws {
        var town = Town(
            """
                        B

            R     A

                        C



                        D
            """, scale: scale)
        town.road("RA", "", oneway: true, roadClass: .motorway, flags: .link)
        town.road("AB", "", oneway: true, roadClass: .motorway, flags: .link)
        town.road("AC", "", oneway: true, roadClass: .motorway, flags: .link)
        town.road("DCB", "High Street", roadClass: .secondary)
        let told = try town.told("RACD")
        #expect(told.count == 2)
        #expect(told.first == (scale < 10 ? "Keep right at the fork" : "Keep right onto High Street"))
        #expect(told.last?.hasSuffix("onto High Street") == true)
    }

    @Test("A name announced early, with the turn onto an unnamed road, is not announced again where it begins")
    func nameAhead() throws {
        func told(_ path: String, scale: Double) throws -> [String] {
            var town = Town(
                """
                       P   M

                L  A   B   C

                   S
                """, scale: scale)
            town.place("E", rightOf: "C", 300)
            town.road("SA", "Mill Lane")
            town.road("LA", "West Road")
            town.road("ABC", "")
            town.road("PB", "", roadClass: .service)
            town.road("CM", "Church Lane")
            town.road("CE", "High Street")
            let guidance = try town.guidance(path, options: GuidanceOptions(announcesNameChanges: true))
            return guidance.maneuvers.dropFirst().dropLast().map { guidance.options.text.instruction($0) }
        }
        #expect(try told("SABCE", scale: 4) == ["Turn right onto High Street"])
        #expect(try told("SABCE", scale: 20) == ["Turn right", "Continue onto High Street"])
        #expect(try told("ABCE", scale: 4) == [])
    }

    @Test("Following a road around the end of a street is announced as staying on the road")
    func endOfRoad() throws {
        var town = Town(
            """
            L    A    R

                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        var maneuver = try town.maneuvers("SAL")[1]
        maneuver.type = .endOfRoad
        let text = InstructionText()
        #expect(text.instruction(maneuver) == "At the end of the road, turn left onto High Street")
        maneuver.keepsRoad = true
        #expect(text.instruction(maneuver) == "Turn left to stay on High Street")
    }
}
