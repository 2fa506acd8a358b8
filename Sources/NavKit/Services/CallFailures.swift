public import NavBus
public import NavMessages

extension CallStatus {
    /// Creates the status with which a failure ends a call: a ``CallStatus`` is used unchanged; an unreadable message and
    /// wrong usage become ``StatusCode/invalidArgument``; anything else is ``StatusCode/unknown`` with its description.
    public init(of error: any Error) {
        switch error {
        case let status as CallStatus: self = status
        case let error as MessageError: self.init(.invalidArgument, "the request cannot be read: \(error)")
        case let error as NodeError: self.init(StatusCode(error.code), error.description)
        case let error as BusError: self.init(StatusCode(error.code), error.description)
        default: self.init(.unknown, "\(error)")
        }
    }

    /// Returns the status of a call that its handler dropped without an answer.
    static func forgotten(_ method: String) -> CallStatus {
        CallStatus(.internal, "the handler of '\(method)' ended without an answer")
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
    /// Describes a service of the schema for the bus, with the default limits.
    public init(_ descriptor: ServiceDescriptor) {
        self.init(
            name: descriptor.name,
            methods: descriptor.methods.map { MethodDescription($0.name, isServerStreaming: $0.isServerStreaming) })
    }
}
