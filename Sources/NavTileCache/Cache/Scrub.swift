import NavStorage

/// The scrub of all files on board: its position, and the damage found that cannot be repaired.
package struct Scrub: Sendable {
    /// The maximum number of damaged files recorded individually.
    private static let greatestUnsound = 1_000
    /// The number of bytes after which the position is saved.
    private static let keepInterval: Int64 = 16 << 20

    private(set) var pace: ScrubPace
    private(set) var place: ScrubPosition
    /// Bytes scrubbed since the position was last saved.
    private var bytesSinceKept: Int64 = 0
    /// Subjects of faults that cannot be repaired, found in the previous round and in this one.
    private var unsoundBefore: Set<String> = []
    private var unsoundNow: Set<String> = []
    /// The reason why the last step failed; nil when it succeeded.
    package private(set) var problem: String?

    init(_ pace: ScrubPace, from place: ScrubPosition) {
        self.pace = pace
        self.place = place
    }

    /// Subjects of faults in the store's folder that cannot be repaired.
    package var unsound: Set<String> { unsoundBefore.union(unsoundNow) }

    /// Returns the number of bytes to read now; nil when no step is due or there is other work.
    mutating func step(isBusy: Bool, at moment: Int64) -> Int64? { pace.step(isBusy: isBusy, at: moment) }

    /// Records that a step has succeeded.
    ///
    /// - Returns: The new findings: those repaired, and those that cannot be repaired and were not known before.
    mutating func take(_ report: ScrubReport, at moment: Int64) -> [CheckFinding] {
        (place, problem) = (report.place, nil)
        bytesSinceKept += report.bytes
        pace.note(report.bytes, isRound: report.isRound, at: moment)
        var news: [CheckFinding] = []
        for finding in report.findings {
            if finding.isRepaired {
                news.append(finding)
                continue
            }
            pace.fail(at: moment)
            guard unsoundNow.count < Self.greatestUnsound, unsoundNow.insert(finding.subject).inserted else { continue }
            if !unsoundBefore.contains(finding.subject) { news.append(finding) }
        }
        if report.isRound { (unsoundBefore, unsoundNow) = (unsoundNow, []) }
        return news
    }

    /// Sets another pace, whose first step is due at once.
    mutating func restart(_ pace: ScrubPace) { (self.pace, problem) = (pace, nil) }

    /// Records that a step has failed; returns false when the previous step failed for the same reason.
    mutating func fail(_ error: StoreError, at moment: Int64) -> Bool {
        pace.fail(at: moment)
        defer { problem = error.description }
        return problem != error.description
    }

    /// Returns the position when it is time to save it; without saving, short drives would scrub the same tiles each
    /// time.
    mutating func placeToKeep() -> ScrubPosition? {
        guard bytesSinceKept >= Self.keepInterval || (place == ScrubPosition() && bytesSinceKept > 0) else {
            return nil
        }
        bytesSinceKept = 0
        return place
    }
}
