public import NavGeo
public import NavMap

/// A place where a route starts, passes or ends.
public struct Waypoint: Sendable, Hashable {
    public var coordinate: Coordinate
    /// Direction of travel there, radians clockwise from north; nil for any.
    public var bearing: Double?
    /// The greatest difference of the road's direction from ``bearing``, radians.
    public var bearingTolerance: Double
    /// The name; empty when unnamed.
    public var name: String
    /// Whether the vehicle stops there, so that a leg ends; a pass-through point only shapes the route.
    public var isStop: Bool
    /// The side of the road on which it is passed.
    public var approach: Approach
    /// The greatest distance from a road, metres; nil for the request's default.
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

/// The density of traffic, by the ratio of its speed to free flow.
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
    /// Closed by traffic information.
    case closed

    /// Classifies a time in traffic by its ratio to the free-flow time.
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
    /// Seconds to drive the piece, with traffic where known.
    public var duration: Double
    /// Seconds by the router's own last pricing; equal to ``duration`` unless another provider timed the route.
    package var routerDuration: Double
    /// Seconds to drive the piece in free flow.
    public var freeFlowDuration: Double
    public var congestion: Congestion
    /// Seconds for the turn onto it; 0 at the start of a leg.
    public var turnDuration: Double
    /// The piece's points in ``Route/coordinates``, both ends included, so that neighbours share one.
    public var coordinates: ClosedRange<Int>
    /// The number of segments between its points, at least 1.
    var segmentCount: Int { max(coordinates.count - 1, 1) }
    /// Toll booths after the edge's start, including its end.
    public var tollBooths: Int
    /// Class, names and limits, shared by the pieces of one road.
    public var attributes: RoadAttributes {
        _read { yield sharedAttributes.value }
        set { sharedAttributes = SharedAttributes(newValue) }
    }
    var sharedAttributes: SharedAttributes

    /// Rank in the network, without the cost of copying all ``attributes``.
    package var roadClass: RoadClass { sharedAttributes.roadClass }
    /// The road flags, without the cost of copying all ``attributes``.
    package var flags: RoadFlags { sharedAttributes.flags }
    /// The lanes, without the cost of copying all ``attributes``.
    package var turnLanes: String { sharedAttributes.turnLanes }

    /// Mean speed including stops, m/s; the free-flow speed for a piece without length.
    public var speed: Double { duration > 0 ? length / duration : Double(attributes.freeFlowSpeed) }
    /// The country's two-letter ISO 3166-1 code; empty when unknown.
    public var country: String { attributes.country }
    public var drivesOnLeft: Bool { flags.contains(.leftHandTraffic) }
    /// Metres driven on the edge.
    public var length: Double { endOffset - startOffset }
    /// The road's name, otherwise its number; empty when it has neither.
    public var roadName: String { sharedAttributes.roadName }
}

/// Attributes shared by many pieces of routes; a copy is a pointer instead of a dozen strings.
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
    var turnLanes: String { box.value.turnLanes }

    func isNamed(like other: SharedAttributes) -> Bool {
        box === other.box
            || box.value.name == other.box.value.name && box.value.reference == other.box.value.reference
                && box.value.destination == other.box.value.destination
                && box.value.destinationReference == other.box.value.destinationReference
                && box.value.destinationReferenceTo == other.box.value.destinationReferenceTo
    }

    func isInCountry(of other: SharedAttributes) -> Bool {
        box === other.box || box.value.country == other.box.value.country
    }

    static func == (left: SharedAttributes, right: SharedAttributes) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

/// The route from one stop to the next.
public struct RouteLeg: Sendable, Equatable {
    /// The leg's pieces in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Length, metres.
    public var length: Double
    /// Seconds, including turns.
    public var duration: Double
    /// Seconds in free flow, including turns.
    public var freeFlowDuration: Double
    /// The index of the stop at its end in ``Route/waypoints``.
    public var destination: Int
}

/// A waypoint and its snapped position on the road.
public struct RouteWaypoint: Sendable, Equatable {
    public var waypoint: Waypoint
    public var snapped: Coordinate
    /// Metres between the waypoint and its snapped position.
    public var snapDistance: Double
    /// Metres from the route's start.
    public var routeOffset: Double
}

/// A piece of a route between two consecutive OSM nodes.
public struct RouteSegment: Sendable, Equatable {
    /// OSM node at the start of the whole segment, even where the route starts inside it.
    public var fromNodeID: Int64
    /// OSM node at the end of the whole segment, even where the route ends inside it.
    public var toNodeID: Int64
    /// The index in ``Route/edges``.
    public var edge: Int
}

/// A drivable path with its geometry, times and road attributes.
///
/// It refers to edges by their keys, so it outlives the graph it was found in.
public struct Route: Sendable, Equatable {
    public var mapVersion: String
    public var vehicle: VehicleProfile
    /// The stops and pass-through points, at least two.
    public var waypoints: [RouteWaypoint]
    /// One leg for each stop after the start.
    public var legs: [RouteLeg]
    /// The pieces in travel order.
    public var edges: [RouteEdge]
    /// One segment for each pair of consecutive ``coordinates``.
    public var segments: [RouteSegment]
    public var line: Polyline
    /// The cost of the path, ms: the duration and the profile's penalties, without the penalty for moving a waypoint to
    /// a connected road.
    public var cost: UInt64
    /// The stamp of the newest traffic behind the durations; nil without traffic.
    public var trafficStamp: Timestamp?

