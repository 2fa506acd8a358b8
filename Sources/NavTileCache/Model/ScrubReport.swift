/// The position of a scrub: it goes through the editions on board, then through the tiles.
public struct ScrubPosition: Sendable, Hashable {
    package enum Stage: Sendable, Hashable {
        /// After this edition; nil: before the first.
        case editions(EditionKey?)
        /// After the tile of this number.
        case tiles(Int64)
    }

    package var stage = Stage.editions(nil)

    /// The beginning.
    public init() {}
}

/// The outcome of a step of a scrub.
public struct ScrubReport: Sendable, Hashable {
    /// Where the next step begins.
    public var place = ScrubPosition()
    /// Whether all that is on board was looked at since the beginning.
    public var isRound = false
    /// Tiles that were looked at.
    public var tileCount = 0
    /// Bytes that were looked at; a small file counts for 4 KiB, since finding it costs as well.
    public var bytes: Int64 = 0
    /// What was wrong, in the words of a check.
    public var findings: [CheckFinding] = []

    package init() {}
}
