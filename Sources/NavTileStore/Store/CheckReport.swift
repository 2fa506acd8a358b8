package import NavTileCache

/// The report of a check.
package struct CheckReport: Sendable, Hashable {
    /// Most findings that are kept; all are counted.
    static let greatestFindings = 1_000

    /// Tiles in the index.
    package var tileCount: Int64 = 0
    /// Files looked at.
    package var objectCount: Int64 = 0
    /// Bytes of those.
    package var objectBytes: Int64 = 0
    /// The first 1,000 findings, in the order in which they were made.
    package var findings: [CheckFinding] = []
    /// The number of findings, including those that are not in `findings`.
    package var findingCount = 0
    /// The number of repaired findings.
    package var repairedCount = 0

    /// Whether all of it is as it should be.
    package var isSound: Bool { findingCount == 0 }
}
