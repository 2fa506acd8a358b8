internal import Glibc
internal import NavGeo
internal import NavMap

/// A map from places to countries, based on the borders in an extract.
///
/// Inside a closed border, its country applies; of several, the one with the smallest bounding box, which is the enclave. Beyond a closed
/// border, where the neighbour's border is incomplete, the place belongs to the neighbour if two conditions hold. The nearest border,
/// within ``reach``, is shared by exactly one closed and one open border. And every end where an open border leaves the extract is more
/// than twice as far: closer to such an end, a border outside the extract could lie in between. Everywhere else the country is unknown.
struct CountryMap: Sendable {
    private typealias Side = CountryBorder.Side

    /// The countries with closed borders, in order of precedence: the smallest bounding box first.
    private var countries: [UInt16] = []
    private var outer: [SideIndex] = []
    private var inner: [SideIndex] = []
    /// The sides of all borders, and for each side the country of the only open border that shares it with a closed one, or 0.
    private var near = SideIndex()
    private var neighbours: ContiguousArray<UInt16> = []
    private var openEnds: [FixedCoordinate] = []
    private var all = SideIndex()

    /// The greatest distance beyond a closed border at which its neighbour is assumed, metres.
    static let reach = 5_000.0
    /// The shortest stretch in one country between two stretches in another, metres; a shorter one counts as part of the other country, so
    /// that a road along a border does not change its country at every bend.
    static let leastStretch = 100.0

    /// Creates the map of an extract's borders; nil when the extract has no country border.
    init?(_ data: OSMData) {
        let borders = CountryBorder.borders(in: data)
        guard borders.contains(where: { !$0.ways.isEmpty }) else { return nil }
        let closed = borders.filter(\.isClosed).sorted { ($0.area, $0.country) < ($1.area, $1.country) }
        for border in closed {
            countries.append(border.country)
            outer.append(SideIndex(border.outer))
            inner.append(SideIndex(border.inner))
            for side in border.outer + border.inner { all.append(side) }
        }
        var owners: [Int: [UInt16]] = [:]
        for border in borders {
            for way in border.openWays { owners[way, default: []].append(border.country) }
            openEnds += border.openEnds
        }
        let closedWays = Set(closed.flatMap(\.ways)).subtracting(closed.flatMap(\.openWays))
        for way in Set(owners.keys).union(closedWays).sorted() {
            let candidates = Set(owners[way] ?? [])
            let country = closedWays.contains(way) && candidates.count == 1 ? candidates.first ?? 0 : 0
            let nodes = data.ways.parts[data.ways.partRange(way)]
            for (from, to) in zip(nodes, nodes.dropFirst()) where data.isPresent(from) && data.isPresent(to) {
                near.append(Side(from: data.position(from), to: data.position(to)))
                neighbours.append(country)
            }
        }
    }

    /// Returns the country of a place, packed; 0 when unknown.
    func country(at place: FixedCoordinate) -> UInt16 {
        for (number, country) in countries.enumerated()
        where outer[number].surrounds(place) && !inner[number].surrounds(place) {
            return country
        }
        guard let nearest = near.nearest(to: place, within: CountryMap.reach), neighbours[nearest.side] != 0,
            openEnds.allSatisfy({ Planar.distance(place, $0) > 2 * nearest.distance })
        else { return 0 }
        return neighbours[nearest.side]
    }

    /// Returns the country of each piece of a line between two neighbouring points, by the middle of the piece.
    func countries(along line: [FixedCoordinate]) -> [UInt16] {
        let pieces = max(line.count - 1, 0)
        guard let first = line.first else { return [] }
        if !all.mayMeet(line) {
            // Without a border nearby, all points share one country, unless the neighbour's reach ends on the line.
            let country = country(at: first)
            if line.count < 2 || country == self.country(at: line[line.count - 1]) {
                return Array(repeating: country, count: pieces)
            }
        }
        var found = (0..<pieces).map { country(at: Planar.middle(line[$0], line[$0 + 1])) }
        var start = 0
        while start < pieces {
            var end = start
            var length = 0.0
            while end < pieces, found[end] == found[start] {
                length += Planar.distance(line[end], line[end + 1])
                end += 1
            }
            if start > 0, end < pieces, found[start - 1] == found[end], length < CountryMap.leastStretch {
                for piece in start..<end { found[piece] = found[end] }
            }
            start = end
        }
        return found
    }
}

/// Planar geometry in degrees, for distances of a few kilometres.
enum Planar {
    /// Returns the distance between two places, metres.
    static func distance(_ from: FixedCoordinate, _ to: FixedCoordinate) -> Double {
        Geodesy.distance(from.coordinate, to.coordinate)
    }

    /// Returns the midpoint of two places.
    static func middle(_ from: FixedCoordinate, _ to: FixedCoordinate) -> FixedCoordinate {
        FixedCoordinate(
            latitudeE7: Int32((Int64(from.latitudeE7) + Int64(to.latitudeE7)) / 2),
            longitudeE7: Int32((Int64(from.longitudeE7) + Int64(to.longitudeE7)) / 2))
    }

    /// Returns the distance from a place to the nearest point of a side, metres.
    static func distance(_ place: FixedCoordinate, _ side: CountryBorder.Side) -> Double {
        let unit = 6_371_008.8 * Double.pi / 180 / 1e7
        let narrow = cos(Angle.radians(Double(place.latitudeE7) / 1e7))
        func x(_ point: FixedCoordinate) -> Double {
            (Double(point.longitudeE7) - Double(place.longitudeE7)) * narrow
        }
        func y(_ point: FixedCoordinate) -> Double { Double(point.latitudeE7) - Double(place.latitudeE7) }
        let (ax, ay) = (x(side.from), y(side.from))
        let (dx, dy) = (x(side.to) - ax, y(side.to) - ay)
        let square = dx * dx + dy * dy
        let share = square > 0 ? min(max(-(ax * dx + ay * dy) / square, 0), 1) : 0
        let (px, py) = (ax + share * dx, ay + share * dy)
        return (px * px + py * py).squareRoot() * unit
    }
}
