/// The answer to the question which edition a source has.
package enum EditionAnswer: Sendable {
    /// This, for as long as the validators say.
    case edition(TilesetEdition, Validators)
    /// The edition that the caller knows is still current, until the new validators expire.
    case notModified(Validators)

    /// - Parameter known: what the caller has.
    package init(_ edition: TilesetEdition, _ validators: Validators, known: Validators?) {
        let isKnown = known?.etag != nil && known?.etag == validators.etag
        self = isKnown ? .notModified(validators) : .edition(edition, validators)
    }
}

package enum TileAnswer: Sendable {
    case fetched(FetchedTile)
    /// The tile, checked, of which its server says that it must not be stored: to be passed on, not to be kept.
    case unstorable(FetchedTile)
    /// The tile that the caller has is still current, until the new validators expire.
    case notModified(Validators)
    /// There is no such tile: that holds for as long as the validators say.
    case absent(Validators)

    package var tile: FetchedTile? {
        switch self {
        case .fetched(let tile), .unstorable(let tile): tile
        case .notModified, .absent: nil
        }
    }
}