    public var coordinates: [Coordinate] { line.coordinates }
    /// Length, metres.
    public var length: Double { line.length }
    /// Seconds, including turns, with traffic where known.
    public var duration: Double { legs.reduce(0) { $0 + $1.duration } }
    /// Seconds in free flow, including turns.
    public var freeFlowDuration: Double { legs.reduce(0) { $0 + $1.freeFlowDuration } }
    /// The key and OSM way of each of ``edges``.
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

    /// Calls `body` with the rank, the flags and whether the names equal the previous piece's, for each of ``edges``,
    /// without copying the edges.
    package func forEachPiece(_ body: (_ roadClass: RoadClass, _ flags: RoadFlags, _ isNamedAlike: Bool) -> Void) {
        edges.withUnsafeBufferPointer { edges in
            for index in edges.indices {
                let isNamedAlike =
                    index > 0 && edges[index].sharedAttributes.isNamed(like: edges[index - 1].sharedAttributes)
                body(edges[index].roadClass, edges[index].flags, isNamedAlike)
            }
        }
    }

    /// The first of ``edges`` in each country, with its code, which is empty when unknown.
    package var countryRuns: [(first: Int, country: String)] {
        var runs: [(first: Int, country: String)] = []
        edges.withUnsafeBufferPointer { edges in
            for index in edges.indices {
                let attributes = edges[index].sharedAttributes
                if index > 0, attributes.isInCountry(of: edges[index - 1].sharedAttributes) { continue }
                runs.append((index, attributes.value.country))
            }
        }
        return runs
    }

    /// The indices of ``edges`` with toll booths.
    package var piecesWithTollBooths: [Int] {
        edges.withUnsafeBufferPointer { edges in edges.indices.filter { edges[$0].tollBooths > 0 } }
    }

    /// Seconds of delay by traffic, at least 0; nil when no traffic is known on the route.
    public var trafficDelay: Double? {
        edges.contains { $0.congestion != .unknown } ? max(duration - freeFlowDuration, 0) : nil
    }

    /// Returns the pieces that do not end before a distance along the route.
    public func pieces(from offset: Double) -> ArraySlice<RouteEdge> {
        edges.drop { $0.routeOffset + $0.length < offset }
    }

    /// Returns the rest of the route from a distance along it, with the remaining lengths and times.
    ///
    /// Earlier pieces are omitted, and the piece at that place is cut. The line stays whole, so that indices of its points remain valid.
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

    /// Copies the times of a newer route from the same provider where both use the same edges; returns the number of segments whose time
    /// changed.
    public mutating func takeTimes(of other: Route) -> Int {
        var places: [EdgeKey: Int] = [:]
        for (index, edge) in other.edges.enumerated() where edge.length > 0 { places[edge.key] = index }
        var changed = 0
        for index in edges.indices {
            guard let place = places[edges[index].key] else { continue }
            let fresh = other.edges[place]
            let share = edges[index].length / fresh.length
            // For a piece that was cut at the vehicle, only the time of its whole remainder is known.
            guard share.isFinite, fresh.endOffset >= edges[index].endOffset else { continue }
            let duration = fresh.duration * share
            if (duration - edges[index].duration).magnitude > 0.001 { changed += edges[index].segmentCount }
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

    /// Sets a leg's durations to the sums of its pieces.
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
    /// The start, intermediate points and destination, at least two.
    public var waypoints: [Waypoint]
    /// The greatest snapping distance of a waypoint without a ``Waypoint/radius``, metres, 0 ... ``greatestSnapRadius``.
    public var snapRadius: Double
    /// The same limit for a first waypoint that is the vehicle's position, whose direction is then a hint instead of a requirement; nil for
    /// an ordinary waypoint.
    public var positionSnapRadius: Double?
    public var options: RouteOptions

    /// The greatest allowed ``snapRadius``, metres.
    public static let greatestSnapRadius = 100_000.0
    /// The default ``snapRadius``, metres: enough for a place in a large car park, field or harbour.
    public static let defaultSnapRadius = 500.0
    /// The default ``positionSnapRadius``, metres: a vehicle farther from a road cannot be guided along it.
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

    /// Returns the greatest snapping distance of a waypoint, metres.
    package func snapRadius(of waypoint: Int) -> Double {
        waypoints[waypoint].radius ?? (waypoint == 0 ? positionSnapRadius ?? snapRadius : snapRadius)
    }

    /// The reason why the request is invalid; nil when it is valid.
    package var fault: String? {
        guard waypoints.count >= 2 else { return "a route needs a start and a destination" }
        for (index, waypoint) in waypoints.enumerated() where !waypoint.coordinate.isValid {
            return "waypoint \(index) is not a position on Earth"
        }
        for (index, waypoint) in waypoints.enumerated() {
            guard waypoint.bearing?.isFinite ?? true, waypoint.bearingTolerance >= 0 else {
                return "waypoint \(index) has an invalid bearing or bearing tolerance"
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

/// The result of a ``RouteRequest``.
public enum RouteOutcome: Sendable, Equatable {
    /// The fastest route, exact on the loaded tiles; no road outside of them can be faster.
    case found(Route)
    /// The waypoints are not connected for this vehicle.
    ///
    /// `waypoint` is too far from the roads that connect the others, or is the first that cannot be reached from the
    /// previous one. `nearest` is as in ``offRoad(waypoint:nearest:)``.
    case unreachable(waypoint: Int, nearest: Double? = nil)
    /// No road that this vehicle may use and reach, in the requested direction, is near enough to the waypoint.
    ///
    /// `nearest` is the distance of the nearest such road, metres; nil when there is none within ``Router/farthestRoad``.
    case offRoad(waypoint: Int, nearest: Double? = nil)
    /// The loaded tiles do not suffice; these are needed, by ascending id.
    case tilesNeeded([RoadTileID])
    /// The request is invalid.
    case invalid(String)
}
