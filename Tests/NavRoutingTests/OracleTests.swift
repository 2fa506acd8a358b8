import NavMap
import NavRouting
import NavTestSupport
import Testing

@Suite("Queries of all kinds cost what Dijkstra's search says")
struct OracleTests {
    @Test(
        "on random towns, with traffic, headings, kerbs, first stretches and missing tiles",
        arguments: 1...24 as ClosedRange<UInt64>)
    func towns(seed: UInt64) throws {
        let map = try RandomMap(seed: seed &+ 400, size: 7, gridMetres: 150)
        var queries = RandomQueries(map.tiles, mapVersion: map.graph.mapVersion, seed: seed)
        let truck = VehicleProfile(kind: .truck, avoid: [.motorways])
        queries.ask(starts: 6, goals: 6, profile: VehicleProfile(), trafficShare: 0, isPartial: false)
        queries.ask(starts: 6, goals: 6, profile: VehicleProfile(), trafficShare: 0.3, isPartial: false)
        queries.ask(starts: 4, goals: 6, profile: truck, trafficShare: 0.1, isPartial: false)
        queries.ask(starts: 6, goals: 6, profile: VehicleProfile(), trafficShare: 0, isPartial: true)
        #expect(queries.faults.isEmpty, "RandomMap(seed: \(seed &+ 400)): \(queries.faults.prefix(3))")
        #expect(queries.compared > 40)
    }

    @Test("on Helsinki")
    func helsinki() throws {
        let map = try RealMap.helsinki.get()
        var queries = RandomQueries(map.tiles, mapVersion: map.graph.mapVersion, seed: 11)
        queries.ask(starts: 10, goals: 10, profile: VehicleProfile(), trafficShare: 0.2, isPartial: false)
        queries.ask(starts: 10, goals: 10, profile: VehicleProfile(kind: .truck), trafficShare: 0, isPartial: false)
        #expect(queries.faults.isEmpty, "\(queries.faults.prefix(3))")
        #expect(queries.compared > 120)
    }
}
