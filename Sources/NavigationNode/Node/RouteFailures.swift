import NavGeo
package import NavKit
import NavMap
package import NavNavigator
package import NavRouting

extension RouteOutcome {
    /// Returns the found route; throws the reason why there is none, worded for both bus and command line.
    ///
    /// - Parameter isRest: Whether the request is for the rest of a trip, in which case the waypoints' numbers differ from the
    ///   client's.
    package func route(of request: RouteRequest, isRest: Bool = false) throws(RouteFailure) -> Route {
        switch self {
        case .found(let route): return route
        case .unreachable(let waypoint, let nearest):
            let distance = nearest.map {
                ": the nearest road from which the route can be driven is \(Int($0.rounded(.up))) m away"
            }
            throw RouteFailure(
                code: .noRoute,
                message:
                    "no road \(waypoint == 0 ? "leads from" : "leads to") \(RouteOutcome.place(waypoint, request, isRest)) for this vehicle"
                    + (RouteOutcome.exclusion([waypoint, waypoint - 1], request, isRest).map { ": \($0)" } ?? distance
                        ?? ""),
                nearestRoad: nearest)
        case .offRoad(let waypoint, let nearest):
            let advice =
                RouteOutcome.exclusion([waypoint], request, isRest)
                ?? nearest.map {
                    "the nearest one from which the route can be driven is \(Int($0.rounded(.up))) m away; choose a "
                        + "place closer to a road, or raise the radius"
                } ?? "check that it is inside the map (navbus map info)"
            var failure = RouteFailure(
                code: .noRoadNearby,
                message: "no road for this vehicle\(RouteOutcome.course(waypoint, request)) within "
                    + "\(RouteOutcome.radius(waypoint, request)) m of \(RouteOutcome.place(waypoint, request, isRest)): \(advice)",
                nearestRoad: nearest)
            // Unlike a fixed place, the vehicle may still reach a road.
            failure.isFinal = !isRest && (waypoint > 0 || request.positionSnapRadius == nil)
            throw failure
        case .tilesNeeded(let tiles):
            let names = tiles.prefix(10).map(\.description).joined(separator: ", ")
            throw RouteFailure(
                code: .tilesNeeded,
                message: (tiles.count == 1
                    ? "1 road tile that the route needs is missing: \(names)"
                    : "\(tiles.count) road tiles that the route needs are missing: \(names)")
                    + (tiles.count > 10 ? ", …" : ""), missingTiles: tiles)
        case .invalid(let reason): throw RouteFailure(code: .invalidRequest, message: reason)
        }
    }

    private static func radius(_ waypoint: Int, _ request: RouteRequest) -> Int {
        Int(request.waypoints.indices.contains(waypoint) ? request.snapRadius(of: waypoint) : request.snapRadius)
    }

    /// Returns the requested course of a waypoint in words; empty without one.
    private static func course(_ waypoint: Int, _ request: RouteRequest) -> String {
        guard request.waypoints.indices.contains(waypoint), let bearing = request.waypoints[waypoint].bearing else {
            return ""
        }
        let tolerance = Angle.degrees(request.waypoints[waypoint].bearingTolerance)
        return " within \(Int(tolerance.rounded()))° of the course \(Int(Angle.degrees(bearing).rounded()))°"
    }

    /// Describes an excluded area over one of the waypoints that may cause a failure; nil without one.
    private static func exclusion(_ waypoints: [Int], _ request: RouteRequest, _ isRest: Bool) -> String? {
        for place in waypoints where request.waypoints.indices.contains(place) {
            let coordinate = request.waypoints[place].coordinate
            guard let area = request.options.excludedAreas.firstIndex(where: { $0.contains(coordinate) }) else {
                continue
            }
            return "options.exclude_areas[\(area)] covers \(RouteOutcome.place(place, request, isRest)), so that its "
                + "roads are excluded; choose a place outside the area, or a smaller area"
        }
        return nil
    }

    /// Returns a waypoint in words. A client's request has the start separate from the waypoints, the first of which is
    /// number 0.
    private static func place(_ waypoint: Int, _ request: RouteRequest, _ isRest: Bool) -> String {
        guard request.waypoints.indices.contains(waypoint) else { return "waypoint \(waypoint)" }
        let name =
            switch waypoint {
            case 0: "start"
            case request.waypoints.count - 1: "destination"
            default: isRest ? "a waypoint on the way" : "waypoints[\(waypoint - 1)]"
            }
        return "\(request.waypoints[waypoint].coordinate.text) (\(name))"
    }
}

extension NodeError {
    package init(_ failure: RouteFailure) {
        self.init(failure.code == .invalidRequest ? .usage : .missing, failure.message)
    }
}
