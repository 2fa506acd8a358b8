/// One method of a service, as the schema declares it.
public struct MethodDescriptor: Sendable {
    /// Name of the method, for example `SetRoute`.
    public let name: String
    /// The type of the request.
    public let request: any Message.Type
    /// The type of the response, or of each response of a stream.
    public let response: any Message.Type
    /// Whether the server answers with a stream.
    public let isServerStreaming: Bool
    /// Whether the method is idempotent (`idempotency_level` in the schema), so that a lost call is retried.
    public let isIdempotent: Bool
    /// A one-line summary.
    public let summary: String
}

/// One service, as the schema declares it.
public struct ServiceDescriptor: Sendable {
    /// Full name, for example `navbus.v1.Navigation`.
    public let name: String
    /// The purpose in one line.
    public let summary: String
    /// Its methods in the order of their declaration.
    public let methods: [MethodDescriptor]

    /// Returns the method with a name.
    public func method(named name: String) -> MethodDescriptor? { methods.first { $0.name == name } }
}

/// A service of the schema as a Swift type, whose methods are static values that carry their types.
public protocol ServiceSchema {
    /// Full name, for example `navbus.v1.Navigation`.
    static var name: String { get }
    static var descriptor: ServiceDescriptor { get }
}

/// A method that answers a request with one message.
public struct UnaryMethod<Request: Message, Response: Message>: Sendable {
    /// Full name of the service.
    public let service: String
    /// Name of the method.
    public let name: String
    /// Whether the method is idempotent (`idempotency_level` in the schema), so that a lost call is retried.
    public let isIdempotent: Bool
    /// A one-line summary.
    public let summary: String

    /// The type-erased method.
    public var descriptor: MethodDescriptor {
        MethodDescriptor(
            name: name, request: Request.self, response: Response.self, isServerStreaming: false,
            isIdempotent: isIdempotent, summary: summary)
    }
}

/// A method that answers a request with a stream of messages.
public struct StreamingMethod<Request: Message, Response: Message>: Sendable {
    /// Full name of the service.
    public let service: String
    /// Name of the method.
    public let name: String
    /// Whether the method is idempotent (`idempotency_level` in the schema), so that a lost call is retried.
    public let isIdempotent: Bool
    /// A one-line summary.
    public let summary: String

    /// The type-erased method.
    public var descriptor: MethodDescriptor {
        MethodDescriptor(
            name: name, request: Request.self, response: Response.self, isServerStreaming: true,
            isIdempotent: isIdempotent, summary: summary)
    }
}

/// The services of the bus, as the schema declares them.
public enum ServiceCatalogue {
    /// Returns the service with a full name.
    public static func service(named name: String) -> ServiceDescriptor? { all.first { $0.name == name } }
}
