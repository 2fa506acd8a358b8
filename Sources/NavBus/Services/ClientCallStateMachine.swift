/// The client's state of one call: when to send, retry, grant credit and give up.
///
/// It holds no payload, clock or socket: events carry the monotonic time in nanoseconds, and the methods return effects.
package struct ClientCallStateMachine {
    /// An action for the shell, which runs effects in order.
    package enum Effect: Equatable {
        case sendRequest(timeoutNanoseconds: Int64, credit: Int)
        case sendCancel
        case sendCredit(Int)
        case deliver
        case end(CallStatus)
    }

    private enum State {
        case waiting(until: Int64)
        case backingOff(until: Int64)
        case inFlight(received: UInt64, granted: UInt64, withheld: UInt64)
        case ended
    }

    /// The longest wait for an absent server, long enough for a pending registry event: 200 ms.
    package static let absenceNanoseconds: Int64 = 200_000_000
    /// The first pause before a retry: 50 ms.
    ///
    /// It doubles with each retry, up to 32 times this value.
    package static let backOffNanoseconds: Int64 = 50_000_000

    package let deadline: Int64
    private var isStreaming: Bool
    private let isIdempotent: Bool
    private let waitsForReady: Bool
    private let window: UInt64
    /// The number of times that the request was sent.
    package private(set) var attempts = 0
    private var state: State

    package init(_ options: CallOptions, isStreaming: Bool, now: Int64) {
        deadline = now &+ options.timeout.boundedNanoseconds
        self.isStreaming = options.expectsStream ?? isStreaming
        isIdempotent = options.isIdempotent
        waitsForReady = options.waitForReady
        window = UInt64(options.window)
        state = .waiting(until: Self.patience(now, options.waitForReady, deadline))
    }

    private static func patience(_ now: Int64, _ waitsForReady: Bool, _ deadline: Int64) -> Int64 {
        waitsForReady ? deadline : min(deadline, now + absenceNanoseconds)
    }

    package var isWaiting: Bool { if case .waiting = state { true } else { false } }
    package var isInFlight: Bool { if case .inFlight = state { true } else { false } }
    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// The latest time at which ``tick(now:)`` must be called.
    package var nextTick: Int64 {
        switch state {
        case .waiting(let until), .backingOff(let until): min(until, deadline)
        case .inFlight: deadline
        case .ended: .max
        }
    }

    /// Sends a waiting call to a server that was found.
    ///
    /// `isStreaming` is the server's description of the method.
    package mutating func serverFound(now: Int64, isStreaming: Bool? = nil) -> [Effect] {
        guard isWaiting, now < deadline else { return [] }
        if let isStreaming { self.isStreaming = isStreaming }
        attempts += 1
        state = .inFlight(received: 0, granted: window, withheld: 0)
        return [.sendRequest(timeoutNanoseconds: deadline - now, credit: Int(window))]
    }

    /// Handles the loss of the server: it died, left, or never accepted the request.
    package mutating func serverLost(now: Int64, _ status: CallStatus) -> [Effect] {
        guard case .inFlight(let received, _, _) = state else { return [] }
        // Delivered messages cannot be withdrawn, so a stream that has begun is not retried.
        let pause = Self.backOffNanoseconds << Int64(min(max(attempts - 1, 0), 5))
        guard isIdempotent, received == 0, status.code == .unavailable, now + pause < deadline else {
            return end(status)
        }
        state = .backingOff(until: now + pause)
        return []
    }

    /// Handles a response; `sequence` counts from 0.
    package mutating func response(sequence: UInt64, size: Int, limit: Int) -> [Effect] {
        guard case .inFlight(let received, let granted, let withheld) = state else { return [] }
        guard sequence == received else {
            return [.sendCancel] + end(CallStatus(.internal, "the server's responses are out of order"))
        }
        guard isStreaming || received == 0 else { return [.sendCancel] + end(Self.secondResponse) }
        guard size <= limit else {
            return [.sendCancel]
                + end(
                    CallStatus(.resourceExhausted, "a response of \(size) bytes is over the caller's limit of \(limit)")
                )
        }
        guard received < granted else {
            return [.sendCancel] + end(CallStatus(.internal, "the server sent more than it had credit for"))
        }
        state = .inFlight(received: received + 1, granted: granted, withheld: withheld)
        return Self.delivery
    }

    /// Records that the caller has handled `count` messages; credit is granted once half a window has accumulated.
    package mutating func consumed(_ count: Int) -> [Effect] {
        guard isStreaming, count > 0, case .inFlight(let received, let granted, let withheld) = state else { return [] }
        // More credit than one window beyond the received messages would let the buffers grow.
        let sum = min(withheld + UInt64(count), received + window - granted)
        guard sum >= max(1, window / 2) else {
            state = .inFlight(received: received, granted: granted, withheld: sum)
            return []
        }
        state = .inFlight(received: received, granted: granted + sum, withheld: 0)
        return [.sendCredit(Int(sum))]
    }

    /// Handles the server's end of the call; `sequence` is the last response's, nil when the end carries none.
    package mutating func ended(_ status: CallStatus, sequence: UInt64?, size: Int, limit: Int, now: Int64) -> [Effect]
    {
        guard case .inFlight(let received, _, _) = state else { return [] }
        if status.code == .unavailable { return serverLost(now: now, status) }
        guard let sequence else {
            if status.code == .ok, !isStreaming, received == 0 {
                return end(CallStatus(.internal, "the server ended a unary call without a response"))
            }
            return end(status)
        }
        guard isStreaming || received == 0 else { return end(Self.secondResponse) }
        guard sequence == received, size <= limit else {
            let fits = size <= limit
            return end(
                CallStatus(fits ? .internal : .resourceExhausted, "the last response is out of order or too large"))
        }
        return [.deliver] + end(status)
    }

    package mutating func cancel() -> [Effect] {
        guard !hasEnded else { return [] }
        let notice: [Effect] = isInFlight ? [.sendCancel] : []
        return notice + end(CallStatus(.cancelled, "the caller cancelled the call"))
    }

    /// Ends the call for a reason on this side.
    package mutating func fail(_ status: CallStatus) -> [Effect] { hasEnded ? [] : end(status) }

    package mutating func tick(now: Int64) -> [Effect] {
        if hasEnded { return [] }
        if now >= deadline {
            let wasInFlight = isInFlight
            let reason =
                isWaiting && waitsForReady ? "the deadline passed before a server was available" : "the deadline passed"
            return (wasInFlight ? [.sendCancel] : []) + end(CallStatus(.deadlineExceeded, reason))
        }
        switch state {
        case .waiting(let until) where now >= until:
            return end(CallStatus(.unavailable, "no live node serves this: start one, or wait for it (waitForReady)"))
        case .backingOff(let until) where now >= until:
            state = .waiting(until: Self.patience(now, waitsForReady, deadline))
            return []
        default: return []
        }
    }

    /// Shared, to avoid an allocation for each message of a stream.
    private static let delivery: [Effect] = [.deliver]

    private static let secondResponse = CallStatus(.internal, "the server answered a unary call more than once")

    private mutating func end(_ status: CallStatus) -> [Effect] {
        state = .ended
        return [.end(status)]
    }
}
