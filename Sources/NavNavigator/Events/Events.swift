package import NavGeo
package import NavMatching
package import NavPositioning

/// An input to a ``Navigator``; nothing else changes it.
package struct NavigatorEvent: Sendable {
    package enum Kind: Sendable {
        /// A receiver measured a position.
        case fix(Fix)
        /// The vehicle measured its own motion.
        case odometry(Odometry)
        /// The time of ``Navigator/due`` was reached.
        case timer
        /// A user's command; `call` identifies the reply, 0 when no reply is expected.
        indirect case command(NavigatorCommand, call: UInt64)
        /// The reply to a command is no longer needed: the caller disconnected or its deadline passed.
        case callEnded(UInt64)
        indirect case routeAnswer(requestID: UInt64, RouteAnswer)
        /// A policy question was answered, or its deadline passed.
        indirect case policyAnswer(requestID: UInt64, PolicyAnswer)
        /// Tiles were loaded or evicted, or the traffic changed.
        indirect case mapChanged(MapSnapshot)
        /// A user changed thresholds, which apply immediately.
        indirect case configured(NavigatorConfig)
        /// The online provider is paused after failures, or available again.
        case provider(rests: Bool)
    }

    package var stamp: Timestamp
    /// The sequence of the message that carried the event; 0 for none.
    package var causeSequence: UInt64
    package var kind: Kind

    package init(stamp: Timestamp, causeSequence: UInt64 = 0, kind: Kind) {
        self.stamp = stamp
        self.causeSequence = causeSequence
        self.kind = kind
    }
}
