/// A switch to another receiver.
public struct ReceiverChange: Sendable, Hashable {
    public enum Reason: Sendable, Hashable, CaseIterable {
        /// No fix of the old receiver was accepted for too long.
        case failed
        /// The new receiver is preferred and has positions.
        case preferred
        /// The new receiver has been clearly more accurate for some time.
        case better
    }

    /// The receiver that was in use before.
    public var old: UInt8
    public var new: UInt8
    public var reason: Reason

    public init(old: UInt8, new: UInt8, reason: Reason) {
        (self.old, self.new, self.reason) = (old, new, reason)
    }
}
