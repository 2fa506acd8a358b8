internal import NavGeo
internal import NavMap

/// The ways that are roads, with their attributes told apart and numbered.
struct RoadTable: Sendable {
    /// For each road, its way's index in the data.
    var ways: ContiguousArray<UInt32> = []
    /// For each road, its attributes along the way and against it: a place in ``attributes``, or ``none``.
    var forward: ContiguousArray<UInt32> = []
    var backward: ContiguousArray<UInt32> = []
    /// For each road, the exit number of a ramp, a text number.
    var exitReferences: ContiguousArray<UInt32> = []
    var attributes: ContiguousArray<RoadDirection> = []

    /// Conditions in tags that are not understood.
    private(set) var unknownConditions = 0

    /// No road in this direction.
    static let none = UInt32.max

    private let rules: CountryRules
    /// Roads that lead through several countries, by road: their attributes in each, along the way and against it.
    private(set) var crossings: [Int: [UInt16: (forward: UInt32, backward: UInt32)]] = [:]

    /// Interprets all ways of `data`, in pieces that several threads share; the numbering does not depend on them.
    init(_ data: OSMData, jobs: Int, rules: CountryRules, counter: ProgressCounter) {
        let piece = 4096
        let count = data.ways.ids.count
        let pieces = Parallel.map((count + piece - 1) / piece, jobs: jobs) { number in
            var table = RoadTable(rules)
            var known: [RoadDirection: UInt32] = [:]
            var tags = TagSet()
            for way in number * piece..<min(count, (number + 1) * piece) {
                tags.load(data.ways.tags, way)
                // Borders are no roads; where they run is asked of roads alone.
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

    /// The country of each piece of a line of a road between neighbouring points; nil for a road in one country.
    func countries(ofRoad road: Int, along line: [FixedCoordinate]) -> [UInt16]? {
        crossings[road] == nil ? nil : rules.countries(along: line)
    }

    /// The attributes of a road in a country that it leads through, along the way and against it.
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

    /// Adds attributes of their own for one piece of road.
    mutating func addAttributes(_ direction: RoadDirection) -> UInt32 {
        attributes.append(direction)
        return UInt32(attributes.count - 1)
    }
}
