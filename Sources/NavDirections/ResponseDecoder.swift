import Foundation
import NavGeo
package import NavRouting

/// A decoder that turns any response into validated routes or an error.
package struct ResponseDecoder {
    let request: RouteRequest

    package init(request: RouteRequest) { self.request = request }

    /// The maximum number of points of a route's line.
    static let maximumPoints = 1_000_000
    static let maximumRoutes = 8

    /// Decodes the provider's routes, best first.
    package func routes(_ reply: DirectionsReply) throws(DirectionsError) -> [ProvidedRoute] {
        if let failure = reply.failure { throw failure }
        let document: DirectionsDocument
        do {
            document = try JSONDecoder().decode(DirectionsDocument.self, from: reply.body)
        } catch {
            throw malformed(Self.place(of: error))
        }
        guard document.code == nil || document.code == "Ok" else {
            throw malformed("its code is not 'Ok'")
        }
        guard let routes = document.routes, !routes.isEmpty else { throw malformed("it has no routes") }
        guard routes.count <= Self.maximumRoutes else { throw malformed("it has \(routes.count) routes") }
        var result: [ProvidedRoute] = []
        for route in routes { result.append(try provided(route, document.waypoints ?? [])) }
        return result
    }

    private func malformed(_ what: String) -> DirectionsError {
        DirectionsError(.malformed, "the provider's answer does not conform to the dialect: \(what)")
    }

    /// Returns the path where decoding failed, without the value found there.
    private static func place(of error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            let keys = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
            return keys.isEmpty ? "the document" : keys
        }
        guard let error = error as? DecodingError else { return "it is not JSON" }
        switch error {
        case .keyNotFound(let key, let context): return "\(path(context)) lacks '\(key.stringValue)'"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(path(context)) has the wrong type"
        case .dataCorrupted(let context):
            return context.codingPath.isEmpty ? "it is not JSON" : "\(path(context)) has an invalid value"
        @unknown default: return "it cannot be read"
        }
    }

    private func provided(
        _ route: DirectionsDocument.Route, _ waypoints: [DirectionsDocument.Waypoint?]
    ) throws(DirectionsError) -> ProvidedRoute {
        guard let points = EncodedPolyline.decode(route.geometry, maximumPoints: Self.maximumPoints), points.count >= 2
        else { throw malformed("its geometry is not a valid line") }
        let stops = stopCount
        guard route.legs.count == stops else {
            throw malformed("it has \(route.legs.count) legs for \(stops) stops after the start")
        }
        let lines = self.lines(points, route.legs, waypoints)
        var legs: [ProvidedRoute.Leg] = []
        for (leg, line) in zip(route.legs, lines) { legs.append(self.leg(leg, line)) }
        let result = ProvidedRoute(legs: legs)
        if let fault = result.fault { throw malformed(fault) }
        return result
    }

    private var stopCount: Int {
        let last = request.waypoints.count - 1
        return request.waypoints.indices.count { $0 > 0 && ($0 == last || request.waypoints[$0].isStop) }
    }

    private func leg(_ leg: DirectionsDocument.Leg, _ line: [Coordinate]) -> ProvidedRoute.Leg {
        var result = ProvidedRoute.Leg(line: line, duration: leg.duration, length: leg.distance)
        guard let annotation = leg.annotation else { return result }
        let segments = line.count - 1
        // A list whose length differs from the line's is ignored.
        if let nodes = annotation.nodes, nodes.count == line.count { result.nodeIDs = nodes }
        if let durations = annotation.duration, durations.count == segments {
            let known = durations.compactMap { $0 }
            if known.count == segments { result.durations = known }
        }
        if let levels = annotation.congestion, levels.count == segments {
            result.congestion = levels.map { $0.flatMap(Congestion.init) ?? .unknown }
        }
        return result
    }

    // MARK: Legs

    /// Returns the line of each leg, split by the lengths of the annotations, or else at the stops.
    private func lines(
        _ points: [Coordinate], _ legs: [DirectionsDocument.Leg], _ waypoints: [DirectionsDocument.Waypoint?]
    ) -> [[Coordinate]] {
        if legs.count == 1 { return [points] }
        let counts = legs.compactMap { leg in
            leg.annotation?.distance?.count ?? leg.annotation?.duration?.count ?? leg.annotation?.congestion?.count
        }
        if counts.count == legs.count, counts.reduce(0, +) == points.count - 1, !counts.contains(0) {
            var first = 0
            return counts.map { count in
                defer { first += count }
                return Array(points[first...(first + count)])
            }
        }
        return divided(points, at: stops(waypoints).dropLast())
    }

    /// Returns the positions of the stops after the start: as snapped by the provider, or else as requested.
    private func stops(_ waypoints: [DirectionsDocument.Waypoint?]) -> [Coordinate] {
        let last = request.waypoints.count - 1
        let stops = request.waypoints.indices.filter { $0 > 0 && ($0 == last || request.waypoints[$0].isStop) }
        let isOfStops = waypoints.count == stops.count + 1 && waypoints.count != request.waypoints.count
        return stops.enumerated().map { number, stop in
            let index = isOfStops ? number + 1 : stop
            if waypoints.indices.contains(index), let location = waypoints[index]?.location, location.count == 2 {
                let place = Coordinate(latitude: location[1], longitude: location[0])
                if place.isValid { return place }
            }
            return request.waypoints[stop].coordinate
        }
    }

    /// Returns a line split where it passes given positions, in order.
    private func divided(_ points: [Coordinate], at places: ArraySlice<Coordinate>) -> [[Coordinate]] {
        let line = Polyline(points)
        var cuts = [0.0]
        for place in places {
            let from = cuts[cuts.count - 1]
            cuts.append(line.project(place, within: from...max(line.length, from))?.offset ?? from)
        }
        cuts.append(line.length)
        return zip(cuts, cuts.dropFirst()).map { start, end in
            let part = line.slice(from: start, to: end)
            guard part.count >= 2 else {
                let place = line.coordinate(at: start) ?? points[0]
                return [place, place]
            }
            return part
        }
    }
}
