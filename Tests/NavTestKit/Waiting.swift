internal import Glibc

/// An awaited event that did not occur within the limit.
package struct NeverHappened: Error, CustomStringConvertible {
    /// The awaited event.
    package let description: String

    /// - Parameter what: The event, such as "the node ends".
    package init(_ what: String) { description = "waited in vain: \(what)" }
}

/// A bound of a wait. The limit is a safety net, not a measurement: a period in which this test did not run counts as one second.
private struct WaitLimit {
    private var waited = Duration.zero
    private var last = ContinuousClock.now

    /// Counts the time since the last call and returns whether the limit is reached.
    mutating func isOver(after seconds: Int) -> Bool {
        let now = ContinuousClock.now
        waited += min(now - last, .seconds(1))
        last = now
        return waited >= .seconds(seconds)
    }
}

/// Waits until a condition is true, and lets other tasks run in the meantime.
///
/// - Parameter pause: Milliseconds between two checks.
/// - Throws: ``NeverHappened`` with `detail` when it is not true within the limit.
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
/// - Parameter pause: Milliseconds between two checks; 0 for conditions that wait themselves.
/// - Throws: ``NeverHappened`` when it is not true within the limit.
package func until(_ what: String, seconds: Int = 300, pause: UInt32 = 0, _ condition: () throws -> Bool) throws {
    var patience = WaitLimit()
    repeat {
        if try condition() { return }
        if pause > 0 { usleep(pause * 1_000) }
    } while !patience.isOver(after: seconds)
    throw NeverHappened("\(what), \(seconds) s")
}
