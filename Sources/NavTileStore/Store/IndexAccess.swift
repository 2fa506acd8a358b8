internal import GRDB
internal import GRDBSQLite
import NavStorage
internal import Synchronization

/// The connections to a store's index: one writer and several readers.
final class IndexAccess: Sendable {
    let folder: StoreFolder
    private let pool: DatabasePool
    private let isOwner: Bool
    private let kinds = Mutex<[Int64: FileKind]>([:])

    /// Opens the index; an owner creates it when it is missing.
    init(_ folder: StoreFolder, isOwner: Bool, readerCount: Int) throws(StoreError) {
        self.folder = folder
        self.isOwner = isOwner
        do {
            var configuration = Configuration()
            configuration.readonly = !isOwner
            configuration.foreignKeysEnabled = false
            configuration.maximumReaderCount = max(readerCount, 1)
            configuration.busyMode = .timeout(10)
            configuration.label = "navbus.tiles"
            configuration.prepareDatabase { try Self.prepare($0) }
            pool = try DatabasePool(path: folder.index, configuration: configuration)
            if isOwner {
                // A commit must be on the disk when it returns, since files are unlinked after it. A pool sets NORMAL when it opens its
                // writer, after `prepare(_:)`.
                try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
                try IndexSchema.migrator.refuseNewer(pool, folder)
                try IndexSchema.migrator.migrate(pool)
            } else {
                try IndexSchema.migrator.refuseNewer(pool, folder)
                guard try pool.read({ try IndexSchema.migrator.hasCompletedMigrations($0) }) else {
                    throw StoreError(
                        .missing, "the index '\(folder.index)' is not ready; start the process that owns the store")
                }
            }
        } catch {
            throw Self.translate(error, folder, isOwner: isOwner)
        }
    }

    /// Configures a connection; the cache is 16 MiB for the writer and 4 MiB for each reader.
    private static func prepare(_ connection: Database) throws {
        if connection.configuration.readonly {
            try connection.execute(sql: "PRAGMA cache_size = -4096")
            return
        }
        try connection.execute(
            sql: """
                PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 4194304
                """)
        // -wal and -shm stay when the last connection closes, so that a process without write permission can open the
        // index.
        var flag: CInt = 1
        sqlite3_file_control(connection.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &flag)
    }

    /// Reads the index; each statement sees the state at the time it runs.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try pool.unsafeRead(body) } catch { throw Self.translate(error, folder, isOwner: isOwner) }
    }

    /// Reads a consistent snapshot of the index.
    func snapshot<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try pool.read(body) } catch { throw Self.translate(error, folder, isOwner: isOwner) }
    }

    /// Changes the index in one transaction.
    func write<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try pool.write(body) } catch { throw Self.translate(error, folder, isOwner: isOwner) }
    }

    /// Moves committed changes from the log into the index's own file, and truncates the log.
    func checkpoint() {
        _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    func close() { try? pool.close() }

    func kind(_ number: Int64, _ index: Database) throws -> FileKind {
        if let kind = kinds.withLock({ $0[number] }) { return kind }
        let row = try Row.fetchOne(
            try index.cachedStatement(sql: "SELECT encoding, media_type FROM kinds WHERE id = ?"), arguments: [number])
        let kind = FileKind(encoding: row?[0], mediaType: row?[1])
        if row != nil { kinds.withLock { $0[number] = kind } }
        return kind
    }

    /// Translates an error into the store's.
    ///
    /// When SQLite reports a damaged index, its owner marks it, and the next opening rebuilds it.
    private static func translate(_ error: any Error, _ folder: StoreFolder, isOwner: Bool) -> StoreError {
        if let error = error as? StoreError { return error }
        guard let error = error as? DatabaseError else { return StoreError(.system, "'\(folder.index)': \(error)") }
        let what = "'\(folder.index)': \(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")"
        switch error.resultCode {
        case .SQLITE_FULL: return StoreError(.diskFull, "\(what); free space on its disk, or lower the store's budget")
        case .SQLITE_IOERR where (Files.freeBytes(folder.path) ?? .max) < 1 << 20:
            return StoreError(.diskFull, "\(what); free space on its disk, or lower the store's budget")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            if isOwner, let mark = try? Files.write([], to: folder.damageMark) { Files.close(mark) }
            return StoreError(.corruptIndex, "\(what); restart the process that owns the store to rebuild it")
        case .SQLITE_READONLY, .SQLITE_PERM:
            return StoreError(.readOnly, "\(what); give this user write permission, or use another folder")
        case .SQLITE_CANTOPEN:
            return StoreError(
                .readOnly, "\(what); make it and its -wal and -shm readable, or start the owner of the store once")
        case .SQLITE_MISUSE where error.message == "Connection is closed":
            return StoreError(.closed, "the tile store '\(folder.path)' was closed; open it again")
        default: return StoreError(.system, "\(what); check the disk and the system log")
        }
    }
}

/// The encoding and media type of a file.
struct FileKind: Sendable, Hashable {
    var encoding: String?
    var mediaType: String?

    /// The maximum number of kinds stored; media types come from servers, so their number is unbounded.
    static let greatestCount = 255

    /// Returns the number of a kind in the index, adding it if necessary; beyond the limit, kinds are stored without a
    /// media type.
    static func number(_ kind: FileKind, _ index: Database) throws -> Int64 {
        let find = try index.cachedStatement(sql: "SELECT id FROM kinds WHERE encoding IS ? AND media_type IS ?")
        if let number = try Int64.fetchOne(find, arguments: [kind.encoding, kind.mediaType]) { return number }
        let count = try Int64.fetchOne(index, sql: "SELECT count(*) FROM kinds") ?? 0
        if kind.mediaType != nil, count >= greatestCount || (kind.mediaType?.utf8.count ?? 0) > 255 {
            return try number(FileKind(encoding: kind.encoding, mediaType: nil), index)
        }
        try index.execute(
            sql: "INSERT INTO kinds(encoding, media_type) VALUES (?, ?)", arguments: [kind.encoding, kind.mediaType])
        return index.lastInsertedRowID
    }
}

extension DatabaseMigrator {
    /// Throws for an index with migrations unknown to this program.
    fileprivate func refuseNewer(_ pool: DatabasePool, _ folder: StoreFolder) throws {
        guard try pool.read(hasBeenSuperseded) else { return }
        throw StoreError(
            .newerSchema,
            "the index '\(folder.index)' was written by a newer version; use that version, or another folder")
    }
}
