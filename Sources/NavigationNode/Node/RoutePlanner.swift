package import NavDirections
import NavGuidance
import NavGeo
import NavMap
import NavMatching
package import NavNavigator
package import NavRouting

/// Answers the core's route queries: finds the route and prepares its guidance. Equal queries on equal maps get equal answers.
///
/// The first query at a time when other conditions hold costs a customisation, the next ones at such times nothing.
package final class RoutePlanner {
    private let workspace = SearchWorkspace()
    /// The routers of the last map that a route was found on.
    private var cache: RouterCache?
    /// The same without traffic.
    private var freeCache: RouterCache?

    package init() {}

    /// Lets go of what was made for another map than this one.
    package func adopt(_ map: MapSnapshot) {
        if cache?.base.metric !== map.router.metric { cache = nil }
        if freeCache?.base.metric !== map.router.freeFlow { freeCache = nil }
    }

    /// The number of routers besides those of the map.
    package var cachedCount: Int { cache?.count ?? 0 }

    /// The router for a query: for its vehicle, and for what holds when it sets out.
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

    /// The answer that a provider's routes are, which were put on a map; nil without any.
    package func answer(_ query: RouteQuery, _ online: OnlineRoutes, on map: MapSnapshot) -> RouteAnswer? {
        guard let route = online.routes.first?.route else { return nil }
        // A provider that heeds no limit may have moved an end too far: the search on board says how far.
        let ends = route.waypoints.enumerated()
        guard ends.allSatisfy({ $1.snapDistance <= query.request.snapRadius(of: $0) }) else { return nil }
        return .found(
            FoundRoutes(main: RoutePlan(route: route, guidance: guidance(route, query, map), provider: .online)))
    }

    /// The answer that a provider gave earlier: what it said is put on the map again.
    ///
    /// - Throws: why it is not of this map.
    package func answer(_ query: RouteQuery, from body: [UInt8], on map: MapSnapshot) throws(DirectionsError)
        -> RouteAnswer?
    {
        answer(query, try OnlineRoutes(body: body, of: query.request, on: router(for: query, on: map)), on: map)
    }

    /// The fastest way of the node's vehicle between waypoints, free of other preferences.
    package func route(_ request: RouteRequest, on map: MapSnapshot) throws(RouteFailure) -> Route {
        return try map.router.route(request, workspace: workspace).route(of: request)
    }

    package func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        let router = router(for: query, on: map)
        do throws(RouteFailure) {
            if query.alternatives > 0, router.isHierarchical { return .found(try several(query, router, map)) }
            let route = try router.route(query.request, workspace: workspace).route(of: query.request)
            return .found(FoundRoutes(main: RoutePlan(route: route, guidance: guidance(route, query, map))))
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
                main: RoutePlan(route: found.main, guidance: guidance(found.main, query, map)),
                mainIsCurrent: found.mainIsCurrent, via: found.via,
                alternatives: found.alternatives.map {
                    AlternativePlan(alternative: $0, guidance: guidance($0.route, query, map))
                })
        case .notFound(let outcome):
            let route = try outcome.route(of: query.request)
            return FoundRoutes(main: RoutePlan(route: route, guidance: guidance(route, query, map)))
        }
    }

    private func guidance(_ route: Route, _ query: RouteQuery, _ map: MapSnapshot) -> RouteGuidance {
        RouteGuidance(route: route, graph: map.graph, options: GuidanceOptions(query.wording))
    }
}
