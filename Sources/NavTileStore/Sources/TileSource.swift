package import NavGeo
package import NavHTTP
package import NavTileCache

/// A source of the tiles of one tileset.
///
/// Everything that comes from a source is checked before it is handed on: road tiles against the size and the hash of
/// their list, tiles of maps by their form. A source keeps no tile; it may keep the list and the directories by which it
/// finds them. All members may be called from any task, several at a time.
package protocol TileSource: Sendable {
    /// The tileset's name, see ``TilesetName``.
    var tileset: String { get }
    /// The place for people; without names of users, passwords, and queries that may hold a key.
    var place: String { get }
    /// Whether asking it sends anything over a network.
    var isRemote: Bool { get }
    /// Whether ``size(of:)`` of many tiles is answered without a request for each.
    var knowsSizes: Bool { get }
    /// The thread on which tiles are received best; nil for any.
    var executor: (any TaskExecutor)? { get }

    /// Asks what the source has now, and goes on with that edition.
    ///
    /// - Parameter known: what the caller has of it since ``EditionAnswer/edition(_:_:)``; nil to get it in any case.
    func edition(known: Validators?) async throws(TileSourceError) -> EditionAnswer

    /// Asks for a tile, and hands it on as it came where its check takes long.
    ///
    /// - Parameters:
    ///   - edition: the version it must be of; nil for whichever the source has. Another than the source's fails with
    ///     ``TileSourceError/Code/editionChanged``.
    ///   - known: what the caller has of the tile; with them the answer may be ``TileAnswer/notModified(_:)``.
    ///   - meter: is told what comes in, and may let the source wait; nil for full speed.
    func receive(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival

    /// Asks how large a tile is as it would be stored, without fetching it.
    func size(of tile: TileID) async throws(TileSourceError) -> TileSize

    /// Ends all connections; what is under way fails with ``TileSourceError/Code/closed``.
    func close() async
}

extension TileSource {
    package var executor: (any TaskExecutor)? { nil }

    /// Asks for a tile and checks it.
    package func fetch(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileAnswer {
        try await receive(tile, edition: edition, known: known, meter: meter).checked()
    }
}

package enum TileSize: Sendable, Hashable {
    /// So many bytes, all its files together.
    case bytes(Int64)
    case absent
    /// The source does not say without sending it.
    case unknown
}
