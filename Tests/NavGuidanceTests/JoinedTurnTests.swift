import NavGuidance
import NavMap
import Testing

@Suite("Turns in close succession")
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

    @Test("A turn across a median is announced where the carriageway continues straight on")
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

    @Test("A forced bend after a turn to the same side makes the turn sharper")
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

    @Test("A road interrupted by a short piece of another road is one turn")
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

    @Test("A turn onto a street with a short name section is announced, also between unnamed roads")
    func turnOntoShortName() throws {
        var town = Town(
            """
                        A







                   S    P
            """)
        town.place("N", below: "A", -80)
        town.place("E", below: "N", -100)
        town.place("W", rightOf: "N", -100)
        town.road("SA")
        town.road("PAN", "Mill Lane")
        town.road("NE")
        town.road("NW")
        #expect(try town.told("SANE") == ["Turn slightly left onto Mill Lane"])
    }

    @Test("Turning round behind a roundabout is a U-turn")
    func turnBehindRoundabout() throws {
        var town = Town(
            """
                    F G


                    K L

                    M

                     n

               W   w   e   E

                     s

                     S
            """, scale: 4)
        town.road("senws", oneway: true, flags: .roundabout)
        town.road("nLG", "North Road", oneway: true)
        town.road("FKMn", "North Road", oneway: true)
        town.road("LK")
        town.road("Ee", "East Road")
        town.road("Ss", "South Road")
        town.road("Ww", "West Road")
        #expect(
            try town.told("SsenLKM")
                == [
                    "At the roundabout, take the second exit onto North Road",
                    "Make a U-turn and continue on North Road",
                ])
    }

    @Test("A bend of several edges without an alternative is not a turn")
    func bendWithoutChoice() throws {
        var town = Town("A")
        town.road("A", "S", over: [(-160, -120)], "", roadClass: .secondary)
        town.road("A", "B", over: [(9.6, 15.1)], "", oneway: true, roadClass: .secondary)
        town.road("B", "C", over: [(15.7, 3.7)], "", oneway: true, roadClass: .secondary)
        town.road("C", "N", over: [(-54, 84)], "High Street", roadClass: .primary)
        town.road("C", "E", over: [(64, -77)], "High Street", roadClass: .primary)
        // Both roads lead only to the junction.
        town.place("Y", below: "B", -26)
        town.place("x", rightOf: "A", 14)
        town.place("X", below: "x", -5)
        town.road("YB", "", oneway: true, roadClass: .secondary)
        town.road("XA", "", oneway: true, roadClass: .secondary)
        #expect(try town.told("SABCN") == ["At the end of the road, turn left onto High Street"])
    }
}
