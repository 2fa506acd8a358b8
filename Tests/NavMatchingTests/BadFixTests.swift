import NavGeo
import NavMap
import NavMatching
import NavSimulation
import Testing

@Suite("Fixes that are wrong, missing or far from roads")
struct BadFixTests {
    private func road() throws -> DrawnMap {
        try DrawnMap(
            """
            A--------------------B--------------------C
                                 |
                                 D
            """, scale: 25, roads: ["ABC", "BD"])
    }

    @Test(
        "a fix without a usable position gives no match and changes no state",
        arguments: [
            Coordinate(latitude: .nan, longitude: 9), Coordinate(latitude: 47, longitude: .infinity),
            Coordinate(latitude: 91, longitude: 9), Coordinate(latitude: 47, longitude: -181),
        ])
    func unusable(coordinate: Coordinate) throws {
        let map = try road()
        var fixes = map.drive("AB", noise: 2)
        let expected = MatchedDrive(map, fixes)
        fixes.insert(map.fix(4.5, coordinate), at: 5)
        var drive = MatchedDrive(map, fixes)
        #expect(drive.positions[5].state == .unusable)
        #expect(drive.positions[5].road == nil)
        drive.positions.remove(at: 5)
        #expect(drive.positions == expected.positions)
    }

    @Test("fix types compare by position quality, and an unstated type meets no minimum")
    func types() {
        let ascending: [FixType] = [.fix2D, .fix3D, .differential, .rtkFloat, .rtkFixed]
        for (low, high) in zip(ascending, ascending.dropFirst()) {
            #expect(high.isAtLeast(low) && !low.isAtLeast(high) && low.isAtLeast(low))
        }
        for type in FixType.allCases {
            #expect(type.isAtLeast(.unknown))
            #expect(!FixType.unknown.isAtLeast(type) || type == .unknown || type == .noFix)
        }
        #expect(FixType.simulated.isAtLeast(.rtkFixed) && !FixType.deadReckoning.isAtLeast(.fix3D))
    }

    @Test("out-of-range values in other fields are treated as unknown")
    func oddFields() throws {
        let map = try road()
        let odd: [Double] = [.nan, .infinity, -.infinity, -1, 1e300, .leastNonzeroMagnitude]
        let fixes = map.drive("ABC").enumerated().map { index, fix in
            var fix = fix
            let value = odd[index % odd.count]
            fix.speed = value
            fix.course = value
            fix.hdop = value
            fix.horizontalSigma = value
            return fix
        }
        #expect(MatchedDrive(map, fixes).visited == ["AB", "BC"])
    }

    @Test("extreme timestamps do not trap")
    func extremeStamps() throws {
        let map = try road()
        var matcher = StreamingMatcher(metric: map.metric)
        for nanoseconds in [Int64.min, .max, 0, .min, .max, .max] {
            _ = matcher.match(Fix(stamp: Timestamp(nanoseconds: nanoseconds), coordinate: map.coordinate("A")))
        }
    }

    /// Returns two roads 175 m apart, which are 1,175 m apart by road.
    private func longWayRound() throws -> DrawnMap {
        try DrawnMap(
            """
            A--------------------B
                                 |
                                 |
                                 |
                                 |
                                 |
                                 |
            D--------------------C
            """, scale: 25, roads: ["AB", "BC", "CD"])
    }

    @Test("a fix a minute after the previous one is not an outlier, even if the way by road is long")
    func rareFixes() throws {
        let map = try longWayRound()
        let drive = MatchedDrive(
            map,
            [
                map.fix(0, map.coordinate("A", east: 20), speed: 2, course: .pi / 2),
                map.fix(60, map.coordinate("D", east: 20), speed: 9, course: 1.5 * .pi),
                map.fix(120, map.coordinate("A", east: 20), speed: 9, course: 1.5 * .pi),
            ])
        for position in drive.positions {
            #expect((position.road?.distance ?? .infinity) < 30, "\(position.stamp)")
        }
    }

