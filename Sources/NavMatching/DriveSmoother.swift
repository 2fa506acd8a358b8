public import NavGeo
public import NavMap
public import NavRouting

/// The position of a vehicle at one fix, estimated from the whole drive.
public struct SmoothedPosition: Sendable, Hashable {
    /// Time of the fix.
    public var stamp: Timestamp
    /// The fix's position as given.
    public var raw: Coordinate
    /// The edge; nil when the vehicle is on no mapped road or the fix has no position.
    public var edge: EdgeIndex?
    /// The position on the edge, or the raw position without an edge.
    public var coordinate: Coordinate
    /// Metres from the edge's start.
    public var offset: Double
}

/// A drive matched with look-ahead.
public struct SmoothedDrive: Sendable, Hashable {
    /// A position for each fix, in order.
    public var positions: [SmoothedPosition]
    /// Every OSM segment driven, including those between fixes, each once per traversal, in driving order.
    public var segments: [DrivenSegment]

    public init(positions: [SmoothedPosition], segments: [DrivenSegment]) {
        self.positions = positions
        self.segments = segments
    }
}

/// An offline matcher of whole drives that finds the most probable path given all fixes (Viterbi, 1967).
///
/// It makes two passes over the drive. If the receiver reports no noise, the first estimates it from the distances to
/// the roads, like Newson and Krumm (2009). The second postpones every decision until all histories agree or the drive
/// ends.
///
/// Jumps and gaps without a connecting road split the path. The model is that of ``StreamingMatcher``. Memory grows
/// with the stretches on which histories differ.
public struct DriveSmoother: Sendable {
    private let metric: Metric
    private let config: MatcherConfig

    public init(metric: Metric, config: MatcherConfig = MatcherConfig()) {
        self.metric = metric
        self.config = config
    }

    /// Matches a drive whose fixes are in the order of their stamps.
    public func smooth(_ fixes: [Fix], includesPartialEnds: Bool = false) -> SmoothedDrive {
        var config = config
        var first = StreamingMatcher(metric: metric, config: config)
        for fix in fixes { _ = first.match(fix) }
        config.defaultSigma = first.usualSigma
        var matcher = StreamingMatcher(metric: metric, config: config, recordsPath: true)
        var tracker = PathTracker(lag: .max, includesPartialEnds: includesPartialEnds, recordsPlaces: true)
        var segments: [DrivenSegment] = []
        // For each fix the index of its step, or of the last step before it; -1 before the first.
        var steps: [Int] = []
        var isHeld: [Bool] = []
        var count = 0
        for fix in fixes {
            let position = matcher.match(fix)
            if let step = matcher.step {
                segments += tracker.append(step)
                count += 1
            }
            steps.append(count - 1)
            isHeld.append(position.isHeld || position.state == .unusable)
        }
        segments += tracker.finish()
        let places = tracker.places
        let positions = fixes.indices.map { index in
            position(
                of: fixes[index], step: steps[index], isStep: index == 0 ? true : steps[index] != steps[index - 1],
                isHeld: isHeld[index], places)
        }
        return SmoothedDrive(positions: positions, segments: segments)
    }

    /// Returns the place of a fix: that of its own step, otherwise the nearest on the path between the steps around it.
    private func position(
        of fix: Fix, step: Int, isStep: Bool, isHeld: Bool, _ places: [PathTracker.Place]
    ) -> SmoothedPosition {
        let nowhere = SmoothedPosition(
            stamp: fix.stamp, raw: fix.coordinate, edge: nil, coordinate: fix.coordinate, offset: 0)
        guard places.indices.contains(step), let edge = places[step].edge, fix.isUsable else { return nowhere }
        let graph = metric.turns.graph
        var (bestEdge, bestOffset) = (edge, places[step].offset)
        if !isStep, !isHeld {
            let next = places.indices.contains(step + 1) ? places[step + 1] : nil
            var stretches = [Stretch(edge: edge, from: bestOffset, to: bestOffset)]
            if let next, next.edge != nil { stretches += next.stretches }
            var nearest = Double.infinity
            for stretch in stretches {
                guard let hit = graph.project(fix.coordinate, onto: stretch.edge) else { continue }
                let offset = min(max(hit.offset, stretch.from), max(stretch.to, stretch.from))
                let place = graph.position(at: offset, of: stretch.edge)
                let distance = Geodesy.distance(place.coordinate, fix.coordinate)
                guard distance < nearest else { continue }
                nearest = distance
                (bestEdge, bestOffset) = (stretch.edge, offset)
            }
        }
        let place = graph.position(at: bestOffset, of: bestEdge)
        return SmoothedPosition(
            stamp: fix.stamp, raw: fix.coordinate, edge: bestEdge, coordinate: place.coordinate, offset: bestOffset)
    }
}
