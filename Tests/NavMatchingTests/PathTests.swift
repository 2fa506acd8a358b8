import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavSimulation
import Testing

@Suite("The driven path and map changes during a drive")
struct PathTests {
    private func grid() throws -> DrawnMap {
        try DrawnMap(
            """
            A---B---C---D
            |   |   |   |
            E---F---G---H
            |   |   |   |
            I---J---K---L
            """, scale: 20, roads: ["ABCD", "EFGH", "IJKL", "AEI", "BFJ", "CGK", "DHL"])
    }

    @Test("a self-crossing loop is emitted in driving order, each traversal once")
    func loop() throws {
        let map = try grid()
        let drive = MatchedDrive(map, map.drive("EFGHDCGKL", noise: 2, seed: 8), includesPartialEnds: true)
        #expect(drive.path == ["EF", "FG", "GH", "HD", "DC", "CG", "GK", "KL"])
    }

    @Test("partially driven end segments are included if requested")
    func partialEnds() throws {
        let map = try grid()
        let fixes = Array(map.drive("ABCD", speed: 10).dropFirst(3).dropLast(3))
        #expect(MatchedDrive(map, fixes).path == ["BC"])
        #expect(MatchedDrive(map, fixes, includesPartialEnds: true).path == ["AB", "BC", "CD"])
    }

    @Test("a short lag gives the same path on a clear drive")
    func lag() throws {
        let map = try grid()
        let fixes = map.drive("EFGHDCGKL", noise: 1, seed: 8)
        #expect(MatchedDrive(map, fixes, lag: 2).path == MatchedDrive(map, fixes).path)
    }

    @Test("the path is emitted during the drive, not only at the end")
    func online() throws {
        let map = try grid()
        var matcher = StreamingMatcher(metric: map.metric, recordsPath: true)
        var tracker = PathTracker()
        var early: [DrivenSegment] = []
        for fix in map.drive("ABCDHLKJI", noise: 1) {
            _ = matcher.match(fix)
            if let step = matcher.step { early += tracker.append(step) }
        }
        #expect(early.count >= 6)
    }

    @Test("tiles that arrive during a drive do not change the belief", arguments: ["drawn", "another"])
    func adoption(version: String) throws {
        let roads = ["ABCD", "EFGH"]
        let drawing = """
            A---B---C---D
            E---F---G---H
            """
        let small = try DrawnMap(drawing, scale: 20, roads: roads, mapVersion: "other", skipping: ["E"])
        let large = try DrawnMap(drawing, scale: 20, roads: roads, mapVersion: version)
        let fixes = small.drive("ABCD", noise: 1)
        var matcher = StreamingMatcher(metric: small.metric)
        var before = matcher.match(fixes[0])
        for fix in fixes[1..<10] { before = matcher.match(fix) }
        matcher.adopt(large.metric)
        let after = matcher.match(fixes[10])
        #expect(matcher.turns === large.metric.turns)
        #expect(before.road?.wayID == 100)
        #expect(after.road?.wayID == 100)
        #expect(after.confidence > 0.9)
        #expect(!after.isTeleport)
    }

    @Test("a map version with other nodes on the road does not move the vehicle")
    func division() throws {
        let drawing = """
            A---B---C---D
                    E
            """
        let whole = try DrawnMap(drawing, scale: 20, roads: ["ABCD"])
        let divided = try DrawnMap(drawing, scale: 20, roads: ["ABCD", "CE"], mapVersion: "next")
        func fix(_ second: Int) -> Fix {
            whole.fix(Double(second), whole.coordinate("A", east: 10 * Double(second)), speed: 10, course: .pi / 2)
        }
        var matcher = StreamingMatcher(metric: whole.metric)
        for second in 0..<19 { _ = matcher.match(fix(second)) }
        matcher.adopt(divided.metric)
        for second in 19..<23 {
            let position = matcher.match(fix(second))
            #expect(!position.isHeld && !position.isTeleport && position.confidence > 0.9)
            #expect(position.road.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) } == "CD")
            #expect(abs((position.road?.offset ?? 0) - (10 * Double(second) - 160)) < 5)
        }
    }

