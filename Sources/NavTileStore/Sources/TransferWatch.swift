import Synchronization

/// One answer that is coming in: how long it takes, how fast it comes, and the end of both.
package final class Transfer: Sendable {
    /// Why it was broken off.
    package enum Fault: Sendable {
        case idle
        case total
        case slow
    }

    private struct State {
        var cancel: (@Sendable () -> Void)?
        var fault: Fault?
        var began: Duration
        var lastPart: Duration
        var windowBegan: Duration
        var windowBytes = 0
        var isSent = false
        var isBody = false
        /// Since when it waits for leave to take more; that is not the server's fault.
        var heldSince: Duration?
        var held = Duration.zero
    }

    private let state: Mutex<State>

    package init(at now: Duration) {
        state = Mutex(State(began: now, lastPart: now, windowBegan: now))
    }

    /// The reason for which it was broken off.
    package var fault: Fault? { state.withLock { $0.fault } }

    /// How it is cancelled when it takes too long.
    package func run(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.fault != nil
        }
        if isLate { cancel() }
    }

    /// The question was sent; before that it waited for a connection, which has a time limit of its own.
    package func noteSent(at now: Duration) {
        state.withLock {
            $0.lastPart = now
            $0.isSent = true
            $0.isBody = false
        }
    }

    /// The head came; from now on the rate counts.
    package func noteHead(at now: Duration) {
        state.withLock {
            $0.lastPart = now
            $0.windowBegan = now
            $0.windowBytes = 0
            $0.isBody = true
        }
    }

    package func note(_ bytes: Int, at now: Duration) {
        state.withLock {
            $0.lastPart = now
            $0.windowBytes += bytes
        }
    }

    /// It waits for its meter.
    package func hold(at now: Duration) { state.withLock { $0.heldSince = now } }

    package func release(at now: Duration) {
        state.withLock {
            guard let since = $0.heldSince else { return }
            $0.heldSince = nil
            $0.held += now - since
            $0.windowBegan += now - since
            $0.lastPart = now
        }
    }

    /// Breaks it off when it has taken too long, or comes too slowly.
    package func check(_ limits: TransferLimits, at now: Duration) {
        let cancel = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.fault == nil, state.heldSince == nil else { return nil }
            if state.isSent, now - state.lastPart > .seconds(limits.idleTimeout) { state.fault = .idle }
            if now - state.began - state.held > .seconds(limits.totalTimeout) { state.fault = .total }
            let window = now - state.windowBegan
            if state.isBody, limits.slowestRate > 0, window >= .seconds(limits.slowestWindow) {
                if Double(state.windowBytes) < limits.slowestRate * (window / .seconds(1)) { state.fault = .slow }
                state.windowBegan = now
                state.windowBytes = 0
            }
            return state.fault == nil ? nil : state.cancel
        }
        cancel?()
    }
}

/// Looks after the answers that are coming in: one task for all of them, and none while there are none.
package final class TransferWatch: Sendable {
    private struct State {
        var running: [ObjectIdentifier: Transfer] = [:]
        var isWatching = false
    }

    private let limits: TransferLimits
    private let period: Duration
    private let state = Mutex(State())
    private let clock = DownloadClock.system

    package init(_ limits: TransferLimits) {
        self.limits = limits
        let shortest = min(limits.idleTimeout, limits.totalTimeout, limits.slowestWindow)
        period = .seconds(min(max(shortest / 4, 0.02), 1))
    }

    package var now: Duration { clock.now() }

    package func add(_ transfer: Transfer) {
        let begins = state.withLock { state in
            state.running[ObjectIdentifier(transfer)] = transfer
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if begins { Task { await watch() } }
    }

    package func remove(_ transfer: Transfer) {
        state.withLock { $0.running[ObjectIdentifier(transfer)] = nil }
    }

    private func watch() async {
        while true {
            try? await clock.sleep(clock.now() + period)
            let running = state.withLock { state -> [Transfer] in
                state.isWatching = !state.running.isEmpty
                return Array(state.running.values)
            }
            if running.isEmpty { return }
            let now = clock.now()
            for transfer in running { transfer.check(limits, at: now) }
        }
    }
}
