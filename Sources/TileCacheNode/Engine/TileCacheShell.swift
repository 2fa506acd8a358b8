import NavBus
import NavGeo
import NavKit
import NavMessages
import NavStorage
import NavTileCache
import NavTileStore

/// The shell around the cache's decisions: it timestamps events and carries out the effects.
///
/// All members are called on one thread, which may block on the disk but not on the network.
final class TileCacheShell {
    let cache: TileCache<TileStore>
    let queue: DownloadQueue
    let outbox: TileCacheOutbox
    /// The lookup that answers calls outside this thread.
    let lookup: TileLookup
    /// Submits work to this thread from another one.
    private let post: @Sendable (@escaping @Sendable (TileCacheShell) -> Void) -> Void
    private let log: NodeLog
    /// The tasks that sample the tile sizes of requested regions, by request number.
    private var samples: [UInt64: Task<Void, Never>] = [:]
    /// The moment of the last report of totals, monotonic ns, and whether tiles were being fetched then.
    var reportedAt: Int64 = 0
    var wasBusy = false

    init(
        _ configuration: TileCacheConfiguration, store: TileStore, queue: DownloadQueue,
        sources: [String: any TileSource], outbox: TileCacheOutbox, lookup: TileLookup, log: NodeLog,
        post: @escaping @Sendable (@escaping @Sendable (TileCacheShell) -> Void) -> Void
    ) {
        let tilesets = configuration.tilesets.map { keys in
            TilesetSettings(
                keys.name, keys.domain, isCacheable: keys.isCacheable, isRemote: sources[keys.name]?.isRemote ?? true)
        }
        cache = TileCache(configuration.settings, tilesets, store: store) { $0.area }
        self.queue = queue
        self.outbox = outbox
        self.lookup = lookup
        self.log = log
        self.post = post
    }

    private var instant: CacheInstant { CacheInstant(monotonic: Clocks.monotonic(), wall: lookup.now) }

    // MARK: Events

    func handle(_ event: CacheEvent) { perform(cache.handle(event, at: instant)) }

    func run<Value>(_ command: (TileCache<TileStore>) throws(TileFailure) -> Value) throws(TileFailure) -> Value {
        let (answer, effects) = cache.run(at: instant, command)
        perform(effects)
        return try answer.get()
    }

    /// Takes updates of the vehicle from the bus.
    func take(_ updates: VehicleUpdates) { handle(.vehicle(updates.read { log.warning("\($0)") })) }

    /// Performs all due work.
    ///
    /// - Returns: The latest moment of the next call, monotonic ns.
    func turn() -> Int64 {
        let isBusy = queue.statistics.runningCount > 0 || lookup.isBusy
        handle(.tick(NetworkReport(conditions: queue.conditions, isBusy: isBusy)))
        return min(cache.due, report(Clocks.monotonic()))
    }

    /// Applies live keys.
    func reconfigure(_ next: TileCacheConfiguration) {
        var next = next
        if next.predictive != lookup.configuration.predictive, let fault = next.predictive.fault {
            log.warning("\(fault); the predictive keys stay unchanged")
            next.predictive = lookup.configuration.predictive
        }
        lookup.configure(next)
        handle(.settings(next.settings))
    }

    // MARK: Effects

    private func perform(_ effects: [CacheEffect]) {
        for effect in effects {
            switch effect {
            case .demand(let demands, let owner): queue.setDemands(demands, for: owner)
            case .abandon(let owner): queue.abandon(owner)
            case .forgetFailures(let tilesets): queue.forgetFailures(of: tilesets)
            case .pauseDownloads(let isPaused): queue.isPaused = isPaused
            case .askEdition(let tileset, let known): askEdition(tileset, known)
            case .sample(let definition, let number): sample(definition, number)
            case .stopSample(let number): samples.removeValue(forKey: number)?.cancel()
            case .accepted(let token, let region): outbox.add(.accepted(token: token, region: region))
            case .refused(let token, let failure): outbox.add(.refused(token: token, failure))
            case .region(let notice): outbox.add(.event(RegionEvent(notice)))
            case .tilesetsChanged: lookup.setTilesets(views)
            case .log(let isWarning, let text): if isWarning { log.warning("\(text)") } else { log.info("\(text)") }
            }
        }
    }

    private func askEdition(_ tileset: String, _ known: Validators?) {
        Task { [queue, post] in
            let answer: Result<EditionAnswer, TileSourceError>
            do throws(TileSourceError) {
                answer = .success(try await queue.edition(of: tileset, known: known))
            } catch {
                answer = .failure(error)
            }
            post { $0.handle(.edition(tileset, answer)) }
        }
    }

    private func sample(_ definition: StoredRegionDefinition, _ number: UInt64) {
        samples[number] = Task { [lookup, post] in
            await lookup.waitUntilKnown(definition.descriptors.map(\.tileset))
            let estimates = await lookup.estimates(for: definition)
            post { shell in
                shell.samples[number] = nil
                shell.handle(.sampled(definition.id, number: number, estimates: estimates))
            }
        }
    }

    /// The tilesets with their editions, as other threads see them.
    private var views: [TilesetView] {
        lookup.views.map { view in
            guard let tileset = cache.tileset(view.keys.name) else { return view }
            return TilesetView(
                keys: view.keys, current: tileset.current, newest: tileset.newest,
                isUnknown: view.keys.isCacheable && tileset.newest == nil && tileset.problem == nil,
                problem: tileset.problem)
        }
    }
}
