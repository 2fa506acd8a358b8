public import NavGeo

/// A moment of a node's time: the machine's monotonic clock, or `/clock` with `sim_time: true`.
///
/// It measures timers and ages; for stamps see ``NodeClock/stamp``.
public struct NodeTime: Moment {
    /// Nanoseconds since an arbitrary start.
    public var nanoseconds: Int64

    /// Creates a moment from nanoseconds since the clock's start.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    init(_ instant: MonotonicInstant) { nanoseconds = instant.nanoseconds }
    init(_ simulated: SimulatedTime) { nanoseconds = simulated.nanoseconds }
}

/// A timer of a node.
public struct TimerID: Sendable, Hashable {
    let number: UInt64
}

/// A queue of timers, ordered by due time and then by creation.
///
/// It reads no clock.
package struct TimerQueue {
    private struct Entry {
        let id: TimerID
        let period: Duration?
        var due: NodeTime
    }

    /// Sorted, because a node has few timers.
    private var entries: [Entry] = []
    private var made: UInt64 = 0

    package init() {}

    package var next: NodeTime? { entries.first?.due }

    /// Adds a timer that is due at `due` and, with a period, one period after each previous due time.
    package mutating func add(due: NodeTime, every period: Duration? = nil) -> TimerID {
        made += 1
        let id = TimerID(number: made)
        insert(id, due: due, every: period)
        return id
    }

    /// Reinserts a removed timer.
    package mutating func insert(_ id: TimerID, due: NodeTime, every period: Duration?) {
        insert(Entry(id: id, period: period.map { max($0, .nanoseconds(1)) }, due: due))
    }

    /// Removes a timer; has no effect when it no longer exists.
    package mutating func remove(_ id: TimerID) { entries.removeAll { $0.id == id } }

    /// Removes and returns the next timer due at `now` or before, with its due time; a periodic one is rescheduled.
    ///
    /// - Parameter skipsMissed: whether a periodic timer that is late by more than its period skips the missed ones.
    package mutating func takeDue(
        at now: NodeTime, skipsMissed: Bool
    ) -> (id: TimerID, due: NodeTime, isLast: Bool)? {
        guard let first = entries.first, first.due <= now else { return nil }
        entries.removeFirst()
        var isLast = true
        if let period = first.period {
            var again = first
            again.due = first.due + period
            if skipsMissed, again.due <= now { again.due = now + period }
            // At the end of representable time there is no later due time.
            if again.due > first.due {
                insert(again)
                isLast = false
            }
        }
        return (first.id, first.due, isLast)
    }

    /// Skips the missed periods of timers that are late by more than one period at `now`: each timer is then due once.
    package mutating func skipMissed(at now: NodeTime) {
        let old = entries
        entries = []
        for var entry in old {
            if let period = entry.period, entry.due + period < now { entry.due = now }
            insert(entry)
        }
    }

    /// Adjusts the timers to a jump: periodic ones restart at `to`, others keep the rest of their wait.
    package mutating func rebase(from: NodeTime, to: NodeTime) {
        let old = entries.sorted { $0.id.number < $1.id.number }
        entries = []
        for var entry in old {
            entry.due = entry.period == nil ? to + max(.zero, entry.due - from) : to
            insert(entry)
        }
    }

    private mutating func insert(_ entry: Entry) {
        let place = entries.firstIndex { ($0.due, $0.id.number) > (entry.due, entry.id.number) } ?? entries.count
        entries.insert(entry, at: place)
    }
}
