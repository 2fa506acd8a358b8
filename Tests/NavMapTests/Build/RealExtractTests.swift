import Foundation
import NavMap
import NavMapBuild
import Testing

@Suite("Real extracts", .enabled(if: TestExtracts.areAvailable, "the extracts of NAVBUS_TEST_DATA are absent"))
struct RealExtractTests {
    /// The expected numbers of nodes and ways are those that osmium counts.
    @Test(
        "counts of an extract are osmium's, and its road graph is of the expected size",
        arguments: [
            ("porto", 347_944, 51_458, 357, 100_000...170_000), ("andorra", 490_035, 25_706, 721, 6_000...16_000),
        ])
    func counts(name: String, nodes: Int, ways: Int, relations: Int, edges: ClosedRange<Int>) throws {
        let data = try OSMPBFReader.read(path: TestExtracts.osm(name), jobs: 2)
        #expect(data.statistics.nodes == nodes)
        #expect(data.statistics.ways == ways)
        #expect(data.statistics.relations == relations)
        let (tiles, report) = try MapBuilder().build(data)
        #expect(edges.contains(report.edges))
        #expect(tiles.count == report.tiles)
        #expect(report.restrictions > 0)
    }

    @Test("every extract builds", arguments: ["helsinki", "liechtenstein", "heidelberg", "cathedral"])
    func builds(name: String) throws {
        let data = try OSMPBFReader.read(path: TestExtracts.osm(name), jobs: 2)
        let (_, report) = try MapBuilder().build(data)
        print(name, report)
        #expect(report.edges > 5_000)
        #expect(report.edgeLength > 100_000)
    }
}
