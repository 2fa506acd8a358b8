package import NavGeo

package struct WantedTile: Sendable, Hashable {
    package var tile: TileID
    /// The position along the route where the vehicle first may need the tile, metres; for a tile around the vehicle,
    /// the vehicle's position plus the distance to the tile.
    package var need: Double

    package init(tile: TileID, need: Double) {
        self.tile = tile
        self.need = need
    }
}

/// A line that the vehicle may follow.
package struct PlannedLine: Sendable, Hashable {
    package var line: ProjectedLine
    /// The end of the line.
    package var destination: Coordinate?
    /// The position of the fork along the *route*, metres; 0 for the route itself.
    package var fork: Double
    /// The position of the fork along this line, metres; the part before the fork belongs to the route.
    package var ownFork: Double

    /// A line; an alternative also has `fork` and `ownFork`.
    package init(_ line: Polyline, fork: Double = 0, ownFork: Double = 0) {
        self.line = ProjectedLine(line)
        destination = line.coordinates.last
        self.fork = fork
        self.ownFork = ownFork
    }
}

/// The difference between two sets of wanted tiles.
package struct CacheChanges: Sendable, Hashable {
    /// Newly wanted tiles, soonest needed first.
    package var added: [WantedTile] = []
    /// Tiles that are no longer wanted, by id.
    package var removed: [TileID] = []

    package init() {}

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty }
}

