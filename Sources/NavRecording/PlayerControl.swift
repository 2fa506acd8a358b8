package import NavBus
import Synchronization

/// The interactive control of a running playback; thread-safe.
package final class PlayerControl: Sendable {
    /// A jump to another position in the bag.
    package enum Jump: Sendable, Equatable {
        /// By a number of seconds, forwards or (if negative) backwards.
        case by(Double)
        /// A jump to the previous moment, which is played before the playback pauses.
        case back
    }

    private struct State {
        var isPaused: Bool
        var isAttended = false
        var steps = 0
        var jumps: [Jump] = []
        var factor = 1.0
    }

    /// The maximum number of queued jumps; a held key requests more jumps than can be executed.
    private static let mostJumps = 16

    private let state: Mutex<State>
    private let waker: Waker?

    /// Creates a control.
    ///
    /// - Parameters:
    ///   - isPaused: whether the playback begins paused.
    ///   - steps: the number of moments played at the start even if paused.
    ///   - waker: the waker of the player, so that it reacts immediately.
    package init(isPaused: Bool = false, steps: Int = 0, waking waker: Waker? = nil) {
        state = Mutex(State(isPaused: isPaused, steps: max(0, steps)))
        self.waker = waker
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        waker?.wake()
    }

    /// Whether the playback is paused, except for requested steps.
    package var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Whether the playback is controlled by keys, so that the user may jump back at the end of the bag.
    package var isAttended: Bool {
        get { state.withLock { $0.isAttended } }
        set { state.withLock { $0.isAttended = newValue } }
    }

    package func togglePause() {
        change { state in
            state.isPaused.toggle()
            state.steps = 0
        }
    }

    /// Pauses and plays one moment: all messages up to the next stamp.
    package func step() {
        change { state in
            state.isPaused = true
            state.steps += 1
        }
    }

    /// Pauses and plays the previous moment.
    package func stepBack() {
        change { state in
            state.isPaused = true
            if state.jumps.count < Self.mostJumps { state.jumps.append(.back) }
        }
    }

    /// Jumps by a number of seconds, forwards or (if negative) backwards.
    package func seek(by seconds: Double) {
        change { state in
            if state.jumps.count < Self.mostJumps { state.jumps.append(.by(seconds)) }
        }
    }

    /// Multiplies the rate by `factor`.
    package func changeRate(by factor: Double) { change { $0.factor *= factor } }

    /// Takes a requested step; returns false when there is none.
    package func takeStep() -> Bool {
        state.withLock { state in
            guard state.steps > 0 else { return false }
            state.steps -= 1
            return true
        }
    }

    /// Takes the next requested jump; nil when there is none.
    package func takeJump() -> Jump? { state.withLock { $0.jumps.isEmpty ? nil : $0.jumps.removeFirst() } }

    /// Takes the requested change of rate, as a factor; nil when there is none.
    package func takeFactor() -> Double? {
        state.withLock { state in
            guard state.factor != 1 else { return nil }
            defer { state.factor = 1 }
            return state.factor
        }
    }

    /// Requests one more step, as part of a step backwards.
    package func addStep() { state.withLock { $0.steps += 1 } }
}
