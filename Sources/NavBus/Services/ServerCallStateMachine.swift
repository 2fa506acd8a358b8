/// One call, seen from its server: what may be sent, and when it is over.
///
/// It holds no payload, clock or socket: events come with the monotonic time in nanoseconds, effects go out.
package struct ServerCallStateMachine {
    /// An action for the shell; they are done in order.
    package enum Effect: Equatable {
        case sendLastResponse(sequence: UInt64)
        case sendEnd(CallStatus)
        case notifyCredit
        case notifyCancelled
    }

    /// The deadline of the client, monotonic nanoseconds here.
    package let deadline: Int64
    package let isStreaming: Bool
    /// The number of responses that may be sent now.
    package private(set) var credit: UInt64
    /// True once the call is over, for whatever reason.
    package private(set) var hasEnded = false
    /// True when it ended without the handler's doing.
    private var nextSequence: UInt64 = 0

    package init(isStreaming: Bool, timeoutNanoseconds: UInt64, credit: UInt64, now: Int64) {
        let limit = UInt64(Duration.seconds(1_000_000_000).boundedNanoseconds)
        deadline = now &+ Int64(min(timeoutNanoseconds, limit))
        self.isStreaming = isStreaming
        self.credit = min(credit, UInt64(CallOptions.maximumWindow))
    }

    /// Spends a credit on one response of a stream.
    ///
    /// - Returns: the response's sequence; nil when the call is over or credit is lacking.
    package mutating func send() -> UInt64? {
        guard isStreaming, !hasEnded, credit > 0 else { return nil }
        credit -= 1
        defer { nextSequence += 1 }
        return nextSequence
    }

    /// The handler's last word with a response; a unary answer.
    package mutating func finishWithResponse() -> [Effect] {
        guard !hasEnded else { return [] }
        hasEnded = true
        return [.sendLastResponse(sequence: nextSequence)]
    }

    /// The handler's last word.
    package mutating func finish(_ status: CallStatus) -> [Effect] {
        guard !hasEnded else { return [] }
        hasEnded = true
        return [.sendEnd(status)]
    }

    /// The client grants more; never beyond the longest window.
    package mutating func granted(_ count: UInt64) -> [Effect] {
        guard !hasEnded, count > 0 else { return [] }
        let wasEmpty = credit == 0
        let limit = UInt64(CallOptions.maximumWindow)
        credit = min(limit, credit + min(count, limit))
        return wasEmpty ? [.notifyCredit] : []
    }

    /// The client cancelled, or is gone: nobody reads an answer.
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