/// A planner of the tiles that the vehicle will need, in order of need: around it, along its route and alternatives,
/// and around the destination.
///
/// A change of route takes time in proportion to its length. A new position takes time in proportion to the circle
/// around the vehicle if the vehicle has moved far enough, and almost none otherwise.
package struct CachePlanner: Sendable {
    /// The tiles to keep; a change takes effect with the next route and the next position.
    package var profile: CacheProfile {
        didSet { centre = nil }
    }

    /// Tiles of the route, its alternatives and its destination.
    private var ahead: [WantedTile] = []
    /// The need of each tile of `ahead`.
    private var needs: [TileID: Double] = [:]
    /// The greatest need of a tile that can still be among those kept.
    private var horizon = Double.infinity
    /// The index of the first tile of `ahead` that is still wanted; the tiles before it have been passed.
    private var passed = 0
    /// Tiles around the vehicle; their `need` is their distance when the circle was last computed, metres.
    private var around: [WantedTile] = []
    private var isAround: Set<TileID> = []
    private var centre: Coordinate?
    /// The vehicle's position along its route, metres; tiles with a need up to this value are needed now.
    package private(set) var cursor = 0.0

    package init(_ profile: CacheProfile) { self.profile = profile }

    /// All wanted tiles, soonest needed first.
    package var wanted: [WantedTile] {
        var all = around.map { WantedTile(tile: $0.tile, need: cursor + $0.need) }
        all += ahead[passed...].filter { !isAround.contains($0.tile) }
        return all.sorted(by: Self.isSooner)
    }

    package func isWanted(_ tile: TileID) -> Bool {
        if isAround.contains(tile) { return true }
        guard let need = needs[tile] else { return false }
        return need >= cursor - profile.behind
    }

    /// Takes another route with its alternatives; nil when there is no longer a route.
    ///
    /// - Parameter cursor: The vehicle's position along the route, metres.
    package mutating func follow(
        _ route: PlannedLine?, alternatives: [PlannedLine] = [], cursor: Double = 0
    ) -> CacheChanges {
        let before = Set(ahead[passed...].map(\.tile)).union(isAround)
        self.cursor = max(cursor, 0)
        needs = [:]
        horizon = .infinity
        if let route { plan(route, alternatives) }
        keepSoonest()
        passed = firstAhead(from: 0)
        return changes(since: before)
    }

    /// Takes the vehicle's position.
    ///
    /// - Parameter cursor: Its position along the route, metres; nil without a route or off-route.
    package mutating func move(to position: Coordinate, cursor: Double? = nil) -> CacheChanges {
        var changes = CacheChanges()
        if let cursor, cursor > self.cursor {
            self.cursor = cursor
            let next = firstAhead(from: passed)
            for wanted in ahead[passed..<next] where !isAround.contains(wanted.tile) {
                changes.removed.append(wanted.tile)
            }
            passed = next
        }
        guard position.isValid, centre.map({ Geodesy.distance($0, position) >= profile.step }) ?? true
        else { return changes }
        centre = position
        let old = around
        let wasAround = isAround
        around = tilesAround(position)
        isAround = Set(around.map(\.tile))
        for near in around where !wasAround.contains(near.tile) && !isAhead(near.tile) {
            changes.added.append(WantedTile(tile: near.tile, need: self.cursor + near.need))
        }
        for near in old where !isAround.contains(near.tile) && !isAhead(near.tile) {
            changes.removed.append(near.tile)
        }
        // A tile that was just passed may still be near the vehicle, and vice versa.
        changes.removed = Set(changes.removed).filter { !isWanted($0) }.sorted()
        return changes
    }

    // MARK: Parts

    private mutating func plan(_ route: PlannedLine, _ alternatives: [PlannedLine]) {
        let vertexCount = alternatives.reduce(route.line.vertices.count) { $0 + $1.line.vertices.count }
        for level in profile.levels {
            let reach = level.reach
            // Lines with more pieces pass the same tiles repeatedly, or pass more tiles than are kept.
            var pieces = profile.greatestCount / Int(TileCover.longestPiece) + vertexCount
            func goesOn(_ need: Double) -> Bool {
                pieces -= 1
                return pieces >= 0 && need <= horizon
            }
            TileCover.corridor(along: route.line, buffer: reach.route, zoom: level.zoom, while: goesOn) {
                tile, offset in addWanted(tile, offset)
            }
            if let destination = route.destination {
                TileCover.disc(around: destination, radius: reach.destination, zoom: level.zoom) { tile, distance in
                    addWanted(tile, route.line.length + distance)
                }
            }
            for other in alternatives where other.ownFork <= other.line.length {
                func need(_ offset: Double) -> Double {
                    other.fork + offset - other.ownFork + profile.alternativeDelay
                }
                TileCover.corridor(
                    along: other.line, in: other.ownFork ... .infinity, buffer: reach.route, zoom: level.zoom,
                    while: { goesOn(need($0)) }
                ) { tile, offset in addWanted(tile, need(offset)) }
            }
        }
    }

    private mutating func addWanted(_ tile: TileID, _ need: Double) {
        if need > horizon { return }
        if let known = needs[tile], known <= need { return }
        needs[tile] = need
        // Sorting only at twice the limit keeps the cost of sorting per tile low.
        if needs.count / 2 >= profile.greatestCount { keepSoonest() }
    }

    /// Orders the tiles of the route, and drops those needed last beyond the limit.
    private mutating func keepSoonest() {
        ahead = needs.map { WantedTile(tile: $0.key, need: $0.value) }.sorted(by: Self.isSooner)
        let limit = profile.greatestCount
        guard ahead.count > limit else { return }
        for wanted in ahead[limit...] { needs[wanted.tile] = nil }
        ahead.removeLast(ahead.count - limit)
        horizon = ahead.last?.need ?? 0
    }

    private func firstAhead(from start: Int) -> Int {
        var index = start
        while index < ahead.count, ahead[index].need < cursor - profile.behind { index += 1 }
        return index
    }

    private func isAhead(_ tile: TileID) -> Bool {
        needs[tile].map { $0 >= cursor - profile.behind } ?? false
    }

    /// Returns the tiles around a position with their distances, nearest first.
    private func tilesAround(_ position: Coordinate) -> [WantedTile] {
        var tiles: [WantedTile] = []
        for level in profile.levels {
            // The vehicle may move by up to one step before the circle is recomputed.
            let radius = level.reach.position + profile.step
            TileCover.disc(around: position, radius: radius, zoom: level.zoom) { tile, distance in
                tiles.append(WantedTile(tile: tile, need: distance))
            }
        }
        return tiles.sorted(by: Self.isSooner)
    }

    private func changes(since before: Set<TileID>) -> CacheChanges {
        var changes = CacheChanges()
        for wanted in ahead[passed...] where !before.contains(wanted.tile) && !isAround.contains(wanted.tile) {
            changes.added.append(wanted)
        }
        changes.removed = before.filter { !isWanted($0) }.sorted()
        return changes
    }

    /// Orders by need, then coarser tiles first, since they cover a larger area.
    private static func isSooner(_ left: WantedTile, _ right: WantedTile) -> Bool {
        (left.need, left.tile) < (right.need, right.tile)
    }
}
