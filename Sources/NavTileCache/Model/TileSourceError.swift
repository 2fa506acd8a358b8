internal import NavDigest

/// The reason why there is no answer from a source of tiles.
package struct TileSourceError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The configuration makes no sense: the message says what to change.
        case configuration
        /// The source is not there, or has no list of tiles: a wrong address, or a folder that is gone.
        case missing
        /// The credential is missing, wrong, or not allowed to ask.
        case unauthorized
        /// The source refuses the request as it is (HTTP 4xx).
        case refused
        /// Too many requests; ``TileSourceError/retryAfter`` says when to come back if the source does.
        case rateLimited
        /// The source failed (HTTP 5xx).
        case server
        /// The source sends somewhere that is not allowed.
        case redirected
        /// The answer is not what it should be: no tile, no list, no archive, or damaged.
        case malformed
        /// The answer is sound in form, but not what the list says: another size or another hash.
        case mismatch
        /// The answer, packed or unpacked, is larger than allowed.
        case tooLarge
        /// The answer ended before it was whole.
        case truncated
        case timedOut
        /// The answer came slower than the least rate.
        case tooSlow
        /// No connection, or one that broke.
        case unreachable
        /// The source has another edition than the one asked for: ask for the edition.
        case editionChanged
        /// A file of the source cannot be read.
        case unreadable
        /// This machine has no memory, or no open files left, to ask with.
        case system
        /// The caller does not want the answer any more.
        case cancelled
        /// The source failed too often and is left alone until ``TileSourceError/retryAfter`` has passed.
        case resting
        /// The network must not be used now.
        case offline
        /// The source, or the queue, is closed.
        case closed
    }

    package var code: Code
    /// A sentence for people: what happened, where, and what to do; never holds a credential.
    package var message: String
    /// Seconds after which asking again makes sense; nil when nothing is known of it.
    package var retryAfter: Double?

    package init(_ code: Code, _ message: String, retryAfter: Double? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// Nothing can be said of some content: its source is not to blame.
    package static func unhashed(_ what: String) -> TileSourceError {
        TileSourceError(.system, "\(what) cannot be hashed: \(ContentHash.refusal)")
    }

    /// The same of the question what a source has: one that refuses to say so has no tile for anybody, and is left alone
    /// like one that is not there.
    package var ofEdition: TileSourceError {
        code == .refused || code == .editionChanged
            ? TileSourceError(.missing, message, retryAfter: retryAfter) : self
    }

    /// Whether the same question may be answered later.
    package var isRetryable: Bool {
        switch code {
        case .rateLimited, .server, .malformed, .mismatch, .truncated, .timedOut, .tooSlow, .unreachable, .unreadable,
            .system, .resting, .offline:
            true
        case .configuration, .missing, .unauthorized, .refused, .redirected, .tooLarge, .editionChanged, .cancelled,
            .closed:
            false
        }
    }

    /// Whether it speaks against the source, not against the question.
    package var blamesSource: Bool {
        switch code {
        case .missing, .unauthorized, .rateLimited, .server, .redirected, .malformed, .mismatch, .tooLarge, .truncated,
            .timedOut, .tooSlow, .unreachable, .unreadable:
            true
        case .configuration, .refused, .editionChanged, .system, .cancelled, .resting, .offline, .closed: false
        }
    }

    package var description: String { message }
}
