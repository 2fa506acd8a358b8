import NavKit
import NavMessages

/// The schedule of a file's fixes: from the first subscriber on, at the pace of their stamps. It knows no clock.
package struct Playback {
    package enum Step: Equatable {
        /// Look again then.
        case wait(until: Int64)
        case publish(Int)
        /// A stretch of so many nanoseconds without a fix is left out.
        case jump(Int64)
        case end
    }

    private enum State: Equatable {
        case waiting(since: Int64?)
        case playing(begin: Int64, next: Int)
        case resting(until: Int64)
    }

    /// The longest wait for a subscriber, ns.
    private static let patience: Int64 = 10_000_000_000
    /// The time that the node stays after the last fix, so that it arrives, ns.
    private static let rest: Int64 = 1_000_000_000
    /// The interval of looking for a subscriber, ns.
    private static let look: Int64 = 20_000_000

    /// The longest stretch without a fix that is waited for, ns of the file: an hour, as of a bag.
    private static let longestGap: Int64 = 3_600_000_000_000
    /// The longest delay that playback of a file catches up with, ns; after a longer one it continues from where it stood.
    private static let hesitation: Int64 = 50_000_000

    private let stamps: [Int64?]
    private let first: Int64
    private var state = State.waiting(since: nil)
    /// The latest stamp that was due; one that is older, or has none, is due with it.
    private var latest = Int64.min
    /// Times as fast as it was recorded.
    private(set) var rate: Double
    /// Whether it starts over at its end.
    private let loops: Bool

    /// The playback of fixes with these stamps, ns; one without a stamp goes with the one before.
    package init(stamps: [Int64?], rate: Double, loops: Bool) {
        self.stamps = stamps
        first = stamps.lazy.compactMap { $0 }.first ?? 0
        self.rate = rate
        self.loops = loops && !stamps.isEmpty
    }

    /// Returns the action for a moment, monotonic ns.
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
        case .playing(let begin, let next):
            guard next < stamps.count else {
                state = loops ? .playing(begin: now, next: 0) : .resting(until: now + Playback.rest)
                return .wait(until: loops ? now : now + Playback.rest)
            }
            if next == 0 { latest = first }
            let span = Pace.nanoseconds(from: first, to: max(latest, stamps[next] ?? first), rate: rate)
            let due = begin + span
            if next > 0, now < due, let gap = gap(before: next), gap > Self.longestGap {
                state = .playing(begin: now - span, next: next)
                return .jump(gap)
            }
            guard now >= due else { return .wait(until: due) }
            latest = max(latest, stamps[next] ?? first)
            state = .playing(begin: now - due > Self.hesitation ? now - span : begin, next: next + 1)
            return .publish(next)
        case .resting(let end): return now < end ? .wait(until: end) : .end
        }
    }

    private func gap(before next: Int) -> Int64? {
        guard let earlier = stamps[next - 1], let later = stamps[next] else { return nil }
        let (gap, overflow) = later.subtractingReportingOverflow(earlier)
        return overflow ? (later > earlier ? .max : nil) : gap
    }

    /// Goes on at another rate from a moment on.
    package mutating func setRate(_ rate: Double, at now: Int64) {
        if case .playing(let begin, let next) = state, next > 0 {
            // The present place in the file stays where it is.
            let played = max(0, now - begin)
            let scaled = Double(played) * self.rate / rate
            state = .playing(begin: now - Int64(min(scaled, 9e18)), next: next)
        }
        self.rate = rate
    }
}
