/// The pace of a scrub: when its next step is due, and how many bytes it has. It goes slowly, and stands
/// still while there is something else to do.
///
/// It decides and does nothing. Moments are nanoseconds of any clock that never runs backwards.
package struct ScrubPace: Sendable, Hashable {
    /// Most bytes that are looked at in one step: some milliseconds of a thread that others wait for.
    package static let greatestStep: Int64 = 1 << 20
    /// Fewest, so that a slow walk does not wake the machine for each file.
    package static let leastStep: Int64 = 16 << 10
    /// The least pause after a step, ns.
    private static let breath: Int64 = 10_000_000
    /// The least pause after a round, ns: a small store is not read over and over again.
    private static let idle: Int64 = 5_000_000_000
    /// The pause while there is something else to do, ns.
    private static let pause: Int64 = 1_000_000_000
    /// The pause after a failure, ns: what a machine or a disk lacks is not there a second later.
    private static let rest: Int64 = 60_000_000_000

    /// The mean rate, bytes per second, up to some 100,000,000; 0 for none.
    package let bytesPerSecond: Int64
    /// The moment of the next step; `Int64.max` when there is none.
    package private(set) var due: Int64

    /// A walk whose first step is due at once.
    ///
    /// - Parameter bytesPerSecond: 0 or less for a walk that never begins.
    package init(bytesPerSecond: Int64) {
        self.bytesPerSecond = max(bytesPerSecond, 0)
        due = bytesPerSecond > 0 ? .min : .max
    }

    /// Returns the number of bytes to read now; nil when it is not time, or there is something else to do.
    package mutating func step(isBusy: Bool, at moment: Int64) -> Int64? {
        guard moment >= due, bytesPerSecond > 0 else { return nil }
        guard !isBusy else {
            due = Self.later(moment, Self.pause)
            return nil
        }
        return min(max(bytesPerSecond, Self.leastStep), Self.greatestStep)
    }

    /// A step has ended: the next one is due when as many bytes would have been looked at by the rate.
    ///
    /// - Parameters:
    ///   - bytes: What it came to; a file is looked at whole, so it may be more than the step had.
    ///   - isRound: Whether all that is on board was looked at with it.
    package mutating func note(_ bytes: Int64, isRound: Bool, at moment: Int64) {
        guard bytesPerSecond > 0 else { return }
        let seconds = Double(max(bytes, 0)) / Double(bytesPerSecond)
        due = Self.later(moment, max(Int64(min(seconds * 1e9, 1e18)), isRound ? Self.idle : Self.breath))
    }

    package mutating func fail(at moment: Int64) {
        guard bytesPerSecond > 0 else { return }
        due = Self.later(moment, Self.rest)
    }

    private static func later(_ moment: Int64, _ pause: Int64) -> Int64 {
        let (sum, overflow) = moment.addingReportingOverflow(pause)
        return overflow ? .max : sum
    }
}
