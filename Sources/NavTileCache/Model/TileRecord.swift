public import NavDigest
public import NavGeo

/// An edition of a tileset by its names.
public struct EditionKey: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The tileset's name.
    public var tileset: String
    /// The edition's version; empty where the source has none.
    public var version: String

    /// An edition.
    public init(_ tileset: String, _ version: String) {
        self.tileset = tileset
        self.version = version
    }

    /// By tileset, then version.
    public static func < (left: EditionKey, right: EditionKey) -> Bool {
        (left.tileset, left.version) < (right.tileset, right.version)
    }

    /// Tileset and version.
    public var description: String { version.isEmpty ? tileset : "\(tileset)@\(version)" }
}

/// A file of a tile on board.
public struct PartRecord: Sendable, Hashable {
    /// Which file.
    public var part: TilePart
    /// SHA-256 of what is stored.
    public var hash: ContentHash
    /// Its size, bytes.
    public var bytes: Int64
    /// How it is packed, "gzip" or "zstd"; nil when it is not.
    public var contentEncoding: String?
    /// Media type; nil when unknown.
    public var mediaType: String?
    /// The file, absolute: immutable; it may be unlinked at any time, a mapping stays valid.
    public var path: String

    package init(
        part: TilePart, hash: ContentHash, bytes: Int64, contentEncoding: String?, mediaType: String?, path: String
    ) {
        self.part = part
        self.hash = hash
        self.bytes = bytes
        self.contentEncoding = contentEncoding
        self.mediaType = mediaType
        self.path = path
    }
}

/// A whole tile on board.
public struct TileRecord: Sendable, Hashable {
    /// Which.
    public var address: TileAddress
    /// The edition that it belongs to.
    public var edition: String
    /// Its files, by part.
    public var parts: [PartRecord]
    /// How long it holds, and how to ask whether it still does.
    public var validators: Validators
    /// Whether it had expired at the moment of the question, or nobody knows: it was fetched while the clock was ahead.
    public var isExpired: Bool
    /// Whether an offline region has it.
    public var isPinned: Bool
    /// When it was needed last.
    public var lastNeeded: Timestamp
    /// Its number in the index.
    package var number: Int64

    package init(
        address: TileAddress, edition: String, parts: [PartRecord], validators: Validators, isExpired: Bool,
        isPinned: Bool, lastNeeded: Timestamp, number: Int64
    ) {
        self.address = address
        self.edition = edition
        self.parts = parts
        self.validators = validators
        self.isExpired = isExpired
        self.isPinned = isPinned
        self.lastNeeded = lastNeeded
        self.number = number
    }

    /// The tile itself.
    public var body: PartRecord { parts[0] }
    /// Bytes of all its files.
    public var bytes: Int64 { parts.reduce(0) { $0 + $1.bytes } }
}

/// An edition on board.
public struct EditionRecord: Sendable, Hashable {
    /// Its names.
    public var key: EditionKey
    /// The domain of its tiles.
    public var domain: TileDomain
    /// Since when it is the one in use; nil when it is not.
    public var inUseSince: Timestamp?
    /// When it was added.
    public var added: Timestamp
    /// Its tiles on board.
    public var tileCount: Int64
    /// Bytes of those; what tiles share counts for each.
    public var tileBytes: Int64
    /// Those that a region has, or is being loaded with.
    public var pinnedCount: Int64
    /// The folder for mapping, absolute: `tileset.json`, and of each tile on board `{z}/{x}/{y}.road` and `.rank`; nil
    /// for map tiles.
    public var viewPath: String?

    package init(
        key: EditionKey, domain: TileDomain, inUseSince: Timestamp?, added: Timestamp, tileCount: Int64,
        tileBytes: Int64, pinnedCount: Int64, viewPath: String?
    ) {
        self.key = key
        self.domain = domain
        self.inUseSince = inUseSince
        self.added = added
        self.tileCount = tileCount
        self.tileBytes = tileBytes
        self.pinnedCount = pinnedCount
        self.viewPath = viewPath
    }

    /// Whether it is the one in use.
    public var isCurrent: Bool { inUseSince != nil }
}
