internal import Synchronization

/// The messages of one subscription, for one reader.
///
/// The queue is bounded by the subscription's ``QoS``: the oldest message is dropped first, and counted. It ends when the session
/// closes or the reading task is cancelled; dropping it ends the subscription.
public struct DeliverySequence: AsyncSequence, Sendable {
    let stream: AsyncStream<Delivery>
    let counter: DropCounter

    /// The number of messages that were dropped because the reader was slow.
    public var dropped: UInt64 { counter.value }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncStream<Delivery>.AsyncIterator { stream.makeAsyncIterator() }
}

/// Counts from any thread.
final class DropCounter: Sendable {
    private let count = Atomic<UInt64>(0)

    var value: UInt64 { count.load(ordering: .relaxed) }

    func increment() { count.wrappingAdd(1, ordering: .relaxed) }
}

/// The responses of a streaming call, for one reader, see ``BusSession/stream(_:_:_:options:)``.
public struct ResponseSequence: AsyncSequence, Sendable {
    let stream: AsyncThrowingStream<Payload, any Error>
    let session: BusSession
    let id: CallID
    let batch: Int

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: stream.makeAsyncIterator(), session: session, id: id, batch: batch)
    }

    /// Takes responses and lets the server send as many more, half a window at a time.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncThrowingStream<Payload, any Error>.AsyncIterator
        let session: BusSession
        let id: CallID
        let batch: Int
        var taken = 0

        /// The next response; nil when the server ended the call well, else its ``CallStatus`` is thrown.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Payload? {
            guard let payload = try await base.next(isolation: actor) else { return nil }
            taken += 1
            if taken >= batch {
                await session.grant(id, taken)
                taken = 0
            }
            return payload
        }

        /// The next response, as the older protocol has it.
        public mutating func next() async throws -> Payload? { try await next(isolation: nil) }
    }
}

/// One call that a ``BusSession`` serves.
public struct IncomingCall: Sendable {
    let session: BusSession
    let number: Int
    /// The full name of the service.
    public let service: String
    /// The method's name.
    public let method: String
    /// The request's bytes as they arrived.
    public let request: Payload
    /// The metadata that the client sent beside the request.
    public let metadata: [MetadataEntry]
    /// The deadline of the client, `CLOCK_MONOTONIC` nanoseconds.
    public let deadlineNanoseconds: Int64
    /// True when the method streams.
    public let isStreaming: Bool

    /// Sends one message of a stream; waits while the reader is a window behind.
    ///
    /// - Throws: ``CallStatus`` when the call is over or unary.
    public func send(_ bytes: [UInt8]) async throws {
        guard isStreaming else { throw CallStatus(.internal, "'\(method)' answers once: return the response") }
        try await session.send(bytes, to: number)
    }
}

/// The calls a session serves now; used on the node's thread alone.
final class ServedCalls {
    enum Answer: Sendable {
        case response([UInt8])
        case status(CallStatus)
    }

    private var calls: [Int: ServerCall] = [:]
    private var waiting: [Int: [CheckedContinuation<Void, Never>]] = [:]
    private var last = 0

    subscript(number: Int) -> ServerCall? { calls[number] }

    func add(_ call: ServerCall) -> Int {
        last += 1
        calls[last] = call
        return last
    }

    /// Lets a sender wait until ``resume(_:)`` or ``end(_:)``.
    func wait(_ number: Int, _ continuation: CheckedContinuation<Void, Never>) {
        waiting[number, default: []].append(continuation)
    }

    func resume(_ number: Int) {
        for continuation in waiting.removeValue(forKey: number) ?? [] { continuation.resume() }
    }

    func end(_ number: Int) {
        calls[number] = nil
        resume(number)
    }
}

/// Brings a call's number and its task's cancellation together, whichever comes first.
final class CallTicket: Sendable {
    private let state = Mutex<(id: CallID?, isCancelled: Bool)>((nil, false))

    /// - Returns: true when the task was cancelled before.
    func began(_ id: CallID) -> Bool {
        state.withLock { state in
            state.id = id
            return state.isCancelled
        }
    }

    /// - Returns: the call to cancel, nil before it began.
    func cancel() -> CallID? {
        state.withLock { state in
            state.isCancelled = true
            return state.id
        }
    }
}
