/// The schedule of polling a tileset's source for its edition.
///
/// A failed source is not polled again before its pause is over, however often a poll is requested: each of thousands of tiles may reveal a
/// new edition that the source cannot name yet. A source whose tiles keep revealing other editions, such as two servers with different
/// files behind one address, is polled less and less often.
package struct EditionPoll {
    /// Pauses after failed polls, ns.
    private static let firstPause: Int64 = 2_000_000_000
    private static let longestPause: Int64 = 60_000_000_000
    /// The time after news within which further news counts as a repetition, ns.
    private static let repetitionTime: Int64 = 600_000_000_000

    package private(set) var isPending = false
    /// Whether the poll may use any network, because the source has shown that it has another edition, or a caller has
    /// requested the poll.
    package private(set) var isUrgent = false
    /// Whether the source has shown that it has another edition but has not named it yet; until then, tile requests are
    /// useless.
    package private(set) var isSuperseded = false
    /// Consecutive failed polls.
    private var failures = 0
    /// The moment of the last news, monotonic ns; nil before the first.
    private var newsAt: Int64?
    /// Consecutive news revealed by tiles, each soon after the previous one.
    private var repetitions = 0
    /// The moment when the source is to be polled, and the moment before which it must not be, monotonic ns.
    private var dueAt = Int64.min
    private var backoffUntil = Int64.min

    /// A schedule whose first poll is due at once.
    package init() {}

    /// Whether the source is to be polled now.
    package func isDue(at moment: Int64) -> Bool { !isPending && moment >= dueAt && moment >= backoffUntil }

    package mutating func begin() { (isPending, isUrgent) = (true, false) }

    /// Records that the source has answered.
    ///
    /// - Parameters:
    ///   - isNews: Whether the answer is another edition, or another list of the same edition.
    ///   - interval: The time until the next poll, ns.
    package mutating func succeed(isNews: Bool, interval: Int64, at moment: Int64) {
        // A source whose answer contradicts its tiles, such as servers that are out of sync, is polled less and less
        // often.
        guard isNews || !isSuperseded else {
            isSuperseded = false
            fail(at: moment)
            return
        }
        if newsAt.map({ moment - $0 >= Self.repetitionTime }) ?? true {
            repetitions = 0
        } else if isNews, isSuperseded {
            repetitions += 1
        }
        if isNews { newsAt = moment }
        (isPending, isSuperseded, failures) = (false, false, 0)
        (dueAt, backoffUntil) = (moment + interval, isNews ? moment + Self.pause(repetitions) : .min)
    }

    /// Records that the source has not answered, or that its answer could not be used.
    ///
    /// - Parameter pause: The least time until the next poll, ns.
    package mutating func fail(at moment: Int64, pause: Int64 = 0) {
        isPending = false
        isUrgent = isUrgent || isSuperseded
        failures += 1
        backoffUntil = moment + max(Self.pause(failures), pause)
        dueAt = backoffUntil
    }

    /// Returns the pause after a number of consecutive failures or repetitions, ns.
    private static func pause(_ count: Int) -> Int64 {
        count > 0 ? min(firstPause << Int64(min(count - 1, 10)), longestPause) : 0
    }

    /// Postpones the poll by the longest pause, because the network must not be used.
    package mutating func postpone(at moment: Int64) { dueAt = moment + Self.longestPause }

    /// Makes the poll due at once, unless the source is paused after a failure.
    package mutating func hurry() { dueAt = .min }

    /// Records that the source has shown that it has another edition.
    package mutating func noteChange() { (isSuperseded, isUrgent, dueAt) = (true, true, .min) }

    /// Forgets failures, because the network has changed or a caller has requested a poll.
    package mutating func restart(isUrgent: Bool) {
        self.isUrgent = self.isUrgent || isUrgent
        (failures, repetitions, newsAt) = (0, 0, nil)
        (dueAt, backoffUntil) = (.min, .min)
    }
}
