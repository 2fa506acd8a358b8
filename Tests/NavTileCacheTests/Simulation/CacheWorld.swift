import NavGeo
import NavSimulation
import NavStorage
import NavTestKit
import NavTileCache

/// A violated invariant.
struct CacheViolation: Error, CustomStringConvertible {
    var rule: String
    var what: String
    var time: Double

    var description: String { "\(rule), at \(time) s: \(what)" }
}

/// A simulated tile cache from one seed: a vehicle, a user, sources that publish, fail and become unreachable, a
/// metered or offline network, a full or failing disk, damaged files, and a process that is killed at any write. Only
/// the cache's decisions and the download plan are under test, in simulated time.
///
/// After ``duration`` the faults end, and every wanted tile must arrive.
struct CacheWorld {
    /// The time during which faults occur, seconds.
    static let duration = 900.0
    /// The time within which the remaining tiles must arrive, seconds.
    static let patience = 3_000.0
    private static let second = 1_000_000_000.0
    private static let start: Int64 = 1_767_258_000_000_000_000

    private enum Input {
        case drive, user, network, weather, disk, damage, publish, kill, revive, deliver, pump
        case tick
        case arrival(DownloadKey, flight: Int)
        case edition(String, known: Validators?, question: Int)
        case sampled(String, number: UInt64)

        /// Whether the event is a fault, which stops after ``duration``.
        var isTrouble: Bool {
            switch self {
            case .user, .network, .weather, .disk, .damage, .publish, .kill: true
            default: false
            }
        }
    }

    let seed: UInt64
    private let wildness: Double
    private(set) var store: MemoryStore
    private(set) var cache: TileCache<MemoryStore>
    private(set) var plan: DownloadPlan
    private(set) var settings: CacheSettings
    private(set) var servers: [SimServer]
    private(set) var now: Int64 = 0
    private var downloads = DownloadConfiguration()
    private var random: SeededRandom
    private var network: SeededRandom
    private var queue: [(time: Int64, number: Int, input: Input)] = []
    private var queued = 0
    private var life = 0
    private var flights: [DownloadKey: (number: Int, owner: Int, demand: TileDemand)] = [:]
    private var questions: [Int: String] = [:]
    private var results: [DownloadResult] = []
    private var lastNumber = 0
    private var isDown = false
    private var isCalm = false
    private var nextLook = Int64.min
    private var route: [Coordinate] = []
    private var travelled = 0.0
    private var routeID: UInt64 = 0
    private var tokens: UInt64 = 0
    private var nextPump = Int64.max
    private var nextTick = Int64.max
    private var rules: CacheRules
    /// A digest of all effects.
    private(set) var digest = RunDigest()
    private let digests: Bool
    /// The number of events by kind.
    private(set) var tally: [String: Int] = [:]
    private var trace: ((String) -> Void)?

    init(seed: UInt64, digests: Bool = false, trace: ((String) -> Void)? = nil) {
        self.seed = seed
        self.digests = digests
        self.trace = trace
        random = SeededRandom(seed: seed)
        network = SeededRandom(seed: seed ^ 0x5eed)
        wildness = random.uniform() < 0.2 ? 0 : random.uniform()
        var settings = CacheSettings()
        settings.isPredictive = random.uniform() < 0.85
        let reach = CacheReach(position: 3_000, route: 1_500, destination: 4_000)
        settings.navigation = CacheProfile(levels: [
            .init(zoom: 10, reach: reach.atLeast(8_000)), .init(zoom: 12, reach: reach),
        ])
        settings.maps = .maps(reach, zooms: 9...11)
        let isTight = random.uniform() < 0.4
        settings.budgetBytes = isTight ? Int64(300_000 + random.next() % 1_200_000) : 50_000_000
        settings.editionInterval = 120 + 400 * random.uniform()
        settings.scrubBytesPerSecond = random.uniform() < 0.3 ? 0 : 200_000
        self.settings = settings
        servers = [
            SimServer(TilesetSettings("roads", .navigation), isListed: true, expiry: nil),
            SimServer(TilesetSettings("map", .maps), isListed: false, expiry: random.uniform() < 0.5 ? 200 : 5_000),
            SimServer(TilesetSettings("local", .maps, isRemote: false), isListed: false, expiry: nil),
        ]
        servers.removeLast(Int(random.next() % 2))
        servers[0].publishesShortLists = seed % 5 == 2
        servers[0].publishesUnstorable = seed % 7 == 3
        downloads.seed = seed
        downloads.failureCooldown = 60
        store = MemoryStore(MemoryDisk(), budget: settings.budgetBytes)
        cache = TileCache(settings, servers.map(\.settings), store: store, area: CacheWorld.area)
        plan = DownloadPlan(downloads, sources: servers.map { ($0.settings.name, $0.settings.isRemote) })
        rules = CacheRules(downloads)
        begin()
        for (input, period) in periods { push(input, after: random.uniform() * period) }
    }

