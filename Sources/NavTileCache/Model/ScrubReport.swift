/// The position of a scrub: it goes through the editions on board, then through the tiles.
package struct ScrubPosition: Sendable, Hashable {
    package enum Stage: Sendable, Hashable {
        /// After this edition; nil: before the first.
        case editions(EditionKey?)
        /// After the tile of this number.
        case tiles(Int64)
    }

    package var stage = Stage.editions(nil)

    package init() {}
}

/// The outcome of a step of a scrub.
package struct ScrubReport: Sendable, Hashable {
    /// The beginning of the next step.
    package var place = ScrubPosition()
    /// Whether all that is on board was looked at since the beginning.
    package var isRound = false
    package var tileCount = 0
    /// Bytes that were looked at; a small file counts for 4 KiB, since finding it costs as well.
    package var bytes: Int64 = 0
    package var findings: [CheckFinding] = []

    package init() {}
}
