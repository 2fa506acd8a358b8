public import NavMap

/// A failure of the provider to give a route.
public struct DirectionsError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        /// The configuration makes no sense: the message says what to change.
        case configuration
        /// The provider knows no way between the places.
        case noRoute
        /// The provider knows no road near one of the places.
        case noSegment
        /// The provider refuses the request as it is.
        case invalidInput
        /// The token is missing, wrong, or not allowed to ask.
        case unauthorized
        /// Too many requests; ``DirectionsError/retryAfter`` says when to come back if the provider does.
        case rateLimited
        /// The provider failed (HTTP 5xx).
        case server
        /// The provider sends somewhere else: not followed, for the token's sake.
        case redirected
        /// The answer is not what the dialect says.
        case malformed
        /// The answer is larger than the configured bound.
        case tooLarge
        case timedOut
        /// No connection, or one that broke.
        case unreachable
        /// The caller does not want the answer any more.
        case cancelled
        /// The provider failed too often and is left alone until ``DirectionsError/retryAfter`` has passed.
        case resting
        /// The answer is a route, but not one of the map on board.
        case unmapped
    }

    public var code: Code
    /// A description of what happened and what to do; it never holds the token.
    public var message: String
    /// Seconds after which asking again makes sense; nil when nothing is known of it.
    public var retryAfter: Double?
    /// Tiles that following the route needs, by ascending id; with ``Code/unmapped`` only.
    public var missingTiles: [RoadTileID]

    public init(_ code: Code, _ message: String, retryAfter: Double? = nil, missingTiles: [RoadTileID] = []) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.missingTiles = missingTiles
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch code {
        case .rateLimited, .server, .malformed, .timedOut, .unreachable, .resting: true
        case .unmapped: !missingTiles.isEmpty
        case .configuration, .noRoute, .noSegment, .invalidInput, .unauthorized, .redirected, .tooLarge, .cancelled:
            false
        }
    }

    /// Whether it is worth asking again at once, while the caller waits.
    package var isTransient: Bool {
        switch code {
        case .rateLimited, .server, .unreachable, .timedOut: true
        default: false
        }
    }

    /// Whether it speaks against the provider, not against the request.
    var blamesProvider: Bool {
        switch code {
        case .unauthorized, .rateLimited, .server, .redirected, .malformed, .tooLarge, .timedOut, .unreachable: true
        case .configuration, .noRoute, .noSegment, .invalidInput, .cancelled, .resting, .unmapped: false
        }
    }

    public var description: String { message }
}
