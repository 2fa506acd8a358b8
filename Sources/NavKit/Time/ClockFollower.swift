public import NavGeo

/// The number of a continuous stretch of `/clock`, from 1; a loop, a seek or another player begins a new one.
public struct ClockEpoch: Sendable, Hashable, Comparable {
    /// The number of the stretch in the order of observation, from 1.
    public let number: UInt64

    /// Compares by number, earlier first.
    public static func < (left: ClockEpoch, right: ClockEpoch) -> Bool { left.number < right.number }
}

/// A moment of `/clock` and its epoch; times of different epochs are not comparable.
public struct ClockMoment: Sendable, Hashable {
    /// The epoch of the time.
    public let epoch: ClockEpoch
    /// The simulated time within the epoch.
    public let time: SimulatedTime
}

/// The meaning of a `/clock` message for a node.
public enum ClockEvent: Sendable, Hashable {
    /// The first message: time starts.
    case started(ClockMoment)
    /// Time advanced or stood still.
    case advanced(SimulatedTime)
    /// An announced jump: earlier state is invalid.
    case jumped(from: ClockMoment, to: ClockMoment)
}

/// A policy for `/clock` messages: the publisher to follow, the jumps, and the messages to ignore.
///
/// - The first publisher is followed. Another one is ignored while the first is alive; after that, it takes over with a jump.
/// - A higher epoch of the followed publisher is a jump. A time that runs backwards within an epoch is ignored.
///
/// It reads no clock and no socket.
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
        /// Its time is before the current time of the same epoch.
        case backwards
        /// Its epoch is over.
        case pastEpoch
        /// Another publisher is followed and alive.
        case rival
    }

    package enum Verdict: Hashable {
        case event(ClockEvent)
        /// The message is ignored; `isFirst` is true for the first with this reason in this epoch, so that each reason
        /// is logged once.
        case ignored(Reason, isFirst: Bool)
    }

    private var source: UInt64?
    private var sourceEpoch: UInt32 = 0
    /// The current moment; nil before the first message.
    package private(set) var moment: ClockMoment?
    /// Whether the player has paused time.
    package private(set) var isPaused = false
    /// The number of ignored messages since the start, by reason.
    package private(set) var ignored: [Reason: UInt64] = [:]
    private var reported: Set<Reason> = []

    package init() {}

    /// The boot id of the followed publisher; nil before the first message.
    package var followed: UInt64? { source }

    /// Handles a message.
    ///
    /// - Parameter isAlive: whether the publisher with a boot id is still present; called only for the followed
    ///   publisher when another one sends.
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
        reported = []
        return .event(.jumped(from: present, to: next))
    }

    private mutating func ignore(_ reason: Reason) -> Verdict {
        ignored[reason, default: 0] += 1
        return .ignored(reason, isFirst: reported.insert(reason).inserted)
    }
}
