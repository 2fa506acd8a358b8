import Foundation
import NavGeo
import NavKit
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// Areas and lines from GeoJSON.
struct GeoJSONAreaTests {
    private static let square = "[[-8.7,41.1],[-8.5,41.1],[-8.5,41.2],[-8.7,41.2],[-8.7,41.1]]"
    private static let hole = "[[-8.65,41.12],[-8.6,41.12,7],[-8.6,41.15],[-8.65,41.12]]"

    private static func area(_ text: String) throws -> RegionArea {
        try GeoJSONArea.area(Data(text.utf8), from: "x.geojson")
    }

    @Test func polygonsAreReadFromEveryObjectThatContainsThem() throws {
        let polygon = #"{"type":"Polygon","coordinates":[\#(Self.square),\#(Self.hole)]}"#
        let one = try Self.area(polygon)
        #expect(one.polygons.count == 1 && one.polygons[0].map(\.count) == [4, 3])
        #expect(one.polygons[0][0][0] == Coordinate(latitude: 41.1, longitude: -8.7))
        let feature = #"{"type":"Feature","properties":{"a":[1,{}]},"geometry":\#(polygon)}"#
        #expect(try Self.area(feature) == one)
        let several = try Self.area(
            #"{"type":"FeatureCollection","features":[\#(feature),{"type":"Feature","geometry":null},"#
                + #"{"type":"Feature","geometry":{"type":"MultiPolygon","coordinates":[[\#(Self.square)],[\#(Self.hole)]]}},"#
                + #"{"type":"GeometryCollection","geometries":[\#(polygon)]}]}"#)
        #expect(several.polygons.count == 4)
        #expect(several.polygons[0] == one.polygons[0] && several.polygons[3] == one.polygons[0])
    }

    @Test func exactlyOneLineIsRead() throws {
        let line = #"{"type":"LineString","coordinates":[[-8.7,41.1],[-8.5,41.1,90]]}"#
        let read = { (text: String) in try GeoJSONArea.line(Data(text.utf8), from: "x") }
        #expect(try read(line).map(\.longitude) == [-8.7, -8.5])
        let point = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}"#
        #expect(
            try read(#"{"type":"FeatureCollection","features":[\#(point),{"type":"Feature","geometry":\#(line)}]}"#)
                .count == 2)
        for bad in [point, #"{"type":"GeometryCollection","geometries":[\#(line),\#(line)]}"#] {
            #expect(throws: NodeError.self) { try read(bad) }
        }
    }

    @Test(arguments: [
        ("", "valid GeoJSON"), ("[1]", "valid GeoJSON"), ("{}", "type"), (#"{"type":"Polygon"}"#, "coordinates"),
        (#"{"type":"Polygon","coordinates":[[["a","b"]]]}"#, "invalid coordinates"),
        (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}"#, "not closed"),
        (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#, "not closed"),
        (#"{"type":"Polygon","coordinates":[[[41.1,-98.7],[1,0],[1,1],[41.1,-98.7]]]}"#, "longitude"),
        (#"{"type":"Polygon","coordinates":[[[0],[1,0],[1,1],[0]]]}"#, "lacks longitude"),
        (#"{"type":"Polygon","coordinates":[[[0,86],[1,86],[1,87],[0,86]]]}"#, "85.05"),
        (#"{"type":"Polygon","coordinates":[]}"#, "corners"), (#"{"type":"Point","coordinates":[1,2]}"#, "Point"),
        (#"{"type":"FeatureCollection","features":[]}"#, "no geometry"),
        (#"{"type":"LineString","coordinates":[[0,0],[1,1]]}"#, "LineString"),
    ])
    func invalidAreaIsRejectedWithReason(_ text: String, _ word: String) {
        let error = #expect(throws: NodeError.self) { try Self.area(text) }
        #expect(error?.description.contains(word) == true, "\(String(describing: error))")
        #expect(error?.description.contains("x.geojson") == true)
    }

    @Test func excessiveNestingIsRejected() {
        let deep = String(repeating: #"{"type":"Feature","geometry":"#, count: 100_000)
        #expect(throws: NodeError.self) { try Self.area(deep) }
        let lists = #"{"type":"Polygon","coordinates":"# + String(repeating: "[", count: 100_000)
        #expect(throws: NodeError.self) { try Self.area(lists) }
    }
}
