/// The position of a scrub, which checks the editions on board and then the tiles.
package struct ScrubPosition: Sendable, Hashable {
    package enum Stage: Sendable, Hashable {
        /// The position after this edition; nil for the start.
        case editions(EditionKey?)
        /// The position after the tile with this number.
        case tiles(Int64)
    }

    package var stage = Stage.editions(nil)

    package init() {}
}

/// The outcome of a step of a scrub.
package struct ScrubReport: Sendable, Hashable {
    /// The start of the next step.
    package var place = ScrubPosition()
    /// Whether the step completed a round of all that is on board.
    package var isRound = false
    package var tileCount = 0
    /// The cost of the step in bytes; a small file counts as 4 KiB, to include the cost of locating it.
    package var bytes: Int64 = 0
    package var findings: [CheckFinding] = []

    package init() {}
}
