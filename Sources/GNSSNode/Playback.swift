import NavKit
import NavMessages

/// The schedule of a file's fixes, from the first subscriber on, at the pace of their stamps; it reads no clock.
package struct Playback {
    package enum Step: Equatable {
        /// Nothing is due before this time, monotonic ns.
        case wait(until: Int64)
        case publish(Int)
        /// A gap of this many nanoseconds without a fix is skipped.
        case jump(Int64)
        case end
    }

    private enum State: Equatable {
        case waiting(since: Int64?)
        case playing(begin: Int64, next: Int)
        case betweenRuns(until: Int64)
    }

    /// The longest wait for a subscriber, ns.
    private static let patience: Int64 = 10_000_000_000
    /// The wait after the last fix, for its delivery, ns.
    private static let loopPause: Int64 = 1_000_000_000
    /// The pause before a file of a single moment is repeated, ns; without it, the repetitions would follow each other
    /// at once.
    private static let pause: Int64 = 1_000_000_000
    /// The interval of checks for a subscriber, ns.
    private static let look: Int64 = 20_000_000

    /// The longest gap between fixes that is played in full, ns of the file: an hour, as for a bag.
    private static let longestGap: Int64 = 3_600_000_000_000
    /// The longest step back that counts as fixes out of order, ns of the file; after a longer one, the clock was set back.
    private static let longestStepBack: Int64 = 60_000_000_000
    /// The longest delay that the playback makes up for, ns; after a longer delay it continues where it stopped.
    private static let hesitation: Int64 = 50_000_000

    /// The interval between fixes without stamps, ns; the same as in a converted trace.
    private static let interval: Int64 = 1_000_000_000

    private let stamps: [Int64]
    private let first: Int64
    private var state = State.waiting(since: nil)
    /// The stamp that was due at the time from which `State.playing` counts: the first one since the clock was last set back.
    private var origin = Int64.min
    /// The latest stamp that was due since the clock was last set back; a fix with an older stamp is due at the same time.
    private var latest = Int64.min
    /// The speed relative to the recording.
    private(set) var rate: Double
    /// Whether the playback starts over at its end.
    private let loops: Bool

    /// Creates the playback of fixes with these stamps, ns; a fix without a stamp is due a second after the previous one, but
    /// not after the next one.
    package init(stamps: [Int64?], rate: Double, loops: Bool) {
        self.stamps = Playback.filled(stamps)
        first = self.stamps.first ?? 0
        self.rate = rate
        self.loops = loops && !stamps.isEmpty
    }

    /// Returns the stamps with the missing ones filled in; those before the first known one precede it by seconds.
    private static func filled(_ stamps: [Int64?]) -> [Int64] {
        let leading = stamps.prefix { $0 == nil }.count
        let origin = leading < stamps.count ? stamps[leading] ?? 0 : 0
        let (start, underflow) = origin.subtractingReportingOverflow(Int64(leading + 1) * interval)
        var (last, bound) = (underflow ? .min : start, Int64.max)
        let bounds = stamps.reversed().map { stamp in
            bound = stamp ?? bound
            return bound
        }
        return zip(stamps, bounds.reversed()).map { stamp, bound in
            let (following, overflow) = last.addingReportingOverflow(interval)
            last = stamp ?? min(overflow ? .max : following, bound)
            return last
        }
    }

    /// Returns the next action at a moment, monotonic ns.
    package mutating func step(_ now: Int64, hasSubscriber: Bool) -> Step {
        switch state {
        case .waiting(let since):
            let begin = since ?? now
            guard hasSubscriber || now - begin >= Playback.patience else {
                state = .waiting(since: begin)
                return .wait(until: now + Playback.look)
            }
            state = .playing(begin: now, next: 0)
            return step(now, hasSubscriber: hasSubscriber)
        case .playing(var begin, let next):
            guard next < stamps.count else {
                guard loops else {
                    state = .betweenRuns(until: now + Playback.loopPause)
                    return .wait(until: now + Playback.loopPause)
                }
                let begin = latest > origin ? now : now + Playback.pause
                state = .playing(begin: begin, next: 0)
                return .wait(until: begin)
            }
            if next == 0 { (origin, latest) = (first, first) }
            if isSetBack(at: next) { (origin, latest, begin) = (stamps[next], stamps[next], now) }
            let span = Pace.nanoseconds(from: origin, to: max(latest, stamps[next]), rate: rate)
            let due = begin + span
            if next > 0, now < due, let gap = gap(before: next), gap > Self.longestGap {
                state = .playing(begin: now - span, next: next)
                return .jump(gap)
            }
            guard now >= due else { return .wait(until: due) }
            latest = max(latest, stamps[next])
            state = .playing(begin: now - due > Self.hesitation ? now - span : begin, next: next + 1)
            return .publish(next)
        case .betweenRuns(let end): return now < end ? .wait(until: end) : .end
        }
    }

    /// Whether the clock was set back before a fix, so that the fixes from it on are due at the pace of their own stamps.
    ///
    /// The following fix must be from that time as well; otherwise the single stamp is wrong.
    private func isSetBack(at next: Int) -> Bool {
        let (bound, underflow) = latest.subtractingReportingOverflow(Self.longestStepBack)
        return !underflow && next + 1 < stamps.count && max(stamps[next], stamps[next + 1]) < bound
    }

    private func gap(before next: Int) -> Int64? {
        let (earlier, later) = (stamps[next - 1], stamps[next])
        let (gap, overflow) = later.subtractingReportingOverflow(earlier)
        return overflow ? (later > earlier ? .max : nil) : gap
    }

    /// Changes the rate from a moment on.
    package mutating func setRate(_ rate: Double, at now: Int64) {
        if case .playing(let begin, let next) = state, next > 0 {
            // The current position in the file does not change.
            let played = max(0, now - begin)
            let scaled = Double(played) * self.rate / rate
            state = .playing(begin: now - Int64(min(scaled, 9e18)), next: next)
        }
        self.rate = rate
    }
}
