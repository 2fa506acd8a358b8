public import NavGeo
public import NavMatching
public import NavPositioning

/// Something that happened: the only thing that changes a ``Navigator``.
public struct NavigatorEvent: Sendable {
    public enum Kind: Sendable {
        /// A receiver measured a position.
        case fix(Fix)
        /// The vehicle measured its own motion.
        case odometry(Odometry)
        /// The moment of ``Navigator/due`` has come.
        case timer
        /// A user asked for something; `call` is that of the answer, 0 when nobody waits for one.
        indirect case command(NavigatorCommand, call: UInt64)
        /// The answer to a command is no longer needed: the caller went away or its deadline passed.
        case callEnded(UInt64)
        indirect case routeAnswer(requestID: UInt64, RouteAnswer)
        /// A question was decided, or nobody decided it in time.
        indirect case policyAnswer(requestID: UInt64, PolicyAnswer)
        /// Tiles were loaded or left, or the traffic is another.
        indirect case mapChanged(MapSnapshot)
        /// Thresholds were changed by a user; they hold from now on.
        indirect case configured(NavigatorConfig)
    }

    public var stamp: Timestamp
    /// The sequence of the message that brought it, 0 for none.
    public var causeSequence: UInt64
    public var kind: Kind

    public init(stamp: Timestamp, causeSequence: UInt64 = 0, kind: Kind) {
        self.stamp = stamp
        self.causeSequence = causeSequence
        self.kind = kind
    }
}
