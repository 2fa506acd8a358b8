import NavGuidance
import NavMap
import Testing

/// Places of real maps, simplified, where guidance misled.
@Suite("Places that are easily announced wrongly")
struct MisleadingPlaceTests {
    @Test("A carriageway that is drawn twice is announced neither where the drawings part nor where they join")
    func twin() throws {
        var town = Town("S   A        B    C", scale: 20)
        town.road("SA", "Ring Motorway", oneway: true, roadClass: .motorway)
        town.road("AB", "Ring Motorway", oneway: true, roadClass: .motorway, speed: 10)
        // The faster drawing is the one that is driven.
        town.road("AB", "", oneway: true, roadClass: .motorway, speed: 30)
        town.road("BC", "Ring Motorway", oneway: true, roadClass: .motorway)
        #expect(try town.told("SABC") == [])
    }

    @Test("A turn along a numbered road without a name stays on it")
    func numberedRoad() throws {
        var town = Town(
            """
                   N


            L      A


                   S
            """, scale: 20)
        town.road("SA", reference: "B 37")
        town.road("AL", reference: "B 37")
        town.road("AN", reference: "L 600")
        #expect(try town.told("SAL") == ["Turn left to stay on B 37"])
    }

    @Test("Where a nameless road ends at another one, both directions are announced, however oblique the end is")
    func obliqueEnd() throws {
        var town = Town(
            """
            L




                    A




                             R

                    S
            """, scale: 10)
        town.road("SA")
        town.road("LAR")
        #expect(try town.told("SAL") == ["Turn left"])
        #expect(try town.told("SAR").count == 1)
    }

    @Test("A main road that bends is announced where a lesser road is straighter")
    func straighterLesserRoad() throws {
        var town = Town(
            """
            B        C



















                   A




                   S
            """, scale: 10)
        town.road("SAB", roadClass: .tertiary)
        town.road("AC", roadClass: .unclassified)
        #expect(try town.told("SAB").count == 1)
    }

    @Test("A turn onto a road that has a name for a while is announced between nameless roads")
    func nameOfAWhile() throws {
        var town = Town(
            """
                           C


                       B








                A
            X

                S
            """, scale: 20)
        town.road("SA")
        town.road("AX")
        town.road("AB", "Mill Lane")
        town.road("BC")
        #expect(try town.told("SABC").first?.hasSuffix("onto Mill Lane") == true)
    }
}
