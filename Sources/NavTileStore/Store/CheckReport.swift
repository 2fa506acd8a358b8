public import NavTileCache

/// The report of a check.
public struct CheckReport: Sendable, Hashable {
    /// Most findings that are kept; all are counted.
    static let greatestFindings = 1_000

    /// Tiles in the index.
    public var tileCount: Int64 = 0
    /// Files looked at.
    public var objectCount: Int64 = 0
    /// Bytes of those.
    public var objectBytes: Int64 = 0
    /// The first 1,000 findings, in the order in which they were made.
    public var findings: [CheckFinding] = []
    /// The number of findings, including those that are not in `findings`.
    public var findingCount = 0
    /// The number of repaired findings.
    public var repairedCount = 0

    /// Whether all of it is as it should be.
    public var isSound: Bool { findingCount == 0 }
}
