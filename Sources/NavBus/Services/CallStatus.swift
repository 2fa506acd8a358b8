/// The outcome of a call, in gRPC's codes.
public struct StatusCode: RawRepresentable, Sendable, Hashable {
    /// 0 to 16 as gRPC numbers them; other numbers are read as ``unknown``.
    public let rawValue: UInt8

    /// A code by its number.
    public init(rawValue: UInt8) { self.rawValue = rawValue <= 16 ? rawValue : 2 }

    /// The call did what was asked.
    public static let ok = StatusCode(rawValue: 0)
    /// The caller gave the call up.
    public static let cancelled = StatusCode(rawValue: 1)
    /// A failure of no other kind.
    public static let unknown = StatusCode(rawValue: 2)
    /// The request makes no sense, whatever the server's state.
    public static let invalidArgument = StatusCode(rawValue: 3)
    /// The deadline passed first.
    public static let deadlineExceeded = StatusCode(rawValue: 4)
    /// A thing that the request names is not there.
    public static let notFound = StatusCode(rawValue: 5)
    /// A thing that should be made is there already.
    public static let alreadyExists = StatusCode(rawValue: 6)
    /// The caller may not do this.
    public static let permissionDenied = StatusCode(rawValue: 7)
    /// A limit was met: of size, of calls at once, of memory.
    public static let resourceExhausted = StatusCode(rawValue: 8)
    /// The server's state does not allow it; the caller must change that first.
    public static let failedPrecondition = StatusCode(rawValue: 9)
    /// Something else came between; the caller may begin again.
    public static let aborted = StatusCode(rawValue: 10)
    /// Past the end of what there is.
    public static let outOfRange = StatusCode(rawValue: 11)
    /// The server has no such service or method.
    public static let unimplemented = StatusCode(rawValue: 12)
    /// A promise was broken inside.
    public static let `internal` = StatusCode(rawValue: 13)
    /// There is no such server now, or it died.
    public static let unavailable = StatusCode(rawValue: 14)
    /// Data is lost beyond repair.
    public static let dataLoss = StatusCode(rawValue: 15)
    /// The caller is not known.
    public static let unauthenticated = StatusCode(rawValue: 16)
}

/// One key and value beside a request or at the end of a call.
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

/// The outcome of a call: a code, a sentence for people, and bytes for programs.
public struct CallStatus: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of end.
    public var code: StatusCode
    /// A description of what happened and what to do, empty for ok.
    public var message: String
    /// An encoded message with more, of a type the service defines.
    public var details: [UInt8]
    /// The server's trailing metadata.
    public var trailers: [MetadataEntry]

    /// A status of its four parts.
    public init(
        _ code: StatusCode, _ message: String = "", details: [UInt8] = [], trailers: [MetadataEntry] = []
    ) {
        self.code = code
        self.message = message
        self.details = details
        self.trailers = trailers
    }

    /// The call did what was asked.
    public static let ok = CallStatus(.ok)

    /// The code's number and the message.
    public var description: String { "status \(code.rawValue): \(message)" }
}
