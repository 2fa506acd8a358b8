public import NavGeo
public import NavMap

/// The position of a vehicle on the road graph, given the fixes so far.
public struct MatchedPosition: Sendable, Hashable {
    /// The matcher's conclusion.
    public enum State: UInt8, Sendable, CaseIterable {
        /// The fix is unusable: no position, a value out of range, or a stamp before its predecessor's.
        case unusable
        case onRoad
        /// Most likely on no mapped road, although one is near.
        case offRoad
        /// No road is near.
        case noCandidates
    }

    /// A place on a road with its probability.
    public struct Candidate: Sendable, Hashable {
        /// The edge, in its direction of travel.
        public var edge: EdgeIndex
        /// Metres from the edge's start.
        public var offset: Double
        /// Metres from the fix.
        public var distance: Double
        /// Direction of the road there, radians clockwise from true north.
        public var bearing: Double
        /// Probability given all fixes up to now, 0 ... 1.
        public var probability: Double

        package init(edge: EdgeIndex, offset: Double, distance: Double, bearing: Double, probability: Double) {
            self.edge = edge
            self.offset = offset
            self.distance = distance
            self.bearing = bearing
            self.probability = probability
        }
    }

    public struct RoadPosition: Sendable, Hashable {
        public var coordinate: Coordinate
        /// The edge, valid in the matcher's graph.
        public var edge: EdgeIndex
        public var edgeKey: EdgeKey
        public var wayID: Int64
        /// OSM id of the node before the position.
        public var fromNodeID: Int64
        /// OSM id of the node after the position.
        public var toNodeID: Int64
        /// Metres from the edge's start.
        public var offset: Double
        /// Metres from the node before the position.
        public var segmentOffset: Double
        /// Direction of the road, radians clockwise from true north.
        public var bearing: Double
        /// Metres between the fix and the road.
        public var distance: Double
        /// Standard deviation along the road, metres.
        public var alongSigma: Double
        /// Standard deviation across the road, metres.
        public var crossSigma: Double
        /// Whether the vehicle drives against the one-way edge; ``bearing`` is then the vehicle's direction.
        public var isAgainst = false
    }

    public var stamp: Timestamp
    /// The fix's position as given.
    public var raw: Coordinate
    /// The matcher's conclusion.
    public var state: State
    /// The most probable place on a road; nil unless ``state`` is ``State/onRoad``.
    public var road: RoadPosition?
    /// Probability of the most probable edge, 0 ... 1; 0 when there is none.
    public var confidence: Double
    /// Places on roads, the most probable first.
    public var candidates: [Candidate]
    /// Probability of being on no mapped road, 0 ... 1.
    public var offRoadProbability: Double
    /// Speed over ground, m/s, from the fix or otherwise from the last movement; nil when unknown.
    public var speed: Double?
    /// Whether the position jumped: no vehicle can get here from the last position in the elapsed time.
    public var isTeleport: Bool
    /// Whether the fix was rejected as an outlier, because it is unreachable or fits no reachable road, and the place
    /// is the previous one.
    public var isHeld = false

    package init(
        stamp: Timestamp, raw: Coordinate, state: State, road: RoadPosition?, confidence: Double,
        candidates: [Candidate], offRoadProbability: Double, speed: Double?, isTeleport: Bool
    ) {
        self.stamp = stamp
        self.raw = raw
        self.state = state
        self.road = road
        self.confidence = confidence
        self.candidates = candidates
        self.offRoadProbability = offRoadProbability
        self.speed = speed
        self.isTeleport = isTeleport
    }

    /// The position on the road, otherwise the raw one.
    public var coordinate: Coordinate { road?.coordinate ?? raw }

    /// Returns the result for an unusable fix.
    static func unusable(_ fix: Fix) -> MatchedPosition {
        MatchedPosition(
            stamp: fix.stamp, raw: fix.coordinate, state: .unusable, road: nil, confidence: 0, candidates: [],
            offRoadProbability: 0, speed: nil, isTeleport: false)
    }
}

extension MatchedPosition.RoadPosition {
    /// Creates the position at a distance from an edge's start.
    ///
    /// - Parameter raw: The receiver's position; nil for a place without a fix.
    package init(
        _ edge: EdgeIndex, at offset: Double, on graph: RoadGraph, raw: Coordinate?, alongSigma: Double,
        crossSigma: Double
    ) {
        let shape = graph.shape(of: edge)
        let position = graph.position(at: offset, of: edge)
        let segment = min(max(position.segment, 0), shape.count - 2)
        self.init(
            coordinate: position.coordinate, edge: edge, edgeKey: graph.key(of: edge), wayID: graph.wayID(of: edge),
            fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1), offset: offset,
            segmentOffset: Geodesy.distance(shape[segment].coordinate, position.coordinate),
            bearing: position.bearing, distance: raw.map { Geodesy.distance($0, position.coordinate) } ?? 0,
            alongSigma: alongSigma, crossSigma: crossSigma)
    }
}
