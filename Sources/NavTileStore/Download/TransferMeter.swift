import Synchronization

/// Counts the bytes that come in, and says how long who receives them waits so that they are not more than allowed.
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

    /// What must be granted before more is taken.
    package struct Ticket: Sendable {
        fileprivate var granted: Double
    }

    /// Says that bytes came in; what to wait for before more are taken, nil for nothing.
    package func note(_ bytes: Int) -> Ticket? {
        state.withLock { state in
            state.received &+= Int64(bytes)
            guard state.rate != nil else { return nil }
            Self.refill(&state, at: clock.now())
            state.taken += Double(bytes)
            return state.granted < state.taken ? Ticket(granted: state.taken) : nil
        }
    }

    /// Seconds after which to look again, at most a tenth since the rate may change meanwhile; nil when it is granted.
    package func pause(_ ticket: Ticket) -> Double? {
        state.withLock { state in
            guard let rate = state.rate else { return nil }
            Self.refill(&state, at: clock.now())
            guard state.granted < ticket.granted else { return nil }
            return min(max((ticket.granted - state.granted) / rate, 0.001), 0.1)
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
