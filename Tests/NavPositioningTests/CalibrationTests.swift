import Foundation
import NavGeo
import NavMap
import NavMatching
import NavPositioning
import NavRouting
import NavTestKit
import NavTestSupport
import Testing

/// The position filter compared with references, without a map.
@Suite(.needs("gnss/nagoya/trace.csv", "gnss/synth/liechtenstein", "osm/liechtenstein.osm.pbf"))
struct CalibrationTests {
    private struct Row {
        var time: Double
        var fix: Fix
    }

    private static func rows(_ path: String) throws -> [Row] {
        let lines = try String(contentsOfFile: "\(TestData.directory)/gnss/\(path)", encoding: .utf8)
            .split(whereSeparator: \.isNewline).map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let header = lines.first ?? []
        func number(_ row: [Substring], _ name: String) -> Double? {
            header.firstIndex { $0 == name }.flatMap { $0 < row.count ? Double(row[$0]) : nil }
        }
        return lines.dropFirst().compactMap { row in
            guard let time = number(row, "t_s"), let latitude = number(row, "lat"), let longitude = number(row, "lon"),
                let stamp = Timestamp(seconds: time)
            else { return nil }
            return Row(
                time: time,
                fix: Fix(
                    stamp: stamp, coordinate: Coordinate(latitude: latitude, longitude: longitude),
                    horizontalSigma: number(row, "h_acc_m"), speed: number(row, "speed_mps"),
                    course: number(row, "heading_deg").map { Angle.normalised(Angle.radians($0)) },
                    hdop: number(row, "hdop"), type: .fix3D))
        }
    }

    /// Visits a drive fix by fix, with the true position and direction at each accepted fix.
    private static func drive(
        _ folder: String,
        _ body: (inout PositionTracker, Fix, MotionEstimate, (place: Coordinate, course: Double)?) -> Void
    ) throws {
        let truth = try rows("\(folder)/truth_pos.csv")
        var tracker = PositionTracker()
        var next = 1
        for row in try rows("\(folder)/trace.csv") {
            guard tracker.take(row.fix).isAccepted, let estimate = tracker.estimate else { continue }
            while next < truth.count, truth[next].time < row.time { next += 1 }
            guard next < truth.count, row.time >= truth[next - 1].time else {
                body(&tracker, row.fix, estimate, nil)
                continue
            }
            let (before, after) = (truth[next - 1], truth[next])
            let share = (row.time - before.time) / max(after.time - before.time, 1e-9)
            let frame = LocalFrame(origin: before.fix.coordinate)
            let step = frame.point(after.fix.coordinate)
            let place = frame.coordinate(of: LocalPoint(east: step.east * share, north: step.north * share))
            body(&tracker, row.fix, estimate, (place, before.fix.course ?? 0))
        }
    }

    private static func fill(_ table: inout CalibrationTable, _ folder: String) throws {
        try drive(folder) { _, fix, estimate, truth in
            if let truth { table.add(estimate, raw: fix.coordinate, truth: truth.place, course: truth.course) }
        }
    }

    /// Adds the matched positions of a drive: from raw fixes, from the filter, and from the filter with road aid.
    private static func match(_ tables: inout [CalibrationTable], _ folder: String, _ metric: Metric) throws {
        var plain = StreamingMatcher(metric: metric)
        var matcher = StreamingMatcher(metric: metric)
        var aid = RoadFeedback()
        try drive(folder) { tracker, fix, estimate, truth in
            let raw = plain.match(fix)
            let refined = estimate.refined(fix)
            let sigma = matcher.sigma(of: refined)
            var filtered = matcher.match(refined)
            filtered.raw = fix.coordinate
            var aided = filtered
            filtered.calibrate(estimate, stated: sigma)
            aid.follow(&aided, &tracker, metric.turns.graph)
            aided.calibrate(tracker.roadEstimate ?? estimate, stated: sigma)
            guard let truth else { return }
            for (index, match) in [raw, filtered, aided].enumerated() { tables[index].add(match, truth: truth.place) }
        }
    }

    private static func report(_ name: String, _ table: CalibrationTable) {
        guard ProcessInfo.processInfo.environment["NAVBUS_TEST_REPORT"] != nil else { return }
        let shares = [table.along, table.across].map { side in
            (1...3).map { String(format: "%.3f", side.share(within: $0)) }.joined(separator: " ")
        }
        print(
            String(
                format:
                    "calibration %@: %d fixes, fix p50 %.2f p95 %.2f m, filter p50 %.2f p95 %.2f m, along %@, across %@",
                name, table.count, table.rawError(quantile: 0.5), table.rawError(quantile: 0.95),
                table.error(quantile: 0.5), table.error(quantile: 0.95), shares[0], shares[1]))
    }

    @Test(arguments: ["nagoya", "comma2k19"])
    func filterBeatsTheReceiverOnRealDrives(folder: String) throws {
        var table = CalibrationTable()
        try CalibrationTests.fill(&table, folder)
        CalibrationTests.report(folder, table)
        #expect(table.count > 500)
        #expect(table.error(quantile: 0.5) < table.rawError(quantile: 0.5))
        #expect(table.error(quantile: 0.95) <= table.rawError(quantile: 0.95))
        for side in [table.along, table.across] {
            #expect(side.share(within: 1) > 0.6)
            #expect(side.share(within: 2) > 0.9)
            #expect(side.share(within: 3) > 0.95)
        }
    }

    @Test(arguments: ["suburban_1hz", "suburban_10hz", "urban_1hz", "urban_10hz"])
    func statedUncertaintyIsCalibratedOnSyntheticDrives(receiver: String) throws {
        var table = CalibrationTable()
        for number in 0..<5 { try CalibrationTests.fill(&table, "synth/liechtenstein/0\(number)/gnss/\(receiver)") }
        CalibrationTests.report(receiver, table)
        #expect(table.error(quantile: 0.5) < table.rawError(quantile: 0.5))
        #expect(table.error(quantile: 0.95) < table.rawError(quantile: 0.95))
        for side in [table.along, table.across] {
            #expect(side.share(within: 1) > 0.6)
            #expect(side.share(within: 2) > 0.9)
            #expect(side.share(within: 3) > 0.95)
        }
    }

    private static let liechtenstein = Result { try RealMap(path: TestData.osm("liechtenstein")) }

    @Test(arguments: ["suburban_1hz", "suburban_10hz", "urban_1hz", "urban_10hz"])
    func roadFeedbackImprovesPositionAndUncertaintyStaysCalibrated(receiver: String) throws {
        let metric = Metric(try CalibrationTests.liechtenstein.get().turns, model: CostModel())
        var tables = [CalibrationTable(), CalibrationTable(), CalibrationTable()]
        for number in 0..<5 {
            try CalibrationTests.match(&tables, "synth/liechtenstein/0\(number)/gnss/\(receiver)", metric)
        }
        for (name, table) in zip(["matched by fixes", "matched by the filter", "matched with the road"], tables) {
            CalibrationTests.report("\(receiver), \(name)", table)
        }
        #expect(tables[1].error(quantile: 0.5) < tables[0].error(quantile: 0.5))
        #expect(tables[2].error(quantile: 0.5) < 0.95 * tables[1].error(quantile: 0.5))
        #expect(tables[2].error(quantile: 0.95) < tables[1].error(quantile: 0.95))
        // The truth of these drives lies on the lines of the map, so errors across the road are those of wrong roads.
        for side in [tables[2].along, tables[2].across] {
            #expect(side.share(within: 1) > 0.65)
            #expect(side.share(within: 2) > 0.94)
            #expect(side.share(within: 3) > 0.98)
        }
    }
}
