package import NavGeo
import NavHTTP
package import NavTileCache
import Synchronization

/// A queue that fetches wanted tiles, most urgent first, and delivers them on arrival.
///
/// Owners state which tiles they want, and may change that at any time. A download that has not begun is dropped when
/// no owner wants it any more; a running one is finished and delivered, because most of its cost is already incurred,
/// unless its owner is abandoned.
package final class DownloadQueue: Sendable {
    private typealias Answer = Result<TileAnswer, TileSourceError>

    private struct State {
        var plan: DownloadPlan
        /// The worker that fetches each tile.
        var running: [DownloadKey: UInt64] = [:]
        var workers: [UInt64: Task<Void, Never>] = [:]
        var requests: [UInt64: PendingRequest] = [:]
        var waiters: [DownloadKey: [UInt64: CheckedContinuation<Answer, Never>]] = [:]
        var checks = CheckLine()
        var results: [DownloadResult] = []
        /// The results last delivered to the reader.
        var taken: [DownloadResult] = []
        /// The schedule of checking tiles and of delivering results.
        var batches = BatchTimer()
        var reader: CheckedContinuation<[DownloadResult]?, Never>?
        var timer: (task: Task<Void, Never>, due: Duration)?
        var lastNumber: UInt64 = 0
        var isStopped = false
        var idle: [CheckedContinuation<Void, Never>] = []
    }

    private struct PendingRequest {
        var isRemote: Bool
        var cancel: @Sendable () -> Void
    }

    private let sources: [String: any TileSource]
    /// The executors of those sources that need a particular one to fetch tiles.
    private let executors: [String: any TaskExecutor]
    private let configuration: DownloadConfiguration
    private let clock: DownloadClock
    private let meter: TransferMeter
    private let state: Mutex<State>

    /// A queue over one source for each tileset.
    ///
    /// Fails with ``TileSourceError/Code/configuration``.
    package init(
        _ sources: [any TileSource], _ configuration: DownloadConfiguration = DownloadConfiguration(),
        clock: DownloadClock = .system
    ) throws(TileSourceError) {
        var byTileset: [String: any TileSource] = [:]
        for source in sources {
            guard byTileset.updateValue(source, forKey: source.tileset) == nil else {
                throw TileSourceError(.configuration, "tileset '\(source.tileset)' has two sources")
            }
        }
        self.sources = byTileset
        executors = byTileset.compactMapValues { $0.executor }
        self.configuration = configuration
        self.clock = clock
        meter = TransferMeter(bytesPerSecond: configuration.bytesPerSecond, now: clock.now)
        state = Mutex(
            State(plan: DownloadPlan(configuration, sources: sources.map { ($0.tileset, $0.isRemote) })))
    }

    // MARK: Demands

    /// Replaces an owner's demands; those for tilesets without a source are ignored.
    ///
    /// Each demand gets one result. A tile whose result has not been taken yet, or has been taken but not released
    /// (``release()``), is not fetched again. A tile that was given up recently (``DownloadConfiguration/failureCooldown``)
    /// gets the same failure again at once.
    package func setDemands(_ demands: [TileDemand], for owner: DownloadOwner) {
        state.withLock { $0.plan.setDemands(demands, for: owner) }
        pump()
    }

    /// Ends an owner's demands, and cancels those of its running downloads that no other owner demands.
    ///
    /// Tiles that have arrived but are not delivered yet are still delivered.
    package func abandon(_ owner: DownloadOwner) {
        let tasks = state.withLock { state in
            state.plan.abandon(owner).compactMap { key in state.running[key].flatMap { state.workers[$0] } }
        }
        // A worker that has since moved on to another tile gives up that tile too; it is fetched again.
        for task in tasks { task.cancel() }
        pump()
    }

    /// Allows given-up tiles to be fetched again at once, see ``setDemands(_:for:)``.
    package func forgetFailures(of tilesets: [String]) {
        state.withLock { $0.plan.forgetFailures(of: tilesets) }
    }

    /// Fetches one tile before all others and waits for it, joining a running download of it.
    ///
    /// The result is also delivered by ``next()``. A tile that has arrived and has not been released yet is returned at
    /// once, and not delivered again. Fails at once when the source is paused or the network must not be used.
    package func fetch(_ demand: TileDemand) async throws(TileSourceError) -> TileAnswer {
        let key = DownloadKey(demand)
        let number = nextNumber()
        let answer: Answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = clock.now()
                let answer = state.withLock { state -> Answer? in
                    if state.isStopped { return .failure(Self.closed) }
                    if Task.isCancelled { return .failure(Self.cancellation) }
                    if let held = Self.held(key, state) { return held }
                    if !state.plan.isUnderWay(key),
                        let obstacle = state.plan.obstacle(toTileOf: demand.address.tileset, at: now)
                    {
                        return .failure(obstacle)
                    }
                    state.waiters[key, default: [:]][number] = continuation
                    state.plan.request(demand)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) } else { pump() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
                let waiter = state.waiters[key]?.removeValue(forKey: number)
                if state.waiters[key]?.isEmpty == true {
                    state.waiters[key] = nil
                    state.plan.withdraw(key)
                }
                return waiter
            }
            waiter?.resume(returning: .failure(Self.cancellation))
        }
        return try answer.get()
    }

    /// Returns the answer for a tile that has arrived and may not be stored yet; nil when there is none.
    private static func held(_ key: DownloadKey, _ state: State) -> Answer? {
        guard state.plan.isHeld(key) else { return nil }
        let isIt = { (result: DownloadResult) in
            result.address == key.address && result.edition == key.edition && (try? result.outcome.get().tile) != nil
        }
        return (state.results.last(where: isIt) ?? state.taken.last(where: isIt))?.outcome
    }

    /// The number of callers waiting for a tile.
    package var callerCount: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    // MARK: Delivery

    /// Waits for the next results, at least one; nil when the queue has stopped or the task is cancelled.
    ///
    /// For a single reader: the last results count as held until the reader releases them (``release()``) or calls this
    /// again. While the held results exceed ``DownloadConfiguration/undeliveredBytes``, no download begins.
    package func next() async -> [DownloadResult]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = clock.now()
                let (other, done, delivery) = state.withLock { state in
                    let other = state.reader
                    let done = Self.release(&state)
                    state.reader = continuation
                    if state.isStopped || Task.isCancelled {
                        state.reader = nil
                        return (other, done, Delivery(reader: continuation, results: nil) as Delivery?)
                    }
                    return (other, done, advance(&state, at: now).delivery)
                }
                // Free the released results here, outside the lock.
                _ = consume done
                other?.resume(returning: nil)
                delivery?.make()
            }
        } onCancel: {
            state.withLock { state in
                state.reader?.resume(returning: nil)
                state.reader = nil
            }
        }
    }

    /// Releases the last results; a later demand for one of these tiles fetches it again.
    package func release() {
        let done = state.withLock { Self.release(&$0) }
        _ = consume done
        pump()
    }

    private static func release(_ state: inout State) -> [DownloadResult] {
        for result in state.taken { state.plan.release(result) }
        defer { state.taken = [] }
        return state.taken
    }

    // MARK: Queries

    /// Polls a source for its edition, if the network mode and the source's state allow it.
    package func edition(
        of tileset: String, known: Validators? = nil
    ) async throws(TileSourceError) -> EditionAnswer {
        try await question(tileset) { source, _ throws(TileSourceError) in try await source.edition(known: known) }
    }

    /// Estimates the size of some tiles of a tileset: exactly where the source states their sizes, else by samples.
    package func estimate(
        _ tiles: [TileID], of tileset: String
    ) async throws(TileSourceError) -> DownloadEstimate {
        let limit = configuration.concurrency
        return try await question(tileset) { source, meter throws(TileSourceError) in
            try await SizeEstimate.estimate(tiles, source, concurrency: limit, meter: meter)
        }
    }

    private func question<Value: Sendable>(
        _ tileset: String,
        _ ask: @escaping @Sendable (any TileSource, TransferMeter?) async throws(TileSourceError) -> Value
    ) async throws(TileSourceError) -> Value {
        guard let source = sources[tileset] else {
            throw TileSourceError(.configuration, "tileset '\(tileset)' has no source")
        }
        let now = clock.now()
        let obstacle = state.withLock { state -> TileSourceError? in
            if state.isStopped { return Self.closed }
            if let obstacle = state.plan.obstacle(tileset, at: now) { return obstacle }
            state.plan.beginRequest(tileset, at: now)
            return nil
        }
        if let obstacle { throw obstacle }
        let meter = source.isRemote ? meter : nil
        let task = Task { () -> Result<Value, TileSourceError> in
            do throws(TileSourceError) {
                return .success(try await ask(source, meter))
            } catch {
                return .failure(error)
            }
        }
        let number = nextNumber()
        let isLate = state.withLock { state in
            state.requests[number] = PendingRequest(isRemote: source.isRemote) { task.cancel() }
            return state.isStopped || (source.isRemote && state.plan.network == .offline)
        }
        if isLate { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        let end = clock.now()
        state.withLock { state in
            state.requests[number] = nil
            if case .failure(let error) = result {
                state.plan.finishRequest(tileset, error, at: end)
            } else {
                state.plan.finishRequest(tileset, nil, at: end)
            }
            if state.isStopped { Self.settle(&state) }
        }
        pump()
        return try result.get()
    }

    // MARK: Parts

    package var network: NetworkMode {
        get { state.withLock { $0.plan.network } }
        set {
            let (cancelled, asked) = state.withLock { state in
                state.plan.network = newValue
                let asked = state.plan.networkAllows(.asked) ? [] : remoteWaiters(&state)
                guard newValue == .offline else { return ([@Sendable () -> Void](), asked) }
                var cancelled = state.requests.values.filter(\.isRemote).map(\.cancel)
                for key in state.plan.remoteFlights {
                    if let task = state.running[key].flatMap({ state.workers[$0] }) {
                        cancelled.append { task.cancel() }
                    }
                }
                return (cancelled, asked)
            }
            for cancel in cancelled { cancel() }
            for waiters in asked {
                let error = TileSourceError(.offline, "the network mode no longer allows the download")
                for waiter in waiters.values { waiter.resume(returning: .failure(error)) }
            }
            pump()
        }
    }

    private typealias Waiters = [UInt64: CheckedContinuation<Answer, Never>]

    /// Removes and returns the callers that wait for remote tiles, because callers do not wait for the network to
    /// return; tiles being fetched still arrive unless the network mode is offline.
    private func remoteWaiters(_ state: inout State) -> [Waiters] {
        let keys = state.waiters.keys.filter {
            sources[$0.address.tileset]?.isRemote ?? false
                && (state.plan.network == .offline || !state.plan.isUnderWay($0))
        }
        return keys.compactMap { key in
            state.plan.withdraw(key)
            return state.waiters.removeValue(forKey: key)
        }
    }

    /// The rate limit of all remote sources together, bytes per second; nil for no limit.
    package var bytesPerSecond: Double? {
        get { meter.bytesPerSecond }
        set { meter.bytesPerSecond = newValue }
    }

    /// Whether only downloads requested by ``fetch(_:)`` begin, because others could not be stored.
    package var isPaused: Bool {
        get { state.withLock { $0.plan.isPaused } }
        set {
            state.withLock { $0.plan.isPaused = newValue }
            pump()
        }
    }

    package var conditions: [SourceCondition] { state.withLock { $0.plan.conditions } }

    package var statistics: DownloadStatistics {
        var totals = state.withLock { $0.plan.totals }
        totals.receivedBytes = meter.received
        return totals
    }

    /// Cancels all downloads and waits until they have ended; untaken results are lost, and the sources stay open.
    package func stop() async {
        let waiters = state.withLock { state in
            state.isStopped = true
            for task in state.workers.values { task.cancel() }
            for request in state.requests.values { request.cancel() }
            state.timer?.task.cancel()
            state.timer = nil
            state.checks.removeAll()
            state.results = []
            state.reader?.resume(returning: nil)
            state.reader = nil
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in waiters { waiter.resume(returning: .failure(Self.closed)) }
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.idle.append(continuation)
                Self.settle(&state)
            }
        }
    }

    // MARK: The shell around the plan

    private static let closed = TileSourceError(.closed, "the download queue has stopped")
    private static let cancellation = TileSourceError(.cancelled, "the request was cancelled")

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Resumes the callers of ``stop()`` when everything has ended.
    private static func settle(_ state: inout State) {
        guard state.isStopped, state.workers.isEmpty, state.requests.isEmpty, state.checks.isIdle else { return }
        for waiter in state.idle { waiter.resume() }
        state.idle = []
    }

    /// Results for the waiting reader; nil when no more will arrive.
    private struct Delivery {
        var reader: CheckedContinuation<[DownloadResult]?, Never>
        var results: [DownloadResult]?

        func make() { reader.resume(returning: results) }
    }

    /// Starts downloads, delivers results, and sets the timer for the next call.
    private func pump() {
        let now = clock.now()
        let delivery = state.withLock { advance(&$0, at: now).delivery }
        delivery?.make()
    }

    /// - Parameters:
    ///   - worker: an idle worker; it gets the first new download of its tileset, instead of a new worker.
    ///   - isBatch: whether a batch of results is due, so that they are delivered at once.
    /// - Returns: that first download, and the delivery to make after unlocking, since a reader woken earlier would
    ///   wait for the lock.
    private func advance(
        _ state: inout State, worker: (number: UInt64, tileset: String)? = nil, isBatch: Bool = false, at now: Duration
    ) -> (first: DownloadPlan.Start?, delivery: Delivery?) {
        guard !state.isStopped else { return (nil, nil) }
        var first: DownloadPlan.Start?
        for start in state.plan.starts(at: now) {
            let tileset = start.key.address.tileset
            if let worker, first == nil, worker.tileset == tileset {
                state.running[start.key] = worker.number
                first = start
                continue
            }
            state.lastNumber += 1
            let number = state.lastNumber
            state.running[start.key] = number
            state.workers[number] = Task(executorPreference: executors[tileset]) { [self] in await work(start, number) }
        }
        state.results += state.plan.takeEarly()
        let delivery = deliver(&state, isBatch: isBatch)
        guard let wake = state.plan.wake(at: now) else { return (first, delivery) }
        if let timer = state.timer, timer.due <= wake, timer.due > now { return (first, delivery) }
        state.timer?.task.cancel()
        let sleep = clock.sleep
        let task = Task { [weak self] in
            guard (try? await sleep(wake)) != nil else { return }
            self?.pump()
        }
        state.timer = (task, wake)
        return (first, delivery)
    }

    /// Takes the results to deliver, if it is time.
    ///
    /// - Parameter isBatch: whether a batch is due, so that the results are delivered at once.
    private func deliver(_ state: inout State, isBatch: Bool = false) -> Delivery? {
        guard !state.results.isEmpty, state.reader != nil else { return nil }
        let isUrgent = isBatch || state.results.count >= configuration.batchCount || state.running.isEmpty
        guard isBatchDue(&state, isUrgent: isUrgent), let reader = state.reader.take() else { return nil }
        if state.results.count <= configuration.batchCount {
            state.taken = state.results
            state.results = []
        } else {
            state.taken = Array(state.results.prefix(configuration.batchCount))
            state.results.removeFirst(configuration.batchCount)
        }
        return Delivery(reader: reader, results: state.taken)
    }

    /// Fetches one tile, and then further tiles as long as there are any.
    private func work(_ start: DownloadPlan.Start, _ number: UInt64) async {
        var next: DownloadPlan.Start? = start
        while let start = next { next = proceed(start.key, await receive(start), number) }
    }

    private func receive(_ start: DownloadPlan.Start) async -> Result<TileArrival, TileSourceError> {
        let (address, edition, known) = (start.key.address, start.key.edition, start.demand.known)
        guard let source = sources[address.tileset] else {
            return .failure(TileSourceError(.configuration, "tileset '\(address.tileset)' has no source"))
        }
        let meter = source.isRemote ? meter : nil
        do throws(TileSourceError) {
            return .success(try await source.receive(address.tile, edition: edition, known: known, meter: meter))
        } catch {
            return .failure(error)
        }
    }

    /// Handles a worker's result; returns its next download, nil when the worker ends.
    private func proceed(
        _ key: DownloadKey, _ arrival: Result<TileArrival, TileSourceError>, _ worker: UInt64
    ) -> DownloadPlan.Start? {
        let now = clock.now()
        // A cancelled worker gets no further download.
        let isUseful = !Task.isCancelled
        let (answered, next, delivery) = state.withLock { state in
            var answered: Answered?
            state.running[key] = nil
            switch arrival {
            case _ where state.isStopped: break
            case .success(.unchecked(let tile)):
                state.plan.noteArrival(key, bytes: Int64(tile.bytes.count))
                state.checks.add(CheckLine.Arrival(key: key, tile: tile))
            case .success(.answer(let answer)): answered = finish(key, .success(answer), &state, at: now)
            case .failure(let error): answered = finish(key, .failure(error), &state, at: now)
            }
            let (next, delivery) = advance(
                &state, worker: isUseful ? (worker, key.address.tileset) : nil, at: now)
            if next == nil {
                state.workers[worker] = nil
                Self.settle(&state)
            }
            startCheckIfNeeded(&state)
            return (answered, next, delivery)
        }
        delivery?.make()
        answered?.make()
        return next
    }

    /// The answer for the callers that wait for a tile.
    private struct Answered {
        var waiters: Waiters
        var answer: Answer

        func make() { for waiter in waiters.values { waiter.resume(returning: answer) } }
    }

    private func finish(
        _ key: DownloadKey, _ outcome: Answer, _ state: inout State, at now: Duration
    ) -> Answered? {
        guard let result = state.plan.finish(key, outcome, at: now) else { return nil }
        state.plan.hold(result)
        state.results.append(result)
        return state.waiters.removeValue(forKey: key).map { Answered(waiters: $0, answer: outcome) }
    }

    /// Starts a check of the received tiles if needed.
    private func startCheckIfNeeded(_ state: inout State) {
        guard state.checks.needsChecker else { return }
        let isUrgent =
            state.checks.count >= configuration.batchCount || state.running.isEmpty || !state.waiters.isEmpty
            || !state.checks.isIdle
        guard isBatchDue(&state, isUrgent: isUrgent) else { return }
        state.checks.begin()
        Task { [self] in check() }
    }

    /// Whether the next batch is due now; otherwise a timer will handle the waiting items.
    private func isBatchDue(_ state: inout State, isUrgent: Bool) -> Bool {
        switch state.batches.step(isUrgent: isUrgent, at: DownloadClock.system.now()) {
        case .now: return true
        case .pending: return false
        case .later(let due):
            Task { [self] in
                try? await DownloadClock.system.sleep(due)
                let delivery = self.state.withLock { state in
                    state.batches.wake()
                    startCheckIfNeeded(&state)
                    return deliver(&state, isBatch: true)
                }
                delivery?.make()
            }
            return false
        }
    }

    /// Checks received tiles until none are left.
    private func check() {
        while true {
            let arrivals = state.withLock { state in
                let arrivals = state.checks.take()
                if arrivals.isEmpty { Self.settle(&state) }
                return arrivals
            }
            if arrivals.isEmpty { return }
            let outcomes = arrivals.map { arrival in
                Result { () throws(TileSourceError) in try arrival.tile.checked() }
            }
            let now = clock.now()
            let (answered, delivery) = state.withLock { state in
                guard !state.isStopped else { return ([Answered](), nil as Delivery?) }
                let answered = zip(arrivals, outcomes).compactMap { finish($0.key, $1, &state, at: now) }
                return (answered, advance(&state, isBatch: true, at: now).delivery)
            }
            delivery?.make()
            for answered in answered { answered.make() }
        }
    }
}
