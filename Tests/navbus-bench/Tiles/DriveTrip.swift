import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// A drive, and the routes that the node receives on the way.
struct DriveTrip {
    /// A route, published when the vehicle has driven a given distance.
    struct Announcement {
        /// Metres along the driven line.
        var at: Double
        var route: Polyline
        /// Metres along the driven line at the route's start.
        var origin: Double
        /// Metres along the driven line up to which the route is in force.
        var end: Double
    }

    /// A tile, and the part of the line where it is needed.
    struct Need {
        var tile: TileID
        /// Metres along the driven line.
        var range: ClosedRange<Double>
    }

    /// The plan of a drive.
    var line: Polyline
    /// The announcements, in order.
    var announcements: [Announcement]
    /// The tiles along the line.
    var needs: [Need]

    /// The distance ahead at which a tile is needed, metres.
    private static let ahead = 2_000.0
    /// Metres between two places of the line at which tiles are looked up.
    private static let step = 5.0
    /// Seconds from a wrong turn to the new route: the time to detect it and to find a route.
    private static let reaction = 5.0

    /// A drive along a route.
    ///
    /// - Parameter tiles: the existing tiles.
    init(_ route: Route, tiles: Set<TileID>) {
        line = route.line
        announcements = [Announcement(at: 0, route: route.line, origin: 0, end: route.length)]
        needs = Self.needs(along: line, tiles)
    }

    /// A drive that leaves the route halfway; nil if that is impossible.
    ///
    /// - Parameter speed: metres per second.
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

    /// The tiles of all layers that a line crosses, from where they are first needed to where the line leaves them.
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
