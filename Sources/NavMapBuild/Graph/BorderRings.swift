internal import NavGeo
internal import NavMap

/// A country's border, to the extent that it is in the extract.
struct CountryBorder: Sendable {
    /// A stretch of border between two neighbouring nodes.
    struct Side: Sendable, Equatable {
        var from: FixedCoordinate
        var to: FixedCoordinate
    }

    var country: UInt16
    /// The closed part of the outer border: a point is inside if a ray from it crosses these sides an odd number of
    /// times.
    var outer: [Side] = []
    /// The closed parts around excluded areas, such as an enclave.
    var inner: [Side] = []
    /// The ways of the whole border, and those of its open part: indexes in the data, ascending.
    var ways: [Int] = []
    var openWays: [Int] = []
    /// The points at which the border continues outside the extract.
    var openEnds: [FixedCoordinate] = []
    /// The area of the bounding box of ``outer``, square degrees, which distinguishes an enclave from the country around it.
    var area = 0.0

    /// Whether the country's area is known.
    var isClosed: Bool { !outer.isEmpty }
}

extension CountryBorder {
    /// Returns the borders described by the relations of an extract, by ascending country; for a country with several relations, for
    /// example one for its land alone, the smallest comes first.
    ///
    /// A country is a relation with `boundary=administrative` and a two-letter code in `ISO3166-1:alpha2`, `ISO3166-1` or
    /// `country_code_iso3166_1_alpha_2`, at any level, because dependent territories have codes and rules of their own. The direction of
    /// its ways is ignored, because it does not show on which side each country is. Ways that touch form a component. If every node of a
    /// component joins an even number of sides, the component surrounds an area by the even-odd rule. Any other component is incomplete, at
    /// the edge of an extract or because of a mapping error, and encloses no area. A component whose ways all have the role `inner` is cut
    /// out.
    static func borders(in data: OSMData) -> [CountryBorder] {
        var borders: [CountryBorder] = []
        for relation in data.relations.ids.indices {
            let country = code(data, relation)
            guard country != 0 else { continue }
            // A repeated way counts once; it is inner only if `inner` is its only role.
            var members: [Int: Bool] = [:]
            for at in data.relations.partRange(relation) {
                let member = data.relations.parts[at]
                guard member.kind == .way, let way = data.ways.index(of: member.id) else { continue }
                let isInner = Word(rawValue: member.role) == .inner
                members[way] = isInner && members[way] != false
            }
            let ways = members.sorted { $0.key < $1.key }
            borders.append(CountryBorder(country, ways.map { ($0.key, $0.value) }, data))
        }
        return borders.sorted { ($0.country, $0.area) < ($1.country, $1.area) }
    }

    private static let codeKeys: [TagKey] = [.iso3166Alpha2, .iso3166, .country_code_iso3166_1_alpha_2]

    /// Whether a relation describes a country, with a valid border or not, rather than a turn restriction.
    static func isCountry(_ data: OSMData, _ relation: Int) -> Bool {
        codeKeys.contains { data.relations.tags.value($0, of: relation) != 0 }
    }

    /// Returns the packed country code of a border relation; 0 for other relations.
    static func code(_ data: OSMData, _ relation: Int) -> UInt16 {
        let tags = data.relations.tags
        guard Word(rawValue: tags.value(.boundary, of: relation)) == .administrative else { return 0 }
        for key in codeKeys {
            let code = CountryCode.packed(data.strings[tags.value(key, of: relation)])
            if code != 0 { return code }
        }
        return 0
    }

    /// Creates a border from ways, ascending, each with whether it is `inner`.
    private init(_ country: UInt16, _ members: [(way: Int, isInner: Bool)], _ data: OSMData) {
        self.country = country
        ways = members.map(\.way)
        // The nodes that sides join, and the component of each.
        var numbers: [UInt32: Int] = [:]
        var degrees: [Int] = []
        var components = DisjointSets()
        func number(_ node: UInt32) -> Int {
            if let known = numbers[node] { return known }
            numbers[node] = degrees.count
            degrees.append(0)
            components.add()
            return degrees.count - 1
        }
        var sides: [(member: Int, from: UInt32, to: UInt32)] = []
        var cutWays: Set<Int> = []
        for (member, entry) in members.enumerated() {
            let nodes = data.ways.parts[data.ways.partRange(entry.way)]
            for (from, to) in zip(nodes, nodes.dropFirst()) where from != to {
                guard data.isPresent(from), data.isPresent(to) else {
                    cutWays.insert(entry.way)
                    continue
                }
                sides.append((member, from, to))
                let (a, b) = (number(from), number(to))
                degrees[a] += 1
                degrees[b] += 1
                components.join(a, b)
            }
        }
        var isOpen = [Bool](repeating: false, count: degrees.count)
        for node in degrees.indices where degrees[node] % 2 == 1 { isOpen[components.root(node)] = true }
        var isOuter = [Bool](repeating: false, count: degrees.count)
        for side in sides where !members[side.member].isInner {
            isOuter[components.root(number(side.from))] = true
        }
        var open = cutWays
        for side in sides {
            let root = components.root(number(side.from))
            let line = Side(from: data.position(side.from), to: data.position(side.to))
            if isOpen[root] {
                open.insert(members[side.member].way)
            } else if isOuter[root] {
                outer.append(line)
            } else {
                inner.append(line)
            }
        }
        openWays = open.sorted()
        let ends = numbers.filter { degrees[$0.value] % 2 == 1 }.keys.sorted()
        openEnds = ends.map { data.position($0) }
        area = CountryBorder.area(of: outer)
    }

    /// Returns the area of the bounding box of sides, square degrees.
    private static func area(of sides: [Side]) -> Double {
        guard let first = sides.first else { return 0 }
        var (south, north) = (first.from.latitudeE7, first.from.latitudeE7)
        var (west, east) = (first.from.longitudeE7, first.from.longitudeE7)
        for side in sides {
            south = min(south, side.from.latitudeE7, side.to.latitudeE7)
            north = max(north, side.from.latitudeE7, side.to.latitudeE7)
            west = min(west, side.from.longitudeE7, side.to.longitudeE7)
            east = max(east, side.from.longitudeE7, side.to.longitudeE7)
        }
        return (Double(north) - Double(south)) * (Double(east) - Double(west)) / 1e14
    }
}

private struct DisjointSets {
    private var parents: [Int] = []

    mutating func add() { parents.append(parents.count) }

    mutating func root(_ element: Int) -> Int {
        var element = element
        while parents[element] != element {
            parents[element] = parents[parents[element]]
            element = parents[element]
        }
        return element
    }

    mutating func join(_ left: Int, _ right: Int) {
        let (left, right) = (root(left), root(right))
        parents[max(left, right)] = min(left, right)
    }
}
