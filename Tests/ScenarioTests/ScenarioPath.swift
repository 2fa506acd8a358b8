import Foundation
import NavGeo
import NavTestSupport
import NavVerdict
import TileCacheNode

extension ASCIIMap {
    /// Returns the coordinate of a place as written.
    func coordinate(_ place: ScenarioPlace) throws -> Coordinate {
        var coordinate = try coordinate(place.node)
        if let towards = place.towards {
            let share =
                switch place.along {
                case .share(let share): share
                case .metres(let metres):
                    metres / max(Geodesy.distance(coordinate, try self.coordinate(towards)), 1e-9)
                }
            coordinate = try position(between: place.node, towards, at: share, right: place.right)
        }
        if place.east == 0, place.north == 0 { return coordinate }
        return LocalFrame(origin: coordinate).coordinate(of: LocalPoint(east: place.east, north: place.north))
    }
}

extension Scenario {
    /// Whether a road leads straight from one place to another; places beside the roads are not checked.
    fileprivate func hasRoad(_ from: ScenarioPlace, _ to: ScenarioPlace, within metres: Double) throws -> Bool {
        guard !from.isAside, !to.isAside else { return true }
        let frame = LocalFrame(origin: try map.coordinate(from))
        let end = frame.point(try map.coordinate(to))
        return try [0.25, 0.5, 0.75].allSatisfy { share in
            let point = LocalPoint(east: end.east * share, north: end.north * share)
            return try ways.contains { way in
                let line = try way.map { frame.point(try map.coordinate($0)) }
                return zip(line, line.dropFirst()).contains {
                    SegmentProjection(of: point, start: $0, end: $1).distance <= metres
                }
            }
        }
    }
}

/// The state of the vehicle at a moment.
struct VehicleState {
    var coordinate: Coordinate
    /// The speed along ``course``, m/s, never negative.
    var speed: Double
    /// The direction of travel, radians clockwise from north.
    var course: Double
    /// The turn rate, radians per second, clockwise.
    var turnRate = 0.0
    var isReversing = false
}

/// The driven path over time: straight lines, gentle starts, turns and stops.
struct ScenarioPath {
    /// The acceleration of an unhurried driver, m/s².
    private static let acceleration = 2.0
    /// The speeds through a corner of more than 30° and of more than 120°, m/s.
    private static let corners = (bend: 6.0, turn: 3.0)
    /// The speed until a line sets one, m/s: 50 km/h.
    private static let usualSpeed = 50 / 3.6

    private struct Piece {
        var start: Double
        var duration: Double
        var from: LocalPoint
        var direction: LocalPoint
        var speed: Double
        var acceleration: Double
        var isReversing: Bool
    }

    private var pieces: [Piece] = []
    private let frame: LocalFrame
    /// The start of each step of the script; for steps that do not drive, the time that the drive has reached.
    private(set) var moments: [Double] = []
    /// The duration of the drive, seconds; 0 without a drive.
    private(set) var duration = 0.0
    /// Whether the script has a vehicle.
    private(set) var hasVehicle = false

    private struct Vertex {
        var point: LocalPoint
        /// The maximum speed on the way to the vertex, m/s.
        var limit = 0.0
        var isReversing = false
        /// The maximum speed through the vertex, m/s.
        var passing = Double.infinity
        /// The time for which the vehicle is stationary at the vertex, seconds.
        var pause = 0.0
    }

    /// The maximum distance from a road at which a vehicle counts as driving along it, metres.
    private static let roadside = 1.0

    init(_ scenario: Scenario) throws {
        let (steps, map, file) = (scenario.steps, scenario.map, scenario.file)
        var vertices: [Vertex] = []
        /// The vertex at which each step begins, and the pause there up to that step, seconds.
        var places: [(vertex: Int, pause: Double)] = []
        var speed = ScenarioPath.usualSpeed
        var origin = LocalFrame(latitude: 0)
        var place: ScenarioPlace?
        for step in steps {
            places.append((max(vertices.count - 1, 0), vertices.last?.pause ?? 0))
            guard case .motion(let motion) = step.what else { continue }
            do {
                switch motion {
                case .from(let start):
                    guard vertices.isEmpty else { throw LineError("the vehicle already has a position: use 'drive'") }
                    origin = LocalFrame(origin: try map.coordinate(start))
                    place = start
                    vertices.append(Vertex(point: LocalPoint(east: 0, north: 0)))
                case .stand(let seconds):
                    guard !vertices.isEmpty else {
                        throw LineError("the vehicle has no position yet: write 'from A>B'")
                    }
                    vertices[vertices.count - 1].pause += seconds
                case .drive(let targets, let given, let isOnRoads):
                    speed = given ?? speed
                    for target in targets {
                        if isOnRoads, let place, !(try scenario.hasRoad(place, target, within: ScenarioPath.roadside)) {
                            throw LineError(
                                "no road leads straight from \(place.text) to \(target.text): name the crossings on the way, or write "
                                    + "'cross to' for a way off the roads")
                        }
                        place = target
                        try ScenarioPath.add(origin.point(try map.coordinate(target)), speed, false, to: &vertices)
                    }
                case .reverse(let target, let given):
                    place = target
                    try ScenarioPath.add(origin.point(try map.coordinate(target)), given ?? 2, true, to: &vertices)
                }
            } catch let mistake as ASCIIMap.Mistake {
                throw ScenarioError(file: file, line: step.line.number, what: mistake.description)
            } catch let mistake as LineError {
                throw ScenarioError(file: file, line: step.line.number, what: mistake.what)
            }
        }
        frame = origin
        hasVehicle = !vertices.isEmpty
        let arrivals = drive(vertices)
        moments = places.map { vertices.isEmpty ? 0 : arrivals[$0.vertex] + $0.pause }
        duration = vertices.isEmpty ? 0 : (arrivals.last ?? 0) + (vertices.last?.pause ?? 0)
    }

