import Foundation
import NavBus
import NavDigest
import NavGeo
import NavMessages
import NavStorage
import NavTileCache
import NavTileStore
import Synchronization

struct FoundTile: Sendable {
    /// The tile itself, as stored.
    var data: [UInt8]?
    /// The path of its file, when it is on board.
    var path: String?
    /// SHA-256 of its content.
    var hash: ContentHash
    var expires: NavGeo.Timestamp?
    var isFromCache: Bool
    /// The encoding; nil when it is not compressed.
    var contentEncoding: String?
    /// Media type; nil when unknown.
    var mediaType: String?
}

/// A lookup that answers requests for tiles and areas outside the cache's thread, several at a time, even during a
/// write.
final class TileLookup: Sendable {
    struct Counts: Sendable {
        /// Requests answered from the cache.
        var hits: UInt64 = 0
        /// Requests passed to a source.
        var misses: UInt64 = 0
    }

    let store: TileStore
    let queue: DownloadQueue
    /// The configuration in force, shared with the cache's thread.
    private let live: Mutex<TileCacheConfiguration>
    private let wallClock: @Sendable () -> NavGeo.Timestamp
    private let tilesets = Mutex<[TilesetView]>([])
    private let tally = Mutex(Counts())
    private let workers: OperationQueue

    init(_ configuration: TileCacheConfiguration, store: TileStore, queue: DownloadQueue) {
        live = Mutex(configuration)
        wallClock = configuration.wallClock
        self.store = store
        self.queue = queue
        workers = OperationQueue()
        workers.name = "tile questions"
        workers.maxConcurrentOperationCount = 3
        tilesets.withLock {
            $0 = configuration.tilesets.map {
                TilesetView(keys: $0, current: nil, newest: nil, isUnknown: $0.isCacheable)
            }
        }
    }

    var now: NavGeo.Timestamp { wallClock() }

    var configuration: TileCacheConfiguration { live.withLock { $0 } }

    func configure(_ next: TileCacheConfiguration) { live.withLock { $0 = next } }

    /// Whether a request waits for the disk.
    var isBusy: Bool { workers.operationCount > 0 }

    var counts: Counts { tally.withLock { $0 } }

    var views: [TilesetView] { tilesets.withLock { $0 } }

    func setTilesets(_ views: [TilesetView]) { tilesets.withLock { $0 = views } }

    /// Returns the tileset with a name, or without a name the first tileset of a domain.
    func view(_ name: String?, _ domain: NavTileCache.TileDomain?) -> TilesetView? {
        tilesets.withLock { views in
            views.first { view in
                if let name, !name.isEmpty { return view.keys.name == name }
                return domain != nil && view.keys.domain == domain
            }
        }
    }

