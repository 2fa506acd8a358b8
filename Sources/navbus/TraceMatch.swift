import Foundation
import NavGeo
import NavMap
import NavMatching
import NavRouting

/// Matches one trace and writes it in a format.
struct TraceMatch {
    let metric: Metric
    let format: MatchCommand.Format
    /// Fixes by which the driven path may lag.
    let lag: Int
    /// Whether the whole drive is looked at before anything is decided.
    let isSmoothed: Bool
    /// Whether fixes are matched as they are.
    let isRaw: Bool

    func run(_ inputs: MatchCommand.Inputs, _ line: (String) -> Void) {
        switch format {
        case .csv: line("t_s,lat,lon,way_id,from_node,to_node,offset_m,confidence,state")
        case .edges: line("seq,from_node,to_node,way_id")
        case .geojson: break
        }
        var text = Text(format: format)
        if isSmoothed {
            smooth(inputs, &text, line)
        } else {
            follow(inputs, &text, line)
        }
        text.end(line)
    }

    private func follow(_ inputs: MatchCommand.Inputs, _ text: inout Text, _ line: (String) -> Void) {
        var matcher = StreamingMatcher(metric: metric, recordsPath: format == .edges)
        var path = PathTracker(lag: lag)
        judge(inputs) { judged in
            switch judged {
            case .rejected(let fix, let reason): text.add(rejected: fix, reason, line)
            case .counts(let fix, let isElsewhere):
                if isElsewhere { matcher.reset() }
                text.add(matcher.match(fix), line)
                if let step = matcher.step { text.add(path.append(step), line) }
            }
        }
        text.add(path.finish(), line)
    }

    private func smooth(_ inputs: MatchCommand.Inputs, _ text: inout Text, _ line: (String) -> Void) {
        var judged: [Judged] = []
        judge(inputs) { judged.append($0) }
        let drive = DriveSmoother(metric: metric).smooth(
            judged.compactMap { if case .counts(let fix, _) = $0 { fix } else { nil } })
        var next = 0
        for verdict in judged {
            switch verdict {
            case .rejected(let fix, let reason): text.add(rejected: fix, reason, line)
            case .counts:
                text.add(drive.positions[next], metric.turns.graph, line)
                next += 1
            }
        }
        text.add(drive.segments, line)
    }

    /// What is to be done with a fix.
    private enum Judged {
        /// It is matched, as the filter has it; nothing that was known of the place holds any more when the vehicle is elsewhere.
        case counts(Fix, isElsewhere: Bool)
        /// It is not matched, for this reason.
        case rejected(Fix, String)
    }

    /// Judges and filters the fixes as the node does.
    private func judge(_ inputs: MatchCommand.Inputs, _ body: (Judged) -> Void) {
        // The node is stricter with the fix that a trip starts from; here nothing starts.
        var limits = FixLimits()
        limits.startMaximumAccuracy = limits.maximumAccuracy
        var tracker = PositionTracker(limits: limits)
        var beat = TraceBeat()
        for input in inputs.all {
            switch input {
            case .odometry(let odometry): if !isRaw { tracker.take(odometry) }
            case .fix(let fix) where isRaw: body(.counts(fix, isElsewhere: false))
            case .fix(let fix):
                let verdict = tracker.take(fix)
                let isKnown = fix.speed != nil || tracker.hasWheelSpeed(at: fix.stamp)
                beat.take(fix, verdict, tracker.estimate)
                let isUnsure = !isKnown && beat.isSparse
                if verdict.isJump && (isUnsure || beat.isAfterGap) || verdict.isDuplicate && isUnsure && beat.hasMoved {
                    body(.counts(fix, isElsewhere: false))
                    continue
                }
                switch verdict {
                case .rejected(let rejection): body(.rejected(fix, "\(rejection.reason)"))
                case .standby: body(.rejected(fix, "standby"))
                case .accepted:
                    let refined = beat.isAfterGap ? fix : tracker.estimate?.refined(fix) ?? fix
                    body(.counts(refined, isElsewhere: false))
                case .acceptedAfterJump, .acceptedAfterClockSet:
                    body(.counts(tracker.estimate?.refined(fix) ?? fix, isElsewhere: true))
                }
            }
        }
    }
}

/// How often a trace has a position.
///
/// Between sparse positions without a speed, and after a tunnel, the filter does not know where the vehicle can be: a jump is then left to the
/// matcher, which asks the roads, and so are two sparse positions with times of whole seconds that fall into one.
private struct TraceBeat {
    /// Usual seconds between two positions from which they are sparse.
    private static let sparse = 2.0
    /// Seconds without a position that are a gap: the node predicts positions from then on.
    private static let gap = 2.5
    /// Weight of the newest interval.
    private static let memory = 0.2

    private var last: Fix?
    private var interval = 0.0
    /// Whether the last position was another than the one before.
    private(set) var hasMoved = false

    /// Metres between filter and fix at which the filter has found back, and the same in standard deviations of the fix.
    private static let (near, nearDeviations) = (10.0, 2.0)

    /// Whether there was a gap, and the filter has not found back to the fixes since: the matcher then gets them as they are.
    private(set) var isAfterGap = false

