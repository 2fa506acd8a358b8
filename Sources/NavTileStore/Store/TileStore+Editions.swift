internal import GRDB
package import NavGeo
package import NavStorage
package import NavTileCache
internal import Synchronization

extension TileStore {
    /// Adds an edition to its tileset; an existing edition gets the new list and document.
    ///
    /// The first edition of a tileset is in use at once. An edition of road tiles gets its folder for mapping, with its
    /// document as `tileset.json`.
    ///
    /// - Throws: ``StoreError`` `invalid` for an invalid name, a version above 256 bytes, a tileset that is on board
    ///   for another domain, road tiles without a document, or more than 16,383 editions; `diskFull`.
    package func addEdition(_ edition: TilesetEdition, now: Timestamp) throws(StoreError) {
        guard TilesetName.isValid(edition.tileset) else {
            throw StoreError(
                .invalid,
                "'\(edition.tileset)' is not a valid tileset name; use 1 to 64 of a-z, 0-9, '-' and '_', beginning "
                    + "with a letter or digit")
        }
        guard edition.version.utf8.count <= 256, !edition.version.utf8.contains(0) else {
            throw StoreError(
                .invalid, "the version of tileset '\(edition.tileset)' must be text of at most 256 bytes")
        }
        guard edition.domain != .navigation || !edition.document.isEmpty else {
            throw StoreError(
                .invalid, "the edition of road tiles '\(edition.tileset)' has no tileset.json; pass it as the document")
        }
        let key = EditionKey(edition.tileset, edition.version)
        try write { writer throws(StoreError) in
            // The folder is created first, so that every edition in the index has one.
            if edition.domain == .navigation {
                try ViewFolder(folder, key).make(document: edition.document) { writer.name("view", folder) }
            }
            _ = try change(&writer) { index in try EditionRow.put(edition, now, index) }
            try pointCurrent([edition.tileset], &writer)
        }
    }

    /// Removes an edition with its tiles.
    ///
    /// - Throws: ``StoreError`` `inUse` when it is in use, or a region needs tiles of it, on board or not.
    @discardableResult
    package func removeEdition(_ edition: EditionKey) throws(StoreError) -> RemovalReport {
        try write { writer throws(StoreError) in
            let path = try folder.view(edition)
            let found = try access.snapshot { index in try Self.removable(edition, index) }
            guard let found else { return RemovalReport() }
            let report = try remove(found.tiles, &writer, isEviction: false)
            try clear(&writer) { index in
                for table in ["edition_documents WHERE edition", "editions WHERE id"] {
                    try index.execute(sql: "DELETE FROM \(table) = ?", arguments: [found.number])
                }
                try index.execute(sql: "DELETE FROM tilesets WHERE id NOT IN (SELECT tileset FROM editions)")
            }
            wanted.withLock { $0.set([], edition: found.number) }
            Files.removeTree(path)
            return report
        }
    }

    /// Returns the number and tiles of a removable edition; nil when it is not on board.
    private static func removable(
        _ edition: EditionKey, _ index: Database
    ) throws -> (number: Int64, tiles: [Int64])? {
        guard let number = try EditionRow.number(edition, index) else { return nil }
        if try Int64.fetchOne(index, sql: "SELECT 1 FROM tilesets WHERE current = ?", arguments: [number]) != nil {
            throw StoreError(.inUse, "edition '\(edition)' is in use; switch to another edition first")
        }
        let range = TileNumber.range(ofEdition: number)
        let region = try String.fetchOne(
            index,
            sql: "SELECT r.name FROM pins p JOIN regions r ON r.id = p.region WHERE p.tile BETWEEN ? AND ? LIMIT 1",
            arguments: [range.lowerBound, range.upperBound])
        if let region {
            throw StoreError(
                .inUse, "region '\(region)' has tiles of edition '\(edition)'; update or remove the region first")
        }
        return (
            number,
            try Int64.fetchAll(
                index, sql: "SELECT id FROM tiles WHERE id BETWEEN ? AND ?",
                arguments: [range.lowerBound, range.upperBound])
        )
    }

    /// Makes `current` of road tilesets point to the edition in use.
    func pointCurrent(_ tilesets: [String], _ writer: inout Writer) throws(StoreError) {
        for name in tilesets {
            let current = try access.read { index in
                try EditionRow.all(index, folder).first { $0.key.tileset == name && $0.isCurrent }
            }
            guard let current, current.viewPath != nil else { continue }
            try ViewFolder.use(current.key, folder) { writer.name("view", folder) }
        }
    }
}
