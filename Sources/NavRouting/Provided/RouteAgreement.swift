package import NavGeo

extension Polyline {
    /// Returns the distance from the start of a followed line at which it passes a place, metres; nil when it does not pass.
    ///
    /// It prefers a point about one step ahead, because the line may pass more than once, and otherwise searches within reach.
    func next(
        _ place: Coordinate, from cursor: Double, step: Double?, reach: Double, tolerance: Double
    ) -> Double? {
        if let step {
            let slack = tolerance + step * 0.2
            let near = max(cursor + step - slack, cursor - tolerance, 0)...(max(cursor + step + slack, 0))
            if let hit = project(place, within: near), hit.distance <= tolerance { return hit.offset }
        }
        guard let hit = project(place, within: max(cursor - tolerance, 0)...(cursor + reach)), hit.distance <= tolerance
        else { return nil }
        return hit.offset
    }
}

/// The agreement of a route of this map with a provided one, by comparing their lines.
package struct RouteAgreement: Sendable {
    /// The share of the provided route's length that the route follows, 0 ... 1.
    package private(set) var share = 1.0
    /// The longest part of the provided route that the route does not follow; nil when it follows all of it.
    package private(set) var departure: Part?

    /// A part of a route.
    package struct Part: Sendable, Equatable {
        /// The place where it begins.
        package var start: Coordinate
        /// The distance along the route at which it begins, metres.
        package var offset: Double
        /// Metres.
        package var length: Double
    }

    /// Metres between compared points.
    private static let spacing = 20.0
    /// The distance ahead within which the continuing line is searched, metres.
    private static let reach = 300.0
    /// The distance ahead within which the line is searched after it was lost, metres.
    private static let longReach = 3_000.0

    /// Compares the legs of two routes.
    ///
    /// - Parameter tolerance: The greatest distance between lines of the same road, metres.
    package init(_ provided: ProvidedRoute, _ route: Route, tolerance: Double) {
        var (length, lost) = (0.0, 0.0)
        for (line, other) in Self.lines(of: provided, route) {
            let missing = Self.lostParts(of: line, other, tolerance, from: length)
            departure = Self.longest(missing, departure)
            length += line.length
            lost += missing.reduce(0) { $0 + $1.length }
        }
        if length > 0 { share = min(max(1 - lost / length, 0), 1) }
    }

    /// Returns the longest part of the route that does not run along the provided one; nil when all of it does.
    package static func detour(of route: Route, from provided: ProvidedRoute, tolerance: Double) -> Part? {
        var (length, detour) = (0.0, Part?.none)
        for (line, own) in lines(of: provided, route) {
            detour = longest(lostParts(of: own, line, tolerance, from: length), detour)
            length += own.length
        }
        return detour
    }

    /// Returns the lines of the legs of both routes.
    private static func lines(of provided: ProvidedRoute, _ route: Route) -> [(provided: Polyline, own: Polyline)] {
        zip(provided.legs, route.legs).compactMap { leg, own in
            let points = route.edges[own.edges].reduce(into: (first: Int.max, last: 0)) { range, edge in
                range.first = min(range.first, edge.coordinates.lowerBound)
                range.last = max(range.last, edge.coordinates.upperBound)
            }
            guard points.first <= points.last else { return nil }
            return (Polyline(leg.line), Polyline(Array(route.coordinates[points.first...points.last])))
        }
    }

    private static func longest(_ parts: [Part], _ other: Part?) -> Part? {
        (parts + [other].compactMap { $0 }).max { $0.length < $1.length }
    }

    /// Returns the parts of a line along which the other one does not run.
    ///
    /// - Parameter offset: The distance along the route at which the line begins, metres.
    private static func lostParts(
        of line: Polyline, _ other: Polyline, _ tolerance: Double, from offset: Double
    ) -> [Part] {
        var parts: [Part] = []
        func add(from start: Double, to end: Double) {
            guard end > start, let place = line.coordinate(at: start) else { return }
            parts.append(Part(start: place, offset: offset + start, length: end - start))
        }
        var cursor = 0.0
        var (lostSince, last): (Double?, Double) = (nil, 0)
        let count = max(Int((line.length / spacing).rounded(.up)), 1)
        for number in 0...count {
            let offset = line.length * Double(number) / Double(count)
            guard let point = line.coordinate(at: offset) else { break }
            let hit = other.next(
                point, from: cursor, step: lostSince == nil ? offset - last : nil,
                reach: lostSince == nil ? reach : longReach, tolerance: tolerance)
            if let hit {
                cursor = max(cursor, hit)
                if let start = lostSince { add(from: start, to: offset) }
                lostSince = nil
            } else if lostSince == nil {
                lostSince = last
            }
            last = offset
        }
        if let start = lostSince { add(from: start, to: line.length) }
        return parts
    }
}
