/// The answer to a poll for a source's edition.
package enum EditionAnswer: Sendable {
    /// The current edition, fresh until the validators expire.
    case edition(TilesetEdition, Validators)
    /// The edition that the caller knows is still current, until the new validators expire.
    case notModified(Validators)

    /// - Parameter known: The validators that the caller has.
    package init(_ edition: TilesetEdition, _ validators: Validators, known: Validators?) {
        let isKnown = known?.etag != nil && known?.etag == validators.etag
        self = isKnown ? .notModified(validators) : .edition(edition, validators)
    }
}

package enum TileAnswer: Sendable {
    case fetched(FetchedTile)
    /// The verified tile, which may be passed on but not stored, as required by its server.
    case unstorable(FetchedTile)
    /// The tile that the caller has is still current, until the new validators expire.
    case notModified(Validators)
    /// The tile does not exist, until the validators expire.
    case absent(Validators)

    package var tile: FetchedTile? {
        switch self {
        case .fetched(let tile), .unstorable(let tile): tile
        case .notModified, .absent: nil
        }
    }
}
