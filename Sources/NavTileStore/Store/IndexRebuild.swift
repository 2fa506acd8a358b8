internal import Foundation
internal import GRDB
import NavDigest
internal import NavGeo
internal import NavMap
import NavStorage
import NavTileCache

/// A rebuild of the index from the store's folders, after the old one was damaged or lost.
///
/// Road tiles are recovered, each checked against the `tileset.json` beside it. Regions are recovered as definitions
/// that must be planned again. Only the old index recorded which map tile a file belongs to, so these files are removed
/// and their tiles are fetched again.
struct IndexRebuild {
    private let access: IndexAccess
    private var folder: StoreFolder { access.folder }

    init(_ access: IndexAccess) { self.access = access }

    /// Whether the folders hold content that an index described.
    static func finds(_ folder: StoreFolder) throws(StoreError) -> Bool {
        if Files.status(folder.regions) != nil { return true }
        if try !Files.list(folder.tilesets).isEmpty { return true }
        for group in try Files.list(folder.objects) where try !Files.list(folder.objects + "/" + group).isEmpty {
            return true
        }
        return false
    }

    func run(_ report: inout OpeningReport) throws(StoreError) {
        for name in try Files.list(folder.tilesets).sorted() where TilesetName.isValid(name) {
            let current = Files.linkTarget(folder.tileset(name) + "/current")
            for version in try Files.list(folder.tileset(name)).sorted() where version != "current" {
                report.recoveredTiles += try recover(name, version, isCurrent: version == current)
            }
        }
        report.recoveredRegions = try recoverRegions()
        try removeOthers()
    }

    /// Recovers an edition's folder; returns the number of its tiles.
    private func recover(_ name: String, _ version: String, isCurrent: Bool) throws(StoreError) -> Int {
        let path = folder.tileset(name) + "/" + version
        guard let document = try Files.content(path + "/tileset.json", limit: 1 << 30),
            let tileset = try? JSONDecoder().decode(Tileset.self, from: Data(document)),
            try StoreFolder.folderName(ofVersion: tileset.mapVersion) == version
        else { return 0 }
        let entries = tileset.tiles.compactMap { ListedTile($0) }
        let zooms = entries.map(\.tile.zoom)
        let edition = TilesetEdition(
            tileset: name, domain: .navigation, version: tileset.mapVersion,
            zooms: (zooms.min() ?? 0)...(zooms.max() ?? 0), bounds: tileset.bounds, tiles: entries, document: document,
            attribution: tileset.attribution)
        var sound: [ListedTile] = []
        let view = try ViewFolder(folder, EditionKey(name, tileset.mapVersion))
        for entry in entries {
            if try isSound(entry, path) { sound.append(entry) } else { view.remove(entry.tile) }
        }
        return try access.write { index in
            let epoch = Timestamp(nanoseconds: 0)
            let number = try EditionRow.put(edition, epoch, index)
            if isCurrent { try EditionRow.use(EditionKey(name, tileset.mapVersion), epoch, index) }
            let kind = try FileKind.number(FileKind(), index)
            let insert = try index.cachedStatement(
                sql: "INSERT OR IGNORE INTO tiles VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, 0, 0, NULL)")
            let unsettle = try index.cachedStatement(sql: "INSERT OR IGNORE INTO unsettled VALUES (?)")
            for entry in sound {
                let tile = TileNumber.of(entry.tile, edition: number)
                let (body, ranks) = (entry.parts[0], entry.parts[1])
                try insert.execute(
                    arguments: [tile, body.hash?.blob, body.size, kind, ranks.hash?.blob, ranks.size, kind])
                try unsettle.execute(arguments: [tile])
            }
            return sound.count
        }
    }

    /// Whether both files of a tile have the expected content; also restores their links below `objects`.
    private func isSound(_ entry: ListedTile, _ path: String) throws(StoreError) -> Bool {
        for part in entry.parts {
            let file = path + "/" + StoreFolder.viewFile(entry.tile, part.part)
            guard Files.status(file)?.size == part.size, let data = try Files.content(file),
                let hash = part.hash, try ContentHash.checked(data) == hash
            else { return false }
            let object = folder.object(hash)
            if !Files.isSame(file, object) {
                Files.remove(object)
                guard try Files.link(file, to: object, by: folder.incoming + "/rebuild") else { return false }
            }
        }
        return true
    }

    private func recoverRegions() throws(StoreError) -> Int {
        guard let list = try RegionList(folder) else { return 0 }
        return try access.write { index in
            for region in list.regions {
                try index.execute(
                    sql: """
                        INSERT OR IGNORE INTO regions(name, definition, editions, state, progress, created, updated,
                          needs_planning, was_complete)
                        VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0)
                        """,
                    arguments: [
                        region.definition.id, try RegionRow.encode(region.definition),
                        try RegionRow.encode(region.editions), StoredRegionState.incomplete.rawValue,
                        try RegionRow.encode(StoredRegionProgress()), region.created, region.created,
                    ])
            }
            return list.regions.count
        }
    }

    /// Removes the files that no tile uses.
    private func removeOthers() throws(StoreError) {
        for group in try Files.list(folder.objects) {
            for file in try Files.list(folder.objects + "/" + group) {
                let path = "\(folder.objects)/\(group)/\(file)"
                guard let hash = ContentHash(folder: group, file: file) else { continue }
                let isKnown = try access.read { index in
                    try Int64.fetchOne(
                        try index.cachedStatement(sql: "SELECT 1 FROM objects WHERE hash = ?"), arguments: [hash.blob])
                        != nil
                }
                if !isKnown { Files.remove(path) }
            }
        }
    }
}
