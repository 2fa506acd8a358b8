import Foundation
public import NavMap
import NavMapBuild
public import NavRouting

/// A real extract as tiles, graph and turns, built once per test run.
public struct RealMap: Sendable {
    /// The tiles, by ascending id.
    public let tiles: [RoadTile]
    /// All tiles as one graph.
    public let graph: RoadGraph
    /// The graph's turns.
    public let turns: TurnGraph

    /// Central Helsinki, part of the project.
    public static let helsinki = Result { try RealMap(path: "\(TestData.project)/Tests/Fixtures/helsinki.osm.pbf") }
    /// Andorra, of the shared data.
    public static let andorra = Result { try RealMap(path: TestData.osm("andorra")) }
    /// Porto, of the shared data.
    public static let porto = Result { try RealMap(path: TestData.osm("porto")) }

    /// Where an extract lies; nil when it is not there.
    public static func path(_ name: String) -> String? {
        [TestData.osm(name), "\(TestData.project)/Tests/Fixtures/\(name).osm.pbf"].first {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    /// Builds an extract in memory.
    public init(path: String) throws {
        let data = try OSMPBFReader.read(path: path, jobs: 2)
        let built = try MapBuilder(MapBuilder.Options(jobs: 2)).build(data)
        tiles = try built.tiles.map { try $0.roadTile }
        graph = RoadGraph(tiles: tiles, mapVersion: built.report.mapVersion)
        turns = TurnGraph(graph)
    }

    /// A router for a vehicle.
    public func router(_ profile: VehicleProfile = VehicleProfile()) -> Router {
        Router(Metric(turns, model: CostModel(profile: profile)))
    }
}

/// Where test data lies.
public enum TestData {
    /// The project's directory.
    public static let project: String = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// The shared data: `NAVBUS_TEST_DATA`, else `../shared/data` of the project.
    public static let directory: String =
        ProcessInfo.processInfo.environment["NAVBUS_TEST_DATA"]
        ?? URL(fileURLWithPath: project).deletingLastPathComponent().appendingPathComponent("shared/data").path

    /// An OpenStreetMap extract of the shared data.
    public static func osm(_ name: String) -> String { "\(directory)/osm/\(name).osm.pbf" }

    /// Whether a file of the shared data is there.
    public static func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(directory)/\(path)") }
}
