package import NavDigest
package import NavGeo

/// The identity of an edition: its tileset and version.
package struct EditionKey: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    package var tileset: String
    /// The edition's version; empty where the source has no versions.
    package var version: String

    package init(_ tileset: String, _ version: String) {
        self.tileset = tileset
        self.version = version
    }

    /// Orders by tileset, then version.
    package static func < (left: EditionKey, right: EditionKey) -> Bool {
        (left.tileset, left.version) < (right.tileset, right.version)
    }

    package var description: String { version.isEmpty ? tileset : "\(tileset)@\(version)" }
}

/// A file of a tile on board.
package struct PartRecord: Sendable, Hashable {
    package var part: TilePart
    /// SHA-256 of the stored bytes.
    package var hash: ContentHash
    package var bytes: Int64
    /// The encoding, "gzip" or "zstd"; nil when it is not compressed.
    package var contentEncoding: String?
    /// Media type; nil when unknown.
    package var mediaType: String?
    /// The absolute path of the file, which is immutable. It may be unlinked at any time; existing mappings stay valid.
    package var path: String

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

package struct TileRecord: Sendable, Hashable {
    package var address: TileAddress
    package var edition: String
    package var parts: [PartRecord]
    package var validators: Validators
    /// Whether the tile had expired at the lookup, or its age is unknown because the clock was ahead when it was
    /// fetched.
    package var isExpired: Bool
    package var isPinned: Bool
    package var lastNeeded: Timestamp
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
    package var body: PartRecord { parts[0] }
}

package struct EditionRecord: Sendable, Hashable {
    package var key: EditionKey
    package var domain: TileDomain
    /// The moment when the edition came into use; nil when it is not in use.
    package var inUseSince: Timestamp?
    package var added: Timestamp
    package var tileCount: Int64
    /// The absolute path of the folder for mapping, with `tileset.json` and, for each tile on board, `{z}/{x}/{y}.road`
    /// and `.rank`; nil for map tiles.
    package var viewPath: String?

    package init(
        key: EditionKey, domain: TileDomain, inUseSince: Timestamp?, added: Timestamp, tileCount: Int64,
        viewPath: String?
    ) {
        self.key = key
        self.domain = domain
        self.inUseSince = inUseSince
        self.added = added
        self.tileCount = tileCount
        self.viewPath = viewPath
    }

    package var isCurrent: Bool { inUseSince != nil }
}
