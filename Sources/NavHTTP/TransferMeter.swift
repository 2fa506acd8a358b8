import Synchronization

/// A limit on the bytes received per second, shared by all transfers.
///
/// A token bucket that holds a quarter of a second's worth of bytes. Received bytes are taken out, and transfers that
/// overdraw the bucket wait in order of arrival until it is refilled.
package final class TransferMeter: Sendable {
    private struct State {
        var rate: Double?
        /// The received bytes; the granted bytes grow up to them, and beyond them by the burst.
        var taken = 0.0
        var granted = 0.0
        var refilled: Duration
        var received: Int64 = 0
    }

    private static let burst = 0.25
    private let now: @Sendable () -> Duration
    private let state: Mutex<State>

    /// A meter with a rate limit.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: the rate limit; nil for no limit.
    ///   - now: a clock that never runs backwards.
    package init(bytesPerSecond: Double?, now: @escaping @Sendable () -> Duration) {
        self.now = now
        state = Mutex(State(rate: bytesPerSecond.map { max($0, 1) }, refilled: now()))
    }

    /// The rate limit, bytes per second, nil for no limit; a new value takes effect within a tenth of a second.
    package var bytesPerSecond: Double? {
        get { state.withLock { $0.rate } }
        set {
            let now = now()
            state.withLock { state in
                Self.refill(&state, at: now)
                state.rate = newValue.map { max($0, 1) }
            }
        }
    }

    /// The bytes received so far.
    package var received: Int64 { state.withLock { $0.received } }

    /// A place in the queue for more bytes.
    package struct Ticket: Sendable {
        fileprivate var granted: Double
    }

    /// Counts received bytes; returns the ticket to wait for before more are taken, nil to continue.
    package func note(_ bytes: Int) -> Ticket? {
        state.withLock { state in
            state.received &+= Int64(bytes)
            guard state.rate != nil else { return nil }
            Self.refill(&state, at: now())
            state.taken += Double(bytes)
            return state.granted < state.taken ? Ticket(granted: state.taken) : nil
        }
    }

    /// Returns the seconds until the next query, at most 0.1 because the rate may change; nil when the ticket is
    /// granted.
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
