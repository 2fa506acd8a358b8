public import NavBus
public import NavMessages
import Synchronization

/// A unary call without its answer yet; it belongs to the node's thread.
///
/// A call that is released without an answer, and without a ``makeResponder()``, ends as ``StatusCode/internal`` at once instead of at its
/// deadline.
public final class UnaryCall<Response: Message> {
    private let call: ServerCall
    private var isHandled = false

    init(_ call: ServerCall) { self.call = call }

    deinit {
        if !isHandled { call.finish(.forgotten(call.method)) }
    }

    /// The metadata that the client sent with the request.
    public var metadata: [MetadataEntry] { call.metadata }
    /// The client's deadline, in nanoseconds of the monotonic clock.
    public var deadlineNanoseconds: Int64 { call.deadlineNanoseconds }
    /// Whether the call is over, so that no answer is expected any more.
    public var isCancelled: Bool { call.isCancelled }
    /// Called once when the call ends without the handler: cancelled, past its deadline, or its client disconnected.
    public var onCancel: (() -> Void)? {
        get { call.onCancel }
        set { call.onCancel = newValue }
    }

    /// Answers the call.
    ///
    /// - Returns: false when the call was over already and the answer is dropped.
    @discardableResult
    public func finish(_ response: Response) -> Bool {
        isHandled = true
        return call.finish(response.encoded())
    }

    /// Ends the call with the status of a failure, see ``CallStatus/init(of:)``.
    @discardableResult
    public func fail(_ error: any Error) -> Bool {
        isHandled = true
        return call.finish(CallStatus(of: error))
    }

    /// Makes a responder with which another thread answers the call.
    public func makeResponder() -> UnaryResponder<Response> {
        isHandled = true
        return UnaryResponder(call.makeResponder(), call.method)
    }
}

/// A handle that answers one unary call from any thread; released without an answer, it ends the call as ``StatusCode/internal``.
public final class UnaryResponder<Response: Message>: Sendable {
    private let responder: CallResponder
    private let method: String
    private let isAnswered = Atomic<Bool>(false)

    init(_ responder: CallResponder, _ method: String) {
        self.responder = responder
        self.method = method
    }

    deinit {
        if !isAnswered.load(ordering: .relaxed) { responder.finish(.forgotten(method)) }
    }

    /// Answers the call; has no effect when the call is over.
    public func finish(_ response: Response) {
        isAnswered.store(true, ordering: .relaxed)
        responder.finish(response.encoded())
    }

    /// Ends the call with the status of a failure; has no effect when the call is over.
    public func fail(_ error: any Error) {
        isAnswered.store(true, ordering: .relaxed)
        responder.finish(CallStatus(of: error))
    }
}

/// A call that is answered with a stream; it belongs to the node's thread.
///
/// As with ``UnaryCall``, a stream that is released without an end ends as ``StatusCode/internal``.
public final class StreamCall<Response: Message> {
    private let call: ServerCall
    private var isHandled = false

    init(_ call: ServerCall) { self.call = call }

    deinit {
        if !isHandled { call.finish(.forgotten(call.method)) }
    }

    /// The metadata that the client sent with the request.
    public var metadata: [MetadataEntry] { call.metadata }
    /// The client's deadline, in nanoseconds of the monotonic clock.
    public var deadlineNanoseconds: Int64 { call.deadlineNanoseconds }
    /// Whether the stream is over, so that no messages are expected any more.
    public var isCancelled: Bool { call.isCancelled }
    /// The number of messages that may be sent now.
    public var credit: Int { call.credit }
    /// Called once when the stream ends without the handler: cancelled, past its deadline, or its client disconnected.
    public var onCancel: (() -> Void)? {
        get { call.onCancel }
        set { call.onCancel = newValue }
    }
    /// Called when a stream without credit gets new credit.
    public var onCredit: (() -> Void)? {
        get { call.onCredit }
        set { call.onCredit = newValue }
    }

    /// Sends one message.
    ///
    /// - Returns: false when it was not sent: the stream is over, or has no credit (wait for ``onCredit``).
    @discardableResult
    public func send(_ response: Response) -> Bool { call.send(response.encoded()) }

    /// Ends the stream, optionally with one more message, which takes no credit.
    ///
    /// - Returns: false when the stream was over already.
    @discardableResult
    public func finish(_ last: Response? = nil) -> Bool {
        isHandled = true
        return last.map { call.finish($0.encoded()) } ?? call.finish(CallStatus.ok)
    }

    /// Ends the stream with the status of a failure.
    @discardableResult
    public func fail(_ error: any Error) -> Bool {
        isHandled = true
        return call.finish(CallStatus(of: error))
    }
}

/// A service bound to its implementation, as generated code creates it: `NodeService.served(by: self)`.
public struct ServedService {
    /// The service as the schema declares it.
    public let descriptor: ServiceDescriptor
    let handle: (ServerCall) -> Void

    init(_ descriptor: ServiceDescriptor, handle: @escaping (ServerCall) -> Void) {
        self.descriptor = descriptor
        self.handle = handle
    }
}

extension Bus {
    /// Serves and announces a service.
    ///
    /// - Parameter refusal: called before each call; a status that it returns ends the call instead.
    public func serve(
        _ service: ServedService, refusal: @escaping () -> CallStatus? = { nil }
    ) throws(BusError) {
        try serve(ServiceDescription(service.descriptor)) { call in
            guard let status = refusal() else { return service.handle(call) }
            call.finish(status)
        }
    }
}

/// The functions through which generated code serves methods.
enum ServiceDispatch {
    /// Runs a unary method; an unreadable request or an error from the method ends the call.
    static func run<Request, Response>(
        _ call: ServerCall, _ method: UnaryMethod<Request, Response>,
        _ body: (Request, UnaryCall<Response>) throws -> Void
    ) {
        let typed = UnaryCall<Response>(call)
        do {
            try body(try request(of: call), typed)
        } catch {
            typed.fail(error)
        }
    }

    static func run<Request, Response>(
        _ call: ServerCall, _ method: StreamingMethod<Request, Response>,
        _ body: (Request, StreamCall<Response>) throws -> Void
    ) {
        let typed = StreamCall<Response>(call)
        do {
            try body(try request(of: call), typed)
        } catch {
            typed.fail(error)
        }
    }

    /// Ends a call to an unknown method.
    static func refuse(_ call: ServerCall) {
        call.finish(CallStatus(.unavailable, "'\(call.service)' is no longer served: the node is stopping"))
    }

    private static func request<Request: Message>(of call: ServerCall) throws(MessageError) -> Request {
        // The service's own size limit has already been checked.
        try call.request.withUnsafeBytes { bytes throws(MessageError) in
            try Request(decoding: bytes, limit: max(bytes.count, 1))
        }
    }
}
