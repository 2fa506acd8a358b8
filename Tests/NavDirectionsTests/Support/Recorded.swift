import Foundation
import NavDirections
import NavGeo
import NavRouting
import NavTestKit
import NavTestSupport

/// Answers of real providers on the extract of Helsinki in the repository.
enum Recorded {
    /// The requested places, with longitude first as in the request.
    static let start = Coordinate(latitude: 60.173182, longitude: 24.946565)
    static let middle = Coordinate(latitude: 60.173499, longitude: 24.946494)
    static let end = Coordinate(latitude: 60.173816, longitude: 24.946424)

    static let direct = RouteRequest(waypoints: [Waypoint(start), Waypoint(end)])
    static let twoLegs = RouteRequest(waypoints: [Waypoint(start), Waypoint(middle), Waypoint(end)])
    static let silentPoint = RouteRequest(
        waypoints: [Waypoint(start), Waypoint(middle, isStop: false), Waypoint(end)])

    static func body(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: "\(TestData.project)/Tests/Fixtures/directions/\(name).json"))
    }

    static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try body(name)) }

    static func routes(_ name: String, _ request: RouteRequest, status: Int = 200) throws -> [ProvidedRoute] {
        try ResponseDecoder(request: request).routes(DirectionsReply(status: status, body: body(name)))
    }

    static func failure(_ name: String, status: Int) throws -> DirectionsError? {
        DirectionsReply(status: status, body: try body(name)).failure
    }
}

extension ProvidedRoute {
    /// The duration including turns, seconds.
    var duration: Double { legs.reduce(0) { $0 + $1.duration } }
    /// The length, metres.
    var length: Double { legs.reduce(0) { $0 + $1.length } }
}
