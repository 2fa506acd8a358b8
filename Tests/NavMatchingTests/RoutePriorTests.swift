import NavMap
import NavMatching
import Testing

@Suite("The route prior")
struct RoutePriorTests {
    /// Returns a fork with parallel branches, 16 m apart.
    private func fork() throws -> DrawnMap {
        try DrawnMap(
            """
                                C--------------------E
            A-------------------B
                                D--------------------F
            """, scale: 4, roads: ["AB", "BCE", "BDF"])
    }

    private func prior(_ map: DrawnMap, _ edges: [(Character, Character)]) -> RoutePrior {
        RoutePrior(edges: edges.compactMap { map.edge($0.0, $0.1) })
    }

    @Test("if both branches fit the fixes, the route's branch is more probable")
    func ambiguity() throws {
        let map = try fork()
        let middle = map.coordinate("B", east: 40)
        let fixes = map.drive("AB") + [map.fix(15, middle, speed: 12)]
        let upper = MatchedDrive(map, fixes, prior: prior(map, [("A", "B"), ("B", "E")]))
        let lower = MatchedDrive(map, fixes, prior: prior(map, [("A", "B"), ("B", "F")]))
        #expect(upper.positions.last?.road?.edge == map.edge("B", "E"))
        #expect(lower.positions.last?.road?.edge == map.edge("B", "F"))
    }

    @Test("a vehicle that leaves the route is matched to its actual road")
    func leaving() throws {
        let map = try fork()
        let fixes = map.drive("ABDF", noise: 2, seed: 4)
        let drive = MatchedDrive(map, fixes, prior: prior(map, [("A", "B"), ("B", "E")]))
        #expect(drive.visited.last == "DF")
        #expect(try #require(drive.positions.last).confidence > 0.95)
    }

    @Test("the prior delays the true branch by a bounded time")
    func boundedDelay() throws {
        let map = try fork()
        let fixes = map.drive("ABDF", noise: 2, seed: 4)
        let free = MatchedDrive(map, fixes).positions.firstIndex { $0.segmentName == "DF" }
        let hinted = MatchedDrive(map, fixes, prior: prior(map, [("A", "B"), ("B", "E")]))
            .positions.firstIndex { $0.segmentName == "DF" }
        #expect(try #require(hinted) - (try #require(free)) <= 2)
    }
}
