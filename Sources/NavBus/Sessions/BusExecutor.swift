internal import CZeroMQ
internal import Glibc
internal import Synchronization

/// One thread that owns a node and runs the actors pinned to it.
///
/// An actor whose `unownedExecutor` is this one runs on the node's thread, so it may use the node without waiting, and
/// the compiler checks who else may:
///
/// ```swift
/// actor Planner {
///     let executor: BusExecutor
///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///
///     func announce(_ bytes: [UInt8], on publication: Publication) throws {
///         try executor.withNode { try $0.publish(bytes, on: publication, stampNanoseconds: 0) }
///     }
/// }
/// ```
///
/// The thread sleeps in the node's wait; a job wakes it. What a pinned actor does between two `await`s holds up the
/// node, so it must not wait on anything. ``BusSession`` is such an actor, ready to use.
///
/// The thread lives until ``stop()``. Jobs that come later are run one after another by a thread made for them: none is
/// lost, and each use of the node then throws ``BusError/Code/closed``.
public final class BusExecutor: SerialExecutor, @unchecked Sendable {
    // Unchecked: `node` and `routes` are used on the executor's thread alone, which each access checks; the rest is
    // behind a lock.

    /// The destination of one subscription's messages.
    struct Route {
        let deliver: (Delivery) -> Void
        let end: () -> Void
    }

    private enum Phase {
        /// The thread serves the node.
        case running
        /// No thread is there, and no job.
        case ended
        /// A thread runs the jobs that came after the end.
        case draining
    }

    private struct State {
        var jobs: [UnownedJob] = []
        var phase = Phase.running
        var thread: pthread_t?
        var isAsleep = false
        var isStopping = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
        var failure: BusError?
    }

    /// The node's name.
    public let name: String
    /// The node's boot id, new at each start.
    public let bootID: UInt64

    private let node: BusNode
    private let waker: Waker
    private let state = Mutex(State())
    private var routes: [SubscriptionID: Route] = [:]

    /// Joins the bus under `name` and starts the thread.
    ///
    /// - Throws: what ``BusNode/init(name:configuration:)`` does, and ``BusError/Code/transport`` when there can be no
    ///   further thread.
    public init(name: String, configuration: BusConfiguration) throws(BusError) {
        node = try BusNode(name: name, configuration: configuration)
        (self.name, bootID, waker) = (name, node.bootID, node.makeWaker())
        guard start({ $0.serve() }) else {
            node.close()
            throw BusError(.transport, "cannot start the thread of node '\(name)': raise the limit of threads")
        }
    }

    /// The reason why the node left the bus by itself; nil while it is there or after ``stop()``.
    public var failure: BusError? { state.withLock { $0.failure } }

    /// Uses the node, from an actor pinned to this executor.
    ///
    /// Any other caller is a programmer's mistake and stops the program. Do not wait in `body`: ``Bus/poll(timeout:)``
    /// is the thread's own.
    public func withNode<Result, Failure: Error>(
        _ body: (BusNode) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        checkIsolated()
        return try body(node)
    }

    /// Calls `handler` on the node's thread with each message of a subscription, the shortest way for a pinned actor;
    /// nil ends it. From an actor pinned to this executor only.
    public func onDelivery(of subscription: SubscriptionID, _ handler: ((Delivery) -> Void)?) {
        setRoute(of: subscription, handler.map { Route(deliver: $0, end: {}) })
    }

    func setRoute(of subscription: SubscriptionID, _ route: Route?) {
        checkIsolated()
        routes[subscription] = route
    }

    /// Leaves the bus, runs the jobs that are there, and returns when the thread is done; a second call waits as well.
    public func stop() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                state.isStopping = true
                guard state.phase == .running else { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if hasEnded { continuation.resume() } else { waker.wake() }
        }
    }

    /// Ends the thread as ``stop()`` does, without waiting for it.
    func requestStop() {
        state.withLock { $0.isStopping = true }
        waker.wake()
    }

    // MARK: Jobs

    /// Takes a job from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enum Need { case nothing, wake, thread }
        let need = state.withLock { state -> Need in
            state.jobs.append(job)
            switch state.phase {
            case .running:
                guard state.isAsleep else { return .nothing }
                state.isAsleep = false
                return .wake
            case .ended:
                state.phase = .draining
                return .thread
            case .draining: return .nothing
            }
        }
        switch need {
        case .nothing: break
        case .wake: waker.wake()
        // Without a further thread the caller's own is the one that is left.
        case .thread: if !start({ $0.finish() }) { finish() }
        }
    }

    /// This executor for an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Stops the program unless it is called on the executor's thread.
    public func checkIsolated() {
        precondition(isCurrentThread, "this is for actors pinned to the executor of node '\(name)'")
    }

    /// True on the executor's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrentThread }

    private var isCurrentThread: Bool {
        state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    // MARK: The thread

    private final class Start: Sendable {
        let executor: BusExecutor
        let body: @Sendable (BusExecutor) -> Void

        init(_ executor: BusExecutor, _ body: @escaping @Sendable (BusExecutor) -> Void) {
            (self.executor, self.body) = (executor, body)
        }
    }

    /// Runs `body` on a new thread, which holds the executor until it ends.
    private func start(_ body: @escaping @Sendable (BusExecutor) -> Void) -> Bool {
        let start = Unmanaged.passRetained(Start(self, body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                navbus_name_thread(start.executor.name)
                start.body(start.executor)
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func serve() {
        state.withLock { $0.thread = pthread_self() }
        do throws(BusError) {
            while runJobs() {
                let delivery = try node.poll(timeout: nil)
                state.withLock { $0.isAsleep = false }
                if let delivery { routes[delivery.subscription]?.deliver(delivery) }
            }
        } catch {
            // Closed by a pinned actor is an end like another.
            if error.code != .closed { state.withLock { $0.failure = error } }
        }
        node.close()
        for route in routes.values { route.end() }
        routes = [:]
        finish()
    }

    /// Runs the jobs that are there.
    ///
    /// - Returns: false when the thread should end; else it may sleep, and the next job wakes it.
    private func runJobs() -> Bool {
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                if state.jobs.isEmpty { state.isAsleep = !state.isStopping }
                return state.jobs
            }
            if jobs.isEmpty { return state.withLock { !$0.isStopping } }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// Runs what jobs are left and ends.
    private func finish() {
        while true {
            let (jobs, waiting) = state.withLock { state in
                defer { (state.jobs, state.waitingForEnd) = ([], state.jobs.isEmpty ? [] : state.waitingForEnd) }
                state.thread = state.jobs.isEmpty ? nil : pthread_self()
                state.isAsleep = false
                if state.jobs.isEmpty { state.phase = .ended }
                return (state.jobs, state.waitingForEnd)
            }
            if jobs.isEmpty {
                for continuation in waiting { continuation.resume() }
                return
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }
}
