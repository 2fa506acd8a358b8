/// The schedule of asking the source of a tileset for its edition.
///
/// However many want to know, a source is not asked again before the pause is over that its last failure left: each of
/// thousands of tiles may show that it has another edition, and it may be unable to say which.
package struct EditionPoll {
    /// Pauses after failed questions, ns.
    private static let firstPause: Int64 = 2_000_000_000
    private static let longestPause: Int64 = 60_000_000_000

    package private(set) var isAsking = false
    /// Whether it is to be asked whatever that costs: it has shown that it has another edition, or somebody wants to know.
    package private(set) var isUrgent = false
    /// Whether its source has shown that it has another edition, and not said yet which: tiles are asked for in vain.
    package private(set) var isSuperseded = false
    /// Questions that failed one after the other.
    private var failures = 0
    /// The moment when its source is to be asked, and before which it must not be, monotonic ns.
    private var asksAt = Int64.min
    private var restsUntil = Int64.min

    /// Its source is to be asked at once.
    package init() {}

    /// Whether its source is to be asked now.
    package func isDue(at moment: Int64) -> Bool { !isAsking && moment >= asksAt && moment >= restsUntil }

    package mutating func begin() { (isAsking, isUrgent) = (true, false) }

    /// It has answered.
    ///
    /// - Parameters:
    ///   - isNews: Whether with another edition, or another list of the same.
    ///   - interval: When it is to be asked again, ns from now.
    package mutating func succeed(isNews: Bool, interval: Int64, at moment: Int64) {
        // A source that takes back what its tiles show, such as servers that do not agree, is asked ever more seldom.
        guard isNews || !isSuperseded else {
            isSuperseded = false
            fail(at: moment)
            return
        }
        (isAsking, isSuperseded, failures) = (false, false, 0)
        (asksAt, restsUntil) = (moment + interval, .min)
    }

    /// It has not answered, or what it said could not be kept.
    package mutating func fail(at moment: Int64) {
        isAsking = false
        isUrgent = isUrgent || isSuperseded
        failures += 1
        restsUntil = moment + min(Self.firstPause << Int64(min(failures - 1, 10)), Self.longestPause)
        asksAt = restsUntil
    }

    /// It is not asked for a while: nothing may be sent.
    package mutating func postpone(at moment: Int64) { asksAt = moment + Self.longestPause }

    /// Has the source asked at once, unless it rests after a failure.
    package mutating func hurry() { asksAt = .min }

    /// Its source has shown that it has another edition.
    package mutating func noteChange() { (isSuperseded, isUrgent, asksAt) = (true, true, .min) }

    /// Forgets failures: the network is another one, or somebody has ordered to ask.
    package mutating func restart(isUrgent: Bool) {
        self.isUrgent = self.isUrgent || isUrgent
        (failures, asksAt, restsUntil) = (0, .min, .min)
    }
}
