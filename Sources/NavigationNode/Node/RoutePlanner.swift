package import NavDirections
import NavGuidance
import NavGeo
import NavMap
import NavMatching
package import NavNavigator
package import NavRouting

/// A planner that answers the core's route queries: it finds the route and prepares its guidance. Equal queries on equal maps get equal
/// answers.
///
/// The first query under other time-dependent conditions costs a customisation; later queries under the same conditions do not.
package final class RoutePlanner {
    private let workspace: SearchWorkspace
    /// The routers of the map that was last used.
    private var cache: RouterCache?
    /// The same routers without traffic.
    private var freeCache: RouterCache?
    /// The junctions of the map and vehicle that were last used.
    private var junctions: JunctionModel?

    /// - Parameter cancellation: Cancels searches through several waypoints.
    package init(_ cancellation: SearchCancellation = SearchCancellation()) {
        workspace = SearchWorkspace(cancellation)
    }

    /// Called when the path to a further waypoint is found, with the numbers of such waypoints and of all waypoints
    /// except the start.
    package var onWaypoint: ((_ found: Int, _ all: Int) -> Void)? {
        get { workspace.onWaypoint }
        set { workspace.onWaypoint = newValue }
    }

    /// Discards routers and junctions of any map but this one.
    package func adopt(_ map: MapSnapshot) {
        if cache?.base.metric !== map.router.metric { cache = nil }
        if freeCache?.base.metric !== map.router.freeFlow { freeCache = nil }
        if junctions?.graph !== map.graph { junctions = nil }
    }

    /// The number of cached routers, without the map's own.
    package var cachedCount: Int { cache?.count ?? 0 }

    /// Returns the router for a query's vehicle and for the conditions at its departure.
    package func router(for query: RouteQuery, on map: MapSnapshot) -> Router {
        adopt(map)
        let model = query.vehicle.map { CostModel(profile: $0) } ?? map.router.metric.model
        let departure = query.request.options.departure
        guard query.usesTraffic else {
            var free = freeCache ?? RouterCache(map.router.withoutTraffic())
            defer { freeCache = free }
            return free.router(for: model, at: departure)
        }
        var cache = self.cache ?? RouterCache(map.router)
        defer { self.cache = cache }
        return cache.router(for: model, at: departure)
    }

    /// Returns the answer from a provider's routes that were matched to a map; nil without any.
    package func answer(_ query: RouteQuery, _ online: OnlineRoutes, on map: MapSnapshot) -> RouteAnswer? {
        guard let route = online.routes.first?.route else { return nil }
        // A provider that ignores the limits may have snapped an end too far away; the on-board search then reports the
        // distance.
        let ends = route.waypoints.enumerated()
        guard ends.allSatisfy({ $1.snapDistance <= query.request.snapRadius(of: $0) }) else { return nil }
        return .found(
            FoundRoutes(main: RoutePlan(route: route, guidance: guidance(route, query, map), provider: .online)))
    }

    /// Returns the answer from an earlier response of a provider, matched to the map again.
    ///
    /// - Throws: The reason why it does not fit this map.
    package func answer(_ query: RouteQuery, from body: [UInt8], on map: MapSnapshot) throws(DirectionsError)
        -> RouteAnswer?
    {
        answer(query, try OnlineRoutes(body: body, of: query.request, on: router(for: query, on: map)), on: map)
    }

    /// Returns the fastest route of the node's vehicle between waypoints, without other preferences.
    package func route(_ request: RouteRequest, on map: MapSnapshot) throws(RouteFailure) -> Route {
        return try map.router.route(request, workspace: workspace).route(of: request)
    }

    package func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        let router = router(for: query, on: map)
        do throws(RouteFailure) {
            if query.alternatives > 0, router.isHierarchical { return .found(try several(query, router, map)) }
            let route = try router.route(query.request, workspace: workspace).route(
                of: query.request, isRest: query.isRest)
            return .found(FoundRoutes(main: plan(route, query, map)))
        } catch {
            return .failed(error)
        }
    }

    private func several(_ query: RouteQuery, _ router: Router, _ map: MapSnapshot) throws(RouteFailure) -> FoundRoutes
    {
        switch router.alternatives(
            query.request, limit: query.alternatives, to: query.current, workspace: workspace)
        {
        case .found(let found):
            return FoundRoutes(
                main: plan(found.main, query, map), mainIsCurrent: found.mainIsCurrent, via: found.via,
                alternatives: found.alternatives.map {
                    AlternativePlan(alternative: $0, guidance: guidance($0.route, query, map))
                })
        case .notFound(let outcome):
            let route = try outcome.route(of: query.request, isRest: query.isRest)
            return FoundRoutes(main: plan(route, query, map))
        }
    }

    private func plan(_ route: Route, _ query: RouteQuery, _ map: MapSnapshot) -> RoutePlan {
        // A search for alternatives needs the remaining length of the current route, but not its guidance.
        let isOnlyMeasured = query.purpose == .alternatives
        return RoutePlan(
            route: route,
            guidance: isOnlyMeasured
                ? RouteGuidance(withoutSteps: GuidanceOptions(query.wording)) : guidance(route, query, map))
    }

    private func guidance(_ route: Route, _ query: RouteQuery, _ map: MapSnapshot) -> RouteGuidance {
        let model = JunctionModel.reusing(junctions, of: map.graph, for: route.vehicle.access)
        junctions = model
        return RouteGuidance(route: route, junctions: model, options: GuidanceOptions(query.wording))
    }
}

extension RouteQuery {
    /// Whether the waypoints are the remaining ones of a trip.
    fileprivate var isRest: Bool {
        switch purpose {
        case .calculate, .start: false
        case .reroute, .fasterRoute, .alternatives: true
        }
    }
}
