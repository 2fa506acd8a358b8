import NavGeo
import NavRemote

/// What an HTTP status means for who asked for a file.
enum WebStatus: Sendable, Equatable {
    case content
    case notModified
    case absent
    case failure(TileSourceError)

    /// - Parameter absentIsFailure: whether the file must be there.
    init(_ reply: WebReply, _ address: WebAddress) {
        let status = reply.status
        var retryAfter: Double? {
            HTTPTime.retryAfter(reply.header("Retry-After"), date: reply.header("Date"), now: reply.received.seconds)
        }
        switch status {
        case 200: self = .content
        case 204, 404, 410: self = .absent
        case 304: self = .notModified
        case 401, 403:
            self = .failure(
                TileSourceError(
                    .unauthorized,
                    "the server of '\(address)' refuses us (HTTP \(status)): look at the source's credential"))
        case 429:
            self = .failure(
                TileSourceError(
                    .rateLimited, "the server of '\(address)' has had too many requests (HTTP 429)",
                    retryAfter: retryAfter))
        case 408, 425, 500...599:
            self = .failure(
                TileSourceError(
                    .server, "the server of '\(address)' failed (HTTP \(status))", retryAfter: retryAfter))
        case 412:
            self = .failure(
                TileSourceError(.editionChanged, "'\(address)' has changed since its edition was asked for"))
        case 400...499:
            self = .failure(
                TileSourceError(.refused, "the server of '\(address)' refuses the request (HTTP \(status))"))
        default:
            self = .failure(
                TileSourceError(.malformed, "the server of '\(address)' answers what was not asked (HTTP \(status))"))
        }
    }

    /// The headers of a question whether something holds on.
    static func conditions(_ known: Validators?) -> [(name: String, value: String)] {
        guard let known else { return [] }
        let isSound = { (text: String) in
            (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
        }
        if let etag = known.etag, isSound(etag) { return [("If-None-Match", etag)] }
        if let date = known.lastModified, isSound(date) { return [("If-Modified-Since", date)] }
        return []
    }
}
