internal import Foundation
internal import GRDB
package import NavDigest
internal import NavGeo
import NavTileCache

enum TileRow {
    private static let columns = """
        t.id, t.body, t.body_bytes, t.body_kind, t.ranks, t.ranks_bytes, t.ranks_kind,
        t.etag, t.last_modified, t.expires, t.needed, t.pins, e.version, t.fetched
        """

    /// A tile of the edition in use, by tileset and key.
    static let byUse = """
        SELECT \(columns) FROM tilesets s JOIN editions e ON e.id = s.current
        JOIN tiles t ON t.id = (e.id << 49) | ?2 WHERE s.name = ?1
        """

    /// A tile of an edition, by tileset, key and version.
    static let byVersion = """
        SELECT \(columns) FROM tilesets s JOIN editions e ON e.tileset = s.id AND e.version = ?3
        JOIN tiles t ON t.id = (e.id << 49) | ?2 WHERE s.name = ?1
        """

    /// Returns the tile of a row of `byUse` or `byVersion`.
    static func record(
        _ row: Row, _ address: TileAddress, _ now: Timestamp, _ access: IndexAccess, _ index: Database
    ) throws -> TileRecord? {
        guard let body = try part(.body, row, 1, access, index) else { return nil }
        var parts = [body]
        if let ranks = try part(.ranks, row, 4, access, index) { parts.append(ranks) }
        let expires = (row[9] as Int64?).map { Timestamp(nanoseconds: $0) }
        let isDoubtful = row.integer(13) > WallClock.latestFetch(now)
        return TileRecord(
            address: address, edition: row.text(12), parts: parts,
            validators: Validators(etag: row[7], lastModified: row[8], expires: expires),
            isExpired: expires.map { $0 <= now || isDoubtful } ?? false, isPinned: row.integer(11) > 0,
            lastNeeded: Timestamp(nanoseconds: row.integer(10)), number: row.integer(0))
    }

    private static func part(
        _ part: TilePart, _ row: Row, _ column: Int, _ access: IndexAccess, _ index: Database
    ) throws -> PartRecord? {
        guard let hash = try hash(row, column) else { return nil }
        let kind = try access.kind(row.integer(column + 2), index)
        return PartRecord(
            part: part, hash: hash, bytes: row.integer(column + 1), contentEncoding: kind.encoding,
            mediaType: kind.mediaType,
            path: access.folder.object(hash))
    }

    /// Returns the hash in a column; nil when it is missing or malformed.
    static func hash(_ row: Row, _ column: Int) throws -> ContentHash? {
        try row.withUnsafeData(atIndex: column) { data in data.flatMap { ContentHash(bytes: [UInt8]($0)) } }
    }
}

extension Row {
    /// Returns the number in a column; 0 if it is missing because the index is damaged.
    func integer(_ column: Int) -> Int64 { self[column] as Int64? ?? 0 }

    /// Returns the text in a column; empty if it is missing because the index is damaged.
    func text(_ column: Int) -> String { self[column] as String? ?? "" }
}

extension ContentHash {
    /// The hash as a column of the index.
    var blob: Data { ContentHash.blob(bytes) }

    /// Returns a hash prefix as a column of the index, to search for all hashes that begin with it.
    static func blob(_ beginning: [UInt8]) -> Data { Data(beginning) }

    /// Creates the hash from a file's path below `objects`; nil for a name that the store never creates.
    package init?(folder: String, file: String) {
        guard folder.utf8.count == 2, folder.lowercased() == folder, file.lowercased() == file else { return nil }
        self.init(hexadecimal: folder + file)
    }
}
