import CProcess
import Glibc
import NavBus

/// What a process tells its supervisor (`navbus launch`, systemd), where there is one: that it is ready, that its loop runs, that it stops.
struct SupervisorSigns {
    /// How often the supervisor is told that the loop runs, ns: what systemd's watchdog and the launcher's may be set to is at
    /// least twice as much.
    private static let interval: Int64 = 500_000_000

    /// When the next sign is due, monotonic ns; `.max` without a supervisor.
    private(set) var next: Int64 = getenv("NOTIFY_SOCKET") == nil ? .max : 0

    func ready() { cprocess_notify("READY=1") }
    func stopping() { cprocess_notify("STOPPING=1") }

    /// Tells that the loop runs, when that is due.
    mutating func alive() {
        let now = Clocks.monotonic()
        guard now >= next else { return }
        cprocess_notify("WATCHDOG=1")
        next = now + Self.interval
    }
}
