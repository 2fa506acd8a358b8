package import NavGeo

package struct StoredRegionDefinition: Sendable, Hashable, Codable {
    /// The identity, chosen by the client: 1 to 256 bytes.
    package var id: String
    package var name: String
    /// Its area, as the caller encodes it.
    package var geometry: [UInt8]
    /// The wanted tiles of each tileset.
    package var descriptors: [RegionDescriptor]
    /// Whether expired tiles on board count as loaded.
    package var acceptExpired: Bool
    /// The client's own data.
    package var metadata: [String: String]

    package init(
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

/// The tiles of one tileset that a region needs.
package struct RegionDescriptor: Sendable, Hashable, Codable {
    package var tileset: String
    package var domain: TileDomain
    /// Lowest zoom level, 0 ... 22.
    package var zoomMin: UInt8
    /// Highest zoom level, 0 ... 22.
    package var zoomMax: UInt8
    /// Pixel ratio of raster tiles; nil when it does not matter.
    package var pixelRatio: Double?

    package init(tileset: String, domain: TileDomain, zoomMin: UInt8, zoomMax: UInt8, pixelRatio: Double? = nil) {
        self.tileset = tileset
        self.domain = domain
        self.zoomMin = zoomMin
        self.zoomMax = zoomMax
        self.pixelRatio = pixelRatio
    }
}

package enum StoredRegionState: String, Sendable, Hashable, Codable, CaseIterable {
    case loading
    case complete
    case incomplete
    case cancelled
}

package struct StoredRegionProgress: Sendable, Hashable, Codable {
    /// Tiles that the region needs.
    package var requiredCount: Int64
    /// Tiles that are on board.
    package var completedCount: Int64
    package var completedBytes: Int64
    /// Tiles that were downloaded for it.
    package var loadedCount: Int64
    package var loadedBytes: Int64
    package var erroredCount: Int64

    package init(
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

/// The reason why an offline region is incomplete.
package struct StoredRegionFailure: Sendable, Hashable, Codable {
    /// The caller's code.
    package var code: String
    /// A human-readable line.
    package var message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }
}

package struct StoredRegion: Sendable, Hashable {
    /// The definition; during an update the former definition, which the region still serves.
    package var definition: StoredRegionDefinition
    /// The edition of each of its tilesets, by name of the tileset.
    package var editions: [String: String]
    package var state: StoredRegionState
    /// The last written progress; during an update, that of the staged tiles.
    package var progress: StoredRegionProgress
    package var created: Timestamp
    /// The moment of the last change.
    package var updated: Timestamp
    /// The reason why the region, or its update, is incomplete.
    package var failure: StoredRegionFailure?
    /// The definition that replaces this one once its staged tiles are complete; nil without an update.
    package var staged: StagedRegion?
    /// Whether its tiles must be supplied again with `putRegion`, since the index was lost.
    package var needsPlanning: Bool

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

/// The update of a region, which takes effect once all of its tiles are on board.
package struct StagedRegion: Sendable, Hashable {
    package var definition: StoredRegionDefinition
    /// The edition of each of its tilesets after the update.
    package var editions: [String: String]

    package init(definition: StoredRegionDefinition, editions: [String: String]) {
        self.definition = definition
        self.editions = editions
    }
}

/// A tile of one edition; a region needs the tile of exactly this edition.
package struct RegionTile: Sendable, Hashable {
    package var address: TileAddress
    package var edition: String

    package init(_ address: TileAddress, edition: String) {
        self.address = address
        self.edition = edition
    }
}
