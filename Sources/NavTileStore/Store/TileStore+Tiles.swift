internal import Foundation
internal import GRDB
package import NavDigest
package import NavGeo
package import NavStorage
package import NavTileCache
internal import Synchronization

extension TileStore {
    /// Stores tiles in one transaction, each completely or not at all, and makes room like ``makeRoom(for:needed:)``.
    ///
    /// A tile of a region makes room like a tile without a need, a wanted tile by its need. When the call returns, the
    /// tiles survive a power failure; on an error, none of them is stored. A batch of tiles costs a single wait for the
    /// disk.
    ///
    /// - Throws: ``StoreError`` `invalid` for an edition that was not added, a road tile without its ranks, a map tile
    ///   with more than its body; `diskFull`.
    package func commit(_ tiles: [FetchedTile], now: Timestamp) throws(StoreError) -> CommitReport {
        guard !tiles.isEmpty else { return CommitReport() }
        return try write { writer throws(StoreError) in
            let editions = try editions(of: tiles)
            defer { Files.empty(folder.batch) }
            let new = try writeObjects(of: tiles, &writer)
            let budget = budgetBytes
            let needed = order.withLock { $0.moment(now) }
            do throws(StoreError) {
                var wanted = wanted.withLock { $0 }
                let report = try change(&writer) { index in
                    try Self.noteReplaced(new.replaced, index)
                    return try TileInsertion(index, budget: budget, now: now, needed: needed)
                        .run(tiles, editions, &wanted)
                }
                keepOrder(of: wanted)
                if !report.refused.isEmpty { removeUnused(new.hashes) }
                return report
            } catch {
                removeUnused(new.hashes)
                throw error
            }
        }
    }

    /// Returns the number of each edition of some tiles; throws unless each tile's parts match its domain.
    private func editions(of tiles: [FetchedTile]) throws(StoreError) -> [EditionKey: Int64] {
        var known: [EditionKey: (number: Int64, domain: TileDomain)] = [:]
        for tile in tiles {
            let key = EditionKey(tile.address.tileset, tile.edition)
            if known[key] == nil {
                known[key] = try access.read { index in
                    guard let number = try EditionRow.number(key, index) else { return nil }
                    return (number, try EditionRow.key(number, index)?.domain ?? .maps)
                }
            }
            guard let edition = known[key] else { throw EditionRow.unknown(key) }
            let parts = Set(tile.parts.map(\.part))
            guard parts.count == tile.parts.count, parts == Self.parts(of: edition.domain) else {
                throw StoreError(
                    .invalid,
                    "tile \(tile.address) came with \(tile.parts.map { "\($0.part)" }.joined(separator: ", ")); "
                        + "a tile is stored with all of its files or not at all")
            }
        }
        return known.mapValues(\.number)
    }

    private static func parts(of domain: TileDomain) -> Set<TilePart> {
        switch domain {
        case .navigation: [.body, .ranks]
        case .maps: [.body]
        }
    }

    /// Counts replaced damaged files, and schedules the relinking of other tiles that use them.
    private static func noteReplaced(_ hashes: [ContentHash], _ index: Database) throws {
        for hash in hashes {
            try index.execute(sql: "UPDATE totals SET corrupt_count = corrupt_count + 1")
            try index.execute(
                sql: """
                    INSERT OR IGNORE INTO unsettled
                    SELECT id FROM tiles WHERE ranks IS NOT NULL AND (body = ?1 OR ranks = ?1)
                    """, arguments: [hash.blob])
        }
    }

    // MARK: Files

    /// The files of a commit; ``StoreFolder/batch`` lists them until the index does.
    private struct NewObjects {
        var hashes: [ContentHash] = []
        /// The hashes of the files that replace a damaged one.
        var replaced: [ContentHash] = []
    }

    /// Writes the missing files of tiles; each file is synced before it gets its name.
    private func writeObjects(of tiles: [FetchedTile], _ writer: inout Writer) throws(StoreError) -> NewObjects {
        var new = NewObjects()
        var seen: Set<ContentHash> = []
        var files: [NewFile] = []
        do throws(StoreError) {
            for part in tiles.lazy.flatMap(\.parts) where seen.insert(part.hash).inserted {
                switch try presence(of: part) {
                case .stored: continue
                case .damaged: new.replaced.append(part.hash)
                case .absent: break
                }
                try write(part.data, as: part.hash, to: writer.name("object", folder), &files)
                new.hashes.append(part.hash)
            }
            guard !files.isEmpty else { return new }
            try write(new.hashes.flatMap(\.bytes), as: nil, to: folder.batch, &files)
            try sync(&files)
            var folders: Set<String> = []
            for file in files {
                guard let hash = file.hash else { continue }
                let place = folder.object(hash)
                try Files.move(file.path, to: place)
                folders.insert(Files.parent(place))
            }
            try FileSync.wait(folders: folders.sorted())
            return new
        } catch {
            for file in files {
                if let descriptor = file.descriptor { Files.close(descriptor) }
                if file.hash != nil { Files.remove(file.path) }
            }
            removeUnused(new.hashes)
            throw error
        }
    }

    private struct NewFile {
        var descriptor: Int32?
        var path: String
        /// The hash that is its name; nil for the list of a batch.
        var hash: ContentHash?
    }

    /// The maximum number of files written before they are synced.
    private static let greatestOpen = 128

    private func write(
        _ data: [UInt8], as hash: ContentHash?, to path: String, _ files: inout [NewFile]
    ) throws(StoreError) {
        let descriptor = try Files.write(data, to: path)
        Files.beginSync(descriptor)
        files.append(NewFile(descriptor: descriptor, path: path, hash: hash))
        if files.count(where: { $0.descriptor != nil }) >= Self.greatestOpen { try sync(&files) }
    }

