package import NavGeo
package import NavHTTP
package import NavTileCache

/// A source of the tiles of one tileset.
///
/// Everything from a source is checked before it is passed on: road tiles against the sizes and hashes of their list,
/// map tiles by their format. A source caches no tiles; it may cache the list and the directories that locate them. All
/// members may be called from any task, concurrently.
package protocol TileSource: Sendable {
    /// The tileset's name, see ``TilesetName``.
    var tileset: String { get }
    /// The place as shown to users, without user names, passwords, and queries, which may contain a key.
    var place: String { get }
    /// Whether requests to it use a network.
    var isRemote: Bool { get }
    /// Whether ``size(of:)`` works without a request for each tile.
    var knowsSizes: Bool { get }
    /// The executor that should preferably receive tiles; nil when any will do.
    var executor: (any TaskExecutor)? { get }

    /// Polls the source for its edition, which it then uses from now on.
    ///
    /// - Parameter known: the caller's validators from ``EditionAnswer/edition(_:_:)``; nil to request the edition
    ///   unconditionally.
    func edition(known: Validators?) async throws(TileSourceError) -> EditionAnswer

    /// Requests a tile; returns it unchecked if the check takes long.
    ///
    /// - Parameters:
    ///   - edition: the required version; nil for the source's current one. Any other version throws
    ///     ``TileSourceError/Code/editionChanged``.
    ///   - known: the validators of the caller's tile, which allow the answer ``TileAnswer/notModified(_:)``.
    ///   - meter: the counter of received bytes, which may pause the transfer; nil for full speed.
    func receive(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival

    /// Returns the size of a tile as it would be stored, without fetching it.
    func size(of tile: TileID) async throws(TileSourceError) -> TileSize

    /// Closes all connections; running requests fail with ``TileSourceError/Code/closed``.
    func close() async
}

extension TileSource {
    package var executor: (any TaskExecutor)? { nil }

    /// Requests a tile and checks it.
    package func fetch(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileAnswer {
        try await receive(tile, edition: edition, known: known, meter: meter).checked()
    }
}

package enum TileSize: Sendable, Hashable {
    /// The total size of all its files.
    case bytes(Int64)
    case absent
    /// The source does not state the size without sending the tile.
    case unknown
}
