package import NavGeo

/// A tileset as the cache's decisions know it.
package struct TilesetSettings: Sendable, Hashable {
    package var name: String
    package var domain: TileDomain
    package var isCacheable: Bool
    /// Whether asking its source sends anything over a network.
    package var isRemote: Bool

    package init(_ name: String, _ domain: TileDomain, isCacheable: Bool = true, isRemote: Bool = true) {
        self.name = name
        self.domain = domain
        self.isCacheable = isCacheable
        self.isRemote = isRemote
    }
}

/// The thresholds of a tile cache; all of them may change while it runs.
package struct CacheSettings: Sendable {
    /// Whether tiles are fetched ahead of the vehicle.
    package var isPredictive = false
    /// The road tiles that are kept ahead.
    package var navigation = CacheProfile.navigation()
    /// The map tiles that are kept ahead.
    package var maps = CacheProfile.maps(zooms: 5...14)
    package var network = NetworkMode.unmetered
    /// The urgencies that are fetched over a metered network.
    package var metered: Set<DownloadUrgency> = [.asked, .predicted]
    /// Most tiles on disk, in units of 1,000,000 bytes.
    package var budgetMB = 4_096.0
    /// The interval of asking sources for a newer edition, seconds.
    package var editionInterval = 3_600.0
    /// Most tiles of one offline region.
    package var greatestRegionCount = 500_000
    /// The pause before an offline region that is not complete is tried again, seconds.
    package var regionRetry = 60.0
    /// The rate at which tiles on board are scrubbed, bytes per second; 0 for never.
    package var scrubBytesPerSecond = 250_000

    package init() {}

    /// Most bytes of tiles on disk.
    package var budgetBytes: Int64 {
        get { Int64((min(max(budgetMB, 0), 1e9) * 1e6).rounded()) }
        set { budgetMB = Double(newValue) / 1e6 }
    }

    func profile(_ domain: TileDomain) -> CacheProfile { domain == .navigation ? navigation : maps }
}

/// The moment of an event: of the machine's monotonic clock, and of the wall clock, which may jump.
package struct CacheInstant: Sendable, Hashable {
    /// Nanoseconds of the monotonic clock.
    package var monotonic: Int64
    /// For what expires, and for what is noted with tiles and regions.
    package var wall: Timestamp

    package init(monotonic: Int64, wall: Timestamp) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// The network as the shell knows it when the cache takes a turn.
package struct NetworkReport: Sendable {
    package var conditions: [SourceCondition]
    /// Whether tiles are being fetched, or somebody waits for the disk: the scrub stands still.
    package var isBusy: Bool

    package init(conditions: [SourceCondition] = [], isBusy: Bool = false) {
        self.conditions = conditions
        self.isBusy = isBusy
    }
}

package enum CacheEvent: Sendable {
    /// The process has started; the store is as the last one left it.
    case start
    /// The vehicle moved, or has another route.
    case vehicle(VehicleUpdate)
    case downloads([DownloadResult])
    /// A source has said what it has, or has not.
    case edition(String, Result<EditionAnswer, TileSourceError>)
    /// An offline region is wanted, by the caller of a number.
    case load(StoredRegionDefinition, token: UInt64)
    /// Samples of a wanted region's size are there, in bytes by tileset where there are any.
    case sampled(String, number: UInt64, estimates: [String: Int64])
    case settings(CacheSettings)
    case tick(NetworkReport)
    case stop
}

/// Something that the cache asks its shell to do.
package enum CacheEffect: Sendable {
    /// Replaces what an owner demands of the download queue; nothing: forgets it.
    case demand([TileDemand], DownloadOwner)
    /// Fetches nothing but what somebody waits for, or goes on.
    case pauseDownloads(Bool)
    /// Asks the source of a tileset what it has; answered by ``CacheEvent/edition(_:_:)``.
    case askEdition(String, known: Validators?)
    /// Finds out how much a region may take; answered by ``CacheEvent/sampled(_:number:estimates:)``.
    case sample(StoredRegionDefinition, number: UInt64)
    /// The answer to a sample is not wanted any more.
    case stopSample(number: UInt64)
    /// A region that was asked for is being loaded.
    case accepted(token: UInt64, region: String)
    /// A region that was asked for is not loaded.
    case refused(token: UInt64, TileFailure)
    case region(RegionNotice)
    /// Other editions are in use, or known.
    case tilesetsChanged
    case log(isWarning: Bool, String)
}

package struct RegionNotice: Sendable {
    /// The five kinds of events of a region.
    package enum Kind: Sendable, Hashable { case loadProgress, loadFinished, removed, geometryChanged, metadataChanged }

    package var kind: Kind
    package var id: String
    package var progress: StoredRegionProgress?
    package var isSuccess: Bool?
    package var failure: TileFailure?
    package var region: RegionStatus?
}

/// An offline region as callers see it.
package enum RegionStatus: Sendable {
    /// As it is stored, with its progress as known here, and when the first of its tiles expires.
    case stored(StoredRegion, expires: Timestamp?)
    /// Nothing of it is stored yet.
    case requested(StoredRegionDefinition, StoredRegionState)
}
