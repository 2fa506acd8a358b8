import NavTileCache

/// A tileset as everybody may see it.
struct TilesetView: Sendable {
    var keys: TilesetKeys
    /// The edition in use, nil before the source or the store has told one.
    var current: EditionIndex?
    /// The newest edition that is known: the one in use, or the one that will be.
    var newest: EditionIndex?
    /// Whether its source has not said yet what it has, nor failed to.
    var isUnknown = true
    /// The reason why its source did not say what it has when it was asked last.
    var problem: String?
    /// The media type of its tiles, where that is known of all.
    var mediaType: String? { current?.edition.mediaType }
}
