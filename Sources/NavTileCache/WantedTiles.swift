/// The wanted tiles of all editions, each with its need.
package struct WantedTiles: Sendable {
    /// The number of updates so far.
    package private(set) var generation = 0
    private var needs: [Int64: [Int64: Double]] = [:]
    /// All wanted tiles, latest needed first; nil when the order must be computed again.
    private var latestFirst: [(number: Int64, need: Double)]?

    package init() {}

    package mutating func set(_ tiles: [WantedTile], edition: Int64) {
        generation += 1
        latestFirst = nil
        needs[edition] = tiles.isEmpty ? nil : [:]
        for tile in tiles where !tile.need.isNaN {
            needs[edition]?[TileNumber.of(tile.tile, edition: edition)] = tile.need
        }
    }

    /// Returns the need of a tile; nil when it is not wanted.
    package func need(_ number: Int64) -> Double? { needs[TileNumber.edition(number)]?[number] }

    /// The numbers of all wanted tiles, unordered.
    package var numbers: [Int64] { needs.values.flatMap(\.keys) }

    /// Returns the tiles that are needed later than `need`, latest first.
    package mutating func later(than need: Double) -> ArraySlice<(number: Int64, need: Double)> {
        let all =
            latestFirst
            ?? needs.values.flatMap { $0.map { (number: $0.key, need: $0.value) } }
            .sorted { ($1.need, $1.number) < ($0.need, $0.number) }
        latestFirst = all
        return all.prefix { $0.need > need }
    }
}
