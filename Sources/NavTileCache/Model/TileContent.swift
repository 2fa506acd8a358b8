public import NavDigest
public import NavGeo

/// One of the files that a tile consists of.
public enum TilePart: UInt8, Sendable, Hashable, Codable, Comparable, CaseIterable {
    /// The tile itself: roads, or what a map draws.
    case body = 0
    /// The ranks of a road tile's edges, in a file of their own.
    case ranks = 1

    /// By number.
    public static func < (left: TilePart, right: TilePart) -> Bool { left.rawValue < right.rawValue }
}

/// What a tileset's list says of one file of a tile.
public struct ListedPart: Sendable, Hashable {
    /// Which file.
    public var part: TilePart
    /// Its size, bytes.
    public var size: Int64
    /// What it must hash to; nil where the list does not say.
    public var hash: ContentHash?

    /// A file of a list.
    public init(_ part: TilePart, size: Int64, hash: ContentHash?) {
        self.part = part
        self.size = size
        self.hash = hash
    }
}

/// What a tileset's list says of a tile.
public struct ListedTile: Sendable, Hashable {
    /// Which tile.
    public var tile: TileID
    /// Its files, by part.
    public var parts: [ListedPart]

    /// Bytes of all of them.
    public var size: Int64 { parts.reduce(0) { $0 + $1.size } }

    /// A tile of a list.
    public init(_ tile: TileID, parts: [ListedPart]) {
        self.tile = tile
        self.parts = parts
    }
}

/// What a server says about how long an answer holds and how to ask whether it still does.
public struct Validators: Sendable, Hashable {
    /// The answer's ETag.
    public var etag: String?
    /// The answer's Last-Modified, as it came.
    public var lastModified: String?
    /// When it expires, UTC; nil when that was not said: it holds until it is replaced.
    public var expires: Timestamp?

    /// What is known of an answer.
    public init(etag: String? = nil, lastModified: String? = nil, expires: Timestamp? = nil) {
        self.etag = etag
        self.lastModified = lastModified
        self.expires = expires
    }
}

/// A file of a tile as it came from its source, checked.
public struct FetchedPart: Sendable, Hashable {
    /// Which file.
    public var part: TilePart
    /// What is to be stored: of a road tile the bytes themselves, of a map tile what its source holds.
    public var data: [UInt8]
    /// SHA-256 of `data`.
    public var hash: ContentHash
    /// How `data` is packed, "gzip" or "zstd"; nil when it is not.
    public var contentEncoding: String?
    /// Media type, such as "application/vnd.mapbox-vector-tile"; nil when unknown.
    public var mediaType: String?

    /// A file that was fetched.
    public init(
        _ part: TilePart, data: [UInt8], hash: ContentHash, contentEncoding: String? = nil, mediaType: String? = nil
    ) {
        self.part = part
        self.data = data
        self.hash = hash
        self.contentEncoding = contentEncoding
        self.mediaType = mediaType
    }
}

/// A whole tile as it came from its source.
public struct FetchedTile: Sendable, Hashable {
    /// Which.
    public var address: TileAddress
    /// The edition of the tileset that it belongs to.
    public var edition: String
    /// Its files, by part.
    public var parts: [FetchedPart]
    /// How long it holds.
    public var validators: Validators

    /// Bytes of all its files.
    public var size: Int64 { parts.reduce(0) { $0 + Int64($1.data.count) } }

    /// A tile that was fetched.
    public init(_ address: TileAddress, edition: String, parts: [FetchedPart], validators: Validators) {
        self.address = address
        self.edition = edition
        self.parts = parts
        self.validators = validators
    }
}
