import NavGeo
import NavRemote

/// A state machine that schedules downloads; moments are durations since an arbitrary fixed moment.
package struct DownloadPlan: Sendable {
    /// A download to begin now.
    package struct Start: Sendable {
        package var key: DownloadKey
        package var demand: TileDemand
        /// Counted from 1.
        package var attempt: Int
    }

    private struct Source: Sendable {
        var isRemote: Bool
        var breaker: CircuitBreaker
        /// Whether its last failure was that the source could not be reached.
        var isUnreachable = false
        /// The numbers of running downloads, and of those whose tile has not arrived.
        var running = 0
        var asked = 0
    }

    private struct Flight: Sendable {
        var attempt: Int
        var reserved: Int64
        var isRemote: Bool
        var hasArrived = false
    }

    private struct Failure: Sendable {
        var error: TileSourceError
        var until: Duration
    }

    private let configuration: DownloadConfiguration
    private let policy: RetryPolicy
    private let names: [String]
    private var sources: [String: Source]
    private var queues: [DemandQueue] = []
    private var flights: [DownloadKey: Flight] = [:]
    /// The moments until which awaited tiles have exclusive use of the network.
    private var aloneUntil: [DownloadKey: Duration] = [:]
    /// The failed attempts of tiles that will be retried.
    private var attempts: [DownloadKey: Int] = [:]
    private var waiting: [DownloadKey: Duration] = [:]
    private var givenUp: [DownloadKey: Failure] = [:]
    /// The sizes of tiles that are delivered, or ready for delivery, and not yet released.
    private var held: [DownloadKey: Int64] = [:]
    private var heldBytes: Int64 = 0
    private var reserved: Int64 = 0
    private var random: SplitMix64
    /// The assumed size of a tile of unknown size: the mean of those received.
    private var usualSize = 65_536.0

    package var network = NetworkMode.unmetered
    /// Whether only downloads of tiles that callers wait for are started.
    package var isPaused = false
    package private(set) var statistics = DownloadStatistics()
    /// Results that are ready without a download.
    package private(set) var early: [DownloadResult] = []

    static let asking = DownloadOwner(.asked, "")

    /// - Parameter sources: The tilesets, each with whether its source is remote.
    package init(_ configuration: DownloadConfiguration, sources: [(tileset: String, isRemote: Bool)]) {
        self.configuration = configuration
        names = sources.map(\.tileset).sorted()
        policy = RetryPolicy(
            retries: configuration.retries,
            backoff: Backoff(first: configuration.firstPause, longest: configuration.longestPause),
            longestRetryAfter: configuration.longestRetryAfter)
        self.sources = [:]
        for source in sources {
            self.sources[source.tileset] = Source(isRemote: source.isRemote, breaker: CircuitBreaker(configuration))
        }
        random = SplitMix64(seed: configuration.seed)
    }

    // MARK: Demands

    /// Replaces an owner's demands; tiles that are still held count as fetched.
    package mutating func setDemands(_ demands: [TileDemand], for owner: DownloadOwner) {
        queues.removeAll { $0.owner == owner }
        var byTileset: [String: [TileDemand]] = [:]
        for demand in demands where sources[demand.address.tileset] != nil {
            byTileset[demand.address.tileset, default: []].append(demand)
        }
        for tileset in byTileset.keys.sorted() {
            var queue = DemandQueue(owner, tileset, byTileset[tileset] ?? [])
            for key in held.keys where key.address.tileset == tileset { queue.place(of: key).map { queue.finish($0) } }
            queues.append(queue)
        }
        queues.sort { left, right in
            (left.owner.urgency, left.owner.name, left.tileset) < (right.owner.urgency, right.owner.name, right.tileset)
        }
        // Limit the memory of tiles that are no longer wanted.
        if attempts.count + waiting.count > 10_000 {
            let isWanted = { [queues] (key: DownloadKey) in
                queues.contains { $0.place(of: key) != nil && $0.tileset == key.address.tileset }
            }
            attempts = attempts.filter { isWanted($0.key) }
            waiting = waiting.filter { isWanted($0.key) }
        }
    }

    /// Ends an owner's demands.
    ///
    /// - Returns: Its running downloads that no other owner demands and that have not arrived yet, to be cancelled.
    package mutating func abandon(_ owner: DownloadOwner) -> [DownloadKey] {
        func isWanted(_ key: DownloadKey, byOwner: Bool) -> Bool {
            queues.contains {
                ($0.owner == owner) == byOwner && $0.tileset == key.address.tileset && $0.place(of: key) != nil
            }
        }
        let useless = flights.filter { key, flight in
            !flight.hasArrived && isWanted(key, byOwner: true) && !isWanted(key, byOwner: false)
        }
        setDemands([], for: owner)
        return useless.keys.sorted { ($0.address, $0.edition ?? "") < ($1.address, $1.edition ?? "") }
    }

    /// Allows given-up tiles to be requested again at once, because a caller has requested them.
    package mutating func forgetFailures(of tilesets: [String]) {
        givenUp = givenUp.filter { !tilesets.contains($0.key.address.tileset) }
    }

    package mutating func request(_ demand: TileDemand) {
        let key = DownloadKey(demand)
        givenUp[key] = nil
        // A caller is waiting, so the pause after a failure is cut short.
        waiting[key] = nil
        let tileset = demand.address.tileset
        if let index = queues.firstIndex(where: { $0.owner == Self.asking && $0.tileset == tileset }) {
            if queues[index].remaining == 0 { queues[index] = DemandQueue(Self.asking, tileset, [demand]) }
            queues[index].append(demand)
            queues[index].compact()
        } else {
            let index = queues.firstIndex { $0.owner != Self.asking } ?? queues.count
            queues.insert(DemandQueue(Self.asking, tileset, [demand]), at: index)
        }
    }

    /// Records that callers no longer wait for a tile.
    package mutating func withdraw(_ key: DownloadKey) {
        for index in queues.indices where queues[index].owner == Self.asking {
            if queues[index].tileset == key.address.tileset, let place = queues[index].place(of: key) {
                queues[index].finish(place)
            }
        }
    }

    // MARK: Starts

    /// Returns the downloads to begin now, most urgent first.
    package mutating func starts(at now: Duration) -> [Start] {
        var starts: [Start] = []
        while let (queue, place) = best(at: now) {
            let demand = queues[queue].demands[place]
            let key = DownloadKey(demand)
            queues[queue].take(place)
            let tileset = queues[queue].tileset
            let size = min(demand.size ?? Int64(usualSize), configuration.undeliveredBytes)
            let attempt = attempts[key, default: 0] + 1
            waiting[key] = nil
            let isRemote = sources[tileset]?.isRemote ?? false
            // Only the first attempt has exclusive use of the network, and only for a limited time, so that a failing
            // or slow source does not block other tiles.
            if isRemote, demand.isAwaited, attempt == 1 { aloneUntil[key] = now + Self.longestAlone }
            flights[key] = Flight(attempt: attempt, reserved: max(size, 0), isRemote: isRemote)
            reserved += max(size, 0)
            sources[tileset]?.running += 1
            sources[tileset]?.asked += 1
            sources[tileset]?.breaker.noteRequest(at: now)
            starts.append(Start(key: key, demand: demand, attempt: attempt))
        }
        return starts
    }

    /// Returns the most urgent demand that may begin.
    private mutating func best(at now: Duration) -> (queue: Int, place: Int)? {
        var found: (queue: Int, place: Int)?
        for index in queues.indices {
            if let found, queues[found.queue].owner.urgency < queues[index].owner.urgency { break }
            guard queues[index].remaining > 0, let source = sources[queues[index].tileset],
                source.asked < configuration.concurrency, source.breaker.admits(at: now),
                isAllowed(queues[index].owner.urgency, source), let place = candidate(index, at: now),
                mayShare(queues[index].demands[place], queues[index].owner.urgency, source, at: now)
            else { continue }
            if let best = found, !queues[index].demands[place].isSooner(than: queues[best.queue].demands[best.place]) {
                continue
            }
            found = (index, place)
        }
        guard let found else { return nil }
        let demand = queues[found.queue].demands[found.place]
        return hasRoom(demand, queues[found.queue].owner.urgency) ? found : nil
    }

    /// The number of awaited tiles fetched at a time: one arrives while the next is requested.
    private static let awaitedAtOnce = 2
    /// The longest time for which an awaited tile has exclusive use of the network: the time of a megabyte over 1
    /// Mbit/s.
    private static let longestAlone = Duration.seconds(10)

    /// Whether a download may begin beside the running ones.
    ///
    /// Tiles that the vehicle awaits are fetched one after the other at the full speed of the network; less urgent
    /// tiles do not slow them down.
    private func mayShare(
        _ demand: TileDemand, _ urgency: DownloadUrgency, _ source: Source, at now: Duration
    ) -> Bool {
        if urgency == .asked || !source.isRemote { return true }
        let alone = aloneUntil.values.reduce(0) { $0 + ($1 > now ? 1 : 0) }
        return alone == 0 || (demand.isAwaited && alone < Self.awaitedAtOnce)
    }

    private func isAllowed(_ urgency: DownloadUrgency, _ source: Source) -> Bool {
        if isPaused, urgency != .asked { return false }
        return !source.isRemote || networkAllows(urgency)
    }

    /// Whether the network mode allows downloads of an urgency.
    package func networkAllows(_ urgency: DownloadUrgency) -> Bool {
        switch network {
        case .unmetered: true
        case .metered: configuration.metered.contains(urgency)
        case .offline: false
        }
    }

    private func hasRoom(_ demand: TileDemand, _ urgency: DownloadUrgency) -> Bool {
        if urgency == .asked || (flights.isEmpty && heldBytes == 0) { return true }
        guard held.count + flights.count + early.count < 16 * configuration.batchCount else { return false }
        return heldBytes + reserved + (demand.size ?? Int64(usualSize)) <= configuration.undeliveredBytes
    }

    /// Returns the place of a queue's next demand that is neither running, nor waiting, nor given up.
    private mutating func candidate(_ index: Int, at now: Duration) -> Int? {
        while let place = queues[index].next(at: now) {
            let key = DownloadKey(queues[index].demands[place])
            if flights[key] != nil {
                queues[index].take(place)
            } else if let due = waiting[key], due > now {
                queues[index].defer(place, until: due)
            } else if let failure = givenUp[key], failure.until > now {
                queues[index].finish(place)
                var error = failure.error
                error.retryAfter = (failure.until - now) / .seconds(1)
                early.append(
                    DownloadResult(
                        address: key.address, edition: key.edition, outcome: .failure(error),
                        owners: [queues[index].owner], attempts: 0))
            } else {
                return place
            }
        }
        return nil
    }

    // MARK: Results

    /// Records that all bytes of a tile have arrived, which makes room for the next download; the tile is not checked
    /// yet.
    package mutating func noteArrival(_ key: DownloadKey, bytes: Int64) {
        guard var flight = flights[key], !flight.hasArrived else { return }
        reserved += bytes - flight.reserved
        flight.reserved = bytes
        flight.hasArrived = true
        flights[key] = flight
        aloneUntil[key] = nil
        sources[key.address.tileset]?.asked -= 1
    }

    /// Ends an attempt; returns the result to deliver, or nil when the tile will be retried.
    package mutating func finish(
        _ key: DownloadKey, _ outcome: Result<TileAnswer, TileSourceError>, at now: Duration
    ) -> DownloadResult? {
        guard let flight = flights.removeValue(forKey: key) else { return nil }
        if !aloneUntil.isEmpty { aloneUntil[key] = nil }
        reserved -= flight.reserved
        let tileset = key.address.tileset
        sources[tileset]?.running -= 1
        if !flight.hasArrived { sources[tileset]?.asked -= 1 }
        switch outcome {
        case .success(let answer):
            sources[tileset]?.breaker.noteAnswer()
            note(answer)
        case .failure(let error):
            if error.code != .cancelled { statistics.failedAttempts += 1 }
            if [.malformed, .mismatch, .truncated, .tooLarge].contains(error.code) { statistics.corruptCount += 1 }
            noteFailure(error, tileset, at: now)
            if let due = retry(key, error, flight.attempt, at: now) {
                waiting[key] = due
                forEachLane(with: key) { queue, place in queue.defer(place, until: due) }
                return nil
            }
            statistics.failedCount += 1
            if ![.editionChanged, .cancelled, .closed].contains(error.code) {
                if givenUp.count >= 10_000 { givenUp = givenUp.filter { $0.value.until > now } }
                if givenUp.count >= 10_000 { givenUp = [:] }
                givenUp[key] = Failure(error: error, until: now + .seconds(configuration.failureCooldown))
            }
        }
        attempts[key] = nil
        waiting[key] = nil
        var owners: [DownloadOwner] = []
        forEachLane(with: key) { queue, place in
            queue.finish(place)
            owners.append(queue.owner)
        }
        return DownloadResult(
            address: key.address, edition: key.edition, outcome: outcome, owners: owners, attempts: flight.attempt)
    }

    private mutating func forEachLane(with key: DownloadKey, _ body: (inout DemandQueue, Int) -> Void) {
        for index in queues.indices where queues[index].tileset == key.address.tileset {
            if let place = queues[index].place(of: key) { body(&queues[index], place) }
        }
    }

    private mutating func note(_ answer: TileAnswer) {
        switch answer {
        case .fetched(let tile), .unstorable(let tile):
            statistics.fetchedCount += 1
            usualSize += (Double(tile.size) - usualSize) / 16
        case .notModified, .absent: break
        }
    }

    private mutating func noteFailure(_ error: TileSourceError, _ tileset: String, at now: Duration) {
        if error.blamesSource {
            sources[tileset]?.isUnreachable = error.isOutage
            sources[tileset]?.breaker.noteFailure(
                error.message, at: now, atLeast: error.retryAfter.map { .seconds(min(max($0, 0), 1e6)) })
        } else if error.code == .refused || error.code == .editionChanged {
            sources[tileset]?.breaker.noteAnswer()
        } else {
            sources[tileset]?.breaker.noteNothing(at: now)
        }
    }

    /// Returns the moment of the retry of a failed tile; nil when the tile is given up.
    private mutating func retry(
        _ key: DownloadKey, _ error: TileSourceError, _ attempt: Int, at now: Duration
    ) -> Duration? {
        // An attempt that was cancelled because of the network mode waits for the network.
        if error.code == .cancelled || error.code == .offline { return now }
        guard error.isRetryable else { return nil }
        // An unreachable source says nothing about the tile, which waits until the source is back.
        let isOutage = [.unreachable, .timedOut, .rateLimited, .tooSlow].contains(error.code)
        if isOutage, sources[key.address.tileset]?.breaker.failures == nil {
            if isAsked(key) { return nil }
            return now
        }
        guard
            let pause = policy.pause(afterAttempt: attempt - 1, retryAfter: error.retryAfter, chance: random.uniform())
        else { return nil }
        attempts[key] = attempt
        return now + .seconds(pause)
    }

    private func isAsked(_ key: DownloadKey) -> Bool {
        queues.contains { queue in
            queue.owner.urgency == .asked && queue.tileset == key.address.tileset && queue.place(of: key) != nil
        }
    }

    // MARK: Held results

    /// Holds a result until its reader releases it.
    package mutating func hold(_ result: DownloadResult) {
        guard case .success(let answer) = result.outcome, let tile = answer.tile else { return }
        let key = DownloadKey(TileDemand(result.address, edition: result.edition))
        heldBytes += tile.size
        held[key, default: 0] += tile.size
    }

    /// Releases a result that its reader has finished with.
    package mutating func release(_ result: DownloadResult) {
        let key = DownloadKey(TileDemand(result.address, edition: result.edition))
        if let bytes = held.removeValue(forKey: key) { heldBytes -= bytes }
    }

    /// Takes the results that are ready without a download.
    package mutating func takeEarly() -> [DownloadResult] {
        defer { early = [] }
        return early
    }

    // MARK: State

    /// Returns the moment when a blocked download may begin; nil when only an event can unblock one.
    package func wake(at now: Duration) -> Duration? {
        var first: Duration?
        let note = { (moment: Duration) in
            if moment > now { first = min(first ?? moment, moment) }
        }
        for moment in aloneUntil.values { note(moment) }
        for queue in queues where queue.remaining > 0 {
            guard let source = sources[queue.tileset], isAllowed(queue.owner.urgency, source) else { continue }
            if let opens = source.breaker.opens, opens > now {
                note(opens)
            } else if let wake = queue.wake, source.asked < configuration.concurrency {
                // A due demand that has not started waits for an event.
                note(wake)
            }
        }
        return first
    }

    /// The running downloads that use the network.
    package var remoteFlights: [DownloadKey] {
        flights.filter { $0.value.isRemote && !$0.value.hasArrived }.map(\.key)
    }

    /// Whether a tile is being fetched.
    package func isUnderWay(_ key: DownloadKey) -> Bool { flights[key] != nil }

    /// Whether a tile has arrived and has not been released yet.
    package func isHeld(_ key: DownloadKey) -> Bool { held[key] != nil }

    /// Returns the reason why a tile that a caller requests cannot be fetched now; nil when it can.
    package func obstacle(toTileOf tileset: String, at now: Duration) -> TileSourceError? {
        if let obstacle = obstacle(tileset, at: now) { return obstacle }
        guard sources[tileset]?.isRemote == true, !networkAllows(.asked) else { return nil }
        return TileSourceError(
            .offline,
            "the network mode is \(network.rawValue) and network.metered lacks 'asked'; no requested tile is fetched for "
                + "'\(tileset)'")
    }

    /// Returns the reason why a source cannot be queried now; nil when it can.
    package func obstacle(_ tileset: String, at now: Duration) -> TileSourceError? {
        guard let source = sources[tileset] else {
            return TileSourceError(.configuration, "tileset '\(tileset)' has no source")
        }
        if source.isRemote, network == .offline {
            return TileSourceError(.offline, "the network mode is offline; nothing is fetched for '\(tileset)'")
        }
        guard let rest = source.breaker.remainingPause(at: now) else { return nil }
        return TileSourceError(
            .paused, "the source of '\(tileset)' is paused after failures: \(source.breaker.reason ?? "")",
            retryAfter: rest / .seconds(1))
    }

    /// Begins a query that is not for a tile; ``finishRequest(_:_:at:)`` ends it.
    package mutating func beginRequest(_ tileset: String, at now: Duration) {
        sources[tileset]?.breaker.noteRequest(at: now)
    }

    /// Ends a query that is not for a tile.
    package mutating func finishRequest(_ tileset: String, _ error: TileSourceError?, at now: Duration) {
        guard let error else {
            sources[tileset]?.breaker.noteAnswer()
            return
        }
        noteFailure(error, tileset, at: now)
    }

    package var conditions: [SourceCondition] {
        names.compactMap { name in
            guard let source = sources[name] else { return nil }
            return SourceCondition(
                tileset: name, reachability: SourceReachability(source.breaker), reason: source.breaker.reason,
                isUnreachable: source.breaker.reason != nil && source.isUnreachable)
        }
    }

    private func pending(_ tileset: String) -> Int {
        max(queues.reduce(0) { $0 + ($1.tileset == tileset ? $1.remaining : 0) } - (sources[tileset]?.running ?? 0), 0)
    }

    package var totals: DownloadStatistics {
        var totals = statistics
        totals.runningCount = flights.count
        totals.pendingCount = names.reduce(0) { $0 + pending($1) }
        return totals
    }
}

extension CircuitBreaker {
    fileprivate init(_ configuration: DownloadConfiguration) {
        self.init(
            failuresToOpen: configuration.failuresToOpen, firstOpenTime: .seconds(configuration.firstOpenTime),
            longestOpenTime: .seconds(configuration.longestOpenTime),
            longestRetryAfter: .seconds(configuration.longestRetryAfter))
    }
}

extension SourceReachability {
    fileprivate init(_ breaker: CircuitBreaker) {
        self = breaker.failures.map { $0 == 0 ? .online : .degraded } ?? .offline
    }
}
