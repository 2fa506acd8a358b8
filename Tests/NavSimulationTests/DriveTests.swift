import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Simulated drives")
struct DriveTests {
    /// Returns drives over Helsinki between random places.
    static func drives(_ count: Int, seed: UInt64) throws -> [(drive: Drive, route: Route)] {
        let map = try RealMap.helsinki.get()
        let router = map.router()
        var random = SeededRandom(seed: seed)
        var result: [(Drive, Route)] = []
        while result.count < count {
            let waypoints = (0..<2).map { _ in Waypoint(map.graph.randomPlace(&random)) }
            guard
                case .found(let route) = router.route(RouteRequest(waypoints: waypoints), workspace: SearchWorkspace()),
                route.length > 200, let path = DrivePath(route, graph: map.graph),
                let drive = Drive(router.metric, edges: path.edges, from: path.start, to: path.end)
            else { continue }
            result.append((drive, route))
        }
        return result
    }

    @Test("a drive follows its route from standstill to standstill", arguments: [1.0, 5, 10])
    func fromEndToEnd(rate: Double) throws {
        for (drive, route) in try Self.drives(20, seed: 5) {
            let states = drive.states(rate: rate)
            let (first, last) = (try #require(states.first), try #require(states.last))
            #expect(first.time == 0 && first.offset == 0 && first.speed == 0)
            #expect(last.speed == 0 && abs(last.offset - route.length) < 0.5)
            #expect(abs(drive.line.length - route.length) < 0.5)
            for (index, state) in states.enumerated() {
                #expect(abs(state.time - Double(index) / rate) < 1e-9)
                let hit = try #require(route.line.project(state.coordinate))
                #expect(hit.distance < 0.05)
                #expect((0..<drive.edges.count).contains(state.edge))
            }
            #expect(zip(states, states.dropFirst()).allSatisfy { $0.offset <= $1.offset && $0.edge <= $1.edge })
        }
    }

    @Test("accelerations are those of a calm driver")
    func acceleration() throws {
        for (drive, _) in try Self.drives(30, seed: 9) {
            let states = drive.states(rate: 10)
            for (before, after) in zip(states, states.dropFirst()).dropLast() {
                let change = (after.speed - before.speed) / (after.time - before.time)
                #expect(change <= Drive.acceleration + 0.01)
                #expect(change >= -Drive.deceleration - 0.01)
                // The position advances by the mean speed, except for a small error where the acceleration changes.
                #expect(abs(after.offset - before.offset - (before.speed + after.speed) / 20) < 0.05)
            }
        }
    }

    @Test("a straight road without bends is driven at its speed, a sharp bend slowly")
    func speeds() throws {
        let map = try ASCIIMap(
            """
            A-----------B
                        |
                        |
                        |
                        C
            """, ways: ["AB": ["highway": "primary"], "BC": ["highway": "primary"]])
        let metric = map.router().metric
        let edges = [try map.edge("A", "B"), try map.edge("B", "C")]
        let drive = try #require(Drive(metric, edges: edges, from: 0, to: 400))
        let states = drive.states(rate: 10)
        let free = Double(map.graph.traits(of: edges[0]).freeFlowSpeed)
        #expect(abs((states.map(\.speed).max() ?? 0) - free) < 0.1)
        let corner = states.filter { abs($0.offset - 1_200) < 5 }
        #expect(!corner.isEmpty && corner.allSatisfy { $0.speed < free * 0.8 })
        #expect(corner.contains { $0.speed > 2 })
    }

    @Test("driving straight on at a junction does not reduce the speed")
    func straightOn() throws {
        let plain = try ASCIIMap("A---------C", ways: ["AC": ["highway": "primary"]])
        let cut = try ASCIIMap(
            "A----B----C\n     |\n     D",
            ways: ["AB": ["highway": "primary"], "BC": ["highway": "primary"], "BD": ["highway": "service"]])
        let whole = try #require(Drive(plain.router().metric, edges: [plain.edge("A", "C")], from: 0, to: 1_000))
        let joined = try #require(
            Drive(cut.router().metric, edges: [cut.edge("A", "B"), cut.edge("B", "C")], from: 0, to: 500))
        let (first, second) = (whole.states(rate: 1), joined.states(rate: 1))
        #expect(abs(first.count - second.count) <= 1)
    }

