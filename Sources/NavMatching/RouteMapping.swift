import NavGeo
public import NavMap
public import NavRouting

/// A provided route mapped onto this map's edges.
public struct MappedRoute: Sendable, Equatable {
    /// The route on the map's edges, with the provider's times and traffic.
    public var route: Route
    /// The share of the provided route's length that the mapped route follows, 0 ... 1.
    public var share: Double
}

/// A failure to map a provided route.
public struct RouteMappingError: Error, Sendable, Equatable {
    public enum Code: String, Sendable, CaseIterable {
        /// The provided route is invalid or does not answer the request.
        case invalid
        /// Too much of it runs over roads that are not on the map or are closed to the vehicle.
        case unmapped
        /// It is not drivable under the map's rules.
        case interrupted
    }

    public var code: Code
    /// A human-readable description of the failure.
    public var message: String
    /// The share of the provided route's length that could be followed, 0 ... 1; 0 when that is unknown.
    public var share = 0.0
    /// Missing tiles that may be the reason, by ascending id.
    public var missingTiles: [RoadTileID] = []
}

/// A mapper of external routes onto the map, so that they can be used like its own.
///
/// A leg with OSM node ids is looked up; any other leg's line is matched like a drive. The result is connected and
/// legal for the vehicle on this map. It is compared with the provided line and rejected when too little agrees.
///
/// Work grows with the route's length, not with the map.
public struct RouteMapping: Sendable {
    /// The acceptance criteria.
    public struct Config: Sendable, Hashable {
        /// The least share of the provided route that must be followed, 0 ... 1.
        ///
        /// A new roundabout, or a road closed to this vehicle, may affect a twentieth of a drive through a town.
        public var minimumShare = 0.95
        /// The greatest distance between two lines of the same road, metres.
        ///
        /// Maps differ by some metres, and by half a road's width where one of them draws two carriageways.
        public var tolerance = 15.0
        /// The share by which the mapped route may be longer than the provided one.
        public var maximumDetour = 0.05
        /// The extra length that is always allowed, metres: a block.
        public var freeDetour = 300.0
        /// Metres between two points of a line that is matched.
        public var spacing = 12.0
        /// The maximum number of points of a provided route; more are rejected.
        public var maximumPoints = 1_000_000
        /// The maximum number of points that are matched like a drive: those of legs without OSM node ids, sampled at ``spacing``. More are
        /// rejected, because a few distant points can represent hours of driving.
        public var maximumSamples = 1_000_000
        /// The maximum number of states that are settled in all searches between roads that do not continue one another. A route that needs
        /// more is rejected, because node ids in arbitrary order can require a long search for each road.
        public var maximumSettled = 1_000_000

        public init() {}
    }

    private let router: Router
    private let config: Config

    /// Creates a mapping onto the roads that a router's vehicle may use, with the router's traffic.
    public init(_ router: Router, config: Config = Config()) {
        self.router = router
        self.config = config
    }

