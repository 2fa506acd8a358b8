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

/// A SHA-256.
public struct ContentHash: Sendable, Hashable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// A hash from its 32 bytes; nil for any other number of them.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// A hash from 64 hexadecimal digits; nil for any other text.
    public init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let high = ContentHash.value(digits[index]), let low = ContentHash.value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// The 64 lower-case hexadecimal digits.
    public var hexadecimal: String {
        String(unsafeUninitializedCapacity: 64) { text in
            var position = 0
            for byte in bytes {
                text[position] = digit(byte >> 4)
                text[position + 1] = digit(byte & 15)
                position += 2
            }
            return position
        }
    }

    private func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
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

    /// A tile that was fetched.
    public init(_ address: TileAddress, edition: String, parts: [FetchedPart], validators: Validators) {
        self.address = address
        self.edition = edition
        self.parts = parts
        self.validators = validators
    }
}
