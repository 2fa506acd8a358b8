package import NavGeo
package import NavHTTP
package import NavTileCache

package struct TileSourceConfiguration: Sendable {
    /// The kind of source that an address names.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// A folder: road tiles with their `tileset.json`, or tiles of a map as `{z}/{x}/{y}.ext`.
        case folder
        /// Road tiles of a static HTTP server: the address of the folder with `tileset.json`.
        case webFolder
        /// Tiles of a map by an address with `{z}`, `{x}`, `{y}` (or `{-y}`) and `{ratio}`.
        case template
        /// Tiles of a map whose TileJSON is at the address.
        case tileJSON
        /// A PMTiles archive, version 3: a file, or over HTTP.
        case pmtiles
        /// An MBTiles file.
        case mbtiles
    }

    /// The tileset's name, see ``TilesetName``.
    package var tileset: String
    /// The domain of its tiles. Road tiles come from ``Kind/folder`` and ``Kind/webFolder`` only.
    package var domain: TileDomain
    /// A path, or an address that begins with `file:`, `http:` or `https:`. A user and a password in it are sent to its
    /// server and shown to nobody.
    package var address: String
    /// The kind of source; nil to tell it from the address: `.pmtiles`, `.mbtiles`, `{z}`, `.json`, a folder.
    package var kind: Kind?
    /// Zoom levels of a ``Kind/template`` or a folder of a map, which cannot say themselves; 0 to 22.
    package var zooms: ClosedRange<UInt8> = 0...14
    /// Pixel ratio of the tiles wanted, above 0: `{ratio}` becomes `@2x` for 2, and nothing for 1.
    package var pixelRatio = 1.0
    /// The credential for the server; it goes to the origin of ``address`` alone.
    package var credential: TileCredential?
    /// A file of certificates (PEM) that alone are trusted to vouch for its server, for one of a private authority; nil
    /// for those of the machine.
    package var authorities: String?
    /// Hosts that a redirection from https to https, or a TileJSON, may lead to, besides the address' own origin.
    package var allowedHosts: [String] = []
    /// Whether tiles are stored although their server says `no-store`: for the owner of both.
    package var storesAnyway = false
    /// Bounds of time and size.
    package var limits = TransferLimits()
    /// Most requests at a time, 1 to 64: connections to a server.
    package var concurrency = 6
    /// Hears what its owner should know, such as a credential that everybody can read; once each.
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

/// Bounds of what a source may take.
package struct TransferLimits: Sendable, Hashable {
    /// Largest tile, packed or unpacked, bytes; 64 MiB.
    package var tileBytes: Int64 = 64 << 20
    /// Largest list of tiles (`tileset.json`), bytes.
    package var listBytes: Int64 = 64 << 20
    /// Bounds of time and rate of an answer over HTTP.
    package var http = HTTPLimits()
    /// Most tiles that an edition lists; of a larger archive or folder none are listed.
    package var listedTiles = 200_000
    /// Bytes of directories of a PMTiles archive that are kept, unpacked.
    package var directoryBytes = 32 << 20

    package init() {}
}
