import Foundation
import NavGeo
import NavMap
import NavMapBuild
import NavTestKit
import NavTestSupport
import Testing

/// Countries on a grid of 0.01°, about 1.1 km by 0.75 km at 48° north: node 100 * row + column, rows to the north.
struct CountryGrid {
    var builder = OSMDataBuilder()
    private var known: Set<Int64> = []

    mutating func way(_ id: Int64, _ nodes: [Int64], _ tags: [String: String] = ["highway": "primary"]) {
        for node in nodes where known.insert(node).inserted {
            builder.addNode(id: node, position: CountryGrid.position(node))
        }
        builder.addWay(id: id, nodes: nodes, tags: tags)
    }

    /// Adds a border way; the relation does not depend on its tags.
    mutating func border(_ id: Int64, _ nodes: [Int64]) { way(id, nodes, ["admin_level": "2"]) }

    mutating func country(
        _ id: Int64, _ code: String, _ ways: [Int64], inner: [Int64] = [], key: String = "ISO3166-1:alpha2"
    ) {
        let members: [(kind: OSMData.Member.Kind, id: Int64, role: String)] =
            ways.map { (.way, $0, "outer") } + inner.map { (.way, $0, "inner") }
        builder.addRelation(id: id, members: members, tags: ["boundary": "administrative", key: code])
    }

    static func position(_ node: Int64) -> FixedCoordinate {
        FixedCoordinate(
            latitudeE7: 480_000_000 + Int32(node / 100) * 100_000,
            longitudeE7: 110_000_000 + Int32(node % 100) * 100_000)
    }

    var built: BuiltMap { get throws { try BuiltMap(builder.build()) } }
}

extension BuiltMap {
    /// Returns the country of the edge between two nodes.
    func country(_ tail: Int64, _ head: Int64) -> String? {
        edge(tail, head).map { graph.attributes(of: $0).country }
    }
}

@Suite("Countries of roads")
struct CountryTests {
    /// Adds a square from 202 to 1212, whose sides are four ways in alternating directions.
    private func square(_ grid: inout CountryGrid, tags: Bool = true) {
        for (id, nodes) in [
            (1, [202, 212]), (2, [1212, 212]), (3, [1212, 1202]), (4, [202, 1202]),
        ] as [(Int64, [Int64])] {
            if tags { grid.border(id, nodes) } else { grid.way(id, nodes, ["natural": "ridge"]) }
        }
    }

