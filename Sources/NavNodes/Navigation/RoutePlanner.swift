package import NavGuidance
import NavMap
package import NavNavigator
import NavRouting

/// Answers the core's route queries: finds the route and prepares its guidance. Equal queries on equal maps get equal answers.
///
/// The first query at a time when other conditions hold costs a customisation, the next ones at such times nothing.
package final class RoutePlanner {
    private let workspace = SearchWorkspace()
    private let options: GuidanceOptions
    /// The routers of the last map that a route was found on.
    private var cache: RouterCache?

    package init(options: GuidanceOptions = GuidanceOptions()) { self.options = options }

    /// Lets go of what was made for another map than this one.
    package func adopt(_ map: MapSnapshot) {
        if cache?.base.metric !== map.router.metric { cache = nil }
    }

    /// How many routers there are besides those of the map.
    package var cachedCount: Int { cache?.count ?? 0 }

    private func router(of map: MapSnapshot, at departure: LocalTime?) -> Router {
        adopt(map)
        var cache = self.cache ?? RouterCache(map.router)
        defer { self.cache = cache }
        return cache.router(for: map.router.metric.model, at: departure)
    }

    /// The answer to a query on a map.
    package func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        let outcome = router(of: map, at: query.request.options.departure).route(query.request, workspace: workspace)
        do throws(RouteFailure) {
            let route = try outcome.route(of: query.request)
            return .found(
                RoutePlan(route: route, guidance: RouteGuidance(route: route, graph: map.graph, options: options)))
        } catch {
            return .failed(error)
        }
    }
}
