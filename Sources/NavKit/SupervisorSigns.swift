import CProcess
import Glibc
import NavBus

/// What a process tells its supervisor (`navbus launch`, systemd), where there is one: that it is ready, that its loop runs, that it stops.
package struct SupervisorSigns {
    /// How often the supervisor is told that the loop runs, ns: what systemd's watchdog and the launcher's may be set to is at
    /// least twice as much.
    private static let interval: Int64 = 500_000_000

    /// When the next sign is due, monotonic ns; `.max` without a supervisor.
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