    /// The recurring events and their mean intervals, seconds.
    private var periods: [(Input, Double)] {
        let rare = 1 / max(wildness, 0.02)
        return [
            (.drive, 5), (.user, 40), (.network, 60 * rare), (.weather, 50 * rare), (.disk, 90 * rare),
            (.damage, 60 * rare), (.publish, 150), (.kill, 120 * rare),
        ]
    }

    // MARK: Time

    /// Runs the world to the end.
    mutating func run() throws {
        let calm = Int64(Self.duration * Self.second)
        while let next = queue.first {
            if !isCalm, next.time >= calm {
                now = calm
                try becomeCalm()
                continue
            }
            pop()
            now = max(now, next.time)
            if Double(now) / Self.second > Self.duration + Self.patience { break }
            if isCalm, isSettled() { break }
            try take(next.input)
        }
        try rules.checkEnd(self)
    }

    /// Schedules an event in a heap, the soonest first; simultaneous events keep their order.
    private mutating func push(_ input: Input, at time: Int64) {
        queued += 1
        queue.append((max(time, now), queued, input))
        var place = queue.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard isBefore(place, parent) else { break }
            queue.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func push(_ input: Input, after seconds: Double) {
        push(input, at: now + Int64(seconds * Self.second))
    }

    private mutating func pop() {
        queue.swapAt(0, queue.count - 1)
        queue.removeLast()
        var place = 0
        while true {
            var first = place
            for child in [2 * place + 1, 2 * place + 2] where child < queue.count && isBefore(child, first) {
                first = child
            }
            guard first != place else { return }
            queue.swapAt(place, first)
            place = first
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (queue[left].time, queue[left].number) < (queue[right].time, queue[right].number)
    }

    private var wall: Timestamp { Timestamp(nanoseconds: Self.start + now) }
    private var instant: CacheInstant { CacheInstant(monotonic: 1_000_000_000_000 + now, wall: wall) }
    private var moment: Duration { .nanoseconds(now) }
    var seconds: Double { Double(now) / Self.second }

    private mutating func draw(_ mean: Double) -> Double { mean * (0.2 + 1.6 * random.uniform()) }

    private mutating func note(_ what: String) {
        tally[what, default: 0] += 1
        trace?("\(seconds) \(what)")
    }

    // MARK: The process

    /// Starts the process with the content of the disk.
    private mutating func begin() {
        life += 1
        (flights, questions, results) = ([:], [:], [])
        (nextPump, nextTick, isDown) = (.max, .max, false)
        let disk = store.disk
        let capacity = store.capacity
        store = MemoryStore(disk, budget: settings.budgetBytes)
        store.capacity = capacity
        cache = TileCache(settings, servers.map(\.settings), store: store, area: CacheWorld.area)
        plan = DownloadPlan(downloads, sources: servers.map { ($0.settings.name, $0.settings.isRemote) })
        plan.network = settings.network
        rules.begin(store)
        push(.tick, at: now)
        pendingStart = true
    }

    private var pendingStart = true

    private mutating func take(_ input: Input) throws {
        if isCalm, input.isTrouble { return }
        switch input {
        case .tick:
            guard !isDown else { return }
            if pendingStart {
                pendingStart = false
                try handle(.start)
                var update = VehicleUpdate()
                // Even a stationary vehicle reports its position, without which no edition is switched.
                update.position = position
                if !route.isEmpty { update.route = VehicleUpdate.Route(id: routeID, corners: route) }
                try handle(.vehicle(update))
            }
            nextTick = .max
            try turn()
        case .drive: try drive()
        case .user: try act()
        case .network: try changeNetwork()
        case .weather: changeWeather()
        case .disk: try changeDisk()
        case .damage: damage()
        case .publish: publish()
        case .kill: try killProcess()
        case .revive:
            note("process started")
            begin()
        case .deliver: try deliver()
        case .pump:
            nextPump = .max
            try pump()
        case .arrival(let key, let flight): try arrive(key, flight)
        case .edition(let tileset, let known, let question): try answer(tileset, known, question)
        case .sampled(let id, let number):
            guard !isDown else { return }
            try handle(.sampled(id, number: number, estimates: [:]))
        }
        try again(input)
    }

    /// Schedules a recurring event again.
    private mutating func again(_ input: Input) throws {
        guard !isCalm else { return }
        let period: Double
        switch input {
        case .drive: period = 5
        case .user: period = 40
        case .network: period = 60 / max(wildness, 0.02)
        case .weather: period = 50 / max(wildness, 0.02)
        case .disk: period = 90 / max(wildness, 0.02)
        case .damage: period = 60 / max(wildness, 0.02)
        case .publish: period = 200
        case .kill: period = 120 / max(wildness, 0.02)
        default: return
        }
        push(input, after: draw(period))
    }

    /// Passes an event to the core and performs its turn, as the node's thread does.
    private mutating func handle(_ event: CacheEvent) throws {
        guard !isDown else { return }
        let effects = cache.handle(event, at: instant)
        try perform(effects)
    }

    private mutating func turn() throws {
        guard !isDown else { return }
        let report = NetworkReport(conditions: plan.conditions, isBusy: plan.totals.runningCount > 0)
        try handle(.tick(report))
        guard !isDown else { return }
        let due = max(cache.due - 1_000_000_000_000, now + 1_000_000)
        if due < nextTick {
            nextTick = due
            push(.tick, at: due)
        }
    }

    /// - Returns: whether the command succeeded.
    @discardableResult
    private mutating func command<Value>(
        _ body: (TileCache<MemoryStore>) throws(TileFailure) -> Value
    ) throws -> Bool {
        guard !isDown else { return false }
        let (answer, effects) = cache.run(at: instant, body)
        if case .failure(let failure) = answer { note("refused: \(failure.code)") }
        try perform(effects)
        try turn()
        return (try? answer.get()) != nil
    }

    private mutating func perform(_ effects: [CacheEffect]) throws {
        if store.isDead {
            // The last requests of a killed process are lost.
            note("process killed at a write")
            end()
            return try rules.check(self)
        }
        let refused = Set(effects.compactMap { if case .refused(let token, _) = $0 { token } else { nil } })
        for effect in effects {
            add(effect)
            switch effect {
            case .demand(let demands, let owner): plan.setDemands(demands, for: owner)
            case .abandon(let owner):
                for key in plan.abandon(owner) where !isDown {
                    flights[key] = nil
                    try finish(key, .failure(TileSourceError(.cancelled, "broken off")))
                }
            case .forgetFailures(let tilesets): plan.forgetFailures(of: tilesets)
            case .pauseDownloads(let isPaused): plan.isPaused = isPaused
            case .askEdition(let tileset, let known): try askEdition(tileset, known)
            case .sample(let definition, let number):
                push(.sampled(definition.id, number: number), after: 0.1 + random.uniform())
            case .stopSample, .tilesetsChanged: break
            case .accepted(let token, let id):
                note("load accepted")
                // A load that is accepted and then refused leaves its region unchanged.
                if !refused.contains(token) { rules.note(cancelled: id, false) }
            case .refused(_, let failure): note("load refused: \(failure.code)")
            case .region(let notice):
                note("\(notice.kind)\(notice.isSuccess.map { " \($0)" } ?? "")")
            case .log(_, let text): trace?("\(seconds)   \(text)")
            }
        }
        try rules.check(self)
        try pump()
    }

    /// Ends the process.
    private mutating func end() {
        isDown = true
        store.kill = nil
        push(.revive, after: 0.5 + 5 * random.uniform())
    }

    private mutating func killProcess() throws {
        guard !isDown else { return }
        if random.uniform() < 0.3 {
            note("process killed")
            end()
        } else {
            store.kill = MemoryStore.Kill(writes: 1 + Int(random.next() % 12), isAfter: random.uniform() < 0.5)
        }
    }

    // MARK: Downloads

    private func server(_ name: String) -> SimServer? { servers.first { $0.settings.name == name } }

    private mutating func pump() throws {
        guard !isDown else { return }
        for start in plan.starts(at: moment) {
            let tileset = start.key.address.tileset
            guard let server = server(tileset) else { continue }
            try rules.begin(start, isRemote: server.settings.isRemote, settings, seconds)
            lastNumber += 1
            flights[start.key] = (lastNumber, life, start.demand)
            trace?("\(seconds)   fetch \(start.key.address)@\(start.key.edition ?? "") attempt \(start.attempt)")
            digest.add(UInt64(truncatingIfNeeded: start.key.address.tile.x) << 20 ^ UInt64(start.key.address.tile.y))
            let delay = server.settings.isRemote ? 0.02 + 1.5 * network.uniform() * network.uniform() : 0.001
            push(.arrival(start.key, flight: lastNumber), after: delay)
        }
        results += plan.takeEarly()
        if !results.isEmpty { push(.deliver, after: 0.004) }
        if let wake = plan.wake(at: moment) {
            let time = Int64(wake / .nanoseconds(1)) + 1
            if time < nextPump {
                nextPump = time
                push(.pump, at: time)
            }
        }
    }

    private mutating func arrive(_ key: DownloadKey, _ number: Int) throws {
        guard !isDown, let flight = flights[key], flight.number == number, flight.owner == life,
            let server = server(key.address.tileset)
        else { return }
        flights[key] = nil
        let outcome = server.answer(
            key.address.tile, edition: key.edition, known: flight.demand.known, at: now, wall: wall, &network)
        try finish(key, outcome)
    }

    private mutating func finish(_ key: DownloadKey, _ outcome: Result<TileAnswer, TileSourceError>) throws {
        rules.end(key, outcome, seconds)
        if case .failure(let error) = outcome { trace?("\(seconds)   failed \(key.address): \(error.code)") }
        if let result = plan.finish(key, outcome, at: moment) {
            plan.hold(result)
            results.append(result)
        }
        try pump()
    }

    private mutating func deliver() throws {
        guard !isDown, !results.isEmpty else { return }
        let batch = results
        results = []
        try handle(.downloads(batch))
        guard !isDown else { return }
        for result in batch { plan.release(result) }
        try turn()
        try pump()
    }

    private mutating func askEdition(_ tileset: String, _ known: Validators?) throws {
        guard let server = server(tileset) else { return }
        try rules.askEdition(tileset, isRemote: server.settings.isRemote, settings, seconds)
        lastNumber += 1
        questions[lastNumber] = tileset
        let isAsked = plan.obstacle(tileset, at: moment) == nil
        if isAsked { plan.beginRequest(tileset, at: moment) }
        push(
            .edition(tileset, known: known, question: isAsked ? lastNumber : -lastNumber),
            after: 0.05 + network.uniform())
    }

    private mutating func answer(_ tileset: String, _ known: Validators?, _ question: Int) throws {
        guard !isDown, questions.removeValue(forKey: abs(question)) != nil, let server = server(tileset) else { return }
        var answer: Result<EditionAnswer, TileSourceError>
        if question < 0 {
            answer = .failure(TileSourceError(.paused, "left alone"))
        } else {
            if server.settings.isRemote, settings.network == .offline {
                answer = .failure(TileSourceError(.cancelled, "the network is closed"))
            } else if let failure = server.failure(at: now, &network) {
                answer = .failure(failure)
            } else if known?.etag == server.versionName, server.expiry == nil {
                answer = .success(.notModified(Validators(etag: server.versionName)))
            } else {
                answer = .success(.edition(server.edition, Validators(etag: server.versionName)))
            }
            if case .failure(let error) = answer {
                plan.finishRequest(tileset, error, at: moment)
            } else {
                plan.finishRequest(tileset, nil, at: moment)
            }
        }
        try handle(.edition(tileset, answer))
        try turn()
    }

    // MARK: Events

    private mutating func place() -> Coordinate {
        Coordinate(latitude: 40.9 + 0.5 * random.uniform(), longitude: -8.8 + 0.8 * random.uniform())
    }

    private mutating func drive() throws {
        var update = VehicleUpdate()
        if route.isEmpty || random.uniform() < 0.03 {
            let end = place()
            let from = route.isEmpty ? place() : position
            route = (0...20).map { step in
                let share = Double(step) / 20
                return Coordinate(
                    latitude: from.latitude + share * (end.latitude - from.latitude),
                    longitude: from.longitude + share * (end.longitude - from.longitude))
            }
            travelled = 0
            routeID += 1
            update.route = VehicleUpdate.Route(id: routeID, corners: route)
            note("route")
        } else if random.uniform() < 0.01 {
            update.isGuided = false
        }
        travelled += 120
        update.progress = (routeID, travelled)
        update.position = position
        try handle(.vehicle(update))
        try turn()
    }

    private var position: Coordinate {
        guard let first = route.first, let last = route.last else { return Coordinate(latitude: 41, longitude: -8.5) }
        let length = max(Geodesy.distance(first, last), 1)
        let share = min(travelled / length, 1)
        return Coordinate(
            latitude: first.latitude + share * (last.latitude - first.latitude),
            longitude: first.longitude + share * (last.longitude - first.longitude))
    }

    /// Returns the area of a region, whose geometry is the centre and radius as text.
    @Sendable static func area(_ definition: StoredRegionDefinition) -> RegionArea? {
        let numbers = String(decoding: definition.geometry, as: UTF8.self).split(separator: " ").compactMap {
            Double($0)
        }
        guard numbers.count == 3 else { return nil }
        return try? RegionArea.circle(
            around: Coordinate(latitude: numbers[0], longitude: numbers[1]), radius: numbers[2])
    }

    private mutating func act() throws {
        let id = "r\(random.next() % 4)"
        switch random.next() % 12 {
        case 0...4:
            let centre = place()
            let radius = 1_000 + 6_000 * random.uniform()
            var descriptors = [RegionDescriptor(tileset: "roads", domain: .navigation, zoomMin: 9, zoomMax: 12)]
            if random.uniform() < 0.5 {
                descriptors.append(RegionDescriptor(tileset: "map", domain: .maps, zoomMin: 9, zoomMax: 11))
            }
            tokens += 1
            note("load")
            try handle(
                .load(
                    StoredRegionDefinition(
                        id: id, geometry: Array("\(centre.latitude) \(centre.longitude) \(radius)".utf8),
                        descriptors: descriptors, acceptExpired: random.uniform() < 0.7), token: tokens))
            try turn()
        case 5:
            note("remove")
            if try command({ cache throws(TileFailure) in try cache.remove(id) }) {
                rules.note(cancelled: id, false)
            }
        case 6:
            note("cancel")
            rules.note(cancelled: id, true)
            try command { cache throws(TileFailure) in _ = try cache.cancel(id) }
        case 7:
            note("update")
            let isToRevalidate = random.uniform() < 0.5
            try command { cache throws(TileFailure) in
                _ = try cache.update(id, name: "n\(id)", metadata: nil, isToRevalidate: isToRevalidate)
            }
        case 8:
            note("purge")
            try command { cache throws(TileFailure) in _ = try cache.purge(nil, expiredOnly: false) }
        case 9:
            note("budget")
            settings.budgetBytes = Int64(200_000 + random.next() % 3_000_000)
            try handle(.settings(settings))
            try turn()
        case 10:
            settings.isPredictive.toggle()
            try handle(.settings(settings))
            try turn()
        default:
            // Requests a tile for a waiting caller.
            let tileset = servers[Int(random.next() % UInt64(servers.count))].settings.name
            guard !isDown, let current = cache.tileset(tileset)?.current else { return }
            let tile = TileID(containing: place(), zoom: 11)
            guard current.has(tile), plan.obstacle(tileset, at: moment) == nil else { return }
            note("tile asked for")
            plan.request(TileDemand(TileAddress(tileset, tile), edition: current.key.version))
            rules.asked(DownloadKey(TileDemand(TileAddress(tileset, tile), edition: current.key.version)))
            try pump()
        }
    }

    private mutating func changeNetwork() throws { try setNetwork(NetworkMode.allCases[Int(random.next() % 3)]) }

    private mutating func setNetwork(_ mode: NetworkMode) throws {
        note("network \(mode)")
        settings.network = mode
        try handle(.settings(settings))
        guard !isDown else { return }
        plan.network = mode
        if mode == .offline {
            for key in plan.remoteFlights.sorted(by: { $0.address < $1.address }) {
                flights[key] = nil
                try finish(key, .failure(TileSourceError(.cancelled, "broken off")))
                guard !isDown else { return }
            }
        }
        try turn()
        try pump()
    }

    private mutating func changeWeather() {
        let index = Int(random.next() % UInt64(servers.count))
        if random.uniform() < 0.5 {
            servers[index].outageUntil = now + Int64(draw(60) * Self.second)
            note("outage")
        } else {
            servers[index].failureRate = random.uniform() < 0.5 ? 0 : 0.5 * random.uniform()
        }
    }

    private mutating func changeDisk() throws {
        switch random.next() % 4 {
        case 0:
            store.capacity = store.disk.bytes + Int64(random.next() % 100_000)
            note("disk full")
        case 1:
            var chance = SeededRandom(seed: random.next())
            if seed % 7 == 1 {
                store.isUnwritable = true
                note("files cannot be written")
            } else {
                store.failure = { chance.uniform() < 0.1 }
                note("disk fails")
            }
        default:
            store.capacity = .max
            store.failure = nil
            store.isUnwritable = false
        }
    }

    private mutating func damage() {
        guard let number = store.disk.tiles.keys.sorted().randomPick(&random) else { return }
        store.damage(number)
        note("tile damaged")
    }

    private mutating func publish() {
        let index = Int(random.next() % UInt64(servers.count))
        servers[index].publish()
        note("edition published")
        if servers[index].isShort { note("short list published") }
        if servers[index].isUnstorable { note("unstorable edition published") }
    }

    // MARK: The end

    /// Ends all faults.
    private mutating func becomeCalm() throws {
        isCalm = true
        for index in servers.indices {
            (servers[index].outageUntil, servers[index].failureRate) = (.min, 0)
            if servers[index].isShort || servers[index].isUnstorable { servers[index].publish() }
        }
        store.capacity = .max
        store.failure = nil
        store.isUnwritable = false
        store.kill = nil
        settings.budgetBytes = 1_000_000_000
        if isDown {
            settings.network = .unmetered
        } else {
            try setNetwork(.unmetered)
        }
    }

    /// Whether everything has arrived; checked every ten seconds.
    private mutating func isSettled() -> Bool {
        guard now >= nextLook, !isDown, !pendingStart, flights.isEmpty, results.isEmpty else { return false }
        nextLook = now + Int64(10 * Self.second)
        return rules.pending(self) == nil
    }

    // MARK: Results

    private mutating func add(_ effect: CacheEffect) {
        guard digests else { return }
        digest.add("\(seconds) \(Self.text(of: effect))".utf8)
    }

    /// Returns an effect as text that does not depend on the order of a dictionary.
    private static func text(of effect: CacheEffect) -> String {
        switch effect {
        case .demand(let demands, let owner):
            let list = demands.map {
                "\($0.address) \($0.edition ?? "-") \($0.need) \($0.isAwaited) \($0.known?.etag ?? "-")"
            }
            return "demand \(owner.urgency) \(owner.name) \(list.joined(separator: ","))"
        case .abandon(let owner): return "abandon \(owner.urgency) \(owner.name)"
        case .region(let notice):
            let progress = notice.progress.map { "\($0)" } ?? ""
            return "\(notice.kind) \(notice.id) \(progress) \(notice.failure?.message ?? "")"
        case .sample(let definition, let number): return "sample \(definition.id) \(number)"
        case .forgetFailures, .pauseDownloads, .askEdition, .stopSample, .accepted, .refused, .tilesetsChanged, .log:
            return "\(effect)"
        }
    }
}

extension Array {
    fileprivate func randomPick(_ random: inout SeededRandom) -> Element? {
        isEmpty ? nil : self[Int(random.next() % UInt64(count))]
    }
}
