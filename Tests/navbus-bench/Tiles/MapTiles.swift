import Foundation
import NavBench
import NavGeo
import NavSimulation

/// Small map tiles as on a server: vector tiles of one layer, plain and compressed with gzip.
enum MapTiles {
    /// The extensions of the plain and of the compressed files.
    static let (plain, packed) = (".pbf", ".pbf.gz")
    /// The range of tile sizes, bytes.
    private static let sizes = 500...30_000
    /// The number of different words in the layer, with which it compresses to two thirds.
    private static let wordCount = 3_000

    /// Writes both forms of `count` tiles below a folder.
    static func write(_ count: Int, to folder: String, seed: UInt64) throws -> [TileID] {
        var random = SeededRandom(seed: seed)
        let tiles = (0..<UInt32(count)).compactMap { TileID(zoom: 14, x: 8_000 + $0 % 100, y: 6_000 + $0 / 100) }
        for tile in tiles {
            let path = "\(folder)/\(tile.zoom)/\(tile.x)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let bytes = content(Int.random(in: sizes, using: &random), seed: random.next())
            try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(tile.y)\(plain)"))
        }
        let workers = try Workers()
        defer { workers.close() }
        try workers.start("gzip", ["/usr/bin/env", "gzip", "--recursive", "--keep", "--no-name", "\(folder)/14"])
        try workers.finish(within: 600)
        return tiles
    }

    /// Returns the total size of files, bytes.
    static func size(_ files: [String]) throws -> Int {
        try files.reduce(0) { sum, path in
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    /// Returns a vector tile with one layer and a given size, bytes.
    static func content(_ size: Int, seed: UInt64) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var bytes: [UInt8] = [0x1a]
        var rest = size
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
        let end = bytes.count + size
        while bytes.count < end {
            bytes += words[Int.random(in: 0..<wordCount, using: &random)].prefix(end - bytes.count)
        }
        return bytes
    }

    /// Words of 2 to 9 bytes each.
    private static let words: [[UInt8]] = {
        var random = SeededRandom(seed: 1)
        return (0..<wordCount).map { _ in
            (0..<Int.random(in: 2...9, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
    }()
}
