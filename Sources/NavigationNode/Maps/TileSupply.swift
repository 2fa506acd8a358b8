import NavBus
package import NavKit
package import NavMap

/// The loaded tiles of a directory, and those that have arrived since.
///
/// It compares the files' sizes and times, which also works on network and overlay file systems, where inotify misses changes, and costs a
/// few microseconds per tile. A tile must be renamed into place; a partial one is refused until its file changes. A loaded tile is a copy
/// in memory, unaffected by changes to its file; a file that differs from the tileset is reported.
package struct TileSupply {
    /// The change that a refresh finds.
    package struct Change: Sendable, Equatable {
        /// Tiles that are new or have new content.
        package var added: [RoadTileID] = []
        package var removed: [RoadTileID] = []

        package init(added: [RoadTileID] = [], removed: [RoadTileID] = []) {
            (self.added, self.removed) = (added, removed)
        }
    }

    package private(set) var directory: TilesetDirectory
    private var loaded: [RoadTileID: Loaded] = [:]

    /// The newest directory that could be read; not in force while one of its tiles is refused.
    private var newest: TilesetDirectory
    private var indexState: FileState?
    private var refused: [String: FileState?] = [:]
    /// Whether a system error prevented reading a file at the last refresh; its content may be valid.
    private var isHindered = false

    /// Loaded tiles whose files have since changed on disk.
    private var spoiled: Set<RoadTileID> = []
    /// Whether a newer tileset is present but some of its tiles are missing or damaged.
    private var isIncomplete = false
    /// The index at which the next check of the files of loaded tiles begins.
    private var nextWatched = 0

    /// The number of loaded tiles that one refresh compares with their files.
    private static let watchedAtOnce = 512

    private struct Loaded {
        var tile: RoadTile
        var entry: Tileset.Entry
        /// The states of the tile's file and its ranks file when they were read.
        var files: [FileState?]
    }

    /// Loads and checks the tiles that are present; there may be none yet. A damaged tile is an error.
    package init(path: String) throws(NodeError) {
        indexState = FileState(path + "/tileset.json")
        directory = try TilesetDirectory(path: path)
        newest = directory
        let present = directory.tileset.tiles.filter { [directory] in directory.isPresent($0) }
        let files = present.map { [directory] in directory.states(of: $0) }
        let tiles = try directory.loadTiles(present)
        for (index, tile) in tiles.enumerated() {
            loaded[tile.id] = Loaded(tile: tile, entry: present[index], files: files[index])
        }
    }

    /// The current fault of the files.
    package var problem: String? {
        if isIncomplete {
            return
                "'\(directory.path)': tiles of the new tileset are damaged or incomplete; the old map stays in use "
                + "until they are valid; build a new tileset in another directory and rename it into place"
        }
        guard let first = spoiled.min(), let entry = loaded[first]?.entry else { return nil }
        let others = spoiled.count > 1 ? " and \(spoiled.count - 1) other tiles do" : " does"
        return
            "'\(directory.path)/\(entry.file)'\(others) not match the tileset any more: the map keeps the tiles in "
            + "memory; restore the files, or replace the tileset as a whole"
    }

    package var missingCount: Int { directory.tileset.tiles.count - loaded.count }

    package func graph() -> RoadGraph { directory.graph(of: loaded.values.map(\.tile)) }

    /// Adopts changes on disk; returns nil when there are none.
    ///
    /// Tiles of the tileset in force are adopted one by one. Another tileset comes into force only as a whole, since tiles of two versions
    /// do not fit together.
    ///
    /// - Parameter problems: Receives the refused files, each once until its file changes. A file that a system error prevented from being
    ///   read is retried at the next refresh and reported once.
    package mutating func refresh(_ problems: inout [String]) -> Change? {
        var hindrance: NodeError?
        defer {
            if let hindrance, !isHindered {
                problems.append("\(hindrance.description); it will be retried")
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
                problems.append("\(error.description); the map is unchanged")
            }
        }
        let isAnother = newest.tileset != directory.tileset
        let problemBefore = problem
        defer { if let problem, problem != problemBefore { problems.append(problem) } }
        watchFiles(&hindrance)
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
            let states = newest.states(of: entry)
            do throws(NodeError) {
                arrived.append(Loaded(tile: try newest.loadTile(entry), entry: entry, files: states))
            } catch {
                isSound = false
                guard error.code != .system else {
                    hindrance = error
                    continue
                }
                refused[file] = .some(FileState(file))
                refused[ranks] = .some(FileState(ranks))
                problems.append("\(error.description); the map stays without this tile")
            }
        }
        isIncomplete = isAnother && !isSound
        if isIncomplete { return nil }
        guard isAnother || !arrived.isEmpty else { return nil }
        let removed = loaded.keys.filter { id in kept[id] == nil && !arrived.contains { $0.tile.id == id } }.sorted()
        directory = newest
        loaded = kept
        for tile in arrived { loaded[tile.tile.id] = tile }
        spoiled = spoiled.filter { kept[$0] != nil }
        return Change(added: arrived.map(\.tile.id).sorted(), removed: removed)
    }

    /// Checks loaded tiles whose files have changed: some at each refresh, all of them in turn.
    private mutating func watchFiles(_ hindrance: inout NodeError?) {
        let ids = directory.tileset.tileIDs
        guard !ids.isEmpty else { return }
        for step in 0..<min(ids.count, Self.watchedAtOnce) {
            let id = ids[(nextWatched + step) % ids.count]
            guard let known = loaded[id] else { continue }
            let states = directory.states(of: known.entry)
            // A missing file was removed by the cache, or is about to be replaced.
            guard states != known.files, !states.contains(nil) else { continue }
            do throws(NodeError) {
                _ = try directory.loadTile(known.entry)
                spoiled.remove(id)
            } catch {
                guard error.code != .system else {
                    hindrance = error
                    continue
                }
                spoiled.insert(id)
            }
            loaded[id]?.files = states
        }
        nextWatched = (nextWatched + Self.watchedAtOnce) % ids.count
    }
}
