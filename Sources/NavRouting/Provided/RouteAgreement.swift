import NavGeo

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
        for (leg, own) in zip(provided.legs, route.legs) {
            let line = Polyline(leg.line)
            let points = route.edges[own.edges].reduce(into: (first: Int.max, last: 0)) { range, edge in
                range.first = min(range.first, edge.coordinates.lowerBound)
                range.last = max(range.last, edge.coordinates.upperBound)
            }
            guard points.first <= points.last else { continue }
            let other = Polyline(Array(route.coordinates[points.first...points.last]))
            length += line.length
            lost += Self.lostLength(of: line, other, tolerance)
        }
        if length > 0 { share = min(max(1 - lost / length, 0), 1) }
    }

    /// Returns the length of the parts of a line along which the other one does not run, metres.
    private static func lostLength(of line: Polyline, _ other: Polyline, _ tolerance: Double) -> Double {
        var (lost, cursor) = (0.0, 0.0)
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
                if let start = lostSince { lost += offset - start }
                lostSince = nil
            } else if lostSince == nil {
                lostSince = last
            }
            last = offset
        }
        return lost + (lostSince.map { line.length - $0 } ?? 0)
    }
}
