import Foundation

/// A Directions answer as JSON, in OSRM's shape, which Mapbox and Valhalla share; fields that are not used are omitted.
struct DirectionsDocument: Decodable {
    struct Route: Decodable {
        var geometry: String
        var legs: [Leg]
    }

    struct Leg: Decodable {
        var duration: Double
        var distance: Double
        var annotation: Annotation?
    }

    struct Annotation: Decodable {
        var distance: [Double?]?
        var duration: [Double?]?
        var congestion: [String?]?
        var nodes: [Int64]?
    }

    struct Waypoint: Decodable {
        /// Longitude and latitude.
        var location: [Double]?
    }

    var code: String?
    var routes: [Route]?
    var waypoints: [Waypoint?]?
}

/// The part of an answer that explains why there is no route, in the shapes of OSRM, Mapbox and Valhalla.
struct FailureDocument: Decodable {
    var code: String?
    var message: String?
    /// Valhalla's own error code and text.
    var number: Int?
    var text: String?

    private enum CodingKeys: String, CodingKey {
        case code, message
        case number = "error_code"
        case text = "error"
    }

    init(from decoder: any Decoder) throws {
        // Any part may be missing or of another type, since it only explains.
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try? container.decodeIfPresent(String.self, forKey: .code)
        message = try? container.decodeIfPresent(String.self, forKey: .message)
        number = try? container.decodeIfPresent(Int.self, forKey: .number)
        text = try? container.decodeIfPresent(String.self, forKey: .text)
    }
}
