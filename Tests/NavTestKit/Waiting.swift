internal import Glibc

/// The error for an event that did not occur within the time limit.
package struct NeverHappened: Error, CustomStringConvertible {
    /// The awaited event.
    package let description: String

    /// - Parameter what: the event, such as "the node ends".
    package init(_ what: String) { description = "timed out waiting for: \(what)" }
}

/// The time limit of a wait. It is a safety net, not a measurement: a period in which this test did not run counts as
/// one second.
private struct WaitLimit {
    private var waited = Duration.zero
    private var last = ContinuousClock.now

    /// Counts the time since the last call and returns whether the limit has been reached.
    mutating func isOver(after seconds: Int) -> Bool {
        let now = ContinuousClock.now
        waited += min(now - last, .seconds(1))
        last = now
        return waited >= .seconds(seconds)
    }
}

/// Waits until a condition is true, while other tasks can run.
///
/// - Parameter pause: the time between two checks, ms.
/// - Throws: ``NeverHappened`` with `detail` if the limit is exceeded.
package func eventually(
    _ what: String, seconds: Int = 300, pause: Int = 20, detail: () -> String = { "" },
    _ condition: () async throws -> Bool
) async throws {
    var patience = WaitLimit()
    repeat {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(pause))
    } while !patience.isOver(after: seconds)
    throw NeverHappened("\(what), \(seconds) s\n\(detail())")
}

/// Repeats `condition` on this thread until it is true.
///
/// - Parameter pause: the time between two checks, ms; 0 for conditions that wait themselves.
/// - Throws: ``NeverHappened`` if the limit is exceeded.
package func until(_ what: String, seconds: Int = 300, pause: UInt32 = 0, _ condition: () throws -> Bool) throws {
    var patience = WaitLimit()
    repeat {
        if try condition() { return }
        if pause > 0 { usleep(pause * 1_000) }
    } while !patience.isOver(after: seconds)
    throw NeverHappened("\(what), \(seconds) s")
}
