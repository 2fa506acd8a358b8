import Foundation
import NavBus
import NavConfig
import NavGeo
package import NavKit
import NavMessages
import NavStorage
import NavTileCache
import NavTileStore

/// The tile cache node, which fetches road and map tiles before the vehicle needs them.
package final class TileCacheNode: Node {
    /// The node's default name.
    package static let defaultName = "tile-cache-node"
    /// The purpose of the node.
    package static let summary =
        "Keeps road and map tiles on board: ahead of the vehicle, along its route, and for offline regions."

    let context: NodeContext
    let engine: TileCacheEngine
    /// The calls of LoadRegion that are not accepted yet, by token.
    var askers: [UInt64: StreamCall<LoadRegionResponse>] = [:]
    /// Calls of LoadRegion, by the region whose progress they receive.
    var watchers: [String: [Watcher]] = [:]
    var lastToken: UInt64 = 0
    private var server: TileServer?
    private let serverKeys: TileServerKeys
    private var events: UInt64 = 0
    /// The last state that was published.
    private var publishedState: TilesState?
    /// The moment when `/nav/position` last arrived, monotonic ns.
    private var positionAt: Int64 = .min / 2

    /// The time without `/nav/position` after which fixes are used instead, ns.
    private static let patience: Int64 = 5_000_000_000

    /// A call that receives the progress of a region.
    struct Watcher {
        let token: UInt64
        let call: StreamCall<LoadRegionResponse>
    }

    static let topics: [any CatalogueTopic] = [Topics.tilesState, Topics.regionEvent]

    /// Opens the store and the sources, without sending a request yet.
    package init(configuration: TileCacheConfiguration, context: NodeContext) throws(NodeError) {
        if let fault = configuration.predictive.fault { throw NodeError(.usage, fault) }
        self.context = context
        serverKeys = configuration.http
        let log = context.log
        let store = try TileCacheNode.open(configuration, holder: context.name, log.part("store"))
        do throws(NodeError) {
            let (queue, sources) = try TileCacheNode.queue(configuration, log.part("sources"))
            engine = TileCacheEngine(
                configuration, store: store, queue: queue, sources: sources,
                outbox: TileCacheOutbox(waker: context.makeWaker()), log: log.part("cache"))
        } catch {
            store.close()
            throw error
        }
        do throws(NodeError) {
            if !serverKeys.listen.isEmpty {
                server = try TileServer(serverKeys, lookup: engine.lookup)
                log.part("web").info(
                    "tiles for web maps at http://\(server?.address ?? serverKeys.listen)/{tileset}/{z}/{x}/{y}")
            }
            try context.serve(TileCacheService.served(by: self))
            try context.advertise(TileCacheNode.topics)
            try subscribe()
        } catch {
            finish()
            throw error
        }
    }

    private func subscribe() throws(NodeError) {
        try context.subscribe(to: Topics.position) { [unowned self] message, _ in
            guard let pose = message.matched ?? message.raw, let latitude = pose.latitude,
                let longitude = pose.longitude
            else { return }
            positionAt = Clocks.monotonic()
            engine.update { $0.update.position = NavGeo.Coordinate(latitude: latitude, longitude: longitude) }
        }
        // Without tiles, a navigation node cannot start and publish a position, so the receiver's fixes are used
        // instead.
        try context.subscribe(to: Topics.gnssFix) { [unowned self] fix, _ in
            guard Clocks.monotonic() - positionAt > TileCacheNode.patience, fix.fixType != .noFix,
                let latitude = fix.latitude, let longitude = fix.longitude
            else { return }
            engine.update { $0.update.position = NavGeo.Coordinate(latitude: latitude, longitude: longitude) }
        }
        try context.subscribe(to: Topics.progress) { [unowned self] message, _ in
            guard let metres = message.distanceTraveledM else { return }
            engine.update { $0.update.progress = (message.routeId, metres) }
        }
        try context.subscribe(to: Topics.state) { [unowned self] message, _ in
            guard let phase = message.phase else { return }
            engine.update { $0.update.isGuided = phase == .guidance }
        }
        // Routes may span a continent, so they are decoded on the cache's thread.
        try context.subscribe(toBytesOf: Topics.route) { [unowned self] delivery in
            engine.update { $0.take(route: delivery.payload) }
        }
        try context.subscribe(toBytesOf: Topics.alternatives) { [unowned self] delivery in
            engine.update { $0.alternatives = delivery.payload }
        }
    }

    /// Publishes the pending messages of the cache's thread.
    package func turn(_ now: Int64) -> Int64 {
        let (items, state) = engine.outbox.take()
        for item in items {
            switch item {
            case .event(let event): publish(event)
            case .accepted(let token, let region): accepted(token, region)
            case .refused(let token, let failure): refused(token, failure)
            }
        }
        // The cache also reports unchanged state, for example after a poll for a new edition.
        if var state, state != publishedState {
            publishedState = state
            events += 1
            (state.stampNs, state.eventSequence) = (context.stamp.nanoseconds, events)
            context.publish(state, on: Topics.tilesState, stamp: context.stamp)
        }
        return .max
    }

    private func publish(_ event: RegionEvent) {
        var event = event
        events += 1
        (event.stampNs, event.eventSequence) = (context.stamp.nanoseconds, events)
        context.publish(event, on: Topics.regionEvent, stamp: context.stamp)
        show(event)
    }

    /// Applies live keys: budget, scrub, network, tiles kept ahead, intervals, size of regions.
    package func reconfigure(_ configuration: TileCacheConfiguration) { engine.reconfigure(configuration) }

    /// Returns the health findings for sources, disk and budget.
    package func findings(_ now: Int64) -> [HealthFinding] {
        for (name, value) in engine.outbox.counters { context.counter(name).set(value) }
        let counts = engine.lookup.counts
        context.counter("cache_hits").set(Int(clamping: counts.hits))
        context.counter("cache_misses").set(Int(clamping: counts.misses))
        if let server {
            context.counter("http_requests").set(server.requestCount)
            context.counter("http_refused_connections").set(server.refusedCount)
        }
        return engine.outbox.findings
    }

    /// Whether the cache's thread has pending work, as 1 or 0; downloads do not count.
    package var pendingCount: Int { engine.isBusy ? 1 : 0 }

    /// Ends the waiting calls, the server, the downloads and the thread, and closes the store.
    package func finish() {
        endStreams()
        server?.stop()
        server = nil
        engine.stop()
    }

    /// The address of the endpoint for web maps, HOST:PORT; nil when it does not listen.
    package var serverAddress: String? { server?.address }

    /// The number of requests that the endpoint for web maps has answered.
    package var webRequests: Int { server?.requestCount ?? 0 }

    /// The number of tiles that were fetched since the start.
    package var downloads: Int { engine.lookup.queue.statistics.fetchedCount }

    // MARK: Parts

    static func open(
        _ configuration: TileCacheConfiguration, holder: String, _ log: NodeLog
    ) throws(NodeError) -> TileStore {
        let folder = configuration.storeFolder(environment: ProcessInfo.processInfo.environment)
        if configuration.storePath.isEmpty {
            try? FileManager.default.createDirectory(
                atPath: folder.parentFolder, withIntermediateDirectories: true)
        }
        var options = TileStoreOptions()
        options.budgetBytes = configuration.cache.budgetBytes
        options.holder = holder
        do throws(StoreError) {
            let store = try TileStore(folder: folder, options: options)
            let opening = store.opening
            if let damaged = opening.damagedIndex {
                log.warning(
                    "the store's index was damaged and was moved to '\(damaged)'; \(opening.recoveredTiles) tiles and "
                        + "\(opening.recoveredRegions) regions were recovered")
            }
            log.info("tile store '\(folder)', at most \(configuration.cache.budgetMB) MB")
            return store
        } catch {
            throw NodeError(error)
        }
    }

    static func queue(
        _ configuration: TileCacheConfiguration, _ log: NodeLog
    ) throws(NodeError) -> (DownloadQueue, [String: any TileSource]) {
        do throws(TileSourceError) {
            var sources: [String: any TileSource] = [:]
            for keys in configuration.tilesets {
                let source = try keys.sourceConfiguration(now: configuration.wallClock) { log.warning("\($0)") }.open()
                sources[keys.name] = source
                log.info("tileset '\(keys.name)' (\(keys.domain.rawValue)) from \(source.place)")
            }
            let queue = try DownloadQueue(
                configuration.tilesets.compactMap { sources[$0.name] }, configuration.downloads)
            queue.network = configuration.cache.network
            return (queue, sources)
        } catch {
            let code: NodeError.Code =
                switch error.code {
                case .configuration: .usage
                case .system: .system
                default: .missing
                }
            throw NodeError(code, error.message)
        }
    }
}

extension NodeError {
    init(_ error: StoreError) {
        switch error.code {
        case .missing: self.init(.missing, error.description)
        case .corruptIndex, .corruptObject, .newerSchema: self.init(.invalid, error.description)
        default: self.init(.system, error.description)
        }
    }
}
