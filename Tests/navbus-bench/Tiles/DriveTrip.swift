import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// A drive, and the routes that the node receives on the way.
struct DriveTrip {
    /// A route that is published when the vehicle has driven a given distance.
    struct Announcement {
        /// The distance along the driven line at which the route is published, metres.
        var at: Double
        var route: Polyline
        /// The distance along the driven line at which the route starts, metres.
        var origin: Double
        /// The distance along the driven line up to which the route is in force, metres.
        var end: Double
    }

    /// A tile and the part of the line on which it is needed.
    struct Need {
        var tile: TileID
        /// The range of distances along the driven line, metres.
        var range: ClosedRange<Double>
    }

    /// The driven line.
    var line: Polyline
    /// The announcements, in order.
    var announcements: [Announcement]
    /// The tiles along the line.
    var needs: [Need]

    /// The distance ahead at which a tile is needed, metres.
    private static let ahead = 2_000.0
    /// The distance between two places of the line at which tiles are looked up, metres.
    private static let step = 5.0
    /// The time from a wrong turn to the new route, seconds, which covers detection and routing.
    private static let reaction = 5.0

    /// Creates a drive along a route.
    ///
    /// - Parameter tiles: the existing tiles.
    init(_ route: Route, tiles: Set<TileID>) {
        line = route.line
        announcements = [Announcement(at: 0, route: route.line, origin: 0, end: route.length)]
        needs = Self.needs(along: line, tiles)
    }

    /// Creates a drive that leaves the route halfway; nil if that is impossible.
    ///
    /// - Parameter speed: the vehicle's speed, metres per second.
    init?(_ route: Route, leavingWith planner: DetourPlanner, metric: Metric, speed: Double, tiles: Set<TileID>) {
        guard let path = planner.path(along: route, wrongTurnAfter: route.length / 2), let left = path.deviation,
            let drive = Drive(metric, edges: path.edges, from: path.start, to: path.end)
        else { return nil }
        line = drive.line
        let noticed = min(left + speed * Self.reaction, line.length)
        announcements = [
            Announcement(at: 0, route: route.line, origin: 0, end: left),
            Announcement(
                at: noticed, route: Polyline(line.slice(from: noticed, to: .infinity)), origin: noticed,
                end: line.length),
        ]
        needs = Self.needs(along: line, tiles)
    }

    /// Returns the tiles of all layers that a line crosses, each with the range from where it is first needed to where
    /// the line leaves it.
    private static func needs(along line: Polyline, _ tiles: Set<TileID>) -> [Need] {
        var ranges: [TileID: (first: Double, last: Double)] = [:]
        for offset in stride(from: 0, through: line.length, by: step) {
            guard let place = line.coordinate(at: offset) else { break }
            for layer in RoadLayer.allCases {
                let tile = TileID(containing: place, zoom: layer.zoom)
                guard tiles.contains(tile) else { continue }
                ranges[tile, default: (offset, offset)].last = offset
            }
        }
        return ranges.map { Need(tile: $0.key, range: max($0.value.first - ahead, 0)...$0.value.last) }
            .sorted { ($0.range.lowerBound, $0.tile) < ($1.range.lowerBound, $1.tile) }
    }
}
