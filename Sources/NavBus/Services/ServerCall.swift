internal import Synchronization

/// One call that a handler answers, now or later; it belongs to the node's thread.
///
/// A call that is answered by nobody ends at its deadline. For an answer from another thread take a
/// ``makeResponder()``.
public final class ServerCall {
    /// The full name of the service.
    public let service: String
    /// The method's name.
    public let method: String
    /// The request's bytes as they arrived.
    public let request: Payload
    /// What the client sent beside the request.
    public let metadata: [MetadataEntry]
    /// True when the client may send the same request again.
    public let isIdempotent: Bool
    /// When the client stops waiting, nanoseconds of the node's monotonic clock.
    public let deadlineNanoseconds: Int64
    /// Called once when the call ends without the handler's doing: cancelled, past its deadline, or its client gone.
    public var onCancel: (() -> Void)?
    /// Called when a stream that had no credit has some again.
    public var onCredit: (() -> Void)?

    let key: ServiceServer.Key
    private weak var server: ServiceServer?

    init(
        _ server: ServiceServer, _ key: ServiceServer.Key, _ frame: ServiceFrame, _ request: Payload, _ deadline: Int64
    ) {
        self.server = server
        self.key = key
        self.request = request
        service = frame.service
        method = frame.method
        metadata = frame.metadata
        isIdempotent = frame.isIdempotent
        deadlineNanoseconds = deadline
    }

    /// True once nobody waits for the answer any more.
    public var isCancelled: Bool { server?.isOpen(key) != true }

    /// How many messages of a stream may be sent now.
    public var credit: Int { server?.credit(key) ?? 0 }

    /// Sends one message of a stream.
    ///
    /// - Returns: false when it was not sent: the call is over, is unary, or has no credit (wait for ``onCredit``).
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool { server?.send(key, bytes) ?? false }

    /// Answers a unary call, or ends a stream with one more message.
    ///
    /// - Returns: false when the call was over already and the answer is dropped.
    @discardableResult
    public func finish(_ bytes: [UInt8]) -> Bool { server?.finish(key, bytes) ?? false }

    /// Ends the call without a message; a unary call must not end so with ``CallStatus/ok``.
    ///
    /// - Returns: false when the call was over already.
    @discardableResult
    public func finish(_ status: CallStatus) -> Bool { server?.finish(key, status) ?? false }

    /// What another thread answers the call through.
    public func makeResponder() -> CallResponder { CallResponder(key, server?.mailbox) }
}

/// Answers one call from any thread; the node sends the answer in its loop, which this wakes.
public struct CallResponder: Sendable {
    private let key: ServiceServer.Key
    private let mailbox: ResponderMailbox?

    init(_ key: ServiceServer.Key, _ mailbox: ResponderMailbox?) {
        self.key = key
        self.mailbox = mailbox
    }

    /// Answers a unary call, or ends a stream with one more message; dropped when the call is over.
    public func finish(_ bytes: [UInt8]) { mailbox?.put(key, .response(bytes)) }

    /// Ends the call without a message; dropped when the call is over.
    public func finish(_ status: CallStatus) { mailbox?.put(key, .status(status)) }
}

/// Answers on their way from other threads to the node's.
final class ResponderMailbox: Sendable {
    enum Answer: Sendable {
        case response([UInt8])
        case status(CallStatus)
    }

    private let answers = Mutex<[(key: ServiceServer.Key, answer: Answer)]>([])
    private let waker: Waker

    init(_ waker: Waker) { self.waker = waker }

    func put(_ key: ServiceServer.Key, _ answer: Answer) {
        answers.withLock { $0.append((key, answer)) }
        waker.wake()
    }

    func take() -> [(key: ServiceServer.Key, answer: Answer)] {
        answers.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
