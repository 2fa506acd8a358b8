import Synchronization

/// Counts the bytes that come in, and lets who receives them wait so that they are not more than allowed.
///
/// It is a bucket that fills with leave to take bytes and holds a quarter of a second's worth: what came in is taken out,
/// and who finds it overdrawn waits until it is filled again, those who came first first.
public final class TransferMeter: Sendable {
    private struct State {
        var rate: Double?
        /// Bytes that came in; what is granted grows up to it, and beyond it by the burst.
        var taken = 0.0
        var granted = 0.0
        var refilled: Duration
        var received: Int64 = 0
    }

    private static let burst = 0.25
    private let clock: DownloadClock
    private let state: Mutex<State>

    /// A meter.
    ///
    /// - Parameter bytesPerSecond: how many may come in; nil for any number.
    public init(bytesPerSecond: Double? = nil, clock: DownloadClock = .system) {
        self.clock = clock
        state = Mutex(State(rate: bytesPerSecond.map { max($0, 1) }, refilled: clock.now()))
    }

    /// How many bytes may come in each second; nil for any number. What waits keeps to a new value within a tenth of a
    /// second.
    public var bytesPerSecond: Double? {
        get { state.withLock { $0.rate } }
        set {
            let now = clock.now()
            state.withLock { state in
                Self.refill(&state, at: now)
                state.rate = newValue.map { max($0, 1) }
            }
        }
    }

    /// Bytes that came in so far.
    public var received: Int64 { state.withLock { $0.received } }

    /// Says that bytes came in, and waits until they may have. Throws `CancellationError` only.
    public func take(_ bytes: Int) async throws {
        if mustWait(after: bytes) { try await wait() }
    }

    /// Says that bytes came in; whether to ``wait()`` before more are taken.
    package func mustWait(after bytes: Int) -> Bool {
        let now = state.withLock({ $0.rate }) == nil ? .zero : clock.now()
        return state.withLock { state in
            state.received &+= Int64(bytes)
            guard state.rate != nil else { return false }
            Self.refill(&state, at: now)
            state.taken += Double(bytes)
            return state.granted < state.taken
        }
    }

    /// Waits until all that has come in up to now is granted. Throws `CancellationError` only.
    package func wait() async throws {
        let ticket = state.withLock { $0.taken }
        while true {
            let now = clock.now()
            let pause = state.withLock { state -> Double? in
                guard let rate = state.rate else { return nil }
                Self.refill(&state, at: now)
                return state.granted >= ticket ? nil : (ticket - state.granted) / rate
            }
            guard let pause else { return }
            // In short steps, since the rate may be changed meanwhile.
            try await clock.sleep(now + .seconds(min(max(pause, 0.001), 0.1)))
        }
    }

    private static func refill(_ state: inout State, at now: Duration) {
        guard let rate = state.rate else {
            state.granted = state.taken
            state.refilled = now
            return
        }
        let elapsed = max((now - state.refilled) / .seconds(1), 0)
        state.granted = min(state.granted + elapsed * rate, state.taken + rate * burst)
        state.refilled = now
    }
}
