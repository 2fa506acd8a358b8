/// The numbers of converted messages, by topic and result.
///
/// Copies share the numbers: a conversion passes its importer to a writer, and reports at the end.
package final class ConversionTally {
    private struct Kind: Hashable {
        var topic: String
        var result: String
    }

    /// The maximum number of entries of each kind.
    private static let most = 4_096

    private var converted: [Kind: Int] = [:]
    /// The number of dropped messages, by topic and reason.
    package private(set) var leftOut: [String: Int] = [:]

    package init() {}

    /// Counts a message of a topic that was converted to a part of `result`.
    package func convert(_ topic: String, to result: String) {
        let kind = Kind(topic: topic, result: result)
        if converted.count < Self.most || converted[kind] != nil { converted[kind, default: 0] += 1 }
    }

    /// Counts a dropped message.
    package func leaveOut(_ name: String) {
        if leftOut.count < Self.most || leftOut[name] != nil { leftOut[name, default: 0] += 1 }
    }

    /// A line for each topic and result, and for each kind of dropped messages.
    package var lines: [String] {
        let results = converted.sorted { ($0.key.topic, $0.key.result) < ($1.key.topic, $1.key.result) }.map {
            "\($0.key.topic): \($0.value) messages became \($0.key.result)"
        }
        return results
            + leftOut.sorted { $0.key < $1.key }.map { "left out: \($0.value) messages of \($0.key)" }
    }
}
