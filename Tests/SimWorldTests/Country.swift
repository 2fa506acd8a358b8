import Glibc
import NavGeo
import NavMap
import NavMapBuild
import NavSimulation
import NavTestSupport

/// A random stretch of country, the same for the same seed: villages on a winding road, a parallel motorway with exits,
/// ramps, a tunnel and a frontage road, roundabouts, and dead ends.
struct Country {
    let tiles: [RoadTile]
    let mapVersion: String
    let bounds: BoundingBox

    /// - Parameter gone: the removed ways, by the order in which they are drawn.
    init(seed: UInt64, without gone: Set<Int> = []) throws {
        var draft = CountryDraft(seed: seed, gone: gone)
        draft.draw()
        let built = try MapBuilder(MapBuilder.Options(jobs: 1)).build(draft.data.build())
        tiles = try built.tiles.map { try $0.roadTile }
        mapVersion = built.report.mapVersion
        bounds = built.report.bounds
    }
}

/// The roads of a country while it is drawn.
private struct CountryDraft {
    var data = OSMDataBuilder()
    private var random: SeededRandom
    private let gone: Set<Int>
    private let frame = LocalFrame(origin: TestPlaces.everyTileCorner)
    private var nodes: Int64 = 0
    private var ways = 0

    init(seed: UInt64, gone: Set<Int>) {
        random = SeededRandom(seed: seed)
        self.gone = gone
    }

    private mutating func node(_ east: Double, _ north: Double, _ tags: [String: String] = [:]) -> Int64 {
        nodes += 1
        let place = frame.coordinate(of: LocalPoint(east: east, north: north))
        data.addNode(id: nodes, position: FixedCoordinate(place), tags: tags)
        return nodes
    }

    private mutating func way(_ nodes: [Int64], _ highway: String, _ name: String = "", _ tags: [String: String] = [:])
    {
        defer { ways += 1 }
        guard !gone.contains(ways) else { return }
        var tags = tags.merging(["highway": highway]) { $1 }
        if !name.isEmpty { tags["name"] = name }
        data.addWay(id: Int64(1_000 + ways), nodes: nodes, tags: tags)
    }

    private mutating func near(_ value: Double, _ spread: Double) -> Double {
        value + spread * (2 * random.uniform() - 1)
    }

    private mutating func chance(_ share: Double) -> Bool { random.uniform() < share }

    private struct Village {
        var (east, north) = (0.0, 0.0)
        var arms: [Int64] = []
    }

    mutating func draw() {
        let count = 5 + Int(random.next() % 4)
        let spacing = 900 + 900 * random.uniform()
        var villages: [Village] = []
        for number in 0..<count {
            let east = (Double(number) - Double(count - 1) / 2) * spacing
            villages.append(village(number, near(east, 200), near(0, 300)))
        }
        for (number, (first, second)) in zip(villages, villages.dropFirst()).enumerated() {
            road(number, from: first, to: second)
        }
        motorway(villages)
    }

