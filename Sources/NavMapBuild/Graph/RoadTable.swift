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
    /// Distinct attributes.
    var attributes: ContiguousArray<RoadDirection> = []

    /// Conditions in tags that are not understood.
    private(set) var unknownConditions = 0

    /// No road in this direction.
    static let none = UInt32.max

    /// Interprets all ways of `data`, in pieces that several threads share; the numbering does not depend on them.
    init(_ data: OSMData, jobs: Int, country: String, leftHandTraffic: Bool, counter: ProgressCounter) {
        let piece = 4096
        let count = data.ways.ids.count
        let pieces = Parallel.map((count + piece - 1) / piece, jobs: jobs) { number in
            var table = RoadTable()
            var known: [RoadDirection: UInt32] = [:]
            var tags = TagSet()
            for way in number * piece..<min(count, (number + 1) * piece) {
                tags.load(data.ways.tags, way)
                guard var road = RoadTags.interpret(tags, data.strings, country: country) else { continue }
                table.unknownConditions += road.unknownConditions
                if leftHandTraffic && tags.word(.driving_side) != .right {
                    road.forward?.flags.insert(.leftHandTraffic)
                    road.backward?.flags.insert(.leftHandTraffic)
                }
                table.ways.append(UInt32(way))
                table.forward.append(table.number(road.forward, &known))
                table.backward.append(table.number(road.backward, &known))
                table.exitReferences.append(road.exitReference)
            }
            counter.advance(.splittingWays, of: (count + piece - 1) / piece)
            return table
        }
        self.init()
        var known: [RoadDirection: UInt32] = [:]
        for piece in pieces {
            let numbers = piece.attributes.map { number($0, &known) }
            unknownConditions += piece.unknownConditions
            ways.append(contentsOf: piece.ways)
            exitReferences.append(contentsOf: piece.exitReferences)
            for road in piece.ways.indices {
                forward.append(
                    piece.forward[road] == RoadTable.none ? RoadTable.none : numbers[Int(piece.forward[road])])
                backward.append(
                    piece.backward[road] == RoadTable.none ? RoadTable.none : numbers[Int(piece.backward[road])])
            }
        }
    }

    private init() {}

    private mutating func number(_ direction: RoadDirection?, _ known: inout [RoadDirection: UInt32]) -> UInt32 {
        guard let direction else { return RoadTable.none }
        if let number = known[direction] { return number }
        let number = UInt32(attributes.count)
        attributes.append(direction)
        known[direction] = number
        return number
    }

    /// Adds attributes of their own for one road.
    mutating func addAttributes(_ direction: RoadDirection) -> UInt32 {
        attributes.append(direction)
        return UInt32(attributes.count - 1)
    }
}
