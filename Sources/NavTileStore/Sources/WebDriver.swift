import CCurl
import Foundation
import Synchronization

/// A thread that carries exchanges out, from the first one until it is told to end.
///
/// One for each client: the connections of a source end with it, and a source never waits for what another has to do.
final class WebDriver: Sendable {
    /// The sleeping loop, to be woken.
    private struct Sleeper: @unchecked Sendable {
        // Unchecked: libcurl lets any thread wake another, and the driver's thread takes it back before it goes on.
        let multi: UnsafeMutableRawPointer
    }

    private struct State {
        var arrived: [WebExchange] = []
        var hasCancelled = false
        var sleeper: Sleeper?
        var isStarted = false
        var isEnding = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        mutating func wake() {
            if let sleeper = sleeper.take() { curl_multi_wakeup(sleeper.multi) }
        }
    }

    private let manners: WebManners
    private let limits: TransferLimits
    private let concurrency: Int
    private let state = Mutex(State())

    /// - Parameter concurrency: most exchanges at a time; the others wait.
    init(_ manners: WebManners, _ limits: TransferLimits, concurrency: Int) {
        self.manners = manners
        self.limits = limits
        self.concurrency = concurrency
    }

    /// Takes an exchange over, and ends it in any case.
    func submit(_ exchange: WebExchange) {
        let isTaken = state.withLock { state in
            guard !state.isEnding else { return false }
            state.arrived.append(exchange)
            state.wake()
            if !state.isStarted {
                state.isStarted = true
                let thread = Thread { [self] in run() }
                thread.name = "navbus.tiles"
                thread.start()
            }
            return true
        }
        if !isTaken { exchange.end(.closed) }
    }

    /// Ends an exchange that is under way or will be.
    func cancel(_ exchange: WebExchange) {
        exchange.cancel()
        state.withLock { state in
            state.hasCancelled = true
            state.wake()
        }
    }

    /// Ends everything, without waiting for it.
    func end() {
        state.withLock { state in
            state.isEnding = true
            state.wake()
        }
    }

    /// Ends everything: all connections are closed when it returns.
    func ended() async {
        end()
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.isStarted, !state.hasEnded { state.waiters.append(continuation) }
                return !state.isStarted || state.hasEnded
            }
            if isDone { continuation.resume() }
        }
    }

    private func run() {
        // Signals are for the threads of the program; a server that leaves in the middle of TLS must not send one either.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        if let loop = WebLoop(manners, limits, concurrency: concurrency) { run(loop) }
        let (left, waiters) = state.withLock { state in
            state.isEnding = true
            state.hasEnded = true
            defer { (state.arrived, state.waiters) = ([], []) }
            return (state.arrived, state.waiters)
        }
        for exchange in left { exchange.end(.closed) }
        for waiter in waiters { waiter.resume() }
    }

    private func run(_ loop: WebLoop) {
        var arrived: [WebExchange] = []
        while true {
            let (hasCancelled, isEnding) = state.withLock { state in
                state.sleeper = nil
                swap(&arrived, &state.arrived)
                defer { state.hasCancelled = false }
                return (state.hasCancelled, state.isEnding)
            }
            loop.add(arrived)
            arrived.removeAll(keepingCapacity: true)
            if isEnding {
                loop.endAll()
                return
            }
            if hasCancelled { loop.endCancelled() }
            let pause = loop.turn()
            let sleeper = Sleeper(multi: loop.multi)
            let maySleep = state.withLock { state in
                guard state.arrived.isEmpty, !state.hasCancelled, !state.isEnding, pause > 0 else { return false }
                state.sleeper = sleeper
                return true
            }
            if maySleep { loop.wait(pause) }
        }
    }
}
