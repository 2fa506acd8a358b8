package import NavBus
import Synchronization

/// What a person wants of a playback while it runs; set from any thread.
package final class PlayerControl: Sendable {
    private struct State {
        var isPaused: Bool
        var steps = 0
    }

    private let state: Mutex<State>
    private let waker: Waker?

    /// A control.
    ///
    /// - Parameters:
    ///   - isPaused: whether the playback begins paused.
    ///   - steps: how many moments are played first all the same.
    ///   - waker: wakes the player, so that a wish is fulfilled at once.
    package init(isPaused: Bool = false, steps: Int = 0, waking waker: Waker? = nil) {
        state = Mutex(State(isPaused: isPaused, steps: max(0, steps)))
        self.waker = waker
    }

    /// Whether time stands still, but for steps that are asked for.
    package var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Pauses or goes on.
    package func togglePause() {
        state.withLock { state in
            state.isPaused.toggle()
            state.steps = 0
        }
        waker?.wake()
    }

    /// Pauses, and plays one moment: everything up to the next stamp.
    package func step() {
        state.withLock { state in
            state.isPaused = true
            state.steps += 1
        }
        waker?.wake()
    }

    /// Takes a step that was asked for; false when there is none.
    package func takeStep() -> Bool {
        state.withLock { state in
            guard state.steps > 0 else { return false }
            state.steps -= 1
            return true
        }
    }
}
