import Foundation
import NavMap
import NavRouting
import NavTestSupport
import Testing

@Suite("All kinds of queries cost the same as with Dijkstra's search")
struct OracleTests {
    /// Use the same arguments with the number in the message to reproduce a failure.
    @Test(
        "on random towns with vehicles, hours, traffic, bearings, kerbs, waypoints and missing tiles",
        arguments: 1...24 as ClosedRange<UInt64>)
    func towns(seed: UInt64) throws {
        let map = try RandomMap(seed: seed &+ 400, size: 7, gridMetres: 150, hasRules: true)
        var queries = RandomQueries(map.tiles, mapVersion: map.graph.mapVersion, seed: seed)
        for setting in queries.settings() { queries.ask(12, goals: 6, setting) }
        #expect(
            queries.faults.isEmpty,
            "RandomMap(seed: \(seed &+ 400), size: 7, gridMetres: 150, hasRules: true): \(queries.faults.prefix(3))")
        #expect(queries.compared > 40)
    }

    /// The number of queries per extract from `NAVBUS_ORACLE_QUERIES`; nil when it is not set.
    private static let wanted = ProcessInfo.processInfo.environment["NAVBUS_ORACLE_QUERIES"].flatMap { Int($0) }

    @Test("on Helsinki") func helsinki() throws { try compare(on: "helsinki", queries: 270) }

    @Test("on Porto", .enabled(if: RealMap.path("porto") != nil, Self.absent))
    func porto() throws { try compare(on: "porto", queries: 45) }

    @Test("on Heidelberg", .enabled(if: RealMap.path("heidelberg") != nil, Self.absent))
    func heidelberg() throws { try compare(on: "heidelberg", queries: 180) }

    @Test("on the roads around a cathedral", .enabled(if: RealMap.path("cathedral") != nil, Self.absent))
    func cathedral() throws { try compare(on: "cathedral", queries: 270) }

    @Test("on Andorra", .enabled(if: RealMap.path("andorra") != nil, Self.absent))
    func andorra() throws { try compare(on: "andorra", queries: 270) }

    @Test("on Liechtenstein", .enabled(if: RealMap.path("liechtenstein") != nil, Self.absent))
    func liechtenstein() throws { try compare(on: "liechtenstein", queries: 270) }

    private static let absent: Comment = "the shared data is absent"

    /// - Parameter usual: The number of queries in a normal run.
    private func compare(on name: String, queries usual: Int) throws {
        let map = try RealMap(path: try #require(RealMap.path(name)))
        var queries = RandomQueries(map.tiles, mapVersion: map.graph.mapVersion, seed: 11)
        let wanted = Self.wanted ?? usual
        var rounds = 0
        while queries.compared < wanted, rounds <= wanted {
            rounds += 1
            for setting in queries.settings() {
                queries.ask(min(max(wanted / 9, 1), 120, wanted - queries.compared), setting)
            }
            guard queries.faults.count < 10 else { break }
        }
        for fault in queries.faults.prefix(3) { Issue.record("\(name): \(fault)") }
        #expect(queries.compared == wanted, "\(name)")
        if Self.wanted != nil {
            print(
                "\(name): \(queries.compared) queries, \(queries.withVias) with an intermediate point, "
                    + "\(queries.tilesNeeded) requests for tiles, \(queries.faults.count) faults")
        }
    }
}