    /// Waits, for up to ten seconds, until the sources of some tilesets have answered or failed their first poll.
    func waitUntilKnown(_ names: [String]) async {
        for _ in 0..<200
        where !Task.isCancelled && views.contains(where: { names.contains($0.keys.name) && $0.isUnknown }) {
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs work that may wait for the disk; returns false when too much work is pending.
    @discardableResult
    func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard workers.operationCount < TileCacheEngine.greatestBacklog else { return false }
        workers.addOperation(body)
        return true
    }

    /// Runs work that may wait for the disk on behalf of a task, which must not block.
    func read<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws(TileFailure) -> Value {
        let value = await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            if !run({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
        }
        guard let value else { throw TileFailure.overloaded }
        return value
    }

    // MARK: One tile

    /// Finds a tile in the cache, or else fetches it from its source.
    ///
    /// - Parameters:
    ///   - acceptsPath: Whether the path suffices and the data need not be read.
    ///   - deadline: The moment until which the answer is awaited, monotonic ns.
    func find(
        _ address: TileAddress, cacheOnly: Bool, acceptsExpired: Bool, acceptsPath: Bool, deadline: Int64
    ) async throws(TileFailure) -> FoundTile {
        guard let view = view(address.tileset, nil) else {
            throw TileFailure(.notFound, "there is no tileset '\(address.tileset)'")
        }
        let here = try await read { [self] in
            onBoard(address, view, acceptsExpired: acceptsExpired, acceptsPath: acceptsPath)
        }
        var known: Validators?
        switch here {
        case .success(.found(let tile)):
            tally.withLock { $0.hits += 1 }
            return tile
        case .success(.expired(let validators)): known = validators
        case .success(.absent): break
        case .failure(let failure): throw failure
        }
        guard !cacheOnly else {
            throw TileFailure(
                .notFound, known == nil ? "tile \(address) is not in the cache" : "tile \(address) has expired",
                isRetryable: true)
        }
        if let current = view.current, !current.has(address.tile) {
            throw TileFailure(.notFound, "tileset '\(address.tileset)' has no tile \(address)")
        }
        tally.withLock { $0.misses += 1 }
        let demand = TileDemand(address, edition: view.current?.key.version, known: known)
        switch try await fetch(demand, deadline: deadline) {
        case .fetched(let tile), .unstorable(let tile): return try Self.found(tile)
        case .absent: throw TileFailure(.notFound, "tileset '\(address.tileset)' has no tile \(address)")
        case .notModified:
            let again = try await read { [self] in
                onBoard(address, view, acceptsExpired: true, acceptsPath: acceptsPath)
            }
            guard case .success(.found(let tile)) = again else {
                throw TileFailure(.notFound, "tile \(address) was removed while it was revalidated", isRetryable: true)
            }
            return tile
        }
    }

    private enum Local: Sendable {
        case found(FoundTile)
        case expired(Validators)
        case absent
    }

    private func onBoard(
        _ address: TileAddress, _ view: TilesetView, acceptsExpired: Bool, acceptsPath: Bool
    ) -> Result<Local, TileFailure> {
        guard let current = view.current else { return .success(.absent) }
        let now = now
        do throws(StoreError) {
            guard let record = try store.reader.tile(address, version: current.key.version, now: now) else {
                return .success(.absent)
            }
            guard acceptsExpired || !record.isExpired else { return .success(.expired(record.validators)) }
            let body = record.body
            // A tile that was fetched while the clock was ahead would appear valid for years.
            let expires = record.isExpired ? record.validators.expires.map { min($0, now) } : record.validators.expires
            var tile = FoundTile(
                path: body.path, hash: body.hash, expires: expires, isFromCache: true,
                contentEncoding: body.contentEncoding, mediaType: body.mediaType ?? view.mediaType)
            // A caller cannot use the path of a file that no longer exists; reading the tile instead makes the cache fetch it again.
            if !acceptsPath || !FileManager.default.fileExists(atPath: body.path) {
                tile.data = try store.data(of: record)
            }
            store.touch([record], now: now)
            return .success(.found(tile))
        } catch {
            // A damaged tile has been quarantined, and a tile evicted or replaced since the lookup has lost its file.
            // Both are fetched, since a failure would mean that the tile does not exist.
            return [.corruptObject, .missing].contains(error.code)
                ? .success(.absent) : .failure(TileFailure(error))
        }
    }

    private static func found(_ tile: FetchedTile) throws(TileFailure) -> FoundTile {
        guard let body = tile.parts.first(where: { $0.part == .body }) else {
            throw TileFailure(.corruptData, "tile \(tile.address) has no body")
        }
        return FoundTile(
            data: body.data, hash: body.hash, expires: tile.validators.expires, isFromCache: false,
            contentEncoding: body.contentEncoding, mediaType: body.mediaType)
    }

    private func fetch(_ demand: TileDemand, deadline: Int64) async throws(TileFailure) -> TileAnswer {
        try await answer("tile \(demand.address)", of: [demand.address.tileset], before: deadline) {
            [queue] () throws(TileFailure) in
            do throws(TileSourceError) {
                return try await queue.fetch(demand)
            } catch {
                throw TileFailure(error)
            }
        }
    }

    /// Returns the result of `body`, or fails shortly before the deadline with the last failures of the sources.
    func answer<Value: Sendable>(
        _ what: String, of names: [String], before deadline: Int64,
        _ body: @escaping @Sendable () async throws(TileFailure) -> Value
    ) async throws(TileFailure) -> Value {
        let left = min(max(deadline - Clocks.monotonic() - 30_000_000, 1_000_000), 600_000_000_000)
        let answer = OneAnswer<Value>()
        let working = Task {
            do throws(TileFailure) {
                answer.give(.success(try await body()))
            } catch {
                answer.give(.failure(error))
            }
        }
        let waiting = Task {
            try? await Task.sleep(for: .nanoseconds(left))
            answer.give(
                .failure(
                    TileFailure(
                        .deadlineExceeded,
                        "\(what) was not ready before the deadline; repeat the request\(complaints(of: names))",
                        isRetryable: true)))
        }
        let result = await withTaskCancellationHandler {
            await answer.value()
        } onCancel: {
            answer.give(.failure(TileFailure(.cancelled, "the request for \(what) was cancelled")))
        }
        working.cancel()
        waiting.cancel()
        return try result.get()
    }

    /// Returns the last failures of the sources of some tilesets, as text to append to a sentence.
    func complaints(of names: [String]) -> String {
        let conditions = queue.conditions
        return names.compactMap { name in
            let reason = view(name, nil)?.problem ?? conditions.first { $0.tileset == name }?.reason
            return reason.map { "; the source of '\(name)' reports: \($0)" }
        }.joined()
    }
}

/// A holder of the first of several answers; later ones are dropped.
private final class OneAnswer<Value: Sendable>: Sendable {
    private struct State {
        var answer: Result<Value, TileFailure>?
        var waiting: CheckedContinuation<Result<Value, TileFailure>, Never>?
    }

    private let state = Mutex(State())

    func give(_ answer: Result<Value, TileFailure>) {
        let waiting = state.withLock { state -> CheckedContinuation<Result<Value, TileFailure>, Never>? in
            guard state.answer == nil else { return nil }
            state.answer = answer
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: answer)
    }

    func value() async -> Result<Value, TileFailure> {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Result<Value, TileFailure>? in
                if state.answer == nil { state.waiting = continuation }
                return state.answer
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
