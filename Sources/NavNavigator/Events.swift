public import NavGeo
public import NavGuidance
public import NavMap
public import NavMatching
public import NavRouting

/// The map as the core sees it: an immutable snapshot of the loaded tiles.
public struct MapSnapshot: Sendable {
    /// The roads.
    public let graph: RoadGraph
    /// Permitted turns.
    public let turns: TurnGraph
    /// The vehicle's costs without traffic: where it can be. A road that is said to be closed may be driven all the same.
    public let metric: Metric

    /// Finds routes with these costs: over a contraction hierarchy when the tiles came with ranks.
    public let router: Router

    /// A snapshot for a vehicle; expands, prices and contracts the graph.
    ///
    /// - Parameters:
    ///   - traffic: What is known of the traffic; nil for nothing.
    ///   - now: Speeds that ceased to hold by then are left out; nil leaves none out.
    ///   - forEach: Who does the parts of what can be shared out; the calling thread unless given.
    public init(
        graph: RoadGraph, model: CostModel = CostModel(), traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) {
        self.graph = graph
        turns = TurnGraph(graph)
        router = Router.fastest(turns, model: model, traffic: traffic, at: now, forEach: forEach)
        metric = router.freeFlow
    }

    /// The same roads with another router, such as one of ``Router/live(_:at:forEach:)``: new traffic.
    public init(_ base: MapSnapshot, router: Router) {
        graph = base.graph
        turns = base.turns
        metric = base.metric
        self.router = router
    }
}

/// A route with its guidance, as it goes into force.
public struct RoutePlan: Sendable, Equatable {
    /// The route.
    public let route: Route
    /// Its maneuvers and instructions.
    public let guidance: RouteGuidance

    /// A route with guidance made for it.
    public init(route: Route, guidance: RouteGuidance) {
        self.route = route
        self.guidance = guidance
    }
}

/// What a user asks of the navigator.
public enum NavigatorCommand: Sendable, Equatable {
    /// Guide to these places from where the vehicle is: stops and pass-through points, the last one the destination.
    case navigate([Waypoint])
    /// Guide along a route that is known already.
    case setRoute(RoutePlan)
    /// End guidance.
    case stop
    /// Find a new route now.
    case reroute
    /// Start the next leg at a waypoint where the vehicle is held.
    case advanceLeg
}

/// The answer to ``Effect/requestRoute(_:)``.
public enum RouteAnswer: Sendable, Equatable {
    /// A route.
    case found(RoutePlan)
    /// There is none.
    case failed(RouteFailure)
}

/// Why there is no route.
public struct RouteFailure: Sendable, Equatable, Error {
    /// The kind of failure.
    public enum Code: Sendable, Equatable {
        case noRoute, noRoadNearby, tilesNeeded, invalidRequest, deadlineExceeded, cancelled, providerUnavailable,
            `internal`
    }

    /// The kind.
    public var code: Code
    /// What happened, for people.
    public var message: String
    /// Tiles without which the question cannot be settled.
    public var missingTiles: [RoadTileID]

    /// A failure.
    public init(code: Code, message: String, missingTiles: [RoadTileID] = []) {
        self.code = code
        self.message = message
        self.missingTiles = missingTiles
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch code {
        case .noRoute, .noRoadNearby, .tilesNeeded, .deadlineExceeded, .providerUnavailable, .internal: true
        case .invalidRequest, .cancelled: false
        }
    }
}

/// Something that happened: the only thing that changes a ``Navigator``.
public struct NavigatorEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// A receiver measured a position.
        case fix(Fix)
        /// The vehicle measured its own motion.
        case odometry(Odometry)
        /// The moment of ``Navigator/due`` has come.
        case timer
        /// A user asked for something.
        case command(NavigatorCommand)
        /// A requested route arrived.
        case routeAnswer(requestID: UInt64, RouteAnswer)
        /// Tiles were loaded or left, or the traffic is another.
        case mapChanged(MapSnapshot)
        /// Thresholds were changed by a user; they hold from now on.
        case configured(NavigatorConfig)
    }

    /// When it happened.
    public var stamp: Timestamp
    /// The sequence of the message that brought it, 0 for none.
    public var causeSequence: UInt64
    /// What happened.
    public var kind: Kind

    /// An event.
    public init(stamp: Timestamp, causeSequence: UInt64 = 0, kind: Kind) {
        self.stamp = stamp
        self.causeSequence = causeSequence
        self.kind = kind
    }
}
