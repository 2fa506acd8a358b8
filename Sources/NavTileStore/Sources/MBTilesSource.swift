import Dispatch
import GRDB
import NavGeo
import NavHTTP
import NavTileCache
import Synchronization

/// The map tiles of an MBTiles file (version 1.3), read only.
final class MBTilesSource: TileSource {
    private struct Known: Sendable {
        var database: DatabaseQueue
        var stamp: FileStamp
        var edition: TilesetEdition
        var form: TileForm
    }

    let tileset: String
    let place: String
    let isRemote = false
    let knowsSizes = true

    private let limits: TransferLimits
    private let known = Mutex<Known?>(nil)
    private let work = BlockingWork("navbus.tiles.mbtiles", concurrent: false)

    init(_ configuration: TileSourceConfiguration, path: String) {
        tileset = configuration.tileset
        place = path
        limits = configuration.limits
    }

    func close() async {
        let known = known.withLock { known in
            defer { known = nil }
            return known
        }
        try? known?.database.close()
    }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        try await work.run { [self] () throws(TileSourceError) in
            let current = try current()
            let validators = Validators(etag: current.stamp.tag)
            return caller?.etag == validators.etag ? .notModified(validators) : .edition(current.edition, validators)
        }
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        try await work.run { [self] () throws(TileSourceError) in
            let current = try current()
            guard edition == nil || edition == current.edition.version else {
                throw TileSourceError(.editionChanged, "'\(place)' has changed since its edition was read")
            }
            let validators = Validators(etag: current.stamp.tag)
            guard let size = try size(tile, current) else { return .answer(.absent(Validators())) }
            if caller?.etag == validators.etag { return .answer(.notModified(validators)) }
            guard size <= limits.tileBytes else {
                throw TileSourceError(
                    .tooLarge, "tile \(tile) of '\(place)' has \(size) bytes; the limit is \(limits.tileBytes)")
            }
            let bytes = try read(current) { database in
                let sql = Self.select("tile_data")
                let row = try Row.fetchOne(database, sql: sql, arguments: Self.arguments(tile))
                return try row?.withUnsafeData(atIndex: 0) { $0.map { [UInt8]($0) } }
            }
            guard let bytes, Int64(bytes.count) <= limits.tileBytes else { return .answer(.absent(Validators())) }
            return try UncheckedTile(
                TileAddress(tileset, tile), edition: current.edition.version, bytes: bytes, packing: nil,
                form: current.form, limit: Int(limits.tileBytes), validators: validators,
                place: { [place] in "tile \(tile) of '\(place)'" }
            ).arrival()
        }
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        try await work.run { [self] () throws(TileSourceError) in
            try size(tile, try current()).map { .bytes($0) } ?? .absent
        }
    }

    private func size(_ tile: TileID, _ current: Known) throws(TileSourceError) -> Int64? {
        try read(current) { database in
            try Int64.fetchOne(database, sql: Self.select("length(tile_data)"), arguments: Self.arguments(tile))
        }
    }

    private static func select(_ column: String) -> String {
        "SELECT \(column) FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1"
    }

    /// Rows are counted from the south (TMS).
    private static func arguments(_ tile: TileID) -> StatementArguments {
        [Int64(tile.zoom), Int64(tile.x), (Int64(1) << Int64(tile.zoom)) - 1 - Int64(tile.y)]
    }

    /// Returns the current file, reopened when it has been replaced.
    private func current() throws(TileSourceError) -> Known {
        guard let stamp = FileStamp(place) else { throw TileSourceError(.missing, "'\(place)' does not exist") }
        if let here = known.withLock({ $0 }), here.stamp == stamp { return here }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.label = "mbtiles"
        configuration.maximumReaderCount = 1
        configuration.prepareDatabase { database in
            // A foreign schema must not call functions, and file truncation must be detected.
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let database: DatabaseQueue
        do {
            database = try DatabaseQueue(path: place, configuration: configuration)
        } catch {
            throw Self.failure(place, error)
        }
        let empty = TilesetEdition(tileset: tileset, domain: .maps, version: "", zooms: 0...0)
        var current = Known(database: database, stamp: stamp, edition: empty, form: .unknown)
        try describe(&current)
        let before = known.withLock { known in
            defer { known = current }
            return known
        }
        try? before?.database.close()
        return current
    }

    private func describe(_ current: inout Known) throws(TileSourceError) {
        let limit = limits.listedTiles
        let found = try read(current) { database in
            var metadata: [String: String] = [:]
            let sql = "SELECT name, value FROM metadata WHERE length(value) <= 65536 LIMIT 64"
            for row in try Row.fetchAll(database, sql: sql) {
                if let name = row[0] as String?, let value = row[1] as String? { metadata[name] = value }
            }
            // A single query for both would read the whole index.
            let levels = try Row.fetchOne(
                database, sql: "SELECT (SELECT min(zoom_level) FROM tiles), (SELECT max(zoom_level) FROM tiles)")
            // One row more than allowed shows that there are too many.
            let rows = try Row.fetchAll(
                database, sql: "SELECT zoom_level, tile_column, tile_row, length(tile_data) FROM tiles LIMIT ?",
                arguments: [limit + 1])
            let tiles = rows.count > limit ? nil : rows.compactMap(Self.listed)
            return (metadata, levels?[0] as Int64?, levels?[1] as Int64?, tiles)
        }
        let (metadata, low, high, tiles) = found
        guard let low, let high, let zooms = TileJSON.zooms(Double(low), Double(high)) else {
            throw TileSourceError(.malformed, "'\(place)' contains no tiles")
        }
        let edges = (metadata["bounds"] ?? "").split(separator: ",").compactMap { TileJSON.number(String($0)) }
        current.form = TileForm(format: metadata["format"] ?? "")
        current.edition = TilesetEdition(
            tileset: tileset, domain: .maps, version: current.stamp.tag.filter { $0 != "\"" }, zooms: zooms,
            bounds: TileJSON.bounds(edges), tiles: tiles?.sorted { $0.tile < $1.tile },
            document: Array((metadata["json"] ?? "").utf8),
            attribution: String((metadata["attribution"] ?? "").prefix(1_000)), mediaType: current.form.mediaType)
    }

    private static func listed(_ row: Row) -> ListedTile? {
        guard let level = row[0] as Int64?, let zoom = UInt8(exactly: level), zoom <= TileID.maximumZoom,
            let column = (row[1] as Int64?).flatMap({ UInt32(exactly: $0) }), let fromSouth = row[2] as Int64?,
            let length = row[3] as Int64?, length >= 0, (0..<(1 << Int64(zoom))).contains(fromSouth),
            let row = UInt32(exactly: (Int64(1) << Int64(zoom)) - 1 - fromSouth),
            let tile = TileID(zoom: zoom, x: column, y: row)
        else { return nil }
        return ListedTile(tile, parts: [ListedPart(.body, size: length, hash: nil)])
    }

    /// Reads with a time limit on the query, since a foreign file may define arbitrary views.
    private func read<Value: Sendable>(
        _ current: Known, _ work: (Database) throws -> Value
    ) throws(TileSourceError) -> Value {
        let database = current.database
        let alarm = DispatchWorkItem { database.interrupt() }
        DispatchQueue.global().asyncAfter(deadline: .now() + limits.http.idleTimeout, execute: alarm)
        defer { alarm.cancel() }
        do {
            return try database.read(work)
        } catch {
            throw Self.failure(place, error)
        }
    }

    private static func failure(_ path: String, _ error: any Error) -> TileSourceError {
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_INTERRUPT?, .SQLITE_ABORT?:
            TileSourceError(.timedOut, "reading '\(path)' timed out")
        case .SQLITE_BUSY?, .SQLITE_LOCKED?, .SQLITE_IOERR?, .SQLITE_CANTOPEN?:
            TileSourceError(.unreadable, "cannot read '\(path)': \(String("\(error)".prefix(200)))")
        default:
            TileSourceError(.malformed, "'\(path)' is not a valid MBTiles file: \(String("\(error)".prefix(200)))")
        }
    }
}
