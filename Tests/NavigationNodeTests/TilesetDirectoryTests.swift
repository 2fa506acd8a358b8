import Foundation
import NavKit
import NavMap
import NavRecording
import NavReplay
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// Tiles on disk, intact and damaged.
struct TilesetDirectoryTests {
    @Test func aBuiltTilesetIsLoaded() throws {
        try withTemporaryFolder { folder in
            let directory = try TilesetDirectory(path: try Helsinki.buildTiles(in: folder))
            let tiles = try directory.loadTiles()
            #expect(tiles.count == directory.tileset.tiles.count && !tiles.isEmpty)
            let graph = try directory.loadGraph()
            #expect(graph.mapVersion == directory.tileset.mapVersion)
            #expect(graph.edgeCount == tiles.reduce(0) { $0 + $1.edgeCount })
        }
    }

    /// A tileset must not refer to files outside its directory.
    @Test(arguments: ["../secret", "/etc/passwd", "9/291/149.road", ""])
    func tileFileOutsideTheTilesetIsRejected(file: String) throws {
        try withTemporaryFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let json = URL(fileURLWithPath: path + "/tileset.json")
            let text = try String(contentsOf: json, encoding: .utf8)
            let tile = try #require(try TilesetDirectory(path: path).tileset.tiles.first)
            try text.replacing("\"\(tile.file)\"", with: "\"\(file)\"").write(
                to: json, atomically: true, encoding: .utf8)
            let error = #expect(throws: NodeError.self) { try TilesetDirectory(path: path).loadTiles() }
            #expect(error?.description.contains("invalid id or file name") == true)
        }
    }

    @Test func contentOfAnotherTileIsRejected() throws {
        try withTemporaryFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let files = try TilesetDirectory(path: path).tileset.tiles.map { "\(path)/\($0.file)" }
            let data = try Data(contentsOf: URL(fileURLWithPath: files[0]))
            try data.write(to: URL(fileURLWithPath: files[1]))
            let error = #expect(throws: NodeError.self) { try TilesetDirectory(path: path).loadTiles() }
            #expect(error?.code == .invalid && error?.description.contains(files[1]) == true)
        }
    }

    @Test func missingTilesAreExplainedOrLeftOut() throws {
        try withTemporaryFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let directory = try TilesetDirectory(path: path)
            let entries = directory.tileset.tiles
            try FileManager.default.removeItem(atPath: "\(path)/\(entries[0].file)")
            let one = #expect(throws: NodeError.self) { try directory.loadGraph() }?.description ?? ""
            #expect(one.contains(entries[0].file) && one.contains("rebuild the tiles"), "\(one)")
            #expect(try directory.loadPresentTiles(entries).map(\.id) == entries.dropFirst().compactMap(\.tile))
            // The folder of a tile cache may lack many tiles.
            try FileManager.default.removeItem(atPath: "\(path)/\(entries[1].ranks.file)")
            let two = #expect(throws: NodeError.self) { try directory.loadTile(entries[1]) }?.description ?? ""
            #expect(two.contains("incomplete") && !two.contains("rebuild"), "\(two)")
            // A damaged tile is reported, not skipped.
            try Data([1]).write(to: URL(fileURLWithPath: "\(path)/\(entries[0].file)"))
            #expect(throws: NodeError.self) { try directory.loadPresentTiles(entries) }
        }
    }

    /// A memory-mapped file would raise a signal here and end the process.
    @Test func fileChangesDoNotAffectLoadedTiles() throws {
        try withTemporaryFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            let directory = try TilesetDirectory(path: path)
            let graph = try directory.loadGraph()
            func digest() -> Int {
                (0..<graph.edgeCount).reduce(0) { sum, index in
                    let shape = graph.shape(of: EdgeIndex(index))
                    return sum &* 31 &+ (0..<shape.count).reduce(0) { $0 &* 31 &+ Int(shape.nodeID($1)) }
                }
            }
            let before = digest()
            for entry in directory.tileset.tiles {
                for file in [entry.file, entry.ranks.file] {
                    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(path)/\(file)"))
                    try handle.write(contentsOf: Data(repeating: 0xff, count: 100))
                    try handle.truncate(atOffset: 100)
                    try handle.close()
                }
            }
            #expect(digest() == before)
            #expect(throws: NodeError.self) { try directory.loadTiles() }
        }
    }

    @Test func changedTileIsReportedUntilItIsRestored() throws {
        try withTemporaryFolder { folder in
            let path = try Helsinki.buildTiles(in: folder)
            var supply = try TileSupply(path: path)
            func refresh() -> (change: TileSupply.Change?, problems: [String]) {
                var problems: [String] = []
                return (supply.refresh(&problems), problems)
            }
            #expect(refresh().problems == [] && supply.problem == nil)
            let entry = try #require(supply.directory.tileset.tiles.first)
            let file = URL(fileURLWithPath: "\(path)/\(entry.file)")
            let content = try Data(contentsOf: file)
            let edges = supply.graph().edgeCount

            try content.prefix(100).write(to: file)
            let cut = refresh()
            #expect(cut.change == nil && cut.problems.count == 1 && cut.problems.first?.contains(entry.file) == true)
            #expect(supply.problem != nil && supply.graph().edgeCount == edges)
            #expect(refresh().problems == [], "a problem is reported once")

            try content.write(to: file)
            #expect(refresh().problems == [] && supply.problem == nil)
            // A removed file, as after an eviction by the cache, is not a fault.
            try FileManager.default.removeItem(at: file)
            #expect(refresh().problems == [] && supply.problem == nil && supply.graph().edgeCount == edges)
        }
    }

    /// A tileset copied over another, file by file, takes effect only when it is complete.
    @Test func tilesetCopiedOverAnotherTakesEffectAsAWhole() throws {
        try withTemporaryFolder { folder in
            let old = try Helsinki.buildTiles(in: folder + "/old")
            let new = try Helsinki.buildTiles(in: folder + "/new", country: "PT")
            var supply = try TileSupply(path: old)
            let version = try TilesetDirectory(path: new).tileset.mapVersion
            try #require(supply.directory.tileset.mapVersion != version)
            let files = try TilesetDirectory(path: new).tileset.tiles.flatMap { [$0.file, $0.ranks.file] }
            var changes = 0
            for (index, file) in (["tileset.json"] + files).enumerated() {
                try Data(contentsOf: URL(fileURLWithPath: "\(new)/\(file)"))
                    .write(to: URL(fileURLWithPath: "\(old)/\(file)"))
                var problems: [String] = []
                if supply.refresh(&problems) != nil { changes += 1 }
                #expect((supply.problem != nil) == (changes == 0), "\(file): \(problems)")
                if index == 0 { #expect(changes == 0 && supply.problem != nil) }
            }
            #expect(changes == 1)
            #expect(supply.directory.tileset.mapVersion == version)
        }
    }
}
