package import NavDigest
package import NavGeo

package struct HTTPRequest: Sendable {
    package enum Method: Sendable, Equatable {
        case get
        case head
        /// POST of a body; its `Content-Type` is one of the ``HTTPRequest/headers``.
        case post([UInt8])
    }

    package var address: HTTPAddress
    package var method = Method.get
    package var headers: [(name: String, value: String)] = []
    /// The header that names the customer: sent to the origin of ``address`` only, and in no message.
    package var credential: (name: String, value: String)?
    /// Most bytes of the body, after unpacking where it is unpacked.
    package var limit: Int
    /// Seconds for the whole answer, redirects and the wait for a connection included, if that is less than
    /// ``HTTPLimits/totalTimeout``.
    package var timeout: Double?
    /// The expected size of the body, to make room for it; the caller checks it.
    package var expected: Int?
    /// Whether a packed body is handed out packed.
    package var keepsPacked = false
    /// Whether the answer must state the length of its body, so that half of it cannot pass for the whole.
    package var needsLength = false
    /// Whether the body of a failure (4xx, 5xx) is wanted as well.
    package var readsFailures = false
    /// Whether the body's hash is wanted.
    package var hashes = false
    /// Whether messages name only the server, to keep the path private.
    package var hidesPath = false

    package init(_ address: HTTPAddress, limit: Int) {
        self.address = address
        self.limit = limit
    }

    /// The name of what is requested, in messages.
    var label: String { hidesPath ? address.origin.text : address.description }

    /// Whether the body of an answer is read: other bodies are skipped.
    func wantsBody(ofStatus status: Int) -> Bool {
        method != .head && (status == 200 || status == 206 || readsFailures && status >= 400)
    }
}

/// A server's answer.
package struct HTTPResponse: Sendable {
    package var status: Int
    package let headers: HTTPHeaders
    /// The body; empty where the request does not want it.
    package var body: [UInt8] = []
    /// The hash of ``body``, if the request wants it.
    package var hash: ContentHash?
    /// The packing of ``body``; nil when it is not packed.
    package var packing: Packing?
    /// The arrival of the head.
    package var received: Timestamp
    /// Seconds from request to head.
    package var delay: Double

    package func header(_ name: String) -> String? { headers.first(name) }

    /// Seconds that the server asks to be left alone; nil when it does not say.
    package var retryAfter: Double? {
        HTTPTime.retryAfter(header("Retry-After"), date: header("Date"), received: received)
    }
}
