import Foundation
package import NavMap
import NavMapBuild
package import NavRouting
import NavTestKit

/// A real extract as tiles, graph and turns, built once per test run.
package struct RealMap: Sendable {
    /// The tiles, by ascending id.
    package let tiles: [RoadTile]
    /// All tiles as one graph.
    package let graph: RoadGraph
    /// The graph's turns.
    package let turns: TurnGraph

    /// Central Helsinki, a fixture of the project.
    package static let helsinki = Result { try RealMap(path: TestData.fixture("helsinki.osm.pbf")) }
    /// Andorra, from the shared test data.
    package static let andorra = Result { try RealMap(path: TestData.osm("andorra")) }
    /// Porto, from the shared test data.
    package static let porto = Result { try RealMap(path: TestData.osm("porto")) }

    /// The path of an extract; nil when it is missing.
    package static func path(_ name: String) -> String? {
        [TestData.osm(name), TestData.fixture("\(name).osm.pbf")].first {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    /// Builds an extract in memory.
    package init(path: String) throws {
        let data = try OSMPBFReader.read(path: path, jobs: 2)
        let built = try MapBuilder(MapBuilder.Options(jobs: 2)).build(data)
        tiles = try built.tiles.map { try $0.roadTile }
        graph = RoadGraph(tiles: tiles, mapVersion: built.report.mapVersion)
        turns = TurnGraph(graph)
    }

    /// Returns a router for a vehicle.
    package func router(_ profile: VehicleProfile = VehicleProfile()) -> Router {
        Router(Metric(turns, model: CostModel(profile: profile)))
    }
}
