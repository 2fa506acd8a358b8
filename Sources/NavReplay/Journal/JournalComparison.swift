import DequeModule
import Foundation
import NavBag
import NavMessages
import NavigationNode

/// A comparison of recorded messages with those produced now, topic by topic.
struct JournalComparison {
    struct Difference: Equatable {
        var topic: String
        /// The position of the message among the messages of its topic, from 1.
        var position: Int
        /// The number of the journal event that produced it, from 1.
        var entry: Int
        /// The lines of the recorded message that differ; ``reproduced`` has their counterparts.
        var recorded: [String]
        var reproduced: [String]
    }

    /// A class, so that its queues are modified in place: copying them for each message would cost time proportional to
    /// their length.
    private final class Topic {
        let type: String
        var recorded: Deque<[UInt8]> = []
        var produced: Deque<(bytes: [UInt8], entry: Int)> = []
        /// The last sequence of each channel: each run of the node has a channel of its own and starts a new count.
        var lastSequences: [UInt16: UInt32] = [:]
        var compared = 0
        /// The number of messages that the recorder missed; as many produced messages may be skipped.
        var missing = 0
        var missingCount = 0

        init(type: String) { self.type = type }

        func take(recorded message: BagMessage) {
            // A latched message may have been recorded twice.
            let last = lastSequences[message.channelID]
            if last == message.sequence { return }
            if let last, message.sequence > last, message.sequence - last > 1 {
                missing += Int(message.sequence - last - 1)
                missingCount += Int(message.sequence - last - 1)
            }
            lastSequences[message.channelID] = message.sequence
            recorded.append(Array(message.data))
        }

        func endRun() {
            // The recorder may have stopped before the node.
            missingCount += max(produced.count - missing, 0)
            missing = 0
            produced = []
            lastSequences = [:]
        }
    }

    /// The maximum number of messages of a topic that wait for their counterparts: both sides have the same order, a
    /// few moments apart.
    private static let mostWaiting = 10_000

    private var topics: [String: Topic] = [:]
    private var entry = 0
    private(set) var difference: Difference?

    var comparedCount: Int { topics.values.reduce(0) { $0 + $1.compared } }
    /// The number of reproduced messages that are not recorded.
    var missingCount: Int { topics.values.reduce(0) { $0 + $1.missingCount } }

    private mutating func topic(_ name: String, _ type: String) -> Topic {
        if let known = topics[name] { return known }
        let topic = Topic(type: type)
        topics[name] = topic
        return topic
    }

    mutating func take(recorded message: BagMessage, _ name: String, type: String) {
        guard difference == nil else { return }
        topic(name, type).take(recorded: message)
        compare(name)
    }

    /// Adds the messages produced by the next journal event.
    mutating func take(produced messages: [OutgoingMessage], entry number: Int) {
        entry = number
        for message in messages where difference == nil {
            topic(message.topic, type(of: message.message).fullName).produced
                .append((message.message.encoded(), number))
            compare(message.topic)
        }
    }

    /// Ends a run of the node: its messages without recorded counterparts count as missing and are not compared with those of the next run.
    mutating func endRun() {
        for topic in topics.values { topic.endRun() }
    }

    /// Ends the comparison: an unmatched recorded message is a difference.
    mutating func finish() {
        for name in topics.keys.sorted() where difference == nil {
            guard let topic = topics[name] else { continue }
            if let bytes = topic.recorded.first {
                note(name, topic, recorded: bytes, produced: nil, entry)
            } else {
                topic.endRun()
            }
        }
    }

    private mutating func compare(_ name: String) {
        guard let topic = topics[name] else { return }
        while topic.missing > 0, !topic.produced.isEmpty, topic.recorded.first != topic.produced.first?.bytes {
            topic.missing -= 1
            topic.produced.removeFirst()
        }
        while difference == nil, let recorded = topic.recorded.first, let produced = topic.produced.first {
            topic.recorded.removeFirst()
            topic.produced.removeFirst()
            topic.compared += 1
            if recorded != produced.bytes {
                note(name, topic, recorded: recorded, produced: produced.bytes, produced.entry)
            }
        }
        guard difference == nil else { return }
        if topic.recorded.count > Self.mostWaiting {
            note(name, topic, recorded: topic.recorded[0], produced: nil, entry)
        } else if topic.produced.count > Self.mostWaiting + topic.missing {
            note(name, topic, recorded: nil, produced: topic.produced[0].bytes, topic.produced[0].entry)
        }
    }

    private mutating func note(_ name: String, _ topic: Topic, recorded: [UInt8]?, produced: [UInt8]?, _ entry: Int) {
        let (left, right) = (Self.lines(recorded, topic.type), Self.lines(produced, topic.type))
        let isBoth = recorded != nil && produced != nil
        let position = isBoth ? topic.compared : topic.compared + 1
        difference = Difference(
            topic: name, position: position, entry: entry,
            recorded: isBoth ? Self.only(left, notIn: right) : left,
            reproduced: isBoth ? Self.only(right, notIn: left) : right)
    }

    /// Returns the fields of a message, one per line.
    private static func lines(_ bytes: [UInt8]?, _ type: String) -> [String] {
        guard let bytes else { return ["no message"] }
        guard let text = try? SchemaPool.builtIn.json(decoding: bytes, as: type, indent: true).json else {
            return ["\(bytes.count) bytes that are not a \(type)"]
        }
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func only(_ lines: [String], notIn others: [String]) -> [String] {
        let known = Set(others)
        return Array(lines.filter { !known.contains($0) }.prefix(10))
    }
}
