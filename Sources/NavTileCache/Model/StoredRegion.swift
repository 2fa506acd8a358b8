public import NavGeo

/// What an offline region is.
public struct StoredRegionDefinition: Sendable, Hashable, Codable {
    /// Identity, chosen by the client: 1 to 256 bytes.
    public var id: String
    /// Name for people.
    public var name: String
    /// Its area, as the caller encodes it.
    public var geometry: [UInt8]
    /// Tiles wanted.
    public var descriptors: [RegionDescriptor]
    /// Whether expired tiles on board count as loaded.
    public var acceptExpired: Bool
    /// The client's own data.
    public var metadata: [String: String]

    /// A definition.
    public init(
        id: String, name: String = "", geometry: [UInt8] = [], descriptors: [RegionDescriptor] = [],
        acceptExpired: Bool = false, metadata: [String: String] = [:]
    ) {
        self.id = id
        self.name = name
        self.geometry = geometry
        self.descriptors = descriptors
        self.acceptExpired = acceptExpired
        self.metadata = metadata
    }
}

/// Tiles that a region needs of one tileset.
public struct RegionDescriptor: Sendable, Hashable, Codable {
    /// Name of the tileset.
    public var tileset: String
    /// The domain of its tiles.
    public var domain: TileDomain
    /// Lowest zoom level, 0 ... 22.
    public var zoomMin: UInt8
    /// Highest zoom level, 0 ... 22.
    public var zoomMax: UInt8
    /// Pixel ratio of raster tiles; nil when it does not matter.
    public var pixelRatio: Double?

    /// A descriptor.
    public init(tileset: String, domain: TileDomain, zoomMin: UInt8, zoomMax: UInt8, pixelRatio: Double? = nil) {
        self.tileset = tileset
        self.domain = domain
        self.zoomMin = zoomMin
        self.zoomMax = zoomMax
        self.pixelRatio = pixelRatio
    }
}

/// How an offline region stands.
public enum StoredRegionState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Being loaded.
    case loading
    /// All tiles are on board.
    case complete
    /// Some tiles are missing.
    case incomplete
    /// Loading was cancelled.
    case cancelled
}

/// How far an offline region is loaded.
public struct StoredRegionProgress: Sendable, Hashable, Codable {
    /// Tiles that the region needs.
    public var requiredCount: Int64
    /// Tiles that are on board.
    public var completedCount: Int64
    /// Bytes of those.
    public var completedBytes: Int64
    /// Tiles that were downloaded for it.
    public var loadedCount: Int64
    /// Bytes of those.
    public var loadedBytes: Int64
    /// Tiles that failed.
    public var erroredCount: Int64

    /// Progress.
    public init(
        requiredCount: Int64 = 0, completedCount: Int64 = 0, completedBytes: Int64 = 0, loadedCount: Int64 = 0,
        loadedBytes: Int64 = 0, erroredCount: Int64 = 0
    ) {
        self.requiredCount = requiredCount
        self.completedCount = completedCount
        self.completedBytes = completedBytes
        self.loadedCount = loadedCount
        self.loadedBytes = loadedBytes
        self.erroredCount = erroredCount
    }
}

/// Why an offline region is incomplete.
public struct StoredRegionFailure: Sendable, Hashable, Codable {
    /// The caller's code.
    public var code: String
    /// One line for people.
    public var message: String

    /// A failure.
    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }
}

/// An offline region as it is stored.
public struct StoredRegion: Sendable, Hashable {
    /// What it is; while it is being updated, what it was and still serves as.
    public var definition: StoredRegionDefinition
    /// The edition of each of its tilesets that it has, by name of the tileset.
    public var editions: [String: String]
    /// How it stands.
    public var state: StoredRegionState
    /// How far it is loaded, as last written; of the staged tiles while there are any.
    public var progress: StoredRegionProgress
    /// When it was created.
    public var created: Timestamp
    /// When it was written last.
    public var updated: Timestamp
    /// Why it is incomplete, or its update is.
    public var failure: StoredRegionFailure?
    /// What it will be once its staged tiles are complete; nil when none are staged.
    public var staged: StagedRegion?
    /// Whether its tiles must be named again with `putRegion`: the index was lost.
    public var needsPlanning: Bool

    package init(
        definition: StoredRegionDefinition, editions: [String: String], state: StoredRegionState,
        progress: StoredRegionProgress, created: Timestamp, updated: Timestamp, failure: StoredRegionFailure?,
        staged: StagedRegion?, needsPlanning: Bool
    ) {
        self.definition = definition
        self.editions = editions
        self.state = state
        self.progress = progress
        self.created = created
        self.updated = updated
        self.failure = failure
        self.staged = staged
        self.needsPlanning = needsPlanning
    }
}

/// What a region becomes when all the tiles of its update are there.
public struct StagedRegion: Sendable, Hashable {
    /// What it will be.
    public var definition: StoredRegionDefinition
    /// The edition of each of its tilesets that it will have.
    public var editions: [String: String]

    /// What a region becomes.
    public init(definition: StoredRegionDefinition, editions: [String: String]) {
        self.definition = definition
        self.editions = editions
    }
}

/// A tile of an edition: a region needs it of that one and of no other.
public struct RegionTile: Sendable, Hashable {
    /// Which.
    public var address: TileAddress
    /// Of which edition.
    public var edition: String

    /// A tile of an edition.
    public init(_ address: TileAddress, edition: String) {
        self.address = address
        self.edition = edition
    }
}
