public import NavGeo

/// Counts the stretches of `/clock` that a node has lived in, from 1: a loop, a seek or another player begins a new one.
public struct ClockEpoch: Sendable, Hashable, Comparable {
    /// The count.
    public let number: UInt64

    /// Earlier is less.
    public static func < (left: ClockEpoch, right: ClockEpoch) -> Bool { left.number < right.number }
}

/// A moment of `/clock` and the epoch it belongs to; times of different epochs have nothing to do with each other.
public struct ClockMoment: Sendable, Hashable {
    /// The epoch.
    public let epoch: ClockEpoch
    /// The time.
    public let time: SimulatedTime
}

/// The meaning of a message of `/clock` for a node.
public enum ClockEvent: Sendable, Hashable {
    /// The first one: time begins.
    case started(ClockMoment)
    /// Time went on, or stood still.
    case advanced(SimulatedTime)
    /// An announced jump: nothing that was true before it holds.
    case jumped(from: ClockMoment, to: ClockMoment)
}

/// Decides what messages of `/clock` mean: whom to follow, what is a jump, and what is to be ignored.
///
/// - The first publisher is followed. Another one is ignored while the first lives, and replaces it with a jump after.
/// - A higher epoch of the followed publisher is a jump. A time that runs backwards without one is ignored.
///
/// It knows no clock and no socket.
package struct ClockFollower {
    package struct Sample {
        package var time: SimulatedTime
        package var epoch: UInt32
        package var isPaused = false
        package var bootID: UInt64

        package init(time: SimulatedTime, epoch: UInt32, isPaused: Bool = false, bootID: UInt64) {
            (self.time, self.epoch, self.isPaused, self.bootID) = (time, epoch, isPaused, bootID)
        }
    }

    package enum Reason: Hashable {
        /// Its time is before the present one of the same epoch.
        case backwards
        /// Its epoch is over.
        case pastEpoch
        /// Another publisher is followed, and lives.
        case rival
    }

    package enum Verdict: Hashable {
        case event(ClockEvent)
        /// To be ignored; `isFirst` of its reason in this epoch, so that one warning is enough.
        case ignored(Reason, isFirst: Bool)
    }

    private var source: UInt64?
    private var sourceEpoch: UInt32 = 0
    /// The present; nil before the first message.
    package private(set) var moment: ClockMoment?
    /// Whether the time stands still by the player's will.
    package private(set) var isPaused = false
    /// The number of messages that were ignored since the start, by reason.
    package private(set) var ignored: [Reason: UInt64] = [:]
    private var told: Set<Reason> = []

    package init() {}

    /// Whom time comes from: a run of a publisher; nil before the first message.
    package var followed: UInt64? { source }

    /// Takes a message in.
    ///
    /// - Parameter isAlive: whether the run of a publisher with that boot id is still there; asked only of the followed
    ///   one when another speaks.
    package mutating func receive(_ sample: Sample, isAlive: (UInt64) -> Bool) -> Verdict {
        guard let present = moment, let source else {
            (source, sourceEpoch, isPaused) = (sample.bootID, sample.epoch, sample.isPaused)
            let first = ClockMoment(epoch: ClockEpoch(number: 1), time: sample.time)
            moment = first
            return .event(.started(first))
        }
        if sample.bootID != source {
            guard !isAlive(source) else { return ignore(.rival) }
            self.source = sample.bootID
            return jump(from: present, to: sample)
        }
        if sample.epoch > sourceEpoch { return jump(from: present, to: sample) }
        if sample.epoch < sourceEpoch { return ignore(.pastEpoch) }
        if sample.time < present.time { return ignore(.backwards) }
        isPaused = sample.isPaused
        moment = ClockMoment(epoch: present.epoch, time: sample.time)
        return .event(.advanced(sample.time))
    }

    private mutating func jump(from present: ClockMoment, to sample: Sample) -> Verdict {
        let next = ClockMoment(epoch: ClockEpoch(number: present.epoch.number &+ 1), time: sample.time)
        (moment, sourceEpoch, isPaused) = (next, sample.epoch, sample.isPaused)
        told = []
        return .event(.jumped(from: present, to: next))
    }

    private mutating func ignore(_ reason: Reason) -> Verdict {
        ignored[reason, default: 0] += 1
        return .ignored(reason, isFirst: told.insert(reason).inserted)
    }
}
