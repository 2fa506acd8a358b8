/// One method of a service.
public struct MethodDescription: Sendable, Hashable {
    /// The method's name, for example `SetRoute`.
    public var name: String
    /// Whether it answers with any number of messages instead of one.
    public var isServerStreaming: Bool

    /// Creates a method, unary by default.
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

    /// The full name, for example `navbus.v1.Navigation`: letters, digits, `_` and dots, at most 200 bytes.
    public var name: String
    /// The methods; no name occurs twice.
    public var methods: [MethodDescription]
    /// The largest request accepted, in bytes; a larger one ends with ``StatusCode/resourceExhausted``. 4 MiB as in gRPC.
    public var maximumRequestSize = 4 << 20
    /// The most calls in progress at once; further ones end with ``StatusCode/resourceExhausted``.
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

/// The options of a call.
///
/// There is no default deadline, so that every caller sets one.
public struct CallOptions: Sendable, Hashable {
    /// The longest window of a stream, in messages.
    public static let maximumWindow = 4096

    /// The time limit of the whole call, including retries.
    public var timeout: Duration
    /// The metadata sent with the request.
    public var metadata: [MetadataEntry] = []
    /// Whether the call may be repeated safely; only then is it retried after the loss of the server.
    public var isIdempotent = false
    /// Whether to wait for an absent server until the deadline instead of 200 ms.
    public var waitForReady = false
    /// The node to call; nil for any node that serves the service (the first by name).
    public var node: String?
    /// The most messages of a stream in flight, 1 to ``maximumWindow``.
    public var window = 64
    /// Whether each handled message grants the server another; if false, the caller grants with
    /// ``Bus/grant(_:messages:)``.
    public var grantsAutomatically = true
    /// The kind of method that the caller expects: true for a stream, false for one answer, nil for either.
    ///
    /// A method of the other kind ends the call with ``StatusCode/unimplemented``.
    public var expectsStream: Bool?
    /// The largest response accepted, in bytes; the call ends with ``StatusCode/resourceExhausted`` at a larger one.
    public var maximumResponseSize = 4 << 20

    /// Options with a time limit and every other value at its default.
    public init(timeout: Duration) { self.timeout = timeout }
}

/// A call made by this node, unique within the node's life.
public struct CallID: Sendable, Hashable {
    let rawValue: UInt64
}

/// An event of a call: any number of responses (one when unary), then one end.
public enum CallEvent: Sendable {
    /// A message from the server.
    case response(Payload)
    /// The call is over; nothing follows.
    case end(CallStatus)
}

/// The counts of services on this node since it started.
public struct ServiceStatistics: Sendable, Hashable {
    /// Calls this node made.
    public var callsMade: UInt64 = 0
    /// Requests that were sent again.
    public var retries: UInt64 = 0
    /// Calls this node accepted.
    public var callsServed: UInt64 = 0
    /// Calls refused: unknown, too large, or too many at once.
    public var callsRefused: UInt64 = 0
    /// Malformed frames that were dropped.
    public var malformed: UInt64 = 0
    /// Connections to this node's services that failed their handshake: another protocol, or refused.
    public var refusedConnections: UInt64 = 0
    /// Frames of calls that are over or unknown; a few are normal, because answers and cancellations cross.
    public var strayFrames: UInt64 = 0
    /// Calls ended by a protocol violation of the server: out of order, without credit, too large, a second answer.
    public var violations: UInt64 = 0
    /// Servers given up after too long a silence.
    public var serversSilent: UInt64 = 0
    /// Answers that waited because their client's queue was full.
    public var answersDelayed: UInt64 = 0
    /// Answers that were lost because their client had disconnected or did not read for too long.
    public var answersLost: UInt64 = 0
    /// Clients whose calls were dropped because they had disconnected, were silent, or did not read.
    public var clientsLost: UInt64 = 0
    /// Calls being served now.
    public var serving = 0
    /// Calls of this node that have not ended.
    public var calling = 0
}
