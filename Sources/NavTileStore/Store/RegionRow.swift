internal import Foundation
internal import GRDB
internal import NavGeo
import NavStorage
import NavTileCache

/// The rows of the table of regions, and of their pins.
enum RegionRow {
    private static let columns = """
        SELECT name, definition, editions, staged_definition, staged_editions, state, progress, failure, created,
          updated, needs_planning FROM regions
        """

    static func all(_ index: Database) throws -> [StoredRegion] {
        try Row.fetchAll(index, sql: columns + " ORDER BY name").map(region)
    }

    static func one(_ id: String, _ index: Database) throws -> StoredRegion? {
        try Row.fetchOne(index, sql: columns + " WHERE name = ?", arguments: [id]).map(region)
    }

    private static func region(_ row: Row) -> StoredRegion {
        var definition = decode(StoredRegionDefinition.self, row[1]) ?? StoredRegionDefinition(id: row.text(0))
        definition.id = row.text(0)
        var staged: StagedRegion?
        if let next = decode(StoredRegionDefinition.self, row[3]) {
            staged = StagedRegion(definition: next, editions: decode([String: String].self, row[4]) ?? [:])
        }
        return StoredRegion(
            definition: definition, editions: decode([String: String].self, row[2]) ?? [:],
            state: StoredRegionState(rawValue: row.text(5)) ?? .incomplete,
            progress: decode(StoredRegionProgress.self, row[6]) ?? StoredRegionProgress(),
            created: Timestamp(nanoseconds: row.integer(8)), updated: Timestamp(nanoseconds: row.integer(9)),
            failure: decode(StoredRegionFailure.self, row[7]), staged: staged, needsPlanning: row.integer(10) != 0)
    }

    struct Place {
        var number: Int64
        var isStaged: Bool
        /// Whether it was ever complete, in which case an update is staged.
        var wasComplete: Bool
    }

    /// Returns the place of a region in the index; nil when the id is unknown.
    static func number(_ id: String, _ index: Database) throws -> Place? {
        let find = try index.cachedStatement(
            sql: "SELECT id, staged_definition IS NOT NULL, was_complete FROM regions WHERE name = ?")
        return try Row.fetchOne(find, arguments: [id]).map {
            Place(number: $0.integer(0), isStaged: $0.integer(1) != 0, wasComplete: $0.integer(2) != 0)
        }
    }

    /// The rows of `pins` that remain whatever is loaded for a region, as SQL with the two arguments of
    /// ``ownPins(_:_:)``.
    ///
    /// They are the pins of other regions, and the region's own pins while it is being updated.
    static let pinsOfOthers = "NOT (region = ?1 AND staged >= ?2)"

    /// Returns the arguments of ``pinsOfOthers`` for a region; a region that is not in the index has no pins.
    static func ownPins(_ id: String, _ index: Database) throws -> StatementArguments {
        let region = try number(id, index)
        return [region?.number ?? -1, region?.wasComplete ?? false]
    }

    static func unknown(_ id: String) -> StoreError {
        StoreError(.missing, "region '\(id)' is not in the store; list the stored regions")
    }

    /// Returns the first `limit` missing tiles of a region after `last`.
    static func missing(
        _ number: Int64, isStaged: Bool, expiredAt moment: Timestamp?, now: Timestamp? = nil, after last: Int64 = .min,
        limit: Int, _ index: Database
    ) throws -> [Int64] {
        try Int64.fetchAll(
            index,
            sql: """
                SELECT p.tile FROM pins p LEFT JOIN tiles t ON t.id = p.tile
                WHERE p.region = ? AND p.staged = ? AND p.tile > ? AND (t.id IS NULL OR ifnull(t.expires <= ?, 0)
                  OR (t.expires IS NOT NULL AND ifnull(t.fetched > ?, 0)))
                ORDER BY p.tile LIMIT ?
                """,
            arguments: [
                number, isStaged, last, moment?.nanoseconds, WallClock.latestFetch(moment == nil ? nil : now ?? moment),
                limit == .max ? -1 : max(limit, 0),
            ])
    }

    /// Marks complete regions incomplete when they need any of the lost tiles.
    static func noteLoss(of tiles: [Int64], _ index: Database) throws {
        let note = try index.cachedStatement(
            sql: """
                UPDATE regions SET state = 'incomplete' WHERE state = 'complete'
                AND id IN (SELECT region FROM pins WHERE tile = ? AND staged = 0)
                """)
        for tile in tiles { try note.execute(arguments: [tile]) }
    }

    // MARK: Encoding

    static func encode(_ value: (some Encodable)?) throws -> String? {
        guard let value else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ text: String?) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
}

/// The list of regions, in a file beside the index: regions were requested by users and must survive a damaged index.
struct RegionList: Codable {
    /// A region as last stored or completed.
    struct Item: Codable {
        var definition: StoredRegionDefinition
        var editions: [String: String]
        var created: Int64
    }

    var regions: [Item]

    /// All regions of an index, with their staged definition where there is one.
    init(_ regions: [StoredRegion]) {
        self.regions = regions.map { region in
            Item(
                definition: region.staged?.definition ?? region.definition,
                editions: region.staged?.editions ?? region.editions, created: region.created.nanoseconds)
        }
    }

    init?(_ folder: StoreFolder) throws(StoreError) {
        guard let bytes = try Files.content(folder.regions, limit: 1 << 28),
            let list = try? JSONDecoder().decode(RegionList.self, from: Data(bytes))
        else { return nil }
        self = list
    }

    func write(_ folder: StoreFolder, _ temporary: String) throws(StoreError) {
        guard let text = try? RegionRow.encode(self) else {
            throw StoreError(
                .invalid,
                "cannot write the regions to '\(folder.regions)': one contains a number that is not finite; remove it "
                    + "and load it again")
        }
        try Files.replace(folder.regions, with: Array(text.utf8), by: temporary)
    }
}
