import CProcess
import Glibc
import NavBus

/// The notifications to a supervisor (`navbus launch`, systemd), if there is one: ready, alive, stopping.
package struct SupervisorNotifier {
    /// The interval of heartbeats, in nanoseconds; the watchdog time of systemd or the launcher must be at least twice this.
    private static let interval: Int64 = 500_000_000

    /// The time of the next heartbeat, in monotonic nanoseconds; `.max` without a supervisor.
    package private(set) var next: Int64 = getenv("NOTIFY_SOCKET") == nil ? .max : 0

    /// Creates a notifier for the supervisor named by the environment.
    package init() {}

    package func ready() { cprocess_notify("READY=1") }
    package func stopping() { cprocess_notify("STOPPING=1") }

    /// Sends a heartbeat when one is due.
    package mutating func heartbeat() {
        let now = Clocks.monotonic()
        guard now >= next else { return }
        cprocess_notify("WATCHDOG=1")
        next = now + Self.interval
    }
}
