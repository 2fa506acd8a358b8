import NavGeo
package import NavGuidance
import NavMatching
package import NavMessages
package import NavNavigator
import NavRouting

extension RoutePlan {
    /// Creates a route from a message by matching it to this map: it may come from another map version or another node.
    ///
    /// - Parameter wording: The language and units to use if the message names none that are available.
    /// - Throws: A failure that states what is wrong with the route, or how much of it is not on a road of the map.
    package init(
        _ message: NavMessages.Route, on map: MapSnapshot, wording own: Wording = Wording()
    ) throws(RouteFailure) {
        guard let geometry = message.geometry, let line = geometry.corners, line.count >= 2 else {
            throw RouteFailure(code: .invalidRequest, message: "the route has no geometry of two points or more")
        }
        for (index, waypoint) in message.waypoints.enumerated() {
            if let defect = waypoint.nameDefect("route.waypoints[\(index)]") {
                throw RouteFailure(code: .invalidRequest, message: defect)
            }
        }
        var waypoints = message.waypoints.compactMap { NavRouting.Waypoint($0) }
        guard waypoints.count == message.waypoints.count else {
            throw RouteFailure(
                code: .invalidRequest, message: "a waypoint of the route has no valid latitude and longitude")
        }
        if waypoints.count < 2 {
            waypoints = [NavRouting.Waypoint(line[0]), NavRouting.Waypoint(line[line.count - 1])]
        }
        let provided = ProvidedRoute(legs: try RoutePlan.legs(of: message, line))
        do throws(RouteMappingError) {
            let mapped = try RouteMapping(map.router).map(provided, for: RouteRequest(waypoints: waypoints))
            let wording = Wording(
                language: (message.options?.language).flatMap { PhraseTable.named($0)?.language } ?? own.language,
                units: (message.options?.units).flatMap { DistanceUnits($0) } ?? own.units)
            let guidance = RouteGuidance(route: mapped.route, graph: map.graph, options: GuidanceOptions(wording))
            self.init(route: mapped.route, guidance: guidance, provider: .external)
        } catch {
            let code: RouteFailure.Code =
                error.code == .invalid ? .invalidRequest : error.missingTiles.isEmpty ? .noRoute : .tilesNeeded
            throw RouteFailure(
                code: code, message: "the route cannot be followed here: \(error.message)",
                missingTiles: error.missingTiles)
        }
    }

    private static func legs(
        of message: NavMessages.Route, _ line: [NavGeo.Coordinate]
    ) throws(RouteFailure) -> [ProvidedRoute.Leg] {
        guard !message.legs.isEmpty else {
            let length = Polyline(line).length
            return [ProvidedRoute.Leg(line: line, duration: message.summary?.durationS ?? 0, length: length)]
        }
        var legs: [ProvidedRoute.Leg] = []
        for (number, leg) in message.legs.enumerated() {
            guard let first = leg.firstPoint, let last = leg.lastPoint, first < last, last < line.count else {
                throw RouteFailure(
                    code: .invalidRequest, message: "leg \(number) of the route names points outside the geometry")
            }
            let part = Array(line[Int(first)...Int(last)])
            let nodes = leg.annotation?.segmentEnds ?? []
            let durations = leg.annotation?.durationsS ?? []
            legs.append(
                ProvidedRoute.Leg(
                    line: part, nodeIDs: nodes.count == part.count ? nodes : [],
                    durations: durations.count == part.count - 1 ? durations.map(Double.init) : [],
                    duration: leg.durationS ?? 0, length: leg.distanceM ?? Polyline(part).length))
        }
        return legs
    }
}

extension NavMessages.Annotation {
    /// The nodes, with the end of the segment for each point within a segment; empty when the leg makes a U-turn within a segment, since
    /// the segment's far end is unknown.
    fileprivate var segmentEnds: [Int64] {
        var nodes = nodeIds
        for index in nodes.indices.reversed() where nodes[index] == Self.noNode {
            guard index > 0, index + 1 < nodes.count, nodes[index - 1] != nodes[index + 1] else { return [] }
            nodes[index] = nodes[index + 1]
        }
        return nodes
    }
}
