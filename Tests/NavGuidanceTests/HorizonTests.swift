import Foundation
import NavGeo
import NavGuidance
import NavMap
import NavRouting
import NavTestSupport
import Testing

/// The electronic horizon on drawn maps, grid steps of 100 m.
struct HorizonTests {
    private static func horizon(
        _ map: ASCIIMap, _ from: Character, _ to: Character, at offset: Double = 0, graph: RoadGraph? = nil,
        after approach: (Character, Character)? = nil, length: Double = 2_000, stubLength: Double = 200,
        route: HorizonRoute? = nil
    ) throws -> Horizon {
        let graph = graph ?? map.graph
        let metric = Metric(TurnGraph(graph), model: CostModel())
        var extent = HorizonExtent()
        (extent.length, extent.stubLength) = (length, stubLength)
        let edge = try #require(graph.edge(map.graph.key(of: try map.edge(from, to))))
        return HorizonBuilder(metric: metric, live: metric, vehicle: VehicleProfile(), at: nil)
            .horizon(
                on: edge, at: offset, after: try approach.map { try map.edge($0.0, $0.1) }, along: route,
                extent: extent)
    }

    private static func letters(_ path: HorizonPath, _ map: ASCIIMap) -> [String] {
        path.edges.compactMap { map.graph.edge($0) }.map { map.letters(of: $0) }
    }

    private static func spans(_ path: HorizonPath, _ attribute: HorizonSpan.Attribute) -> [HorizonSpan] {
        path.spans.filter { $0.attribute == attribute }
    }

    @Test func straightRoadIsOnePathAsLongAsTheHorizon() throws {
        let map = try ASCIIMap("A---B---C", ways: ["ABC": ["highway": "primary", "maxspeed": "60", "lanes": "2"]])
        let horizon = try Self.horizon(map, "A", "B", at: 100, length: 500)
        let main = try #require(horizon.paths.first)
        #expect(horizon.paths.count == 1 && horizon.offset == 100 && !horizon.isTruncated)
        #expect(abs(main.length - 600) < 0.01 && abs(main.line.length - 600) < 0.5)
        #expect(main.probability == 1 && main.parent == nil && main.turnAngle == nil && !main.isOnRoute)
        let limits = main.spans.filter { if case .speedLimit = $0.attribute { true } else { false } }
        #expect(limits.count == 1 && limits[0].begin == 0 && limits[0].end == main.length)
        #expect(Self.spans(main, .name("ABC")).count == 1 && Self.spans(main, .laneCount(1)).count == 1)
        #expect(Self.spans(main, .curvature(0)).map(\.end) == [main.length])
    }

    @Test func horizonContinuesTheRoadWithStubsForOtherRoads() throws {
        let map = try ASCIIMap(
            """
                D
                |
            A---B---C
                |
                E
            """,
            ways: [
                "ABC": ["highway": "primary"], "BD": ["highway": "residential"], "BE": ["highway": "residential"],
            ])
        let horizon = try Self.horizon(map, "A", "B", stubLength: 150)
        #expect(Self.letters(horizon.paths[0], map) == ["AB", "BC"])
        #expect(Set(horizon.paths.dropFirst().map { Self.letters($0, map) }) == [["BD"], ["BE"]])
        let sum = horizon.paths.reduce(0) { $0 + $1.probability }
        #expect(abs(sum - 1) < 1e-9 && horizon.paths[0].probability > 0.8)
        for stub in horizon.paths.dropFirst() {
            let isRight = Self.letters(stub, map) == ["BE"]
            #expect(stub.parent?.id == HorizonPath.mainID && abs((stub.parent?.offset ?? 0) - 400) < 1)
            #expect(abs((stub.turnAngle ?? 0) - (isRight ? 1 : -1) * .pi / 2) < 0.02 && abs(stub.length - 150) < 0.01)
        }
        #expect(horizon.paths[0].points.map(\.kind) == [.junction])
        #expect(try Self.horizon(map, "A", "B", stubLength: 0).paths.count == 1)
        // A stub keeps its id as the vehicle approaches, and ids are unique.
        let later = try Self.horizon(map, "A", "B", at: 300, stubLength: 150)
        #expect(later.paths.map(\.id) == horizon.paths.map(\.id) && Set(later.paths.map(\.id)).count == 3)
    }

