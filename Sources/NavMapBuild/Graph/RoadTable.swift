internal import NavGeo
internal import NavMap

/// A table of the ways that are roads, with their distinct attributes numbered.
struct RoadTable: Sendable {
    /// For each road, the index of its way in the data.
    var ways: ContiguousArray<UInt32> = []
    /// For each road, its attributes along and against the way: an index in ``attributes``, or ``none``.
    var forward: ContiguousArray<UInt32> = []
    var backward: ContiguousArray<UInt32> = []
    /// For each road, the exit number of a ramp, as a text number.
    var exitReferences: ContiguousArray<UInt32> = []
    var attributes: ContiguousArray<RoadDirection> = []

    /// The number of unsupported conditions in tags.
    private(set) var unknownConditions = 0

    /// The value that marks the absence of a road in a direction.
    static let none = UInt32.max

    private let rules: CountryRules
    /// The attributes of roads through several countries, by road and country, along and against the way.
    private(set) var crossings: [Int: [UInt16: (forward: UInt32, backward: UInt32)]] = [:]

    /// Interprets all ways of `data` in pieces shared by several threads; the numbering does not depend on the pieces.
    init(_ data: OSMData, jobs: Int, rules: CountryRules, counter: ProgressCounter) {
        let piece = 4096
        let count = data.ways.ids.count
        let pieces = Parallel.map((count + piece - 1) / piece, jobs: jobs) { number in
            var table = RoadTable(rules)
            var known: [RoadDirection: UInt32] = [:]
            var tags = TagSet()
            for way in number * piece..<min(count, (number + 1) * piece) {
                tags.load(data.ways.tags, way)
                // Borders are not roads, and only roads need the countries that they pass through.
                if rules.hasBorders && !tags.has(.highway) && !tags.has(.route) { continue }
                let countries = rules.countries(ofWay: way, data)
                let roads = countries.map { rules.interpret(tags, data.strings, in: $0) }
                guard let main = roads.lazy.compactMap({ $0 }).first else { continue }
                table.unknownConditions += main.unknownConditions
                if countries.count > 1 {
                    var variants: [UInt16: (forward: UInt32, backward: UInt32)] = [:]
                    for (country, road) in zip(countries, roads) {
                        variants[country] = (table.number(road?.forward, &known), table.number(road?.backward, &known))
                    }
                    table.crossings[table.ways.count] = variants
                }
                table.ways.append(UInt32(way))
                table.forward.append(table.number(main.forward, &known))
                table.backward.append(table.number(main.backward, &known))
                table.exitReferences.append(main.exitReference)
            }
            counter.advance(.splittingWays, of: (count + piece - 1) / piece)
            return table
        }
        self.init(rules)
        var known: [RoadDirection: UInt32] = [:]
        for piece in pieces {
            let numbers = piece.attributes.map { number($0, &known) }
            func translated(_ number: UInt32) -> UInt32 {
                number == RoadTable.none ? RoadTable.none : numbers[Int(number)]
            }
            for (road, variants) in piece.crossings {
                crossings[ways.count + road] = variants.mapValues { (translated($0.forward), translated($0.backward)) }
            }
            unknownConditions += piece.unknownConditions
            ways.append(contentsOf: piece.ways)
            exitReferences.append(contentsOf: piece.exitReferences)
            for road in piece.ways.indices {
                forward.append(translated(piece.forward[road]))
                backward.append(translated(piece.backward[road]))
            }
        }
    }

    private init(_ rules: CountryRules) { self.rules = rules }

    /// Returns the country of each piece of a road's line between neighbouring points; nil for a road in one country.
    func countries(ofRoad road: Int, along line: [FixedCoordinate]) -> [UInt16]? {
        crossings[road] == nil ? nil : rules.countries(along: line)
    }

    /// Returns the attributes of a road in one of its countries, along and against the way.
    func attributes(ofRoad road: Int, in country: UInt16) -> (forward: UInt32, backward: UInt32) {
        crossings[road]?[country] ?? (forward[road], backward[road])
    }

    private mutating func number(_ direction: RoadDirection?, _ known: inout [RoadDirection: UInt32]) -> UInt32 {
        guard let direction else { return RoadTable.none }
        if let number = known[direction] { return number }
        let number = UInt32(attributes.count)
        attributes.append(direction)
        known[direction] = number
        return number
    }

    /// Adds separate attributes for one segment of a road.
    mutating func addAttributes(_ direction: RoadDirection) -> UInt32 {
        attributes.append(direction)
        return UInt32(attributes.count - 1)
    }
}
