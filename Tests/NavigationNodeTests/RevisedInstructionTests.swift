import NavGuidance
import NavMessages
import NavNavigator
import NavWire
import Testing

/// The fields that an answer to ReviseInstruction replaces.
struct RevisedInstructionTests {
    private func content(_ visual: NavMessages.VisualInstruction) throws -> NavNavigator.PolicyAnswer.Content? {
        try NavNavigator.PolicyAnswer(ReviseInstructionAnswer(instruction: .visual(visual))).content
    }

    @Test func everyFieldOfALineAndALaneIsKept() throws {
        let line = InstructionText(
            text: "Main Street / E 12, exit 7",
            components: [
                InstructionComponent(
                    kind: .text, text: "Main Street", abbreviation: "Main", abbreviationPriority: 1),
                InstructionComponent(kind: .delimiter, text: "/"),
                InstructionComponent(kind: .shield, text: "E 12", abbreviation: "12", abbreviationPriority: 0),
                InstructionComponent(kind: .exit, text: "exit"),
                InstructionComponent(kind: .exitNumber, text: "7", abbreviation: "no. 7"),
            ])
        #expect(InstructionText(try #require(RevisedInstruction.Line(line))) == line)

        let maneuver = NavMessages.Maneuver(type: .roundabout, modifier: .slightRight, roundaboutExit: 2)
        #expect(NavMessages.Maneuver(try #require(RevisedInstruction.SubManeuver(maneuver))) == maneuver)

        let lanes = [
            NavMessages.Lane(
                indications: [.left, .straight], valid: true, active: false, validIndication: .straight,
                possible: true),
            NavMessages.Lane(indications: [.right], valid: false, active: false, closed: true, possible: false),
        ]
        #expect(lanes.map { NavMessages.Lane(NavGuidance.Lane($0)) } == lanes)
    }

    @Test func lineWithoutAbbreviationsUsesTheDefaultOnes() throws {
        let plain = InstructionText(text: "Main Street", components: [InstructionComponent(text: "Main Street")])
        let line = try #require(RevisedInstruction.Line(plain))
        #expect(line.abbreviations == nil)
    }

    @Test func maneuverWithoutTypeModifierAndExitIsOmitted() throws {
        let visual = NavMessages.VisualInstruction(
            sub: InstructionText(text: "Then"),
            subManeuver: Maneuver(type: .unspecified, latitude: 1, roundaboutExit: 0))
        let then = RevisedInstruction.Line(text: "Then", components: [.text("Then")])
        #expect(
            try content(visual)
                == .instruction(RevisedInstruction(.visual(primary: nil, secondary: nil, sub: then, lanes: []))))
    }
}
