internal import GRDB
import NavDigest
package import NavGeo
package import NavStorage
package import NavTileCache
internal import Synchronization

/// The single owner of a tile store: it writes, evicts and pins.
///
/// All members may be called from any thread; writers wait for each other, readers never wait. It reads no clock.
package final class TileStore: Sendable {
    /// The reader of this store: lookups, editions, regions, totals.
    package let reader: TileStoreReader
    package let opening: OpeningReport

    let access: IndexAccess
    let options: TileStoreOptions
    /// The writer's state, locked by the thread that writes.
    let writer: Mutex<Writer>
    private let lock: Mutex<FolderLock?>
    private let budget: Mutex<Int64>
    private let touched = Mutex<[Int64: Int64]>([:])
    /// The order in which tiles were needed.
    let order: Mutex<UseOrder>
    /// The tiles that will be needed; setting them does not wait for a writer.
    let wanted = Mutex(WantedTiles())
    /// Tiles lost to damaged files and not yet reported.
    let losses = Mutex<[RegionTile]>([])

    /// Whether the store is on a read-only disk: tiles are read, and every change is rejected.
    package let isReadOnly: Bool

    var folder: StoreFolder { access.folder }

    /// The state that a writer keeps between changes.
    struct Writer {
        /// Unlinked files, whose rows the next change removes.
        var unlinked: [ContentHash] = []
        /// Tiles whose files for mapping are up to date again, to be recorded by the next change.
        var settled: [Int64] = []
        /// The number of the next name in `incoming`.
        var nextName = 0
        var isClosed = false

        /// Returns an unused name in `incoming`.
        mutating func name(_ kind: String, _ folder: StoreFolder) -> String {
            nextName += 1
            return "\(folder.incoming)/\(kind)-\(nextName)"
        }
    }

    /// Opens a store, creating it if necessary, and finishes the unfinished work of a killed process.
    ///
    /// On a read-only disk nothing is created or finished, see ``isReadOnly``.
    ///
    /// - Throws: ``StoreError`` `busy` naming the process that owns it, `missing` when the folder's parent does not
    ///   exist, `readOnly`, `diskFull`, `newerSchema`, `system`. A damaged index is no error: see ``OpeningReport``.
    package init(folder path: String, options: TileStoreOptions = TileStoreOptions()) throws(StoreError) {
        let opened = try StoreOpening(StoreFolder(path), options).open()
        access = opened.access
        isReadOnly = opened.lock == nil
        lock = Mutex(opened.lock)
        opening = opened.report
        reader = TileStoreReader(access: opened.access)
        writer = Mutex(Writer())
        budget = Mutex(options.budgetBytes)
        // If this fails, only the eviction order is lost; the store still opens.
        let last = try? opened.access.read { index in
            try Int64.fetchOne(index, sql: "SELECT max(needed) FROM tiles WHERE pins = 0")
        }
        order = Mutex(UseOrder(last: (last ?? nil) ?? .min))
        self.options = options
    }

    /// Writes pending data and releases the folder; every later call throws `closed`.
    package func close() {
        writer.withLock { writer in
            guard !writer.isClosed else { return }
            _ = try? change(&writer) { _ in }
            writer.isClosed = true
            // A single damaged bit in the log would silently lose data that exists only in the log.
            access.checkpoint()
            access.close()
            lock.withLock { $0 = nil }
        }
    }

    /// Returns the setting `synchronous` of the connection that commits: 2, FULL, when a commit waits for the disk.
    package func synchronous() throws(StoreError) -> Int {
        try access.write { try Int.fetchOne($0, sql: "PRAGMA synchronous") ?? 0 }
    }

    package var budgetBytes: Int64 { budget.withLock { $0 } }

    /// Sets the budget; call ``makeRoom(for:needed:)`` with 0 bytes to evict down to it.
    package func setBudget(_ bytes: Int64) { budget.withLock { $0 = max(bytes, 0) } }

    package func setWanted(_ tiles: [WantedTile], in edition: EditionKey) throws(StoreError) {
        guard let number = try access.read({ try EditionRow.number(edition, $0) }) else {
            guard !tiles.isEmpty else { return }
            throw EditionRow.unknown(edition)
        }
        wanted.withLock { $0.set(tiles, edition: number) }
    }

    /// Records that tiles were needed; written with the next change, ``flush()`` or ``close()``.
    package func touch(_ tiles: [TileRecord], now: Timestamp) {
        guard !isReadOnly else { return }
        let needed = order.withLock { $0.moment(now) }.nanoseconds
        touched.withLock { touched in
            for tile in tiles { touched[tile.number] = max(touched[tile.number] ?? .min, needed) }
        }
    }

    /// Writes the times recorded by ``touch(_:now:)``.
    package func flush() throws(StoreError) {
        try write { writer throws(StoreError) in try change(&writer) { _ in } }
    }

    /// Caches the order computed by a search for room, unless the wanted tiles have changed since.
    func keepOrder(of used: WantedTiles) {
        wanted.withLock { if $0.generation == used.generation { $0 = used } }
    }

    package var readOnlyProblem: StoreError? {
        guard isReadOnly else { return nil }
        return StoreError(
            .readOnly,
            "the disk of the tile store '\(folder.path)' is mounted read-only: stored tiles are served, but none are "
                + "added or removed; mount it writable and restart")
    }

    // MARK: Changes

    /// Runs `body` as the only writer.
    func write<Value>(
        _ body: (inout Writer) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try writer.withLock { writer throws(StoreError) -> Value in
            guard !writer.isClosed else {
                throw StoreError(.closed, "the tile store '\(folder.path)' was closed; open it again")
            }
            if let readOnlyProblem { throw readOnlyProblem }
            return try body(&writer)
        }
    }

    /// Runs one transaction and then updates the files; it also records the file work of earlier changes.
    func change<Value>(
        _ writer: inout Writer, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        let times = touched.withLock { touched in
            defer { touched = [:] }
            return touched
        }
        let (unlinked, settled) = (writer.unlinked, writer.settled)
        let value: Value
        do throws(StoreError) {
            value = try access.write { index in
                try Self.note(times, unlinked, settled, index)
                return try body(index)
            }
        } catch {
            touched.withLock { $0.merge(times) { max($0, $1) } }
            throw error
        }
        writer.unlinked = []
        writer.settled = []
        settle(&writer)
        return value
    }

    /// Runs a change that frees space; on a full disk, releases the reserve for it.
    func clear<Value>(
        _ writer: inout Writer, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try change(&writer, body)
        } catch {
            guard error.code == .diskFull else { throw error }
            Files.remove(folder.reserve)
            defer {
                access.checkpoint()
                try? Files.allocate(folder.reserve, size: options.reserveBytes)
            }
            access.checkpoint()
            return try change(&writer, body)
        }
    }

    private static func note(
        _ times: [Int64: Int64], _ unlinked: [ContentHash], _ settled: [Int64], _ index: Database
    ) throws {
        if !times.isEmpty {
            let touch = try index.cachedStatement(sql: "UPDATE tiles SET needed = ?2 WHERE id = ?1 AND needed < ?2")
            for (number, time) in times { try touch.execute(arguments: [number, time]) }
        }
        if !unlinked.isEmpty {
            let forget = try index.cachedStatement(sql: "DELETE FROM objects WHERE hash = ? AND uses = 0")
            for hash in unlinked { try forget.execute(arguments: [hash.blob]) }
        }
        if !settled.isEmpty {
            let done = try index.cachedStatement(sql: "DELETE FROM unsettled WHERE tile = ?")
            for number in settled { try done.execute(arguments: [number]) }
        }
    }

    /// Brings the files in line with the index: unlinks unused files, links and unlinks files for mapping.
    ///
    /// Failed work is repeated after a later change or at the next opening.
    private func settle(_ writer: inout Writer) {
        let done = FileSettling(access).run { writer.name("view", folder) }
        writer.unlinked = done.unlinked
        writer.settled = done.settled
    }
}
