/// Judges the sequences of one topic, publisher by publisher.
///
/// A publisher is a boot id: after a restart the same node counts from 1 again under another id, which is neither
/// loss nor repetition. The first message seen of a publisher sets its base line, so what was published before the
/// subscription is not loss.
package struct LossTracker {
    /// The meaning of a sequence number for its message.
    package enum Verdict: Hashable {
        /// New, after `lost` that never came.
        case new(lost: UInt64)
        /// Seen before.
        case duplicate
    }

    /// The most publishers of a topic that are remembered; beyond it the one heard of longest ago is forgotten.
    package static let capacity = 64

    private struct Publisher {
        var bootID: UInt64
        var sequence: UInt64
    }

    /// The most recently heard publisher is first.
    private var publishers: [Publisher] = []

    package init() {}

    package var publisherCount: Int { publishers.count }

    /// The last sequence of a publisher, nil when it is not remembered.
    package func sequence(of bootID: UInt64) -> UInt64? { publishers.first { $0.bootID == bootID }?.sequence }

    /// Judges a message and remembers it.
    @inline(__always)
    package mutating func judge(bootID: UInt64, sequence: UInt64) -> Verdict {
        if let first = publishers.first, first.bootID == bootID {
            guard sequence > first.sequence else { return .duplicate }
            publishers[0].sequence = sequence
            return .new(lost: sequence - first.sequence - 1)
        }
        return judgeOther(bootID: bootID, sequence: sequence)
    }

    private mutating func judgeOther(bootID: UInt64, sequence: UInt64) -> Verdict {
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
