import NavKit
import Foundation
import Glibc
import NavBus
import NavGeo
import NavMap
import NavMessages
import NavNavigator
import NavRouting
import NavWire
import Synchronization

/// A worker that builds the next map on its own thread at lower priority, so that neither progress nor a route search waits for new
/// traffic or tiles.
///
/// Updates that arrive in the meantime are batched into the following map. None is dropped unless the backlog exceeds
/// ``greatestBacklog``.
final class MapWorker: Sendable {
    /// The most bytes of queued traffic; a single message is accepted whatever its size.
    static let greatestBacklog = 64 << 20

    private struct Waiting: Sendable {
        var payload: Payload
        var sequence: UInt64
        var bootID: UInt64
    }

    private struct State: Sendable {
        var traffic: [Waiting] = []
        var backlog = 0
        /// The time to which the traffic is to be updated.
        var now: NavGeo.Timestamp?
        var needsRefresh = false
        var needsReset = false
        var isWorking = false
        var isStopped = false
        var changes: [MapChange] = []
        /// The current fault of the tile files.
        var problem: String?
        var reports: [Report] = []
    }

    /// A line for the log.
    enum Report: Sendable, Equatable {
        case info(String)
        case warning(String)
        /// A message on `/traffic/speeds` cannot be decoded.
        case unreadable(bootID: UInt64, String)
    }

    private let state = Mutex(State())
    private let pending = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let store: MapStore
    private let waker: Waker
    private let interval: DispatchTimeInterval
    private let limit: Int
    private let initial: TrafficUpdate

    /// A worker for a store.
    ///
    /// - Parameters:
    ///   - initial: The traffic at the start of a drive; it replaces all other traffic.
    ///   - interval: The time between two refreshes of the tiles.
    ///   - waker: Wakes the node when a map or a report is available.
    init(
        store: MapStore, tiles: TileSupply, initial: TrafficUpdate, interval: DispatchTimeInterval = .seconds(1),
        waker: Waker
    ) {
        self.store = store
        self.waker = waker
        self.interval = interval
        self.initial = initial
        limit = Topics.trafficSpeeds.entry.maxSize
        let thread = Thread { [self] in
            Thread.current.name = "map"
            work(tiles)
        }
        thread.stackSize = 8 << 20
        thread.start()
    }

    // MARK: For the node

    /// Queues a message of `/traffic/speeds` that is not decoded yet.
    func take(_ payload: Payload, sequence: UInt64, bootID: UInt64, at now: NavGeo.Timestamp) {
        let isTaken = state.withLock { state in
            guard state.traffic.isEmpty || state.backlog + payload.count <= MapWorker.greatestBacklog else {
                state.reports.append(
                    .warning("traffic messages arrive faster than they are processed; one was dropped"))
                return false
            }
            state.traffic.append(Waiting(payload: payload, sequence: sequence, bootID: bootID))
            state.backlog += payload.count
            state.now = max(state.now ?? now, now)
            return true
        }
        if isTaken { pending.signal() } else { waker.wake() }
    }

    /// Drops expired traffic.
    func expire(at now: NavGeo.Timestamp) {
        guard let expiry = store.nextExpiry, expiry <= now else { return }
        let isNews = state.withLock { state in
            defer { state.now = max(state.now ?? now, now) }
            return state.now == nil
        }
        if isNews { pending.signal() }
    }

    /// Resets the traffic to that of the start, after a jump in time.
    func startOver(at now: NavGeo.Timestamp) {
        state.withLock { state in
            (state.traffic, state.backlog) = ([], 0)
            // Tile changes are kept: they reflect the files on disk.
            state.changes.removeAll { $0.cause.tiles == nil }
            state.needsReset = true
            state.now = now
        }
        pending.signal()
    }

    func requestRefresh() {
        state.withLock { $0.needsRefresh = true }
        pending.signal()
    }

    /// Whether a map is being built or waits to be taken.
    var isBusy: Bool {
        state.withLock { state in
            state.isWorking || !state.traffic.isEmpty || state.now != nil || state.needsRefresh
                || !state.changes.isEmpty
        }
    }

