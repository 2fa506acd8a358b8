import NavGeo
package import NavMap
package import NavGuidance
import NavMatching
package import NavMessages
package import NavNavigator
package import NavRouting

extension RoutePlan {
    /// Creates a route from a message by matching it to this map; the message may be from another map version or
    /// another node.
    ///
    /// - Parameters:
    ///   - metrics: The metrics of the map's router; pricing all roads takes long on a large map.
    ///   - preferences: The preferences with the vehicle, traffic and departure for matching and timing the route.
    ///   - now: The default departure, in local time; nil to ignore time-dependent rules.
    ///   - wording: The language and units to use if the message names no available ones.
    ///   - snapRadius: The maximum distance of a waypoint without a radius from its place on the route, metres.
    /// - Throws: A failure that states the fault of the route, or how much of it is not on a road of the map.
    package init(
        _ message: NavMessages.Route, on map: MapSnapshot, _ metrics: inout MetricCache,
        for preferences: RoutePreferences = RoutePreferences(), at now: LocalTime? = nil,
        wording own: Wording = Wording(), snapRadius: Double = RouteRequest.defaultSnapRadius
    ) throws(RouteFailure) {
        let line = try message.geometry?.positions("route.geometry") ?? []
        guard line.count >= 2 else {
            throw RouteFailure(code: .invalidRequest, message: "the route has no geometry of two points or more")
        }
        guard message.waypoints.count <= [NavRouting.Waypoint].greatestCount + 1 else {
            throw RouteFailure(
                code: .invalidRequest,
                message: "route.waypoints: \(message.waypoints.count) are more than a start and "
                    + "\([NavRouting.Waypoint].greatestCount) waypoints")
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
        guard waypoints.count != 1 else {
            throw RouteFailure(
                code: .invalidRequest,
                message:
                    "route.waypoints: one waypoint is not enough: set the start and the destination, or none for the ends "
                    + "of the geometry")
        }
        if waypoints.isEmpty {
            waypoints = [NavRouting.Waypoint(line[0]), NavRouting.Waypoint(line[line.count - 1])]
        }
        guard waypoints[waypoints.count - 1].isStop else {
            throw RouteFailure(
                code: .invalidRequest,
                message:
                    "route.waypoints[\(waypoints.count - 1)].kind: the last waypoint is the destination and cannot be a VIA"
            )
        }
        let request = RouteRequest(waypoints: waypoints, snapRadius: snapRadius)
        let provided = ProvidedRoute(legs: try RoutePlan.legs(of: message, line))
        let metric = metrics.metric(
            for: preferences.vehicle.map { CostModel(profile: $0) } ?? metrics.base.metric.model,
            at: preferences.options.departure ?? now, usesTraffic: preferences.usesTraffic)
        let mapped: MappedRoute
        do throws(RouteMappingError) {
            mapped = try RouteMapping(Router(metric), config: .client).map(provided, for: request)
        } catch {
            let code: RouteFailure.Code =
                error.code == .invalid ? .invalidRequest : error.missingTiles.isEmpty ? .noRoute : .tilesNeeded
            var failure = RouteFailure(
                code: code, message: "the route cannot be followed here: \(error.message)",
                missingTiles: error.missingTiles)
            if code == .noRoute {
                failure.message += "; \(RoutePlan.mappingAdvice)"
                failure.isFinal = !metric.mayOpenLater
            }
            throw failure
        }
        if let defect = RoutePlan.misplacedWaypoint(of: mapped.route, request) {
            throw RouteFailure(code: .invalidRequest, message: "the route cannot be followed here: \(defect)")
        }
        var wording = own
        if let language = message.options?.language, let table = PhraseTable.named(language) {
            wording.language = table.language
        }
        if let units = (message.options?.units).flatMap({ DistanceUnits($0) }) { wording.units = units }
        let guidance = RouteGuidance(route: mapped.route, graph: map.graph, options: GuidanceOptions(wording))
        self.init(route: mapped.route, guidance: guidance, provider: .external)
    }

    /// The remedy for a route that is not drivable on this map.
    private static let mappingAdvice =
        "give its line with a point at each bend, legs.annotation.node_ids where they are known, and a waypoint and a leg for each stop, "
        + "or have it calculated"

    /// The maximum distance of a waypoint from its place on the route, in addition to its distance from the legs to and from it, metres.
    /// The route may pass it more closely on another leg.
    private static let orderTolerance = 50.0

    /// Describes the first waypoint that the route does not lead to, at which guidance could not announce an arrival.
    private static func misplacedWaypoint(of route: NavRouting.Route, _ request: RouteRequest) -> String? {
        for (index, waypoint) in route.waypoints.enumerated().dropFirst() {
            let (distance, limit) = (waypoint.snapDistance, request.snapRadius(of: index))
            if distance > limit {
                return
                    "route.waypoints[\(index)] is \(Int(distance)) m from its place on the route, more than \(Int(limit)) m"
            }
            let passing = route.line.project(waypoint.waypoint.coordinate, within: route.part(around: index))
            let nearest = passing?.distance ?? distance
            if distance > nearest + orderTolerance {
                return "the route does not pass route.waypoints[\(index)] after the previous waypoint"
            }
        }
        return nil
    }

    private static func legs(
        of message: NavMessages.Route, _ line: [NavGeo.Coordinate]
    ) throws(RouteFailure) -> [ProvidedRoute.Leg] {
        guard !message.legs.isEmpty else {
            let duration = message.summary?.durationS ?? 0
            try check([duration], "route.summary.duration_s")
            return [ProvidedRoute.Leg(line: line, duration: duration, length: Polyline(line).length)]
        }
        var legs: [ProvidedRoute.Leg] = []
        for (number, leg) in message.legs.enumerated() {
            guard let first = leg.firstPoint, let last = leg.lastPoint, first < last, last < line.count else {
                throw RouteFailure(
                    code: .invalidRequest, message: "leg \(number) of the route names points outside the geometry")
            }
            // Adjacent legs of a published route share a point, or the next leg begins at the following point.
            let end = number == 0 ? 0 : Int(message.legs[number - 1].lastPoint ?? 0)
            guard number == 0 ? first == 0 : (end...end + 1).contains(Int(first)),
                number + 1 < message.legs.count || Int(last) == line.count - 1
            else {
                throw RouteFailure(
                    code: .invalidRequest,
                    message:
                        "leg \(number) of the route: the legs have to cover the geometry from its first point to its last"
                )
            }
            let part = Array(line[Int(first)...Int(last)])
            if let defect = leg.annotation?.sizeDefect(segments: part.count - 1) {
                throw RouteFailure(code: .invalidRequest, message: "leg \(number) of the route: \(defect)")
            }
            let name = "route.legs[\(number)]"
            let durations = (leg.annotation?.durationsS ?? []).map { Double($0) }
            try check(durations, "\(name).annotation.durations_s")
            let sum = durations.reduce(0, +)
            let duration = leg.durationS ?? sum
            try check(
                [duration], leg.durationS == nil ? "the sum of \(name).annotation.durations_s" : "\(name).duration_s")
            guard sum <= duration * durationTolerance + durationSlack else {
                throw RouteFailure(
                    code: .invalidRequest,
                    message: "\(name).duration_s is \(Int(duration)) s, but its annotation.durations_s sum to "
                        + "\(Int(sum)) s: give a duration of at least the sum, or leave one of them out")
            }
            legs.append(
                ProvidedRoute.Leg(
                    line: part, nodeIDs: leg.annotation?.segmentEnds ?? [], durations: durations, duration: duration,
                    length: Polyline(part).length))
        }
        return legs
    }

    /// The factor by which the segments' durations may exceed the leg's, in addition to ``durationSlack``: planners round them.
    private static let durationTolerance = 1.2
    /// The time by which the segments' durations may always exceed the leg's, seconds.
    private static let durationSlack = 10.0

    private static func check(_ durations: [Double], _ field: String) throws(RouteFailure) {
        guard durations.allSatisfy({ (0...ProvidedRoute.greatest).contains($0) }) else {
            throw RouteFailure(
                code: .invalidRequest,
                message: "\(field) is not within 0 ... \(Int(ProvidedRoute.greatest)) s; leave it out if it is unknown")
        }
    }
}

extension NavRouting.Route {
    /// Returns the part of the line that the legs to and from a waypoint cover, metres: the leg that passes it or ends there, and in the
    /// latter case also the next leg.
    fileprivate func part(around waypoint: Int) -> ClosedRange<Double>? {
        let near = legs.indices.filter { index in
            let first = index > 0 ? legs[index - 1].destination : 0
            return (first...legs[index].destination).contains(waypoint)
        }
        guard let first = near.first, let last = near.last else { return nil }
        return legs[first].routeOffset...legs[last].routeOffset + legs[last].length
    }
}

extension NavMessages.Annotation {
    /// Describes the first column whose number of entries does not match the leg's segments.
    fileprivate func sizeDefect(segments: Int) -> String? {
        let columns = [
            ("node_ids", nodeIds.count, segments + 1), ("way_ids", wayIds.count, segments),
            ("distances_m", distancesM.count, segments), ("durations_s", durationsS.count, segments),
            ("speeds_mps", speedsMps.count, segments),
        ]
        for (name, count, needed) in columns where count > 0 && count != needed {
            return "annotation.\(name) has \(count) entries: \(segments) segments need \(needed), or none"
        }
        return nil
    }

    /// The nodes, with the end of the segment for each point within a segment; empty when the leg makes a U-turn within a segment, since
    /// that segment's far end is unknown.
    fileprivate var segmentEnds: [Int64] {
        var nodes = nodeIds
        for index in nodes.indices.reversed() where nodes[index] == Self.noNode {
            guard index > 0, index + 1 < nodes.count, nodes[index - 1] != nodes[index + 1] else { return [] }
            nodes[index] = nodes[index + 1]
        }
        return nodes
    }
}

extension RouteMapping.Config {
    /// The limits for a route of a client, which is mapped while fixes wait: a line of some 700 km takes half a second.
    fileprivate static var client: RouteMapping.Config {
        var config = RouteMapping.Config()
        config.maximumSamples = 60_000
        return config
    }
}
