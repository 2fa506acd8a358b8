/// The server's state of one call: what may be sent, and when the call is over.
///
/// It holds no payload, clock or socket: events carry the monotonic time in nanoseconds, and the methods return effects.
package struct ServerCallStateMachine {
    /// An action for the shell, which runs effects in order.
    package enum Effect: Equatable {
        case sendLastResponse(sequence: UInt64)
        case sendEnd(CallStatus)
        case notifyCredit
        case notifyCancelled
    }

    /// The client's deadline, in nanoseconds of this host's monotonic clock.
    package let deadline: Int64
    package let isStreaming: Bool
    /// The number of responses that may be sent now.
    package private(set) var credit: UInt64
    /// Whether the call is over, for whatever reason.
    package private(set) var hasEnded = false
    /// The sequence of the next response.
    private var nextSequence: UInt64 = 0

    package init(isStreaming: Bool, timeoutNanoseconds: UInt64, credit: UInt64, now: Int64) {
        let limit = UInt64(Duration.seconds(1_000_000_000).boundedNanoseconds)
        deadline = now &+ Int64(min(timeoutNanoseconds, limit))
        self.isStreaming = isStreaming
        self.credit = min(credit, UInt64(CallOptions.maximumWindow))
    }

    /// Spends one credit on a response of a stream.
    ///
    /// - Returns: the response's sequence; nil when the call is over, unary, or without credit.
    package mutating func send() -> UInt64? {
        guard isStreaming, !hasEnded, credit > 0 else { return nil }
        credit -= 1
        defer { nextSequence += 1 }
        return nextSequence
    }

    /// Ends the call with a response: a unary answer, or the last message of a stream.
    package mutating func finishWithResponse() -> [Effect] {
        guard !hasEnded else { return [] }
        hasEnded = true
        return [.sendLastResponse(sequence: nextSequence)]
    }

    /// Ends the call without a response.
    package mutating func finish(_ status: CallStatus) -> [Effect] {
        guard !hasEnded else { return [] }
        hasEnded = true
        return [.sendEnd(status)]
    }

    /// Adds the client's grant to the credit, up to the longest window.
    package mutating func granted(_ count: UInt64) -> [Effect] {
        guard !hasEnded, count > 0 else { return [] }
        let wasEmpty = credit == 0
        let limit = UInt64(CallOptions.maximumWindow)
        credit = min(limit, credit + min(count, limit))
        return wasEmpty ? [.notifyCredit] : []
    }

    /// Handles a cancelled call or a lost client: no answer will be read.
    package mutating func cancelled() -> [Effect] { stop([.notifyCancelled]) }

    package mutating func tick(now: Int64) -> [Effect] {
        guard now >= deadline else { return [] }
        return stop([.sendEnd(CallStatus(.deadlineExceeded, "the deadline passed at the server")), .notifyCancelled])
    }

    private mutating func stop(_ effects: [Effect]) -> [Effect] {
        guard !hasEnded else { return [] }
        hasEnded = true
        return effects
    }
}
