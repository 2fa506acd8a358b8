internal import Glibc

/// The supervisor's decisions: starts, signals, restarts, and the end of the launch.
///
/// It accesses no process, clock or terminal: events come in with their time, and effects go out, to be carried out in order.
package struct SupervisorStateMachine: Sendable {
    package enum Event: Sendable {
        /// The first event, sent once.
        case start
        case spawned(node: Int)
        case spawnFailed(node: Int, reason: String)
        /// An awaited node was checked; `missing` describes its unmet conditions, nil when it is ready.
        case seen(AwaitedNode, missing: String?)
        case ended(node: Int, ProcessEnd, ProcessUsage = ProcessUsage())
        /// A process of the node sent a heartbeat.
        case alive(node: Int)
        /// A stop was requested, for example by Ctrl-C; a further request escalates at once.
        case stopRequested(by: String)
        /// `nextDeadline` has been reached.
        case timer
    }

    package enum Effect: Sendable, Equatable {
        case spawn(node: Int)
        case signal(node: Int, StopSignal)
        /// End a hung process with SIGABRT, which makes it report where it hangs.
        case abort(node: Int)
        /// A line for the operator; about a node, or about the launch.
        case note(node: Int?, String)
        case finish(exitCode: Int32)
    }

    /// The running time after which the count of a process's consecutive restarts is reset.
    package static let steadyAfter = Duration.seconds(10)
    /// The time between SIGABRT, on which a hung process reports where it hangs, and SIGKILL.
    private static let abortGrace = Duration.seconds(2)
    /// The longest time between two events that counts as the launcher's running time.
    ///
    /// After a longer time, the launcher was stopped or the machine suspended, so that heartbeats could not arrive.
    private static let longestTurn = Duration.seconds(1)

    private enum NodeState {
        /// The process starts once its predecessors are ready.
        case blocked
        case starting
        case running
        /// The process runs but is not ready yet.
        case awaited(until: MonotonicTime)
        /// The process was silent for too long and was sent SIGABRT; SIGKILL follows at the deadline.
        case hung(deadline: MonotonicTime?)
        /// During a stop, the process waits for the nodes that come after it to end first.
        case held(until: MonotonicTime)
        case stopping(StopSignal, deadline: MonotonicTime?)
        case waiting(until: MonotonicTime, after: ProcessEnd)
        /// The process has ended; `clean` is false when it ended in another way than requested.
        case ended(ProcessEnd, clean: Bool)
    }

    private enum Phase {
        case running
        case stopping(isSuccess: Bool, since: MonotonicTime)
        case finished
    }

    private struct Process {
        let name: String
        let isRequired: Bool
        let restart: RestartPolicy
        let readiness: Readiness?
        let watchdog: Duration
        let isUnreachable: Bool
        var state = NodeState.blocked
        /// Whether the process was ready in its current run, or in the last run before its final end.
        var wasReady = false
        /// Whether the successors start without the process, because it was late or failed before it was ready.
        var isWaived = false
        /// The time of the last heartbeat in the current run, in the launcher's running time; nil before the first.
        var receivedAt: Duration?
        var missing: String?
        var restartsInARow = 0
        var restarts = 0
        var runs = 0
        var startedAt: MonotonicTime?
        var time: Duration?
        var usage = ProcessUsage()
    }

    private let grace: GracePeriods
    private let order: StartOrder
    private var processes: [Process]
    private var phase = Phase.running
    private var stopsWereClean = true
    /// The launcher's running time, and when it was last updated.
    private var running = Duration.zero
    private var seenRunning: MonotonicTime?

    package init(nodes: [LaunchNode], grace: GracePeriods) {
        self.grace = grace
        let order = StartOrder(nodes)
        self.order = order
        processes = nodes.indices.map { index in
            let node = nodes[index]
            return Process(
                name: node.name, isRequired: node.required, restart: node.restart, readiness: node.readiness,
                watchdog: node.watchdog, isUnreachable: order.unreachable.contains(index))
        }
    }

    /// The time when `timer` is due; nil while nothing is waiting.
    package var nextDeadline: MonotonicTime? {
        processes.lazy.compactMap { process -> MonotonicTime? in
            switch process.state {
            case .stopping(_, let deadline), .hung(let deadline): return deadline
            case .waiting(let until, _), .awaited(let until), .held(let until): return until
            case .running:
                guard let silence = silence(of: process), let seenRunning else { return nil }
                // At least once in `longestTurn`, to keep the launcher's running time up to date.
                return seenRunning + max(.zero, min(process.watchdog - silence, Self.longestTurn))
            case .blocked, .starting, .ended: return nil
            }
        }.min()
    }

    package var awaited: [AwaitedNode] {
        processes.indices.compactMap { node in
            guard case .awaited = processes[node].state else { return nil }
            return AwaitedNode(index: node, run: processes[node].runs)
        }
    }

    package mutating func handle(_ event: Event, at now: MonotonicTime) -> [Effect] {
        if let seenRunning { running += min(max(.zero, now - seenRunning), Self.longestTurn) }
        seenRunning = now
        var effects: [Effect] = []
        switch event {
        case .start:
            break
        case .spawned(let node):
            spawned(node, at: now)
        case .spawnFailed(let node, let reason):
            guard case .starting = processes[node].state else { break }
            ended(node, .notStarted(reason), at: now, &effects)
        case .seen(let awaited, let missing):
            seen(awaited, missing, at: now, &effects)
        case .ended(let node, let end, let usage):
            count(node, usage, at: now)
            ended(node, end, at: now, &effects)
        case .alive(let node):
            processes[node].receivedAt = running
        case .stopRequested(let sender):
            stopRequested(by: sender, at: now, &effects)
        case .timer:
            timer(at: now, &effects)
        }
        startUnblocked(at: now, &effects)
        releaseHeld(at: now, &effects)
        finishIfOver(&effects)
        return effects
    }

    /// The table of how each process ended: a line of headings and one line per process.
    package var summary: [String] {
        summaryTable(
            processes.map { process in
                var end = "still running"
                if case .ended(let how, let clean) = process.state {
                    end = how.description + (clean ? "" : ", not cleanly")
                }
                return SummaryRow(
                    name: process.name, end: end, restarts: process.restarts, time: process.time, usage: process.usage)
            })
    }

    // MARK: Starts

    private enum Gate {
        case open, shut
        case never(because: Int)
    }

    private func gate(_ node: Int) -> Gate {
        var gate = Gate.open
        for other in order.predecessors[node] {
            switch processes[other].state {
            case _ where processes[other].isWaived: break
            case .running where processes[other].wasReady: break
            case .ended where processes[other].wasReady: break
            case .ended: return .never(because: other)
            default: gate = .shut
            }
        }
        return gate
    }

    private mutating func startUnblocked(at now: MonotonicTime, _ effects: inout [Effect]) {
        // In start order, so that one pass reaches every node that depends on a node that will never be ready.
        for node in order.sequence {
            guard case .running = phase, case .blocked = processes[node].state else { continue }
            if processes[node].isUnreachable {
                giveUp(node, .notStarted("it starts after itself, or after a node that does"), at: now, &effects)
                continue
            }
            switch gate(node) {
            case .shut:
                break
            case .open:
                processes[node].state = .starting
                processes[node].wasReady = false
                processes[node].missing = nil
                effects.append(.spawn(node: node))
            case .never(let other):
                let reason = "it starts after \(processes[other].name), which was never ready"
                giveUp(node, .notStarted(reason), at: now, &effects)
            }
        }
    }

    private mutating func spawned(_ node: Int, at now: MonotonicTime) {
        guard case .starting = processes[node].state else { return }
        processes[node].runs += 1
        processes[node].receivedAt = nil
        processes[node].startedAt = now
        processes[node].time = processes[node].time ?? .zero
        switch phase {
        case .stopping:
            processes[node].state = .held(until: now)
        case .running, .finished:
            if let readiness = processes[node].readiness {
                processes[node].state = .awaited(until: now + readiness.timeout)
            } else {
                processes[node].state = .running
                processes[node].wasReady = true
            }
        }
    }

    private mutating func seen(
        _ awaited: AwaitedNode, _ missing: String?, at now: MonotonicTime, _ effects: inout [Effect]
    ) {
        let node = awaited.index
        guard case .awaited = processes[node].state, processes[node].runs == awaited.run else { return }
        processes[node].missing = missing
        guard missing == nil else { return }
        processes[node].state = .running
        processes[node].wasReady = true
        processes[node].isWaived = false
        if processes[node].receivedAt != nil { processes[node].receivedAt = running }
        let time = processes[node].startedAt.map { now - $0 } ?? .zero
        effects.append(.note(node: node, "ready after \(seconds(time))"))
    }

    private mutating func readinessTimedOut(_ node: Int, at now: MonotonicTime, _ effects: inout [Effect]) {
        guard let readiness = processes[node].readiness else { return }
        let missing = processes[node].missing ?? readiness.conditions.map(\.description).joined(separator: " and ")
        let text = "not ready after \(seconds(readiness.timeout)): missing \(missing)"
        processes[node].state = .running
        if processes[node].receivedAt != nil { processes[node].receivedAt = running }
        switch readiness.onTimeout {
        case .proceed:
            processes[node].isWaived = true
            effects.append(.note(node: node, text + "; continuing without it"))
        case .stop:
            effects.append(.note(node: node, text + "; stopping everything"))
            stopAll(isSuccess: false, at: now, &effects)
        }
    }

    // MARK: Ends and restarts

    private mutating func count(_ node: Int, _ usage: ProcessUsage, at now: MonotonicTime) {
        guard let startedAt = processes[node].startedAt else { return }
        processes[node].time = (processes[node].time ?? .zero) + (now - startedAt)
        processes[node].usage.peakMemory = max(processes[node].usage.peakMemory, usage.peakMemory)
        processes[node].usage.processorTime += usage.processorTime
    }

    private mutating func ended(_ node: Int, _ end: ProcessEnd, at now: MonotonicTime, _ effects: inout [Effect]) {
        let startedAt = processes[node].startedAt
        processes[node].startedAt = nil
        var end = end
        switch processes[node].state {
        case .waiting, .ended:
            return
        case .held, .stopping:
            var clean = end.isSuccess
            if case .stopping(let sent, _) = processes[node].state { clean = end.isClean(after: sent) }
            processes[node].state = .ended(end, clean: clean)
            stopsWereClean = stopsWereClean && clean
            effects.append(.note(node: node, end.description + (clean ? "" : ", not cleanly")))
            return
        case .running, .awaited, .hung:
            // A hung process has failed, even if it exits with 0 on SIGABRT.
            if case .hung = processes[node].state, end.isSuccess { end = .signalled(SIGABRT) }
            if let startedAt, startedAt + Self.steadyAfter <= now { processes[node].restartsInARow = 0 }
        case .blocked, .starting:
            break
        }
        guard case .running = phase else {
            processes[node].state = .ended(end, clean: true)
            effects.append(.note(node: node, end.description))
            return
        }
        waive(node, &effects)
        let row = processes[node].restartsInARow
        guard let delay = processes[node].restart.delay(after: end, restartsInARow: row) else {
            return giveUp(node, end, at: now, &effects)
        }
        processes[node].restartsInARow += 1
        processes[node].restarts += 1
        processes[node].state = .waiting(until: now + delay, after: end)
        let count = "\(processes[node].restartsInARow) of \(processes[node].restart.limit)"
        effects.append(.note(node: node, "\(end.description); restart \(count) in \(seconds(delay))"))
    }

    /// Lets the successors of a node that ended before it was ready start, if the launch may continue without it.
    private mutating func waive(_ node: Int, _ effects: inout [Effect]) {
        let process = processes[node]
        let mayProceed = process.readiness.map { $0.onTimeout == .proceed } ?? !process.isRequired
        guard !process.wasReady, !process.isWaived, mayProceed else { return }
        processes[node].isWaived = true
    }

    /// Returns the time since the last heartbeat of a node, in the launcher's running time; nil for a node that is not watched, and before
    /// its first heartbeat.
    private func silence(of process: Process) -> Duration? {
        guard process.watchdog > .zero, let receivedAt = process.receivedAt else { return nil }
        return running - receivedAt
    }

    private mutating func giveUp(_ node: Int, _ end: ProcessEnd, at now: MonotonicTime, _ effects: inout [Effect]) {
        processes[node].state = .ended(end, clean: true)
        var text = end.description
        if processes[node].restart.mode != .never, processes[node].restartsInARow > 0, !end.isSuccess {
            text += "; given up after \(processes[node].restartsInARow) restarts"
        }
        if processes[node].isRequired {
            effects.append(.note(node: node, text + "; it is required, stopping everything"))
            stopAll(isSuccess: end.isSuccess, at: now, &effects)
        } else {
            effects.append(.note(node: node, text))
        }
    }

    // MARK: Stopping

    private mutating func stopRequested(by sender: String, at now: MonotonicTime, _ effects: inout [Effect]) {
        switch phase {
        case .running:
            effects.append(.note(node: nil, "\(sender): stopping everything"))
            stopAll(isSuccess: true, at: now, &effects)
        case .stopping:
            effects.append(.note(node: nil, "\(sender) again: no longer waiting"))
            for node in processes.indices { escalate(node, at: now, &effects) }
        case .finished:
            break
        }
    }

    private mutating func stopAll(isSuccess: Bool, at now: MonotonicTime, _ effects: inout [Effect]) {
        phase = .stopping(isSuccess: isSuccess, since: now)
        let rows = order.rows { node in
            switch processes[node].state {
            case .running, .awaited, .starting, .hung: return true
            case .blocked, .held, .stopping, .waiting, .ended: return false
            }
        }
        let share = grace.interrupt / max(1, (rows.max() ?? 0) + 1)
        for node in processes.indices {
            switch processes[node].state {
            case .running, .awaited, .hung:
                processes[node].state = .held(until: now + share * rows[node])
            case .waiting(_, let end):
                processes[node].state = .ended(end, clean: true)
            case .blocked:
                processes[node].state = .ended(.notStarted("the launch ended first"), clean: true)
            case .starting, .held, .stopping, .ended:
                break
            }
        }
    }

    private mutating func releaseHeld(at now: MonotonicTime, _ effects: inout [Effect]) {
        guard case .stopping = phase else { return }
        for node in processes.indices {
            guard case .held(let until) = processes[node].state else { continue }
            let isFree = order.successors[node].allSatisfy { other in
                if case .ended = processes[other].state { return true }
                return false
            }
            if isFree || until <= now { signal(node, .interrupt, at: now, &effects) }
        }
    }

    private mutating func timer(at now: MonotonicTime, _ effects: inout [Effect]) {
        for node in processes.indices {
            switch processes[node].state {
            case .waiting(let until, _) where until <= now:
                processes[node].state = .blocked
            case .awaited(let until) where until <= now:
                readinessTimedOut(node, at: now, &effects)
            case .running:
                guard let silence = silence(of: processes[node]), silence >= processes[node].watchdog else { break }
                processes[node].state = .hung(deadline: now + Self.abortGrace)
                let text = "hung: no watchdog signal for \(seconds(silence)); ending it with SIGABRT"
                effects += [.note(node: node, text), .abort(node: node)]
            case .hung(let deadline?) where deadline <= now:
                processes[node].state = .hung(deadline: nil)
                effects.append(.signal(node: node, .kill))
            case .stopping(let sent, let deadline?) where deadline <= now:
                let next = sent == .interrupt ? "SIGTERM" : "SIGKILL"
                effects.append(.note(node: node, "did not end in time: sending \(next)"))
                escalate(node, at: now, &effects)
            default:
                break
            }
        }
    }

    private mutating func escalate(_ node: Int, at now: MonotonicTime, _ effects: inout [Effect]) {
        switch processes[node].state {
        case .held: signal(node, .terminate, at: now, &effects)
        case .stopping(let sent, _):
            signal(node, StopSignal(rawValue: sent.rawValue + 1) ?? .kill, at: now, &effects)
        default: break
        }
    }

    private mutating func signal(
        _ node: Int, _ signal: StopSignal, at now: MonotonicTime, _ effects: inout [Effect]
    ) {
        var began = now
        if case .stopping(_, let since) = phase { began = since }
        let deadline: MonotonicTime?
        switch signal {
        case .interrupt: deadline = max(now, began + grace.interrupt)
        case .terminate: deadline = now + grace.terminate
        case .kill: deadline = nil
        }
        processes[node].state = .stopping(signal, deadline: deadline)
        effects.append(.signal(node: node, signal))
    }

    private mutating func finishIfOver(_ effects: inout [Effect]) {
        var isSuccess = true
        for process in processes {
            guard case .ended(let end, _) = process.state else { return }
            isSuccess = isSuccess && end.isSuccess
        }
        switch phase {
        case .running:
            phase = .finished
            effects.append(.finish(exitCode: isSuccess ? 0 : 1))
        case .stopping(let causeIsSuccess, _):
            phase = .finished
            effects.append(.finish(exitCode: causeIsSuccess && stopsWereClean ? 0 : 1))
        case .finished:
            break
        }
    }
}
