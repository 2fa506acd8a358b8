import NavGuidance
import NavMessages
import NavWire
import Testing

/// Conversion of lanes between messages and the core.
struct LaneConversionTests {
    @Test func possibleValidAndPreferredLanesAreDistinguished() {
        var preferred = NavGuidance.Lane(indications: [.straight, .right], isValid: true, active: .right)
        let possible = NavGuidance.Lane(indications: [.right], active: .right, isPossible: true)
        var valid = preferred
        valid.isRecommended = false
        let sent = [preferred, valid, possible].map { NavMessages.Lane($0) }
        #expect(sent.map(\.possible) == [true, true, true] && sent.map(\.valid) == [true, true, false])
        #expect(sent.map(\.active) == [true, false, false])
        #expect(sent.map(\.validIndication) == [.right, .right, .right])
        #expect(sent.map { NavGuidance.Lane($0) } == [preferred, valid, possible])

        preferred.isPossible = true
        let former = NavMessages.Lane(
            indications: [.straight, .right], valid: true, active: true, validIndication: .right)
        #expect(NavGuidance.Lane(former) == preferred, "without the field, the valid indication counts")
    }

    @Test func closedLaneIsNeitherPossibleNorPreferred() {
        let sent = NavMessages.Lane(NavGuidance.Lane(indications: [.straight], isClosed: true))
        #expect(sent.closed == true && sent.possible == false && sent.valid == false && sent.active == false)
        #expect(sent.validIndication == nil)
    }
}
