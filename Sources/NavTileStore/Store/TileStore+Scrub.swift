internal import GRDB
import NavDigest
internal import NavGeo
package import NavStorage
package import NavTileCache
internal import Synchronization

extension TileStore {
    package func savedScrubPosition() -> ScrubPosition {
        var place = ScrubPosition()
        guard let text = try? Files.read(folder.scrub, limit: 64),
            let number = Int64(String(decoding: text, as: UTF8.self))
        else { return place }
        place.stage = .tiles(number)
        return place
    }

    package func saveScrubPosition(_ place: ScrubPosition) {
        guard case .tiles(let number) = place.stage else {
            Files.remove(folder.scrub)
            return
        }
        if let file = try? Files.write(Array("\(number)".utf8), to: folder.scrub) { Files.close(file) }
    }

    package func requireFolder() throws(StoreError) { try folder.requireObjects() }

    private static let greatestStepCount = 256
    /// The minimum cost of a file, bytes.
    private static let leastCost: Int64 = 4_096

    /// Checks the files of some tiles on board, and repairs them if possible.
    ///
    /// Damaged tiles leave the store (see ``takeLosses()``), and missing files for mapping are restored. The cost of a
    /// step is proportional to its bytes. A full round of steps finds everything that a check finds in tile files,
    /// `tileset.json` and `current`.
    ///
    /// - Parameters:
    ///   - place: The position where the last step ended.
    ///   - limit: The number of bytes after which the step ends; at least one file is checked.
    /// - Throws: ``StoreError`` `missing` when the store's folder is gone, as on a removed disk, so that absent files
    ///   are not mistaken for damage; `exhausted` when the machine lacks resources to check.
    package func scrub(from place: ScrubPosition, bytes limit: Int64) throws(StoreError) -> ScrubReport {
        try folder.requireObjects()
        if place == ScrubPosition() { try settleNotes() }
        var report = ScrubReport()
        report.place = place
        if case .editions(let last) = place.stage {
            try scrubEdition(after: last, &report)
            return report
        }
        guard case .tiles(let last) = place.stage else { return report }
        let rows = try access.snapshot { index in
            try Row.fetchAll(
                try index.cachedStatement(
                    sql: """
                        SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE id > ? ORDER BY id LIMIT ?
                        """), arguments: [last, Self.greatestStepCount])
        }
        for row in rows {
            guard report.bytes < limit else { return report }
            try scrubTile(row, &report)
            report.tileCount += 1
            report.place.stage = .tiles(row.integer(0))
        }
        if rows.count < Self.greatestStepCount { (report.place, report.isRound) = (ScrubPosition(), true) }
        return report
    }

    /// Records in the index which files are up to date again; files that may be outdated are skipped.
    private func settleNotes() throws(StoreError) {
        try write { writer throws(StoreError) in
            guard !writer.settled.isEmpty || !writer.unlinked.isEmpty else { return }
            try change(&writer) { _ in }
        }
    }

    private func scrubEdition(after last: EditionKey?, _ report: inout ScrubReport) throws(StoreError) {
        let editions = try access.snapshot { index in try EditionRow.all(index, folder) }
        let rest = last.map { last in editions.drop { $0.key != last }.dropFirst() } ?? editions[...]
        guard let edition = rest.first else {
            report.place.stage = .tiles(.min)
            return
        }
        report.place.stage = .editions(edition.key)
        guard let path = edition.viewPath else { return }
        let files = TileFiles(access: access)
        let (document, link) = (path + "/tileset.json", folder.tileset(edition.key.tileset) + "/current")
        report.bytes += max(Files.status(document)?.size ?? 0, Self.leastCost)
        if let detail = try files.documentFault(edition.key, path) {
            find(.view, document, detail, .edition(edition.key), &report)
        }
        if let detail = try files.currentFault(edition.key) {
            find(.current, link, detail, .edition(edition.key), &report)
        }
    }

    private func scrubTile(_ row: Row, _ report: inout ScrubReport) throws(StoreError) {
        let files = TileFiles(access: access)
        let number = row.integer(0)
        for (column, bytes) in [(1, row.integer(2)), (3, row.integer(4))] {
            guard let hash = (try? TileRow.hash(row, column)) ?? nil else { continue }
            report.bytes += max(bytes, Self.leastCost)
            guard let fault = try files.fault(hash, bytes, asksDisk: true), try isOnBoard(number) else { continue }
            find(fault.kind, folder.object(hash), fault.detail, .object(hash), &report)
        }
        guard row.hasRanks, let place = TileNumber.tile(number), try isOnBoard(number) else { return }
        let edition = try access.read { index in try EditionRow.key(TileNumber.edition(number), index)?.key }
        guard let edition else { return }
        let path = try folder.view(edition)
        if let detail = try files.viewFault(number, path, place, isLenient: true) {
            find(.view, path + "/" + StoreFolder.viewFile(place, .body), detail, .tile(number), &report)
        }
    }

    private func isOnBoard(_ number: Int64) throws(StoreError) -> Bool {
        try access.read { index in
            try Int64.fetchOne(
                try index.cachedStatement(sql: "SELECT 1 FROM tiles WHERE id = ?"), arguments: [number]) != nil
        }
    }

    private func find(
        _ kind: CheckFinding.Kind, _ path: String, _ detail: String, _ fault: StoreCheck.Fault,
        _ report: inout ScrubReport
    ) {
        report.findings.append(
            CheckFinding(
                kind: kind, subject: folder.relative(path), detail: detail, isRepaired: repair(fault)))
    }

    package func takeLosses() -> [RegionTile] {
        losses.withLock { losses in
            defer { losses = [] }
            return losses
        }
    }
}

extension TileStoreReader {
    package func lacking(_ tiles: [RegionTile]) throws(StoreError) -> [RegionTile] {
        try access.snapshot { index in
            let find = try index.cachedStatement(
                sql: """
                    SELECT 1 FROM pins JOIN regions ON regions.id = pins.region WHERE tile = ?1 AND state <> ?2
                    AND NOT EXISTS (SELECT 1 FROM tiles WHERE id = ?1)
                    """)
            return try tiles.filter { tile in
                let key = EditionKey(tile.address.tileset, tile.edition)
                guard let edition = try EditionRow.number(key, index) else { return false }
                let number = TileNumber.of(tile.address.tile, edition: edition)
                let cancelled = StoredRegionState.cancelled.rawValue
                return try Int64.fetchOne(find, arguments: [number, cancelled]) != nil
            }
        }
    }
}

extension Row {
    /// Whether this row of the scrub is a road tile.
    fileprivate var hasRanks: Bool { !hasNull(atIndex: 3) }
}
