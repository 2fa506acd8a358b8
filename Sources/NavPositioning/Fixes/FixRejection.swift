public struct FixRejection: Error, Sendable, Hashable {
    public enum Reason: UInt8, Sendable, Hashable, CaseIterable {
        /// A missing position, or a position out of range.
        case invalid
        /// The receiver has no solution.
        case fixType
        /// Less accurate than the limit, metres.
        case accuracy
        /// Less accurate than the limit for the first fix, metres.
        case startAccuracy
        /// Arrived too late after its stamp, seconds.
        case stale
        /// Stamped in the future, seconds.
        case future
        /// Has the same stamp as the previous fix.
        case duplicate
        /// Older than the last accepted fix, seconds.
        case outOfOrder
        /// The position repeats although the vehicle moves; the value is the distance driven, metres.
        case frozen
        /// An impossible speed for a road vehicle, m/s.
        case speed
        /// Further from the expected position than the receiver's error explains, metres.
        case jump
        /// The receiver's integrity monitoring raised an alert.
        case integrity
        /// Counterfeit signals.
        case spoofing
        case jamming

        /// Whether a fix rejected for this reason is current: the receiver is working, but its position is not
        /// accepted.
        var isOfThePresent: Bool {
            switch self {
            case .duplicate, .outOfOrder, .stale, .future: false
            case .invalid, .fixType, .accuracy, .startAccuracy, .frozen, .speed, .jump, .integrity, .spoofing, .jamming:
                true
            }
        }
    }

    public var reason: Reason
    /// The measured value, if it is a number.
    public var value: Double?
    public var limit: Double?
}

public enum FixVerdict: Sendable, Hashable {
    case accepted
    /// Accepted on a clock that continues from another moment: it was set, or a recording restarts.
    case acceptedAfterClockSet
    /// Accepted at another place, where the fixes have stayed long enough.
    case acceptedAfterJump
    case rejected(FixRejection)
    /// From a receiver that is not in use.
    case standby

    public var isAccepted: Bool {
        switch self {
        case .accepted, .acceptedAfterClockSet, .acceptedAfterJump: true
        case .rejected, .standby: false
        }
    }
}
