/// The outcome of a call, with gRPC's codes.
public struct StatusCode: RawRepresentable, Sendable, Hashable {
    /// 0 to 16 as in gRPC; other numbers are read as ``unknown``.
    public let rawValue: UInt8

    /// Creates a code from its number.
    public init(rawValue: UInt8) { self.rawValue = rawValue <= 16 ? rawValue : 2 }

    /// The call succeeded.
    public static let ok = StatusCode(rawValue: 0)
    /// The caller cancelled the call.
    public static let cancelled = StatusCode(rawValue: 1)
    /// A failure that no other code describes.
    public static let unknown = StatusCode(rawValue: 2)
    /// The request is invalid, whatever the server's state.
    public static let invalidArgument = StatusCode(rawValue: 3)
    /// The deadline passed before the call ended.
    public static let deadlineExceeded = StatusCode(rawValue: 4)
    /// Something that the request names does not exist.
    public static let notFound = StatusCode(rawValue: 5)
    /// Something that the request would create already exists.
    public static let alreadyExists = StatusCode(rawValue: 6)
    /// The caller is not allowed to do this.
    public static let permissionDenied = StatusCode(rawValue: 7)
    /// A limit was reached: of size, of concurrent calls, of memory.
    public static let resourceExhausted = StatusCode(rawValue: 8)
    /// The server's state does not allow the call; the caller must change that state first.
    public static let failedPrecondition = StatusCode(rawValue: 9)
    /// A conflict interrupted the call; the caller may start again.
    public static let aborted = StatusCode(rawValue: 10)
    /// The request extends past the end of the valid range.
    public static let outOfRange = StatusCode(rawValue: 11)
    /// The server has no such service or method.
    public static let unimplemented = StatusCode(rawValue: 12)
    /// An invariant was broken inside the server.
    public static let `internal` = StatusCode(rawValue: 13)
    /// No live node serves this, or the server died.
    public static let unavailable = StatusCode(rawValue: 14)
    /// Data is lost or corrupted beyond repair.
    public static let dataLoss = StatusCode(rawValue: 15)
    /// The caller is not authenticated.
    public static let unauthenticated = StatusCode(rawValue: 16)
}

/// A key and a value that accompany a request or the end of a call.
public struct MetadataEntry: Sendable, Hashable {
    /// The most entries of one frame; a frame with more is malformed.
    public static let maximumCount = 64

    /// The key, compared byte by byte.
    public var key: String
    /// The value, any bytes.
    public var value: [UInt8]

    /// An entry of `key` and `value`.
    public init(_ key: String, _ value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// The outcome of a call: a code, a message for people, and details for programs.
public struct CallStatus: Error, Sendable, Hashable, CustomStringConvertible {
    /// The status code.
    public var code: StatusCode
    /// A description of what happened and what to do, empty for ok.
    public var message: String
    /// An encoded message with details, of a type the service defines.
    public var details: [UInt8]
    /// The server's trailing metadata.
    public var trailers: [MetadataEntry]

    /// Creates a status from its four parts.
    public init(
        _ code: StatusCode, _ message: String = "", details: [UInt8] = [], trailers: [MetadataEntry] = []
    ) {
        self.code = code
        self.message = message
        self.details = details
        self.trailers = trailers
    }

    /// The call succeeded.
    public static let ok = CallStatus(.ok)

    /// The code's number and the message.
    public var description: String { "status \(code.rawValue): \(message)" }
}
