package import NavGeo

package struct WantedTile: Sendable, Hashable {
    package var tile: TileID
    /// The place along the route where the vehicle first may need it, metres; around the vehicle how far it is
    /// away comes on top of where the vehicle is.
    package var need: Double

    package init(tile: TileID, need: Double) {
        self.tile = tile
        self.need = need
    }
}

/// A line that the vehicle may follow.
package struct PlannedLine: Sendable, Hashable {
    package var line: ProjectedLine
    /// Its head.
    package var destination: Coordinate?
    /// The fork, metres along the *route*; 0 for the route itself.
    package var fork: Double
    /// The same place, metres along this line: what lies before it is the route's.
    package var ownFork: Double

    /// A line; `fork` and `ownFork` for an alternative.
    package init(_ line: Polyline, fork: Double = 0, ownFork: Double = 0) {
        self.line = ProjectedLine(line)
        destination = line.coordinates.last
        self.fork = fork
        self.ownFork = ownFork
    }
}

/// The difference between two sets of wanted tiles.
package struct CacheChanges: Sendable, Hashable {
    /// Tiles that are wanted now and were not, the soonest needed first.
    package var added: [WantedTile] = []
    /// Tiles that are no longer wanted, by id.
    package var removed: [TileID] = []

    package init() {}

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty }
}

/// Says which tiles the vehicle will need, and in which order: around it, along its route and alternatives, and around
/// the destination.
///
/// A change of the route costs time in proportion to its length, a position that of the circle around it when the
/// vehicle has moved, and next to nothing when it stands.
package struct CachePlanner: Sendable {
    /// The tiles that are kept. A change holds from the next route and the next position on.
    package var profile: CacheProfile {
        didSet { centre = nil }
    }

    /// Tiles of the route, its alternatives and its destination.
    private var ahead: [WantedTile] = []
    /// The need of each of `ahead`.
    private var needs: [TileID: Double] = [:]
    /// Tiles of `ahead` before this one lie behind the vehicle.
    private var passed = 0
    /// Tiles around the vehicle; of these `need` is how far away they were when it was looked last, metres.
    private var around: [WantedTile] = []
    private var isAround: Set<TileID> = []
    private var centre: Coordinate?
    /// The vehicle's place along its route, metres: what is needed up to here is needed now.
    package private(set) var cursor = 0.0

    package init(_ profile: CacheProfile) { self.profile = profile }

    /// All tiles that are wanted, the soonest needed first.
    package var wanted: [WantedTile] {
        var all = around.map { WantedTile(tile: $0.tile, need: cursor + $0.need) }
        all += ahead[passed...].filter { !isAround.contains($0.tile) }
        return all.sorted(by: Self.isSooner)
    }

    package func wants(_ tile: TileID) -> Bool {
        if isAround.contains(tile) { return true }
        guard let need = needs[tile] else { return false }
        return need >= cursor - profile.behind
    }

    /// Takes another route, with its alternatives; nil when there is none any more.
    ///
    /// - Parameter cursor: How far along the route the vehicle is, metres.
    package mutating func follow(
        _ route: PlannedLine?, alternatives: [PlannedLine] = [], cursor: Double = 0
    ) -> CacheChanges {
        let before = Set(ahead[passed...].map(\.tile)).union(isAround)
        self.cursor = max(cursor, 0)
        needs = [:]
        if let route { plan(route, alternatives) }
        ahead = needs.map { WantedTile(tile: $0.key, need: $0.value) }.sorted(by: Self.isSooner)
        drop(beyond: profile.greatestCount)
        passed = firstAhead(from: 0)
        return changes(since: before)
    }

    /// Takes the vehicle's position.
    ///
    /// - Parameter cursor: How far along the route it is, metres; nil without a route or off it.
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
        if let centre, Geodesy.distance(centre, position) < profile.step || !position.isValid { return changes }
        guard position.isValid else { return changes }
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
        // What has just been passed may lie around the vehicle, and the other way round.
        changes.removed = Set(changes.removed).filter { !wants($0) }.sorted()
        return changes
    }

    // MARK: Parts

    private mutating func plan(_ route: PlannedLine, _ alternatives: [PlannedLine]) {
        for level in profile.levels {
            let reach = level.reach
            TileCover.corridor(along: route.line, buffer: reach.route, zoom: level.zoom) { tile, offset in
                want(tile, offset)
            }
            if let destination = route.destination {
                TileCover.disc(around: destination, radius: reach.destination, zoom: level.zoom) { tile, distance in
                    want(tile, route.line.length + distance)
                }
            }
            for other in alternatives where other.ownFork <= other.line.length {
                TileCover.corridor(
                    along: other.line, in: other.ownFork ... .infinity, buffer: reach.route, zoom: level.zoom
                ) { tile, offset in want(tile, other.fork + offset - other.ownFork + profile.alternativeDelay) }
            }
        }
    }

    private mutating func want(_ tile: TileID, _ need: Double) {
        if let known = needs[tile], known <= need { return }
        needs[tile] = need
    }

    private mutating func drop(beyond limit: Int) {
        guard ahead.count > limit else { return }
        for wanted in ahead[limit...] { needs[wanted.tile] = nil }
        ahead.removeLast(ahead.count - limit)
    }

    private func firstAhead(from start: Int) -> Int {
        var index = start
        while index < ahead.count, ahead[index].need < cursor - profile.behind { index += 1 }
        return index
    }

    private func isAhead(_ tile: TileID) -> Bool {
        needs[tile].map { $0 >= cursor - profile.behind } ?? false
    }

    /// With how far away they are; the nearest first.
    private func tilesAround(_ position: Coordinate) -> [WantedTile] {
        var tiles: [WantedTile] = []
        for level in profile.levels {
            // The vehicle goes on by a step before the circle is drawn anew.
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
        changes.removed = before.filter { !wants($0) }.sorted()
        return changes
    }

    /// The sooner needed first, of equal ones the coarser: it leads further.
    private static func isSooner(_ left: WantedTile, _ right: WantedTile) -> Bool {
        (left.need, left.tile) < (right.need, right.tile)
    }
}
