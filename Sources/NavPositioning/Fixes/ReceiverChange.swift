/// Another of several receivers is used from now on.
public struct ReceiverChange: Sendable, Hashable {
    public enum Reason: Sendable, Hashable, CaseIterable {
        /// None of the old one's fixes counted any more.
        case failed
        /// The new one is preferred, and has positions.
        case preferred
        /// The new one has been clearly more accurate for some time.
        case better
    }

    /// The receiver that was used until now.
    public var old: UInt8
    public var new: UInt8
    public var reason: Reason

    public init(old: UInt8, new: UInt8, reason: Reason) {
        (self.old, self.new, self.reason) = (old, new, reason)
    }
}