    @Test("a closed border encloses its country in any order of its ways; outside, the country is unknown")
    func closed() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.country(90, "AD", [1, 2, 3, 4])
        grid.way(10, [505, 705])
        grid.way(11, [1505, 1605])
        let map = try grid.built
        #expect(map.country(505, 705) == "AD" && map.country(1505, 1605) == "")
        #expect(map.report.countries.map(\.country) == ["AD", ""] && map.report.country == "")
        #expect(map.report.warnings[.unknownCountry] == 2)
    }

    @Test("a road across a border is split at the node before it, and each part follows its country's rules")
    func crossing() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.border(5, [212, 222])
        grid.border(6, [222, 1222])
        grid.border(7, [1212, 1222])
        grid.country(90, "GB", [1, 2, 3, 4])
        grid.country(91, "FR", [2, 5, 6, 7])
        grid.way(10, [608, 610, 611, 613, 614], ["highway": "motorway"])
        let map = try grid.built
        // The border is in the middle between 611 and 613; each edge belongs to the country of its middle.
        #expect(map.country(608, 611) == "GB" || map.country(608, 613) == "GB")
        let first = try #require(map.edge(608, 611) ?? map.edge(608, 613))
        let second = try #require(map.edge(613, 614) ?? map.edge(611, 614))
        let (english, french) = (map.graph.attributes(of: first), map.graph.attributes(of: second))
        #expect(english.flags.contains(.leftHandTraffic) && !french.flags.contains(.leftHandTraffic))
        #expect(english.speedLimit.map { ($0 * 3.6).rounded() } == 113)
        #expect(french.country == "FR" && french.speedLimit.map { ($0 * 3.6).rounded() } == 130)
        #expect(map.report.edges == 2)
    }

    @Test("a border with a gap encloses nothing")
    func gap() throws {
        var grid = CountryGrid()
        square(&grid)
        // The fourth side is outside the extract.
        grid.country(90, "AD", [1, 2, 3, 77])
        grid.way(10, [505, 605])
        #expect(try grid.built.country(505, 605) == "")
    }

    @Test("a border with a missing node encloses nothing")
    func missingNode() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.builder.addWay(id: 8, nodes: [202, 99_999, 1202], tags: ["admin_level": "2"])
        grid.country(90, "AD", [1, 2, 3, 8])
        grid.way(10, [505, 605])
        #expect(try grid.built.country(505, 605) == "")
    }

    @Test("an enclave is its own country, with or without a hole in the outer border")
    func enclave() throws {
        for role in [true, false] {
            var grid = CountryGrid()
            square(&grid)
            grid.border(5, [505, 508, 808, 805, 505])
            grid.country(90, "IT", [1, 2, 3, 4], inner: role ? [5] : [])
            grid.country(91, "SM", [5])
            grid.way(10, [303, 403])
            grid.way(11, [606, 607])
            let map = try grid.built
            #expect(map.country(303, 403) == "IT" && map.country(606, 607) == "SM")
        }
    }

    @Test("an inner border alone does not assign its interior to the surrounding country")
    func innerAlone() throws {
        var grid = CountryGrid()
        grid.border(5, [505, 507, 707, 705, 505])
        grid.country(90, "IT", [77], inner: [5])
        grid.way(10, [606, 1606])
        #expect(try grid.built.edges.allSatisfy { try grid.built.country($0.tail, $0.head) == "" })
    }

    @Test("untagged border ways are found through their relation")
    func untaggedWays() throws {
        var grid = CountryGrid()
        square(&grid, tags: false)
        grid.country(90, "LI", [1, 2, 3, 4], key: "ISO3166-1")
        grid.way(10, [505, 605])
        #expect(try grid.built.country(505, 605) == "LI")
    }

    @Test("a neighbour with an open border lies beyond the shared part, except near the open ends")
    func neighbour() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.country(90, "AD", [1, 2, 3, 4])
        // Spain's border enters the extract, follows the southern side, and leaves.
        grid.country(91, "ES", [1, 77])
        grid.way(10, [107, 108])
        grid.way(11, [101, 102])
        grid.way(12, [9, 19])
        grid.way(13, [1307, 1308])
        let map = try grid.built
        #expect(map.country(107, 108) == "ES", "a kilometre south of the middle")
        #expect(map.country(101, 102) == "", "another border may begin at the corner")
        #expect(map.country(1307, 1308) == "", "no border of a neighbour is known in the north")
    }

    @Test("a road along a border does not change country at every bend")
    func alongBorder() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.country(90, "AD", [1, 2, 3, 4])
        // The bends are up to 22 m beyond the southern side, and the middles of the edges alternate between outside and
        // inside.
        var line: [Int64] = [303]
        for (bend, shift) in ([300, -500, 600, -800, 900, -1_100] as [Int32]).enumerated() {
            let id = Int64(9_000 + bend)
            grid.builder.addNode(
                id: id,
                position: FixedCoordinate(
                    latitudeE7: 480_200_000 + shift, longitudeE7: 110_400_000 + Int32(bend) * 5_000))
            line.append(id)
        }
        grid.way(11, [303, 305])
        grid.builder.addWay(id: 10, nodes: line + [305], tags: ["highway": "primary"])
        #expect(try grid.built.report.countries.map(\.country) == ["AD"])
    }

    @Test("the country is that of the option, else of borders, else of zone tags, else of addresses")
    func order() throws {
        var grid = CountryGrid()
        square(&grid)
        grid.country(90, "AD", [1, 2, 3, 4])
        grid.way(10, [505, 605], ["highway": "primary", "maxspeed:type": "FR:rural"])
        grid.way(11, [1505, 1605], ["highway": "primary", "maxspeed:type": "FR:rural"])
        let data = grid.builder.build()
        let found = try BuiltMap(data)
        #expect(found.country(505, 605) == "AD" && found.country(1505, 1605) == "FR")
        let stated = try MapBuilder(.init(jobs: 1, country: "PT")).build(data)
        #expect(stated.report.countries.map(\.country) == ["PT"])

        var open = CountryGrid()
        open.way(10, [505, 605], ["highway": "primary", "maxspeed:type": "FR:rural"])
        open.way(11, [1505, 1605])
        for id in 0..<40 {
            open.builder.addNode(
                id: Int64(5_000 + id), position: CountryGrid.position(1), tags: ["addr:country": "DE"])
        }
        open.way(12, [303, 304], ["building": "yes", "addr:country": "DE"])
        let presumed = try open.built
        #expect(presumed.country(505, 605) == "FR" && presumed.country(1505, 1605) == "DE")
    }

    @Test(
        "tagged objects determine the country if at least three agree and at most one in twenty differs",
        arguments: [(3, 0, "DE"), (2, 0, ""), (40, 2, "DE"), (30, 10, "")])
    func evidence(german: Int, french: Int, expected: String) {
        var evidence = CountryEvidence()
        for (code, count) in [("DE", german), ("FR", french), ("Germany", 50), ("de", 50)] {
            for _ in 0..<count { Array(code.utf8).withUnsafeBytes { evidence.add($0) } }
        }
        #expect(CountryCode.text(evidence.country) == expected)
    }

    @Test("UK counts as GB")
    func unitedKingdom() {
        var evidence = CountryEvidence()
        for code in ["UK", "GB", "UK"] { Array(code.utf8).withUnsafeBytes { evidence.add($0) } }
        #expect(CountryCode.text(evidence.country) == "GB")
    }

    @Test("living streets are closed to through traffic where the country's rules require it")
    func livingStreets() {
        func isBarred(_ country: String, _ tags: [String: String] = [:]) -> Bool? {
            RoadTags.attributes(of: tags.merging(["highway": "living_street"]) { $1 }, country: country).forward?
                .flags.contains(.destinationOnly)
        }
        #expect(isBarred("RU") == true && isBarred("DE") == false && isBarred("") == false)
        #expect(isBarred("UA", ["motor_vehicle": "yes"]) == false)
    }

    @Test("XML and PBF give the same countries with any number of jobs")
    func xml() throws {
        let text = """
            <osm version="0.6">
              <node id="1" lat="48" lon="11"/><node id="2" lat="48" lon="11.1"/>
              <node id="3" lat="48.1" lon="11.1"/><node id="4" lat="48.1" lon="11"/>
              <node id="5" lat="48.05" lon="11.05"/><node id="6" lat="48.06" lon="11.06"/>
              <way id="1"><nd ref="1"/><nd ref="2"/><nd ref="3"/><tag k="waterway" v="river"/></way>
              <way id="2"><nd ref="1"/><nd ref="4"/><nd ref="3"/><tag k="admin_level" v="2"/></way>
              <way id="3"><nd ref="5"/><nd ref="6"/><tag k="highway" v="primary"/></way>
              <relation id="9"><member type="way" ref="1" role=""/><member type="way" ref="2" role="outer"/>
                <tag k="boundary" v="administrative"/><tag k="ISO3166-1:alpha2" v="CH"/></relation>
            </osm>
            """
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let path = directory.appendingPathComponent("map.osm").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let map = try BuiltMap(try OSMXMLReader.read(path: path))
        #expect(map.country(5, 6) == "CH" && map.report.country == "CH")
    }
}

@Suite("Countries of real extracts", .needs("osm"))
struct RealCountryTests {
    @Test(
        "real extracts are in the expected countries",
        arguments: [
            ("andorra", ["AD", "FR", "ES"]), ("liechtenstein", ["LI"]), ("heidelberg", ["DE"]), ("porto", ["PT"]),
            ("cathedral", [""]),
        ])
    func countries(name: String, expected: [String]) throws {
        try expectCountries(of: TestData.osm(name), expected)
    }
}

/// Builds an extract with one and with four jobs, and checks its countries, sorted by frequency.
func expectCountries(of path: String, _ expected: [String]) throws {
    let data = try OSMPBFReader.read(path: path, jobs: 2)
    let one = try MapBuilder(.init(jobs: 1)).build(data)
    let four = try MapBuilder(.init(jobs: 4)).build(data)
    #expect(one.report == four.report && one.tiles == four.tiles)
    #expect(Set(one.report.countries.map(\.country)).isSuperset(of: expected), "\(one.report.countries)")
    #expect(one.report.countries.first?.country == expected.first)
}
