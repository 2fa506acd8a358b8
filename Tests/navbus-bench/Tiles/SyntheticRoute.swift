import Foundation
import NavGeo
import NavSimulation

/// Routes of any length that are as winding as roads: a point every 30 m, each a bend.
enum SyntheticRoute {
    /// The distance between two points, metres.
    private static let spacing = 30.0
    /// The start and the direction, radians clockwise from north: from Porto across Europe.
    private static let start = Coordinate(latitude: 41.15, longitude: -8.61)
    private static let course = Angle.radians(60)
    /// The turn of a bend, radians, and the fraction of a bend that continues at the next point.
    private static let bend = Angle.radians(3)
    private static let memory = 0.9
    /// The fraction of its deviation from the course that a point corrects; the line follows the course again after
    /// about 2 km.
    private static let pull = 0.015

    /// Returns a line of a given length, metres; the same for the same seed.
    static func line(metres: Double, seed: UInt64) -> Polyline {
        var random = SeededRandom(seed: seed)
        var coordinates = [start]
        var (heading, turn) = (course, 0.0)
        for _ in 0..<max(Int((metres / spacing).rounded()), 1) {
            turn = memory * turn + bend * Double.random(in: -1...1, using: &random)
            heading += turn - pull * (heading - course)
            coordinates.append(
                Geodesy.destination(from: coordinates[coordinates.count - 1], bearing: heading, distance: spacing))
        }
        return Polyline(coordinates)
    }
}
