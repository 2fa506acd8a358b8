import NavGuidance
import NavMessages
import NavNavigator
import NavWire
import Testing

/// The limits for texts in answers of the policy node.
struct TextLimitTests {
    @Test func longReasonIsRejected() throws {
        func answer(_ size: Int) -> NavMessages.PolicyAnswer {
            NavMessages.PolicyAnswer(verdict: .no, reason: String(repeating: "x", count: size))
        }
        #expect(try NavNavigator.PolicyAnswer(answer(1_024)).reason.utf8.count == 1_024)
        #expect(throws: RouteFailure.self) { try NavNavigator.PolicyAnswer(answer(1_025)) }
    }

    @Test func longInstructionIsRejected() throws {
        func answer(_ size: Int) -> ReviseInstructionAnswer {
            let text = String(repeating: "x", count: size)
            return ReviseInstructionAnswer(instruction: .spoken(NavMessages.SpokenInstruction(text: text)))
        }
        _ = try NavNavigator.PolicyAnswer(answer(32_000))
        #expect(throws: RouteFailure.self) { try NavNavigator.PolicyAnswer(answer(40_000)) }
    }

    @Test func emptyTextChangesNothing() throws {
        let spoken = NavMessages.SpokenInstruction(text: "", ssml: "", language: "")
        let answer = try NavNavigator.PolicyAnswer(ReviseInstructionAnswer(instruction: .spoken(spoken)))
        #expect(answer.content == .instruction(RevisedInstruction(.spoken(text: nil, ssml: nil))))
    }

    @Test func componentsWithoutTextAreLeftOut() throws {
        let named = InstructionComponent(kind: .text, text: "Main Street")
        let visual = NavMessages.VisualInstruction(
            primary: InstructionText(text: "", components: [InstructionComponent(), named]),
            secondary: InstructionText(components: [InstructionComponent()]))
        let answer = try NavNavigator.PolicyAnswer(ReviseInstructionAnswer(instruction: .visual(visual)))
        let line = RevisedInstruction.Line(text: "Main Street", components: [.text("Main Street")])
        #expect(
            answer.content
                == .instruction(RevisedInstruction(.visual(primary: line, secondary: nil, sub: nil, lanes: []))))
    }

    @Test func instructionOfTheOtherKindIsRejected() {
        let question = ReviseInstructionRequest(instruction: .visual(NavMessages.VisualInstruction()))
        let answer = ReviseInstructionAnswer(instruction: .spoken(NavMessages.SpokenInstruction(text: "Stop")))
        #expect(throws: RouteFailure.self) { try NavNavigator.PolicyAnswer(answer, to: question) }
    }
}