    @Test("a frozen fix does not reset the gap after which every fix is accepted", arguments: [5, 24, 26, 60])
    func frozenFixInAGap(gap: Double) throws {
        let map = try longWayRound()
        let start = map.coordinate("A", east: 20)
        let drive = MatchedDrive(
            map,
            [
                map.fix(0, start, speed: 2, course: .pi / 2),
                map.fix(gap - 2, start, speed: 9, course: 1.5 * .pi),
                map.fix(gap, map.coordinate("D", east: 20), speed: 9, course: 1.5 * .pi),
            ])
        #expect(drive.positions.map(\.isHeld) == [false, true, gap <= MatcherConfig().maximumHoldGap])
    }

    @Test("a fix older than its predecessor changes no state")
    func late() throws {
        let map = try road()
        var fixes = map.drive("AB", noise: 2)
        let expected = MatchedDrive(map, fixes)
        var old = fixes[3]
        old.coordinate = map.coordinate("D")
        fixes.insert(old, at: 8)
        var drive = MatchedDrive(map, fixes)
        #expect(drive.positions[8].state == .unusable)
        drive.positions.remove(at: 8)
        #expect(drive.positions == expected.positions)
    }

    @Test("a stationary vehicle keeps position, direction and confidence", arguments: [0.1, 1])
    func stationary(interval: Double) throws {
        let map = try road()
        let drive = map.drive("AB", noise: 1).prefix(20)
        let stop = try #require(drive.last)
        var random = SeededRandom(seed: 5)
        let fixes =
            drive
            + (1...200).map { index in
                let place = Geodesy.destination(from: stop.coordinate, bearing: 1, distance: 3 * random.gaussian())
                return map.fix(19 + Double(index) * interval, place, speed: 0.1)
            }
        let answers = MatchedDrive(map, fixes).positions
        let before = try #require(answers[19].road)
        for answer in answers[20...] {
            let road = try #require(answer.road)
            #expect(road.edge == before.edge)
            #expect(road.coordinate == before.coordinate)
            #expect(answer.confidence == answers[19].confidence)
        }
    }

    @Test("a stationary vehicle without reported speed does not reverse direction")
    func stationaryWithoutSpeed() throws {
        let map = try road()
        let drive = map.drive("AB", noise: 1, senses: false).prefix(20)
        let stop = try #require(drive.last)
        var random = SeededRandom(seed: 9)
        let fixes =
            drive
            + (1...300).map { index in
                map.fix(
                    19 + Double(index),
                    Geodesy.destination(from: stop.coordinate, bearing: 1, distance: 3 * random.gaussian()))
            }
        #expect(MatchedDrive(map, fixes).visited == ["AB"])
    }

    @Test("a single outlier is held back, and matching continues")
    func singleJump() throws {
        let map = try road()
        var fixes = map.drive("ABC", noise: 1)
        fixes[10].coordinate = map.coordinate("C", north: 3_000)
        // Because of its noise the last fix may lie beyond the end of the road.
        let drive = MatchedDrive(map, fixes, includesPartialEnds: true)
        #expect(drive.positions[10].isHeld)
        #expect(drive.positions.allSatisfy { !$0.isTeleport })
        #expect(drive.visited == ["AB", "BC"])
        #expect(drive.path == ["AB", "BC"])
    }

