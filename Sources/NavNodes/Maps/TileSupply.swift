package import NavMap

/// The tiles of a directory that are on board, and those that have arrived since.
///
/// It looks at the files' sizes and times: that sees what inotify misses on network and overlay file systems, and costs
/// some microseconds for each tile that is still missing. Whoever puts a tile there renames it into place; one that is
/// seen half written is refused, and looked at again when it has changed.
package struct TileSupply {
    /// What a look has found.
    package struct Change: Sendable, Equatable {
        /// Tiles that are new or have another content.
        package var added: [RoadTileID] = []
        /// Tiles that are gone.
        package var removed: [RoadTileID] = []
    }

    /// The directory in force.
    package private(set) var directory: TilesetDirectory
    private var loaded: [RoadTileID: Loaded] = [:]

    /// The newest directory that could be read; not in force as long as one of its tiles is refused.
    private var newest: TilesetDirectory
    private var indexState: FileState?
    /// The files that were refused, as they were.
    private var refused: [String: FileState?] = [:]
    /// Whether the system kept the last look from a file, which says nothing of the file.
    private var isHindered = false

    private struct Loaded {
        var tile: RoadTile
        var entry: Tileset.Entry
    }

    /// Maps and checks the tiles that are there, be it none: more may come. A damaged one is an error.
    package init(path: String) throws(NodeError) {
        indexState = FileState(path + "/tileset.json")
        directory = try TilesetDirectory(path: path)
        newest = directory
        let present = directory.tileset.tiles.filter { [directory] in directory.isPresent($0) }
        let tiles = try directory.loadTiles(present)
        for (tile, entry) in zip(tiles, present) { loaded[tile.id] = Loaded(tile: tile, entry: entry) }
    }

    /// How many tiles of the tileset are not on board.
    package var missingCount: Int { directory.tileset.tiles.count - loaded.count }

    /// The tiles on board as one graph.
    package func graph() -> RoadGraph { directory.graph(of: loaded.values.map(\.tile)) }

    /// Takes in what has changed on disk; nil when that is nothing.
    ///
    /// Of the tileset in force each tile counts by itself. Another tileset comes into force as a whole: tiles of two
    /// versions do not fit together.
    ///
    /// - Parameter problems: What was refused, each once until its file changes; what the system kept from being read is
    ///   tried again at the next look, and told once.
    package mutating func look(_ problems: inout [String]) -> Change? {
        var hindrance: NodeError?
        defer {
            if let hindrance, !isHindered {
                problems.append("\(hindrance.description); it is tried again until it works")
            }
            isHindered = hindrance != nil
        }
        let index = directory.path + "/tileset.json"
        let state = FileState(index)
        if state != indexState {
            do throws(NodeError) {
                newest = try TilesetDirectory(path: directory.path)
                (refused, indexState) = ([:], state)
            } catch {
                guard error.code != .system else {
                    hindrance = error
                    return nil
                }
                indexState = state
                problems.append("\(error.description); the map stays as it is")
            }
        }
        let isAnother = newest.tileset != directory.tileset
        var arrived: [Loaded] = []
        var kept: [RoadTileID: Loaded] = [:]
        var isSound = true
        for entry in newest.tileset.tiles {
            if let id = entry.tile, let known = loaded[id], known.entry == entry {
                kept[id] = known
                continue
            }
            guard newest.isPresent(entry) else { continue }
            let file = newest.path + "/" + entry.file
            let ranks = newest.path + "/" + entry.ranks.file
            if let tried = refused[file], tried == FileState(file), refused[ranks] == .some(FileState(ranks)) {
                isSound = false
                continue
            }
            do throws(NodeError) {
                arrived.append(Loaded(tile: try newest.loadTile(entry, verifying: true), entry: entry))
            } catch {
                isSound = false
                guard error.code != .system else {
                    hindrance = error
                    continue
                }
                refused[file] = .some(FileState(file))
                refused[ranks] = .some(FileState(ranks))
                problems.append("\(error.description); the map goes on without it")
            }
        }
        if isAnother, !isSound { return nil }
        guard isAnother || !arrived.isEmpty else { return nil }
        let removed = loaded.keys.filter { id in kept[id] == nil && !arrived.contains { $0.tile.id == id } }.sorted()
        directory = newest
        loaded = kept
        for tile in arrived { loaded[tile.tile.id] = tile }
        return Change(added: arrived.map(\.tile.id).sorted(), removed: removed)
    }
}
