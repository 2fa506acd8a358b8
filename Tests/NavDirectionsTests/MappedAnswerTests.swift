import NavDirections
import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavTestSupport
import Testing

/// Recorded answers mapped onto the map of the same extract.
struct MappedAnswerTests {
    @Test(arguments: ["osrm", "valhalla"])
    func everyRecordedRouteMapsOntoTheGraph(provider: String) throws {
        let router = try RealMap.helsinki.get().router()
        for (name, request) in [
            ("alternatives", Recorded.direct), ("two-legs", Recorded.twoLegs), ("silent-point", Recorded.silentPoint),
        ] {
            for provided in try Recorded.routes("\(provider)-\(name)", request) {
                let mapped = try RouteMapping(router).map(provided, for: request)
                #expect(mapped.share > 0.99, "\(name)")
                #expect(faults(of: mapped.route, on: router, request) == [], "\(name)")
                #expect(mapped.route.legs.count == provided.legs.count)
                #expect(abs(mapped.route.length - provided.length) < 0.03 * provided.length + 10, "\(name)")
                #expect(abs(mapped.route.duration - provided.duration) < 0.02 * provided.duration + 1, "\(name)")
            }
        }
    }

    @Test func nodesAndLineAloneGiveTheSameRoads() throws {
        let router = try RealMap.helsinki.get().router()
        for provided in try Recorded.routes("osrm-alternatives", Recorded.direct) {
            var bare = provided
            for leg in bare.legs.indices { bare.legs[leg].nodeIDs = [] }
            let byNodes = try RouteMapping(router).map(provided, for: Recorded.direct)
            let byLine = try RouteMapping(router).map(bare, for: Recorded.direct)
            #expect(byNodes.route.edges.map(\.key) == byLine.route.edges.map(\.key))
        }
    }
}
