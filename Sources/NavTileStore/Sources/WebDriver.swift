import Foundation
import Synchronization

/// A thread that carries exchanges out, from the first one until it is told to end.
///
/// One for each client: the connections of a source end with it, and a source never waits for what another has to do.
/// Tasks may run on it: between an answer and the next question they then change threads nowhere, and changing threads
/// takes the processor longer than a small tile does.
final class WebDriver: TaskExecutor {
    private struct State {
        /// What the loop will be made of.
        var multi: WebMulti?
        var arrived: [WebExchange] = []
        var jobs: [UnownedJob] = []
        var hasCancelled = false
        /// The loop when it sleeps, to be woken once.
        var sleeper: WebMulti?
        var isStarted = false
        var isEnding = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let manners: WebManners
    private let limits: TransferLimits
    private let concurrency: Int
    private let state: Mutex<State>

    /// Fails with ``TileSourceError/Code/configuration`` where libcurl cannot do what is asked of it, and with
    /// ``TileSourceError/Code/system`` where this machine has nothing left for it.
    ///
    /// - Parameter concurrency: most exchanges at a time; the others wait.
    init(_ manners: WebManners, _ limits: TransferLimits, concurrency: Int) throws(TileSourceError) {
        // What is refused now would be refused to every exchange.
        _ = try WebHandle(manners)
        // There are never more handles than that, but their connections may lead to several servers.
        state = Mutex(State(multi: try WebMulti(connections: concurrency)))
        self.manners = manners
        self.limits = limits
        self.concurrency = concurrency
    }

    // Who is woken while the lock is held would wait for it: that comes afterwards.

    /// Takes an exchange over, and ends it in any case.
    func submit(_ exchange: WebExchange) {
        let (isTaken, sleeper) = state.withLock { state -> (Bool, WebMulti?) in
            guard !state.isEnding else { return (false, nil) }
            state.arrived.append(exchange)
            start(&state)
            return (true, state.sleeper.take())
        }
        sleeper?.wake()
        if !isTaken { exchange.end(.closed) }
    }

    /// Runs a part of a task: on the thread of the driver, or anywhere when that has ended.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isTaken, sleeper) = state.withLock { state -> (Bool, WebMulti?) in
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

    /// Ends an exchange that is under way or will be.
    func cancel(_ exchange: WebExchange) {
        exchange.cancel()
        let sleeper = state.withLock { state in
            state.hasCancelled = true
            return state.sleeper.take()
        }
        sleeper?.wake()
    }

    /// Ends everything, without waiting for it.
    func end() {
        let sleeper = state.withLock { state in
            state.isEnding = true
            if !state.isStarted { state.multi = nil }
            return state.sleeper.take()
        }
        sleeper?.wake()
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
        Thread.current.name = "navbus.tiles"
        // Signals are for the threads of the program; a server that leaves in the middle of TLS must not send one either.
        var blocked = sigset_t()
        sigfillset(&blocked)
        // Those of a fault belong to the thread that makes it: who looks after crashes must hear of them.
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        if let multi = state.withLock({ $0.multi.take() }) {
            run(WebLoop(multi, manners, limits, concurrency: concurrency))
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

    private func run(_ loop: WebLoop) {
        let executor = asUnownedTaskExecutor()
        var arrived: [WebExchange] = []
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
                // What they ask comes with this turn.
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
