import NavGuidance
import NavMap
import Testing

@Suite("Names that would be told twice in a row")
struct RepeatedNameTests {
    @Test("A short arm of a ramp is not told by the street that the driver turns onto behind it", arguments: [4.0, 15.0])
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
}
