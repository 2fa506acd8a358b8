package import NavMap

/// A failure of the provider to give a route.
package struct DirectionsError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The configuration is invalid; the message states what to change.
        case configuration
        /// The provider found no route between the places.
        case noRoute
        /// The provider found no road near one of the places.
        case noSegment
        /// The provider rejects the request.
        case invalidInput
        /// The token is missing, wrong or insufficient.
        case unauthorized
        /// Too many requests; ``DirectionsError/retryAfter`` is the wait, if the provider states one.
        case rateLimited
        /// The provider failed (HTTP 5xx).
        case server
        /// The provider redirects; to protect the token, redirects are not followed.
        case redirected
        /// The answer does not conform to the dialect.
        case malformed
        /// The answer is larger than the configured limit.
        case tooLarge
        case timedOut
        /// The connection failed or was interrupted.
        case unreachable
        /// The caller has cancelled the request.
        case cancelled
        /// The provider failed too often and is not contacted until ``DirectionsError/retryAfter`` has passed.
        case paused
        /// The answer is a route that is not on the on-board map.
        case unmapped
    }

    package var code: Code
    /// A description of the failure and its remedy; never contains the token.
    package var message: String
    /// The seconds after which a retry may succeed; nil when unknown.
    package var retryAfter: Double?
    /// The tiles needed to follow the route, by ascending id; with ``Code/unmapped`` only.
    package var missingTiles: [RoadTileID]

    package init(_ code: Code, _ message: String, retryAfter: Double? = nil, missingTiles: [RoadTileID] = []) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.missingTiles = missingTiles
    }

    /// Whether an immediate retry makes sense, while the caller waits.
    package var isTransient: Bool {
        switch code {
        case .rateLimited, .server, .unreachable, .timedOut: true
        default: false
        }
    }

    /// Whether the error is the provider's fault rather than the request's.
    var blamesProvider: Bool {
        switch code {
        case .unauthorized, .rateLimited, .server, .redirected, .malformed, .tooLarge, .timedOut, .unreachable: true
        case .configuration, .noRoute, .noSegment, .invalidInput, .cancelled, .paused, .unmapped: false
        }
    }

    package var description: String { message }
}
