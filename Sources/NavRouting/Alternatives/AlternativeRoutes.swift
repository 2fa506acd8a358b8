public import NavGeo
public import NavMap

/// The place where a route leaves another.
public struct RouteFork: Sendable, Equatable {
    /// The last common edge; the first edge of the route when the two diverge at once.
    public var edge: EdgeKey
    /// Metres from that edge's start; the edge's length when the routes diverge at its end.
    public var offset: Double
    public var coordinate: Coordinate
    /// Metres from the start of both routes.
    public var routeOffset: Double
    /// Seconds from the start of both routes.
    public var routeTime: Double
}

/// An alternative route to the same destination that is worth showing.
public struct AlternativeRoute: Sendable, Equatable {
    /// A hash of the OSM ways and nodes that the alternative does not share with the main route, leg by leg.
    ///
    /// The same detour keeps its id across recomputations, even when the vehicle is closer or has reached stops. The
    /// same roads on another leg have another id.
    public var id: UInt64
    /// The whole route, from the start of the main route.
    public var route: Route
    /// The place where it leaves the main route for the first time.
    public var fork: RouteFork
    /// Metres from the fork to the destination.
    public var lengthFromFork: Double
    /// Seconds from the fork to the destination.
    public var durationFromFork: Double
    /// Extra metres compared with the main route; negative when it is shorter.
    public var lengthDelta: Double
    /// Extra seconds compared with the main route; negative when it is faster.
    public var durationDelta: Double
    /// The share of the best route's cost on edges of the main route, 0 ... 1; that of a single leg where the routes
    /// differ in one leg only.
    public var sharing: Double
    /// The greatest factor by which a detour costs more than the best route between the same two points.
    public var stretch: Double
    /// Up to two roads that cover most of what it does not share, in travel order.
    ///
    /// They are chosen so that routes shown together have different names where possible; empty where its roads have no name or number.
    public var via: [String]
}

public struct AlternativeRoutes: Sendable, Equatable {
    /// The best route, or the rest of the route being driven.
    public var main: Route
    /// Whether ``main`` is the rest of the route being driven.
    public var mainIsCurrent: Bool
    /// The road names of ``main``, chosen like ``AlternativeRoute/via``.
    public var via: [String]
    /// The alternatives, the most useful first.
    public var alternatives: [AlternativeRoute]

    public init(main: Route) { self.init(main: main, mainIsCurrent: false, alternatives: []) }

    init(main: Route, mainIsCurrent: Bool, alternatives: [AlternativeRoute]) {
        self.main = main
        self.mainIsCurrent = mainIsCurrent
        self.alternatives = alternatives
        let names = RoadNames.distinct([main] + alternatives.map(\.route))
        via = names[0]
        for index in alternatives.indices { self.alternatives[index].via = names[index + 1] }
    }
}

/// The result of a request for alternatives.
public enum AlternativesOutcome: Sendable, Equatable {
    case found(AlternativeRoutes)
    /// There is no route; the outcome gives the reason.
    case notFound(RouteOutcome)
}

extension AlternativeRoute {
    init(_ route: Route, to main: Route, sharing: Double, stretch: Double) {
        let fork = RouteFork(of: route, from: main)
        self.route = route
        self.fork = fork
        lengthFromFork = route.length - fork.routeOffset
        durationFromFork = route.duration - fork.routeTime
        lengthDelta = route.length - main.length
        durationDelta = route.duration - main.duration
        self.sharing = sharing
        self.stretch = stretch
        via = []
        var hash = Hash64()
        for (number, leg) in route.legs.enumerated() {
            let known = main.legs.indices.contains(number) ? main.edges[main.legs[number].edges] : []
            let keys = Set(known.map(\.key))
            for edge in route.edges[leg.edges] where !keys.contains(edge.key) {
                hash.add(UInt64(route.legs.count - number))
                hash.add(UInt64(bitPattern: edge.wayID))
                hash.add(UInt64(bitPattern: route.segments[edge.coordinates.lowerBound].fromNodeID))
                hash.add(UInt64(bitPattern: route.segments[edge.coordinates.upperBound - 1].toNodeID))
            }
        }
        id = hash.value
    }
}

extension RouteFork {
    /// Finds the place where `route` leaves `other` for the first time, or its start when they diverge at once.
    init(of route: Route, from other: Route) {
        var common = 0
        while common < min(route.edges.count, other.edges.count),
            route.edges[common].key == other.edges[common].key,
            route.edges[common].startOffset == other.edges[common].startOffset,
            route.edges[common].endOffset == other.edges[common].endOffset
        { common += 1 }
        guard common > 0 else {
            let first = route.edges[0]
            self.init(
                edge: first.key, offset: first.startOffset, coordinate: route.coordinates[0], routeOffset: 0,
                routeTime: 0)
            return
        }
        let edge = route.edges[common - 1]
        self.init(
            edge: edge.key, offset: edge.endOffset, coordinate: route.coordinates[edge.coordinates.upperBound],
            routeOffset: route.line.cumulativeLengths[edge.coordinates.upperBound],
            routeTime: route.edges[..<common].reduce(0) { $0 + $1.duration + $1.turnDuration })
    }
}

/// The FNV-1a hash over 64-bit words; equal on every machine and in every process.
struct Hash64 {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            value = (value ^ (word >> shift & 0xFF)) &* 0x100_0000_01B3
        }
    }
}
