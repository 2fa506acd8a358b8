internal import GRDB
import NavDigest
internal import NavGeo
import NavStorage
import NavTileCache

/// A pass that brings the files in line with the index: it unlinks objects that no tile uses, and updates the folders
/// for mapping as listed in the table `unsettled`.
struct FileSettling {
    private let access: IndexAccess

    init(_ access: IndexAccess) { self.access = access }

    /// The completed work, to be recorded in the index by the next change; repeating it is harmless.
    struct Done {
        var unlinked: [ContentHash] = []
        var settled: [Int64] = []
    }

    /// - Parameter temporary: Makes a new name in `incoming`.
    func run(temporary: () -> String) -> Done {
        var done = Done()
        let pending = try? access.snapshot { index in
            var pending = (objects: [ContentHash](), tiles: [ViewTile]())
            let unused = try Row.fetchCursor(
                try index.cachedStatement(sql: "SELECT hash FROM objects WHERE uses = 0"))
            while let row = try unused.next() {
                if let hash = try TileRow.hash(row, 0) { pending.objects.append(hash) }
            }
            let unsettled = try Int64.fetchAll(try index.cachedStatement(sql: "SELECT tile FROM unsettled"))
            pending.tiles = try unsettled.map { try ViewTile($0, index) }
            return pending
        }
        guard let pending else { return done }
        // Links in the folders for mapping go first, since space is freed only with the last name.
        for tile in pending.tiles where settle(tile, temporary) { done.settled.append(tile.number) }
        // A file that cannot be unlinked now keeps its row, so that it is not forgotten.
        done.unlinked = pending.objects.filter { Files.removeIfPresent(access.folder.object($0)) }
        return done
    }

    /// Links or unlinks a tile's files; returns false when the system refuses.
    private func settle(_ tile: ViewTile, _ temporary: () -> String) -> Bool {
        guard let key = tile.edition, let place = TileNumber.tile(tile.number) else { return true }
        do throws(StoreError) {
            let view = try ViewFolder(access.folder, key)
            guard let body = tile.body, let ranks = tile.ranks else {
                return view.remove(place)
            }
            try view.put(place, body: body, ranks: ranks, temporary)
            return true
        } catch {
            return false
        }
    }
}

/// A road tile according to the index; without files when it is not on board.
struct ViewTile {
    var number: Int64
    var edition: EditionKey?
    var body: ContentHash?
    var ranks: ContentHash?

    init(_ number: Int64, _ index: Database) throws {
        self.number = number
        edition = try EditionRow.key(TileNumber.edition(number), index)?.key
        let find = try index.cachedStatement(sql: "SELECT body, ranks FROM tiles WHERE id = ?")
        guard let row = try Row.fetchOne(find, arguments: [number]) else { return }
        body = try TileRow.hash(row, 0)
        ranks = try TileRow.hash(row, 1)
    }
}

/// The folder for mapping of an edition of road tiles.
struct ViewFolder {
    private let folder: StoreFolder
    let path: String

    init(_ folder: StoreFolder, _ key: EditionKey) throws(StoreError) {
        self.folder = folder
        path = try folder.view(key)
    }

    /// Makes the folder with its `tileset.json`.
    func make(document: [UInt8], _ temporary: () -> String) throws(StoreError) {
        try Files.makeDirectory(Files.parent(path))
        try Files.makeDirectory(path)
        let file = path + "/tileset.json"
        if let known = Files.status(file), known.size == Int64(document.count),
            (try? Files.read(file)) == document
        {
            return
        }
        try Files.replace(file, with: document, by: temporary())
        try Files.syncDirectory(Files.parent(path))
    }

    /// Links a tile's files, the ranks first, so that no tile is ever visible without its ranks.
    func put(
        _ tile: TileID, body: ContentHash, ranks: ContentHash, _ temporary: () -> String
    ) throws(StoreError) {
        for (part, hash) in [(TilePart.ranks, ranks), (.body, body)] {
            let file = path + "/" + StoreFolder.viewFile(tile, part)
            let object = folder.object(hash)
            if Files.isSame(file, object) { continue }
            let other = temporary()
            if try Files.link(object, to: file, by: other) { continue }
            try Files.makeDirectory(path + "/\(tile.zoom)")
            try Files.makeDirectory(path + "/\(tile.zoom)/\(tile.x)")
            if try Files.link(object, to: file, by: other) { continue }
            // A file with other content has this name; replace it atomically.
            _ = try Files.link(object, to: other, by: other + "-copy")
            try Files.move(other, to: file)
        }
    }

    /// Unlinks a tile's files, the ranks last, and the folders that become empty; returns false when the system
    /// refuses.
    @discardableResult
    func remove(_ tile: TileID) -> Bool {
        for part in [TilePart.body, .ranks] {
            guard Files.removeIfPresent(path + "/" + StoreFolder.viewFile(tile, part)) else { return false }
        }
        Files.removeEmptyDirectory(path + "/\(tile.zoom)/\(tile.x)")
        Files.removeEmptyDirectory(path + "/\(tile.zoom)")
        return true
    }

    /// Makes the `current` link of a tileset point to an edition.
    static func use(
        _ key: EditionKey, _ folder: StoreFolder, _ temporary: () -> String
    ) throws(StoreError) {
        let link = folder.tileset(key.tileset) + "/current"
        let target = try StoreFolder.folderName(ofVersion: key.version)
        if Files.linkTarget(link) == target { return }
        try Files.pointLink(link, to: target, by: temporary())
    }
}
