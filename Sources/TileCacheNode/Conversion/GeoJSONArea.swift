package import Foundation
package import NavGeo
package import NavKit
package import NavTileCache

/// Areas and lines of GeoJSON (RFC 7946): longitude before latitude, WGS 84.
package enum GeoJSONArea {
    /// The maximum size of a text, bytes.
    package static let greatestSize = 64 << 20

    /// Parses the area of a Polygon, MultiPolygon, GeometryCollection, Feature or FeatureCollection: the union of all
    /// polygons.
    ///
    /// - Throws: ``NodeError`` that states the fault and its place: an unsupported type, an unclosed ring, an invalid
    ///   position, an area that no region can have.
    package static func area(_ data: Data, from source: String) throws(NodeError) -> RegionArea {
        var polygons: [[[Coordinate]]] = []
        for object in try read(data, source).geometries(source) {
            guard let own = try object.polygons(source) else {
                throw NodeError(
                    .invalid,
                    "\(source): a \(object.type) is not an area; use Polygon or MultiPolygon, or features of them")
            }
            polygons += own
        }
        do throws(RegionFault) {
            return try RegionArea(polygons: polygons)
        } catch {
            throw NodeError(.invalid, "\(source): \(error)")
        }
    }

    /// Parses the line around which an area is created: a LineString, or a feature or collection with exactly one.
    package static func line(_ data: Data, from source: String) throws(NodeError) -> [Coordinate] {
        let lines = try read(data, source).geometries(source).filter { $0.type == "LineString" }
        guard let line = lines.first, lines.count == 1 else {
            throw NodeError(.invalid, "\(source) has \(lines.count) LineStrings; use one, as 'navbus route' writes it")
        }
        guard let places = line.line else {
            throw NodeError(.invalid, "\(source): the coordinates of the LineString are not a list of positions")
        }
        return try places.enumerated().map { place throws(NodeError) in
            try position(place.element, "\(source): position \(place.offset)")
        }
    }

    // MARK: Parts

    private static func read(_ data: Data, _ source: String) throws(NodeError) -> Object {
        guard data.count <= greatestSize else {
            throw NodeError(.invalid, "\(source) is larger than \(greatestSize >> 20) MiB; simplify it")
        }
        do {
            return try JSONDecoder().decode(Object.self, from: data)
        } catch DecodingError.keyNotFound(let key, _) {
            throw NodeError(.invalid, "\(source) is not valid GeoJSON: \"\(key.stringValue)\" is missing")
        } catch {
            throw NodeError(.invalid, "\(source) is not valid GeoJSON: it is not JSON, or has invalid coordinates")
        }
    }

    fileprivate static func position(_ numbers: [Double], _ place: String) throws(NodeError) -> Coordinate {
        guard numbers.count >= 2 else { throw NodeError(.invalid, "\(place) lacks longitude and latitude") }
        let coordinate = Coordinate(latitude: numbers[1], longitude: numbers[0])
        guard coordinate.isValid else {
            throw NodeError(
                .invalid,
                "\(place) (longitude \(numbers[0]), latitude \(numbers[1])) is not on the Earth; longitude "
                    + "comes first")
        }
        return coordinate
    }

    /// A GeoJSON object of any type.
    private final class Object: Decodable {
        let type: String
        let line: [[Double]]?
        let rings: [[[Double]]]?
        let areas: [[[[Double]]]]?
        let geometry: Object?
        let geometries: [Object]?
        let features: [Object]?

        enum Key: String, CodingKey {
            case type, coordinates, geometry, geometries, features
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            type = try values.decode(String.self, forKey: .type)
            line = type == "LineString" ? try values.decode([[Double]].self, forKey: .coordinates) : nil
            rings = type == "Polygon" ? try values.decode([[[Double]]].self, forKey: .coordinates) : nil
            areas = type == "MultiPolygon" ? try values.decode([[[[Double]]]].self, forKey: .coordinates) : nil
            geometry = type == "Feature" ? try values.decodeIfPresent(Object.self, forKey: .geometry) : nil
            geometries =
                type == "GeometryCollection" ? try values.decode([Object].self, forKey: .geometries) : nil
            features = type == "FeatureCollection" ? try values.decode([Object].self, forKey: .features) : nil
        }

        func geometries(_ source: String) throws(NodeError) -> [Object] {
            var all: [Object] = []
            var open: [Object] = [self]
            while let object = open.popLast() {
                switch object.type {
                case "Feature": open += object.geometry.map { [$0] } ?? []
                case "FeatureCollection": open += (object.features ?? []).reversed()
                case "GeometryCollection": open += (object.geometries ?? []).reversed()
                default: all.append(object)
                }
            }
            guard !all.isEmpty else { throw NodeError(.invalid, "\(source) has no geometry") }
            return all
        }

        /// Returns the polygons of an area; nil for another geometry.
        func polygons(_ source: String) throws(NodeError) -> [[[Coordinate]]]? {
            guard let areas = areas ?? rings.map({ [$0] }) else { return nil }
            var polygons: [[[Coordinate]]] = []
            for (number, rings) in areas.enumerated() {
                var own: [[Coordinate]] = []
                for (place, ring) in rings.enumerated() {
                    let name = "\(source): ring \(place) of polygon \(number)"
                    guard ring.count >= 4, ring.first == ring.last else {
                        throw NodeError(
                            .invalid,
                            "\(name) is not closed: a ring has at least four positions and ends where it began")
                    }
                    own.append(
                        try ring.enumerated().map { corner throws(NodeError) in
                            try position(corner.element, "\(name), position \(corner.offset)")
                        })
                }
                polygons.append(own)
            }
            return polygons
        }
    }
}
