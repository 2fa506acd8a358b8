import NavWire
import Foundation
import NavBench
import NavBus
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavRouting
import NavSimulation
import NavigationNode

/// A node that follows routes of several lengths.
final class NavSuite {
    /// A route by its waypoints, and the drive along its beginning.
    private struct Tour {
        var kilometres: Double
        var waypoints: [NavGeo.Coordinate]
        var length: Double
        var fixes: [GnssFix]
    }

    private let tiles: String
    private let program: String
    private let rate: Double
    private let tours: [Tour]

    /// The minimum distance between two places of a route in a straight line, metres; less on a map smaller than four
    /// times this distance.
    private static let reach = 5_000.0
    /// The number of random places tried before the map counts as too small.
    private static let attempts = 20_000

    init(
        tiles: String, program: String, kilometres: [Double], rate: Double, seconds: Double, seed: UInt64
    ) throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw NodeError(.missing, "\(program) is missing: build the whole package")
        }
        (self.tiles, self.program, self.rate) = (tiles, program, rate)
        let directory = try TilesetDirectory(path: tiles)
        let router = Router(Metric(TurnGraph(try directory.loadGraph()), model: CostModel()))
        let reach = min(NavSuite.reach, directory.tileset.bounds.diagonal / 4)
        tours = try kilometres.map {
            try NavSuite.draw($0, router: router, reach: reach, rate: rate, seconds: seconds, seed: seed)
        }
    }

    /// The description of the measurements for the report's header.
    var lines: [String] {
        tours.map {
            "route    \(Int($0.length / 1_000)) km over \($0.waypoints.count - 1) legs, \($0.fixes.count) fixes at \(rate) Hz"
        }
    }

    var comparisons: [Comparison] {
        let longest = tours.map(\.kilometres).max()
        return tours.map { tour in
            let isLongest = tour.kilometres == longest
            return Comparison(
                "nav.fix_to_progress" + (isLongest ? "" : ".\(Int(tour.kilometres))km"), peer: nil,
                [.init("p50", "us"), .init("p99", "us"), .init("max", "us")],
                ours: { try self.follow(tour) }, theirs: nil)
        }
    }

    // MARK: The drive

    private func follow(_ tour: Tour) throws -> [String: Double] {
        let workers = try Workers()
        defer { workers.close() }
        let via = tour.waypoints.dropFirst().dropLast().map(\.text).joined(separator: ";")
        try workers.start(
            "navigation-node",
            [
                "/usr/bin/env", "NAVBUS_DIR=\(workers.folder)", "NAVBUS_DOMAIN=0", program, "--set", "tiles=\(tiles)",
                "--set",
                "destination=\(tour.waypoints.last?.text ?? "")", "--set", "via=\(via)",
            ])
        let directory = try BusDirectory(path: workers.folder)
        let bus = try BusNode(name: "driver", configuration: BusConfiguration(directory: directory))
        defer { bus.close() }
        let link = NodeLink(bus, directory: directory, log: NodeLog(node: "driver"))
        try link.advertise([Topics.gnssFix])
        _ = try link.subscribe(to: Topics.progress)
        try waitForGuidance(link, bus, tour.fixes)

        var nanoseconds: [Int64] = []
        nanoseconds.reserveCapacity(tour.fixes.count)
        var due = Clocks.monotonic()
        for fix in tour.fixes {
            due += Int64(1e9 / rate)
            sleep(until: due)
            let start = publish(fix, link)
            guard let arrival = try progress(of: start.stamp, bus) else {
                throw NodeError(.system, "a fix got no progress within a second")
            }
            nanoseconds.append(arrival - start.monotonic)
        }
        var result = Statistics.latencies(nanoseconds: nanoseconds)
        result["max"] = Double(nanoseconds.max() ?? 0) / 1_000
        return result
    }

    /// Stays at the start until the node is guiding.
    private func waitForGuidance(_ link: NodeLink, _ bus: BusNode, _ fixes: [GnssFix]) throws {
        let deadline = Clocks.monotonic() + 60_000_000_000
        while Clocks.monotonic() < deadline {
            guard let first = fixes.first else { break }
            let start = publish(first, link)
            if try progress(of: start.stamp, bus, within: 200_000_000) != nil {
                // Waits until the requests made at the start, such as alternatives, cause no further messages.
                while try bus.poll(timeout: .milliseconds(300)) != nil {}
                return
            }
        }
        throw NodeError(
            .system, "the navigation node does not guide: see its log with 'navigation-node --set tiles=\(tiles)'")
    }

    private func publish(_ fix: GnssFix, _ link: NodeLink) -> (stamp: Int64, monotonic: Int64) {
        var fix = fix
        let wall = Clocks.wall()
        fix.stampNs = wall
        fix.timestamp = NavMessages.Timestamp(nanoseconds: wall)
        fix.receiveStampNs = nil
        let start = Clocks.monotonic()
        link.publish(fix, on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: wall))
        return (wall, start)
    }

    /// Returns the arrival time of a fix's progress, monotonic ns; nil if it did not arrive in time.
    private func progress(of stamp: Int64, _ bus: BusNode, within limit: Int64 = 1_000_000_000) throws -> Int64? {
        let deadline = Clocks.monotonic() + limit
        while Clocks.monotonic() < deadline {
            guard let delivery = try bus.poll(timeout: .nanoseconds(max(deadline - Clocks.monotonic(), 0))) else {
                continue
            }
            let arrival = Clocks.monotonic()
            if try RouteProgress(decoding: delivery.payload.bytes).stampNs == stamp { return arrival }
        }
        return nil
    }

    // MARK: The routes

    private static func draw(
        _ kilometres: Double, router: Router, reach: Double, rate: Double, seconds: Double, seed: UInt64
    ) throws -> Tour {
        var random = RandomPlaces(router, seed: seed)
        var places: [NavGeo.Coordinate] = []
        var length = 0.0
        var driven: [GnssFix] = []
        for _ in 0..<attempts {
            if length >= kilometres * 1_000, !driven.isEmpty {
                return Tour(kilometres: kilometres, waypoints: places, length: length, fixes: driven)
            }
            guard let place = random.place() else { continue }
            guard let last = places.last else {
                places = [place]
                continue
            }
            // Roads are about 1.3 times as long as the straight line.
            let longest = max((kilometres * 1_000 - length) / 1.3, 1.5 * reach)
            guard let leg = random.route(from: last, to: place, apart: reach...longest) else { continue }
            if driven.isEmpty {
                guard let path = DrivePath(leg, graph: router.metric.turns.graph),
                    let drive = Drive(router.metric, edges: path.edges, from: path.start, to: path.end)
                else {
                    places = [place]
                    continue
                }
                let fixes = ReceiverModel(.open).fixes(
                    drive.states(rate: rate), start: NavGeo.Timestamp(nanoseconds: 0), seed: seed)
                driven = fixes.prefix(Int(seconds * rate)).map { GnssFix($0) }
            }
            places.append(place)
            length += leg.length
        }
        throw NodeError(.missing, "the map is too small for a route of \(Int(kilometres)) km")
    }
}
