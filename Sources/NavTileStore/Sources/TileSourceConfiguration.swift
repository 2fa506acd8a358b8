package import NavGeo
package import NavHTTP
package import NavTileCache

package struct TileSourceConfiguration: Sendable {
    /// The kind of source that an address names.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// A folder: road tiles with their `tileset.json`, or map tiles as `{z}/{x}/{y}.ext`.
        case folder
        /// Road tiles of a static HTTP server: the address of the folder with `tileset.json`.
        case webFolder
        /// Map tiles at an address with `{z}`, `{x}`, `{y}` (or `{-y}`) and `{ratio}`.
        case template
        /// Map tiles whose TileJSON is at the address.
        case tileJSON
        /// A PMTiles archive, version 3: a local file, or over HTTP.
        case pmtiles
        /// An MBTiles file.
        case mbtiles
    }

    /// The tileset's name, see ``TilesetName``.
    package var tileset: String
    /// The domain of its tiles; road tiles come from ``Kind/folder`` and ``Kind/webFolder`` only.
    package var domain: TileDomain
    /// A path, or an address that begins with `file:`, `http:` or `https:`.
    ///
    /// A user and a password in it are sent to its server and never displayed.
    package var address: String
    /// The kind of source; nil to infer it from the address: `.pmtiles`, `.mbtiles`, `{z}`, `.json`, a folder.
    package var kind: Kind?
    /// The zoom levels of a ``Kind/template`` or a folder of map tiles, which do not state them; 0 to 22.
    package var zooms: ClosedRange<UInt8> = 0...14
    /// Pixel ratio of the wanted tiles, above 0: `{ratio}` becomes `@2x` for 2, and nothing for 1.
    package var pixelRatio = 1.0
    /// The credential for the server, sent only to the origin of ``address``.
    package var credential: TileCredential?
    /// A file of the only trusted certificates (PEM), for a server with a private certificate authority; nil to trust
    /// those of the machine.
    package var authorities: String?
    /// Hosts that a redirect from https to https, or a TileJSON, may lead to, in addition to the address's own origin.
    package var allowedHosts: [String] = []
    /// Whether tiles are stored although their server says `no-store`, for operators who own both.
    package var storesAnyway = false
    /// The limits of time and size.
    package var limits = TransferLimits()
    /// The maximum number of concurrent requests, each with its own connection, 1 to 64.
    package var concurrency = 6
    /// Called once for each problem that the operator should know about, such as a world-readable credential file.
    package var note: @Sendable (String) -> Void = { _ in }
    package var now = TileSourceConfiguration.wallClock

    package var library = CurlLibrary.present

    package init(_ tileset: String, _ domain: TileDomain, address: String, kind: Kind? = nil) {
        self.tileset = tileset
        self.domain = domain
        self.address = address
        self.kind = kind
    }

    /// The machine's wall clock.
    package static let wallClock: @Sendable () -> Timestamp = HTTPConfiguration.wallClock
}

/// The limits of the resources that a source may use.
package struct TransferLimits: Sendable, Hashable {
    /// The largest tile, compressed or not, bytes; 64 MiB.
    package var tileBytes: Int64 = 64 << 20
    /// The largest list of tiles (`tileset.json`), bytes.
    package var listBytes: Int64 = 64 << 20
    /// The limits of time and rate of an HTTP answer.
    package var http = HTTPLimits()
    /// The maximum number of tiles listed by an edition; a larger archive or folder lists none.
    package var listedTiles = 200_000
    /// The memory for cached directories of a PMTiles archive, unpacked, bytes.
    package var directoryBytes = 32 << 20

    package init() {}
}
