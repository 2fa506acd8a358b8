public import NavTileCache

/// The options of a check.
public struct CheckOptions: Sendable, Hashable {
    /// Whether each file is read and hashed; else only its size is looked at.
    public var readsContent = true
    /// Most findings that are kept; all are counted. 1,000.
    public var greatestFindings = 1_000

    /// All of it.
    public init() {}
}

/// The progress of a check.
public struct CheckProgress: Sendable, Hashable {
    /// Files looked at.
    public var files: Int64
    /// Files to look at, as the index says.
    public var totalFiles: Int64
    /// Bytes read.
    public var bytes: Int64
    /// Bytes to read, as the index says.
    public var totalBytes: Int64
}

/// The report of a check.
public struct CheckReport: Sendable, Hashable {
    /// Tiles in the index.
    public var tileCount: Int64 = 0
    /// Files looked at.
    public var objectCount: Int64 = 0
    /// Bytes of those.
    public var objectBytes: Int64 = 0
    /// The findings in the order in which they were made, the first ``CheckOptions/greatestFindings``.
    public var findings: [CheckFinding] = []
    /// The number of findings, including those that are not in `findings`.
    public var findingCount = 0
    /// The number of repaired findings.
    public var repairedCount = 0
    /// Whether the caller ended it early.
    public var isCancelled = false

    /// Whether all of it was looked at and is as it should be.
    public var isSound: Bool { findingCount == 0 && !isCancelled }
}
