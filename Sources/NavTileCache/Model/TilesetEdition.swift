package import NavGeo

/// One edition of a tileset, whose tiles all fit together.
///
/// Road tiles of two editions cannot be mixed, because their edges are numbered differently. A source without editions
/// (a plain tile server) has a single one with an empty version, whose tiles change one by one.
package struct TilesetEdition: Sendable, Hashable {
    /// The tileset's name, see ``TilesetName``.
    package var tileset: String
    package var domain: TileDomain
    /// The version: a map version, or the hash of an archive's header; empty where the source has none.
    package var version: String
    package var zooms: ClosedRange<UInt8>
    /// The area that has tiles; nil when its source does not state it.
    package var bounds: BoundingBox?
    /// Its tiles, by id; nil where its source cannot list them.
    package var tiles: [ListedTile]?
    /// The source's own description, stored beside the tiles: the bytes of `tileset.json`, or of a TileJSON.
    package var document: [UInt8]
    /// The attribution that the data's licence requires.
    package var attribution: String
    /// The media type of its tiles, if it is known and the same for all.
    package var mediaType: String?

    package init(
        tileset: String, domain: TileDomain, version: String, zooms: ClosedRange<UInt8>, bounds: BoundingBox? = nil,
        tiles: [ListedTile]? = nil, document: [UInt8] = [], attribution: String = "", mediaType: String? = nil
    ) {
        self.tileset = tileset
        self.domain = domain
        self.version = version
        self.zooms = zooms
        self.bounds = bounds
        self.tiles = tiles
        self.document = document
        self.attribution = attribution
        self.mediaType = mediaType
    }
}