    @Test("a stationary vehicle keeps its place during a reflection, unless that lasts or follows a gap")
    func movedWhileStationary() throws {
        // Two disconnected roads, 100 m apart.
        let map = try DrawnMap(
            """
            A----------B

            C----------D
            """, scale: 25, roads: ["AB", "CD"])
        let (before, after) = (map.coordinate("A", east: 60, north: -2), map.coordinate("C", east: 60, north: 2))
        func road(_ position: MatchedPosition?) -> String { position?.segmentName ?? "none" }
        func stand(_ seconds: Range<Int>, at place: Coordinate) -> [Fix] {
            seconds.map { map.fix(Double($0), place, speed: 0) }
        }
        let first = stand(0..<300, at: before)
        let there = road(MatchedDrive(map, first).positions.last)
        #expect(["AB", "BA"].contains(there))
        // A reflection that lasts for 50 s.
        let reflected = first + stand(300..<350, at: after) + stand(350..<500, at: before)
        #expect(MatchedDrive(map, reflected).positions.dropFirst(100).allSatisfy { road($0) == there })
        // A longer reflection relocates the vehicle, once.
        let moved = MatchedDrive(map, first + stand(300..<500, at: after))
        #expect(moved.positions[300..<358].allSatisfy { road($0) == there })
        #expect(moved.positions[365...].allSatisfy { ["CD", "DC"].contains(road($0)) && !$0.isHeld })
        #expect(moved.positions.count(where: \.isTeleport) == 1)
        // After a gap the previous place is not kept.
        let towed = MatchedDrive(map, first + stand(3_000..<3_010, at: after))
        #expect(["CD", "DC"].contains(road(towed.positions.last)))
    }

    @Test("a lasting jump is flagged once and matched at its new position")
    func teleport() throws {
        let map = try road()
        let start = map.drive("AB").prefix(8)
        let rest = map.drive("BC", from: 8).suffix(20)
        let drive = MatchedDrive(
            map,
            start
                + rest.enumerated().map { index, fix in
                    var fix = fix
                    fix.stamp = start[0].stamp.advanced(bySeconds: Double(8 + index))
                    return fix
                })
        #expect(drive.positions.filter(\.isTeleport).count == 1)
        #expect(drive.positions[9].isTeleport)
        #expect(drive.visited == ["AB", "BC"])
    }

    @Test("a gap in the fixes is bridged along roads")
    func outage() throws {
        let map = try road()
        let fixes = map.drive("ABD", noise: 1)
        let answers = MatchedDrive(map, Array(fixes[..<15] + fixes[44...]))
        #expect(answers.positions.count == fixes.count - 29)
        #expect(answers.positions.allSatisfy { $0.state == .onRoad && !$0.isTeleport })
        #expect(answers.path == ["AB", "BD"])
    }

    @Test("a position that repeats while the vehicle moves is held")
    func frozen() throws {
        let map = try road()
        var fixes = map.drive("ABC", noise: 1)
        for index in 20..<40 { fixes[index].coordinate = fixes[19].coordinate }
        let drive = MatchedDrive(map, fixes, includesPartialEnds: true)
        #expect(drive.positions[30].isHeld)
        #expect(drive.positions.allSatisfy { !$0.isTeleport })
        #expect(drive.path == ["AB", "BC"])
    }

    @Test("the off-road probability rises away from roads and falls again on return")
    func offRoad() throws {
        let map = try road()
        let start = map.drive("AB", noise: 1).prefix(20)
        let left = try #require(start.last).coordinate
        let away = (1...20).map { index in
            map.fix(
                19 + Double(index),
                Geodesy.destination(from: left, bearing: 0, distance: Double(min(index, 21 - index)) * 10), speed: 10)
        }
        let rest = map.drive("AB").dropFirst(20).enumerated().map { index, fix in
            var fix = fix
            fix.stamp = start[0].stamp.advanced(bySeconds: Double(40 + index))
            return fix
        }
        let answers = MatchedDrive(map, Array(start) + away + rest).positions
        #expect(answers[19].offRoadProbability < 0.01)
        #expect(answers[29].offRoadProbability > 0.9)
        #expect(answers[29].state == .offRoad || answers[29].state == .noCandidates)
        #expect(answers[29].road == nil)
        let last = try #require(answers.last)
        #expect(last.state == .onRoad)
        #expect(last.offRoadProbability < 0.01)
    }

    @Test("a fix without roads nearby has no candidates")
    func wilderness() throws {
        let map = try road()
        let drive = MatchedDrive(map, [map.fix(0, map.coordinate("A", north: 5_000))])
        #expect(drive.positions[0].state == .noCandidates)
        #expect(drive.positions[0].offRoadProbability == 1)
        #expect(drive.path.isEmpty)
    }
}
