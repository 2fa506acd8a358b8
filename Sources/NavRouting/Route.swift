public import NavGeo
public import NavMap

/// A place that a route starts at, passes or ends at.
public struct Waypoint: Sendable, Hashable {
    public var coordinate: Coordinate
    /// Direction of travel there, radians clockwise from north; nil allows any.
    public var bearing: Double?
    /// The greatest difference of the road's direction from ``bearing``, radians.
    public var bearingTolerance: Double
    /// The name; empty when it has none.
    public var name: String
    /// Whether the vehicle stops there, so that a leg ends; a pass-through point only shapes the route.
    public var isStop: Bool
    /// On which side of the road it is passed.
    public var approach: Approach
    /// The greatest distance from a road, metres; nil for what the request allows.
    public var radius: Double?

    public init(
        _ coordinate: Coordinate, bearing: Double? = nil, bearingTolerance: Double = .pi / 4, name: String = "",
        isStop: Bool = true, approach: Approach = .unrestricted, radius: Double? = nil
    ) {
        self.coordinate = coordinate
        self.bearing = bearing
        self.bearingTolerance = bearingTolerance
        self.name = name
        self.isStop = isStop
        self.approach = approach
        self.radius = radius
    }
}

/// The density of traffic, by the ratio of its speed to that of free traffic.
public enum Congestion: String, Sendable, CaseIterable {
    /// No speed is known.
    case unknown
    /// At least 0.8.
    case low
    /// 0.6 to 0.8.
    case moderate
    /// 0.4 to 0.6.
    case heavy
    /// Below 0.4.
    case severe

    /// The level of a time that traffic takes where free traffic takes another.
    public init(duration: Double, freeFlow: Double) {
        switch freeFlow / max(duration, 1e-9) {
        case 0.8...: self = .low
        case 0.6..<0.8: self = .moderate
        case 0.4..<0.6: self = .heavy
        default: self = .severe
        }
    }
}

/// A piece of a route on one edge of the road graph.
public struct RouteEdge: Sendable, Equatable {
    public var key: EdgeKey
    public var wayID: Int64
    /// Metres from the edge's start at which the route enters it: 0 except where a leg starts.
    public var startOffset: Double
    /// Metres from the edge's start at which the route leaves it: its length except where a leg ends.
    public var endOffset: Double
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Seconds that driving the piece takes, with traffic where it is known.
    public var duration: Double
    /// Seconds that the router itself gives for the piece, in the traffic of the last pricing: ``duration`` unless somebody
    /// else timed the route.
    package var routerDuration: Double
    /// Seconds that driving the piece takes in free traffic.
    public var freeFlowDuration: Double
    public var congestion: Congestion
    /// Seconds that the turn onto it takes; 0 at the start of a leg.
    public var turnDuration: Double
    /// The piece's points in ``Route/coordinates``; both ends included, so neighbours share one.
    public var coordinates: ClosedRange<Int>
    /// Toll booths after the edge's start, its end included.
    public var tollBooths: Int
    /// Class, names and limits; pieces of one road share them.
    public var attributes: RoadAttributes {
        _read { yield sharedAttributes.value }
        set { sharedAttributes = SharedAttributes(newValue) }
    }
    var sharedAttributes: SharedAttributes

    /// Rank in the network, without the cost of copying all ``attributes``.
    package var roadClass: RoadClass { sharedAttributes.roadClass }
    /// Properties, without the cost of copying all ``attributes``.
    package var flags: RoadFlags { sharedAttributes.flags }

    /// Mean speed, m/s, stops included; that of free traffic for a piece without length.
    public var speed: Double { duration > 0 ? length / duration : Double(attributes.freeFlowSpeed) }
    /// The country's ISO 3166-1 code of two letters; empty when unknown.
    public var country: String { attributes.country }
    public var drivesOnLeft: Bool { flags.contains(.leftHandTraffic) }
    /// Metres driven on the edge.
    public var length: Double { endOffset - startOffset }
    /// The road's name, or its number when it has none; empty when it has neither.
    public var roadName: String { sharedAttributes.roadName }
}

/// Attributes that many pieces of routes share: a copy is a pointer, not a dozen strings.
struct SharedAttributes: Sendable, Equatable {
    private final class Box: Sendable {
        let value: RoadAttributes

        init(_ value: RoadAttributes) { self.value = value }
    }

    private let box: Box

    init(_ value: RoadAttributes) { box = Box(value) }

    var value: RoadAttributes { _read { yield box.value } }

    var roadName: String { box.value.name.isEmpty ? box.value.reference : box.value.name }
    var roadClass: RoadClass { box.value.roadClass }
    var flags: RoadFlags { box.value.flags }

    func isNamed(like other: SharedAttributes) -> Bool {
        box === other.box
            || box.value.name == other.box.value.name && box.value.reference == other.box.value.reference
                && box.value.destination == other.box.value.destination
                && box.value.destinationReference == other.box.value.destinationReference
    }

