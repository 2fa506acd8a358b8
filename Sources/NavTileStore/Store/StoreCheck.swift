internal import GRDB
internal import Glibc
import NavDigest
internal import NavGeo
import NavStorage
import NavTileCache

/// A consistency check of index, files, hashes, folders for mapping and pins.
///
/// It may run while an owner writes, or after an owner was killed. A suspected fault is rechecked in the current index,
/// so that a file being stored, or one that the index lists as outdated, is not reported.
struct StoreCheck {
    private let access: IndexAccess
    private let readsContent: Bool
    /// Repairs a fault and returns whether it succeeded; nil for a read-only check.
    private let repair: ((Fault) -> Bool)?
    private var report = CheckReport()

    private var folder: StoreFolder { access.folder }
    private var files: TileFiles { TileFiles(access: access) }

    enum Fault {
        /// The object file of a hash is missing or damaged.
        case object(ContentHash)
        /// A file that may be removed.
        case file(String)
        /// The files of a tile in the folder for mapping.
        case tile(Int64)
        case counts
        /// `current` of a tileset, or an edition's `tileset.json`.
        case edition(EditionKey)
        case region(String)
        /// A fault that cannot be repaired while the store is open.
        case none
    }

    init(access: IndexAccess, readsContent: Bool = true, repair: ((Fault) -> Bool)? = nil) {
        self.access = access
        self.readsContent = readsContent
        self.repair = repair
    }

    /// Runs all checks.
    mutating func run() throws(StoreError) -> CheckReport {
        report.tileCount = try access.snapshot { try Int64.fetchOne($0, sql: "SELECT count(*) FROM tiles") ?? 0 }
        try checkIndex()
        for group in UInt8.min...UInt8.max { try checkObjects(group) }
        try checkCounts()
        try checkViews()
        try checkRegions()
        return report
    }

    private mutating func find(_ kind: CheckFinding.Kind, _ subject: String, _ detail: String, _ fault: Fault) {
        let isRepaired = repair?(fault) ?? false
        report.findingCount += 1
        if isRepaired { report.repairedCount += 1 }
        guard report.findings.count < CheckReport.greatestFindings else { return }
        report.findings.append(
            CheckFinding(kind: kind, subject: subject, detail: detail, isRepaired: isRepaired))
    }

    // MARK: Index

    private mutating func checkIndex() throws(StoreError) {
        let faults = try access.snapshot { index in
            try String.fetchAll(index, sql: "PRAGMA integrity_check(20)").filter { $0 != "ok" }
        }
        for fault in faults { find(.index, "index.sqlite", fault, .none) }
    }

    /// Queries that recompute the counts maintained by triggers.
    private static let counts = [
        (
            "uses of files",
            """
            SELECT count(*) FROM (
              SELECT hash, uses FROM objects WHERE uses > 0
              EXCEPT SELECT hash, count(*) FROM (
                SELECT body AS hash FROM tiles UNION ALL SELECT ranks FROM tiles WHERE ranks IS NOT NULL)
              GROUP BY hash)
            """
        ),
        (
            "files of tiles",
            """
            SELECT count(*) FROM tiles t WHERE NOT EXISTS (SELECT 1 FROM objects WHERE hash = t.body AND uses > 0)
              OR (t.ranks IS NOT NULL AND NOT EXISTS (SELECT 1 FROM objects WHERE hash = t.ranks AND uses > 0))
            """
        ),
        ("pins of tiles", "SELECT count(*) FROM tiles t WHERE pins <> (SELECT count(*) FROM pins WHERE tile = t.id)"),
        (
            "totals of editions",
            """
            SELECT count(*) FROM editions e LEFT JOIN (
              SELECT id >> 49 AS edition, count(*) AS tiles, sum(body_bytes + ifnull(ranks_bytes, 0)) AS bytes,
                sum(pins > 0) AS pinned FROM tiles GROUP BY 1) t ON t.edition = e.id
            WHERE e.tile_count <> ifnull(t.tiles, 0) OR e.tile_bytes <> ifnull(t.bytes, 0)
              OR e.pinned_count <> ifnull(t.pinned, 0)
            """
        ),
        (
            "totals of the store",
            """
            SELECT count(*) FROM totals WHERE object_count <> (SELECT count(*) FROM objects WHERE uses > 0)
              OR object_bytes <> (SELECT ifnull(sum(bytes), 0) FROM objects WHERE uses > 0)
            """
        ),
    ]

