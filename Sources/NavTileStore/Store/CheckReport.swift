package import NavTileCache

package struct CheckReport: Sendable, Hashable {
    /// Most findings that are kept; all are counted.
    static let greatestFindings = 1_000

    package var tileCount: Int64 = 0
    /// Files looked at.
    package var objectCount: Int64 = 0
    package var objectBytes: Int64 = 0
    /// The first 1,000 findings, in the order in which they were made.
    package var findings: [CheckFinding] = []
    /// The number of findings, including those that are not in `findings`.
    package var findingCount = 0
    package var repairedCount = 0

    package var isSound: Bool { findingCount == 0 }
}