    /// Returns and removes the maps that came into force, in order.
    func takeChanges() -> [MapChange] {
        state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// The current fault of the tiles on disk; nil when there is none.
    var problem: String? { state.withLock { $0.problem } }

    func takeReports() -> [Report] {
        state.withLock { state in
            defer { state.reports = [] }
            return state.reports
        }
    }

    /// Ends the thread after the current map.
    func stop() {
        state.withLock { $0.isStopped = true }
        pending.signal()
        finished.wait()
    }

    // MARK: The thread

    private func work(_ tiles: TileSupply) {
        // Lowers the priority below all other threads of the process; a failure is harmless.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        var tiles = tiles
        store.current.turns.prepareForTraffic()
        var next = DispatchTime.now() + interval
        while true {
            // A fixed deadline, because traffic may arrive more often than the tiles are refreshed.
            _ = pending.wait(timeout: next)
            let isDue = DispatchTime.now() >= next
            if isDue { next = DispatchTime.now() + interval }
            let (job, isStopped) = state.withLock { state -> (State, Bool) in
                let job = state
                (state.traffic, state.backlog, state.now, state.needsRefresh) = ([], 0, nil, false)
                state.needsReset = false
                state.isWorking = true
                return (job, state.isStopped)
            }
            if isStopped { break }
            if isDue || job.needsRefresh { refreshTiles(&tiles) }
            if let now = job.now { take(job.traffic, resettingTraffic: job.needsReset, at: now) }
            state.withLock { $0.isWorking = false }
            // A caller that found the worker busy in the meantime can check again.
            waker.wake()
        }
        finished.signal()
    }

    /// Builds the map with new traffic.
    ///
    /// - Parameter resettingTraffic: Whether the node's initial speeds first replace all traffic.
    private func take(_ waiting: [Waiting], resettingTraffic: Bool, at now: NavGeo.Timestamp) {
        var updates: [TrafficUpdate] = []
        var headers: [(TrafficSpeeds, UInt64)] = []
        if resettingTraffic {
            updates.append(initial)
            headers.append((TrafficSpeeds(provider: MapCause.start, replacesAll: true), 0))
        }
        for message in waiting {
            do throws(MessageError) {
                let update = try message.payload.withUnsafeBytes { bytes throws(MessageError) in
                    try TrafficUpdate(decoding: bytes, limit: limit)
                }
                headers.append((update.header, message.sequence))
                updates.append(update)
            } catch {
                report(.unreadable(bootID: message.bootID, error.description))
            }
        }
        let result = store.update(updates, at: now)
        if let refusal = result.refusal { report(.warning(refusal)) }
        guard result.isChanged else { return }
        deliver(
            headers.isEmpty
                ? MapChange(expiredAt: now, store.current)
                : MapChange(map: store.current, traffic: headers, at: now))
    }

    private func refreshTiles(_ tiles: inout TileSupply) {
        var problems: [String] = []
        let change = tiles.refresh(&problems)
        for problem in problems { report(.warning(problem)) }
        let problem = tiles.problem
        let before = state.withLock { state in
            defer { state.problem = problem }
            return state.problem
        }
        if before != nil, problem == nil { report(.info("the tiles on disk match their tileset again")) }
        if !problems.isEmpty || before != problem { waker.wake() }
        guard let change else { return }
        let now = NavGeo.Timestamp(nanoseconds: .min)
        _ = store.update([], roads: tiles.graph(), at: now)
        let map = store.current
        report(
            .info(
                "map \(map.graph.mapVersion.prefix(12)): \(change.added.count) tiles added, "
                    + "\(change.removed.count) removed, \(tiles.missingCount) missing, \(map.graph.edgeCount) edges"))
        deliver(MapChange(map: map, tiles: change, at: now))
        // Prepared only after the map is in force, because the preparation is needed only when traffic arrives.
        map.turns.prepareForTraffic()
    }

    private func deliver(_ change: MapChange) {
        state.withLock { $0.changes.append(change) }
        waker.wake()
    }

    private func report(_ report: Report) {
        // Bounded, in case the node does not read reports.
        state.withLock { if $0.reports.count < 100 { $0.reports.append(report) } }
    }
}
