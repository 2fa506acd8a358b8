internal import DequeModule

/// One call that a handler answers, now or later; it belongs to the node's thread.
///
/// A call that is answered by nobody ends at its deadline. For answers from another thread take a
/// ``makeResponder()``.
public final class ServerCall: TimerEntry {
    /// The full name of the service.
    public let service: String
    /// The method's name.
    public let method: String
    /// The request's bytes as they arrived.
    public let request: Payload
    /// The metadata that the client sent beside the request.
    public let metadata: [MetadataEntry]
    /// True when the client may send the same request again.
    public let isIdempotent: Bool
    /// The deadline of the client, nanoseconds of the node's monotonic clock.
    public let deadlineNanoseconds: Int64
    /// Called once when the call ends without the handler's doing: cancelled, past its deadline, or its client gone.
    public var onCancel: (() -> Void)?
    /// Called when a stream that could not send can again: there is credit, and room on the way.
    public var onCredit: (() -> Void)?

    let id: UInt64
    let serial: UInt64
    let client: ServiceServer.Client
    let provider: ServiceServer.Service
    let maximumResponseSize: Int
    @exclusivity(unchecked) var machine: ServerCallStateMachine
    /// The answers of other threads that lack credit.
    var backlog: Deque<ResponderAnswer> = []
    private(set) var channel: ResponderChannel?
    var dueAt: Int64 = .max
    var heapIndex = -1
    /// Nil once the call is over.
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

    /// True once nobody waits for the answer any more.
    public var isCancelled: Bool { server == nil || machine.hasEnded }

    /// The number of messages of a stream that may be sent now.
    public var credit: Int { machine.hasEnded ? 0 : Int(machine.credit) }

    /// Sends one message of a stream.
    ///
    /// - Returns: false when it was not sent: the call is over, is unary, or there is no credit or no room on the way
    ///   (wait for ``onCredit``).
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { send($0) } }

    /// Sends one message of a stream, see ``send(_:)-([UInt8])``.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer) -> Bool { server?.send(self, bytes) ?? false }

    /// Answers a unary call, or ends a stream with one more message.
    ///
    /// - Returns: false when the call was over already or the answer is over a limit, and so was not sent.
    @discardableResult
    public func finish(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { finish($0) } }

    /// Answers a unary call, or ends a stream with one more message, see ``finish(_:)-([UInt8])``.
    @discardableResult
    public func finish(_ bytes: UnsafeRawBufferPointer) -> Bool { server?.finish(self, bytes) ?? false }

    /// Ends the call without a message; a unary call must not end so with ``CallStatus/ok``.
    ///
    /// - Returns: false when the call was over already.
    @discardableResult
    public func finish(_ status: CallStatus) -> Bool { server?.finish(self, status) ?? false }

    /// Makes a responder with which another thread answers the call; every responder of a call is the same one.
    public func makeResponder() -> CallResponder {
        if let channel { return CallResponder(channel) }
        let channel = ResponderChannel(serial, server?.mailbox, credit: credit)
        self.channel = channel
        if isCancelled { channel.callEnded() } else { server?.register(self) }
        return CallResponder(channel)
    }
}
