import NavMap
import NavMapBuild
import Testing

@Suite("Turn restrictions")
struct RestrictionTests {
    /// Crossroads at node 12: way 1 from the west (11), 2 to the east (13), 3 to the north (2), 4 to the south (22).
    private func crossroads() -> GridMap {
        var map = GridMap()
        map.nodes([11, 12, 13, 2, 22])
        map.way(1, [11, 12])
        map.way(2, [12, 13])
        map.way(3, [12, 2])
        map.way(4, [12, 22])
        return map
    }

    @Test(
        "no_ forbids only its turn",
        arguments: ["no_left_turn", "no_right_turn", "no_straight_on", "no_exit", "no_right", "no_uturn"])
    func no(kind: String) throws {
        var map = crossroads()
        map.restriction(1, kind, from: [1], viaNodes: [12], to: [3])
        let built = try BuiltMap(map)
        #expect(built.forbidden == [[11, 12, 2]])
        #expect(built.report.restrictions == 1 && built.report.restrictionProblems == [:])
    }

    @Test("only_ forbids every other turn, including the U-turn", arguments: ["only_straight_on", "only_straight"])
    func only(kind: String) throws {
        var map = crossroads()
        map.restriction(1, kind, from: [1], viaNodes: [12], to: [2])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 2], [11, 12, 22], [11, 12, 11]])
    }

    @Test("no_u_turn forbids a U-turn into the same road")
    func uTurn() throws {
        var map = crossroads()
        map.restriction(1, "no_u_turn", from: [1], viaNodes: [12], to: [1])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 11]])
    }

    @Test("no_entry accepts several from members, no_exit several to members")
    func several() throws {
        var map = crossroads()
        map.restriction(1, "no_entry", from: [1, 2], viaNodes: [12], to: [3])
        map.restriction(2, "no_exit", from: [4], viaNodes: [12], to: [1, 2])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 2], [13, 12, 2], [22, 12, 11], [22, 12, 13]])
    }

    @Test("of several members only those at the via node are used")
    func waysBeforeTheJunction() throws {
        var map = crossroads()
        map.nodes([21, 3])
        map.way(7, [21, 11])
        map.way(8, [2, 3])
        map.restriction(1, "no_left_turn", from: [7, 1], viaNodes: [12], to: [3])
        map.restriction(2, "only_straight_on", from: [4], viaNodes: [12], to: [3, 8])
        let built = try BuiltMap(map)
        #expect(built.forbidden == [[11, 12, 2], [22, 12, 11], [22, 12, 13], [22, 12, 22]])
        #expect(built.report.restrictions == 2 && built.report.restrictionProblems == [:])
    }

    /// A dual carriageway: eastbound 1 (11, 12) and 5 (12, 13), westbound 2 (23, 22) and 6 (22, 21), joined by way 3
    /// from 12 to 22.
    private func dual(_ joint: [Int64] = [12, 22]) -> GridMap {
        let oneway = ["highway": "primary", "oneway": "yes"]
        var map = GridMap()
        map.nodes([11, 12, 13, 21, 22, 23, 32, 42, 33])
        map.way(1, [11, 12], oneway)
        map.way(5, [12, 13], oneway)
        map.way(2, [23, 22], oneway)
        map.way(6, [22, 21], oneway)
        map.way(3, joint)
        return map
    }

    @Test("a restriction via a way forbids the whole path")
    func viaWay() throws {
        var map = dual()
        map.restriction(1, "no_u_turn", from: [1], viaWays: [3], to: [6])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 22, 21]])
    }

    @Test("a via way split by other roads is a path of several edges")
    func splitViaWay() throws {
        var map = GridMap()
        map.nodes([11, 12, 22, 32, 31, 23])
        map.way(1, [11, 12])
        map.way(3, [12, 22, 32])
        map.way(6, [32, 31])
        map.way(7, [22, 23])
        map.restriction(1, "no_u_turn", from: [1], viaWays: [3], to: [6])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 22, 32, 31]])
    }

    @Test(
        "several via ways are accepted in any order",
        arguments: [[3, 4, 5], [3, 5, 4], [4, 3, 5], [4, 5, 3], [5, 3, 4], [5, 4, 3]] as [[Int64]])
    func viaWays(order: [Int64]) throws {
        var map = GridMap()
        map.nodes([11, 12, 22, 32, 42, 41])
        map.way(1, [11, 12])
        map.way(3, [12, 22], ["highway": "residential", "oneway": "yes"])
        map.way(4, [32, 22])
        map.way(5, [32, 42])
        map.way(6, [42, 41])
        map.restriction(1, "no_u_turn", from: [1], viaWays: order, to: [6])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 22, 32, 42, 41]])
    }

    @Test(
        "via ways around a block are accepted in any order",
        arguments: [[3, 4, 5], [4, 5, 3], [5, 3, 4]] as [[Int64]])
    func viaBlock(order: [Int64]) throws {
        var map = GridMap()
        map.nodes([11, 12, 22, 21, 10])
        map.way(1, [11, 12])
        map.way(3, [12, 22])
        map.way(4, [22, 21])
        map.way(5, [21, 11])
        map.way(6, [11, 10])
        map.restriction(1, "no_right_turn", from: [1], viaWays: order, to: [6])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 22, 21, 11, 10]])
    }

    @Test("via ways that meet but form no path are rejected in bounded time", arguments: [12, 17, 200])
    func manyViaWays(count: Int64) throws {
        var map = crossroads()
        map.nodes([10, 20])
        for way in 100..<100 + count { map.way(way, [12, way % 2 == 0 ? 10 : 20]) }
        map.restriction(1, "no_u_turn", from: [1], viaWays: Array(100..<100 + count), to: [1])
        let built = try BuiltMap(map)
        #expect(built.forbidden == [] && built.report.restrictionProblems == [.notConnected: 1])
    }

    @Test("an only_ restriction via a way forbids every other exit from its end")
    func onlyViaWay() throws {
        var map = dual()
        map.way(8, [22, 32])
        map.restriction(1, "only_left_turn", from: [1], viaWays: [3], to: [6])
        #expect(try BuiltMap(map).forbidden == [[11, 12, 22, 32], [11, 12, 22, 12]])
    }

    @Test("restrictions apply to their vehicles but not to exempted cars")
    func vehicles() throws {
        var map = crossroads()
        map.restriction(1, "", from: [1], viaNodes: [12], to: [3], tags: ["restriction:motorcar": "no_left_turn"])
        map.restriction(2, "no_left_turn", from: [1], viaNodes: [12], to: [4], tags: ["except": "psv;motorcar"])
        map.restriction(3, "no_left_turn", from: [2], viaNodes: [12], to: [4], tags: ["except": "bicycle"])
        map.restriction(4, "", from: [1], viaNodes: [12], to: [2], tags: ["restriction:hgv": "no_left_turn"])
        let built = try BuiltMap(map)
        #expect(built.forbidden == [[11, 12, 2], [13, 12, 22]])
        #expect(built.report.restrictions == 4 && built.report.restrictionProblems == [:])
        #expect(built.graph.restrictions.map(\.vehicles).filter { $0 == .truck }.count == 1)
        #expect(built.graph.prohibitedPaths(for: .truck, at: nil).count == 3)
    }

    @Test("a maneuver relation prescribes the announcement on its path and does not restrict vehicles")
    func maneuvers() throws {
        var map = crossroads()
        map.nodes([3])
        map.way(5, [2, 3])
        func add(_ id: Int64, from: Int64, node: Int64?, ways: [Int64] = [], to: Int64, _ tags: [String: String]) {
            map.restriction(
                id, "", from: [from], viaNodes: node.map { [$0] } ?? [], viaWays: ways, to: [to],
                tags: tags.merging(["type": "maneuver"]) { given, _ in given })
        }
        add(1, from: 1, node: 12, to: 3, ["maneuver": "turn", "direction": "slight_left"])
        add(2, from: 2, node: 12, to: 4, ["maneuver": "suppress"])
        add(3, from: 1, node: 2, ways: [3], to: 5, ["maneuver": "dance", "direction": "sharp right"])
        add(4, from: 2, node: 12, to: 3, ["maneuver": "uturn"])
        add(5, from: 1, node: 12, to: 4, ["maneuver": "dance"])
        add(6, from: 1, node: nil, to: 4, ["maneuver": "turn"])
        add(7, from: 1, node: 12, to: 5, ["maneuver": "turn"])
        let built = try BuiltMap(map)
        func prescribed(_ tail: Int64, _ head: Int64) throws -> [ManeuverPath] {
            built.graph.maneuvers(onto: try #require(built.edge(tail, head)))
        }
        let left = try prescribed(12, 2)
        #expect(
            left.map(\.maneuver) == [PrescribedManeuver(.turn, .slightLeft), PrescribedManeuver(.continue, .uTurn)])
        #expect(left.first?.path.map(built.name) == [EdgeName(11, 12, 1), EdgeName(12, 2, 3)])
        #expect(try prescribed(12, 22).map(\.maneuver) == [PrescribedManeuver(.suppressed, nil)])
        let further = try prescribed(2, 3)
        #expect(further.map(\.maneuver) == [PrescribedManeuver(nil, .sharpRight, place: 2)])
        #expect(further.first?.path.count == 3)
        #expect(built.report.maneuvers == 4 && built.report.restrictions == 0)
        #expect(
            built.report.maneuverProblems == [.unknownKind: 1, .incompleteMembers: 1, .notConnected: 1])
        #expect(built.forbidden == [] && built.graph.restrictions.isEmpty)
    }

    @Test("restrictions that cannot be applied are counted by reason")
    func broken() throws {
        var map = crossroads()
        map.nodes([3, 21, 31])
        map.way(7, [2, 3])
        map.way(8, [21, 22, 31])
        map.way(9, [11, 21], ["highway": "residential", "oneway": "yes"])
        map.restriction(1, "no_left_turn", from: [1], to: [3])
        map.restriction(2, "no_left_turn", from: [], viaNodes: [12], to: [3])
        map.restriction(3, "no_left_turn", from: [1], viaNodes: [12], to: [999])
        map.restriction(4, "no_left_turn", from: [1], viaNodes: [999], to: [3])
        map.restriction(5, "no_left_turn", from: [1], viaNodes: [12], to: [7])
        map.restriction(6, "no_left_turn", from: [4], viaNodes: [22], to: [8])
        for (id, kind) in [(7, "give_way"), (12, "no_right_turn_on_red "), (13, "no_parking")] as [(Int64, String)] {
            map.restriction(id, kind, from: [1], viaNodes: [12], to: [3])
        }
        map.restriction(
            11, "", from: [1], viaNodes: [12], to: [3], tags: ["restriction:bicycle": "no_left_turn"])
        map.restriction(
            8, "", from: [1], viaNodes: [12], to: [3],
            tags: ["restriction:conditional": "no_left_turn @ (sunset-sunrise)"])
        map.restriction(9, "no_left_turn", from: [9], viaNodes: [11], to: [1])
        map.restriction(10, "no_u_turn", from: [1], viaWays: [7], to: [2])
        let built = try BuiltMap(map)
        #expect(built.forbidden == [])
        #expect(built.report.restrictions == 0)
        #expect(
            built.report.restrictionProblems == [
                .incompleteMembers: 2, .memberIsNoRoad: 1, .notConnected: 4, .ambiguous: 1, .unknownKind: 3,
                .conditional: 1, .otherVehicles: 1,
            ])
    }
}