    @Test("a stationary vehicle is matched when roads are loaded around it", arguments: ["drawn", "another"])
    func arrivalOfRoads(version: String) throws {
        let roads = ["AB", "EF"]
        let drawing = """
            A-----B
            E-----F
            """
        let small = try DrawnMap(drawing, scale: 200, roads: roads, skipping: ["E"])
        let large = try DrawnMap(drawing, scale: 200, roads: roads, mapVersion: version)
        func fix(_ second: Double) -> Fix { small.fix(second, small.coordinate("E", east: 300), speed: 0) }
        var matcher = StreamingMatcher(metric: small.metric)
        for second in 0..<5 { #expect(matcher.match(fix(Double(second))).state != .onRoad) }
        matcher.adopt(large.metric)
        var fresh = StreamingMatcher(metric: large.metric)
        for second in 5..<10 {
            let (position, expected) = (matcher.match(fix(Double(second))), fresh.match(fix(Double(second))))
            #expect(position.state == .onRoad && position.road?.wayID == 101)
            #expect(position.confidence == expected.confidence)
            #expect(position.offRoadProbability == expected.offRoadProbability && !position.isTeleport)
        }
    }

    @Test("a reset discards all state")
    func reset() throws {
        let map = try grid()
        let fixes = map.drive("ABCD", noise: 2)
        var matcher = StreamingMatcher(metric: map.metric)
        let first = matcher.match(fixes[0])
        for fix in fixes[1...] { _ = matcher.match(fix) }
        matcher.reset()
        #expect(matcher.match(fixes[0]) == first)
    }

    @Test("any sequence of fixes and map changes gives finite results", arguments: 1...4)
    func anything(seed: UInt64) throws {
        let roads = ["ABCD", "EFGH", "IJKL", "AEI", "BFJ", "CGK", "DHL"]
        let drawing = """
            A---B---C---D
            |   |   |   |
            E---F---G---H
            |   |   |   |
            I---J---K---L
            """
        let maps = [
            try DrawnMap(drawing, scale: 20, roads: roads),
            try DrawnMap(drawing, scale: 20, roads: roads, skipping: ["F"]),
            try DrawnMap(drawing, scale: 20, roads: roads, mapVersion: "next"),
        ]
        var random = SeededRandom(seed: seed)
        var matcher = StreamingMatcher(metric: maps[0].metric, recordsPath: true)
        var tracker = PathTracker(lag: 8)
        var segments: [DrivenSegment] = []
        var seconds = 0.0
        for count in 0..<2_000 {
            if count % 97 == 96 { matcher.adopt(maps[(count / 97) % 3].metric) }
            seconds += random.gaussian() * 2 + 1.5
            let reach = abs(random.gaussian()) > 2.2 ? 3_000.0 : 60
            var fix = maps[0].fix(
                seconds, maps[0].coordinate("G", east: random.gaussian() * reach, north: random.gaussian() * reach),
                speed: random.gaussian() > 0 ? random.gaussian() * 10 : nil,
                course: random.gaussian() > 0 ? random.gaussian() * 4 : nil
            )
            fix.horizontalSigma = random.gaussian() > 0 ? random.gaussian() * 20 : nil
            let answer = matcher.match(fix)
            if let step = matcher.step { segments += tracker.append(step) }
            guard answer.state != .unusable else { continue }
            let sum = answer.candidates.reduce(answer.offRoadProbability) { $0 + $1.probability }
            #expect(abs(sum - 1) < 1e-6)
            #expect(answer.confidence.isFinite && answer.coordinate.isValid)
            #expect(answer.candidates.count <= 16)
            #expect(Set(answer.candidates.map(\.edge)).count == answer.candidates.count)
        }
        segments += tracker.finish()
        #expect(!segments.isEmpty)
    }
}
