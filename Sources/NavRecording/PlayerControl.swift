package import NavBus
import Synchronization

/// A person's control of a playback while it runs; set from any thread.
package final class PlayerControl: Sendable {
    /// A jump to another place of the bag.
    package enum Jump: Sendable, Equatable {
        /// So many seconds forwards, or backwards.
        case by(Double)
        /// To the moment before this one, which is played, and then the playback pauses.
        case back
    }

    private struct State {
        var isPaused: Bool
        var isAttended = false
        var steps = 0
        var jumps: [Jump] = []
        var factor = 1.0
    }

    /// The most jumps that wait; a key that is held down asks for more than can be done.
    private static let mostJumps = 16

    private let state: Mutex<State>
    private let waker: Waker?

    /// A control.
    ///
    /// - Parameters:
    ///   - isPaused: whether the playback begins paused.
    ///   - steps: how many moments are played first all the same.
    ///   - waker: wakes the player, so that it reacts at once.
    package init(isPaused: Bool = false, steps: Int = 0, waking waker: Waker? = nil) {
        state = Mutex(State(isPaused: isPaused, steps: max(0, steps)))
        self.waker = waker
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        waker?.wake()
    }

    /// Whether time stands still, but for steps that are asked for.
    package var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Whether a person is at the keys, who may go back at the end of the bag.
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

    /// Pauses, and plays one moment: everything up to the next stamp.
    package func step() {
        change { state in
            state.isPaused = true
            state.steps += 1
        }
    }

    /// Pauses, and plays the moment before this one.
    package func stepBack() {
        change { state in
            state.isPaused = true
            if state.jumps.count < Self.mostJumps { state.jumps.append(.back) }
        }
    }

    /// Goes to a place so many seconds further on in the bag, or back.
    package func seek(by seconds: Double) {
        change { state in
            if state.jumps.count < Self.mostJumps { state.jumps.append(.by(seconds)) }
        }
    }

    /// Plays so many times as fast as now.
    package func changeRate(by factor: Double) { change { $0.factor *= factor } }

    /// Takes a step that was asked for; false when there is none.
    package func takeStep() -> Bool {
        state.withLock { state in
            guard state.steps > 0 else { return false }
            state.steps -= 1
            return true
        }
    }

    /// Takes the next jump that was asked for.
    package func takeJump() -> Jump? { state.withLock { $0.jumps.isEmpty ? nil : $0.jumps.removeFirst() } }

    /// Takes the change of rate that was asked for, a factor; nil when there is none.
    package func takeFactor() -> Double? {
        state.withLock { state in
            guard state.factor != 1 else { return nil }
            defer { state.factor = 1 }
            return state.factor
        }
    }

    /// Asks for one more step, as part of a step backwards.
    package func addStep() { state.withLock { $0.steps += 1 } }
}
