import Foundation
import Glibc
import NavBus
import NavKit
import NavMessages
import NavTileCache
import NavTileStore
import Synchronization

/// A cache on its own thread, so that the node's loop waits neither for the disk nor for the network.
final class TileCacheEngine: Sendable {
    /// The maximum number of pending work items.
    static let greatestBacklog = 1_000

    private typealias Work = @Sendable (TileCacheShell) -> Void

    private struct State: Sendable {
        var updates = VehicleUpdates()
        var work: [Work] = []
        var isWorking = false
        var isStopped = false
    }

    private let state = Mutex(State())
    private let pending = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let store: TileStore
    private let queue: DownloadQueue
    private let sources: [String: any TileSource]
    let outbox: TileCacheOutbox
    /// The lookup that answers requests outside the cache's thread.
    let lookup: TileLookup

    init(
        _ configuration: TileCacheConfiguration, store: TileStore, queue: DownloadQueue,
        sources: [String: any TileSource], outbox: TileCacheOutbox, log: NodeLog
    ) {
        self.store = store
        self.queue = queue
        self.sources = sources
        self.outbox = outbox
        lookup = TileLookup(configuration, store: store, queue: queue)
        let thread = Thread { [self] in
            Thread.current.name = "tiles"
            let shell = TileCacheShell(
                configuration, store: store, queue: queue, sources: sources, outbox: outbox, lookup: lookup, log: log
            ) { [weak self] work in self?.post(work) }
            run(shell)
        }
        thread.stackSize = 8 << 20
        thread.start()
        Task { [weak self, queue] in
            while let results = await queue.next() { await self?.take(results) }
        }
    }

    // MARK: For the node

    /// Takes updates of the vehicle from the bus; only the newest of each kind is kept.
    func update(_ change: (inout VehicleUpdates) -> Void) {
        state.withLock { change(&$0.updates) }
        pending.signal()
    }

    /// Submits work for a call that waits for its answer; returns false when too much work is pending.
    func submit(_ work: @escaping @Sendable (TileCacheShell) -> Void) -> Bool {
        let isTaken = state.withLock { state in
            guard state.work.count < Self.greatestBacklog, !state.isStopped else { return false }
            state.work.append(work)
            return true
        }
        if isTaken { pending.signal() }
        return isTaken
    }

    /// Submits work that must not be dropped.
    func post(_ work: @escaping @Sendable (TileCacheShell) -> Void) {
        state.withLock { $0.work.append(work) }
        pending.signal()
    }

    /// Applies live keys; a new network mode applies to every call made after this returns.
    func reconfigure(_ configuration: TileCacheConfiguration) {
        // Inform the cache of the mode before the network closes, so that it can attribute the cancelled downloads to
        // the mode.
        post { $0.reconfigure(configuration) }
        if queue.network != configuration.cache.network { queue.network = configuration.cache.network }
        if queue.bytesPerSecond != configuration.bytesPerSecond { queue.bytesPerSecond = configuration.bytesPerSecond }
    }

    /// Whether work or messages are pending.
    var isBusy: Bool {
        state.withLock { $0.isWorking || !$0.work.isEmpty || !$0.updates.isEmpty } || !outbox.isEmpty
    }

    /// Ends the downloads and the thread, and closes the store.
    func stop() {
        let ended = DispatchSemaphore(value: 0)
        Task { [queue, sources] in
            await queue.stop()
            for source in sources.values { await source.close() }
            ended.signal()
        }
        ended.wait()
        state.withLock { $0.isStopped = true }
        pending.signal()
        finished.wait()
        store.close()
    }

    // MARK: The thread

    /// Passes results to the thread and waits until they are stored, which limits the tiles fetched meanwhile.
    private func take(_ results: [DownloadResult]) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isTaken = state.withLock { state in
                guard !state.isStopped else { return false }
                state.work.append { shell in
                    shell.handle(.downloads(results))
                    // Tiles that could not be stored may be demanded again in this iteration.
                    shell.queue.release()
                    continuation.resume()
                }
                return true
            }
            if isTaken { pending.signal() } else { continuation.resume() }
        }
    }

    private func run(_ shell: TileCacheShell) {
        // Guidance has priority; the cache also works if its priority cannot be lowered.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
        shell.handle(.start)
        var due = shell.turn()
        while true {
            let wait = max(due - Clocks.monotonic(), 0)
            _ = pending.wait(timeout: .now() + .nanoseconds(Int(min(wait, 1_000_000_000))))
            let (updates, work, isStopped) = state.withLock { state -> (VehicleUpdates, [Work], Bool) in
                defer { (state.updates, state.work, state.isWorking) = (VehicleUpdates(), [], true) }
                return (state.updates, state.work, state.isStopped)
            }
            if !updates.isEmpty { shell.take(updates) }
            for job in work { job(shell) }
            if isStopped { break }
            due = shell.turn()
            state.withLock { $0.isWorking = false }
        }
        shell.handle(.stop)
        // Work submitted meanwhile still holds continuations.
        for job in state.withLock({ $0.work }) { job(shell) }
        finished.signal()
    }
}
