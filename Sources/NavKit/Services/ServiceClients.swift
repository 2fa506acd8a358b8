public import NavBus
public import NavMessages

/// An event of a call that is answered with a stream.
public enum StreamEvent<Response: Message>: Sendable {
    /// A message from the server.
    case response(Response)
    /// The stream is over; nothing follows.
    case end(CallStatus)
}

extension Bus {
    /// Calls a unary method; `onEnd` is called once while the node polls, with the answer or the failure, or within this function if the call
    /// fails at once.
    ///
    /// A method that the schema declares idempotent is retried within the deadline when its server is lost. An unreadable
    /// answer, and an end without an answer, become ``StatusCode/internal``.
    @discardableResult
    public func call<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request, options: CallOptions,
        onEnd: @escaping (Result<Response, CallStatus>) -> Void
    ) throws(BusError) -> CallID {
        var answer: Result<Response, CallStatus>?
        let options = options.adapted(method.isIdempotent)
        return try call(method.service, method.name, request.encoded(), options: options) { event in
            switch event {
            case .response(let payload): answer = decode(payload, method.service, method.name)
            case .end(let status):
                guard status.code == .ok else { return onEnd(.failure(status)) }
                onEnd(answer ?? .failure(.unanswered(method.service, method.name)))
            }
        }
    }

    /// Calls a method that answers with a stream; `onEvent` is called while the node polls, last with the end, or within this function if the
    /// call fails at once.
    ///
    /// An unreadable message ends the stream as ``StatusCode/internal``.
    @discardableResult
    public func call<Request, Response>(
        _ method: StreamingMethod<Request, Response>, _ request: Request, options: CallOptions,
        onEvent: @escaping (StreamEvent<Response>) -> Void
    ) throws(BusError) -> CallID {
        var broken: CallStatus?
        var id: CallID?
        let options = options.adapted(method.isIdempotent)
        let made = try call(method.service, method.name, request.encoded(), options: options) { [weak self] event in
            switch event {
            case .response(let payload):
                guard broken == nil else { return }
                let result: Result<Response, CallStatus> = decode(payload, method.service, method.name)
                switch result {
                case .success(let response): onEvent(.response(response))
                case .failure(let status):
                    broken = status
                    if let id { try? self?.cancel(id) }
                    onEvent(.end(status))
                }
            case .end(let status): if broken == nil { onEvent(.end(status)) }
            }
        }
        id = made
        return made
    }

    /// Calls a unary method and waits for its answer; for tools and start-up, not for a node's loop.
    public func callBlocking<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ request: Request, options: CallOptions
    ) throws(CallStatus) -> Response {
        let (responses, status) = try blocking(
            method.service, method.name, request.encoded(), options.adapted(method.isIdempotent))
        guard status.code == .ok else { throw status }
        guard let payload = responses.first else { throw .unanswered(method.service, method.name) }
        return try decode(payload, method.service, method.name).get()
    }

    /// Calls a method that answers with a stream and waits for its end; for tools and start-up, not for a node's loop.
    public func callBlocking<Request, Response>(
        _ method: StreamingMethod<Request, Response>, _ request: Request, options: CallOptions
    ) throws(CallStatus) -> [Response] {
        let (responses, status) = try blocking(
            method.service, method.name, request.encoded(), options.adapted(method.isIdempotent))
        guard status.code == .ok else { throw status }
        var decoded: [Response] = []
        for payload in responses { decoded.append(try decode(payload, method.service, method.name).get()) }
        return decoded
    }

    private func blocking(
        _ service: String, _ method: String, _ request: [UInt8], _ options: CallOptions
    ) throws(CallStatus) -> (responses: [Payload], status: CallStatus) {
        do throws(BusError) {
            return try callBlocking(service, method, request, options: options)
        } catch {
            throw CallStatus(of: error)
        }
    }
}

/// Decodes an answer, whose size the call's options have limited.
private func decode<Response: Message>(
    _ payload: Payload, _ service: String, _ method: String
) -> Result<Response, CallStatus> {
    do throws(MessageError) {
        return .success(
            try payload.withUnsafeBytes { bytes throws(MessageError) in
                try Response(decoding: bytes, limit: max(bytes.count, 1))
            })
    } catch {
        return .failure(CallStatus(.internal, "the answer of '\(service)/\(method)' cannot be read: \(error)"))
    }
}

extension CallOptions {
    /// Returns the options of a call, idempotent when the schema or the caller declares it.
    func adapted(_ isIdempotent: Bool) -> CallOptions {
        var options = self
        options.isIdempotent = options.isIdempotent || isIdempotent
        return options
    }
}

extension CallStatus {
    static func unanswered(_ service: String, _ method: String) -> CallStatus {
        CallStatus(.internal, "'\(service)/\(method)' succeeded without an answer")
    }
}
