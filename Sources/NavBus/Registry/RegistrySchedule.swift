/// A schedule for reading the registry: events and times in, the entries to read out.
///
/// It reads no clock.
///
/// Events come in bursts (a starting node announces each of its topics), so a read waits until ``coalescingNanoseconds``
/// after the previous one. A node whose lock was closed is checked again a moment later, because the kernel reports the
/// close by a killed process before it frees the lock. Everything is read only at the beginning, after lost events, and
/// at a safety-net interval.
package struct RegistrySchedule {
    /// The part of the registry to read now.
    package enum Scan: Hashable {
        case nothing
        case nodes([String])
        case everything
    }

    /// The shortest time between two reads caused by events: 20 ms.
    package static let coalescingNanoseconds: Int64 = 20_000_000
    /// The pause between a lock's close and the second check: 10 ms.
    package static let secondLookNanoseconds: Int64 = 10_000_000

    private let interval: Int64
    private var lastLook: Int64 = .min / 2
    private var nextFull: Int64 = .min / 2
    private var first: [String: Int64] = [:]
    private var second: [String: Int64] = [:]

    /// The latest time at which ``take(_:)`` must be called, in monotonic nanoseconds.
    package private(set) var next: Int64 = .min / 2

    /// Creates a schedule whose safety net reads everything every `interval` nanoseconds.
    package init(interval: Int64) { self.interval = interval }

    /// Handles a change of a node's directory; `lockClosed` when a writer closed its lock.
    package mutating func changed(_ node: String, lockClosed: Bool, now: Int64) {
        guard first.count + second.count < 2 * BusDirectory.maximumNodes else { return lostEvents(now) }
        let at = max(now, lastLook + Self.coalescingNanoseconds)
        first[node] = min(first[node] ?? .max, at)
        next = min(next, at)
        if lockClosed {
            let again = max(now + Self.secondLookNanoseconds, at)
            second[node] = again
            next = min(next, again)
        }
    }

    /// Handles lost events, or a change of the domain's directory itself: everything must be read.
    package mutating func lostEvents(_ now: Int64) {
        nextFull = min(nextFull, max(now, lastLook + Self.coalescingNanoseconds))
        next = min(next, nextFull)
    }

    /// Schedules a full read at `time`, for when events cannot be relied on.
    package mutating func lookAgain(at time: Int64) {
        nextFull = min(nextFull, time)
        next = min(next, nextFull)
    }

    /// Returns the part that the caller must read at `now`.
    package mutating func take(_ now: Int64) -> Scan {
        guard now >= next else { return .nothing }
        lastLook = now
        if now >= nextFull {
            nextFull = now + interval
            // A pending second check stays pending: the lock may not be free yet.
            first = [:]
            second = second.filter { $0.value > now }
            next = second.values.reduce(nextFull, min)
            return .everything
        }
        let names = Set(first.filter { $0.value <= now }.keys).union(second.filter { $0.value <= now }.keys)
        first = first.filter { $0.value > now }
        second = second.filter { $0.value > now }
        next = first.values.reduce(second.values.reduce(nextFull, min), min)
        return names.isEmpty ? .nothing : .nodes(names.sorted())
    }
}
