import NavGuidance
import NavMap
import Testing

@Suite("Choices at junctions")
struct JunctionChoiceTests {
    @Test("Bending off a straight continuation is announced, even on the road of higher class")
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
}
