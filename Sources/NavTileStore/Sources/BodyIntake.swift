import NavDigest
import NIOHTTP1

/// Takes a body in as it comes: bounded, unpacked or checked, and hashed.
struct BodyIntake {
    private let question: WebQuestion
    private let length: Int?
    private let packing: Packing?
    private let unpacker: Unpacker?
    private let hasher: ContentHasher?
    private var stored: [UInt8] = []
    /// Most bytes that may come in.
    private let most: Int
    private var received = 0

    init(_ question: WebQuestion, _ headers: HTTPHeaders) throws(TileSourceError) {
        self.question = question
        let address = question.address
        length = headers.first(name: "Content-Length").flatMap(Int.init)
        let isChunked = headers.first(name: "Transfer-Encoding")?.lowercased().contains("chunked") ?? false
        guard length != nil || isChunked || !question.needsLength else {
            throw TileSourceError(
                .malformed, "the answer of '\(address)' does not say how long it is: half of one could pass for a whole"
            )
        }
        let encoding = headers[canonicalForm: "Content-Encoding"].map { String($0).lowercased() }
            .filter { $0 != "identity" }
        guard encoding.count <= 1, encoding.allSatisfy({ Packing(contentEncoding: $0) != nil }) else {
            throw TileSourceError(
                .malformed, "the answer of '\(address)' is packed as '\(encoding.joined(separator: ", ").prefix(80))'")
        }
        packing = encoding.first.flatMap(Packing.init(contentEncoding:))
        hasher = question.hashes ? ContentHasher() : nil
        // What does not get smaller gets larger by a little, whatever packs it.
        let isKept = packing == nil || (question.keepsPacked && packing != .deflate)
        most = isKept ? question.limit : question.limit + question.limit / 64 + 1_024
        if let length, length > most { throw Self.tooLarge(question, "\(length) bytes") }
        guard let packing, !isKept else {
            unpacker = nil
            // What a server announces is believed up to a mebibyte; beyond that, room is made as bytes come.
            stored.reserveCapacity(question.expected ?? min(length ?? 0, 1 << 20))
            return
        }
        do throws(Unpacker.Failure) {
            unpacker = try Unpacker(packing, limit: question.limit, expected: question.expected ?? 0)
        } catch {
            throw TileSourceError(.malformed, "the answer of '\(address)' cannot be unpacked")
        }
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(TileSourceError) {
        guard bytes.count <= most - received else { throw Self.tooLarge(question, "more") }
        received += bytes.count
        if let unpacker {
            do throws(Unpacker.Failure) {
                try unpacker.update(bytes)
            } catch {
                throw Self.meaning(of: error, question)
            }
            return
        }
        hasher?.update(bytes)
        stored.append(contentsOf: bytes)
    }

    mutating func finish(into reply: inout WebReply) throws(TileSourceError) {
        if let length, length != received {
            throw TileSourceError(
                .truncated, "the answer of '\(question.address)' has \(received) bytes and says \(length)")
        }
        if let unpacker {
            do throws(Unpacker.Failure) {
                try unpacker.finish()
            } catch {
                throw Self.meaning(of: error, question)
            }
            stored = unpacker.takeOutput()
            stored.withUnsafeBytes { hasher?.update($0) }
        } else {
            reply.packing = packing
        }
        reply.body = stored
        reply.hash = hasher?.finish()
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
