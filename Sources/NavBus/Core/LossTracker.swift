/// A checker of one topic's sequence numbers, per publisher.
///
/// A publisher is identified by its boot id: a restarted node counts from 1 again under another id, which is neither loss
/// nor repetition. The first message seen from a publisher sets its baseline, so messages published before the
/// subscription do not count as lost.
package struct LossTracker {
    /// The result of checking a message's sequence number.
    package enum Verdict: Hashable {
        /// A new message, after `lost` messages that never arrived.
        case new(lost: UInt64)
        /// A message seen before.
        case duplicate
    }

    /// The most publishers of a topic that are remembered; beyond that number, the one silent for the longest time is forgotten.
    package static let capacity = 64

    private struct Publisher {
        var bootID: UInt64
        var sequence: UInt64
    }

    /// The publishers, most recently heard first.
    private var publishers: [Publisher] = []

    package init() {}

    package var publisherCount: Int { publishers.count }

    /// Returns the last sequence of a publisher, nil when the publisher is not remembered.
    package func sequence(of bootID: UInt64) -> UInt64? { publishers.first { $0.bootID == bootID }?.sequence }

    /// Checks a message's sequence and remembers it.
    @inline(__always)
    package mutating func classify(bootID: UInt64, sequence: UInt64) -> Verdict {
        if let first = publishers.first, first.bootID == bootID {
            guard sequence > first.sequence else { return .duplicate }
            publishers[0].sequence = sequence
            return .new(lost: sequence - first.sequence - 1)
        }
        return classifyOther(bootID: bootID, sequence: sequence)
    }

    private mutating func classifyOther(bootID: UInt64, sequence: UInt64) -> Verdict {
        guard let index = publishers.firstIndex(where: { $0.bootID == bootID }) else {
            if publishers.count == Self.capacity { publishers.removeLast() }
            publishers.insert(Publisher(bootID: bootID, sequence: sequence), at: 0)
            return .new(lost: 0)
        }
        var publisher = publishers.remove(at: index)
        let previous = publisher.sequence
        publisher.sequence = max(previous, sequence)
        publishers.insert(publisher, at: 0)
        return sequence > previous ? .new(lost: sequence - previous - 1) : .duplicate
    }
}
