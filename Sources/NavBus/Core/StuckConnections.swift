/// A detector of connections that keep a publisher's queue of large payloads full.
///
/// A payload is released once its slowest connection has taken it. While payloads are being released, the connections are
/// merely slow. When none is released for ``patienceNanoseconds``, the connections with unread bytes in every sample of
/// that time are stuck: their processes are stopped or hang.
package struct StuckConnections {
    /// The time without progress after which a connection counts as stuck: two seconds, longer than any scheduling pause.
    package static let patienceNanoseconds: Int64 = 2_000_000_000
    /// The time between samples: 100 ms.
    package static let sampleNanoseconds: Int64 = 100_000_000

    private static let samples = Int(patienceNanoseconds / sampleNanoseconds)

    private var streaks: [UInt64: Int] = [:]
    private var releaseCount: UInt64?

    package init() {}

    /// Takes a sample; call it every ``sampleNanoseconds`` of the publisher's own running time.
    ///
    /// - Parameters:
    ///   - unread: identities of the connections whose subscriber has unread bytes.
    ///   - releaseCount: the number of payloads released since the start.
    /// - Returns: the connections that are stuck, in the order of `unread`.
    package mutating func sample(unread: [UInt64], releaseCount: UInt64) -> [UInt64] {
        if releaseCount != self.releaseCount { streaks = [:] }
        self.releaseCount = releaseCount
        var next: [UInt64: Int] = [:]
        for identity in unread { next[identity] = streaks[identity, default: 0] + 1 }
        streaks = next
        return unread.filter { streaks[$0, default: 0] > Self.samples }
    }

    package mutating func reset() { self = StuckConnections() }
}
