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
        for input in inputs.all {
            switch input {
            case .odometry(let odometry): if !isRaw { tracker.take(odometry) }
            case .fix(let fix) where isRaw: body(.counts(fix, isElsewhere: false))
            case .fix(let fix):
                switch tracker.take(fix) {
                case .rejected(let rejection): body(.rejected(fix, "\(rejection.reason)"))
                case .standby: body(.rejected(fix, "standby"))
                case .accepted: body(.counts(tracker.estimate?.refined(fix) ?? fix, isElsewhere: false))
                case .acceptedAfterJump, .acceptedAfterClockSet:
                    body(.counts(tracker.estimate?.refined(fix) ?? fix, isElsewhere: true))
                }
            }
        }
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
            line(Text.start(position.stamp, position.coordinate) + (road ?? ",,,,,") + "\(position.state)")
        }
    }

    mutating func add(_ position: SmoothedPosition, _ graph: RoadGraph, _ line: (String) -> Void) {
        switch format {
        case .edges: break
        case .geojson: if position.edge != nil { add(position.coordinate) }
        case .csv:
            let start = Text.start(position.stamp, position.coordinate)
            guard let edge = position.edge else {
                line(start + ",,,,,\(NavMatching.MatchedPosition.State.offRoad)")
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

    private static func time(_ stamp: NavGeo.Timestamp) -> String {
        let seconds = stamp.nanoseconds / 1_000_000_000
        let millis = abs(stamp.nanoseconds % 1_000_000_000) / 1_000_000
        return millis == 0 ? "\(seconds)" : "\(seconds)." + String(format: "%03d", Int(millis))
    }

    private static func road(_ way: Int64, _ from: Int64, _ to: Int64, _ offset: Double) -> String {
        ",\(way),\(from),\(to)," + String(format: "%.2f", offset)
    }
}
