import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavTestSupport
import Testing

@Suite("Following a vehicle along roads")
struct FollowingTests {
    static let cross = """
              E
              |
        A-----B-----C
              |
              D
        """

    private func cross() throws -> DrawnMap {
        try DrawnMap(FollowingTests.cross, scale: 40, roads: ["ABC", "EBD"])
    }

    @Test("a straight road is followed throughout")
    func straight() throws {
        let map = try cross()
        let drive = MatchedDrive(map, map.drive("ABC", noise: 3, seed: 7), includesPartialEnds: true)
        #expect(drive.visited == ["AB", "BC"])
        #expect(drive.path == ["AB", "BC"])
        #expect(drive.positions.allSatisfy { $0.state == .onRoad && !$0.isTeleport })
    }

    @Test("a vehicle driving against a one-way road is not matched to the parallel carriageway")
    func againstOneWay() throws {
        let map = try DrawnMap(
            """
            A--------------------B
            D--------------------E
            """, scale: 34, roads: [">AB", ">ED", "AD", "BE"])
        var matcher = StreamingMatcher(metric: map.metric)
        var against: [MatchedPosition] = []
        for second in 0..<50 {
            let turned = second >= 25
            let east = turned ? 500 - Double(second) * 10 : Double(second) * 10
            var fix = map.fix(
                Double(second), map.coordinate("A", east: east + 40), speed: 10, course: turned ? 1.5 * .pi : 0.5 * .pi)
            fix.horizontalSigma = 5
            let position = matcher.match(fix)
            #expect(position.road.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) == "AB" } ?? turned)
            if second >= 32 { against.append(position) }
        }
        #expect(against.allSatisfy { $0.road?.isAgainst == true && $0.confidence > 0.8 && $0.confidence < 1 })
        #expect(against.allSatisfy { abs(($0.road?.bearing ?? 0) - 1.5 * .pi) < 0.1 })
    }

    @Test("a turn is followed", arguments: [true, false])
    func turn(senses: Bool) throws {
        let map = try cross()
        let drive = MatchedDrive(map, map.drive("ABD", noise: 2, seed: 3, senses: senses), includesPartialEnds: true)
        #expect(drive.visited.first == "AB")
        #expect(drive.visited.last == "BD")
        #expect(drive.path == ["AB", "BD"])
    }

    @Test("fixes five seconds apart, without speed or course, are connected by road")
    func sparse() throws {
        let map = try DrawnMap(
            """
            A---B---C
                |   |
                D---E---F
            """, scale: 12, roads: ["ABC", "BD", "CE", "DEF"])
        let drive = MatchedDrive(
            map, map.drive("ABDEF", speed: 9, every: 5, noise: 3, senses: false), includesPartialEnds: true)
        #expect(drive.path == ["AB", "BD", "DE", "EF"])
    }

    @Test("the direction on a two-way road is determined as soon as the vehicle moves")
    func direction() throws {
        let map = try cross()
        let drive = MatchedDrive(map, map.drive("CBA", senses: false), includesPartialEnds: true)
        #expect(drive.positions[0].confidence < 0.6)
        let later = try #require(drive.positions[2].road)
        #expect(DrawnMap.name(later.fromNodeID, later.toNodeID) == "CB")
        #expect(drive.positions[2].confidence > 0.9)
    }

    @Test("a drive from a dead end is matched equally whether its road crosses a tile border or not")
    func deadEndAcrossTiles() throws {
        // Without the first two, in which the vehicle is stationary and has no direction.
        func roads(_ placement: ASCIIMap.Placement) throws -> ArraySlice<[Double]> {
            let map = try ASCIIMap(
                "A------B------C", placement: placement,
                ways: ["AB": ["highway": "residential"], "BC": ["highway": "residential"]])
            var matcher = StreamingMatcher(metric: Metric(map.turns, model: CostModel()))
            return try (0..<12).map { second in
                let metres = Double(second * second) / 2
                let fix = Fix(
                    stamp: Timestamp(nanoseconds: 1_700_000_000_000_000_000).advanced(bySeconds: Double(second)),
                    coordinate: try map.coordinate("A", east: metres - 2, north: 1), horizontalSigma: 4,
                    speed: Double(second), course: second == 0 ? nil : .pi / 2)
                let position = matcher.match(fix)
                let road = try #require(position.road)
                return [road.offset, road.bearing, position.confidence]
            }.suffix(10)
        }
        let inside = try roads(.insideTiles)
        #expect(inside.allSatisfy { abs($0[1] - .pi / 2) < 0.1 })
        // Coordinates are multiples of about a centimetre, and differ between the two places.
        for (across, inside) in zip(try roads(.localTileCorner), inside) {
            #expect(zip(across, inside).allSatisfy { abs($0 - $1) < 0.05 }, "\(across) differs from \(inside)")
        }
    }