    static func == (left: SharedAttributes, right: SharedAttributes) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

/// The way from one stop to the next.
public struct RouteLeg: Sendable, Equatable {
    /// The leg's pieces in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Metres.
    public var length: Double
    /// Seconds, turns included.
    public var duration: Double
    /// Seconds in free traffic, turns included.
    public var freeFlowDuration: Double
    /// The index of the stop at its end in ``Route/waypoints``.
    public var destination: Int
}

/// A waypoint and where on the road it was put.
public struct RouteWaypoint: Sendable, Equatable {
    public var waypoint: Waypoint
    public var snapped: Coordinate
    /// Metres between the two.
    public var snapDistance: Double
    /// Metres from the route's start.
    public var routeOffset: Double
}

/// A piece of a route between two consecutive OSM nodes.
public struct RouteSegment: Sendable, Equatable {
    /// OSM node at its start (of the whole segment, also where the route starts inside it).
    public var fromNodeID: Int64
    /// OSM node at its end (of the whole segment, also where the route ends inside it).
    public var toNodeID: Int64
    /// The index in ``Route/edges``.
    public var edge: Int
}

/// A route: a drivable path with its line, times and road attributes. It names edges by tile, so it outlives the graph
/// it was found in.
public struct Route: Sendable, Equatable {
    public var mapVersion: String
    public var vehicle: VehicleProfile
    /// The stops and pass-through points, at least two.
    public var waypoints: [RouteWaypoint]
    /// One per stop after the start.
    public var legs: [RouteLeg]
    /// The pieces in travel order.
    public var edges: [RouteEdge]
    /// One per pair of consecutive ``coordinates``.
    public var segments: [RouteSegment]
    public var line: Polyline
    /// The cost of the way, milliseconds: the duration and the penalties of the profile. That a waypoint was moved to a
    /// connected road is no part of it.
    public var cost: UInt64
    /// The stamp of the newest traffic behind the durations; nil without traffic.
    public var trafficStamp: Timestamp?

    public var coordinates: [Coordinate] { line.coordinates }
    /// Metres.
    public var length: Double { line.length }
    /// Seconds, turns included; with traffic where it is known.
    public var duration: Double { legs.reduce(0) { $0 + $1.duration } }
    /// Seconds in free traffic, turns included.
    public var freeFlowDuration: Double { legs.reduce(0) { $0 + $1.freeFlowDuration } }
    /// Tile-bound name and OSM way of each of ``edges``.
    package var edgeNames: [(key: EdgeKey, wayID: Int64)] {
        [(key: EdgeKey, wayID: Int64)](unsafeUninitializedCapacity: edges.count) { names, count in
            edges.withUnsafeBufferPointer { edges in
                for index in edges.indices {
                    names.initializeElement(at: index, to: (edges[index].key, edges[index].wayID))
                }
                count = edges.count
            }
        }
    }

    /// Rank, properties and whether the names are those of the piece before, of each of ``edges``: without copying one.
    package func forEachPiece(_ body: (_ roadClass: RoadClass, _ flags: RoadFlags, _ isNamedAlike: Bool) -> Void) {
        edges.withUnsafeBufferPointer { edges in
            for index in edges.indices {
                let isNamedAlike =
                    index > 0 && edges[index].sharedAttributes.isNamed(like: edges[index - 1].sharedAttributes)
                body(edges[index].roadClass, edges[index].flags, isNamedAlike)
            }
        }
    }

    /// Seconds that traffic adds, at least 0; nil when the traffic is known nowhere on the route.
    public var trafficDelay: Double? {
        edges.contains { $0.congestion != .unknown } ? max(duration - freeFlowDuration, 0) : nil
    }

    /// The numbers of the route from a distance from its start on.
    ///
    /// The pieces behind are left out and the one at that place is cut. The line stays whole, so that places on it keep
    /// their indices.
    public func rest(from offset: Double) -> Route {
        guard offset > 0 else { return self }
        var rest = self
        rest.legs = []
        rest.edges = []
        rest.segments = []
        for leg in legs where leg.routeOffset + leg.length > offset {
            let first = rest.edges.count
            for var edge in edges[leg.edges] where edge.routeOffset + edge.length > offset {
                let cut = offset - edge.routeOffset
                if cut > 0 {
                    let share = 1 - cut / edge.length
                    edge.startOffset += cut
                    edge.routeOffset = offset
                    edge.duration *= share
                    edge.routerDuration *= share
                    edge.freeFlowDuration *= share
                    edge.turnDuration = 0
                }
                rest.edges.append(edge)
            }
            rest.append(
                leg, edges: first..<rest.edges.count, from: max(leg.routeOffset, offset),
                to: leg.routeOffset + leg.length)
        }
        return rest
    }

