import NavGeo

/// The distances around the vehicle within which tiles of one zoom level are kept, metres.
package struct CacheReach: Sendable, Hashable {
    /// The distance around the position. 2,000: the default of the public documents.
    package var position: Double
    /// The distance to each side of the route. 500: the default of the public documents.
    package var route: Double
    /// The distance around the destination. 5,000: the default of the public documents.
    package var destination: Double

    /// The default distances unless others are given.
    package init(position: Double = 2_000, route: Double = 500, destination: Double = 5_000) {
        self.position = position
        self.route = route
        self.destination = destination
    }

    /// Returns the reach with every distance at least `metres`.
    package func atLeast(_ metres: Double) -> CacheReach {
        CacheReach(
            position: max(position, metres), route: max(route, metres), destination: max(destination, metres))
    }
}

/// The tiles of one domain that are kept ahead of the vehicle.
package struct CacheProfile: Sendable, Hashable {
    /// A zoom level with the distances within which its tiles are kept.
    package struct Level: Sendable, Hashable {
        /// Zoom level, 0 ... 22.
        package var zoom: UInt8
        package var reach: CacheReach

        package init(zoom: UInt8, reach: CacheReach) {
            self.zoom = zoom
            self.reach = reach
        }
    }

    /// The levels, coarse ones first: a coarse tile reaches further than a fine one nearby, and costs little.
    package var levels: [Level]

    /// The maximum number of wanted tiles; those needed last are left out. 200,000: some 4 GB of road tiles.
    package var greatestCount = 200_000
    /// The distance that the vehicle moves before the tiles around it are computed again, metres. 100: a twentieth of
    /// the default radius, and more than the drift of a stationary receiver.
    package var step = 100.0
    /// The distance behind the vehicle within which the route's tiles stay wanted, metres. 2,000: a U-turn needs no
    /// download.
    package var behind = 2_000.0
    /// The additional distance after which an alternative's tiles are needed compared with the route's, metres. 5,000.
    package var alternativeDelay = 5_000.0

    package init(levels: [Level]) { self.levels = levels.sorted { $0.zoom < $1.zoom } }

    /// Returns the profile of road tiles: the local layer (zoom 12) within `reach`, and the arterial (9) and highway
    /// (6) layers to at least 10 km and 50 km, so that a long route and a detour stay routable.
    package static func navigation(_ reach: CacheReach = CacheReach()) -> CacheProfile {
        CacheProfile(levels: [
            Level(zoom: 6, reach: reach.atLeast(50_000)), Level(zoom: 9, reach: reach.atLeast(10_000)),
            Level(zoom: 12, reach: reach),
        ])
    }

    /// Returns the profile of map tiles of a range of zoom levels, each within `reach`.
    package static func maps(_ reach: CacheReach = CacheReach(), zooms: ClosedRange<UInt8>) -> CacheProfile {
        CacheProfile(levels: zooms.map { Level(zoom: $0, reach: reach) })
    }

    /// The reason why the numbers are invalid; nil when they are valid.
    package var fault: String? {
        for level in levels {
            let reach = level.reach
            guard level.zoom <= TileID.maximumZoom else {
                return "zoom level \(level.zoom) is above \(TileID.maximumZoom)"
            }
            for (name, value) in [
                ("position", reach.position), ("route", reach.route), ("destination", reach.destination),
            ] {
                guard (0...500_000).contains(value) else {
                    return "the reach around the \(name) is not within 0 ... 500000 m"
                }
            }
            // A tile is 40,075 km / 2^zoom wide at the equator; away from the equator the circle has more tiles.
            let across = 2 * max(reach.position, reach.destination) / 40_075_017 * Double(1 << Int(level.zoom)) + 1
            guard across * across <= Double(greatestCount) else {
                return "a circle of \(Int(max(reach.position, reach.destination))) m has more than \(greatestCount) "
                    + "tiles of zoom level \(level.zoom): use a smaller circle or a lower level"
            }
        }
        guard greatestCount >= 1, step >= 0, behind >= 0, alternativeDelay >= 0 else {
            return "a count or a distance of the profile is negative"
        }
        return nil
    }
}
