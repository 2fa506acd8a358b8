package import NavGeo
package import NavMap
import NavMapBuild
import NavRouting
package import NavSimulation

/// A random town on an irregular grid, the same for the same seed: two-way and one-way streets of all classes, gaps, private ways, turning
/// circles, signals, and turn restrictions at nodes and over several ways.
package struct RandomMap: Sendable {
    /// The tiles, by ascending id.
    package let tiles: [RoadTile]
    /// All tiles as one graph.
    package let graph: RoadGraph
    /// The bounds of the town.
    package let bounds: BoundingBox

    /// Creates a town of `size` × `size` crossings, around a corner of tiles in all layers unless stated otherwise.
    ///
    /// - Parameters:
    ///   - hasRules: whether turns and roads have rules for some vehicles or times only, and private gates exist.
    ///   - gone: the removed streets, by their index in drawing order, which yields a later state of the same town.
    package init(
        seed: UInt64, size: Int = 6, gridMetres: Double = 120, centre: Coordinate = TestPlaces.everyTileCorner,
        hasRules: Bool = false, without gone: Set<Int> = []
    ) throws {
        var random = SeededRandom(seed: seed)
        var data = OSMDataBuilder()
        let frame = LocalFrame(origin: centre)
        let middle = Double(size - 1) / 2
        for row in 0..<size {
            for column in 0..<size {
                let point = LocalPoint(
                    east: (Double(column) - middle + 0.3 * (random.uniform() - 0.5)) * gridMetres,
                    north: (Double(row) - middle + 0.3 * (random.uniform() - 0.5)) * gridMetres)
                var tags: [String: String] = [:]
                if random.uniform() < 0.08 { tags["highway"] = "turning_circle" }
                if random.uniform() < 0.1 { tags["highway"] = "traffic_signals" }
                if hasRules, random.uniform() < 0.08 {
                    tags["barrier"] = "lift_gate"
                    tags[random.uniform() < 0.5 ? "access" : "hgv"] = "private"
                    if (row + column) % 3 == 0 { tags["maxweight"] = "12" }
                }
                data.addNode(
                    id: RandomMap.node(row, column, size), position: FixedCoordinate(frame.coordinate(of: point)),
                    tags: tags)
            }
        }
        let streets = RandomMap.addStreets(to: &data, size, hasRules, gone, &random)
        RandomMap.addRestrictions(to: &data, streets, size, hasRules, &random)
        let built = try MapBuilder(MapBuilder.Options(jobs: 1)).build(data.build())
        tiles = try built.tiles.map { try $0.roadTile }
        graph = RoadGraph(tiles: tiles, mapVersion: built.report.mapVersion)
        bounds = built.report.bounds
    }

    /// Returns a random place in the town.
    package func place(_ random: inout SeededRandom) -> Coordinate {
        Coordinate(
            latitude: bounds.south + (bounds.north - bounds.south) * random.uniform(),
            longitude: bounds.west + (bounds.east - bounds.west) * random.uniform())
    }

    private struct Street {
        var id: Int64
        var first: (row: Int, column: Int)
        var second: (row: Int, column: Int)
    }

    private static func node(_ row: Int, _ column: Int, _ size: Int) -> Int64 { Int64(1 + row * size + column) }

    /// Road rules that apply to some vehicles or at some times.
    private static let rules = [
        ("hgv", "no"), ("hgv", "destination"), ("maxweight", "12"), ("maxaxleload", "9"), ("hazmat", "no"),
        ("maxspeed:hgv", "20"), ("motor_vehicle:conditional", "no @ (22:00-06:00)"),
        ("access:conditional", "destination @ (Mo-Fr 07:00-19:00)"), ("maxspeed:conditional", "20 @ (06:00-20:00)"),
        ("hgv:conditional", "no @ (Sa-Su)"), ("oneway:conditional", "yes @ (07:00-12:00)"),
        ("maxspeed:hgv:conditional", "15 @ (20:00-08:00)"),
    ]

    /// Keys of turn restrictions, with the text before and after their value.
    private static let bindings = [
        ("restriction:hgv", ""), ("restriction:motorcar", ""),
        ("restriction:conditional", " @ (Mo-Fr 06:00-14:00)"), ("restriction:conditional", " @ (12:00-24:00)"),
        ("restriction:hgv:conditional", " @ (18:00-08:00)"),
    ]

    private static func addStreets(
        to data: inout OSMDataBuilder, _ size: Int, _ hasRules: Bool, _ gone: Set<Int>, _ random: inout SeededRandom
    ) -> [Street] {
        let ranks = ["primary", "secondary", "residential", "residential", "living_street", "trunk"]
        var streets: [Street] = []
        for row in 0..<size {
            for column in 0..<size {
                for (toRow, toColumn) in [(row + 1, column), (row, column + 1)] where toRow < size && toColumn < size {
                    guard random.uniform() < 0.85 else { continue }
                    var tags = ["highway": ranks[Int(random.next() % UInt64(ranks.count))]]
                    let kind = random.uniform()
                    if kind < 0.15 { tags["oneway"] = "yes" } else if kind < 0.3 { tags["oneway"] = "-1" }
                    if random.uniform() < 0.06 { tags["access"] = random.uniform() < 0.5 ? "private" : "destination" }
                    if hasRules, random.uniform() < 0.25 {
                        let rule = rules[Int(random.next() % UInt64(rules.count))]
                        tags[rule.0] = rule.1
                    }
                    let street = Street(
                        id: Int64(1_000 + streets.count), first: (row, column), second: (toRow, toColumn))
                    if !gone.contains(streets.count) {
                        data.addWay(
                            id: street.id, nodes: [node(row, column, size), node(toRow, toColumn, size)], tags: tags)
                    }
                    streets.append(street)
                }
            }
        }
        return streets
    }

    private static func addRestrictions(
        to data: inout OSMDataBuilder, _ streets: [Street], _ size: Int, _ hasRules: Bool,
        _ random: inout SeededRandom
    ) {
        func touching(_ place: (row: Int, column: Int), but other: Int64) -> [Street] {
            streets.filter { ($0.first == place || $0.second == place) && $0.id != other }
        }
        func pick(_ list: [Street]) -> Street? { list.isEmpty ? nil : list[Int(random.next() % UInt64(list.count))] }
        for number in 0..<(hasRules ? 4 : 1) * size * size {
            guard let from = pick(streets) else { return }
            let corner = random.uniform() < 0.5 ? from.first : from.second
            guard let second = pick(touching(corner, but: from.id)) else { continue }
            let kind = random.uniform() < 0.7 ? "no_left_turn" : "only_straight_on"
            var members: [(kind: OSMData.Member.Kind, id: Int64, role: String)] = [(.way, from.id, "from")]
            if random.uniform() < 0.5 {
                members.append((.node, node(corner.row, corner.column, size), "via"))
                members.append((.way, second.id, "to"))
            } else {
                let far = second.first == corner ? second.second : second.first
                guard let third = pick(touching(far, but: second.id)) else { continue }
                members.append((.way, second.id, "via"))
                members.append((.way, third.id, "to"))
            }
            var binding = ("restriction", "")
            if hasRules, random.uniform() < 0.6 { binding = bindings[Int(random.next() % UInt64(bindings.count))] }
            data.addRelation(
                id: Int64(number + 1), members: members,
                tags: ["type": "restriction", binding.0: kind + (binding.1.isEmpty ? "" : binding.1)])
        }
    }
}