    /// Takes the times of another route of the same provider, found later, where both lead over the same edges; how many pieces take
    /// another time by that.
    public mutating func takeTimes(of other: Route) -> Int {
        var places: [EdgeKey: Int] = [:]
        for (index, edge) in other.edges.enumerated() where edge.length > 0 { places[edge.key] = index }
        var changed = 0
        for index in edges.indices {
            guard let place = places[edges[index].key] else { continue }
            let fresh = other.edges[place]
            let share = edges[index].length / fresh.length
            // Of a piece that was cut at the vehicle only the whole rest is known.
            guard share.isFinite, fresh.endOffset >= edges[index].endOffset else { continue }
            let duration = fresh.duration * share
            if (duration - edges[index].duration).magnitude > 0.001 { changed += 1 }
            edges[index].duration = duration
            edges[index].routerDuration = fresh.routerDuration * share
            edges[index].freeFlowDuration = fresh.freeFlowDuration * share
            edges[index].congestion = fresh.congestion
            if place > 0, index > 0, other.edges[place - 1].key == edges[index - 1].key {
                edges[index].turnDuration = fresh.turnDuration
            }
        }
        trafficStamp = other.trafficStamp ?? trafficStamp
        for leg in legs.indices { sumUp(leg) }
        return changed
    }

    private mutating func append(_ leg: RouteLeg, edges range: Range<Int>, from start: Double, to end: Double) {
        var leg = leg
        leg.edges = range
        leg.routeOffset = start
        leg.length = end - start
        legs.append(leg)
        sumUp(legs.count - 1)
    }

    /// Makes a leg's durations those of its pieces.
    mutating func sumUp(_ leg: Int) {
        var (duration, freeFlow) = (0.0, 0.0)
        for edge in edges[legs[leg].edges] {
            duration += edge.duration + edge.turnDuration
            freeFlow += edge.freeFlowDuration + edge.turnDuration
        }
        legs[leg].duration = duration
        legs[leg].freeFlowDuration = freeFlow
    }
}

public struct RouteRequest: Sendable, Hashable {
    /// Start, points on the way and destination, at least two.
    public var waypoints: [Waypoint]
    /// The greatest distance that a waypoint without a ``Waypoint/radius`` is moved to a road, metres, 0 ... ``greatestSnapRadius``.
    public var snapRadius: Double
    /// The same for the first waypoint where it is the position of the vehicle, whose direction then is a hint and no demand; nil for
    /// a place like the others.
    public var positionSnapRadius: Double?
    public var options: RouteOptions

    /// The greatest ``snapRadius`` that is answered, metres.
    public static let greatestSnapRadius = 100_000.0
    /// The usual ``snapRadius``, metres: a place in a large car park, field or harbour is still reached.
    public static let defaultSnapRadius = 500.0
    /// The usual ``positionSnapRadius``, metres: a vehicle that is farther from a road cannot be guided along it.
    public static let defaultPositionSnapRadius = 150.0

    public init(
        waypoints: [Waypoint], snapRadius: Double = defaultSnapRadius, positionSnapRadius: Double? = nil,
        options: RouteOptions = RouteOptions()
    ) {
        self.waypoints = waypoints
        self.options = options
        self.snapRadius = snapRadius
        self.positionSnapRadius = positionSnapRadius
    }

    /// Returns the greatest distance that a waypoint is moved to a road, metres.
    package func snapRadius(of waypoint: Int) -> Double {
        waypoints[waypoint].radius ?? (waypoint == 0 ? positionSnapRadius ?? snapRadius : snapRadius)
    }

    /// Why the request makes no sense; nil when it does.
    package var fault: String? {
        guard waypoints.count >= 2 else { return "a route needs a start and a destination" }
        for (index, waypoint) in waypoints.enumerated() where !waypoint.coordinate.isValid {
            return "waypoint \(index) is not a position on Earth"
        }
        for (index, waypoint) in waypoints.enumerated() {
            guard waypoint.bearing?.isFinite ?? true, waypoint.bearingTolerance >= 0 else {
                return "waypoint \(index) has a bearing or a tolerance that is no angle"
            }
            guard waypoint.radius.map({ (0...Self.greatestSnapRadius).contains($0) }) ?? true else {
                return "the radius of waypoint \(index) is not within 0 ... \(Int(Self.greatestSnapRadius)) m"
            }
        }
        let radiuses = [snapRadius, positionSnapRadius ?? snapRadius]
        guard radiuses.allSatisfy((0...Self.greatestSnapRadius).contains) else {
            return "the snap radius is not within 0 ... \(Int(Self.greatestSnapRadius)) m"
        }
        return options.fault
    }
}

/// The answer to a ``RouteRequest``.
public enum RouteOutcome: Sendable, Equatable {
    /// The fastest route, exact on the loaded tiles and not beaten by any road outside them.
    case found(Route)
    /// The waypoints are not connected for this vehicle; `waypoint` is the one that is too far from the roads that connect the others,
    /// else the first that cannot be reached from the one before. `nearest` as in ``offRoad(waypoint:nearest:)``.
    case unreachable(waypoint: Int, nearest: Double? = nil)
    /// No road that this vehicle may use and reach, in the wanted direction, lies as near to the waypoint as it must; `nearest` is the
    /// distance of the next one in metres, nil where there is none within ``Router/farthestRoad``.
    case offRoad(waypoint: Int, nearest: Double? = nil)
    /// The loaded tiles cannot settle the question: these are needed, by ascending id.
    case tilesNeeded([RoadTileID])
    /// The request itself makes no sense.
    case invalid(String)
}
