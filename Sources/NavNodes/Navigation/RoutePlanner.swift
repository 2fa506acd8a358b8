package import NavGuidance
package import NavNavigator
import NavRouting

/// Answers the core's route queries: finds the route and prepares its guidance. Equal queries on equal maps get equal answers.
package final class RoutePlanner {
    private let workspace = SearchWorkspace()
    private let options: GuidanceOptions

    package init(options: GuidanceOptions = GuidanceOptions()) { self.options = options }

    /// The answer to a query on a map.
    package func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        switch map.router.route(query.request, workspace: workspace) {
        case .found(let route):
            return .found(
                RoutePlan(route: route, guidance: RouteGuidance(route: route, graph: map.graph, options: options)))
        case .unreachable(let waypoint):
            return .failed(
                RouteFailure(code: .noRoute, message: "no road leads to waypoint \(waypoint) for this vehicle"))
        case .offRoad(let waypoint):
            let place = query.request.waypoints[waypoint].coordinate.text
            return .failed(
                RouteFailure(
                    code: .noRoadNearby,
                    message:
                        "no road for this vehicle within \(Int(query.request.snapRadius)) m of waypoint \(waypoint) (\(place))"
                ))
        case .tilesNeeded(let tiles):
            return .failed(
                RouteFailure(
                    code: .tilesNeeded, message: "\(tiles.count) road tiles are needed that are not on board",
                    missingTiles: tiles))
        case .invalid(let reason): return .failed(RouteFailure(code: .invalidRequest, message: reason))
        }
    }
}
