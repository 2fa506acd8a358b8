/// The last messages of a recording, bounded by time and by memory, and the latched values from before them.
struct SnapshotRing {
    private let nanoseconds: Int64
    private let bytes: Int
    /// The messages; those before `head` have been removed.
    private var entries: [RecordingThread.Entry?] = []
    private var head = 0
    private var cost = 0
    private var epoch: UInt64 = 0
    /// The last removed value of each latched topic.
    private var latched: [String: RecordingThread.Entry] = [:]

    /// Creates an empty ring.
    ///
    /// - Parameters:
    ///   - seconds: the time for which a message is kept, by ``RecordingThread/Entry/steadyTime``.
    ///   - bytes: the maximum memory for the messages; when it is full, the oldest are removed earlier.
    init(seconds: Double, bytes: Int) {
        nanoseconds = Int64(min(max(seconds, 0) * 1e9, 1e18))
        self.bytes = bytes
    }

    /// Adds a message and removes messages that are too old or of another epoch.
    mutating func take(_ entry: RecordingThread.Entry) {
        if entry.epoch != epoch {
            (entries, head, cost) = ([], 0, 0)
            (latched, epoch) = ([:], entry.epoch)
        }
        entries.append(entry)
        cost += entry.cost
        while head < entries.count - 1, let oldest = entries[head],
            cost > bytes || entry.steadyTime.subtractingReportingOverflow(oldest.steadyTime).partialValue > nanoseconds
        {
            entries[head] = nil
            head += 1
            cost -= oldest.cost
            if oldest.isLatched { latched[oldest.topic] = oldest }
        }
        if head > 1_024, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// The content of a snapshot: the latched values, at the time of the first message, then the messages.
    var content: [RecordingThread.Entry] {
        let kept = entries[head...].compactMap { $0 }
        guard let start = kept.first else { return [] }
        let values = latched.values.sorted { $0.topic < $1.topic }.map { value in
            var value = value
            (value.logTime, value.steadyTime) = (start.logTime, start.steadyTime)
            return value
        }
        return values + kept
    }
}
