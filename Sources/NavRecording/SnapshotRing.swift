/// The last messages of a recording, bounded by time and by memory, and the latched values from before them.
struct SnapshotRing {
    private let nanoseconds: Int64
    private let bytes: Int
    /// The messages; those before `head` have gone.
    private var entries: [RecordingThread.Entry?] = []
    private var head = 0
    private var cost = 0
    /// The last value of each latched topic that has gone.
    private var latched: [String: RecordingThread.Entry] = [:]

    /// An empty ring.
    ///
    /// - Parameters:
    ///   - seconds: how long a message is kept, in the recording's time.
    ///   - bytes: how much memory they may take; older ones go earlier when it is full.
    init(seconds: Double, bytes: Int) {
        nanoseconds = Int64(min(max(seconds, 0) * 1e9, 1e18))
        self.bytes = bytes
    }

    /// Adds a message, and lets go of what is too old.
    mutating func take(_ entry: RecordingThread.Entry) {
        entries.append(entry)
        cost += entry.cost
        while head < entries.count - 1, let oldest = entries[head],
            cost > bytes || entry.logTime.subtractingReportingOverflow(oldest.logTime).partialValue > nanoseconds
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

    /// The content of a bag of the last seconds: the latched values, at the time of the first message, and the messages.
    var content: [RecordingThread.Entry] {
        let kept = entries[head...].compactMap { $0 }
        guard let start = kept.first?.logTime else { return [] }
        let values = latched.values.sorted { $0.topic < $1.topic }.map { value in
            var value = value
            value.logTime = start
            return value
        }
        return values + kept
    }
}
