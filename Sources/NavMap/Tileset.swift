public import NavGeo

/// The `tileset.json` of a directory of road tiles.
public struct Tileset: Sendable, Codable, Equatable {
    /// The tile format that this module reads and writes.
    public static let formatVersion = 2

    public struct Entry: Sendable, Codable, Equatable {
        /// The packed ``RoadTileID``.
        public var id: UInt32
        /// The file's path, relative to the tileset's directory.
        public var file: String
        public var bytes: Int
        /// SHA-256 of the file, lower-case hexadecimal.
        public var sha256: String
        /// The file of the tile's edge ranks.
        public var ranks: RanksEntry

        public init(id: UInt32, file: String, bytes: Int, sha256: String, ranks: RanksEntry) {
            self.id = id
            self.file = file
            self.bytes = bytes
            self.sha256 = sha256
            self.ranks = ranks
        }

        /// The tile; nil when the id is invalid or a file name is not the expected one.
        ///
        /// The names are untrusted, and this check keeps them inside the tileset's directory.
        public var tile: RoadTileID? {
            guard let tile = RoadTileID(rawValue: id), file == tile.path, ranks.file == tile.ranksPath else {
                return nil
            }
            return tile
        }
    }

    public struct RanksEntry: Sendable, Codable, Equatable {
        /// The file's path, relative to the tileset's directory.
        public var file: String
        public var bytes: Int
        /// SHA-256 of the file, lower-case hexadecimal.
        public var sha256: String

        public init(file: String, bytes: Int, sha256: String) {
            self.file = file
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// The version of the tile format; ``formatVersion`` when this module wrote it.
    public var formatVersion: Int
    /// The version of the map: a hash over the tiles' hashes, so equal versions mean equal content.
    public var mapVersion: String
    /// The OSM extract that the tileset was built from.
    public var source: String
    /// The extract's time stamp (UTC, ISO 8601), if it has one.
    public var sourceTimestamp: String?
    /// The box around all roads. It does not cross the antimeridian: with roads on both sides, it spans all longitudes.
    public var bounds: BoundingBox
    /// The attribution that the data's licence requires.
    public var attribution: String
    /// The tiles, by ascending id.
    public var tiles: [Entry]

    /// The valid tile ids, in the order of ``tiles``.
    public var tileIDs: [RoadTileID] { tiles.compactMap(\.tile) }

    public init(
        formatVersion: Int = Tileset.formatVersion, mapVersion: String, source: String, sourceTimestamp: String?,
        bounds: BoundingBox, attribution: String, tiles: [Entry]
    ) {
        self.formatVersion = formatVersion
        self.mapVersion = mapVersion
        self.source = source
        self.sourceTimestamp = sourceTimestamp
        self.bounds = bounds
        self.attribution = attribution
        self.tiles = tiles
    }
}

extension Tileset {
    /// Describes an error of decoding a tileset.
    package static func explain(_ error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        return switch error {
        case DecodingError.keyNotFound(let key, _): "the key '\(key.stringValue)' is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            "'\(path(context))' has the wrong type"
        case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
            "'\(path(context))': \(context.debugDescription)"
        case is DecodingError: "it is not JSON"
        default: "\(error)"
        }
    }
}
