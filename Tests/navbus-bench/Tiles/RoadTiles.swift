import Foundation
import NavBench
import NavMap
import NavigationNode

/// Road tiles as on the server of a country: those of a directory, repeated under other numbers.
enum RoadTiles {
    /// The approximate total size, bytes: large enough that the time for the first and the last tile is negligible.
    private static let size = 200_000_000
    /// The number of tiles in a row of the country.
    private static let width: UInt32 = 64

    /// Writes links to a directory's tiles below a folder, with their list.
    ///
    /// - Parameter isQuick: whether each tile occurs once.
    static func write(_ directory: TilesetDirectory, to folder: String, isQuick: Bool) throws -> Tileset {
        let given = directory.tileset.tiles
        let bytes = given.reduce(0) { $0 + $1.bytes + $1.ranks.bytes }
        guard bytes > 0 else { throw BenchError("there are no tiles in \(directory.path)") }
        let copies = isQuick ? 1 : max(size / bytes, 1)
        var tileset = directory.tileset
        let root = URL(fileURLWithPath: directory.path)
        tileset.tiles = try (0..<UInt32(copies * given.count)).compactMap { (number: UInt32) -> Tileset.Entry? in
            var entry = given[Int(number) % given.count]
            let place = (number % width) << 12 | number / width
            guard let id = RoadTileID(rawValue: UInt32(RoadLayer.local.rawValue) << 24 | place) else { return nil }
            for (file, original) in [(id.path, entry.file), (id.ranksPath, entry.ranks.file)] {
                let link = folder + "/" + file
                try FileManager.default.createDirectory(
                    atPath: (link as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
                try FileManager.default.createSymbolicLink(
                    atPath: link, withDestinationPath: root.appending(path: original).path)
            }
            (entry.id, entry.file, entry.ranks.file) = (id.rawValue, id.path, id.ranksPath)
            return entry
        }.sorted { $0.id < $1.id }
        try JSONEncoder().encode(tileset).write(to: URL(fileURLWithPath: folder + "/tileset.json"))
        return tileset
    }
}
