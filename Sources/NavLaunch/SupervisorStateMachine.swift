/// A moment of the monotonic clock. Handed in, never read here.
package struct MonotonicTime: Sendable, Comparable {
    /// Since an arbitrary origin.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static func + (time: Self, duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflows) = time.nanoseconds.addingReportingOverflow(whole &+ attoseconds / 1_000_000_000)
        return Self(nanoseconds: overflow || overflows ? .max : sum)
    }
}

/// How a process ended.
package enum ProcessEnd: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
    case notStarted(String)

    var isSuccess: Bool { self == .exited(0) }
}

/// The signals that ask a process to end, in the order of escalation.
package enum StopSignal: Int, Sendable, Comparable, CaseIterable {
    case interrupt, terminate, kill

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// How long a process may take after SIGINT before SIGTERM follows, and after that before SIGKILL.
public struct GracePeriods: Sendable, Equatable {
    /// After SIGINT: time to finish a file, to say goodbye on the bus.
    public var interrupt: Duration
    /// After SIGTERM.
    public var terminate: Duration

    /// Defaults: 5 s and 3 s.
    public init(interrupt: Duration = .seconds(5), terminate: Duration = .seconds(3)) {
        self.interrupt = interrupt
        self.terminate = terminate
    }
}

/// Decides which process to start, to signal and to start again, and when the launch is over. Knows no process, no clock
/// and no terminal: events come in with their time, effects come out and are carried out in order.
package struct SupervisorStateMachine: Sendable {
    package enum Event: Sendable {
        /// Once, first.
        case start
        case spawned(node: Int)
        case spawnFailed(node: Int, reason: String)
        case ended(node: Int, ProcessEnd)
        /// Ctrl-C and its like; a further one escalates at once.
        case stopRequested(by: String)
        /// `nextDeadline` has come.
        case timer
    }

    package enum Effect: Sendable, Equatable {
        case spawn(node: Int)
        case signal(node: Int, StopSignal)
        /// A line for the operator; about a node, or about the launch.
        case note(node: Int?, String)
        case finish(exitCode: Int32)
    }

    /// A process that ran for this long starts counting its restarts anew.
    package static let steadyAfter = Duration.seconds(30)

    private enum NodeState {
        case idle
        case starting
        case running(since: MonotonicTime)
        case stopping(StopSignal, deadline: MonotonicTime?)
        case waiting(until: MonotonicTime, after: ProcessEnd)
        case ended(ProcessEnd, clean: Bool)
    }

    private enum Phase {
        case running
        case stopping(isSuccess: Bool)
        case finished
    }

    private struct Process {
        let name: String
        let isRequired: Bool
        let restart: RestartPolicy
        var state = NodeState.idle
        var restartsInARow = 0
        var restarts = 0
    }

    private let grace: GracePeriods
    private var processes: [Process]
    private var phase = Phase.running
    private var stopsWereClean = true

    package init(nodes: [LaunchNode], grace: GracePeriods) {
        self.grace = grace
        processes = nodes.map { Process(name: $0.name, isRequired: $0.required, restart: $0.restart) }
    }

    /// When `timer` is due; nil while nothing waits.
    package var nextDeadline: MonotonicTime? {
        processes.compactMap { process -> MonotonicTime? in
            switch process.state {
            case .stopping(_, let deadline): return deadline
            case .waiting(let until, _): return until
            case .idle, .starting, .running, .ended: return nil
            }
        }.min()
    }

    package mutating func handle(_ event: Event, at now: MonotonicTime) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .start:
            for node in processes.indices {
                processes[node].state = .starting
                effects.append(.spawn(node: node))
            }
        case .spawned(let node):
            guard case .starting = processes[node].state else { break }
            processes[node].state = .running(since: now)
            if case .stopping = phase { signal(node, .interrupt, at: now, &effects) }
        case .spawnFailed(let node, let reason):
            guard case .starting = processes[node].state else { break }
            ended(node, .notStarted(reason), at: now, &effects)
        case .ended(let node, let end):
            ended(node, end, at: now, &effects)
        case .stopRequested(let sender):
            stopRequested(by: sender, at: now, &effects)
        case .timer:
            timer(at: now, &effects)
        }
        finishIfOver(&effects)
        return effects
    }

    /// A line a process: how it ended and how often it was started again.
    package var summary: [String] {
        let width = processes.map(\.name.count).max() ?? 0
        return processes.map { process in
            var line = process.name + String(repeating: " ", count: width - process.name.count) + "  "
            switch process.state {
            case .ended(let end, let clean): line += describe(end) + (clean ? "" : ", not cleanly")
            case .idle, .starting, .running, .stopping, .waiting: line += "still there"
            }
            if process.restarts > 0 {
                line += ", restarted \(process.restarts) time\(process.restarts == 1 ? "" : "s")"
            }
            return line
        }
    }

    // MARK: Ends and restarts

    private mutating func ended(_ node: Int, _ end: ProcessEnd, at now: MonotonicTime, _ effects: inout [Effect]) {
        switch processes[node].state {
        case .idle, .waiting, .ended:
            return
        case .stopping(let sent, _):
            let clean = isClean(end, after: sent)
            processes[node].state = .ended(end, clean: clean)
            stopsWereClean = stopsWereClean && clean
            effects.append(.note(node: node, describe(end) + (clean ? "" : ", not cleanly")))
            return
        case .running(let since):
            if since + Self.steadyAfter <= now { processes[node].restartsInARow = 0 }
        case .starting:
            break
        }
        guard case .running = phase else {
            processes[node].state = .ended(end, clean: end.isSuccess)
            effects.append(.note(node: node, describe(end)))
            return
        }
        if let delay = restartDelay(node, after: end) {
            processes[node].restartsInARow += 1
            processes[node].restarts += 1
            processes[node].state = .waiting(until: now + delay, after: end)
            let count = "\(processes[node].restartsInARow) of \(processes[node].restart.limit)"
            effects.append(.note(node: node, "\(describe(end)); restart \(count) in \(delay)"))
            return
        }
        processes[node].state = .ended(end, clean: end.isSuccess)
        var text = describe(end)
        if processes[node].restart.mode != .never, processes[node].restartsInARow > 0, !end.isSuccess {
            text += "; given up after \(processes[node].restartsInARow) restarts"
        }
        if processes[node].isRequired {
            effects.append(.note(node: node, text + "; it is required, so everything stops"))
            stopAll(isSuccess: end.isSuccess, at: now, &effects)
        } else {
            effects.append(.note(node: node, text))
        }
    }

    private func restartDelay(_ node: Int, after end: ProcessEnd) -> Duration? {
        let process = processes[node]
        switch process.restart.mode {
        case .never: return nil
        case .onFailure where end.isSuccess: return nil
        case .onFailure, .always: break
        }
        guard process.restartsInARow < process.restart.limit else { return nil }
        var delay = process.restart.delay
        for _ in 0..<min(process.restartsInARow, 40) where delay < process.restart.maximumDelay {
            delay *= 2
        }
        return min(delay, process.restart.maximumDelay)
    }

    /// The end that was asked for: 0, or the signal sent (a shell reports that as 128 + its number).
    private func isClean(_ end: ProcessEnd, after sent: StopSignal) -> Bool {
        switch end {
        case .exited(let status): return status == 0 || ((status == 130 || status == 143) && sent < .kill)
        case .signalled(let number): return number == 2 || number == 15
        case .notStarted: return false
        }
    }

    // MARK: Stopping

    private mutating func stopRequested(by sender: String, at now: MonotonicTime, _ effects: inout [Effect]) {
        switch phase {
        case .running:
            effects.append(.note(node: nil, "\(sender): stopping everything"))
            stopAll(isSuccess: true, at: now, &effects)
        case .stopping:
            effects.append(.note(node: nil, "\(sender) again: not waiting"))
            for node in processes.indices { escalate(node, at: now, &effects) }
        case .finished:
            break
        }
    }

    private mutating func stopAll(isSuccess: Bool, at now: MonotonicTime, _ effects: inout [Effect]) {
        phase = .stopping(isSuccess: isSuccess)
        for node in processes.indices {
            switch processes[node].state {
            case .running:
                signal(node, .interrupt, at: now, &effects)
            case .waiting(_, let end):
                processes[node].state = .ended(end, clean: true)
            case .idle:
                processes[node].state = .ended(.notStarted("the launch ended first"), clean: true)
            case .starting, .stopping, .ended:
                break
            }
        }
    }

    private mutating func timer(at now: MonotonicTime, _ effects: inout [Effect]) {
        for node in processes.indices {
            switch processes[node].state {
            case .waiting(let until, _) where until <= now:
                processes[node].state = .starting
                effects.append(.spawn(node: node))
            case .stopping(let sent, let deadline?) where deadline <= now:
                let next = sent == .interrupt ? "SIGTERM" : "SIGKILL"
                effects.append(.note(node: node, "did not end in time: \(next)"))
                escalate(node, at: now, &effects)
            default:
                break
            }
        }
    }

    private mutating func escalate(_ node: Int, at now: MonotonicTime, _ effects: inout [Effect]) {
        guard case .stopping(let sent, _) = processes[node].state else { return }
        signal(node, StopSignal(rawValue: sent.rawValue + 1) ?? .kill, at: now, &effects)
    }

    private mutating func signal(
        _ node: Int, _ signal: StopSignal, at now: MonotonicTime, _ effects: inout [Effect]
    ) {
        let deadline: MonotonicTime?
        switch signal {
        case .interrupt: deadline = now + grace.interrupt
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
        case .stopping(let causeIsSuccess):
            phase = .finished
            effects.append(.finish(exitCode: causeIsSuccess && stopsWereClean ? 0 : 1))
        case .finished:
            break
        }
    }
}

private func describe(_ end: ProcessEnd) -> String {
    switch end {
    case .exited(let status): return "ended with status \(status)"
    case .signalled(let number): return "killed by \(signalName(number))"
    case .notStarted(let reason): return "could not be started: \(reason)"
    }
}

package func signalName(_ number: Int32) -> String {
    let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
        11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
    ]
    return names[number] ?? "signal \(number)"
}
