import Foundation
import NavTestSystem

/// A folder of synthetic road tiles in several editions around 41.15, -8.61; their content is never decoded.
struct MadeUpRoads {
    /// A tile by its place in the pyramid.
    struct Tile: Hashable {
        var zoom, x, y: Int

        /// The path of the tile's file below an edition's folder, without the extension.
        var path: String { "\(zoom)/\(x)/\(y)" }

        /// Returns the content of a tile in an edition; every third tile is the same in all editions.
        func content(_ edition: Int, _ kind: String) -> [UInt8] {
            let version = (x + y) % 3 == 0 ? 0 : edition
            let line = "\(kind) \(path) of \(version)\n"
            return Array(String(repeating: line, count: kind == "road" ? 80 : 8).utf8)
        }
    }

    /// All tiles: eight by eight of the lowest layer, and those above them.
    static let tiles: [Tile] =
        (1944..<1952).flatMap { x in (1528..<1536).map { Tile(zoom: 12, x: x, y: $0) } }
        + [Tile(zoom: 9, x: 243, y: 191), Tile(zoom: 6, x: 30, y: 23)]

    private static let layers = [6: 0, 9: 1, 12: 2]
    private let box: Sandbox

    init(in box: Sandbox) { self.box = box }

    /// The path of the newest edition on the server.
    var served: String { box.path + "/served" }

    /// The folder of an edition.
    func folder(_ edition: Int) -> String { "\(box.path)/edition-\(edition)" }

    /// The version string of an edition.
    static func version(_ edition: Int) -> String { "edition\(edition)" }

    /// Creates an edition and makes it the one served.
    func publish(_ edition: Int) async throws {
        let folder = folder(edition)
        var files: [String] = []
        for tile in Self.tiles {
            for kind in ["road", "rank"] {
                let file = URL(fileURLWithPath: "\(folder)/\(tile.path).\(kind)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(tile.content(edition, kind)).write(to: file)
                files.append("\(tile.path).\(kind)")
            }
        }
        let sums = try await box.start("/usr/bin/sha256sum", files, in: folder).wait()
        var hashes: [String: String] = [:]
        for line in sums.outputLines {
            let words = line.split(separator: " ")
            hashes[String(words[words.count - 1])] = String(words[0])
        }
        func entry(_ tile: Tile, _ kind: String) -> [String: Any] {
            let file = "\(tile.path).\(kind)"
            return ["file": file, "bytes": tile.content(edition, kind).count, "sha256": hashes[file] ?? ""]
        }
        let entries = Self.tiles.map { tile in
            (id: (Self.layers[tile.zoom] ?? 0) << 24 | tile.x << 12 | tile.y, tile: tile)
        }
        let list: [String: Any] = [
            "formatVersion": 2, "mapVersion": Self.version(edition), "source": "made up", "attribution": "nobody",
            "bounds": ["south": 40, "west": -10, "north": 42, "east": -7],
            "tiles": entries.sorted { $0.id < $1.id }.map { id, tile in
                entry(tile, "road").merging(["id": id, "ranks": entry(tile, "rank")]) { $1 }
            },
        ]
        try JSONSerialization.data(withJSONObject: list).write(to: URL(fileURLWithPath: folder + "/tileset.json"))
        // Replaced atomically, as on a real server.
        let link = served + "-next"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder)
        guard rename(link, served) == 0 else { throw Failure("\(served) cannot be created") }
    }
}
