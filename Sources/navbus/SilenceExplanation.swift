import NavBus
import NavSpelling
import NavKit
import NavMessages

/// An explanation for the absence of messages.
enum SilenceExplanation {
    /// Returns a one-line reason: the topic has no publisher, or its publishers are silent or send messages that the bus rejects.
    static func reason(_ topics: [String], _ tool: ToolBus, waited: Double) throws -> NodeError {
        let snapshot = try tool.snapshot()
        let what = topics.joined(separator: " ")
        let time = Format.decimal(waited, waited < 1 ? 2 : 1)
        let filter = TopicFilter(include: topics)
        let rejected = rejection(tool.bus.statistics)
        let publishers = Set(snapshot.topics.filter { filter.matches($0.topic.name) }.map(\.publisher)).sorted()
        if !publishers.isEmpty {
            return NodeError(
                .missing,
                "nothing on \(what) for \(time) s: published by \(publishers.joined(separator: ", "))"
                    + (rejected.map { "; " + $0 } ?? ", silent so far"))
        }
        let known = snapshot.topics.map(\.topic.name) + TopicCatalogue.all.map(\.name)
        let near = topics.lazy.compactMap { topic in
            known.contains(topic) ? nil : nearestName(to: topic, among: known)
        }.first
        return NodeError(
            .missing,
            "nothing on \(what) for \(time) s: no node publishes it (navbus topic list)"
                + (rejected.map { "; " + $0 } ?? "")
                + (near.map { "; did you mean \($0)?" } ?? ""))
    }

    /// Returns a description of the messages that the bus rejected on arrival; nil when there are none.
    static func rejection(_ statistics: BusStatistics) -> String? {
        for topic in statistics.topics {
            guard let defect = topic.lastRejection else { continue }
            return "messages_rejected: \(topic.rejected) on \(topic.topic), the last for \(defect)"
        }
        return nil
    }
}
