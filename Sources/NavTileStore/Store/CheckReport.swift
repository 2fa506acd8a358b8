public import NavTileCache

/// What a check looks at.
public struct CheckOptions: Sendable, Hashable {
    /// Whether each file is read and hashed; else only its size is looked at.
    public var readsContent = true
    /// Most findings that are kept; all are counted. 1,000.
    public var greatestFindings = 1_000

    /// All of it.
    public init() {}
}

/// How far a check is.
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

/// What a check found.
public struct CheckReport: Sendable, Hashable {
    /// Tiles in the index.
    public var tileCount: Int64 = 0
    /// Files looked at.
    public var objectCount: Int64 = 0
    /// Bytes of those.
    public var objectBytes: Int64 = 0
    /// What is wrong, in the order in which it was found, the first ``CheckOptions/greatestFindings``.
    public var findings: [CheckFinding] = []
    /// How much is wrong, including what is not in `findings`.
    public var findingCount = 0
    /// How much of it was put right.
    public var repairedCount = 0
    /// Whether the caller ended it early.
    public var isCancelled = false

    /// Whether all of it was looked at and is as it should be.
    public var isSound: Bool { findingCount == 0 && !isCancelled }
}
