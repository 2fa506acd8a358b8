import Foundation
import GNSSNode
import NavBag
import NavGeo
import NavKit
import NavMap
import NavMapBuild
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavSimulation
import NavTestKit
import NavWire
import NavigationNode
import TileCacheNode

/// Central Helsinki and a drive through it with a wrong turn, generated once.
enum Helsinki {
    static let from = NavGeo.Coordinate(latitude: 60.1655, longitude: 24.9375)
    static let to = NavGeo.Coordinate(latitude: 60.1765, longitude: 24.9505)

    static let map: Result<MapSnapshot, any Error> = Result {
        try withTemporaryFolder { MapSnapshot(graph: try TilesetDirectory(path: try buildTiles(in: $0)).loadGraph()) }
    }

    static let drive: Result<[GnssFix], any Error> = Result {
        let map = try Helsinki.map.get()
        return try withTemporaryFolder { folder in
            let plan = DriveSimulator.Plan(
                waypoints: [NavRouting.Waypoint(from), NavRouting.Waypoint(to)], deviateAt: 500,
                receiver: ReceiverModel(.open), rate: 1, seed: 1, start: NavGeo.Timestamp(nanoseconds: start))
            // The node's router chooses the same of two routes with equal costs.
            _ = try DriveSimulator(router: .fastest(map.metric)).run(plan, into: folder + "/drive.mcap")
            return try TraceInput(path: folder + "/drive.mcap").fixes.all()
        }
    }

    /// The start of the drive, ns.
    static let start: Int64 = 1_767_258_000_000_000_000

    /// Builds the tiles and returns their folder; `country` changes the default speeds.
    static func buildTiles(in folder: String, country: String? = nil) throws -> String {
        _ = try MapBuilder(MapBuilder.Options(jobs: 1, country: country)).build(
            input: TestData.fixture("helsinki.osm.pbf"), output: folder + "/tiles")
        return folder + "/tiles"
    }

    /// The configuration for guidance to the drive's destination.
    static var configuration: NavigationConfiguration {
        var configuration = NavigationConfiguration()
        configuration.destination = to
        return configuration
    }
}

extension RecordedFixes {
    func all() throws -> [GnssFix] {
        var fixes: [GnssFix] = []
        try forEach { fixes.append($0) }
        return fixes
    }
}

extension NodeRunner<NavigationNode> {
    /// Steps until no work is pending, and calls `afterStep` after each step.
    func finishWork(_ afterStep: () throws -> Void = {}) async throws {
        try await eventually("the node has no work", pause: 5) {
            guard node.pendingCount > 0 else { return true }
            try step(waiting: .zero)
            try afterStep()
            return false
        }
    }
}