    /// Whether positions are sparse.
    var isSparse: Bool { interval > TraceBeat.sparse }

    /// Takes note of a fix and of what the filter thinks of it.
    mutating func take(_ fix: Fix, _ verdict: FixVerdict, _ estimate: MotionEstimate?) {
        if let last, fix.stamp.seconds(since: last.stamp) > TraceBeat.gap { isAfterGap = true }
        if verdict == .accepted, let estimate {
            let reach = max(TraceBeat.near, TraceBeat.nearDeviations * (fix.horizontalSigma ?? 0))
            if Geodesy.distance(estimate.coordinate, fix.coordinate) <= reach { isAfterGap = false }
        }
        hasMoved = last.map { $0.coordinate != fix.coordinate } ?? false
        if let last, fix.stamp > last.stamp {
            let seconds = fix.stamp.seconds(since: last.stamp)
            interval += interval == 0 ? seconds : (seconds - interval) * TraceBeat.memory
        }
        last = fix
    }
}

extension FixVerdict {
    /// Whether the fix lies where the filter does not expect the vehicle.
    fileprivate var isJump: Bool {
        switch self {
        case .rejected(let rejection): rejection.reason == .jump
        case .acceptedAfterJump: true
        case .accepted, .acceptedAfterClockSet, .standby: false
        }
    }

    /// Whether the fix has the time of one before.
    fileprivate var isDuplicate: Bool {
        if case .rejected(let rejection) = self { rejection.reason == .duplicate } else { false }
    }
}

/// What has been matched, as lines of a format.
private struct Text {
    let format: MatchCommand.Format
    private var sequence = 0
    private var coordinates: [String] = []

    init(format: MatchCommand.Format) { self.format = format }

    mutating func add(_ segments: [DrivenSegment], _ line: (String) -> Void) {
        guard format == .edges else { return }
        for segment in segments {
            line("\(sequence),\(segment.fromNodeID),\(segment.toNodeID),\(segment.wayID)")
            sequence += 1
        }
    }

    /// A fix that was not matched: it has a time and no place.
    func add(rejected fix: Fix, _ reason: String, _ line: (String) -> Void) {
        if format == .csv { line(Text.time(fix.stamp) + ",,,,,,,,rejected:\(reason)") }
    }

    mutating func add(_ position: NavMatching.MatchedPosition, _ line: (String) -> Void) {
        switch format {
        case .edges: break
        case .geojson: if let road = position.road { add(road.coordinate) }
        case .csv:
            let road = position.road.map {
                Text.road($0.wayID, $0.fromNodeID, $0.toNodeID, $0.segmentOffset)
                    + String(format: ",%.4f,", position.confidence)
            }
            line(
                Text.start(position.stamp, position.coordinate) + (road ?? ",,,,,,")
                    + (position.isHeld ? "held" : "\(position.state)"))
        }
    }

    mutating func add(_ position: SmoothedPosition, _ graph: RoadGraph, _ line: (String) -> Void) {
        switch format {
        case .edges: break
        case .geojson: if position.edge != nil { add(position.coordinate) }
        case .csv:
            let start = Text.start(position.stamp, position.coordinate)
            guard let edge = position.edge else {
                line(start + ",,,,,,\(NavMatching.MatchedPosition.State.offRoad)")
                return
            }
            let shape = graph.shape(of: edge)
            let segment = graph.position(at: position.offset, of: edge).segment
            let road = Text.road(
                graph.wayID(of: edge), shape.nodeID(segment), shape.nodeID(segment + 1),
                Geodesy.distance(shape[segment].coordinate, position.coordinate))
            line(start + road + ",,\(NavMatching.MatchedPosition.State.onRoad)")
        }
    }

    func end(_ line: (String) -> Void) {
        guard format == .geojson else { return }
        line(
            #"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":["#
                + coordinates.joined(separator: ",") + "]}}]}")
    }

    private mutating func add(_ coordinate: NavGeo.Coordinate) {
        coordinates.append(String(format: "[%.7f,%.7f]", coordinate.longitude, coordinate.latitude))
    }

    private static func start(_ stamp: NavGeo.Timestamp, _ coordinate: NavGeo.Coordinate) -> String {
        guard coordinate.isValid else { return time(stamp) + ",," }
        return time(stamp) + String(format: ",%.8f,%.8f", coordinate.latitude, coordinate.longitude)
    }

    /// Seconds with three decimals where there are any, and with all nine where three do not do.
    private static func time(_ stamp: NavGeo.Timestamp) -> String {
        let sign = stamp.nanoseconds < 0 ? "-" : ""
        let (seconds, rest) = stamp.nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest > 0 else { return "\(sign)\(seconds)" }
        let (millis, fine) = rest.quotientAndRemainder(dividingBy: 1_000_000)
        return "\(sign)\(seconds)." + String(format: "%03d", Int(millis))
            + (fine > 0 ? String(format: "%06d", Int(fine)) : "")
    }

    private static func road(_ way: Int64, _ from: Int64, _ to: Int64, _ offset: Double) -> String {
        ",\(way),\(from),\(to)," + String(format: "%.2f", offset)
    }
}
