import Glibc
import NavGeo

/// Positions in units of the tiles of one zoom level: x east, y south, as in ``TileID``.
///
/// The projection keeps angles, so a distance on the ground times ``tiles(perMetreAt:)`` is a distance here.
struct TileGrid {
    /// A position; x may lie beyond the antimeridian, where ``tile(x:y:)`` wraps it.
    struct Point: Sendable, Hashable {
        var x: Double
        var y: Double
    }

    let zoom: UInt8
    /// The number of tiles in a row.
    let count: Int

    init(zoom: UInt8) {
        self.zoom = min(zoom, TileID.maximumZoom)
        count = 1 << Int(self.zoom)
    }

    /// Returns the position of a valid coordinate; one beyond the projection's ±85.05° is clamped to its edge.
    func point(_ coordinate: Coordinate) -> Point { point(Self.world(coordinate)) }

    /// Returns the position of a point in worlds.
    func point(_ world: Point) -> Point { Point(x: world.x * Double(count), y: world.y * Double(count)) }

    /// Returns the length of a metre at a latitude, in tiles.
    func tiles(perMetreAt latitude: Double) -> Double { Self.worlds(perMetreAt: latitude) * Double(count) }

    /// Returns the position of a valid coordinate in worlds: the whole world is one tile.
    static func world(_ coordinate: Coordinate) -> Point {
        let latitude = Angle.radians(min(max(coordinate.latitude, -85.05), 85.05))
        return Point(x: (coordinate.longitude + 180) / 360, y: (1 - asinh(tan(latitude)) / .pi) / 2)
    }

    /// Returns the length of a metre at a latitude, in worlds.
    static func worlds(perMetreAt latitude: Double) -> Double {
        let bounded = Angle.radians(min(max(latitude, -85.05), 85.05))
        return 1 / (2 * .pi * Geodesy.semiMajorAxis * cos(bounded))
    }

    /// Returns a tile by column and row, wrapped to the east and west; nil beyond the northern and southern edge.
    func tile(x: Int, y: Int) -> TileID? {
        guard y >= 0, y < count else { return nil }
        let column = ((x % count) + count) % count
        return TileID(zoom: zoom, x: UInt32(column), y: UInt32(y))
    }

    /// Returns the columns or rows that an interval touches.
    static func cells(from low: Double, to high: Double) -> ClosedRange<Int> {
        let first = Int(low.rounded(.down))
        return first...max(first, Int(high.rounded(.down)))
    }

    /// Returns the squared distance of a tile from a segment, in tiles; 0 when they touch.
    static func squaredDistance(x: Int, y: Int, from start: Point, to end: Point) -> Double {
        let (left, top) = (Double(x), Double(y))
        if touches(left, top, start, end) { return 0 }
        // When they do not touch, the nearest pair includes an end of the segment or a corner of the square.
        var least = min(squaredDistance(start, left, top), squaredDistance(end, left, top))
        let (dx, dy) = (end.x - start.x, end.y - start.y)
        let squared = dx * dx + dy * dy
        guard squared > 0 else { return least }
        for corner in 0..<4 {
            let (cornerX, cornerY) = (left + Double(corner & 1), top + Double(corner >> 1))
            let share = min(max(((cornerX - start.x) * dx + (cornerY - start.y) * dy) / squared, 0), 1)
            let (x, y) = (start.x + share * dx - cornerX, start.y + share * dy - cornerY)
            least = min(least, x * x + y * y)
        }
        return least
    }

    private static func squaredDistance(_ point: Point, _ left: Double, _ top: Double) -> Double {
        let x = max(left - point.x, 0, point.x - left - 1)
        let y = max(top - point.y, 0, point.y - top - 1)
        return x * x + y * y
    }

    /// Whether a segment touches a square (Liang and Barsky's clipping, 1984).
    private static func touches(_ left: Double, _ top: Double, _ start: Point, _ end: Point) -> Bool {
        var (enter, leave) = (0.0, 1.0)
        let (dx, dy) = (end.x - start.x, end.y - start.y)
        for (step, room) in [
            (-dx, start.x - left), (dx, left + 1 - start.x), (-dy, start.y - top), (dy, top + 1 - start.y),
        ] {
            if step == 0 {
                if room < 0 { return false }
                continue
            }
            let share = room / step
            if step < 0 { enter = max(enter, share) } else { leave = min(leave, share) }
            if enter > leave { return false }
        }
        return true
    }
}
