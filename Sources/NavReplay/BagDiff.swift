package import NavBag
package import NavKit
package import NavMessages
package import NavigationNode

/// The difference of the drives of two bags, event by event: the same drive before and after a change, for example.
///
/// Compared is what a person who follows a drive is told, in the words of the node's log: instructions, reroutes, arrivals,
/// alternatives, states. Numbers that come with every fix are not.
package struct BagDiff: Sendable {
    package struct Event: Sendable, Hashable, Codable {
        /// Seconds since the first of the events of both bags.
        package var time: Double
        package var topic: String
        package var text: String

        package init(time: Double, topic: String, text: String) {
            self.time = time
            self.topic = topic
            self.text = text
        }
    }

    package enum Change: Sendable, Equatable {
        /// Only the first bag has it.
        case removed(Event)
        /// Only the second bag has it.
        case added(Event)
        /// Both have it, at times that are more than ``tolerance`` apart; the event as in the first and the time in the second.
        case moved(Event, to: Double)
    }

    /// The greatest difference in time of an event that counts as the same, seconds.
    package static let tolerance = 0.05

    /// The most events of a bag that are compared.
    static let most = 200_000

    /// The topics whose messages are events.
    static let topics = [
        Topics.state.name, Topics.route.name, Topics.reroute.name, Topics.spokenInstruction.name, Topics.arrival.name,
        Topics.simulation.name,
        Topics.receiver.name, Topics.alternatives.name, Topics.alternativeSwitch.name, Topics.fasterRoute.name,
        Topics.routeRefresh.name,
        Topics.policyDecision.name,
    ]

    /// The differences, in the order of the events.
    package let changes: [Change]
    /// Events that both have, at whatever time.
    package let commonCount: Int

    package init(_ first: String, _ second: String) throws(NodeError) {
        let (before, after) = (try Self.events(first), try Self.events(second))
        let start = min(before.first?.stamp ?? .max, after.first?.stamp ?? .max)
        func timed(_ event: Stamped) -> Event {
            Event(time: Double(event.stamp &- start) / 1e9, topic: event.topic, text: event.text)
        }
        self.init(before.map(timed), after.map(timed))
    }

    package init(_ before: [Event], _ after: [Event]) {
        var changes: [Change] = []
        var common = 0
        var (old, new) = (0, 0)
        let difference = after.difference(from: before) { $0.topic == $1.topic && $0.text == $1.text }
        var removed = Set<Int>()
        var inserted = Set<Int>()
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        while old < before.count || new < after.count {
            if old < before.count, removed.contains(old) {
                changes.append(.removed(before[old]))
                old += 1
            } else if new < after.count, inserted.contains(new) {
                changes.append(.added(after[new]))
                new += 1
            } else {
                if abs(before[old].time - after[new].time) > Self.tolerance {
                    changes.append(.moved(before[old], to: after[new].time))
                }
                common += 1
                old += 1
                new += 1
            }
        }
        self.changes = changes
        commonCount = common
    }

    private struct Stamped {
        var stamp: Int64
        var topic: String
        var text: String
    }

    /// The events of a bag, in their order.
    private static func events(_ path: String) throws(NodeError) -> [Stamped] {
        var events: [Stamped] = []
        do throws(BagError) {
            let reader = try BagReader(path: path)
            var cursor = reader.messages(BagQuery(topics: topics))
            var last: [String: UInt32] = [:]
            while let message = try cursor.next() {
                guard let topic = reader.index.channel(message.channelID)?.topic, last[topic] != message.sequence,
                    let entry = TopicCatalogue.topic(named: topic),
                    let content = try? entry.type.init(decoding: Array(message.data), limit: entry.maxSize),
                    let text = EventLine.text(content, numbersRoutes: false)
                else { continue }
                last[topic] = message.sequence
                guard events.count < most else {
                    throw BagError(.limitExceeded, "'\(path)' has more than \(most) events: compare parts of it")
                }
                events.append(
                    Stamped(stamp: Int64(clamping: message.publishTime), topic: topic, text: text))
            }
        } catch {
            throw NodeError(.invalid, error.description)
        }
        guard !events.isEmpty else {
            throw NodeError(
                .invalid, "'\(path)' has no events of a navigation node, such as /nav/state or /nav/reroute")
        }
        return events
    }
}
