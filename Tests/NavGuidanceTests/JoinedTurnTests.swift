import NavGuidance
import NavMap
import Testing

@Suite("Turns that follow each other closely")
struct JoinedTurnTests {
    @Test("Two sharp turns to one side are both announced, not as a turn to the other side")
    func pastTheWayBack() throws {
        var town = Town(
            """
                        C




                     B



                 F
            S           A           E




                            R
            """, scale: 4)
        town.road("SAE", "High Street", roadClass: .secondary)
        town.road("AR", "Mill Lane")
        town.road("AB", "School Lane")
        town.road("CB", "Hill Lane", oneway: true)
        town.road("BF", "", oneway: true)
        #expect(try town.told("SABF") == ["Make a sharp left onto School Lane", "Turn left"])
    }

    @Test("A turn keeps its direction where the road after it bends to the other side")
    func bendAfterTurn() throws {
        var town = Town(
            """
                        N



                B           R


                        A



                        S
            """, scale: 2.5)
        town.road("SA", "Mill Lane")
        town.road("AR", "East Road")
        town.road("AB", "West Road")
        town.road("BN", "Church Lane")
        #expect(try town.told("SABN") == ["Turn left onto Church Lane"])
        #expect(try town.told("SAR") == ["Turn right onto East Road"])
    }

    @Test("A turn across a median is announced where the carriageway leads straight on")
    func acrossMedian() throws {
        var town = Town(
            """
                C       N



                    D

                    B A


                    E



                      S
            """, scale: 3)
        town.road("SAN", "Ring Road", oneway: true, roadClass: .primary)
        town.road("DBE", "Ring Road", oneway: true, roadClass: .primary)
        town.road("AB", "")
        town.road("BC", "Bridge Road")
        #expect(try town.told("SABC").first?.hasPrefix("Turn left") == true)
    }

    @Test("A forced bend after a turn to the same side makes it sharper")
    func bendToOneSide() throws {
        var town = Town(
            """
                      N

                   B  A
                  F


                      S
            """, scale: 5)
        town.road("SAN", "Mill Lane")
        town.road("AB", "School Lane")
        town.road("BF", "Hill Lane", oneway: true)
        #expect(try town.told("SABF") == ["Make a sharp left onto Hill Lane"])
    }

    @Test("A road that steps aside over a piece of another one and goes on is one turn")
    func jog() throws {
        var town = Town(
            """
                                    X







                                                      N



                             B



            S         A







                                  C
            """, scale: 2)
        town.road("SA", "High Street", oneway: true)
        town.road("AB", "", oneway: true)
        town.road("BN", "High Street", oneway: true)
        town.road("BX", "Hill Lane", oneway: true)
        town.road("AC", "Mill Lane", oneway: true)
        #expect(try town.told("SABN") == ["Keep left to stay on High Street"])
        #expect(try town.told("SABX").count == 2)
        #expect(try town.told("SAC") == ["Keep right onto Mill Lane"])
    }
}
