import NavTileCache

/// A tileset as other threads see it.
struct TilesetView: Sendable {
    var keys: TilesetKeys
    /// The edition in use; nil before the source or the store has reported one.
    var current: EditionIndex?
    /// The newest known edition, in use or soon to be.
    var newest: EditionIndex?
    /// Whether its source has neither answered nor failed its first poll.
    var isUnknown = true
    /// The reason why the last poll of its source failed.
    var problem: String?
    /// The media type of its tiles, if it is known and the same for all.
    var mediaType: String? { current?.edition.mediaType }
}
