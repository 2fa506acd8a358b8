import NavDigest
import Foundation
import NavGeo
import NavMap
import NavTileCache
import NavTileStore

/// Folders of synthetic tiles, whose content is never read.
enum TileFolders {
    /// The middle of the synthetic map.
    static let porto = NavGeo.Coordinate(latitude: 41.15, longitude: -8.61)

    /// Writes road tiles of all three layers within `reach` metres of Porto.
    ///
    /// - Returns: the existing tiles.
    @discardableResult
    static func roads(in folder: String, version: String = "one", reach: Double = 60_000) throws -> Set<TileID> {
        var tiles: Set<TileID> = []
        for layer in RoadLayer.allCases {
            TileCover.disc(around: porto, radius: reach, zoom: layer.zoom) { tile, _ in tiles.insert(tile) }
        }
        var entries: [Tileset.Entry] = []
        for tile in tiles.sorted() {
            guard let layer = RoadLayer.allCases.first(where: { $0.zoom == tile.zoom }),
                let id = RoadTileID(rawValue: UInt32(layer.rawValue) << 24 | tile.x << 12 | tile.y)
            else { continue }
            let body = content(tile, version, count: 2_000 + Int(tile.x % 7) * 100)
            let ranks = content(tile, version + "r", count: 300)
            try write(body, folder + "/" + id.path)
            try write(ranks, folder + "/" + id.ranksPath)
            entries.append(
                Tileset.Entry(
                    id: id.rawValue, file: id.path, bytes: body.count, sha256: hash(body),
                    ranks: Tileset.RanksEntry(file: id.ranksPath, bytes: ranks.count, sha256: hash(ranks))))
        }
        let tileset = Tileset(
            mapVersion: version, source: "made up", sourceTimestamp: nil,
            bounds: BoundingBox(south: 40, west: -10, north: 42, east: -7), attribution: "nobody",
            tiles: entries.sorted { $0.id < $1.id })
        try write(Array(try JSONEncoder().encode(tileset)), folder + "/tileset.json")
        return tiles
    }

    /// Writes map tiles of some zoom levels within `reach` metres of Porto, each of the given size.
    @discardableResult
    static func maps(
        in folder: String, zooms: ClosedRange<UInt8>, reach: Double, count: (TileID) -> Int = { _ in 400 }
    ) throws -> Set<TileID> {
        var tiles: Set<TileID> = []
        for zoom in zooms {
            TileCover.disc(around: porto, radius: reach, zoom: zoom) { tile, _ in tiles.insert(tile) }
        }
        for tile in tiles {
            try write(png(tile, count: count(tile)), "\(folder)/\(tile.zoom)/\(tile.x)/\(tile.y).png")
        }
        return tiles
    }

    /// Returns bytes that are accepted as an image.
    static func png(_ tile: TileID, count: Int = 400) -> [UInt8] {
        [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + content(tile, "png", count: count)
            + [0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]
    }

    static func content(_ tile: TileID, _ salt: String, count: Int) -> [UInt8] {
        var seed = UInt64(tile.zoom) << 56 ^ UInt64(tile.x) << 28 ^ UInt64(tile.y)
        for byte in salt.utf8 { seed = seed &* 31 &+ UInt64(byte) }
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    static func write(_ bytes: [UInt8], _ path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    private static func hash(_ bytes: [UInt8]) -> String { ContentHash(of: bytes)?.hexadecimal ?? "" }

    /// Returns a line of the given length from Porto to the north-east, with a point every 50 m.
    static func line(_ metres: Double, bearing: Double = 0.7, from start: NavGeo.Coordinate = porto) -> [NavGeo
        .Coordinate]
    {
        stride(from: 0.0, through: metres, by: 50).map {
            Geodesy.destination(from: start, bearing: bearing, distance: $0)
        }
    }
}
