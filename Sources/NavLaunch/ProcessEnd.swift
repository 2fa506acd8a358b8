/// A moment of the monotonic clock, passed in by callers.
package struct MonotonicTime: Sendable, Comparable {
    /// The time since an arbitrary origin.
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

    package static func - (later: Self, earlier: Self) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? Int64.max : difference)
    }
}

package enum ProcessEnd: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32, dumpedCore: Bool = false)
    case notStarted(String)

    var isSuccess: Bool { self == .exited(0) }

    /// Returns whether the end is the requested one: 0, or the signal sent (a shell reports that as 128 + its number).
    func isClean(after sent: StopSignal) -> Bool {
        switch self {
        case .exited(let status): return status == 0 || ((status == 130 || status == 143) && sent < .kill)
        case .signalled(let number, _): return number == 2 || number == 15
        case .notStarted: return false
        }
    }

    /// `ended with status 1`, `killed by SIGSEGV (core dumped)`.
    var description: String {
        switch self {
        case .exited(let status): return "ended with status \(status)"
        case .signalled(let number, let dumped):
            return "killed by \(signalName(number))" + (dumped ? " (core dumped)" : "")
        case .notStarted(let reason): return "could not be started: \(reason)"
        }
    }
}

/// The resources used by a process and the children it waited for, as counted by the kernel.
package struct ProcessUsage: Sendable, Equatable {
    /// The largest resident size of any one of these processes, in bytes (`ru_maxrss`).
    package var peakMemory: Int64
    package var processorTime: Duration

    package init(peakMemory: Int64 = 0, processorTime: Duration = .zero) {
        self.peakMemory = peakMemory
        self.processorTime = processorTime
    }
}

/// The signals that end a process, in the order of escalation.
package enum StopSignal: Int, Sendable, Comparable, CaseIterable {
    case interrupt, terminate, kill

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The time between SIGINT and SIGTERM, and between SIGTERM and SIGKILL.
///
/// The time after SIGINT is one budget for the whole stop. Nodes that no other node lists in `after` are signalled
/// first; each further row is signalled no later than its equal share of the budget.
package struct GracePeriods: Sendable, Equatable {
    /// The time after SIGINT for a process to complete its files and leave the bus.
    package var interrupt: Duration
    /// The time after SIGTERM.
    package var terminate: Duration

    /// Creates the periods; the defaults are 5 s and 3 s.
    package init(interrupt: Duration = .seconds(5), terminate: Duration = .seconds(3)) {
        self.interrupt = interrupt
        self.terminate = terminate
    }
}

package func signalName(_ number: Int32) -> String {
    let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
        9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
        24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
    ]
    return names[number] ?? "signal \(number)"
}
