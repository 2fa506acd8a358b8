package import NavGeo

/// The rates at which messages arrive from each publisher on each topic, over the last seconds.
package struct ArrivalRates {
    private struct Source: Hashable {
        var topic: String
        var publisher: UInt64
    }

    private struct Arrivals {
        var count: UInt64 = 0
        /// The counts at the last ticks, oldest first.
        var ticks: [(count: UInt64, time: MonotonicInstant)] = []
    }

    /// The ticks over which a rate is measured.
    private static let window = 10
    /// The most topics of all publishers.
    private static let mostSources = 4_096

    private var sources: [Source: Arrivals] = [:]

    package init() {}

    /// Counts a message.
    ///
    /// - Parameter publisher: the `boot_id` of its publisher.
    package mutating func add(topic: String, publisher: UInt64) {
        let source = Source(topic: topic, publisher: publisher)
        guard sources[source] != nil || sources.count < Self.mostSources else { return }
        sources[source, default: Arrivals()].count += 1
    }

    /// Samples the counts, about once per second, and removes publishers that are not `present`.
    package mutating func tick(_ now: MonotonicInstant, present: Set<UInt64>) {
        for (source, var arrivals) in sources {
            guard present.contains(source.publisher) else {
                sources[source] = nil
                continue
            }
            arrivals.ticks.append((arrivals.count, now))
            if arrivals.ticks.count > Self.window + 1 { arrivals.ticks.removeFirst() }
            sources[source] = arrivals
        }
    }

    /// Returns the number of messages, and the rate, Hz; nil before the second tick.
    func measured(topic: String, publisher: UInt64) -> (count: UInt64, rate: Double?) {
        guard let arrivals = sources[Source(topic: topic, publisher: publisher)] else { return (0, nil) }
        guard let first = arrivals.ticks.first, let last = arrivals.ticks.last, last.time > first.time else {
            return (arrivals.count, nil)
        }
        return (arrivals.count, Double(last.count - first.count) / (last.time - first.time).inSeconds)
    }
}
