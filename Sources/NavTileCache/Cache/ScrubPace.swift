/// The pace of a scrub: the moment of its next step and the bytes it may read.
///
/// A scrub is slow and pauses while there is other work. The pace only decides. Moments are nanoseconds of any clock
/// that never runs backwards.
package struct ScrubPace: Sendable, Hashable {
    /// The maximum number of bytes read in one step, which blocks other work on its thread for some milliseconds.
    package static let greatestStep: Int64 = 1 << 20
    /// The minimum number of bytes of a step, so that a slow scrub does not wake the machine for each file.
    package static let leastStep: Int64 = 16 << 10
    /// The least pause after a step, ns.
    private static let breath: Int64 = 10_000_000
    /// The least pause after a round, ns, so that a small store is not read over and over again.
    private static let idle: Int64 = 5_000_000_000
    /// The pause while there is other work, ns.
    private static let pause: Int64 = 1_000_000_000
    /// The pause after a failure, ns, since a lack of memory or a failing disk rarely recovers within a second.
    private static let rest: Int64 = 60_000_000_000

    /// The mean rate, bytes per second, up to some 100,000,000; 0 turns the scrub off.
    package let bytesPerSecond: Int64
    /// The moment of the next step; `Int64.max` when there is none.
    package private(set) var due: Int64

    /// A scrub whose first step is due at once.
    ///
    /// - Parameter bytesPerSecond: The mean rate; 0 or less for a scrub that never begins.
    package init(bytesPerSecond: Int64) {
        self.bytesPerSecond = max(bytesPerSecond, 0)
        due = bytesPerSecond > 0 ? .min : .max
    }

    /// Returns the number of bytes to read now; nil when no step is due or there is other work.
    package mutating func step(isBusy: Bool, at moment: Int64) -> Int64? {
        guard moment >= due, bytesPerSecond > 0 else { return nil }
        guard !isBusy else {
            due = Self.later(moment, Self.pause)
            return nil
        }
        return min(max(bytesPerSecond, Self.leastStep), Self.greatestStep)
    }

    /// Records that a step has ended; the next one is due when its bytes fit the rate.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were read; files are read whole, so this may exceed the step's share.
    ///   - isRound: Whether the step completed a round of all that is on board.
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
