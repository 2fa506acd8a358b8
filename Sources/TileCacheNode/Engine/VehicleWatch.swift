import NavWire
package import NavBus
package import NavGeo
package import NavMessages
package import NavTileCache

/// What the bus said of the vehicle since it was looked at last; of each kind the newest counts.
struct VehicleNews: Sendable {
    /// Where it is.
    var position: NavGeo.Coordinate?
    /// How far along which route it is.
    var progress: (route: UInt64?, metres: Double)?
    /// The last message of `/nav/route`, still to be read.
    var route: Payload?
    /// The last message of `/nav/alternatives`, still to be read.
    var alternatives: Payload?
    /// Whether it is being guided; nil when nothing was said.
    var isGuided: Bool?

    /// Whether nothing was said.
    var isEmpty: Bool {
        position == nil && progress == nil && route == nil && alternatives == nil && isGuided == nil
    }
}

/// Plans what the vehicle will need of one kind of tiles.
///
/// It knows the vehicle's route and alternatives as they were published last, and hands differences on.
struct VehiclePlanner {
    /// Says which tiles are wanted.
    private(set) var planner: CachePlanner
    /// Whether anything is to be wanted.
    private(set) var isEnabled: Bool

    init(_ profile: CacheProfile, isEnabled: Bool) {
        planner = CachePlanner(profile)
        self.isEnabled = isEnabled
    }

    /// All tiles that are wanted, the soonest needed first.
    var wanted: [WantedTile] { isEnabled ? planner.wanted : [] }

    /// Starts anew with another profile.
    mutating func restart(_ profile: CacheProfile, isEnabled: Bool, _ vehicle: VehicleState) {
        planner = CachePlanner(profile)
        self.isEnabled = isEnabled
        guard isEnabled else { return }
        _ = planner.follow(vehicle.route, alternatives: vehicle.forks, cursor: vehicle.cursor)
        if let position = vehicle.position { _ = planner.move(to: position, cursor: vehicle.cursorOnRoute) }
    }

    /// The route or its alternatives have changed.
    mutating func follow(_ vehicle: VehicleState) -> CacheChanges {
        guard isEnabled else { return CacheChanges() }
        return planner.follow(vehicle.route, alternatives: vehicle.forks, cursor: vehicle.cursor)
    }

    /// The vehicle has moved.
    mutating func move(_ vehicle: VehicleState) -> CacheChanges {
        guard isEnabled, let position = vehicle.position else { return CacheChanges() }
        return planner.move(to: position, cursor: vehicle.cursorOnRoute)
    }
}

/// The vehicle as the bus told of it.
struct VehicleState {
    /// Where it is; nil before the first position.
    private(set) var position: NavGeo.Coordinate?
    /// The route that is followed.
    private(set) var route: PlannedLine?
    /// The other ways that the vehicle may take.
    private(set) var alternatives: [PlannedLine] = []
    /// How far along the route it is, metres.
    private(set) var cursor = 0.0

    private var routeID: UInt64?
    private var geometry: NavMessages.Polyline?
    private var alternativesRoute: UInt64?

    /// What a piece of news changed.
    struct Change {
        /// Whether there is another route or other alternatives.
        var isRoute = false
        /// Whether the vehicle moved.
        var isMove = false
    }

    /// The alternatives of the route that is followed.
    var forks: [PlannedLine] { alternativesRoute == routeID ? alternatives : [] }

    /// How far along the route it is; nil without a route.
    var cursorOnRoute: Double? { route == nil ? nil : cursor }

    /// Takes news in.
    ///
    /// - Parameter problem: is told of messages that cannot be read.
    mutating func take(_ news: VehicleNews, problem: (String) -> Void) -> Change {
        var change = Change()
        if let payload = news.route, let message = Self.read(payload, Topics.route, problem) {
            change.isRoute = take(message)
        }
        if let payload = news.alternatives,
            let message = Self.read(payload, Topics.alternatives, problem)
        {
            take(message)
            change.isRoute = change.isRoute || alternativesRoute == routeID
        }
        if news.isGuided == false, route != nil {
            (route, geometry, alternatives, cursor) = (nil, nil, [], 0)
            change.isRoute = true
        }
        if let progress = news.progress, route != nil, progress.route == nil || progress.route == routeID,
            progress.metres.isFinite
        {
            cursor = max(progress.metres, 0)
            change.isMove = true
        }
        if let position = news.position, position.isValid {
            self.position = position
            change.isMove = true
        }
        return change
    }

    /// A route: true when it is another one than before; a refresh is not.
    private mutating func take(_ message: NavMessages.Route) -> Bool {
        let line = message.geometry?.corners ?? []
        guard line.count >= 2 else {
            defer { (route, geometry, routeID, alternatives, cursor) = (nil, nil, nil, [], 0) }
            return route != nil
        }
        let isSame = route != nil && message.geometry == geometry
        if message.routeId != routeID { (routeID, cursor) = (message.routeId, 0) }
        guard !isSame else { return false }
        geometry = message.geometry
        route = PlannedLine(NavGeo.Polyline(line))
        return true
    }

    private mutating func take(_ message: Alternatives) {
        guard message.error == nil || !message.alternatives.isEmpty else { return }
        alternativesRoute = message.routeId
        alternatives = message.alternatives.compactMap { alternative in
            guard let line = alternative.route?.geometry?.corners, line.count >= 2 else { return nil }
            let polyline = NavGeo.Polyline(line)
            let point = Int(alternative.forkPoint ?? 0)
            let own = polyline.cumulativeLengths.indices.contains(point) ? polyline.cumulativeLengths[point] : 0
            let fork = alternative.forkOffsetM.flatMap { $0.isFinite ? max($0, 0) : nil } ?? own
            return PlannedLine(polyline, fork: fork, ownFork: own)
        }
    }

    private static func read<Content: Message>(
        _ payload: Payload, _ topic: Topic<Content>, _ problem: (String) -> Void
    ) -> Content? {
        do throws(MessageError) {
            return try payload.withUnsafeBytes { bytes throws(MessageError) in
                try Content(decoding: bytes, limit: topic.entry.maxSize)
            }
        } catch {
            problem("a message on \(topic.name) cannot be read: \(error)")
            return nil
        }
    }
}
