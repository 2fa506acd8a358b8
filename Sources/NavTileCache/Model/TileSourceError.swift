internal import NavDigest

/// A reason for which a source of tiles gave no answer.
package struct TileSourceError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The configuration is invalid; the message says what to change.
        case configuration
        /// The source does not exist, or has no list of tiles: a wrong address, or a folder that no longer exists.
        case missing
        /// The credential is missing, wrong, or insufficient.
        case unauthorized
        /// The source rejects the request (HTTP 4xx).
        case refused
        /// Too many requests; ``TileSourceError/retryAfter`` says when to retry, if the source does.
        case rateLimited
        /// The source failed (HTTP 5xx).
        case server
        /// The source redirects to an address that is not allowed.
        case redirected
        /// The answer is damaged, or is not a tile, a list or an archive as expected.
        case malformed
        /// The answer is well-formed but differs from the list in size or hash.
        case mismatch
        /// The answer, compressed or not, is larger than allowed.
        case tooLarge
        /// The answer ended early.
        case truncated
        case timedOut
        /// The answer arrived more slowly than the minimum rate.
        case tooSlow
        /// The connection could not be made or was lost.
        case unreachable
        /// The source has another edition than the requested one; poll it for its edition.
        case editionChanged
        /// A file of the source cannot be read.
        case unreadable
        /// This machine lacks the memory or open files for the request.
        case system
        /// The caller has cancelled the request.
        case cancelled
        /// The source failed too often and is not queried until ``TileSourceError/retryAfter`` has passed.
        case paused
        /// The network mode forbids the request.
        case offline
        /// The source, or the queue, is closed.
        case closed
    }

    package var code: Code
    /// A message for users: what happened, where, and what to do; never holds a credential.
    package var message: String
    /// The seconds after which a retry makes sense; nil when unknown.
    package var retryAfter: Double?

    package init(_ code: Code, _ message: String, retryAfter: Double? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// Returns the error for content that could not be hashed, which is not the source's fault.
    package static func unhashed(_ what: String) -> TileSourceError {
        TileSourceError(.system, "\(what) cannot be hashed: \(ContentHash.refusal)")
    }

    /// The error as the answer to a poll for the edition.
    ///
    /// A source that refuses such a poll has no tiles at all, and is treated like a missing one.
    package var ofEdition: TileSourceError {
        code == .refused || code == .editionChanged
            ? TileSourceError(.missing, message, retryAfter: retryAfter) : self
    }

    /// Whether the same request may succeed later.
    package var isRetryable: Bool {
        switch code {
        case .rateLimited, .server, .malformed, .mismatch, .truncated, .timedOut, .tooSlow, .unreachable, .unreadable,
            .system, .paused, .offline:
            true
        case .configuration, .missing, .unauthorized, .refused, .redirected, .tooLarge, .editionChanged, .cancelled,
            .closed:
            false
        }
    }

    /// Whether the source is at fault rather than the request.
    package var blamesSource: Bool {
        switch code {
        case .missing, .unauthorized, .rateLimited, .server, .redirected, .malformed, .mismatch, .tooLarge, .truncated,
            .timedOut, .tooSlow, .unreachable, .unreadable:
            true
        case .configuration, .refused, .editionChanged, .system, .cancelled, .paused, .offline, .closed: false
        }
    }

    /// Whether the source could not be reached, as opposed to a wrong answer.
    package var isOutage: Bool { code == .unreachable || code == .timedOut }

    package var description: String { message }
}
