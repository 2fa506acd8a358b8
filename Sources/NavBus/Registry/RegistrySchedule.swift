/// A schedule of looks at nodes of the registry: events and the time in, what to read out. Reads no clock.
///
/// Events come in bursts (a node that starts announces each of its topics), so a look waits until
/// ``coalescingNanoseconds`` after the one before. A lock that was closed is looked at once more a moment later: the
/// kernel reports the close of a killed process before it frees the lock. Everything is read only at the beginning,
/// when events were lost, and at the intervals of a safety net.
package struct RegistrySchedule {
    /// The part of the registry to read now.
    package enum Look: Hashable {
        case nothing
        case nodes([String])
        case everything
    }

    /// The least time between looks that events cause: 20 ms.
    package static let coalescingNanoseconds: Int64 = 20_000_000
    /// The pause between a lock's close and the second look: 10 ms.
    package static let secondLookNanoseconds: Int64 = 10_000_000

    private let interval: Int64
    private var lastLook: Int64 = .min / 2
    private var nextFull: Int64 = .min / 2
    private var first: [String: Int64] = [:]
    private var second: [String: Int64] = [:]

    /// The moment when ``take(_:)`` has something at the latest, monotonic nanoseconds.
    package private(set) var next: Int64 = .min / 2

    /// A schedule whose safety net reads everything each `interval` nanoseconds.
    package init(interval: Int64) { self.interval = interval }

    /// A node's directory changed; `lockClosed` when its lock was closed by a writer.
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

    /// Events were lost, or the domain's directory itself changed: everything must be read.
    package mutating func lostEvents(_ now: Int64) {
        nextFull = min(nextFull, max(now, lastLook + Self.coalescingNanoseconds))
        next = min(next, nextFull)
    }

    /// Everything is read at `time` even without events, which cannot be relied on.
    package mutating func lookAgain(at time: Int64) {
        nextFull = min(nextFull, time)
        next = min(next, nextFull)
    }

    /// Returns what to read at `now`; the caller reads it.
    package mutating func take(_ now: Int64) -> Look {
        guard now >= next else { return .nothing }
        lastLook = now
        if now >= nextFull {
            nextFull = now + interval
            // A second look that is owed is still owed: the lock may not be free yet.
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
