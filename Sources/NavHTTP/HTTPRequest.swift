package import NavDigest
package import NavGeo

package struct HTTPRequest: Sendable {
    package enum Method: Sendable, Equatable {
        case get
        case head
        /// A POST with a body; its `Content-Type` is one of the ``HTTPRequest/headers``.
        case post([UInt8])
    }

    package var address: HTTPAddress
    package var method = Method.get
    package var headers: [(name: String, value: String)] = []
    /// The header that authenticates the client: sent only to the origin of ``address``, and shown in no message.
    package var credential: (name: String, value: String)?
    /// The most bytes of the body, counted after any unpacking.
    package var limit: Int
    /// The time limit of the whole answer, including redirects and the wait for a connection, seconds.
    ///
    /// It applies if it is less than ``HTTPLimits/totalTimeout``.
    package var timeout: Double?
    /// The expected size of the body, for which room is reserved; the caller checks it.
    package var expected: Int?
    /// Whether a compressed body is returned compressed.
    package var keepsPacked = false
    /// Whether the answer must state the length of its body, so that a truncated one is detected.
    package var needsLength = false
    /// Whether the body of a failure (4xx, 5xx) is wanted as well.
    package var readsFailures = false
    /// Whether the body is hashed.
    package var hashes = false
    /// Whether messages name only the server, to keep the path private.
    package var hidesPath = false

    package init(_ address: HTTPAddress, limit: Int) {
        self.address = address
        self.limit = limit
    }

    /// The address as shown in messages.
    var label: String { hidesPath ? address.origin.text : address.description }

    /// Whether the body of an answer is read; other bodies are skipped.
    func wantsBody(ofStatus status: Int) -> Bool {
        method != .head && (status == 200 || status == 206 || readsFailures && status >= 400)
    }
}

/// A server's answer.
package struct HTTPResponse: Sendable {
    package var status: Int
    package let headers: HTTPHeaders
    /// The body; empty when it was skipped.
    package var body: [UInt8] = []
    /// The hash of ``body``, if requested.
    package var hash: ContentHash?
    /// The compression of ``body``; nil when it is not compressed.
    package var packing: Packing?
    /// The time when the head arrived.
    package var received: Timestamp
    /// Seconds between request and head.
    package var delay: Double

    package func header(_ name: String) -> String? { headers.first(name) }

    /// The delay that the server requests before the next attempt, seconds; nil when it requests none.
    package var retryAfter: Double? {
        HTTPTime.retryAfter(header("Retry-After"), date: header("Date"), received: received)
    }
}