    private static func add(_ point: LocalPoint, _ speed: Double, _ isReversing: Bool, to vertices: inout [Vertex])
        throws
    {
        guard let last = vertices.last else { throw LineError("the vehicle has no position yet: write 'from A>B'") }
        guard (point - last.point).length > 0.01 else { return }
        vertices.append(Vertex(point: point, limit: speed, isReversing: isReversing))
    }

    /// Computes the times of the pieces and returns the arrival time at each vertex.
    private mutating func drive(_ given: [Vertex]) -> [Double] {
        guard !given.isEmpty else { return [] }
        var vertices = given
        for index in vertices.indices { vertices[index].passing = ScenarioPath.passing(index, vertices) }
        for index in vertices.indices.dropFirst() {
            let length = (vertices[index].point - vertices[index - 1].point).length
            vertices[index].passing = min(
                vertices[index].passing, ScenarioPath.reach(vertices[index - 1].passing, length))
        }
        for index in vertices.indices.dropLast().reversed() {
            let length = (vertices[index + 1].point - vertices[index].point).length
            vertices[index].passing = min(
                vertices[index].passing, ScenarioPath.reach(vertices[index + 1].passing, length))
        }
        var time = 0.0
        var arrivals = [0.0]
        stand(vertices[0], LocalPoint(east: 0, north: 1), &time)
        for (from, to) in zip(vertices, vertices.dropFirst()) {
            let way = to.point - from.point
            let length = way.length
            let direction = LocalPoint(east: way.east / length, north: way.north / length)
            let a = ScenarioPath.acceleration
            let top = min(
                to.limit, ((2 * a * length + from.passing * from.passing + to.passing * to.passing) / 2).squareRoot())
            let peak = max(top, from.passing, to.passing)
            let rising = (peak - from.passing) / a
            let falling = (peak - to.passing) / a
            let cruise = length - (from.passing + peak) / 2 * rising - (peak + to.passing) / 2 * falling
            var point = from.point
            for (seconds, speed, change) in [
                (rising, from.passing, a), (max(cruise, 0) / max(peak, 0.1), peak, 0), (falling, peak, -a),
            ] where seconds > 1e-9 {
                pieces.append(
                    Piece(
                        start: time, duration: seconds, from: point, direction: direction, speed: speed,
                        acceleration: change, isReversing: to.isReversing))
                let driven = speed * seconds + change * seconds * seconds / 2
                point = LocalPoint(
                    east: point.east + direction.east * driven, north: point.north + direction.north * driven)
                time += seconds
            }
            arrivals.append(time)
            stand(to, direction, &time)
        }
        return arrivals
    }

    private mutating func stand(_ vertex: Vertex, _ direction: LocalPoint, _ time: inout Double) {
        guard vertex.pause > 0 else { return }
        pieces.append(
            Piece(
                start: time, duration: vertex.pause, from: vertex.point, direction: pieces.last?.direction ?? direction,
                speed: 0, acceleration: 0, isReversing: false))
        time += vertex.pause
    }

    /// Returns the maximum speed at the end of a stretch, from the speed at its start.
    private static func reach(_ speed: Double, _ length: Double) -> Double {
        (speed * speed + 2 * acceleration * length).squareRoot()
    }

    /// Returns the speed through a vertex: zero at ends, stops and gear changes, low in bends.
    private static func passing(_ index: Int, _ vertices: [Vertex]) -> Double {
        guard index > 0, index + 1 < vertices.count, vertices[index].pause == 0,
            vertices[index].isReversing == vertices[index + 1].isReversing
        else { return 0 }
        let (before, here, after) = (vertices[index - 1].point, vertices[index].point, vertices[index + 1].point)
        let turn = abs(Angle.difference(from: bearing(here - before), to: bearing(after - here))) * 180 / .pi
        let limit = min(vertices[index].limit, vertices[index + 1].limit)
        return turn > 120 ? min(limit, corners.turn) : turn > 30 ? min(limit, corners.bend) : limit
    }

    private static func bearing(_ way: LocalPoint) -> Double { Angle.normalised(atan2(way.east, way.north)) }

    /// Returns the state of the vehicle at a moment, seconds since the start.
    func state(at time: Double) -> VehicleState {
        guard let index = pieces.lastIndex(where: { $0.start <= time + 1e-9 }) else {
            return VehicleState(coordinate: frame.origin, speed: 0, course: 0)
        }
        let piece = pieces[index]
        let seconds = min(max(time - piece.start, 0), piece.duration)
        let driven = piece.speed * seconds + piece.acceleration * seconds * seconds / 2
        let point = LocalPoint(
            east: piece.from.east + piece.direction.east * driven,
            north: piece.from.north + piece.direction.north * driven)
        return VehicleState(
            coordinate: frame.coordinate(of: point),
            speed: time > piece.start + piece.duration + 1e-9 ? 0 : max(piece.speed + piece.acceleration * seconds, 0),
            course: ScenarioPath.bearing(piece.direction), isReversing: piece.isReversing)
    }
}
