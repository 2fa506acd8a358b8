/// When the next files on board are looked at for damage, and how many bytes of them: a walk that goes slowly, and stands
/// still while there is something else to do.
///
/// It decides and does nothing. Moments are nanoseconds of any clock that never runs backwards.
public struct ScrubPace: Sendable, Hashable {
    /// Most bytes that are looked at in one step: some milliseconds of a thread that others wait for.
    public static let greatestStep: Int64 = 1 << 20
    /// Fewest, so that a slow walk does not wake the machine for each file.
    public static let leastStep: Int64 = 16 << 10
    /// How long it stands still at least after a step, ns.
    private static let breath: Int64 = 10_000_000
    /// How long after a round, ns: what is small is not looked at over and over again.
    private static let idle: Int64 = 5_000_000_000
    /// How long when there is something else to do, ns.
    private static let pause: Int64 = 1_000_000_000
    /// How long it stands still after a failure, ns: what a machine or a disk lacks is not there a second later.
    private static let rest: Int64 = 60_000_000_000

    /// How many bytes a second are looked at on the long run, up to some 100,000,000; 0 for none.
    public let bytesPerSecond: Int64
    /// When the next step is due; `Int64.max` when there is none.
    public private(set) var due: Int64

    /// A walk whose first step is due at once.
    ///
    /// - Parameter bytesPerSecond: 0 or less for a walk that never begins.
    public init(bytesPerSecond: Int64) {
        self.bytesPerSecond = max(bytesPerSecond, 0)
        due = bytesPerSecond > 0 ? .min : .max
    }

    /// How many bytes to look at now; nil when it is not time, or there is something else to do.
    public mutating func step(isBusy: Bool, at moment: Int64) -> Int64? {
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
    public mutating func note(_ bytes: Int64, isRound: Bool, at moment: Int64) {
        guard bytesPerSecond > 0 else { return }
        let seconds = Double(max(bytes, 0)) / Double(bytesPerSecond)
        due = Self.later(moment, max(Int64(min(seconds * 1e9, 1e18)), isRound ? Self.idle : Self.breath))
    }

    /// A step has failed.
    public mutating func fail(at moment: Int64) {
        guard bytesPerSecond > 0 else { return }
        due = Self.later(moment, Self.rest)
    }

    private static func later(_ moment: Int64, _ pause: Int64) -> Int64 {
        let (sum, overflow) = moment.addingReportingOverflow(pause)
        return overflow ? .max : sum
    }
}
