/// One method of a service.
public struct MethodDescription: Sendable, Hashable {
    /// Its name, `SetRoute` for one.
    public var name: String
    /// True when it answers with any number of messages instead of one.
    public var isServerStreaming: Bool

    /// A method; unary unless said otherwise.
    public init(_ name: String, isServerStreaming: Bool = false) {
        self.name = name
        self.isServerStreaming = isServerStreaming
    }
}

/// A description of a service: a full name and its methods.
public struct ServiceDescription: Sendable, Hashable {
    /// The most methods of one service.
    public static let maximumMethods = 256
    /// The most services of one node.
    public static let maximumServices = 64

    /// The full name, `navbus.v1.Navigation` for one: letters, digits, `_` and dots, at most 200 bytes.
    public var name: String
    /// The methods, each name once.
    public var methods: [MethodDescription]
    /// The largest request accepted, in bytes; a larger one ends with ``StatusCode/resourceExhausted``. 4 MiB as in gRPC.
    public var maximumRequestSize = 4 << 20
    /// The most calls that run at once; further ones end with ``StatusCode/resourceExhausted``.
    public var maximumConcurrentCalls = 4096

    /// A service of `methods`, with its limits at their defaults.
    public init(name: String, methods: [MethodDescription]) {
        self.name = name
        self.methods = methods
    }

    func check() throws(BusError) {
        guard Self.isName(name), methods.count <= Self.maximumMethods, methods.allSatisfy({ Self.isName($0.name) })
        else {
            throw BusError(
                .invalidName,
                "service '\(name.prefix(80))': names are 1 to 200 letters, digits, '_' and '.', and a service has at "
                    + "most \(Self.maximumMethods) methods")
        }
        guard Set(methods.map(\.name)).count == methods.count else {
            throw BusError(.invalidArgument, "service '\(name)' names a method twice")
        }
        guard (1...BusConfiguration.maximumMessageSizeLimit).contains(maximumRequestSize), maximumConcurrentCalls > 0
        else {
            throw BusError(
                .invalidArgument, "service '\(name)': its limits must be positive, a request's at most 1 GiB")
        }
    }

    static func isName(_ name: String) -> Bool {
        (1...200).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x5f || byte == 0x2e
            }
    }
}

/// The options of a call. There is no default deadline: nothing on the bus waits for ever.
public struct CallOptions: Sendable, Hashable {
    /// The longest window of a stream, in messages.
    public static let maximumWindow = 4096

    /// The longest time of the call, whatever happens, retries included.
    public var timeout: Duration
    /// Sent beside the request.
    public var metadata: [MetadataEntry] = []
    /// True when making the call twice does no harm: only then is it tried again after the server was lost.
    public var isIdempotent = false
    /// Waits for an absent server until the deadline instead of a moment.
    public var waitForReady = false
    /// The one node to call; nil for whichever serves it (the first by name).
    public var node: String?
    /// The most messages of a stream that are on their way, 1 to ``maximumWindow``.
    public var window = 64
    /// Grants the server a message for each one handled. False: the caller grants with ``Bus/grant(_:messages:)``.
    public var grantsAutomatically = true
    /// The kind of method that the caller expects: true for a stream, false for one answer, nil when either will do. A method
    /// of the other kind ends the call with ``StatusCode/unimplemented``.
    public var expectsStream: Bool?
    /// The largest response accepted, in bytes; the call ends with ``StatusCode/resourceExhausted`` at a larger one.
    public var maximumResponseSize = 4 << 20

    /// Options with a time limit and every other value at its default.
    public init(timeout: Duration) { self.timeout = timeout }
}

/// A call this node made, unique in its life.
public struct CallID: Sendable, Hashable {
    let rawValue: UInt64
}

/// An event of a call: any number of responses (one when unary), then one end.
public enum CallEvent: Sendable {
    /// A message of the server.
    case response(Payload)
    /// The call is over; nothing follows.
    case end(CallStatus)
}

/// The counts of services on this node since it started.
public struct ServiceStatistics: Sendable, Hashable {
    /// Calls this node made.
    public var callsMade: UInt64 = 0
    /// Requests sent again.
    public var retries: UInt64 = 0
    /// Calls this node accepted.
    public var callsServed: UInt64 = 0
    /// Calls refused: unknown, too large, or too many at once.
    public var callsRefused: UInt64 = 0
    /// Frames dropped because they are malformed.
    public var malformed: UInt64 = 0
    /// Connections to this node's services that failed their handshake: another protocol, or refused.
    public var refusedConnections: UInt64 = 0
    /// Frames of calls that are over or never were; a few are normal, as answers and cancellations cross.
    public var strayFrames: UInt64 = 0
    /// Calls ended because the server broke the protocol: out of order, without credit, too large, a second answer.
    public var violations: UInt64 = 0
    /// Servers given up because they were silent too long.
    public var serversSilent: UInt64 = 0
    /// Answers that waited because their client's queue was full.
    public var answersDelayed: UInt64 = 0
    /// Answers that were lost because their client was gone or read nothing for too long.
    public var answersLost: UInt64 = 0
    /// Clients whose calls were dropped because they were gone, silent, or read nothing.
    public var clientsLost: UInt64 = 0
    /// Calls being served now.
    public var serving = 0
    /// Calls of this node that have not ended.
    public var calling = 0
}
