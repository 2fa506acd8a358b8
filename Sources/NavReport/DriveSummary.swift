import Foundation
import NavGeo
import NavMessages

/// The key figures of a drive, for the head of its page.
struct DriveSummary {
    /// A figure with its name, as text.
    struct Figure: Encodable {
        var name: String
        var value: String
        /// A remark on the value; empty for none.
        var more = ""
    }

    /// The longest gap between messages that counts as time off the route, ms, as on the page.
    private static let gap: Int64 = 6_000
    /// The distance beyond which a route leads to another destination, metres.
    private static let elsewhere = 30.0

    private let content: DriveCollector
    private let start: Int64
    private let span: ClosedRange<Int64>
    private let fixes: SampleTable
    private let positions: SampleTable
    private let progress: SampleTable
    /// The number of fixes of each receiver; a single count for a recording that does not distinguish receivers.
    private let fixCounts: [Int]
    /// The places of the vehicle: matched positions, else the fixes of the receiver that has the most.
    private let track: [(time: Int64, place: NavGeo.Coordinate, isTeleport: Bool)]

    /// Creates the summary of a drive.
    ///
    /// - Parameters:
    ///   - start: the stamp of time 0, ns.
    ///   - span: the time of the drive, ns.
    init(_ content: DriveCollector, since start: Int64, within span: ClosedRange<Int64>) {
        (self.content, self.start, self.span) = (content, start, span)
        (fixes, positions, progress) = (
            content.fixes.sorted(within: span), content.positions.sorted(within: span),
            content.progress.sorted(within: span)
        )
        let receivers = fixes.values("receiver").map(Int.init)
        var counts = Array(repeating: 0, count: content.receivers.count)
        for receiver in receivers where counts.indices.contains(receiver) { counts[receiver] += 1 }
        fixCounts = counts
        let most = counts.indices.max { counts[$0] < counts[$1] }
        let isMatched = !positions.stamps.isEmpty
        let (table, flags) = (isMatched ? positions : fixes, positions.values("flags"))
        let (latitudes, longitudes) = (table.values("lat"), table.values("lon"))
        track = table.stamps.indices.filter { isMatched || counts.count < 2 || receivers[$0] == most }.map { row in
            let place = NavGeo.Coordinate(
                latitude: Double(latitudes[row]) * 1e-6, longitude: Double(longitudes[row]) * 1e-6)
            return (
                (table.stamps[row] - start) / 1_000_000, place, isMatched && flags[row] & DriveCollector.teleport != 0
            )
        }
    }

    /// The time of the first place, ms since the start; nil without one.
    var firstTime: Int64? { track.first?.time }

    var figures: [Figure] {
        let length = zip(track, track.dropFirst()).reduce(0) { sum, step in
            step.1.isTeleport ? sum : sum + Geodesy.distance(step.0.place, step.1.place)
        }
        let time = Double((track.last?.time ?? 0) - (track.first?.time ?? 0)) / 1_000
        return [
            Figure(name: "Driven", value: PageText.metres(length)),
            Figure(name: "Time", value: PageText.duration(time)), fixFigure, routeFigure, offRouteFigure, offsetFigure,
            arrivalFigure,
        ].compactMap { $0 }
    }

    private var fixFigure: Figure {
        // A recording without fix messages, such as the output of a replay, has the fixes in its positions.
        let unmatched = positions.values("rawLat").count { $0 != SampleTable.absent }
        let count = fixes.stamps.isEmpty ? unmatched : content.fixes.messageCount
        let (receivers, rejected) = (fixCounts.count { $0 > 0 }, content.rejected.messageCount)
        let remarks = [receivers > 1 ? "\(receivers) receivers" : nil, rejected > 0 ? "\(rejected) rejected" : nil]
        return Figure(name: "Fixes", value: "\(count)", more: remarks.compactMap { $0 }.joined(separator: ", "))
    }

    private var routes: [DriveCollector.RouteLine] { content.routes.filter { span.contains($0.time) } }

    private var routeFigure: Figure? {
        guard !routes.isEmpty else { return nil }
        let reroutes = content.happened.count {
            $0.kind == "reroute" && $0.text.contains("APPLIED") && span.contains($0.time)
        }
        let remark = reroutes == 0 ? "no reroute" : reroutes == 1 ? "1 reroute" : "\(reroutes) reroutes"
        return Figure(name: "Routes", value: "\(routes.count)", more: remark)
    }

    private var offRouteFigure: Figure? {
        let (times, deviations) = (progress.stamps.map(time), progress.values("deviation"))
        guard !times.isEmpty else { return nil }
        var off: Int64 = 0
        for row in times.indices.dropLast() where deviations[row] >= DeviationState.offRoute.rawValue {
            off += min(times[row + 1] - times[row], Self.gap)
        }
        return Figure(name: "Off route", value: off > 0 ? PageText.duration(Double(off) / 1_000) : "never")
    }

    private var offsetFigure: Figure? {
        let total = content.offsets.values.reduce(0, +)
        var rank = min(total - 1, Int(0.95 * Double(total)))
        for (offset, count) in content.offsets.sorted(by: { $0.key < $1.key }) {
            rank -= count
            if rank < 0 {
                return Figure(name: "Offset p95", value: String(format: "%.1f m", Double(offset) / 100))
            }
        }
        return nil
    }

    private var arrivalFigure: Figure? {
        let arrivals = content.arrivals.filter(span.contains).map(time).sorted()
        guard let arrival = arrivals.last else { return nil }
        let error = firstEstimate(of: arrival, after: arrivals.dropLast().last).map {
            let sign = $0 < arrival ? "−" : "+"
            let size = PageText.duration(Double(($0 - arrival).magnitude) / 1_000)
            return "first ETA \(sign)\(size.replacing(" ", with: "\u{a0}"))"
        }
        return Figure(name: "Arrived", value: PageText.clock(arrival), more: error ?? "")
    }

    /// Returns the first estimate of an arrival, ms; nil without one.
    ///
    /// The trip begins after the previous arrival and at the last route to another destination.
    private func firstEstimate(of arrival: Int64, after previous: Int64?) -> Int64? {
        let lines = routes
        let begins = lines.indices.filter { index in
            if lines[index].reason == "STARTED" { return true }
            guard index > 0, let end = lines[index].line.last, let last = lines[index - 1].line.last else {
                return false
            }
            return Geodesy.distance(end, last) > Self.elsewhere
        }.map { time(lines[$0].time) }
        let begin = begins.filter { $0 <= arrival }.max() ?? .min
        for (stamp, left) in zip(progress.stamps, progress.values("left")) where left != SampleTable.absent {
            let time = time(stamp)
            if time >= begin, time > previous ?? .min, time <= arrival { return time + Int64(left) * 100 }
        }
        return nil
    }

    /// Returns the time of a stamp, ms since the start.
    private func time(_ stamp: Int64) -> Int64 { (stamp - start) / 1_000_000 }
}
