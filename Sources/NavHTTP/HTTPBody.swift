import NavDigest

/// The body of an answer as it arrives: bounded, hashed while it is in the processor's cache, unpacked when it is whole.
struct HTTPBody {
    private let request: HTTPRequest
    private let length: Int?
    private let packing: Packing?
    /// Whether it is handed out as it came.
    private let isKept: Bool
    private var stored: [UInt8] = []
    /// Hashes the bytes as they arrive; nil when no hash is wanted, or that of the unpacked bytes.
    private let hasher: ContentHasher?
    /// Most bytes that may arrive.
    private let most: Int

    init(_ request: HTTPRequest, _ headers: HTTPHeaders) throws(HTTPError) {
        self.request = request
        let label = request.label
        let lengths = headers.all("Content-Length")
        length = lengths.first.flatMap { Int($0) }
        // A peer that believes another of them sees another body (RFC 9112, 6.3).
        guard lengths.allSatisfy({ $0 == lengths[0] }) else {
            throw HTTPError(.malformed, "the answer of '\(label)' has several lengths")
        }
        let isChunked = headers.elements("Transfer-Encoding").contains("chunked")
        guard length != nil || isChunked || !request.needsLength else {
            throw HTTPError(
                .malformed, "the answer of '\(label)' does not say how long it is: half of one could pass for a whole")
        }
        let encoding = headers.elements("Content-Encoding").filter { $0 != "identity" }
        guard encoding.count <= 1, encoding.allSatisfy({ Packing(contentEncoding: $0) != nil }) else {
            throw HTTPError(
                .malformed, "the answer of '\(label)' is packed as '\(encoding.joined(separator: ", ").prefix(80))'")
        }
        packing = encoding.first.flatMap(Packing.init(contentEncoding:))
        isKept = packing == nil || (request.keepsPacked && packing != .deflate)
        hasher = request.hashes && isKept ? ContentHasher() : nil
        // Incompressible data grows slightly in every format.
        most = isKept ? request.limit : request.limit + request.limit / 64 + 1_024
        if let length, length > most { throw Self.tooLarge(request, "\(length) bytes") }
        stored.reserveCapacity(min(max((isKept ? request.expected : nil) ?? length ?? 0, 0), Self.greatestRoom))
    }

    /// Most bytes of room that are made because a list or a server announces them: more is made as they arrive.
    private static let greatestRoom = 1 << 19
    /// The factor by which a packed body is believed to grow: road tiles pack to a half.
    private static let usualPacking = 8

    /// Whether there is so much to unpack that other answers should not wait for it.
    var isLarge: Bool { !isKept && stored.count > Self.muchToUnpack }

    private static let muchToUnpack = 131_072

    mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTPError) {
        guard bytes.count <= most - stored.count else { throw Self.tooLarge(request, "more") }
        stored.append(contentsOf: bytes)
        hasher?.update(UnsafeRawBufferPointer(bytes))
    }

    mutating func finish(into response: inout HTTPResponse) throws(HTTPError) {
        if let length, length != stored.count {
            throw HTTPError(
                .truncated, "the answer of '\(request.label)' has \(stored.count) bytes and says \(length)")
        }
        if let packing, !isKept {
            do throws(Unpacker.Failure) {
                stored = try Unpacker.unpack(
                    stored, packing, limit: request.limit,
                    expected: min(request.expected ?? 0, Self.usualPacking * stored.count))
            } catch {
                throw Self.meaning(of: error, request)
            }
        } else {
            response.packing = packing
        }
        if request.hashes {
            guard let hash = hasher.map({ $0.finish() }) ?? ContentHash(of: stored) else {
                throw HTTPError(
                    .system, "the answer of '\(request.label)' cannot be hashed: \(ContentHash.refusal)")
            }
            response.hash = hash
        }
        response.body = stored
    }

    private static func meaning(of failure: Unpacker.Failure, _ request: HTTPRequest) -> HTTPError {
        switch failure {
        case .tooLarge: tooLarge(request, "more when unpacked")
        case .damaged: HTTPError(.malformed, "the answer of '\(request.label)' cannot be unpacked")
        case .truncated: HTTPError(.truncated, "the packed answer of '\(request.label)' ended too early")
        }
    }

    private static func tooLarge(_ request: HTTPRequest, _ size: String) -> HTTPError {
        HTTPError(
            .tooLarge, "the answer of '\(request.label)' has \(size), and \(request.limit) are allowed: refused")
    }
}
