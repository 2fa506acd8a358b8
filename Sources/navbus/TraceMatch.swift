import Foundation
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavPositioning
import NavRouting

/// A match of one trace, written in a format.
struct TraceMatch {
    let metric: Metric
    let format: MatchCommand.Format
    /// The number of fixes by which the driven path may lag.
    let lag: Int
    /// Whether decisions are based on the whole drive.
    let isSmoothed: Bool
    /// Whether fixes are matched without preprocessing.
    let isRaw: Bool
    /// Whether predicted positions get separate rows.
    let showsPredictions: Bool

    func run(_ inputs: MatchCommand.Inputs, _ line: (String) -> Void) throws(NodeError) {
        switch format {
        case .csv: line("t_s,lat,lon,way_id,from_node,to_node,offset_m,confidence,state")
        case .edges: line("seq,from_node,to_node,way_id")
        case .geojson: break
        }
        var text = Text(format: format)
        if isSmoothed {
            try smooth(inputs, &text, line)
        } else if isRaw {
            try matchRaw(inputs, &text, line)
        } else {
            try follow(inputs, &text, line)
        }
        text.end(line)
    }

    /// Writes the positions from the positioning pipeline.
    private func follow(
        _ inputs: MatchCommand.Inputs, _ text: inout Text, _ line: (String) -> Void
    ) throws(NodeError) {
        var positioning = Positioning(metric: metric, isTracing: true)
        var path = PathTracker(lag: lag)
        try inputs.forEach { input in
            var open: Fix?
            for effect in positioning.replay(input) {
                switch effect {
                case .qualified(let fix, .rejected(let rejection)): text.add(fix, "rejected:\(rejection.reason)", line)
                case .qualified(let fix, .standby): text.add(fix, "rejected:standby", line)
                case .qualified(let fix, _): open = fix
                case .position(let position):
                    if open != nil {
                        text.add(position.match, line)
                        open = nil
                    } else if showsPredictions {
                        text.add(position.match, state: "predicted", line)
                    }
                case .step(let step): text.add(path.append(step), line)
                case .receiver, .clockSet, .filtered, .predictionBegan, .predictionEnded: break
                }
            }
            // A later position was predicted before the fix arrived.
            if let open { text.add(open, "outdated", line) }
        }
        text.add(path.finish(), line)
    }

    private func matchRaw(
        _ inputs: MatchCommand.Inputs, _ text: inout Text, _ line: (String) -> Void
    ) throws(NodeError) {
        var matcher = StreamingMatcher(metric: metric, recordsPath: format == .edges)
        var path = PathTracker(lag: lag)
        try inputs.forEach { input in
            guard case .fix(let fix) = input else { return }
            text.add(matcher.match(fix), line)
            if let step = matcher.step { text.add(path.append(step), line) }
        }
        text.add(path.finish(), line)
    }

    private func smooth(
        _ inputs: MatchCommand.Inputs, _ text: inout Text, _ line: (String) -> Void
    ) throws(NodeError) {
        /// A fix to match, or a rejected fix with its state.
        enum Row {
            case filtered(Fix)
            case rejected(Fix, String)
        }
        var rows: [Row] = []
        var positioning = Positioning(metric: metric, isTracing: true)
        try inputs.forEach { input in
            if isRaw {
                if case .fix(let fix) = input { rows.append(.filtered(fix)) }
                return
            }
            for effect in positioning.replay(input) {
                switch effect {
                case .qualified(let fix, .rejected(let rejection)):
                    rows.append(.rejected(fix, "rejected:\(rejection.reason)"))
                case .qualified(let fix, .standby): rows.append(.rejected(fix, "rejected:standby"))
                case .filtered(_, let refined, _): rows.append(.filtered(refined))
                default: break
                }
            }
        }
        let drive = DriveSmoother(metric: metric).smooth(
            rows.compactMap { if case .filtered(let fix) = $0 { fix } else { nil } })
        var next = 0
        for row in rows {
            switch row {
            case .rejected(let fix, let state): text.add(fix, state, line)
            case .filtered:
                text.add(drive.positions[next], metric.turns.graph, line)
                next += 1
            }
        }
        text.add(drive.segments, line)
    }
}

/// The matched drive, as lines of a format.
private struct Text {
    let format: MatchCommand.Format
    private var sequence = 0
    private var coordinates: [NavGeo.Coordinate] = []

    init(format: MatchCommand.Format) { self.format = format }

    mutating func add(_ segments: [DrivenSegment], _ line: (String) -> Void) {
        guard format == .edges else { return }
        for segment in segments {
            line("\(sequence),\(segment.fromNodeID),\(segment.toNodeID),\(segment.wayID)")
            sequence += 1
        }
    }

    /// Adds a fix that was not matched; it has a time but no place.
    func add(_ fix: Fix, _ state: String, _ line: (String) -> Void) {
        if format == .csv { line(Text.time(fix.stamp) + ",,,,,,,,\(state)") }
    }

    mutating func add(_ position: NavMatching.MatchedPosition, state: String? = nil, _ line: (String) -> Void) {
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
                    + (state ?? (position.isHeld ? "held" : "\(position.state)")))
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
        // A line has at least two positions.
        let feature =
            coordinates.count < 2
            ? ""
            : #"{"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":["#
                + coordinates.map { String(format: "[%.7f,%.7f]", $0.longitude, $0.latitude) }.joined(separator: ",")
                + "]}}"
        line(#"{"type":"FeatureCollection","features":["# + feature + "]}")
    }

    private mutating func add(_ coordinate: NavGeo.Coordinate) {
        coordinates.append(coordinate)
    }

    private static func start(_ stamp: NavGeo.Timestamp, _ coordinate: NavGeo.Coordinate) -> String {
        guard coordinate.isValid else { return time(stamp) + ",," }
        return time(stamp) + String(format: ",%.8f,%.8f", coordinate.latitude, coordinate.longitude)
    }

    /// Returns seconds with three decimals if that is exact, otherwise with nine; with none for whole seconds.
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
