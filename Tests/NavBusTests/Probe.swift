import NavTestKit
import NavTestSystem

extension Probe {
    /// Waits until the probe has printed `line`; `turn` polls this process's nodes in the meantime.
    func says(_ line: String, while turn: () throws -> Void = {}) throws {
        try until("the probe's '\(line)'") {
            if output.contains(line + "\n") { return true }
            try turn()
            if hasEnded(within: 20) { throw NeverHappened("the probe, which ended: \(output)") }
            return false
        }
    }
}