    @Test("a course determines the direction on a two-way road at the first fix")
    func courseAtFirstFix() throws {
        let map = try cross()
        let first = try #require(map.drive("CBA").first)
        let drive = MatchedDrive(map, [first])
        #expect(drive.visited == ["CB"])
        #expect(drive.positions[0].confidence > 0.9)
    }

    @Test("a one-way street is not matched against its direction")
    func oneWay() throws {
        let map = try DrawnMap(
            """
            A---------B
            C---------D
            """, scale: 12, roads: [">BA", ">CD"])
        // Two carriageways 24 m apart; the fixes lie between them, nearer to that of the opposite direction.
        let drive = MatchedDrive(map, map.drive("CD", noise: 0, sideways: -14), includesPartialEnds: true)
        #expect(drive.visited == ["CD"])
    }

    @Test("single fixes nearer to a parallel road do not change the match")
    func parallel() throws {
        let map = try DrawnMap(
            """
            A--------------------B
            C--------------------D
            """, scale: 10, roads: ["AB", "CD"])
        var fixes = map.drive("AB", noise: 2, seed: 11)
        for index in [6, 7, 12] {
            fixes[index].coordinate = Geodesy.destination(from: fixes[index].coordinate, bearing: .pi, distance: 13)
        }
        #expect(MatchedDrive(map, fixes).visited == ["AB"])
    }

    @Test("the uncertainty across a road has the distance that the receiver's error does not explain")
    func besideTheRoad() throws {
        let map = try DrawnMap("A--------------------B", scale: 20, roads: ["AB"])
        func sigmas(sideways: Double) -> [Double] {
            let fixes = map.drive("AB", sideways: sideways).map { fix in
                var fix = fix
                fix.horizontalSigma = 10
                return fix
            }
            // The first fixes leave open whether the vehicle is on the road.
            return MatchedDrive(map, fixes).positions.suffix(20).compactMap { $0.road?.crossSigma }
        }
        // Up to three standard deviations are an error, here 30 m.
        let (near, far) = (sigmas(sideways: 25), sigmas(sideways: 38))
        #expect(near.count == 20 && near.allSatisfy { $0 < 3 })
        #expect(far.count == 20 && far.allSatisfy { $0 > 7.9 && $0 < 10 })
    }

    @Test("a roundabout is followed to its exit")
    func roundabout() throws {
        let map = try DrawnMap(
            """
                  N
                  |
                  P
            W---Q   R---E
                  S
                  |
                  T
            """, scale: 12, roads: [">PQSRP", "NP", "WQ", "TS", "ER"])
        let drive = MatchedDrive(map, map.drive("WQSRE", speed: 7, noise: 1.5, seed: 5), includesPartialEnds: true)
        #expect(drive.path == ["WQ", "QS", "SR", "RE"])
    }

    @Test("a forbidden turn is not matched while a permitted path explains the fixes")
    func restriction() throws {
        let map = try DrawnMap(
            """
            A-----B-----C
                  |     |
                  D-----E
            """, scale: 20, roads: ["AB", "BC", "BD", "CE", "DE"], prohibited: ["ABD"])
        let drive = MatchedDrive(map, map.drive("ABCED", noise: 2, seed: 2), includesPartialEnds: true)
        #expect(drive.path == ["AB", "BC", "CE", "ED"])
    }

    @Test("a U-turn is followed")
    func uTurn() throws {
        let map = try DrawnMap("A--------------------B", scale: 20, roads: ["AB"])
        let there = map.drive("AB", speed: 10, senses: false).prefix(20)
        let back = map.drive("BA", speed: 10, from: 20, senses: false).suffix(18)
        let drive = MatchedDrive(
            map,
            there
                + back.enumerated().map { index, fix in
                    var fix = fix
                    fix.stamp = there[0].stamp.advanced(bySeconds: Double(20 + index))
                    return fix
                })
        #expect(drive.visited == ["AB", "BA"])
        #expect(try #require(drive.positions.last).confidence > 0.9)
        #expect(drive.positions.allSatisfy { !$0.isTeleport })
    }

    @Test("matching is deterministic")
    func determinism() throws {
        let map = try cross()
        let fixes = map.drive("ABDBC", noise: 4, seed: 21)
        let first = MatchedDrive(map, fixes)
        let second = MatchedDrive(map, fixes)
        #expect(first.positions == second.positions)
        #expect(first.path == second.path)
    }
}