    /// Recomputes all counts.
    static let recount = """
        UPDATE objects SET uses = (SELECT count(*) FROM tiles WHERE body = hash OR ranks = hash)
          WHERE (hash, uses) NOT IN (
            SELECT hash, count(*) FROM (
              SELECT body AS hash FROM tiles UNION ALL SELECT ranks FROM tiles WHERE ranks IS NOT NULL)
            GROUP BY hash);
        INSERT OR IGNORE INTO objects
          SELECT hash, bytes, count(*) FROM (
            SELECT body AS hash, body_bytes AS bytes FROM tiles
            UNION ALL SELECT ranks, ranks_bytes FROM tiles WHERE ranks IS NOT NULL)
          GROUP BY hash;
        UPDATE tiles SET pins = (SELECT count(*) FROM pins WHERE tile = tiles.id)
          WHERE pins <> (SELECT count(*) FROM pins WHERE tile = tiles.id);
        UPDATE editions SET
          tile_count = (SELECT count(*) FROM tiles WHERE id >> 49 = editions.id),
          tile_bytes = (SELECT ifnull(sum(body_bytes + ifnull(ranks_bytes, 0)), 0) FROM tiles WHERE id >> 49 = editions.id),
          pinned_count = (SELECT count(*) FROM tiles WHERE id >> 49 = editions.id AND pins > 0);
        UPDATE totals SET object_count = (SELECT count(*) FROM objects WHERE uses > 0),
          object_bytes = (SELECT ifnull(sum(bytes), 0) FROM objects WHERE uses > 0);
        """

    private mutating func checkCounts() throws(StoreError) {
        for (name, query) in Self.counts {
            let count = try access.snapshot { index in try Int64.fetchOne(index, sql: query) ?? 0 }
            if count > 0 { find(.count, "index.sqlite", "\(name): \(count) wrong", .counts) }
        }
    }

    // MARK: Files

    /// Checks the files whose hashes begin with one byte.
    private mutating func checkObjects(_ first: UInt8) throws(StoreError) {
        let digits = ContentHash.hexadecimal([first])
        var names = Set(try Files.list("\(folder.objects)/\(digits)"))
        let known = try access.snapshot { index in
            try Row.fetchAll(
                index, sql: "SELECT hash, bytes FROM objects WHERE uses > 0 AND hash >= ? AND hash < ?",
                arguments: [
                    ContentHash.blob([first]),
                    ContentHash.blob(first == 255 ? [UInt8](repeating: 255, count: 33) : [first + 1]),
                ]
            ).compactMap { row in try TileRow.hash(row, 0).map { (hash: $0, bytes: row.integer(1)) } }
        }
        for object in known {
            names.remove(String(object.hash.hexadecimal.dropFirst(2)))
            let fault = try files.fault(object.hash, object.bytes, readsContent: readsContent)
            if let fault, try uses(object.hash) ?? 0 > 0 {
                find(fault.kind, folder.objectName(object.hash), fault.detail, .object(object.hash))
            }
            report.objectCount += 1
            report.objectBytes += object.bytes
        }
        for name in names.sorted() {
            let subject = "objects/\(digits)/\(name)"
            guard let hash = ContentHash(folder: digits, file: name) else {
                find(.foreign, subject, "not a file of the store", .none)
                continue
            }
            // A file being stored has no row yet: it is listed in its batch, or its row exists by now. A file about to
            // be unlinked still has a row.
            if try uses(hash) == nil, try folder.filesOfBatch()?.contains(hash) != true, try uses(hash) == nil {
                if Files.status(folder.object(hash)) != nil {
                    find(.orphan, subject, "no tile uses it", .file(folder.object(hash)))
                }
            }
        }
    }

    /// Returns the current number of tiles that use a file; nil when the index does not list it.
    private func uses(_ hash: ContentHash) throws(StoreError) -> Int64? {
        try access.read { index in
            try Int64.fetchOne(
                try index.cachedStatement(sql: "SELECT uses FROM objects WHERE hash = ?"), arguments: [hash.blob])
        }
    }

