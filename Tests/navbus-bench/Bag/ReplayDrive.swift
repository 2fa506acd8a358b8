import NavBag
import NavGeo
import NavKit
import NavMap
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavSimulation
import NavWire
import NavigationNode

/// A simulated drive to a destination that is replayed into a bag.
final class ReplayDrive {
    private let map: MapSnapshot
    private let configuration: NavigationConfiguration
    private let planner = RoutePlanner()
    private let fixes: RecordedFixes
    /// The number of replays of the drive in a round.
    private let repetitions: Int

    /// The minimum distance between the ends of the drive in a straight line, metres; less on a map smaller than four
    /// times this distance.
    private static let reach = 20_000.0
    private static let attempts = 20_000

    /// Simulates a drive between random places.
    ///
    /// - Parameter count: the minimum number of fixes in a round.
    init(tiles: String, seed: UInt64, fixes count: Int) throws {
        let directory = try TilesetDirectory(path: tiles)
        map = MapSnapshot(graph: try directory.loadGraph(), model: CostModel())
        let router = Router(map.metric)
        let reach = min(ReplayDrive.reach, directory.tileset.bounds.diagonal / 4)
        var random = RandomPlaces(router, seed: seed)
        let folder = try ScratchFolder(in: "/tmp")
        let path = folder.path + "/drive.mcap"
        for _ in 0..<ReplayDrive.attempts {
            guard let start = random.place(), let end = random.place(),
                random.route(from: start, to: end, apart: reach...2 * reach) != nil
            else { continue }
            let plan = DriveSimulator.Plan(
                waypoints: [Waypoint(start), Waypoint(end)], deviateAt: nil, receiver: ReceiverModel(.open), rate: 1,
                seed: seed, start: NavGeo.Timestamp(nanoseconds: 1_767_258_000_000_000_000))
            _ = try DriveSimulator(router: router).run(plan, into: path)
            var configuration = NavigationConfiguration()
            configuration.destination = end
            self.configuration = configuration
            fixes = try TraceInput(path: path).fixes
            repetitions = max(1, count / max(fixes.count, 1))
            return
        }
        throw NodeError(.missing, "the map is too small for a drive of \(Int(reach / 1_000)) km")
    }

    /// The description of the drive for the report's header.
    var line: String { "replay   a drive of \(fixes.count) fixes, \(repetitions) times" }

    /// Measures the number of fixes replayed per second of this thread's processor time.
    func run() throws -> [String: Double] {
        let folder = try ScratchFolder(in: "/tmp")
        let watch = Stopwatch(processorTime: true)
        let start = watch.now()
        for _ in 0..<repetitions {
            var log = MessageLog(try BagWriter(path: folder.path + "/replay.mcap", overwrite: true))
            let summary = try Replay(map: map, configuration: configuration, planner: planner).run(fixes, into: &log)
            try log.close()
            guard summary.fixes == fixes.count, summary.arrivals == 1 else {
                throw NodeError(.invalid, "the replay ended at fix \(summary.fixes) without the arrival")
            }
        }
        return ["fixes_per_s": Double(fixes.count * repetitions) * 1e9 / Double(watch.now() - start)]
    }
}
