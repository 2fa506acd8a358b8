import NavDigest
import Foundation
import NavGeo
import NavMap
import NavTestKit
import NavTestSystem
import NavTileCache
import NavSimulation
import NavTileStore

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        for index in stride(from: 0, to: count, by: 8) {
            var value = next()
            for offset in index..<min(index + 8, count) {
                bytes[offset] = UInt8(truncatingIfNeeded: value)
                value >>= 8
            }
        }
        return bytes
    }
}

enum SourceFixture {
    static func tile(_ zoom: UInt8, _ x: UInt32, _ y: UInt32) -> TileID {
        TileID(zoom: zoom, x: x, y: y) ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: zoom)
    }

    static func hash(_ bytes: [UInt8]) -> String { ContentHash(of: bytes)?.hexadecimal ?? "" }

    /// Returns road tiles around Porto with random content.
    static func roadTiles(seed: UInt64, count: Int = 4) -> [(id: RoadTileID, road: [UInt8], rank: [UInt8])] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { index in
            let place = Coordinate(latitude: 41.0 + 0.1 * Double(index), longitude: -8.6)
            return (
                RoadTileID(layer: .local, containing: place), random.bytes(20_000 + 100 * index),
                random.bytes(700 + index)
            )
        }
    }

    /// The list of road tiles.
    static func list(
        _ tiles: [(id: RoadTileID, road: [UInt8], rank: [UInt8])], version: String = "v1",
        change: (inout Tileset) -> Void = { _ in }
    ) throws -> [UInt8] {
        let entries = tiles.map { tile in
            Tileset.Entry(
                id: tile.id.rawValue, file: tile.id.path, bytes: tile.road.count, sha256: hash(tile.road),
                ranks: Tileset.RanksEntry(file: tile.id.ranksPath, bytes: tile.rank.count, sha256: hash(tile.rank)))
        }
        var tileset = Tileset(
            mapVersion: version, source: "test", sourceTimestamp: nil,
            bounds: BoundingBox(south: 41, west: -9, north: 42, east: -8), attribution: "nobody", tiles: entries)
        change(&tileset)
        return Array(try JSONEncoder().encode(tileset))
    }

    /// Writes road tiles and their list into a folder.
    static func write(
        _ tiles: [(id: RoadTileID, road: [UInt8], rank: [UInt8])], to folder: TemporaryFolder, version: String = "v1"
    ) throws {
        for tile in tiles {
            try folder.write(tile.id.path, tile.road)
            try folder.write(tile.id.ranksPath, tile.rank)
        }
        try folder.write("tileset.json", try list(tiles, version: version))
    }

    /// Returns a vector tile with one layer of `size` bytes.
    static func vectorTile(_ size: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var header: [UInt8] = [0x1a]
        var rest = size
        while rest >= 0x80 {
            header.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        header.append(UInt8(rest))
        return header + random.bytes(size)
    }

    static let png: [UInt8] =
        [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]
        + [0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]

    /// Returns the error of an asynchronous request; nil when it succeeded.
    static func failure(
        _ ask: () async throws(TileSourceError) -> some Any
    ) async -> TileSourceError? {
        do throws(TileSourceError) {
            _ = try await ask()
            return nil
        } catch {
            return error
        }
    }

    static func edition(_ source: any TileSource, known: Validators? = nil) async throws -> TilesetEdition {
        guard case .edition(let edition, _) = try await source.edition(known: known) else {
            throw Failure("not modified")
        }
        return edition
    }
}
