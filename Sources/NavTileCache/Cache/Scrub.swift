import NavStorage

/// The scrub of all files on board: its position, and what it has found that cannot be put right.
package struct Scrub: Sendable {
    /// Most such files that are told apart.
    private static let greatestUnsound = 1_000
    /// After how many bytes the place is kept.
    private static let keepInterval: Int64 = 16 << 20

    var pace: ScrubPace
    private(set) var place: ScrubPosition
    /// Bytes that were looked at since the place was kept.
    private var bytesSinceKept: Int64 = 0
    /// Subjects of faults that cannot be repaired: of the round before, and of this one.
    private var unsoundBefore: Set<String> = []
    private var unsoundNow: Set<String> = []
    /// The reason why the last step failed.
    private var problem: String?

    init(_ pace: ScrubPace, from place: ScrubPosition) {
        self.pace = pace
        self.place = place
    }

    /// Subjects of faults in the store's folder that cannot be repaired.
    package var unsound: Set<String> { unsoundBefore.union(unsoundNow) }

    /// A step was made.
    ///
    /// - Returns: What is news of it: what was put right, and what cannot be and was not known.
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

    /// A step has failed; false when the one before did for the same reason.
    mutating func fail(_ error: StoreError, at moment: Int64) -> Bool {
        pace.fail(at: moment)
        defer { problem = error.description }
        return problem != error.description
    }

    /// The place when it is time to keep it for the next start: short drives would look at the same tiles each time.
    mutating func placeToKeep() -> ScrubPosition? {
        guard bytesSinceKept >= Self.keepInterval || (place == ScrubPosition() && bytesSinceKept > 0) else {
            return nil
        }
        bytesSinceKept = 0
        return place
    }
}
