public struct FixRejection: Error, Sendable, Hashable {
    public enum Reason: UInt8, Sendable, Hashable, CaseIterable {
        /// No position, or one that is out of range.
        case invalid
        /// The receiver has no solution.
        case fixType
        /// Less accurate than the limit, metres.
        case accuracy
        /// Less accurate than the limit for the first fix, metres.
        case startAccuracy
        /// Arrived too long after its time, seconds.
        case stale
        /// Of a time that has not come yet, seconds.
        case future
        /// Of the same time as one before.
        case duplicate
        /// Earlier than one already used, seconds.
        case outOfOrder
        /// The position stays although the vehicle moves, metres that it should have moved.
        case frozen
        /// A speed that no road vehicle has, m/s.
        case speed
        /// Further from where the vehicle can be than the receiver's error explains, metres.
        case jump
        /// The receiver's integrity monitoring raised an alert.
        case integrity
        /// Counterfeit signals.
        case spoofing
        case jamming

        /// Whether a fix that is rejected for it is one of now: the receiver is heard, and what it says does not count.
        var isOfThePresent: Bool {
            switch self {
            case .duplicate, .outOfOrder, .stale, .future: false
            case .invalid, .fixType, .accuracy, .startAccuracy, .frozen, .speed, .jump, .integrity, .spoofing, .jamming:
                true
            }
        }
    }

    public var reason: Reason
    /// The measured value, where it is a number.
    public var value: Double?
    public var limit: Double?
}

public enum FixVerdict: Sendable, Hashable {
    case accepted
    /// It counts, and its clock runs again from another moment: the clock was set, or a recording starts over.
    case acceptedAfterClockSet
    /// It counts, and the vehicle is somewhere else: the fixes have stayed there for long enough.
    case acceptedAfterJump
    case rejected(FixRejection)
    /// It is of a receiver that is not in use.
    case standby

    public var isAccepted: Bool {
        switch self {
        case .accepted, .acceptedAfterClockSet, .acceptedAfterJump: true
        case .rejected, .standby: false
        }
    }
}
