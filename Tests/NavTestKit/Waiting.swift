internal import Glibc

/// An event that a test has waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
    /// What was waited for.
    package let description: String

    /// - Parameter what: The event, such as "the node ends".
    package init(_ what: String) { description = "waited in vain: \(what)" }
}

/// Bounds a wait. The limit is a safety net and no measurement: of a time in which this test did not run, one second counts.
private struct Patience {
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

/// Waits until something holds, and lets other tasks run meanwhile.
///
/// - Throws: ``NeverHappened`` with `detail` when it does not within the limit.
package func eventually(
    _ what: String, seconds: Int = 300, detail: () -> String = { "" }, _ condition: () async throws -> Bool
) async throws {
    var patience = Patience()
    repeat {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(20))
    } while !patience.isOver(after: seconds)
    throw NeverHappened("\(what), \(seconds) s\n\(detail())")
}

/// Repeats `condition` until it holds, on this thread.
///
/// - Parameter pause: Milliseconds between two looks; 0 for conditions that wait themselves.
/// - Throws: ``NeverHappened`` when it does not within the limit.
package func until(_ what: String, seconds: Int = 300, pause: UInt32 = 0, _ condition: () throws -> Bool) throws {
    var patience = Patience()
    repeat {
        if try condition() { return }
        if pause > 0 { usleep(pause * 1_000) }
    } while !patience.isOver(after: seconds)
    throw NeverHappened("\(what), \(seconds) s")
}
