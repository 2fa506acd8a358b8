import NavWire
import ArgumentParser
import Foundation
import GNSSNode
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavPositioning
import NavRecording
import NavRouting
import NavigationNode

/// `navbus integrity`.
struct IntegrityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "integrity",
        abstract: "Compare the position filter with a reference: its errors and the calibration of its uncertainty.",
        discussion: """
            Prints a row per trace: the number of accepted fixes, the median and 95 % error of the fixes and of the filter, and the shares of the \
            filter's errors within 1, 2 and 3 of its standard deviations, along and across the direction of travel (0.683, 0.954 and 0.997 if it \
            is calibrated; more is cautious). The filter is that of the navigation node: it uses the odometry of a bag and, of several receivers, \
            the selected one.
            """)

    @Argument(help: "Traces: CSV, GPX, NMEA 0183, UBX, gpsd JSON or MCAP.") var traces: [String]
    @Option(
        help: ArgumentHelp(
            "The reference, with times, positions and courses; a bare name is looked up in the folder of each trace.",
            valueName: "FILE")) var truth = "truth_pos.csv"
    @Option(
        help: ArgumentHelp(
            "Directory of road tiles, to bridge outages along the roads as the node does; without it, straight ahead.",
            valueName: "DIR")) var tiles: String?
    @Flag(help: "Print one JSON object per trace.") var json = false

    /// The row of one trace.
    struct Row: Codable {
        var trace: String
        var fixes: Int
        var rejected: Int
        var fixP50: Double
        var fixP95: Double
        var filterP50: Double
        var filterP95: Double
        var along: [Double]
        var across: [Double]
    }

    private static let names: [(MotionSignals, String)] = [
        (.receiverSpeed, "the receiver's speed"), (.receiverCourse, "the receiver's course"),
        (.wheels, "the speed of the wheels"), (.turnRate, "the rate of turn"),
    ]

    func validate() throws { if traces.isEmpty { throw ValidationError("give a trace") } }

    func run() throws {
        if !json {
            print(
                "fixes  rejected  fix p50  fix p95  filter p50  filter p95  along 1σ 2σ 3σ      across 1σ 2σ 3σ     trace"
            )
        }
        let graph = try tiles.map { try TilesetDirectory(path: $0).loadGraph() } ?? RoadGraph(tiles: [], mapVersion: "")
        let metric = Metric(TurnGraph(graph), model: CostModel())
        for trace in traces {
            let row = try row(trace, metric)
            if json {
                print(try navbus.json(row))
                continue
            }
            let numbers = String(
                format: "%5d  %8d  %7.2f  %7.2f  %10.2f  %10.2f  %.3f %.3f %.3f  %.3f %.3f %.3f  ", row.fixes,
                row.rejected,
                row.fixP50, row.fixP95, row.filterP50, row.filterP95, row.along[0], row.along[1], row.along[2],
                row.across[0], row.across[1], row.across[2])
            print(numbers + trace)
        }
    }

    private func row(_ trace: String, _ metric: Metric) throws -> Row {
        let folder = URL(fileURLWithPath: trace).deletingLastPathComponent().path
        let path = truth.contains("/") ? truth : "\(folder)/\(truth)"
        let truth = try TraceInput(path: path)
        try MatchCommand.refuseLong(truth, path, for: "a reference")
        var reference: [Fix] = []
        try truth.fixes.forEach { if let fix = Fix($0, sequence: nil) { reference.append(fix) } }
        guard reference.count > 1 else {
            throw NodeError(.invalid, "'\(path)' has fewer than two positions with a time; it cannot be the reference")
        }
        var positioning = Positioning(metric: metric, isTracing: true)
        var table = CalibrationTable()
        var rejected = 0
        var next = 1
        var contradicting: MotionSignals = []
        var estimates: [(fix: Fix, estimate: MotionEstimate)] = []
        let inputs = try MatchCommand.Inputs(trace)
        try MatchCommand.refuseLong(inputs.trace, trace, for: "a table of errors")
        try inputs.forEach { input in
            for effect in positioning.replay(input) {
                switch effect {
                case .qualified(_, .rejected): rejected += 1
                case .filtered(let fix, _, let estimate): estimates.append((fix, estimate))
                default: break
                }
            }
            contradicting.formUnion(positioning.distrusted)
        }
        for (fix, estimate) in estimates {
            if next < reference.count, fix.stamp < reference[next - 1].stamp { next = 1 }
            while next < reference.count, reference[next].stamp < fix.stamp { next += 1 }
            guard next < reference.count, fix.stamp >= reference[next - 1].stamp else { continue }
            let (before, after) = (reference[next - 1], reference[next])
            let seconds = after.stamp.seconds(since: before.stamp)
            let share = seconds > 0 ? fix.stamp.seconds(since: before.stamp) / seconds : 0
            let frame = LocalFrame(origin: before.coordinate)
            let step = frame.point(after.coordinate)
            let place = frame.coordinate(of: LocalPoint(east: step.east * share, north: step.north * share))
            let course = before.course ?? Geodesy.bearing(from: before.coordinate, to: after.coordinate)
            table.add(estimate, raw: fix.coordinate, truth: place, course: course)
        }
        guard table.count > 0 else {
            throw NodeError(.invalid, "'\(trace)' and '\(path)' do not overlap in time; the error cannot be computed")
        }
        for (signal, name) in Self.names where contradicting.contains(signal) {
            Console.note("'\(trace)': \(name) contradicts the positions and was ignored: check units and signs")
        }
        let shares = { (side: CalibrationTable.Shares) in (1...3).map { side.share(within: $0) } }
        return Row(
            trace: trace, fixes: table.count, rejected: rejected, fixP50: table.rawError(quantile: 0.5),
            fixP95: table.rawError(quantile: 0.95), filterP50: table.error(quantile: 0.5),
            filterP95: table.error(quantile: 0.95), along: shares(table.along), across: shares(table.across))
    }
}
