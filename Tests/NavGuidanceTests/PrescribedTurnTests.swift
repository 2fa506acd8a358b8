import NavGuidance
import NavMap
import Testing

@Suite("Turns that the map prescribes")
struct PrescribedTurnTests {
    private func crossing() -> Town {
        var town = Town(
            """
                 N

            L    A    R

                 S
            """)
        town.road("LAR", "High Street")
        town.road("SA", "Mill Lane")
        town.road("AN", "Church Lane")
        return town
    }

    private func endOfRoad() -> Town {
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
        return town
    }

    @Test("A prescribed type and direction replace the derived ones, on their path only")
    func replaced() throws {
        var town = crossing()
        town.prescribed = [("SAL", PrescribedManeuver(.turn, .slightLeft))]
        #expect(try town.told("SAL") == ["Turn slightly left onto High Street"])
        #expect(try town.told("SAR") == ["Turn right onto High Street"])
        #expect(try town.told("NAL") == ["Turn right onto High Street"])
        town.prescribed = [("SAL", PrescribedManeuver(nil, .sharpLeft))]
        #expect(try town.told("SAL") == ["Make a sharp left onto High Street"])
        town.prescribed = [("SAL", PrescribedManeuver(.fork, nil))]
        #expect(try town.maneuvers("SAL")[1].type == .fork)
        #expect(try town.maneuvers("SAL")[1].modifier == .left)
    }

    @Test("A suppressed maneuver is not announced; a prescribed one is, even straight on")
    func suppressed() throws {
        var town = crossing()
        town.prescribed = [("SAL", PrescribedManeuver(.suppressed, nil))]
        #expect(try town.told("SAL") == [])
        #expect(try town.told("SAN") == [])
        town.prescribed = [("SAN", PrescribedManeuver(.continue, .straight))]
        #expect(try town.told("SAN") == ["Continue straight on Church Lane"])
        town.prescribed = [("SAN", PrescribedManeuver(.newName, nil))]
        #expect(try town.maneuvers("SAN").map(\.type) == [.depart, .newName, .arrive])
    }

    @Test("A prescription for a path over several roads applies only to routes along the whole path")
    func severalRoads() throws {
        var town = endOfRoad()
        town.prescribed = [("SPAL", PrescribedManeuver(.turn, .slightLeft, place: 2))]
        #expect(try town.told("SPAL") == ["Turn slightly left onto High Street"])
        #expect(try town.told("QPAL").allSatisfy { !$0.contains("slightly") })
        #expect(try town.told("SPAR") == ["At the end of the road, turn right onto High Street"])
    }

    @Test("A turn at named crossroads includes their name")
    func namedCrossroads() throws {
        var town = crossing()
        town.nodeFlags["A"] = .trafficSignals
        town.junctionNames["A"] = "Shijō Karasuma"
        #expect(try town.told("SAL") == ["At Shijō Karasuma, turn left onto High Street"])
        #expect(try town.told("SAN") == [])
        let german = InstructionText(phrases: try #require(PhraseTable.named("de")))
        #expect(
            german.instruction(try town.maneuvers("SAL")[1])
                == "An der Kreuzung Shijō Karasuma links auf High Street abbiegen")
        // The name identifies the place better than the end of the road does.
        var end = endOfRoad()
        end.junctionNames["A"] = "Shijō Karasuma"
        #expect(try end.told("SPAL") == ["At Shijō Karasuma, turn left onto High Street"])
    }
}
