import Foundation
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestKit
import NavWire
import NavigationNode
import Synchronization
import Testing

/// Measurements of the time that new traffic and a new tile take, and of their effect on searches for routes. Not a
/// test: it prints the results, and runs when `NAVBUS_BENCH=live` and `NAVBUS_TILES` names a directory of road tiles.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["NAVBUS_BENCH"] == "live"))
struct LiveMapMeasurements {
    /// Finds routes between places of the map on a separate thread until it is stopped.
    private final class Searcher: Sendable {
        private let store: MapStore
        private let isStopped = Atomic(false)
        private let finished = DispatchSemaphore(value: 0)
        private let times = Mutex<[Double]>([])

        init(_ store: MapStore) {
            self.store = store
            let thread = Thread { [self] in
                let workspace = SearchWorkspace()
                var state: UInt64 = 1
                var own: [Double] = []
                while !isStopped.load(ordering: .relaxed) {
                    let router = store.current.router
                    let nodes = store.current.graph.nodePositions
                    let places = (0..<2).map { _ in
                        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        return NavRouting.Waypoint(nodes[Int(state >> 33) % nodes.count].coordinate)
                    }
                    let start = ContinuousClock.now
                    _ = router.route(RouteRequest(waypoints: places), workspace: workspace)
                    own.append((ContinuousClock.now - start) / .milliseconds(1))
                }
                times.withLock { $0 = own }
                finished.signal()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }

        func stop(_ name: String) {
            isStopped.store(true, ordering: .relaxed)
            finished.wait()
            let sorted = times.withLock { $0 }.sorted()
            func quantile(_ share: Double) -> Double {
                sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
            }
            let numbers = [0.5, 0.99, 0.999, 1].map { String(format: "%.3f", quantile($0)) }.joined(separator: "/")
            print("queries \(name): \(sorted.count), p50/p99/p99.9/max \(numbers) ms")
        }
    }

    private static func memory(_ key: String) -> String {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return status.split(separator: "\n").first { $0.hasPrefix(key) }.map(String.init) ?? "?"
    }

    private static func milliseconds(_ body: () throws -> Void) rethrows -> String {
        let start = ContinuousClock.now
        try body()
        return String(format: "%.1f ms", (ContinuousClock.now - start) / .milliseconds(1))
    }

    /// Runs a body on a thread like that of the node's worker.
    private static func inBackground(_ body: @escaping @Sendable () -> Void) {
        let finished = DispatchSemaphore(value: 0)
        let thread = Thread {
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            body()
            finished.signal()
        }
        thread.stackSize = 8 << 20
        thread.start()
        finished.wait()
    }

    @Test(arguments: [1, 2])
    func trafficAndTilesWhileRoutesAreSearched(cores: Int) throws {
        let tiles = try #require(ProcessInfo.processInfo.environment["NAVBUS_TILES"])
        try withTemporaryFolder { folder in
            let path = folder + "/tiles"
            try FileManager.default.copyItem(atPath: tiles, toPath: path)
            var supply = try TileSupply(path: path)
            let store = MapStore(MapSnapshot(graph: supply.graph()), cores: cores)
            store.current.turns.prepareForTraffic()
            print("cores \(cores); one map: \(Self.memory("VmRSS"))")
            let bytes = Self.everySpeed(store.current.graph).encoded()

            let idle = Searcher(store)
            Thread.sleep(forTimeInterval: 3)
            idle.stop("alone")

            let busy = Searcher(store)
            Self.inBackground {
                for _ in 0..<10 {
                    let time = Self.milliseconds {
                        let update = bytes.withUnsafeBytes { try? TrafficUpdate(decoding: $0, limit: 1 << 30) }
                        if let update { _ = store.update([update], at: NavGeo.Timestamp(nanoseconds: 0)) }
                    }
                    print("  new traffic everywhere: \(time)")
                }
            }
            busy.stop("with new traffic")
            print("after traffic: \(Self.memory("VmRSS")), \(Self.memory("VmHWM"))")

            // The largest tile is removed and added.
            let entry = try #require(supply.directory.tileset.tiles.max { $0.bytes < $1.bytes })
            let file = path + "/" + entry.file
            try FileManager.default.moveItem(atPath: file, toPath: file + ".away")
            supply = try TileSupply(path: path)
            _ = store.update([], roads: supply.graph(), at: NavGeo.Timestamp(nanoseconds: 0))
            let arriving = Searcher(store)
            try FileManager.default.moveItem(atPath: file + ".away", toPath: file)
            let supplied = Mutex(supply)
            Self.inBackground {
                let time = Self.milliseconds {
                    let roads = supplied.withLock { supply in
                        var problems: [String] = []
                        #expect(supply.refresh(&problems)?.added.count == 1 && problems.isEmpty)
                        return supply.graph()
                    }
                    _ = store.update([], roads: roads, at: NavGeo.Timestamp(nanoseconds: 0))
                }
                print("  a tile of \(entry.bytes) bytes arrives, with the traffic that is known: \(time)")
            }
            arriving.stop("with a tile")
            print("after the tile: \(Self.memory("VmRSS")), \(Self.memory("VmHWM"))")
        }
    }

    /// A speed for every segment of the map.
    private static func everySpeed(_ graph: RoadGraph) -> TrafficSpeeds {
        var speeds: [NavMessages.TrafficSpeed] = []
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            let shape = graph.shape(of: edge)
            for point in 1..<shape.count {
                speeds.append(
                    NavMessages.TrafficSpeed(
                        wayId: graph.wayID(of: edge), fromNode: shape.nodeID(point - 1), toNode: shape.nodeID(point),
                        speedMps: Double(graph.traits(of: edge).freeFlowSpeed) * (0.3 + 0.1 * Double(index % 8))))
            }
        }
        return TrafficSpeeds(replacesAll: true, speeds: speeds)
    }
}
