import NavGeo
import NavSimulation
import NavStorage
import NavTileCache

/// A tile cache over an in-memory disk and simulated sources, whose events and time are controlled by a test.
final class CacheBench {
    let store: MemoryStore
    let cache: TileCache<MemoryStore>
    var settings = CacheSettings()
    /// Seconds since the start.
    private(set) var seconds = 0.0
    /// Regions whose load ended, successfully or not.
    private(set) var finished: [(id: String, isSuccess: Bool)] = []
    /// The reasons why requested region loads were refused.
    private(set) var refusals: [TileFailure] = []
    /// The owners whose running downloads were cancelled.
    private(set) var abandoned: [DownloadOwner] = []
    /// The number of downloads of each tile.
    private(set) var fetched: [TileAddress: Int] = [:]
    /// The lines of the log.
    private(set) var logged: [String] = []
    private var servers: [String: SimServer] = [:]
    private var plan: DownloadPlan
    /// Pending edition requests to sources.
    private(set) var questions: [(tileset: String, known: Validators?)] = []
    private var random = SeededRandom(seed: 1)
    private var tokens: UInt64 = 0

    /// Creates a cache and starts it.
    init(_ servers: [SimServer], budget: Int64 = 100_000_000, isPredictive: Bool = false) {
        settings.budgetBytes = budget
        settings.isPredictive = isPredictive
        settings.editionInterval = 120
        settings.scrubBytesPerSecond = 0
        let reach = CacheReach(position: 20_000, route: 1_500, destination: 4_000)
        settings.navigation = CacheProfile(levels: [.init(zoom: 12, reach: reach)])
        settings.maps = .maps(reach, zooms: 11...11)
        for server in servers { self.servers[server.settings.name] = server }
        store = MemoryStore(MemoryDisk(), budget: budget)
        cache = TileCache(settings, servers.map(\.settings), store: store, area: CacheWorld.area)
        plan = DownloadPlan(
            DownloadConfiguration(), sources: servers.map { ($0.settings.name, $0.settings.isRemote) })
        handle(.start)
    }

    /// Creates a source of road tiles with a tile list, in editions.
    static var roads: SimServer {
        SimServer(TilesetSettings("roads", .navigation), isListed: true, expiry: nil)
    }
    /// Creates a local source of map tiles, in editions.
    static var local: SimServer {
        SimServer(TilesetSettings("local", .maps, isRemote: false), isListed: false, expiry: nil)
    }
    /// Creates a remote source of map tiles, which change one by one.
    static func map(expiry: Double) -> SimServer {
        SimServer(TilesetSettings("map", .maps), isListed: false, expiry: expiry)
    }

    static let middle = Coordinate(latitude: 41.15, longitude: -8.4)

    // MARK: Events

    private var wall: Timestamp { Timestamp(nanoseconds: 1_767_258_000_000_000_000).advanced(bySeconds: seconds) }
    private var nanoseconds: Int64 { Int64(seconds * 1e9) }
    private var instant: CacheInstant { CacheInstant(monotonic: 1_000_000_000_000 + nanoseconds, wall: wall) }

    func handle(_ event: CacheEvent) { perform(cache.handle(event, at: instant)) }

    /// Reports a vehicle at ``middle`` at the start of a route of about 34 km to the east.
    func beginRoute() {
        var update = VehicleUpdate()
        update.position = Self.middle
        update.route = VehicleUpdate.Route(id: 1, corners: [Self.middle, Coordinate(latitude: 41.15, longitude: -8)])
        handle(.vehicle(update))
    }

    func command<Value>(_ body: (TileCache<MemoryStore>) throws(TileFailure) -> Value) throws -> Value {
        let (answer, effects) = cache.run(at: instant, body)
        perform(effects)
        return try answer.get()
    }

    private func perform(_ effects: [CacheEffect]) {
        for effect in effects {
            switch effect {
            case .demand(let demands, let owner): plan.setDemands(demands, for: owner)
            case .abandon(let owner):
                abandoned.append(owner)
                _ = plan.abandon(owner)
            case .forgetFailures(let tilesets): plan.forgetFailures(of: tilesets)
            case .pauseDownloads(let isPaused): plan.isPaused = isPaused
            case .askEdition(let tileset, let known): questions.append((tileset, known))
            case .sample(let definition, let number):
                handle(.sampled(definition.id, number: number, estimates: [:]))
            case .region(let notice):
                if notice.kind == .loadFinished { finished.append((notice.id, notice.isSuccess ?? false)) }
            case .log(_, let text): logged.append(text)
            case .refused(_, let failure): refusals.append(failure)
            case .stopSample, .accepted, .tilesetsChanged: break
            }
        }
    }

