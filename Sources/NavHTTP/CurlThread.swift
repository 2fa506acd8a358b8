import Foundation
import Synchronization

/// The thread that runs the exchanges of one client, from the first exchange until it is stopped.
///
/// Connections end with their client, and no client waits for another. Tasks may run on the thread, which avoids a
/// thread switch between an answer and the next request; a switch costs more processor time than a small answer.
final class CurlThread: TaskExecutor {
    private struct State {
        /// The multi handle for the loop, until the thread starts.
        var multi: CurlMulti?
        var arrived: [HTTPExchange] = []
        var jobs: [UnownedJob] = []
        var hasCancelled = false
        /// The multi handle of a sleeping loop, to be woken once.
        var sleeper: CurlMulti?
        var isStarted = false
        var isEnding = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let configuration: HTTPConfiguration
    private let state: Mutex<State>

    /// Fails with ``HTTPError/Code/configuration`` when libcurl refuses an option, and with ``HTTPError/Code/system``
    /// when this machine lacks memory or open files.
    init(_ configuration: HTTPConfiguration) throws(HTTPError) {
        var configuration = configuration
        configuration.concurrency = min(max(configuration.concurrency, 1), 64)
        // Fails early: an option that is refused here would be refused for every exchange.
        _ = try CurlHandle(configuration)
        // Limits the kept connections: the number of handles is bounded, but idle connections may lead to several
        // servers.
        state = Mutex(State(multi: try CurlMulti(connections: configuration.concurrency)))
        self.configuration = configuration
    }

    // After the lock is released: a woken thread would otherwise wait for it.

    /// Accepts an exchange and guarantees that it ends.
    func submit(_ exchange: HTTPExchange) {
        let (isTaken, sleeper) = state.withLock { state -> (Bool, CurlMulti?) in
            guard !state.isEnding else { return (false, nil) }
            state.arrived.append(exchange)
            start(&state)
            return (true, state.sleeper.take())
        }
        sleeper?.wake()
        if !isTaken { exchange.end(.closed) }
    }

    /// Runs a job on the thread, or on the global executor when the thread has ended.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isTaken, sleeper) = state.withLock { state -> (Bool, CurlMulti?) in
            guard !state.hasEnded else { return (false, nil) }
            state.jobs.append(job)
            start(&state)
            return (true, state.sleeper.take())
        }
        sleeper?.wake()
        if !isTaken { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }

    private func start(_ state: inout State) {
        guard !state.isStarted else { return }
        state.isStarted = true
        Thread { [self] in run() }.start()
    }

    /// Cancels an exchange, whether or not it has begun.
    func cancel(_ exchange: HTTPExchange) {
        exchange.cancel()
        let sleeper = state.withLock { state in
            state.hasCancelled = true
            return state.sleeper.take()
        }
        sleeper?.wake()
    }

    /// Ends all exchanges, without waiting.
    func end() {
        let sleeper = state.withLock { state in
            state.isEnding = true
            if !state.isStarted { state.multi = nil }
            return state.sleeper.take()
        }
        sleeper?.wake()
    }

    /// Ends all exchanges and waits until all connections are closed.
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
        Thread.current.name = "navbus.http"
        // Signals are handled by the program's threads, and a server that disconnects in the middle of TLS must not
        // raise SIGPIPE.
        var blocked = sigset_t()
        sigfillset(&blocked)
        // Fault signals stay with the thread that causes them, which the crash report needs.
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        if let multi = state.withLock({ $0.multi.take() }) {
            run(CurlLoop(multi, configuration))
        }
        let (left, jobs, waiters) = state.withLock { state in
            state.isEnding = true
            state.hasEnded = true
            defer { (state.arrived, state.jobs, state.waiters) = ([], [], []) }
            return (state.arrived, state.jobs, state.waiters)
        }
        for exchange in left { exchange.end(.closed) }
        for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        for waiter in waiters { waiter.resume() }
    }

    private func run(_ loop: CurlLoop) {
        let executor = asUnownedTaskExecutor()
        var arrived: [HTTPExchange] = []
        var jobs: [UnownedJob] = []
        var pause: Int32 = 0
        while true {
            let (hasCancelled, isEnding, isIdle) = state.withLock { state in
                swap(&arrived, &state.arrived)
                swap(&jobs, &state.jobs)
                let hasCancelled = state.hasCancelled
                state.hasCancelled = false
                let isIdle = pause > 0 && arrived.isEmpty && jobs.isEmpty && !hasCancelled && !state.isEnding
                state.sleeper = isIdle ? loop.shared : nil
                return (hasCancelled, state.isEnding, isIdle)
            }
            if isIdle {
                loop.wait(pause)
                pause = 0
                continue
            }
            loop.add(arrived)
            arrived.removeAll(keepingCapacity: true)
            for job in jobs { job.runSynchronously(on: executor) }
            if !jobs.isEmpty {
                jobs.removeAll(keepingCapacity: true)
                // Requests of these jobs begin in this iteration.
                state.withLock { swap(&arrived, &$0.arrived) }
                loop.add(arrived)
                arrived.removeAll(keepingCapacity: true)
            }
            if isEnding {
                loop.endAll()
                return
            }
            if hasCancelled { loop.endCancelled() }
            pause = loop.turn()
        }
    }
}
