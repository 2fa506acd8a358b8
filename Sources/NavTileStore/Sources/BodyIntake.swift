import NavDigest

/// Takes a body in as it comes, bounded, and hashes it while it is in the processor's cache; one that is packed is unpacked, and then
/// hashed, when it is whole.
struct BodyIntake {
    private let question: WebQuestion
    private let length: Int?
    private let packing: Packing?
    /// Whether it stays as it came.
    private let isKept: Bool
    private var stored: [UInt8] = []
    /// What hashes the bytes as they come; nil when that is not wanted, or when those that come are others than those that are hashed.
    private let hasher: ContentHasher?
    /// Most bytes that may come in.
    private let most: Int

    init(_ question: WebQuestion, _ headers: WebHeaders) throws(TileSourceError) {
        self.question = question
        let address = question.address
        let lengths = headers.all("Content-Length")
        length = lengths.first.flatMap { Int($0) }
        // Who believes another of them sees another body (RFC 9112, 6.3).
        guard lengths.allSatisfy({ $0 == lengths[0] }) else {
            throw TileSourceError(.malformed, "the answer of '\(address)' has several lengths")
        }
        let isChunked = headers.elements("Transfer-Encoding").contains("chunked")
        guard length != nil || isChunked || !question.needsLength else {
            throw TileSourceError(
                .malformed, "the answer of '\(address)' does not say how long it is: half of one could pass for a whole"
            )
        }
        let encoding = headers.elements("Content-Encoding").filter { $0 != "identity" }
        guard encoding.count <= 1, encoding.allSatisfy({ Packing(contentEncoding: $0) != nil }) else {
            throw TileSourceError(
                .malformed, "the answer of '\(address)' is packed as '\(encoding.joined(separator: ", ").prefix(80))'")
        }
        packing = encoding.first.flatMap(Packing.init(contentEncoding:))
        isKept = packing == nil || (question.keepsPacked && packing != .deflate)
        hasher = question.hashes && isKept ? ContentHasher() : nil
        // What does not get smaller gets larger by a little, whatever packs it.
        most = isKept ? question.limit : question.limit + question.limit / 64 + 1_024
        if let length, length > most { throw Self.tooLarge(question, "\(length) bytes") }
        stored.reserveCapacity(min(max((isKept ? question.expected : nil) ?? length ?? 0, 0), Self.greatestRoom))
    }

    /// Most bytes of room that are made because a list or a server says that they will come, however many it says: more
    /// is made as they come, twice as much each time.
    private static let greatestRoom = 1 << 19
    /// How much a packed body is believed to unpack to, as a multiple of it: road tiles pack to a half.
    private static let usualPacking = 8

    /// Whether there is so much to unpack that others should not wait for it.
    var isLarge: Bool { !isKept && stored.count > Self.muchToUnpack }

    private static let muchToUnpack = 131_072

    mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) throws(TileSourceError) {
        guard bytes.count <= most - stored.count else { throw Self.tooLarge(question, "more") }
        stored.append(contentsOf: bytes)
        hasher?.update(UnsafeRawBufferPointer(bytes))
    }

    mutating func finish(into reply: inout WebReply) throws(TileSourceError) {
        if let length, length != stored.count {
            throw TileSourceError(
                .truncated, "the answer of '\(question.address)' has \(stored.count) bytes and says \(length)")
        }
        if let packing, !isKept {
            do throws(Unpacker.Failure) {
                stored = try Unpacker.unpack(
                    stored, packing, limit: question.limit,
                    expected: min(question.expected ?? 0, Self.usualPacking * stored.count))
            } catch {
                throw Self.meaning(of: error, question)
            }
        } else {
            reply.packing = packing
        }
        if question.hashes {
            guard let hash = hasher.map({ $0.finish() }) ?? ContentHash(of: stored) else {
                throw TileSourceError.unhashed("the answer of '\(question.address)'")
            }
            reply.hash = hash
        }
        reply.body = stored
    }

    private static func meaning(of failure: Unpacker.Failure, _ question: WebQuestion) -> TileSourceError {
        switch failure {
        case .tooLarge: tooLarge(question, "more when unpacked")
        case .damaged: TileSourceError(.malformed, "the answer of '\(question.address)' cannot be unpacked")
        case .truncated: TileSourceError(.truncated, "the packed answer of '\(question.address)' ended too early")
        }
    }

    private static func tooLarge(_ question: WebQuestion, _ size: String) -> TileSourceError {
        TileSourceError(
            .tooLarge,
            "the answer of '\(question.address)' has \(size), and \(question.limit) are allowed: refused")
    }
}
