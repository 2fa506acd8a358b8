/// The difference between two ordered lists of events.
package struct EventDiff: Sendable {
    /// An event of a drive, in the words of the node's log.
    package struct Event: Sendable, Hashable, Codable {
        /// Seconds since the start.
        package var time: Double
        package var topic: String
        package var text: String

        package init(time: Double, topic: String, text: String) {
            (self.time, self.topic, self.text) = (time, topic, text)
        }
    }

    /// One line of the comparison.
    package enum Change: Sendable, Equatable {
        /// An event that only the first list has.
        case removed(Event)
        /// An event that only the second list has.
        case added(Event)
        /// An event whose times differ by more than the tolerance: the event of the first list, and the time in the second.
        case moved(Event, to: Double)
    }

    /// The differences that are ignored.
    package struct Tolerances: Sendable, Hashable, Codable {
        /// In the time of an event, seconds.
        package var time = 0.05
        /// In a distance within an event's text, metres.
        package var distance = 0.0
        /// In a duration within an event's text, seconds.
        package var duration = 0.0

        package init() {}
    }

    /// The differences, in the order of the events.
    package let changes: [Change]
    /// The number of events in both lists, at any time.
    package let commonCount: Int

    /// The number of events of each list that are compared at a time.
    ///
    /// Time and memory grow with the square of this number: without a limit, lists with nothing in common, such as drives in two
    /// languages, would take gigabytes.
    private static let window = 1_000

    /// Compares two drives.
    package init(_ before: [Event], _ after: [Event], tolerances: Tolerances = Tolerances()) {
        var changes: [Change] = []
        var common = 0
        var (old, new) = (0, 0)
        while old < before.count || new < after.count {
            let first = before[old..<min(old + Self.window, before.count)]
            let second = after[new..<min(new + Self.window, after.count)]
            var (removed, inserted) = (Set<Int>(), Set<Int>())
            for change in second.difference(from: first, by: { tolerances.areEqual($0.text, $1.text) }) {
                switch change {
                case .remove(let offset, _, _): removed.insert(first.startIndex + offset)
                case .insert(let offset, _, _): inserted.insert(second.startIndex + offset)
                }
            }
            // The counterpart of an event near the end of a window may be outside it, so the next window begins half a window later.
            let isLast = first.endIndex == before.count && second.endIndex == after.count
            let (oldEnd, newEnd) = (old + Self.window / 2, new + Self.window / 2)
            while isLast ? old < first.endIndex || new < second.endIndex : old < oldEnd && new < newEnd {
                if removed.contains(old) {
                    changes.append(.removed(before[old]))
                    old += 1
                } else if inserted.contains(new) {
                    changes.append(.added(after[new]))
                    new += 1
                } else {
                    if abs(before[old].time - after[new].time) > tolerances.time {
                        changes.append(.moved(before[old], to: after[new].time))
                    }
                    common += 1
                    old += 1
                    new += 1
                }
            }
        }
        self.changes = changes
        commonCount = common
    }
}

extension EventDiff.Tolerances {
    /// Whether two texts are equal apart from distances and durations within the tolerances.
    func areEqual(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard distance > 0 || duration > 0 else { return false }
        let (first, second) = (left.split(separator: " "), right.split(separator: " "))
        guard first.count == second.count else { return false }
        return first.indices.allSatisfy { index in
            if first[index] == second[index] { return true }
            guard let old = Double(first[index]), let new = Double(second[index]), index + 1 < first.count else {
                return false
            }
            let limit: Double? =
                switch first[index + 1].prefix(while: \.isLetter) {
                case "m": distance
                case "km": distance / 1_000
                case "s": duration
                case "min": duration / 60
                default: nil
                }
            return limit.map { abs(old - new) <= $0 + 1e-9 } ?? false
        }
    }
}
