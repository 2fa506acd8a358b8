package import NavGeo

/// The settings of one tileset that the cache's decisions need.
package struct TilesetSettings: Sendable, Hashable {
    package var name: String
    package var domain: TileDomain
    package var isCacheable: Bool
    /// Whether requests to its source use a network.
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
    /// The urgencies that may be fetched over a metered network.
    package var metered: Set<DownloadUrgency> = [.asked, .predicted]
    /// The budget for tiles on disk, in units of 1,000,000 bytes.
    package var budgetMB = 4_096.0
    /// The interval between polls of the sources for a newer edition, seconds.
    package var editionInterval = 3_600.0
    /// The maximum number of tiles of one offline region.
    package var greatestRegionCount = 500_000
    /// The pause before an incomplete offline region is retried, seconds.
    package var regionRetry = 60.0
    /// The rate at which stored tiles are scrubbed, bytes per second; 0 turns the scrub off.
    package var scrubBytesPerSecond = 250_000

    package init() {}

    /// The budget for tiles on disk, bytes.
    package var budgetBytes: Int64 {
        get { Int64((min(max(budgetMB, 0), 1e9) * 1e6).rounded()) }
        set { budgetMB = Double(newValue) / 1e6 }
    }

    func profile(_ domain: TileDomain) -> CacheProfile { domain == .navigation ? navigation : maps }
}

/// The moment of an event, on the machine's monotonic clock and on the wall clock, which may jump.
package struct CacheInstant: Sendable, Hashable {
    /// Nanoseconds of the monotonic clock.
    package var monotonic: Int64
    /// The wall clock, used for expiry and for the times stored with tiles and regions.
    package var wall: Timestamp

    package init(monotonic: Int64, wall: Timestamp) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// The state of the network when the cache handles an event.
package struct NetworkReport: Sendable {
    package var conditions: [SourceCondition]
    /// Whether tiles are being fetched or a request waits for the disk; the scrub pauses during that time.
    package var isBusy: Bool

    package init(conditions: [SourceCondition] = [], isBusy: Bool = false) {
        self.conditions = conditions
        self.isBusy = isBusy
    }
}

package enum CacheEvent: Sendable {
    /// The process has started; the store is as the previous process left it.
    case start
    /// The vehicle moved or has another route.
    case vehicle(VehicleUpdate)
    case downloads([DownloadResult])
    /// A source has answered a poll for its edition, or the poll has failed.
    case edition(String, Result<EditionAnswer, TileSourceError>)
    /// A caller, identified by `token`, requests an offline region.
    case load(StoredRegionDefinition, token: UInt64)
    /// The size samples of a requested region have arrived: the estimated bytes of those tilesets that have samples.
    case sampled(String, number: UInt64, estimates: [String: Int64])
    case settings(CacheSettings)
    case tick(NetworkReport)
    case stop
}

/// An action that the cache requests from its shell.
package enum CacheEffect: Sendable {
    /// Replaces an owner's demands in the download queue; an empty list forgets the owner.
    case demand([TileDemand], DownloadOwner)
    /// Forgets an owner, and cancels its running downloads that no other owner demands.
    case abandon(DownloadOwner)
    /// Lets tiles of these tilesets that were given up be requested again at once.
    case forgetFailures([String])
    /// Pauses or resumes all downloads that no caller waits for.
    case pauseDownloads(Bool)
    /// Asks the source of a tileset for its edition; answered by ``CacheEvent/edition(_:_:)``.
    case askEdition(String, known: Validators?)
    /// Estimates the size of a region; answered by ``CacheEvent/sampled(_:number:estimates:)``.
    case sample(StoredRegionDefinition, number: UInt64)
    /// Cancels the size estimate of a region.
    case stopSample(number: UInt64)
    /// The requested region is being loaded.
    case accepted(token: UInt64, region: String)
    /// The requested region is not loaded.
    case refused(token: UInt64, TileFailure)
    case region(RegionNotice)
    /// The editions in use or the known editions have changed.
    case tilesetsChanged
    case log(isWarning: Bool, String)
}

package struct RegionNotice: Sendable {
    /// The five kinds of events of a region.
    package enum Kind: Sendable, Hashable, CaseIterable {
        case loadProgress, loadFinished, removed, geometryChanged, metadataChanged
    }

    package var kind: Kind
    package var id: String
    package var progress: StoredRegionProgress?
    package var isSuccess: Bool?
    package var failure: TileFailure?
    package var region: RegionStatus?
}

/// An offline region as callers see it.
package enum RegionStatus: Sendable {
    /// The region as stored, with its current progress and the moment when its first tile expires.
    case stored(StoredRegion, expires: Timestamp?)
    /// The region has not been stored yet.
    case requested(StoredRegionDefinition, StoredRegionState)
}
