import Foundation
import NavMap
import NavRouting
import NavTestSupport
import Testing

@Suite("All kinds of queries cost the same as with Dijkstra's search")
struct OracleTests {
    /// To reproduce a failure, use the same arguments with the number in its message.
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

    /// Six extracts, the largest first, with their number of queries in a normal run.
    /// `NAVBUS_ORACLE_QUERIES=10000` sets the number for each.
    static let extracts: [(name: String, queries: Int)] = [
        ("porto", 45), ("heidelberg", 180), ("cathedral", 270), ("andorra", 270), ("liechtenstein", 270),
        ("helsinki", 270),
    ]

    private static let wanted = ProcessInfo.processInfo.environment["NAVBUS_ORACLE_QUERIES"].flatMap { Int($0) }

    @Test("on real extracts", arguments: extracts)
    func real(name: String, queries usual: Int) throws {
        guard let path = RealMap.path(name) else {
            print("\(name) is not asked: the shared data is absent")
            return
        }
        let map = try RealMap(path: path)
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
                "\(name): \(queries.compared) queries, \(queries.withVias) with a point on the way, "
                    + "\(queries.tilesNeeded) answers that name tiles, \(queries.faults.count) faults")
        }
    }
}
