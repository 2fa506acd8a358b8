import NavWire
import Foundation
import NavBench
import NavBus
import NavGeo
import NavKit
import NavMessages

/// A tile-cache-node that receives a vehicle's route and positions as if from a navigation-node.
final class CacheNode {
    /// The folder of the node's store.
    var store: String { workers.folder + "/store" }
    private let workers: Workers
    private let bus: BusNode
    private let link: NodeLink
    private let log: String
    private var lastRoute: UInt64 = 0

    /// The topics published to it.
    private static let topics: [any CatalogueTopic] = [Topics.position, Topics.progress, Topics.route]

    /// Starts the node with configuration keys, an empty store, and predictive caching.
    init(_ keys: [String: String]) throws {
        let program = Self.folder + "/tile-cache-node"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw NodeError(.missing, "\(program) is missing: build the whole package")
        }
        workers = try Workers()
        var keys = keys
        keys["store.path"] = workers.folder + "/store"
        keys["predictive.enabled"] = "true"
        log =
            "\(program) "
            + keys.sorted { $0.key < $1.key }.map { "--set \($0.key)='\($0.value)'" }.joined(separator: " ")
        try workers.start(
            Self.name,
            ["/usr/bin/env", "NAVBUS_DIR=\(workers.folder)", "NAVBUS_DOMAIN=0", program]
                + keys.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] })
        let directory = try BusDirectory(path: workers.folder)
        bus = try BusNode(name: "driver", configuration: BusConfiguration(directory: directory))
        link = NodeLink(bus, directory: directory, log: NodeLog(node: "driver"))
        try link.advertise(Self.topics)
        _ = try link.subscribe(to: Topics.tilesState)
    }

    private static let name = "tile-cache-node"

    /// The folder of the programs.
    private static let folder =
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    /// Ends the node.
    func close() {
        bus.close()
        workers.close()
    }

    /// Waits until the node has reached its sources and receives the vehicle's topics.
    ///
    /// - Returns: the version of its road tiles.
    func waitUntilReady() throws -> String {
        let deadline = Clocks.monotonic() + 30_000_000_000
        var version: String?
        while Clocks.monotonic() < deadline {
            if let version, Self.topics.allSatisfy({ link.subscriberCount(of: $0) > 0 }) { return version }
            guard let delivery = try bus.poll(timeout: .milliseconds(50)),
                let state = try? TilesState(decoding: delivery.payload.bytes)
            else { continue }
            if let known = state.mapVersion, !known.isEmpty { version = known }
        }
        throw BenchError("the tile-cache-node did not open its tiles within 30 s: \(log)")
    }

    // MARK: The vehicle

    /// Publishes a new route.
    func follow(_ coordinates: ArraySlice<NavGeo.Coordinate>) {
        lastRoute += 1
        link.publish(
            NavMessages.Route(
                stampNs: Clocks.wall(), routeId: lastRoute, geometry: NavMessages.Polyline(Array(coordinates))),
            on: Topics.route, stamp: stamp)
    }

    /// Publishes the vehicle's position.
    ///
    /// - Parameter offset: the vehicle's distance along the last route, metres.
    func move(to place: NavGeo.Coordinate, offset: Double) {
        link.publish(
            NavMessages.RouteProgress(stampNs: Clocks.wall(), routeId: lastRoute, distanceTraveledM: offset),
            on: Topics.progress, stamp: stamp)
        link.publish(
            MatchedPosition(
                stampNs: Clocks.wall(), matched: Pose(latitude: place.latitude, longitude: place.longitude)),
            on: Topics.position, stamp: stamp)
    }

    /// Drains the node's messages, so that the node does not wait for a slow reader.
    func drain() throws { while try bus.poll(timeout: .nanoseconds(0)) != nil {} }

    private var stamp: NavGeo.Timestamp { NavGeo.Timestamp(nanoseconds: Clocks.wall()) }

    // MARK: Cost

    /// Returns the CPU time of the planning thread, the one with the lower priority, nanoseconds.
    func planningTime() throws -> Int64 {
        guard let process = workers.processID(of: Self.name) else { throw BenchError("\(Self.name) is not running") }
        let tasks = "/proc/\(process)/task"
        let own = Self.niceness(of: "\(tasks)/\(process)") ?? 0
        for task in try FileManager.default.contentsOfDirectory(atPath: tasks).map({ "\(tasks)/\($0)" }) {
            guard let niceness = Self.niceness(of: task), niceness > own,
                let text = try? String(contentsOfFile: task + "/schedstat", encoding: .utf8),
                let time = text.split(separator: " ").first.flatMap({ Int64($0) })
            else { continue }
            return time
        }
        throw BenchError("no thread of the \(Self.name) has a lower priority: run this without nice")
    }

    /// Returns the 19th field of a thread's line, the 17th after its name in brackets.
    private static func niceness(of task: String) -> Int? {
        guard let text = try? String(contentsOfFile: task + "/stat", encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ")
        return fields.count > 16 ? Int(fields[16]) : nil
    }
}
