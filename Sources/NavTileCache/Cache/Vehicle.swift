package import NavGeo

/// A report about the vehicle with the newest value of each kind; nil for values that were not reported.
package struct VehicleUpdate: Sendable {
    package struct Route: Sendable {
        package var id: UInt64?
        /// The line of the route; fewer than two corners mean no route.
        package var corners: [Coordinate]

        package init(id: UInt64?, corners: [Coordinate]) {
            self.id = id
            self.corners = corners
        }
    }

    /// The alternatives that the vehicle may take instead of a route.
    package struct Alternatives: Sendable {
        package var route: UInt64?
        package var lines: [PlannedLine]

        package init(route: UInt64?, lines: [PlannedLine]) {
            self.route = route
            self.lines = lines
        }
    }

    package var position: Coordinate?
    package var progress: (route: UInt64?, metres: Double)?
    package var route: Route?
    package var alternatives: Alternatives?
    package var isGuided: Bool?

    package init() {}
}

package struct VehicleState: Sendable {
    /// The position; nil before the first one.
    private(set) var position: Coordinate?
    private(set) var route: PlannedLine?
    /// The position along the route, metres.
    private(set) var cursor = 0.0

    private var routeID: UInt64?
    private var corners: [Coordinate] = []
    private var alternatives = VehicleUpdate.Alternatives(route: nil, lines: [])

    struct Change {
        var isRoute = false
        var isMove = false
    }

    var forks: [PlannedLine] { alternatives.route == routeID ? alternatives.lines : [] }

    /// The position along the route, metres; nil without a route.
    var cursorOnRoute: Double? { route == nil ? nil : cursor }

    mutating func take(_ update: VehicleUpdate) -> Change {
        var change = Change()
        if let next = update.route { change.isRoute = take(next) }
        if let next = update.alternatives {
            alternatives = next
            change.isRoute = change.isRoute || next.route == routeID
        }
        if update.isGuided == false, route != nil { change.isRoute = endRoute() }
        if let progress = update.progress, route != nil, progress.route == nil || progress.route == routeID,
            progress.metres.isFinite
        {
            cursor = max(progress.metres, 0)
            change.isMove = true
        }
        if let position = update.position, position.isValid {
            self.position = position
            change.isMove = true
        }
        return change
    }

    /// Takes a route; returns whether it is a new route rather than a refresh.
    private mutating func take(_ next: VehicleUpdate.Route) -> Bool {
        guard next.corners.count >= 2 else {
            routeID = nil
            return endRoute()
        }
        let isSame = route != nil && next.corners == corners
        if next.id != routeID { (routeID, cursor) = (next.id, 0) }
        guard !isSame else { return false }
        corners = next.corners
        route = PlannedLine(Polyline(corners))
        return true
    }

    private mutating func endRoute() -> Bool {
        defer { (route, corners, cursor, alternatives.lines) = (nil, [], 0, []) }
        return route != nil
    }
}

extension CachePlanner {
    /// A planner for the vehicle's current position and route.
    init(_ profile: CacheProfile, _ vehicle: VehicleState) {
        self.init(profile)
        _ = follow(vehicle)
        _ = move(vehicle)
    }

    /// Takes another route, or other alternatives.
    mutating func follow(_ vehicle: VehicleState) -> CacheChanges {
        follow(vehicle.route, alternatives: vehicle.forks, cursor: vehicle.cursor)
    }

    /// Takes the vehicle's position, if there is one.
    mutating func move(_ vehicle: VehicleState) -> CacheChanges {
        vehicle.position.map { move(to: $0, cursor: vehicle.cursorOnRoute) } ?? CacheChanges()
    }
}
