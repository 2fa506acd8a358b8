package import NavDigest
package import NavGeo

/// One of the files that a tile consists of.
package enum TilePart: UInt8, Sendable, Hashable, Codable, Comparable, CaseIterable {
    /// The tile itself: road data, or map data to render.
    case body = 0
    /// The ranks of a road tile's edges, in a file of their own.
    case ranks = 1

    package static func < (left: TilePart, right: TilePart) -> Bool { left.rawValue < right.rawValue }
}

/// The entry of a tileset's list for one file of a tile.
package struct ListedPart: Sendable, Hashable {
    package var part: TilePart
    /// Its size, bytes.
    package var size: Int64
    /// The expected hash; nil where the list has none.
    package var hash: ContentHash?

    package init(_ part: TilePart, size: Int64, hash: ContentHash?) {
        self.part = part
        self.size = size
        self.hash = hash
    }
}

/// The entry of a tileset's list for a tile.
package struct ListedTile: Sendable, Hashable {
    package var tile: TileID
    package var parts: [ListedPart]

    /// The bytes of all its files.
    package var size: Int64 { parts.reduce(0) { $0 + $1.size } }

    package init(_ tile: TileID, parts: [ListedPart]) {
        self.tile = tile
        self.parts = parts
    }
}

/// The expiry of an answer, and the validators of a conditional request.
package struct Validators: Sendable, Hashable {
    /// The answer's ETag.
    package var etag: String?
    /// The answer's Last-Modified, unparsed.
    package var lastModified: String?
    /// The moment of expiry, UTC; nil when none was given, so that the answer is valid until it is replaced.
    package var expires: Timestamp?

    /// The validators that identify the content exactly. A server confirms a date also when the content is older than
    /// it.
    package var identifying: Validators { Validators(etag: etag) }

    package init(etag: String? = nil, lastModified: String? = nil, expires: Timestamp? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.expires = expires
    }
}

/// A verified file of a tile, as received from its source.
package struct FetchedPart: Sendable, Hashable {
    package var part: TilePart
    /// The bytes to store: unpacked for a road tile, as the source holds them for a map tile.
    package var data: [UInt8]
    /// SHA-256 of `data`.
    package var hash: ContentHash
    /// The encoding of `data`, "gzip" or "zstd"; nil when it is not compressed.
    package var contentEncoding: String?
    /// Media type, such as "application/vnd.mapbox-vector-tile"; nil when unknown.
    package var mediaType: String?

    package init(
        _ part: TilePart, data: [UInt8], hash: ContentHash, contentEncoding: String? = nil, mediaType: String? = nil
    ) {
        self.part = part
        self.data = data
        self.hash = hash
        self.contentEncoding = contentEncoding
        self.mediaType = mediaType
    }
}

/// A complete tile, as received from its source.
package struct FetchedTile: Sendable, Hashable {
    package var address: TileAddress
    /// The edition of the tileset that the tile belongs to.
    package var edition: String
    package var parts: [FetchedPart]
    package var validators: Validators

    /// Bytes of all its files.
    package var size: Int64 { parts.reduce(0) { $0 + Int64($1.data.count) } }

    package init(_ address: TileAddress, edition: String, parts: [FetchedPart], validators: Validators) {
        self.address = address
        self.edition = edition
        self.parts = parts
        self.validators = validators
    }
}
