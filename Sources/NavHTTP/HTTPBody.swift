import NavDigest

/// The body of an answer as it arrives: limited in size, hashed while in the processor's cache, unpacked once complete.
struct HTTPBody {
    private let request: HTTPRequest
    private let length: Int?
    private let packing: Packing?
    /// Whether the body is returned as received.
    private let isKept: Bool
    private var stored: [UInt8] = []
    /// The hasher of the received bytes; nil when no hash is wanted, or the hash of the unpacked bytes.
    private let hasher: ContentHasher?
    /// The most bytes that may arrive.
    private let most: Int

    init(_ request: HTTPRequest, _ headers: HTTPHeaders) throws(HTTPError) {
        self.request = request
        let label = request.label
        let lengths = headers.all("Content-Length")
        length = lengths.first.flatMap { Int($0) }
        // Another peer may use the other length and so see another body (RFC 9112, 6.3).
        guard lengths.allSatisfy({ $0 == lengths[0] }) else {
            throw HTTPError(.malformed, "the response from '\(label)' has conflicting Content-Length headers")
        }
        let isChunked = headers.elements("Transfer-Encoding").contains("chunked")
        guard length != nil || isChunked || !request.needsLength else {
            throw HTTPError(
                .malformed, "the response from '\(label)' states no length, so a truncated one could go unnoticed")
        }
        let encoding = headers.elements("Content-Encoding").filter { $0 != "identity" }
        guard encoding.count <= 1, encoding.allSatisfy({ Packing(contentEncoding: $0) != nil }) else {
            throw HTTPError(
                .malformed,
                "unsupported Content-Encoding from '\(label)': '\(encoding.joined(separator: ", ").prefix(80))'")
        }
        packing = encoding.first.flatMap(Packing.init(contentEncoding:))
        isKept = packing == nil || (request.keepsPacked && packing != .deflate)
        hasher = request.hashes && isKept ? ContentHasher() : nil
        // Incompressible data grows slightly in every format.
        most = isKept ? request.limit : request.limit + request.limit / 64 + 1_024
        if let length, length > most { throw Self.tooLarge(request, "\(length) bytes") }
        stored.reserveCapacity(min(max((isKept ? request.expected : nil) ?? length ?? 0, 0), Self.greatestRoom))
    }

    /// The most bytes reserved for a size that a list or a server states; more is allocated as the bytes arrive.
    private static let greatestRoom = 1 << 19
    /// The largest decompression factor for which room is reserved; road tiles compress to half their size.
    private static let usualPacking = 8

    /// Whether unpacking takes so long that other answers should not wait for it.
    var isLarge: Bool { !isKept && stored.count > Self.muchToUnpack }

    private static let muchToUnpack = 131_072

    mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTPError) {
        guard bytes.count <= most - stored.count else { throw Self.tooLarge(request, "too many bytes") }
        stored.append(contentsOf: bytes)
        hasher?.update(UnsafeRawBufferPointer(bytes))
    }

    mutating func finish(into response: inout HTTPResponse) throws(HTTPError) {
        if let length, length != stored.count {
            throw HTTPError(
                .truncated, "the response from '\(request.label)' has \(stored.count) of \(length) bytes")
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
                    .system, "the response from '\(request.label)' cannot be hashed: \(ContentHash.refusal)")
            }
            response.hash = hash
        }
        response.body = stored
    }

    private static func meaning(of failure: Unpacker.Failure, _ request: HTTPRequest) -> HTTPError {
        switch failure {
        case .tooLarge: tooLarge(request, "too many bytes when decompressed")
        case .damaged: HTTPError(.malformed, "the response from '\(request.label)' cannot be decompressed")
        case .truncated: HTTPError(.truncated, "the compressed response from '\(request.label)' is truncated")
        }
    }

    private static func tooLarge(_ request: HTTPRequest, _ size: String) -> HTTPError {
        HTTPError(
            .tooLarge, "the response from '\(request.label)' has \(size); the limit is \(request.limit) bytes")
    }
}