    @Test func routeTakesPrecedenceOverTheMostProbablePath() throws {
        let map = try ASCIIMap(
            """
            A---B---C
                |
                D
            """, ways: ["ABC": ["highway": "primary"], "BD": ["highway": "service"]])
        let plan = try map.route([
            Waypoint(try map.position(between: "A", "B")), Waypoint(try map.position(between: "B", "D")),
        ])
        let key = map.graph.key(of: try map.edge("A", "B"))
        let route = try #require(
            HorizonRoute(plan, RouteGuidance(route: plan, graph: map.graph), edge: key, near: 0))
        let horizon = try Self.horizon(map, "A", "B", at: 200, route: route)
        #expect(Self.letters(horizon.paths[0], map) == ["AB", "BD"] && horizon.paths[0].isOnRoute)
        #expect(Self.letters(horizon.paths[1], map) == ["BC"] && !horizon.paths[1].isOnRoute)
        #expect(abs(horizon.paths[0].probability - 0.95) < 1e-9 && abs(horizon.paths[1].probability - 0.05) < 1e-9)
        let kinds = horizon.paths[0].points.map(\.kind)
        #expect(kinds.count == 4 && Set(kinds.prefix(2)) == [.junction, .maneuver])
        #expect(Set(kinds.suffix(2)) == [.maneuver, .waypoint])
        #expect(abs(horizon.paths[0].points[1].offset - 400) < 1 && abs(horizon.paths[0].points[3].offset - 500) < 2)
        #expect(HorizonRoute(plan, RouteGuidance(route: plan, graph: map.graph), edge: key, near: 5_000) == nil)
    }

    @Test func opposingOneWayStreetIsNotAPath() throws {
        let map = try ASCIIMap(
            """
                D
                |
            A---B---C
            """,
            ways: [
                "AB": ["highway": "primary"], "CB": ["highway": "primary", "oneway": "yes"],
                "BD": ["highway": "residential"],
            ])
        let horizon = try Self.horizon(map, "A", "B")
        #expect(horizon.paths.map { Self.letters($0, map) } == [["AB", "BD"]])
        #expect(horizon.paths[0].probability == 1)
    }

    private static let main = ["highway": "primary", "name": "Main Street"]
    private static let ring = ["highway": "primary", "junction": "roundabout"]

    /// Draws the roads in both orders: equal choices must not depend on the numbers of the edges.
    private static func bothOrders(
        _ drawing: String, _ roads: [(way: String, tags: [String: String])]
    ) throws -> [ASCIIMap] {
        try [roads, roads.reversed()].map { try ASCIIMap(drawing, roads: $0, nodes: [:], restrictions: []) }
    }

    @Test func pathLeavesRoundaboutByTheMostProbableExit() throws {
        let drawing = """
                  F
                  |
                  E
                 / \\
            A---B   C---D
                 \\ /
                  G
                  |
                  H
            """
        let side = ["highway": "residential"]
        let roads = [("AB", Self.main), ("CD", Self.main), ("EF", side), ("GH", side), ("BGCEB", Self.ring)]
        for map in try Self.bothOrders(drawing, roads) {
            let horizon = try Self.horizon(map, "A", "B", stubLength: 400)
            let path = horizon.paths[0]
            #expect(Self.letters(path, map) == ["AB", "BG", "GC", "CD"] && path.probability > 0.8)
            #expect(Set(horizon.paths.dropFirst().map { Self.letters($0, map) }) == [["GH"], ["CE", "EF"]])
            #expect(abs(horizon.paths.reduce(0) { $0 + $1.probability } - 1) < 1e-6)
            // A horizon that begins on the roundabout also leaves it, and takes the vehicle's entry into account.
            for (from, to): (Character, Character) in [("B", "G"), ("G", "C"), ("C", "E"), ("E", "B")] {
                let path = Self.letters(try Self.horizon(map, from, to).paths[0], map)
                #expect(["BA", "CD", "EF", "GH"].contains(path.last), "\(path)")
            }
            let later = try Self.horizon(map, "B", "G", after: ("A", "B"))
            #expect(Self.letters(later.paths[0], map) == ["BG", "GC", "CD"])
            let passed = try Self.horizon(map, "C", "E", after: ("A", "B"))
            #expect(Self.letters(passed.paths[0], map) == ["CE", "EF"])
        }
    }

    @Test func pathLeavesTurningLoopByItsAccessRoad() throws {
        let drawing = """
            A--B--C
               | /
               D
            """
        for map in try Self.bothOrders(drawing, [("AB", Self.main), ("BDCB", Self.ring)]) {
            #expect(Self.letters(try Self.horizon(map, "A", "B").paths[0], map) == ["AB", "BD", "DC", "CB", "BA"])
        }
    }

    @Test func exitsOfAdjacentRoundaboutsCountOnce() throws {
        let drawing = """
                  E   J
                 / \\ / \\
            A---B   C   K---D
                 \\ / \\ /
                  G   I
            """
        let roads = [("AB", Self.main), ("KD", Self.main), ("BGCEB", Self.ring), ("CIKJC", Self.ring)]
        for map in try Self.bothOrders(drawing, roads) {
            let path = Self.letters(try Self.horizon(map, "A", "B").paths[0], map)
            #expect(path == ["AB", "BGC", "CIK", "KD"])
        }
    }

    @Test func roundaboutWithoutAnExitIsMarkedAndEndsAfterOneCircle() throws {
        let map = try ASCIIMap(
            """
            A--B--C
               | /
               D
            """, ways: ["AB": ["highway": "tertiary", "oneway": "yes"], "BDCB": Self.ring])
        let path = try Self.horizon(map, "A", "B").paths[0]
        #expect(!Self.spans(path, .roundabout).isEmpty && Self.letters(path, map) == ["AB", "BD", "DC", "CB"])
    }

    @Test func curvatureOfAnArcMatchesItsRadius() throws {
        for (radius, side) in [(50.0, 1.0), (300, -1), (1_000, 1)] {
            var town = Town("A", scale: 10)
            let step = 0.1
            let points = (1...12).map { number in
                let angle = Double(number) * step
                return (radius * sin(angle), -side * radius * (1 - cos(angle)))
            }
            town.road("A", "B", over: points, "Arc")
            let graph = try town.graph()
            let edge = try #require(
                (0..<graph.edgeCount).map { EdgeIndex($0) }.first {
                    abs(Angle.difference(from: Double(graph.edgeStartBearings[$0.index]), to: .pi / 2)) < 0.2
                })
            let metric = Metric(TurnGraph(graph), model: CostModel())
            let horizon = HorizonBuilder(metric: metric, live: metric, vehicle: VehicleProfile(), at: nil)
                .horizon(on: edge, at: 0, along: nil, extent: HorizonExtent())
            let middle = horizon.paths[0].length / 2
            let found = horizon.paths[0].spans.compactMap { span -> Double? in
                guard case .curvature(let value) = span.attribute, span.begin <= middle, middle < span.end else {
                    return nil
                }
                return value
            }
            let isRight = found.count == 1 && abs((found.first ?? 0) - side / radius) < 0.02 / radius + 1e-4
            #expect(isRight, "\(radius) m: \(found)")
        }
    }

    @Test func missingTileEndsTheHorizonAndIsReported() throws {
        let map = try ASCIIMap(
            "A---B---C---D", placement: .localTileCorner,
            ways: [
                "AB": ["highway": "residential"], "BC": ["highway": "residential"], "CD": ["highway": "residential"],
            ]
        )
        let whole = try Self.horizon(map, "A", "B")
        #expect(!whole.isTruncated && whole.paths[0].edges.count == 3)
        let graph = map.graph(without: [try map.tile(.local, at: "D")])
        let cut = try Self.horizon(map, "A", "B", graph: graph)
        #expect(cut.isTruncated && cut.paths[0].edges.count < 3)
    }
}