    /// Draws four arms from a crossing or a roundabout, two of them joined by a loop, one of them a dead end.
    private mutating func village(_ number: Int, _ east: Double, _ north: Double) -> Village {
        var village = Village(east: east, north: north)
        let reach = near(180, 60)
        let directions = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)]
        village.arms = directions.map { node(near(east + $0.0 * reach, 30), near(north + $0.1 * reach, 30)) }
        let street = "Street \(number)"
        if chance(0.4) {
            let ring = directions.map { node(east + $0.0 * 16, north + $0.1 * 16) }
            // Anticlockwise for right-hand traffic.
            way([ring[0], ring[3], ring[2], ring[1], ring[0]], "secondary", "", ["junction": "roundabout"])
            for (arm, entry) in zip(village.arms, ring) { way([arm, entry], "secondary", street) }
        } else {
            let centre = node(east, north, chance(0.5) ? ["highway": "traffic_signals"] : [:])
            way([village.arms[3], centre, village.arms[1]], "secondary", street)
            way([village.arms[0], centre, village.arms[2]], "residential", "Lane \(number)")
        }
        let corner = node(near(east + reach, 30), near(north - reach, 30))
        way(
            [village.arms[1], corner, village.arms[2]], "residential", "Loop \(number)",
            chance(0.3) ? ["oneway": "yes"] : [:])
        way([village.arms[2], node(near(east, 40), north - 2 * reach)], "residential", "Close \(number)")
        return village
    }

    private mutating func road(_ number: Int, from first: Village, to second: Village) {
        var line = [first.arms[1]]
        for step in 1..<5 {
            let share = Double(step) / 5
            line.append(
                node(
                    near(first.east + 180 + (second.east - first.east - 360) * share, 40),
                    near(first.north + (second.north - first.north) * share, 90)))
        }
        line.append(second.arms[3])
        let name = "Country Road \(number)"
        guard chance(0.25) else { return way(line, "tertiary", name, ["maxspeed": "80"]) }
        way(Array(line[0...2]), "tertiary", name, ["maxspeed": "80"])
        way(Array(line[2...3]), "tertiary", name, ["maxspeed": "80", "tunnel": "yes", "layer": "-1"])
        way(Array(line[3...]), "tertiary", name, ["maxspeed": "80"])
    }

    /// Draws two carriageways from the first village to the last, with exits at every second one.
    private mutating func motorway(_ villages: [Village]) {
        let north = 900 + 300 * random.uniform()
        let exits = villages.indices.filter { $0 % 2 == 0 || $0 == villages.count - 1 }
        var carriageways: [[Int64]] = [[], []]
        for exit in exits {
            let village = villages[exit]
            let (isFirst, isLast) = (exit == exits.first, exit == exits.last)
            let gore = exits.map { villages[$0].east }
            let reach = min(300, (gore[gore.count - 1] - gore[0]) / Double(gore.count) / 3)
            let junction = node(near(village.east, 30), north - 250)
            way([junction, village.arms[0]], "tertiary", "Access \(exit)", ["maxspeed": "60"])
            let off = (node(village.east - reach, north), node(village.east + reach, north + 30))
            let on = (node(village.east + reach, north), node(village.east - reach, north + 30))
            carriageways[0] += [off.0, on.0]
            carriageways[1] += [on.1, off.1]
            let ramp = ["oneway": "yes", "destination": "Village \(exit)"]
            let loop = node(village.east, north + 200)
            if !isFirst { way([off.0, junction], "motorway_link", "", ramp) }
            if !isLast { way([junction, on.0], "motorway_link", "", ["oneway": "yes"]) }
            if !isLast { way([off.1, loop, junction], "motorway_link", "", ramp) }
            if !isFirst {
                way(
                    [junction, node(village.east - reach / 2, north - 40), on.1], "motorway_link", "", ["oneway": "yes"]
                )
            }
        }
        let tunnel = 1 + Int(random.next() % UInt64(max(carriageways[0].count / 2 - 1, 1))) * 2
        for (side, line) in [carriageways[0], Array(carriageways[1].reversed())].enumerated() {
            for index in line.indices.dropLast() {
                var tags = ["oneway": "yes", "ref": "M 1", "maxspeed": "120"]
                let isTunnel = index == (side == 0 ? tunnel : line.count - 2 - tunnel)
                if isTunnel { tags["tunnel"] = "yes" }
                way(Array(line[index...(index + 1)]), "motorway", "", tags)
            }
        }
        // Beside the motorway, close enough to be confused with it.
        let first = villages[exits[0]]
        let second = villages[exits[1]]
        let frontage = [
            first.arms[0], node(first.east + 350, north - 30), node(second.east - 350, north - 30), second.arms[0],
        ]
        way(frontage, "unclassified", "Frontage Road")
    }
}
