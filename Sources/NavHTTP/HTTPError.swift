/// A failure to get an answer from a server.
package struct HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The configuration is unusable; the message says what to change.
        case configuration
        /// The server redirects to an address that is not allowed, or too often.
        case redirected
        /// The answer is not HTTP, or contradicts itself.
        case malformed
        /// The body, compressed or not, is larger than allowed.
        case tooLarge
        /// The body ended early.
        case truncated
        case timedOut
        /// The body arrived more slowly than the minimum rate.
        case tooSlow
        /// The connection failed or was lost.
        case unreachable
        /// This machine lacks the memory or open files for the request.
        case system
        case cancelled
        case closed
    }

    package var code: Code
    /// A description of what failed, where, and what to do; never holds a credential or a query.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
