import NavGeo
import NavMap
import NavMatching
import NavRouting
import Testing

@Suite("Smoothed drives and receiver noise")
struct SmoothingTests {
    private func fork() throws -> DrawnMap {
        // Two streets that run in parallel after a fork, 40 m apart.
        try DrawnMap(
            """
            A-----B------------------C
                  |
                  D------------------E
            """, scale: 10, roads: ["ABC", "BD", "DE"])
    }

    @Test("a smoothed drive has a position for each fix and the path of the whole drive")
    func wholeDrive() throws {
        let map = try fork()
        let fixes = map.drive("ABC", noise: 3, seed: 4)
        let drive = DriveSmoother(metric: map.metric).smooth(fixes, includesPartialEnds: true)
        #expect(drive.positions.map(\.stamp) == fixes.map(\.stamp))
        #expect(drive.segments.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) } == ["AB", "BC"])
        for position in drive.positions {
            let edge = try #require(position.edge)
            #expect([map.edge("A", "B"), map.edge("B", "C")].contains(edge))
            #expect(Geodesy.distance(position.coordinate, position.raw) < 20)
        }
    }

    @Test("later fixes resolve earlier ambiguity")
    func lookAhead() throws {
        let map = try fork()
        // The first fixes after the fork are nearer to the wrong street, the following ones to the right one.
        var fixes = map.drive("ABC", every: 1)
        for index in fixes.indices where (8...11).contains(index) {
            fixes[index].coordinate = LocalFrame(origin: fixes[index].coordinate)
                .coordinate(of: LocalPoint(east: 0, north: -24))
        }
        let drive = DriveSmoother(metric: map.metric).smooth(fixes, includesPartialEnds: true)
        #expect(drive.segments.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) } == ["AB", "BC"])
        #expect(drive.positions.allSatisfy { $0.edge == map.edge("A", "B") || $0.edge == map.edge("B", "C") })
    }

    @Test("unusable fixes get no position, and an empty drive gives an empty path")
    func nothing() throws {
        let map = try fork()
        let smoother = DriveSmoother(metric: map.metric)
        #expect(smoother.smooth([]) == SmoothedDrive(positions: [], segments: []))
        let bad = map.fix(0, Coordinate(latitude: .nan, longitude: 0))
        let far = map.fix(1, Coordinate(latitude: -10, longitude: 100))
        let drive = smoother.smooth([bad, far, bad])
        #expect(drive.positions.allSatisfy { $0.edge == nil } && drive.positions.count == 3)
        #expect(drive.segments.isEmpty)
    }

    @Test("a path without lag is emitted with the position and never revised")
    func noLag() throws {
        let map = try fork()
        let fixes = map.drive("ABDE", noise: 2, seed: 3)
        var matcher = StreamingMatcher(metric: map.metric, recordsPath: true)
        var tracker = PathTracker(lag: 0, includesPartialEnds: true)
        var path: [DrivenSegment] = []
        for fix in fixes {
            let position = matcher.match(fix)
            guard let step = matcher.step else { continue }
            path += tracker.append(step)
            // The path before the current road is complete.
            if position.segmentName == "DE" { #expect(path.count == 2) }
        }
        #expect((path + tracker.finish()).map { DrawnMap.name($0.fromNodeID, $0.toNodeID) } == ["AB", "BD", "DE"])
    }

    @Test(
        "the noise of a receiver that states no accuracy is estimated",
        arguments: [(1.0, 0.8...4), (16.0, 10.0...20.0)])
    func noise(sigma: Double, expected: ClosedRange<Double>) throws {
        let map = try DrawnMap("A-----------------------------------B", scale: 60, roads: ["AB"])
        var matcher = StreamingMatcher(metric: map.metric)
        for var fix in map.drive("AB", noise: sigma, seed: 9) {
            fix.horizontalSigma = nil
            _ = matcher.match(fix)
        }
        #expect(expected.contains(matcher.usualSigma), "\(matcher.usualSigma)")
        matcher.reset()
        #expect(matcher.usualSigma == MatcherConfig().defaultSigma)
    }

    @Test("a persistent error does not become certainty")
    func correlatedError() throws {
        let map = try DrawnMap(
            """
            A-----------------------------------B
            C-----------------------------------D
            |
            E
            """, scale: 20, roads: ["AB", "CD", "CE", "AC"])
        // On AB, with a reflection for four seconds more than halfway to the parallel street 40 m away.
        var fixes = map.drive("AB", speed: 10, noise: 1)
        for index in fixes.indices where (20...23).contains(index) {
            fixes[index].coordinate = LocalFrame(origin: fixes[index].coordinate)
                .coordinate(of: LocalPoint(east: 0, north: -22))
        }
        let drive = MatchedDrive(map, fixes, includesPartialEnds: true)
        #expect(drive.positions.dropFirst(3).allSatisfy { $0.segmentName == "AB" })
        #expect(drive.path == ["AB"])
    }
}