    func tick() {
        handle(.tick(NetworkReport(conditions: plan.conditions)))
    }

    /// Answers the cache's requests to its sources.
    func answerQuestions() {
        let asked = questions
        questions = []
        for (name, known) in asked {
            guard let server = servers[name] else { continue }
            let validators = Validators(etag: server.versionName)
            let isKnown = server.expiry == nil && known?.etag == server.versionName
            handle(
                .edition(name, .success(isKnown ? .notModified(validators) : .edition(server.edition, validators))))
        }
    }

    /// Completes the downloads that may start now.
    func fetch() -> [DownloadResult] {
        var results: [DownloadResult] = []
        while true {
            let starts = plan.starts(at: .nanoseconds(nanoseconds))
            results += plan.takeEarly()
            guard !starts.isEmpty else { return results }
            for start in starts {
                let address = start.key.address
                let outcome = servers[address.tileset]?.answer(
                    address.tile, edition: start.key.edition, known: start.demand.known, at: nanoseconds, wall: wall,
                    &random)
                guard let outcome,
                    let result = plan.finish(start.key, outcome, at: .nanoseconds(nanoseconds))
                else { continue }
                plan.hold(result)
                if case .success(let answer) = outcome, answer.tile != nil { fetched[address, default: 0] += 1 }
                results.append(result)
            }
        }
    }

    func deliver(_ results: [DownloadResult]) {
        guard !results.isEmpty else { return }
        handle(.downloads(results))
        for result in results { plan.release(result) }
    }

    /// Advances the time and performs all actions that become due.
    func run(seconds duration: Int) {
        for _ in 0..<duration {
            tick()
            answerQuestions()
            deliver(fetch())
            seconds += 1
        }
        tick()
    }

    /// Advances the time without performing any action.
    func pass(to moment: Double) { seconds = max(seconds, moment) }

    /// Informs the cache of a source's current content, even without a request.
    func tellEdition(_ tileset: String) {
        guard let server = servers[tileset] else { return }
        handle(.edition(tileset, .success(.edition(server.edition, Validators(etag: server.versionName)))))
    }

    func publish(_ tileset: String) { servers[tileset]?.publish() }

    /// Changes the budget.
    func setBudget(_ bytes: Int64) {
        settings.budgetBytes = bytes
        handle(.settings(settings))
    }

    /// Moves the vehicle to a place.
    func drive(to place: Coordinate) {
        var update = VehicleUpdate()
        update.position = place
        handle(.vehicle(update))
    }

    /// Requests a region around ``middle``.
    func load(_ id: String, _ tilesets: [String] = ["roads"], radius: Int = 4_000) {
        tokens += 1
        let descriptors = tilesets.map {
            RegionDescriptor(
                tileset: $0, domain: $0 == "roads" ? .navigation : .maps, zoomMin: 9, zoomMax: $0 == "roads" ? 12 : 11)
        }
        let definition = StoredRegionDefinition(
            id: id, geometry: Array("\(Self.middle.latitude) \(Self.middle.longitude) \(radius)".utf8),
            descriptors: descriptors, acceptExpired: true)
        handle(.load(definition, token: tokens))
    }

    // MARK: State

    /// Returns a region as stored on the disk.
    func region(_ id: String) -> StoredRegion? { store.disk.regions[id]?.stored }

    /// Returns the version of a tileset in use.
    func version(_ tileset: String) -> String? { store.disk.current[tileset]?.version }

    /// Returns the existing tiles that the vehicle will need, and those of them that are stored.
    func wanted(_ name: String) -> (all: Set<TileID>, present: Set<TileID>) {
        guard let tileset = cache.tileset(name), let newest = tileset.newest else { return ([], []) }
        let all = cache.wanted(of: tileset).map(\.tile).filter { newest.has($0) && SimServer.has($0) }
        let present = store.disk.tiles.values.filter {
            $0.address.tileset == name && $0.edition == newest.key.version
        }
        return (Set(all), Set(present.map(\.address.tile)).intersection(all))
    }
}
