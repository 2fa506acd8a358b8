import Foundation
import NavMap
import NavNodes
import Testing

/// Tiles on disk, whole and spoiled.
struct TilesetDirectoryTests {
    @Test func whatWasBuiltIsLoaded() throws {
        try withFolder { folder in
            let directory = try TilesetDirectory(path: try Helsinki.buildTiles(in: folder))
            let tiles = try directory.loadTiles()
            #expect(tiles.count == directory.tileset.tiles.count && !tiles.isEmpty)
            let graph = try directory.loadGraph()
            #expect(graph.mapVersion == directory.tileset.mapVersion)
            #expect(graph.edgeCount == tiles.reduce(0) { $0 + $1.edgeCount })
        }
    }

    /// A tileset names its tiles, and must not lead anywhere else.
    @Test(arguments: ["../secret", "/etc/passwd", "9/291/149.road", ""])
    func aTileAtAPlaceOfItsOwnChoiceIsRefused(file: String) throws {
        try withFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let json = URL(fileURLWithPath: path + "/tileset.json")
            let text = try String(contentsOf: json, encoding: .utf8)
            let tile = try #require(try TilesetDirectory(path: path).tileset.tiles.first)
            try text.replacing("\"\(tile.file)\"", with: "\"\(file)\"").write(
                to: json, atomically: true, encoding: .utf8)
            let error = #expect(throws: NodeError.self) { try TilesetDirectory(path: path).loadTiles() }
            #expect(error?.description.contains("cannot be") == true)
        }
    }

    @Test func anotherTilesContentIsRefused() throws {
        try withFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let files = try TilesetDirectory(path: path).tileset.tiles.map { "\(path)/\($0.file)" }
            let data = try Data(contentsOf: URL(fileURLWithPath: files[0]))
            try data.write(to: URL(fileURLWithPath: files[1]))
            let error = #expect(throws: NodeError.self) { try TilesetDirectory(path: path).loadTiles() }
            #expect(error?.code == .invalid && error?.description.contains(files[1]) == true)
        }
    }
}
