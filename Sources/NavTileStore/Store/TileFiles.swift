internal import GRDB
import NavDigest
internal import NavGeo
import NavStorage
import NavTileCache

/// The checks of individual tile files.
struct TileFiles {
    let access: IndexAccess

    private var folder: StoreFolder { access.folder }

    /// Returns the fault of an object file; nil when it matches the index.
    ///
    /// - Parameter asksDisk: Whether to read from the disk rather than from cached pages.
    func fault(
        _ hash: ContentHash, _ bytes: Int64, readsContent: Bool = true, asksDisk: Bool = false
    ) throws(StoreError) -> (kind: CheckFinding.Kind, detail: String)? {
        guard let status = Files.status(folder.object(hash)) else { return (.missingObject, "missing") }
        guard status.isFile, status.size == bytes else {
            return (.wrongSize, "\(status.size) bytes; the index says \(bytes)")
        }
        guard readsContent else { return nil }
        if asksDisk { Files.dropPages(folder.object(hash)) }
        guard let data = try Files.content(folder.object(hash)) else { return (.wrongHash, "cannot be read") }
        return try ContentHash.checked(data) == hash ? nil : (.wrongHash, "checksum mismatch")
    }

    /// Returns the current fault of a tile's files for mapping.
    ///
    /// - Parameters:
    ///   - path: The edition's folder for mapping.
    ///   - isLenient: Whether to ignore files that the index lists as possibly outdated.
    func viewFault(
        _ number: Int64, _ path: String, _ place: TileID, isLenient: Bool
    ) throws(StoreError) -> String? {
        let (tile, isSettled) = try access.snapshot { index in
            let find = try index.cachedStatement(sql: "SELECT 1 FROM unsettled WHERE tile = ?")
            return (try ViewTile(number, index), try Int64.fetchOne(find, arguments: [number]) == nil)
        }
        guard isSettled || !isLenient else { return nil }
        for (part, hash) in [(TilePart.body, tile.body), (.ranks, tile.ranks)] {
            let file = path + "/" + StoreFolder.viewFile(place, part)
            let status = Files.status(file)
            guard let hash else {
                if status != nil { return "\(part): present, but the tile is not in the store" }
                continue
            }
            guard let status else { return "\(part): missing" }
            if Files.isSame(file, folder.object(hash)) { continue }
            // On file systems without hard links, the file is a copy.
            guard status.size == Files.status(folder.object(hash))?.size, let data = try Files.content(file),
                try ContentHash.checked(data) == hash
            else { return "\(part): content differs" }
        }
        return nil
    }

    /// Returns the fault of an edition's `tileset.json`.
    func documentFault(_ key: EditionKey, _ path: String) throws(StoreError) -> String? {
        guard let document = try access.snapshot({ try EditionRow.edition(key, $0)?.document }) else { return nil }
        return try Files.content(path + "/tileset.json") == document ? nil : "not the edition's document"
    }

    /// Returns the fault of the `current` link, if the edition is the one in use.
    func currentFault(_ key: EditionKey) throws(StoreError) -> String? {
        let isCurrent = try access.snapshot { index in
            try EditionRow.all(index, folder).contains { $0.key == key && $0.isCurrent }
        }
        guard isCurrent else { return nil }
        let target = try StoreFolder.folderName(ofVersion: key.version)
        let found = Files.linkTarget(folder.tileset(key.tileset) + "/current")
        return found == target ? nil : "points to '\(found ?? "nothing")', not to '\(target)'"
    }
}
