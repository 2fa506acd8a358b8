package import NavTileCache

package struct CheckReport: Sendable, Hashable {
    /// The maximum number of findings kept; all are counted.
    static let greatestFindings = 1_000

    package var tileCount: Int64 = 0
    /// The number of files checked.
    package var objectCount: Int64 = 0
    package var objectBytes: Int64 = 0
    /// The first 1,000 findings, in order of discovery.
    package var findings: [CheckFinding] = []
    /// The number of findings, including those that are not in `findings`.
    package var findingCount = 0
    package var repairedCount = 0

    package var isSound: Bool { findingCount == 0 }
}
