import CProcess
import Glibc
import NavBus

/// The notifications to a supervisor (`navbus launch`, systemd), where there is one: ready, alive, stopping.
package struct SupervisorNotifier {
    /// The interval of signs of life, ns: the watchdog of systemd and of the launcher may be set to
    /// least twice as much.
    private static let interval: Int64 = 500_000_000

    /// The moment of the next sign of life, monotonic ns; `.max` without a supervisor.
    package private(set) var next: Int64 = getenv("NOTIFY_SOCKET") == nil ? .max : 0

    /// Knows of the supervisor from the environment.
    package init() {}

    package func ready() { cprocess_notify("READY=1") }
    package func stopping() { cprocess_notify("STOPPING=1") }

    /// Tells that the loop runs, when that is due.
    package mutating func alive() {
        let now = Clocks.monotonic()
        guard now >= next else { return }
        cprocess_notify("WATCHDOG=1")
        next = now + Self.interval
    }
}
