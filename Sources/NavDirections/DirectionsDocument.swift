import Foundation

/// A directions response in OSRM's JSON format, which Mapbox and Valhalla share; unused fields are omitted.
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

/// The error fields of a response, in the formats of OSRM, Mapbox and Valhalla.
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
        // Any field may be missing or of another type, because it is only informative.
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try? container.decodeIfPresent(String.self, forKey: .code)
        message = try? container.decodeIfPresent(String.self, forKey: .message)
        number = try? container.decodeIfPresent(Int.self, forKey: .number)
        text = try? container.decodeIfPresent(String.self, forKey: .text)
    }
}
