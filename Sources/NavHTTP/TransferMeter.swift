import Synchronization

/// A limit of the bytes that arrive each second, shared by all who receive.
///
/// A token bucket that holds a quarter of a second's worth of bytes: what arrives is taken out, and whoever overdraws it
/// waits until it is filled again, in order of arrival.
public final class TransferMeter: Sendable {
    private struct State {
        var rate: Double?
        /// Bytes that arrived; what is granted grows up to it, and beyond it by the burst.
        var taken = 0.0
        var granted = 0.0
        var refilled: Duration
        var received: Int64 = 0
    }

    private static let burst = 0.25
    private let now: @Sendable () -> Duration
    private let state: Mutex<State>

    /// A meter.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: how many may arrive; nil for any number.
    ///   - now: a clock that never runs backwards.
    public init(bytesPerSecond: Double?, now: @escaping @Sendable () -> Duration) {
        self.now = now
        state = Mutex(State(rate: bytesPerSecond.map { max($0, 1) }, refilled: now()))
    }

    /// The bytes that may arrive each second; nil for any number. A new value takes effect within a tenth of a second.
    public var bytesPerSecond: Double? {
        get { state.withLock { $0.rate } }
        set {
            let now = now()
            state.withLock { state in
                Self.refill(&state, at: now)
                state.rate = newValue.map { max($0, 1) }
            }
        }
    }

    /// Bytes that arrived so far.
    public var received: Int64 { state.withLock { $0.received } }

    /// A place in the queue for more bytes.
    package struct Ticket: Sendable {
        fileprivate var granted: Double
    }

    /// Notes that bytes arrived; returns what to wait for before more are taken, nil for nothing.
    package func note(_ bytes: Int) -> Ticket? {
        state.withLock { state in
            state.received &+= Int64(bytes)
            guard state.rate != nil else { return nil }
            Self.refill(&state, at: now())
            state.taken += Double(bytes)
            return state.granted < state.taken ? Ticket(granted: state.taken) : nil
        }
    }

    /// Returns seconds after which to ask again, at most a tenth since the rate may change meanwhile; nil when it is granted.
    package func pause(_ ticket: Ticket) -> Double? {
        state.withLock { state in
            guard let rate = state.rate else { return nil }
            Self.refill(&state, at: now())
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
