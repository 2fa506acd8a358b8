/// What a source has.
public enum EditionAnswer: Sendable {
    /// This, for as long as the validators say.
    case edition(TilesetEdition, Validators)
    /// What the caller knows of; it holds for as long as the new validators say.
    case notModified(Validators)

    /// - Parameter known: what the caller has.
    package init(_ edition: TilesetEdition, _ validators: Validators, known: Validators?) {
        let isKnown = known?.etag != nil && known?.etag == validators.etag
        self = isKnown ? .notModified(validators) : .edition(edition, validators)
    }
}

/// The answer to a request for a tile.
public enum TileAnswer: Sendable {
    /// The tile, checked.
    case fetched(FetchedTile)
    /// The tile, checked, of which its server says that it must not be stored: to be passed on, not to be kept.
    case unstorable(FetchedTile)
    /// What the caller has holds, for as long as the new validators say.
    case notModified(Validators)
    /// There is no such tile: that holds for as long as the validators say.
    case absent(Validators)

    /// The tile, when there is one.
    public var tile: FetchedTile? {
        switch self {
        case .fetched(let tile), .unstorable(let tile): tile
        case .notModified, .absent: nil
        }
    }
}
