import Foundation
import NavBench
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavPositioning
import NavRouting
import NavSimulation
import NavWire
import NavigationNode

/// The matching of drives through a map.
final class MatchSuite {
    /// One drive: the received fixes, and the edges that were actually driven.
    private struct Trace {
        var fixes: [Fix]
        var edges: [EdgeIndex]
    }

    private let metric: Metric
    private let traces: [Trace]
    private let stopwatch: Stopwatch
    private var points: Int { traces.reduce(0) { $0 + $1.fixes.count } }

    /// The distance between the ends of a drive in a straight line, metres.
    private static let distances = 1_000.0...20_000.0
    /// The number of random pairs tried for each drive before the map counts as too small.
    private static let attempts = 200

    init(directory: String, count: Int, rate: Double, seed: UInt64, processorTime: Bool) throws {
        let graph = try TilesetDirectory(path: directory).loadGraph()
        let metric = Metric(TurnGraph(graph), model: CostModel())
        self.metric = metric
        stopwatch = Stopwatch(processorTime: processorTime)
        traces = try MatchSuite.draw(metric, count: count, rate: rate, seed: seed)
    }

    /// The description of the measurements for the report's header.
    var lines: [String] {
        ["drives   \(traces.count) with \(points) fixes, half of them in the noise of streets"]
    }

    var comparisons: [Comparison] {
        [
            Comparison(
                "match", peer: nil, [.init("points_per_s", "1/s"), .init("fix.p50", "us"), .init("fix.p99", "us")],
                ours: { self.follow() }, theirs: nil),
            Comparison(
                "positioning", peer: nil, [.init("points_per_s", "1/s")], ours: { self.position() }, theirs: nil),
            Comparison(
                "match.smooth", peer: nil, [.init("points_per_s", "1/s")], ours: { self.smooth() }, theirs: nil),
        ]
    }

    /// Writes `NNNN.csv`, a trace, and `NNNN.edges.csv`, the OSM segments driven, for each drive.
    func save(to directory: String) throws {
        let graph = metric.turns.graph
        for (number, trace) in traces.enumerated() {
            let name = "\(directory)/" + String(format: "%04d", number)
            var rows = "t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m\n"
            for fix in trace.fixes {
                let course = fix.course.map { String(format: "%.1f", Angle.degrees($0)) } ?? ""
                rows +=
                    String(
                        format: "%.3f,%.8f,%.8f,%.2f,", fix.stamp.seconds, fix.coordinate.latitude,
                        fix.coordinate.longitude, fix.speed ?? 0)
                    + course + String(format: ",,%.1f\n", fix.horizontalSigma ?? 0)
            }
            var segments = "seq,from_node,to_node,way_id\n"
            var sequence = 0
            for edge in trace.edges {
                let shape = graph.shape(of: edge)
                for index in 0..<(shape.count - 1) {
                    segments +=
                        "\(sequence),\(shape.nodeID(index)),\(shape.nodeID(index + 1)),\(graph.wayID(of: edge))\n"
                    sequence += 1
                }
            }
            do {
                try rows.write(toFile: name + ".csv", atomically: true, encoding: .utf8)
                try segments.write(toFile: name + ".edges.csv", atomically: true, encoding: .utf8)
            } catch {
                throw NodeError(.system, "cannot write '\(name).csv': does '\(directory)' exist?")
            }
        }
    }

    private func follow() -> [String: Double] {
        var matcher = StreamingMatcher(metric: metric)
        let start = stopwatch.now()
        for trace in traces {
            matcher.reset()
            for fix in trace.fixes { _ = matcher.match(fix) }
        }
        let seconds = Double(stopwatch.now() - start) / 1e9
        var nanoseconds: [Int64] = []
        nanoseconds.reserveCapacity(points)
        for trace in traces {
            matcher.reset()
            for fix in trace.fixes {
                let start = stopwatch.now()
                _ = matcher.match(fix)
                nanoseconds.append(stopwatch.now() - start)
            }
        }
        let latencies = Statistics.latencies(nanoseconds: nanoseconds)
        return [
            "points_per_s": Double(points) / seconds, "fix.p50": latencies["p50"] ?? 0,
            "fix.p99": latencies["p99"] ?? 0,
        ]
    }

    /// Measures the node's whole pipeline.
    private func position() -> [String: Double] {
        let start = stopwatch.now()
        for trace in traces {
            var positioning = Positioning(metric: metric)
            for fix in trace.fixes { _ = positioning.replay(.fix(fix)) }
        }
        return ["points_per_s": Double(points) / (Double(stopwatch.now() - start) / 1e9)]
    }

    private func smooth() -> [String: Double] {
        let smoother = DriveSmoother(metric: metric)
        let start = stopwatch.now()
        for trace in traces { _ = smoother.smooth(trace.fixes) }
        return ["points_per_s": Double(points) / (Double(stopwatch.now() - start) / 1e9)]
    }

    private static func draw(_ metric: Metric, count: Int, rate: Double, seed: UInt64) throws -> [Trace] {
        var places = RandomPlaces(Router(metric), seed: seed)
        var traces: [Trace] = []
        var attempts = 0
        while traces.count < count {
            attempts += 1
            guard attempts <= count * MatchSuite.attempts else {
                throw NodeError(.missing, "the map is too small for drives of a kilometre and more")
            }
            let environment: ReceiverModel.Environment = traces.count % 2 == 0 ? .open : .urban
            let (from, to) = (places.place(), places.place())
            if let from, let to, let route = places.route(from: from, to: to, apart: distances),
                let path = DrivePath(route, graph: metric.turns.graph),
                let drive = Drive(metric, edges: path.edges, from: path.start, to: path.end)
            {
                let start = Timestamp(nanoseconds: 1_767_258_000_000_000_000)
                let fixes = ReceiverModel(environment).fixes(
                    drive.states(rate: rate), start: start, seed: places.seed())
                traces.append(Trace(fixes: fixes, edges: drive.edges))
            }
        }
        return traces
    }
}
