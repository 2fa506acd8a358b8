/// One method of a service.
public struct MethodDescription: Sendable {
    /// Name of the method, for example `SetRoute`.
    public let name: String
    /// Type of the request.
    public let request: any Message.Type
    /// Type of the answer, or of each answer of a stream.
    public let response: any Message.Type
    /// Whether the server answers with a stream.
    public let isServerStreaming: Bool
    /// What it does, in one line.
    public let summary: String
}

/// One service of the schema.
public struct ServiceDescription: Sendable {
    /// Full name, for example `navbus.v1.Navigation`.
    public let name: String
    /// What it is for, in one line.
    public let summary: String
    /// Its methods in the order of their declaration.
    public let methods: [MethodDescription]

    /// The method of that name.
    public func method(named name: String) -> MethodDescription? { methods.first { $0.name == name } }
}

/// The services of the bus, as the schema declares them.
public enum ServiceCatalogue {
    /// The service of that full name.
    public static func service(named name: String) -> ServiceDescription? { all.first { $0.name == name } }
}
