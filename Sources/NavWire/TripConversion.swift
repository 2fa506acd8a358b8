import NavMap
package import NavMessages
package import NavNavigator
package import NavRouting

extension SavedTrip {
    /// Creates the message of a trip.
    ///
    /// - Parameter configured: The configured places that started the trip; nil when a call started it.
    package init(_ trip: TripSnapshot, configured: String?) {
        var options = NavMessages.RouteOptions(trip.order.preferences)
        if trip.order.alternatives > 0 { options.alternatives = UInt32(trip.order.alternatives) }
        let order = CalculateRouteRequest(
            origin: trip.order.origin.map { NavMessages.Waypoint($0) },
            waypoints: trip.order.waypoints.map { NavMessages.Waypoint($0) }, options: options)
        guard trip.sessionID != 0 else {
            self.init(order: order, configured: configured)
            return
        }
        self.init(
            sessionId: trip.sessionID, routeId: trip.routeID,
            chosenRouteId: trip.chosenRouteID == 0 ? nil : trip.chosenRouteID,
            chosenEdgeIds: trip.chosenRoute.map(\.rawValue), legIndex: UInt32(clamping: trip.leg),
            atStop: trip.isAtStop, held: trip.isHeld, route: trip.plan.map { NavMessages.Route($0) }, order: order,
            configured: configured)
    }
}

extension TripSnapshot {
    /// Creates the core's form of a saved trip. A route that cannot be followed on this map is dropped, so that a new one is found.
    ///
    /// - Throws: A failure that names the invalid part.
    package init(
        _ message: SavedTrip, node vehicle: NavRouting.VehicleProfile, minutesAheadOfUTC offset: Int?,
        on map: MapSnapshot, route: (NavMessages.Route, RoutePreferences) throws(RouteFailure) -> RoutePlan
    ) throws(RouteFailure) {
        var message = message
        message.shortenNames()
        guard var request = message.order else {
            throw RouteFailure(code: .invalidRequest, message: "the saved trip has no destination")
        }
        // The last waypoint of a trip saved by an older build may be a VIA; the trip still ends there.
        if let end = request.waypoints.indices.last, request.waypoints[end].kind == .via {
            request.waypoints[end].kind = .stop
        }
        let order = try RouteOrder(request, node: vehicle, minutesAheadOfUTC: offset)
        guard let session = message.sessionId, session != 0 else {
            self.init(order: order)
            return
        }
        // Later routes are numbered from there.
        let number = message.routeId ?? 1
        guard number <= UInt64(Int64.max) else {
            throw RouteFailure(
                code: .invalidRequest, message: "the saved trip's route_id \(number) is not within 0 ... \(Int64.max)")
        }
        var plan: RoutePlan?
        if let kept = message.route {
            // A reroute may have had preferences of its own. A trip in progress departs now, whatever its planned departure.
            var preferences = order.preferences
            if let options = kept.options,
                let own = try? RoutePreferences(options, node: vehicle, minutesAheadOfUTC: offset, isAsked: false)
            {
                preferences = own
            }
            preferences.options.departure = nil
            do throws(RouteFailure) { plan = try route(kept, preferences) } catch { plan = nil }
            switch kept.provider {
            case .online: plan?.provider = .online
            case .external: break
            default: plan?.provider = .onBoard
            }
        }
        let isSameMap = message.route?.mapVersion == map.graph.mapVersion
        self.init(
            sessionID: session, routeID: number,
            chosenRouteID: isSameMap ? message.chosenRouteId ?? 0 : 0,
            chosenRoute: isSameMap ? message.chosenEdgeIds.map { EdgeKey(rawValue: $0) } : [],
            leg: Int(message.legIndex ?? 0), isAtStop: message.atStop ?? false, isHeld: message.held ?? false,
            plan: plan, order: order)
    }
}
