public import NavBus
public import NavMessages

extension CallStatus {
    /// The status that a failure ends a call with: a ``CallStatus`` is itself; a message that cannot be read and a wrong
    /// use are ``StatusCode/invalidArgument``; anything unforeseen is ``StatusCode/unknown`` with its description.
    public init(of error: any Error) {
        switch error {
        case let status as CallStatus: self = status
        case let error as MessageError: self.init(.invalidArgument, "the request cannot be read: \(error)")
        case let error as NodeError: self.init(StatusCode(error.code), error.description)
        case let error as BusError: self.init(StatusCode(error.code), error.description)
        default: self.init(.unknown, "\(error)")
        }
    }

    /// The end of a call that its handler has let go of.
    static func forgotten(_ method: String) -> CallStatus {
        CallStatus(.internal, "the handler of '\(method)' gave no answer")
    }
}

extension StatusCode {
    init(_ code: NodeError.Code) {
        switch code {
        case .missing: self = .notFound
        case .invalid: self = .failedPrecondition
        case .usage: self = .invalidArgument
        default: self = .internal
        }
    }

    init(_ code: BusError.Code) {
        switch code {
        case .closed: self = .unavailable
        case .invalidName, .invalidArgument: self = .invalidArgument
        case .payloadTooLarge: self = .resourceExhausted
        default: self = .internal
        }
    }
}

extension ServiceDescription {
    /// A service of the schema as the bus announces it, with the usual limits.
    public init(_ descriptor: ServiceDescriptor) {
        self.init(
            name: descriptor.name,
            methods: descriptor.methods.map { MethodDescription($0.name, isServerStreaming: $0.isServerStreaming) })
    }
}
