import Foundation
import NavBench
import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// The origins and destinations of routes, the same for every measured system.
struct RoutePairs {
    /// An origin and a destination.
    struct Pair {
        var from: Coordinate
        var to: Coordinate

        var request: RouteRequest { RouteRequest(waypoints: [Waypoint(from), Waypoint(to)]) }
    }

    /// Pairs 5 to 30 km apart in a straight line; on a map too small for this, at least a quarter of its extent apart.
    var local: [Pair] = []
    /// Pairs anywhere on the map.
    var random: [Pair] = []

    /// The range of the distances of local pairs, metres.
    private static let localReach = 5_000.0...30_000.0
    /// The maximum distance of a place from its road, degrees to either side: about 10 m.
    private static let scatter = 0.0001

    /// Draws `count` pairs of each kind: places on edges open to cars, with equal probability, a few metres off the
    /// edge like fixes.
    init(_ graph: RoadGraph, count: Int, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let usable = (0..<graph.edgeCount).map { EdgeIndex($0) }.filter {
            let traits = graph.traits(of: $0)
            return traits.access.contains(.car) && traits.roadClass != .ferry
                && traits.flags.isDisjoint(with: [.privateAccess, .destinationOnly])
        }
        guard usable.count > 1 else { throw BenchError("the tiles have no roads for cars") }
        func place() -> Coordinate {
            let edge = usable[Int(random.next() % UInt64(usable.count))]
            let offset = random.uniform() * Double(graph.edgeLengths[edge.index])
            let point = graph.position(at: offset, of: edge).coordinate
            return Coordinate(
                latitude: Self.rounded(point.latitude + (random.uniform() * 2 - 1) * Self.scatter),
                longitude: Self.rounded(point.longitude + (random.uniform() * 2 - 1) * Self.scatter))
        }
        let extent = (0..<100).reduce(0.0) { best, _ in max(best, Geodesy.distance(place(), place())) }
        let reach = min(Self.localReach.lowerBound, extent / 4)...Self.localReach.upperBound
        for _ in 0..<count {
            self.random.append(Pair(from: place(), to: place()))
            var pair = Pair(from: place(), to: place())
            var attempts = 0
            while !reach.contains(Geodesy.distance(pair.from, pair.to)), attempts < 10_000 {
                pair.to = place()
                attempts += 1
                if attempts % 100 == 0 { pair.from = place() }
            }
            local.append(pair)
        }
    }

    /// Returns degrees rounded to seven digits, as in the file and in the other systems.
    private static func rounded(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }

    private static let header = "kind,from_lat,from_lon,to_lat,to_lon"

    /// Reads pairs written by ``write(to:)``.
    init(path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw BenchError("'\(path)' cannot be read: does it exist?")
        }
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.first.map(String.init) == Self.header else {
            throw BenchError("'\(path)' does not start with '\(Self.header)': create the file with --save-pairs")
        }
        for (number, line) in lines.enumerated().dropFirst() {
            let fields = line.split(separator: ",")
            let numbers = fields.dropFirst().compactMap { Double($0) }
            guard fields.count == 5, numbers.count == 4, ["local", "random"].contains(fields[0]) else {
                throw BenchError("'\(path)', line \(number + 1): not a pair: '\(line)'")
            }
            let pair = Pair(
                from: Coordinate(latitude: numbers[0], longitude: numbers[1]),
                to: Coordinate(latitude: numbers[2], longitude: numbers[3]))
            guard pair.from.isValid, pair.to.isValid else {
                throw BenchError("'\(path)', line \(number + 1): not on Earth: '\(line)'")
            }
            if fields[0] == "local" { local.append(pair) } else { random.append(pair) }
        }
        guard !local.isEmpty, !random.isEmpty else {
            throw BenchError("'\(path)' lacks pairs: it needs at least one local and one random pair")
        }
    }

    /// Writes the pairs as CSV.
    func write(to path: String) throws {
        var lines = [Self.header]
        for (kind, pairs) in [("local", local), ("random", random)] {
            for pair in pairs {
                let numbers = [pair.from.latitude, pair.from.longitude, pair.to.latitude, pair.to.longitude]
                lines.append(([kind] + numbers.map { String(format: "%.7f", $0) }).joined(separator: ","))
            }
        }
        do {
            try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        } catch {
            throw BenchError("'\(path)' cannot be written: \(error.localizedDescription)")
        }
    }
}
