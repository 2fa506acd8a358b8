import Foundation
import NavGeo

/// The description of a map tileset: a TileJSON, or the metadata of a PMTiles or MBTiles archive.
struct TileJSON: Sendable {
    var template: String?
    var isFromSouth = false
    var zooms: ClosedRange<UInt8>?
    var bounds: BoundingBox?
    var attribution = ""
    var form = TileForm.unknown

    /// Parses a TileJSON of versions 1 to 3; nil when the document is not a JSON object.
    init?(_ document: [UInt8]) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(document)) as? [String: Any] else { return nil }
        template = (object["tiles"] as? [Any])?.first as? String
        isFromSouth = object["scheme"] as? String == "tms"
        zooms = Self.zooms(Self.number(object["minzoom"]) ?? 0, Self.number(object["maxzoom"]) ?? 22)
        let edges = (object["bounds"] as? [Any])?.compactMap(Self.number) ?? []
        if edges.count == 4 { bounds = Self.bounds(edges) }
        attribution = String((object["attribution"] as? String ?? "").prefix(1_000))
        form = TileForm(format: object["format"] as? String ?? "")
    }

    static func number(_ value: Any?) -> Double? {
        switch value {
        case let number as NSNumber: number.doubleValue
        case let text as String: Double(text)
        default: nil
        }
    }

    /// Returns a range of zoom levels, limited to the supported ones; nil when it is empty.
    static func zooms(_ low: Double, _ high: Double) -> ClosedRange<UInt8>? {
        guard low.isFinite, high.isFinite, low >= 0, low <= high, low <= Double(TileID.maximumZoom) else { return nil }
        return UInt8(low)...UInt8(min(high, Double(TileID.maximumZoom)))
    }

    /// Returns a box from west, south, east and north; nil when the edges are invalid.
    static func bounds(_ edges: [Double]) -> BoundingBox? {
        guard edges.count == 4, edges.allSatisfy(\.isFinite), abs(edges[0]) <= 180, abs(edges[2]) <= 180,
            abs(edges[1]) <= 90, abs(edges[3]) <= 90, edges[0] <= edges[2], edges[1] <= edges[3]
        else { return nil }
        return BoundingBox(south: edges[1], west: edges[0], north: edges[3], east: edges[2])
    }
}
