import NavDigest
import NavGeo
import NavTileCache
import NavTileStore

/// Returns the `number`th tile of a zoom level.
func tile(_ number: Int64, zoom: UInt8) -> TileID {
    let side = Int64(1) << Int64(zoom)
    return TileID(zoom: zoom, x: UInt32(number % side), y: UInt32(number / side % side))
        ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: zoom)
}

/// Returns `count` bytes that begin with a text.
func content(_ text: String, count: Int) -> [UInt8] {
    let start = Array((text + "\n").utf8)
    return start + [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: max(count - start.count, 0))
}

func part(_ part: TilePart, _ bytes: [UInt8]) -> FetchedPart {
    guard let hash = ContentHash(of: bytes) else { preconditionFailure("libcrypto has no SHA-256") }
    return FetchedPart(part, data: bytes, hash: hash)
}

/// Returns a road tile of an edition, with both in the content of its two files.
func roadTile(_ number: Int64, edition: String) -> FetchedTile {
    FetchedTile(
        TileAddress("roads", tile(number, zoom: 12)), edition: edition,
        parts: [
            part(.body, content("road \(edition) \(number)", count: 3_000 + Int(number * 37 % 5_000))),
            // Ranks are the same in all editions.
            part(.ranks, content("rank \(number)", count: 500)),
        ], validators: Validators())
}

/// Returns a map tile; every tenth has the same content.
func mapTile(_ number: Int64, count: Int) -> FetchedTile {
    let text = number % 10 == 0 ? "sea" : "map \(number)"
    return FetchedTile(
        TileAddress("maps", tile(number, zoom: 14)), edition: "",
        parts: [part(.body, content(text, count: count))], validators: Validators(etag: "\"\(number)\""))
}

func roadEdition(_ version: String) -> TilesetEdition {
    TilesetEdition(
        tileset: "roads", domain: .navigation, version: version, zooms: 12...12,
        document: Array("{\"edition\":\"\(version)\"}".utf8))
}

let mapEdition = TilesetEdition(tileset: "maps", domain: .maps, version: "", zooms: 0...14)
