internal import DequeModule

/// One call that a handler answers, at once or later; it belongs to the node's thread.
///
/// An unanswered call ends at its deadline. To answer from another thread, use ``makeResponder()``.
public final class ServerCall: TimerEntry {
    /// The full name of the service.
    public let service: String
    /// The method's name.
    public let method: String
    /// The request's bytes as they arrived.
    public let request: Payload
    /// The metadata that the client sent with the request.
    public let metadata: [MetadataEntry]
    /// Whether the client may send the same request again.
    public let isIdempotent: Bool
    /// The client's deadline, in nanoseconds of the node's monotonic clock.
    public let deadlineNanoseconds: Int64
    /// Called once when the call ends without the handler: cancelled, past its deadline, or its client disconnected.
    public var onCancel: (() -> Void)?
    /// Called when a stream that could not send can send again: there is credit, and room in the transport.
    public var onCredit: (() -> Void)?

    let id: UInt64
    let serial: UInt64
    let client: ServiceServer.Client
    let provider: ServiceServer.Service
    let maximumResponseSize: Int
    @exclusivity(unchecked) var machine: ServerCallStateMachine
    /// The answers from other threads that wait for credit.
    var backlog: Deque<ResponderAnswer> = []
    private(set) var channel: ResponderChannel?
    var dueAt: Int64 = .max
    var heapIndex = -1
    /// The server; nil once the call is over.
    var server: ServiceServer?

    init(
        _ server: ServiceServer, _ serial: UInt64, _ client: ServiceServer.Client, _ provider: ServiceServer.Service,
        _ machine: ServerCallStateMachine, _ frame: ServiceFrame, _ request: Payload
    ) {
        (self.server, self.serial, self.client, self.provider) = (server, serial, client, provider)
        (self.machine, self.request, id) = (machine, request, frame.call)
        (service, method, metadata, isIdempotent) = (frame.service, frame.method, frame.metadata, frame.isIdempotent)
        maximumResponseSize = frame.maximumResponseSize == 0 ? .max : Int(clamping: frame.maximumResponseSize)
        deadlineNanoseconds = machine.deadline
    }

    /// Whether the call is over, so that no answer is expected any more.
    public var isCancelled: Bool { server == nil || machine.hasEnded }

    /// The number of messages that a stream may send now.
    public var credit: Int { machine.hasEnded ? 0 : Int(machine.credit) }

    /// Sends one message of a stream.
    ///
    /// - Returns: false when it was not sent: the call is over or unary, or there is no credit or no room in the
    ///   transport (wait for ``onCredit``).
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { send($0) } }

    /// Sends one message of a stream, see ``send(_:)-([UInt8])``.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer) -> Bool { server?.send(self, bytes) ?? false }

    /// Answers a unary call, or ends a stream with one more message.
    ///
    /// - Returns: false when the answer was not sent: the call was already over, or the answer exceeds a limit.
    @discardableResult
    public func finish(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { finish($0) } }

    /// Answers a unary call, or ends a stream with one more message, see ``finish(_:)-([UInt8])``.
    @discardableResult
    public func finish(_ bytes: UnsafeRawBufferPointer) -> Bool { server?.finish(self, bytes) ?? false }

    /// Ends the call without a message; a unary call must not end this way with ``CallStatus/ok``.
    ///
    /// - Returns: false when the call was over already.
    @discardableResult
    public func finish(_ status: CallStatus) -> Bool { server?.finish(self, status) ?? false }

    /// Makes a responder with which another thread answers the call; all responders of a call share one state.
    public func makeResponder() -> CallResponder {
        if let channel { return CallResponder(channel) }
        let channel = ResponderChannel(serial, server?.mailbox, credit: credit)
        self.channel = channel
        if isCancelled { channel.callEnded() } else { server?.register(self) }
        return CallResponder(channel)
    }
}
