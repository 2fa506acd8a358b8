import DequeModule
import Foundation
import NavBag
import NavMessages
import NavigationNode

/// Lays what was recorded beside what is said now, topic by topic.
struct JournalComparison {
    struct Difference: Equatable {
        var topic: String
        /// Position of the message among those of the topic, from 1.
        var position: Int
        /// The event of the journal that it came with, from 1.
        var entry: Int
        /// The lines of the recorded message that are other lines now, with their own before them.
        var recorded: [String]
        var reproduced: [String]
    }

    /// Its queues are changed in place: a copy for each message would cost as much as waits.
    private final class Topic {
        let type: String
        var recorded: Deque<[UInt8]> = []
        var produced: Deque<(bytes: [UInt8], entry: Int)> = []
        var lastSequence: UInt32?
        var compared = 0
        /// Messages that the recorder missed: as many of those that are said now are passed over.
        var missing = 0
        var missingCount = 0

        init(type: String) { self.type = type }

        func take(recorded message: BagMessage) {
            // A latched message may have been recorded twice.
            if lastSequence == message.sequence { return }
            if let last = lastSequence, message.sequence > last, message.sequence - last > 1 {
                missing += Int(message.sequence - last - 1)
                missingCount += Int(message.sequence - last - 1)
            }
            lastSequence = message.sequence
            recorded.append(Array(message.data))
        }
    }

    /// Messages of a topic that may wait for the other side: both sides have them in the same order, some moments apart.
    private static let mostWaiting = 10_000

    private var topics: [String: Topic] = [:]
    private var entry = 0
    private(set) var difference: Difference?

    var comparedCount: Int { topics.values.reduce(0) { $0 + $1.compared } }
    /// Messages that were said again and are not recorded.
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

    /// Takes note of what is said now with the next event of the journal.
    mutating func take(produced messages: [OutgoingMessage], entry number: Int) {
        entry = number
        for message in messages where difference == nil {
            topic(message.topic, type(of: message.message).fullName).produced
                .append((message.message.encoded(), number))
            compare(message.topic)
        }
    }

    /// Ends the comparison: what is left over on one side is a difference.
    mutating func finish() {
        for name in topics.keys.sorted() where difference == nil {
            guard let topic = topics[name] else { continue }
            if let bytes = topic.recorded.first {
                note(name, topic, recorded: bytes, produced: nil, entry)
            } else if topic.produced.count > topic.missing {
                // The recorder may have ended before the node did.
                topic.missingCount += topic.produced.count - topic.missing
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

    /// The fields of a message, one a line.
    private static func lines(_ bytes: [UInt8]?, _ type: String) -> [String] {
        guard let bytes else { return ["no message"] }
        guard let text = try? SchemaPool.builtIn.json(decoding: bytes, as: type, indent: true).json else {
            return ["\(bytes.count) bytes that are no \(type)"]
        }
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func only(_ lines: [String], notIn others: [String]) -> [String] {
        let known = Set(others)
        return Array(lines.filter { !known.contains($0) }.prefix(10))
    }
}
