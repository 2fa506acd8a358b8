import Foundation
import NavMap
import NavMapBuild
import NavTestKit
import Testing

/// The extract in the repository, which every clone has.
struct CommittedExtractTests {
    @Test("the committed extract builds to a road graph of the expected length, in the expected country")
    func builds() throws {
        try expectRoads(of: TestData.helsinki, edges: 1_500...1_900, kilometres: 47.5)
        try expectCountries(of: TestData.helsinki, ["FI"])
    }
}

/// Builds an extract and checks the size of its road graph.
private func expectRoads(of path: String, edges: ClosedRange<Int>, kilometres: Double) throws {
    let (_, report) = try MapBuilder().build(try OSMPBFReader.read(path: path, jobs: 2))
    #expect(edges.contains(report.edges))
    #expect(abs(report.edgeLength / 1000 - kilometres) < 0.01 * kilometres)
    #expect(report.warnings[.duplicateIDs] == nil && report.warnings[.invalidCoordinates] == nil)
}

@Suite("Real extracts", .needs("osm", "gnss/hof/network.osm.pbf"))
struct RealExtractTests {
    /// The expected numbers of nodes and ways are those reported by osmium.
    @Test(
        "the counts of an extract match osmium's, and its road graph has the expected size",
        arguments: [
            ("porto", 347_944, 51_458, 357, 100_000...170_000), ("andorra", 490_035, 25_706, 721, 6_000...16_000),
        ])
    func counts(name: String, nodes: Int, ways: Int, relations: Int, edges: ClosedRange<Int>) throws {
        let data = try OSMPBFReader.read(path: TestData.osm(name), jobs: 2)
        #expect(data.statistics.nodes == nodes)
        #expect(data.statistics.ways == ways)
        #expect(data.statistics.relations == relations)
        let (tiles, report) = try MapBuilder().build(data)
        #expect(edges.contains(report.edges))
        #expect(tiles.count == report.tiles)
        #expect(report.restrictions > 0)
    }

    /// The expected lengths, in both directions, are sums over the ways read by osmium, with the same access rules.
    @Test(
        "every extract builds to a road graph of the expected length",
        arguments: [
            ("liechtenstein", 7_500...9_500, 1_008.9), ("heidelberg", 33_000...40_000, 4_032.9),
            ("cathedral", 20_000...23_500, 1_837.7),
        ])
    func builds(name: String, edges: ClosedRange<Int>, kilometres: Double) throws {
        try expectRoads(of: TestData.osm(name), edges: edges, kilometres: kilometres)
    }

    @Test("driven roads with consecutive small ids give distinct edges")
    func drivenRoads() throws {
        let built = try BuiltMap(try OSMPBFReader.read(path: TestData.drivenRoads))
        #expect(built.report.nodes == 3_776 && built.report.ways == 448 && built.report.roads == 448)
        #expect(
            (0..<built.graph.edgeCount).allSatisfy {
                built.graph.attributes(of: EdgeIndex($0)).roadClass == .unclassified
            })
        #expect(Set(built.edges).count == built.edges.count)
    }

    @Test("the number of jobs does not affect the data that is read")
    func jobs() throws {
        let one = try OSMPBFReader.read(path: TestData.osm("cathedral"), jobs: 1)
        let four = try OSMPBFReader.read(path: TestData.osm("cathedral"), jobs: 4)
        #expect(one.nodeIDs == four.nodeIDs && one.latitudes == four.latitudes && one.longitudes == four.longitudes)
        #expect(one.ways.ids == four.ways.ids && one.ways.parts == four.ways.parts)
        #expect(one.ways.tags.values == four.ways.tags.values && one.nodeTags.values == four.nodeTags.values)
        #expect(one.strings.count == four.strings.count)
    }
}
