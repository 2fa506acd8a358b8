import NavBag
package import NavKit
import NavMessages
package import NavVerdict
import NavigationNode

/// The difference between the drives of two bags, event by event, for example before and after a change.
///
/// It compares the user-visible events, formatted like the node's log: instructions, reroutes, arrivals, alternatives, states. It ignores
/// values that change with every fix.
package struct BagDiff: Sendable {
    package typealias Event = EventDiff.Event
    package typealias Change = EventDiff.Change

    /// The maximum number of compared events of a bag.
    package static let most = 200_000

    /// The topics whose messages are events.
    package static let topics = [
        Topics.state.name, Topics.route.name, Topics.reroute.name, Topics.spokenInstruction.name, Topics.arrival.name,
        Topics.simulation.name,
        Topics.receiver.name, Topics.alternatives.name, Topics.alternativeSwitch.name, Topics.fasterRoute.name,
        Topics.routeRefresh.name,
        Topics.policyDecision.name,
    ]

    /// The differences, in the order of the events.
    package let changes: [Change]
    /// The number of events in both bags, at any time.
    package let commonCount: Int
    /// A warning about each bag that is damaged.
    package let warnings: [String]

    package init(_ first: String, _ second: String) throws(NodeError) {
        var warnings: [String] = []
        let (before, after) = (try Self.events(first, &warnings), try Self.events(second, &warnings))
        self.warnings = warnings
        let start = min(before.first?.stamp ?? .max, after.first?.stamp ?? .max)
        func timed(_ event: Stamped) -> Event {
            Event(time: Double(event.stamp &- start) / 1e9, topic: event.topic, text: event.text)
        }
        let diff = EventDiff(before.map(timed), after.map(timed))
        (changes, commonCount) = (diff.changes, diff.commonCount)
    }

    private struct Stamped {
        var stamp: Int64
        var topic: String
        var text: String
    }

    /// Returns the events of a bag, in order.
    private static func events(_ path: String, _ warnings: inout [String]) throws(NodeError) -> [Stamped] {
        var events: [Stamped] = []
        do throws(BagError) {
            let reader = try BagReader(path: path)
            if let warning = reader.index.origin.warning(about: path) { warnings.append(warning) }
            var cursor = reader.messages(BagQuery(topics: topics))
            // The last message of each channel: a latched value is repeated with its sequence and publish time. The sequence alone is
            // ambiguous, because publishers that share a channel each count from 1 in every run.
            var last: [UInt16: (sequence: UInt32, publishTime: UInt64)] = [:]
            while let message = try cursor.next() {
                let channel = message.channelID
                let identity = (message.sequence, message.publishTime)
                guard let topic = reader.index.channel(channel)?.topic, last[channel].map({ $0 != identity }) ?? true,
                    let entry = TopicCatalogue.topic(named: topic),
                    let content = try? entry.type.init(decoding: Array(message.data), limit: entry.maxSize),
                    let text = EventLine.text(content, numbersRoutes: false)
                else { continue }
                last[channel] = identity
                guard events.count < most else {
                    throw BagError(.limitExceeded, "'\(path)' has more than \(most) events; compare parts of it")
                }
                events.append(
                    Stamped(stamp: Int64(clamping: message.publishTime), topic: topic, text: text))
            }
        } catch {
            throw NodeError(.invalid, error.description(of: path))
        }
        guard !events.isEmpty else {
            throw NodeError(
                .invalid, "'\(path)' has no events of a navigation node, such as /nav/state or /nav/reroute")
        }
        return events
    }
}