    /// Waits until all files are on the disk.
    private func sync(_ files: inout [NewFile]) throws(StoreError) {
        var pending: [(descriptor: Int32, path: String)] = []
        for position in files.indices {
            guard let descriptor = files[position].descriptor else { continue }
            files[position].descriptor = nil
            pending.append((descriptor, files[position].path))
        }
        try FileSync.wait(pending)
    }

    /// The state of a file that is to be stored.
    private enum Presence {
        case absent, stored
        /// The index lists it, but its file is missing or different, perhaps the reason for fetching the tile again.
        case damaged
    }

    private func presence(of part: FetchedPart) throws(StoreError) -> Presence {
        let isKnown = try access.read { index in
            try Int64.fetchOne(
                try index.cachedStatement(sql: "SELECT 1 FROM objects WHERE hash = ? AND uses > 0"),
                arguments: [part.hash.blob]) != nil
        }
        guard isKnown else { return .absent }
        return (try? Files.read(folder.object(part.hash))) == part.data ? .stored : .damaged
    }

    /// Unlinks those files that the index does not list.
    private func removeUnused(_ hashes: [ContentHash]) {
        for hash in hashes {
            let isKnown = try? access.read { index in
                try Int64.fetchOne(
                    try index.cachedStatement(sql: "SELECT 1 FROM objects WHERE hash = ? AND uses > 0"),
                    arguments: [hash.blob]) != nil
            }
            if isKnown == false { Files.remove(folder.object(hash)) }
        }
    }

    // MARK: Tiles on board

    @discardableResult
    package func revalidate(
        _ tiles: [(tile: RegionTile, validators: Validators)], now: Timestamp
    ) throws(StoreError) -> Set<RegionTile> {
        let needed = order.withLock { $0.moment(now) }
        return try write { writer throws(StoreError) in
            try change(&writer) { index in
                let update = try index.cachedStatement(
                    sql: """
                        UPDATE tiles SET etag = ?, last_modified = ?, expires = ?, needed = max(needed, ?), fetched = ?
                        WHERE id = ?
                        """)
                var onBoard: Set<RegionTile> = []
                for (tile, validators) in tiles {
                    let key = EditionKey(tile.address.tileset, tile.edition)
                    guard let edition = try EditionRow.number(key, index) else { continue }
                    let bounded = TileInsertion.bounded(validators)
                    try update.execute(
                        arguments: [
                            bounded.etag, bounded.lastModified, bounded.expires?.nanoseconds, needed.nanoseconds,
                            now.nanoseconds, TileNumber.of(tile.address.tile, edition: edition),
                        ])
                    if index.changesCount > 0 { onBoard.insert(tile) }
                }
                return onBoard
            }
        }
    }

    /// Returns the bytes of a tile's file after verifying their hash.
    ///
    /// - Throws: ``StoreError`` `corruptObject` when they differ from what was stored: the file has been quarantined,
    ///   and the tiles that use it are no longer on board; `missing` when the tile was evicted or replaced since it was
    ///   looked up: look it up again.
    package func data(of tile: TileRecord, part: TilePart = .body) throws(StoreError) -> [UInt8] {
        do throws(StoreError) {
            return try reader.data(of: tile, part: part)
        } catch {
            guard error.code == .corruptObject || error.code == .missing,
                let hash = tile.parts.first(where: { $0.part == part })?.hash
            else { throw error }
            guard try quarantine(hash).removedCount > 0 else { throw error }
            throw StoreError(
                .corruptObject,
                "tile \(tile.address) was damaged on the disk and has been removed; fetch it again (\(error))")
        }
    }

    /// Verifies a suspect file; if it is damaged, removes it from the store with the tiles that use it.
    ///
    /// The damage is counted, and the tiles are recorded as lost (``takeLosses()``). At most 16 such files are kept in
    /// `quarantine`.
    ///
    /// - Throws: ``StoreError`` `exhausted` when it cannot be verified, `missing` when the store's folder is gone; the
    ///   file stays.
    @discardableResult
    package func quarantine(_ hash: ContentHash) throws(StoreError) -> RemovalReport {
        try write { writer throws(StoreError) in
            try folder.requireObjects()
            let path = folder.object(hash)
            // An intact file may have replaced it meanwhile.
            if let bytes = try Files.content(path), try ContentHash.checked(bytes) == hash { return RemovalReport() }
            if Files.status(path) != nil {
                try? Files.makeDirectory(folder.quarantine)
                // The oldest files are removed first.
                let kept = ((try? Files.list(folder.quarantine)) ?? []).map { folder.quarantine + "/" + $0 }
                let byAge = kept.map { (Files.status($0)?.modified ?? 0, $0) }.sorted { $0 < $1 }
                for (_, path) in byAge.dropLast(15) { Files.remove(path) }
                try? Files.move(path, to: folder.quarantine + "/" + hash.hexadecimal)
            }
            var lost: [RegionTile] = []
            let report = try clear(&writer) { index in
                let numbers = try Int64.fetchAll(
                    index, sql: "SELECT id FROM tiles WHERE body = ?1 OR ranks = ?1", arguments: [hash.blob])
                guard !numbers.isEmpty else { return RemovalReport() }
                lost = try numbers.compactMap { try EditionRow.tile($0, index) }
                try index.execute(sql: "UPDATE totals SET corrupt_count = corrupt_count + 1")
                try RegionRow.noteLoss(of: numbers, index)
                return try TileRemoval.remove(numbers, index)
            }
            losses.withLock { $0 += lost }
            return report
        }
    }
}