    @Test("an empty path has no drive, an invalid rate gives no states")
    func degenerate() throws {
        let map = try ASCIIMap("A---B", ways: ["AB": ["highway": "residential"]])
        let metric = map.router().metric
        let edge = try map.edge("A", "B")
        #expect(Drive(metric, edges: [], from: 0, to: 0) == nil)
        #expect(Drive(metric, edges: [edge], from: 50, to: 50) == nil)
        #expect(Drive(metric, edges: [edge], from: .nan, to: .nan) == nil)
        let drive = try #require(Drive(metric, edges: [edge], from: 0, to: 400))
        for rate in [0, -1, Double.nan, .infinity] { #expect(drive.states(rate: rate).isEmpty) }
    }
}

@Suite("Wrong turns")
struct DetourTests {
    @Test("a wrong turn leaves the route after the given distance and still arrives")
    func detours() throws {
        let map = try RealMap.helsinki.get()
        let router = map.router()
        let planner = DetourPlanner(router: router, workspace: SearchWorkspace())
        var made = 0
        var misses: [Double] = []
        for (_, route) in try DriveTests.drives(40, seed: 21) {
            let asked = route.length * 0.3
            guard let path = planner.path(along: route, wrongTurnAfter: asked) else { continue }
            made += 1
            let deviation = try #require(path.deviation)
            #expect(deviation >= asked && deviation <= route.length)
            for (first, second) in zip(path.edges, path.edges.dropFirst()) {
                #expect(map.graph.edgeHeads[first.index] == map.graph.edgeTails[second.index])
                #expect(router.metric.turns.allows(first, second))
            }
            let drive = try #require(Drive(router.metric, edges: path.edges, from: path.start, to: path.end))
            let onRoute = try #require(drive.line.coordinate(at: max(deviation - 1, 0)))
            #expect(try #require(route.line.project(onRoute)).distance < 0.1)
            let planned = route.edges.compactMap { map.graph.edge($0.key) }
            let leaving = try #require(zip(path.edges, planned).enumerated().first { $1.0 != $1.1 }?.offset)
            let before = path.edges[..<leaving].reduce(-path.start) { $0 + Double(map.graph.edgeLengths[$1.index]) }
            #expect(abs(before - deviation) < 0.01)
            let end = try #require(drive.line.coordinates.last)
            misses.append(Geodesy.distance(end, try #require(route.coordinates.last)))
        }
        // If the destination's road cannot be reached after the wrong turn, the drive ends on a nearby road.
        #expect(misses.allSatisfy { $0 < 50 } && misses.filter { $0 >= 1 }.count <= 1)
        #expect(made >= 20)
    }

    @Test("a detour visits the stops ahead of the wrong turn, not those behind it")
    func stops() throws {
        let street = ["highway": "residential"]
        let map = try ASCIIMap(
            """
            A---B---C---D
            |   |   |   |
            |   |   |   |
            E---F---G---H
            """, ways: ["ABCD": street, "EFGH": street, "AE": street, "BF": street, "CG": street, "DH": street])
        let planner = DetourPlanner(router: map.router(), workspace: SearchWorkspace())
        let route = try map.route(["A", "C", "F"].map { Waypoint(try map.coordinate($0)) })
        func visits(after distance: Double) throws -> Int {
            let path = try #require(planner.path(along: route, wrongTurnAfter: distance))
            #expect(path.edges.last.map { map.letters(of: $0) }?.contains("F") == true)
            return zip(path.edges, path.edges.dropFirst()).count { first, _ in map.letters(of: first).last == "C" }
        }
        #expect(try visits(after: 50) >= 1)
        #expect(try visits(after: 850) == 1)
    }

    @Test("there is no wrong turn if all other ways are closed")
    func noOpportunity() throws {
        let map = try ASCIIMap("A---B---C", ways: ["AB": ["highway": "residential"], "BC": ["highway": "residential"]])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("C"))])
        let planner = DetourPlanner(router: map.router(), workspace: SearchWorkspace())
        for distance in [0, 100, 1e9, -5, Double.nan] {
            #expect(planner.path(along: route, wrongTurnAfter: distance) == nil)
        }
    }
}
