internal import Foundation
internal import GRDB
internal import NavGeo
import NavStorage
import NavTileCache

/// The rows of the tables of tilesets and editions.
enum EditionRow {
    /// Returns the number of an edition; nil when it is not on board.
    static func number(_ key: EditionKey, _ index: Database) throws -> Int64? {
        let find = try index.cachedStatement(
            sql: """
                SELECT e.id FROM tilesets s JOIN editions e ON e.tileset = s.id
                WHERE s.name = ? AND e.version = ?
                """)
        return try Int64.fetchOne(find, arguments: [key.tileset, key.version])
    }

    /// Returns an edition's key and domain by its number.
    static func key(_ number: Int64, _ index: Database) throws -> (key: EditionKey, domain: TileDomain)? {
        let find = try index.cachedStatement(
            sql: """
                SELECT s.name, e.version, s.domain FROM editions e JOIN tilesets s ON s.id = e.tileset WHERE e.id = ?
                """)
        guard let row = try Row.fetchOne(find, arguments: [number]) else { return nil }
        return (EditionKey(row.text(0), row.text(1)), TileDomain(rawValue: row.text(2)) ?? .maps)
    }

    /// Returns the tile of a number in the index; nil when the number is invalid.
    static func tile(_ number: Int64, _ index: Database) throws -> RegionTile? {
        guard let tile = TileNumber.tile(number), let edition = try key(TileNumber.edition(number), index)?.key else {
            return nil
        }
        return RegionTile(TileAddress(edition.tileset, tile), edition: edition.version)
    }

    static func all(_ index: Database, _ folder: StoreFolder) throws -> [EditionRecord] {
        let rows = try Row.fetchCursor(
            index,
            sql: """
                SELECT s.name, e.version, s.domain, s.current IS e.id, e.added, e.tile_count, s.current_since
                FROM editions e JOIN tilesets s ON s.id = e.tileset ORDER BY s.name, e.version
                """)
        var records: [EditionRecord] = []
        while let row = try rows.next() {
            let key = EditionKey(row.text(0), row.text(1))
            let domain = TileDomain(rawValue: row.text(2)) ?? .maps
            records.append(
                EditionRecord(
                    key: key, domain: domain,
                    inUseSince: row.integer(3) != 0 ? Timestamp(nanoseconds: row.integer(6)) : nil,
                    added: Timestamp(nanoseconds: row.integer(4)),
                    tileCount: row.integer(5),
                    viewPath: domain == .navigation ? try folder.view(key) : nil))
        }
        return records
    }

    static func edition(_ key: EditionKey, _ index: Database) throws -> TilesetEdition? {
        guard
            let row = try Row.fetchOne(
                index,
                sql: """
                    SELECT s.domain, d.zoom_min, d.zoom_max, d.south, d.west, d.north, d.east, d.attribution,
                      d.media_type, d.document, d.listing
                    FROM tilesets s JOIN editions e ON e.tileset = s.id JOIN edition_documents d ON d.edition = e.id
                    WHERE s.name = ? AND e.version = ?
                    """, arguments: [key.tileset, key.version])
        else { return nil }
        let low = UInt8(clamping: row.integer(1))
        let high = UInt8(clamping: row.integer(2))
        var bounds: BoundingBox?
        if let south = row[3] as Double?, let west = row[4] as Double?, let north = row[5] as Double?,
            let east = row[6] as Double?
        {
            bounds = BoundingBox(south: south, west: west, north: north, east: east)
        }
        let listing = row[10] as Data?
        return TilesetEdition(
            tileset: key.tileset, domain: TileDomain(rawValue: row.text(0)) ?? .maps, version: key.version,
            zooms: low...max(low, high), bounds: bounds, tiles: listing.flatMap { TileListing.decode([UInt8]($0)) },
            document: [UInt8](row[9] as Data? ?? Data()), attribution: row.text(7), mediaType: row[8])
    }

    /// Adds an edition, or replaces its document and list; returns its number.
    static func put(_ edition: TilesetEdition, _ now: Timestamp, _ index: Database) throws -> Int64 {
        let key = EditionKey(edition.tileset, edition.version)
        let domain = try String.fetchOne(
            index, sql: "SELECT domain FROM tilesets WHERE name = ?", arguments: [edition.tileset])
        if let domain, domain != edition.domain.rawValue {
            throw StoreError(
                .invalid,
                "tileset '\(edition.tileset)' is stored for domain '\(domain)', not '\(edition.domain.rawValue)'; give "
                    + "the new one another name")
        }
        if domain == nil {
            try index.execute(
                sql: "INSERT INTO tilesets(name, domain) VALUES (?, ?)",
                arguments: [edition.tileset, edition.domain.rawValue])
        }
        let number: Int64
        if let known = try self.number(key, index) {
            number = known
        } else {
            number = try freeNumber(index)
            try index.execute(
                sql: """
                    INSERT INTO editions(id, tileset, version, added)
                    SELECT ?, id, ?, ? FROM tilesets WHERE name = ?
                    """, arguments: [number, edition.version, now.nanoseconds, edition.tileset])
            try index.execute(
                sql: "UPDATE tilesets SET current = ?, current_since = ? WHERE name = ? AND current IS NULL",
                arguments: [number, now.nanoseconds, edition.tileset])
        }
        let bounds = edition.bounds
        try index.execute(
            sql: "INSERT OR REPLACE INTO edition_documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                number, Int64(edition.zooms.lowerBound), Int64(edition.zooms.upperBound), bounds?.south, bounds?.west,
                bounds?.north, bounds?.east, edition.attribution, edition.mediaType, Data(edition.document),
                edition.tiles.map { Data(TileListing.encode($0)) },
            ])
        return number
    }

    /// Returns the lowest unused number.
    private static func freeNumber(_ index: Database) throws -> Int64 {
        let taken = Set(try Int64.fetchAll(index, sql: "SELECT id FROM editions"))
        guard let number = (1...TileNumber.greatestEdition).first(where: { !taken.contains($0) }) else {
            throw StoreError(
                .invalid, "the store has \(taken.count) editions, the most it can hold; remove unused ones")
        }
        return number
    }

    static func use(_ key: EditionKey, _ now: Timestamp, _ index: Database) throws {
        guard let number = try number(key, index) else { throw unknown(key) }
        try index.execute(
            sql: "UPDATE tilesets SET current = ?1, current_since = ?2 WHERE name = ?3 AND current IS NOT ?1",
            arguments: [number, now.nanoseconds, key.tileset])
    }

    static func unknown(_ key: EditionKey) -> StoreError {
        StoreError(.invalid, "edition '\(key)' is not in the store; add it before its tiles")
    }
}