    // MARK: Folders for mapping

    private mutating func checkViews() throws(StoreError) {
        let editions = try access.snapshot { index in try EditionRow.all(index, folder) }
        for edition in editions {
            guard let path = edition.viewPath else { continue }
            if try lasts({ () throws(StoreError) in try files.documentFault(edition.key, path) }) != nil {
                find(
                    .view, folder.relative(path) + "/tileset.json", "not the edition's document",
                    .edition(edition.key))
            }
            if let detail = try lasts({ () throws(StoreError) in try files.currentFault(edition.key) }),
                try !isStillToFollow(edition.key, among: editions.map(\.key))
            {
                let link = folder.tileset(edition.key.tileset) + "/current"
                find(.current, folder.relative(link), detail, .edition(edition.key))
            }
            try checkView(edition.key, path)
        }
    }

    /// Returns a fault if it persists: files lag behind the index by a few milliseconds while an owner writes.
    private func lasts(_ fault: () throws(StoreError) -> String?) throws(StoreError) -> String? {
        var found = try fault()
        for _ in 0..<10 where found != nil && repair == nil {
            usleep(20_000)
            found = try fault()
        }
        return found
    }

    /// Whether `current` still points to a former edition because the owner ended before switching it; the next owner
    /// switches it.
    private func isStillToFollow(_ key: EditionKey, among editions: [EditionKey]) throws(StoreError) -> Bool {
        let target = Files.linkTarget(folder.tileset(key.tileset) + "/current")
        guard repair == nil, !FolderLock.isHeld(folder) else { return false }
        for edition in editions where edition.tileset == key.tileset {
            if try StoreFolder.folderName(ofVersion: edition.version) == target { return true }
        }
        return false
    }

    private mutating func checkView(_ key: EditionKey, _ path: String) throws(StoreError) {
        let number = try access.read { try EditionRow.number(key, $0) }
        guard let number else { return }
        let range = TileNumber.range(ofEdition: number)
        var tiles = Set(
            try access.snapshot { index in
                try Int64.fetchAll(
                    index, sql: "SELECT id FROM tiles WHERE id BETWEEN ? AND ?",
                    arguments: [range.lowerBound, range.upperBound])
            })
        for zoom in try Files.list(path) where zoom != "tileset.json" {
            for x in try Files.list(path + "/" + zoom) {
                for name in try Files.list("\(path)/\(zoom)/\(x)") {
                    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
                    let tile = UInt8(zoom).flatMap { zoom in
                        UInt32(x).flatMap { x in UInt32(parts[0]).flatMap { TileID(zoom: zoom, x: x, y: $0) } }
                    }
                    let file = "\(path)/\(zoom)/\(x)/\(name)"
                    guard let tile,
                        TilePart.allCases.contains(where: {
                            file == path + "/" + StoreFolder.viewFile(tile, $0)
                        })
                    else {
                        find(.foreign, folder.relative(file), "not a file of the store", .none)
                        continue
                    }
                    tiles.insert(TileNumber.of(tile, edition: number))
                }
            }
        }
        for tile in tiles.sorted() {
            guard let place = TileNumber.tile(tile),
                let detail = try lasts({ () throws(StoreError) in
                    // A repair runs in the owner, and therefore also handles files that the index lists as outdated.
                    try files.viewFault(tile, path, place, isLenient: repair == nil)
                })
            else { continue }
            find(.view, folder.relative(path + "/" + StoreFolder.viewFile(place, .body)), detail, .tile(tile))
        }
    }

    // MARK: Regions

    private mutating func checkRegions() throws(StoreError) {
        let incomplete = try access.snapshot { index in
            try RegionRow.all(index).filter { $0.state == .complete }.filter { region in
                guard let place = try RegionRow.number(region.definition.id, index) else { return false }
                return try !RegionRow.missing(place.number, isStaged: false, expiredAt: nil, limit: 1, index).isEmpty
            }
        }
        for region in incomplete {
            find(
                .region, region.definition.id, "complete, but tiles are missing", .region(region.definition.id))
        }
    }
}