    /// Returns the provided route on this map.
    ///
    /// - Parameter request: The request that the provider answered. The route takes its waypoints and respects its exclusions.
    public func map(_ provided: ProvidedRoute, for request: RouteRequest) throws(RouteMappingError) -> MappedRoute {
        if let fault = request.fault ?? provided.fault { throw RouteMappingError(code: .invalid, message: fault) }
        let follower = RouteFollower(router, request)
        guard provided.legs.count == follower.stops.count else {
            throw RouteMappingError(
                code: .invalid,
                message: "the provided route has \(provided.legs.count) legs for \(follower.stops.count) stops")
        }
        let points = provided.legs.reduce(0) { $0 + $1.line.count }
        guard points <= config.maximumPoints else {
            throw RouteMappingError(
                code: .invalid,
                message: "the provided route has \(points) points; at most \(config.maximumPoints) are supported")
        }
        let matched = provided.legs.filter(\.nodeIDs.isEmpty)
        let length = matched.reduce(0) { $0 + Polyline($1.line).length }
        let samples = length / config.spacing + Double(matched.reduce(0) { $0 + $1.line.count })
        guard samples <= Double(config.maximumSamples) else {
            throw RouteMappingError(
                code: .invalid,
                message:
                    "\(matched.reduce(0) { $0 + $1.line.count }) points on \(Int(length / 1_000)) km of the provided route have "
                    + "no OSM node ids; sampling every \(Int(config.spacing)) m gives \(Int(samples)) points, and at most "
                    + "\(config.maximumSamples) are matched"
            )
        }
        let sequences = provided.legs.map { follower.edges(steps(of: $0, follower.metric)) }
        let route: Route
        do {
            route = try follower.route(provided, along: sequences, budget: config.maximumSettled)
        } catch {
            throw RouteMappingError(
                code: .interrupted, message: "leg \(error.leg) of the provided route: \(error.message)",
                missingTiles: error.missingTiles)
        }
        let agreement = RouteAgreement(provided, route, tolerance: config.tolerance)
        // Rounded down, so that a share below the limit does not read like the limit.
        let percent = (agreement.share * 1_000).rounded(.down) / 10
        guard agreement.share >= config.minimumShare else {
            throw RouteMappingError(
                code: .unmapped,
                message: "only \(percent) % of the provided route is on the map, less than "
                    + "\(Int((config.minimumShare * 100).rounded())) %"
                    + (agreement.departure.map { ": the longest part without a road begins at \($0.text)" } ?? ""),
                share: agreement.share)
        }
        let longest = provided.lineLength * (1 + config.maximumDetour) + config.freeDetour
        guard route.length <= longest else {
            let detour = RouteAgreement.detour(of: route, from: provided, tolerance: config.tolerance)
            throw RouteMappingError(
                code: .unmapped,
                message:
                    "the provided route is \(Int(route.length - provided.lineLength)) m longer on this map"
                    + (detour.map { ": the longest way beside its line begins at \($0.text)" } ?? ""),
                share: agreement.share)
        }
        return MappedRoute(
            route: route.withTimes(of: provided, tolerance: config.tolerance), share: agreement.share)
    }

    private func steps(of leg: ProvidedRoute.Leg, _ metric: Metric) -> [RoadStep] {
        if !leg.nodeIDs.isEmpty {
            return zip(leg.nodeIDs, leg.nodeIDs.dropFirst()).filter { $0 != $1 }.map { RoadStep(from: $0, to: $1) }
        }
        let smoother = DriveSmoother(metric: metric, config: Self.matcherConfig)
        return smoother.smooth(drive(along: leg.line), includesPartialEnds: true).segments.map {
            RoadStep(from: $0.fromNodeID, to: $0.toNodeID, wayID: $0.wayID)
        }
    }

    /// The matcher's configuration for a line instead of a receiver: points are independent evidence, and none is far off.
    private static let matcherConfig: MatcherConfig = {
        var config = MatcherConfig()
        config.minimumSigma = 2
        config.minimumRadius = 25
        config.decorrelationDistance = 10
        return config
    }()

    /// Standard deviation of a line's point from the road, metres.
    private static let lineSigma = 3.0
    /// The speed of the simulated drive along a line, m/s.
    private static let driveSpeed = 12.0

    /// Returns a simulated drive along a line, with fixes at its corners and between them.
    private func drive(along line: [Coordinate]) -> [Fix] {
        let line = Polyline(line)
        let count = max(Int((line.length / config.spacing).rounded(.up)), 1)
        var fixes: [Fix] = []
        fixes.reserveCapacity(count + 1)
        for number in 0...count {
            let offset = line.length * Double(number) / Double(count)
            guard let point = line.coordinate(at: offset) else { break }
            fixes.append(
                Fix(
                    stamp: Timestamp(nanoseconds: Int64((offset / Self.driveSpeed * 1e9).rounded())), coordinate: point,
                    horizontalSigma: Self.lineSigma, speed: Self.driveSpeed, course: line.bearing(at: offset),
                    type: .simulated, sequence: nil))
        }
        return fixes
    }
}

extension RouteAgreement.Part {
    /// The part's place on the map and along the route, for messages.
    fileprivate var text: String {
        "\(start.brief), \(Int(offset)) m from the start, and is \(Int(length.rounded(.up))) m long"
    }
}
