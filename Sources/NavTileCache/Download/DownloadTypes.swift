/// The purpose of a demand, which determines the order of downloads.
package enum DownloadUrgency: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    /// A caller has requested the tile and waits for it.
    case asked = 0
    /// The vehicle will need it.
    case predicted = 1
    /// An offline region needs it.
    case region = 2

    /// Orders the more urgent first.
    package static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// The owner of a set of demands that is replaced as a whole.
package struct DownloadOwner: Sendable, Hashable {
    package var urgency: DownloadUrgency
    /// Its name, such as a region's id.
    package var name: String

    package init(_ urgency: DownloadUrgency, _ name: String) {
        self.urgency = urgency
        self.name = name
    }
}

package struct TileDemand: Sendable, Hashable {
    package var address: TileAddress
    /// The version of the edition that the tile must be of; nil for the source's current one.
    package var edition: String?
    /// The rank among demands of equal urgency, lowest first: for predicted tiles metres along the route, for a
    /// region's tiles their place in its list.
    package var need: Double
    /// Whether the vehicle waits for the tile: such tiles are fetched two at a time, before all others.
    package var isAwaited: Bool
    /// The validators of the tile on board, for a conditional request to the source.
    package var known: Validators?
    /// The size, bytes; nil when no list states it.
    package var size: Int64?

    package init(
        _ address: TileAddress, edition: String? = nil, need: Double = 0, isAwaited: Bool = false,
        known: Validators? = nil, size: Int64? = nil
    ) {
        self.address = address
        self.edition = edition
        self.need = need
        self.isAwaited = isAwaited
        self.known = known
        self.size = size
    }

    /// Whether this demand precedes another: awaited tiles first, then those needed sooner; a NaN need comes last.
    package func isSooner(than other: TileDemand) -> Bool {
        if isAwaited != other.isAwaited { return isAwaited }
        return need < other.need || (other.need.isNaN && !need.isNaN)
    }
}

/// The outcome of a demand for a tile.
package struct DownloadResult: Sendable {
    package var address: TileAddress
    /// The requested edition; see ``TileDemand/edition``.
    package var edition: String?
    /// The answer, or the final failure, after which the tile is not fetched until it is demanded again.
    package var outcome: Result<TileAnswer, TileSourceError>
    /// The owners that demanded the tile when it arrived, by urgency and name.
    package var owners: [DownloadOwner]
    /// The number of attempts; 0 when the tile is in its cooldown after a failure, see ``TileSourceError/retryAfter``.
    package var attempts: Int
}

package enum NetworkMode: String, Sendable, CaseIterable {
    /// All downloads.
    case unmetered
    /// Only the urgencies that are worth the cost; see ``DownloadConfiguration/metered``.
    case metered
    /// No downloads, and running ones are cancelled; sources on this machine are still read.
    case offline
}

package enum SourceReachability: String, Sendable, CaseIterable {
    /// The last query was answered, or there has been none yet.
    case online
    case degraded
    /// It failed so often that it is not queried for a while.
    case offline
}

package struct SourceCondition: Sendable, Hashable {
    package var tileset: String
    package var reachability: SourceReachability
    /// A human-readable reason of the last failure; nil when the last query was answered.
    package var reason: String?
    /// Whether the last failure was an unreachable source, rather than a wrong answer.
    package var isUnreachable = false
}

/// The counts of a queue since it started.
package struct DownloadStatistics: Sendable, Hashable {
    /// Bytes received, as transferred (compressed).
    package var receivedBytes: Int64 = 0
    package var fetchedCount = 0
    package var failedAttempts = 0
    /// Tiles given up.
    package var failedCount = 0
    /// Answers refused because of their format, size or hash.
    package var corruptCount = 0
    /// Tiles being fetched.
    package var runningCount = 0
    /// Waiting tiles; a tile counts once for each owner.
    package var pendingCount = 0

    package init() {}
}

package struct DownloadConfiguration: Sendable, Hashable {
    /// The maximum number of tiles fetched at a time from one source, 1 to 64.
    package var concurrency = 6
    /// The rate limit of all remote sources together, bytes per second; nil for no limit.
    package var bytesPerSecond: Double?
    /// The urgencies that may be fetched over a metered network.
    package var metered: Set<DownloadUrgency> = [.asked, .predicted]
    /// The maximum bytes of tiles that are being fetched, or fetched and not yet taken; one tile is always allowed.
    ///
    /// 64 MiB: half of it is stored as one batch, and larger batches need fewer disk writes.
    package var undeliveredBytes: Int64 = 64 << 20
    package var batchCount = 256
    /// The number of retries of a failed tile.
    package var retries = 4
    /// The pause before the first retry, seconds; doubles each time.
    package var firstPause = 1.0
    /// The longest pause before a retry, seconds.
    package var longestPause = 60.0
    /// The time for which a given-up tile is not retried unless a caller requests it, seconds.
    package var failureCooldown = 120.0
    /// The number of consecutive failures of a source after which it is not queried for a while.
    package var failuresToOpen = 5
    /// The initial time for which a failing source is not queried, seconds; doubles with each failed trial.
    package var firstOpenTime = 5.0
    /// The longest time for which a failing source is not queried, seconds.
    package var longestOpenTime = 120.0
    /// The longest Retry-After of a source that is honoured, seconds.
    package var longestRetryAfter = 600.0
    /// The seed of the random part of the pauses.
    package var seed: UInt64 = 1

    package init() {}
}

/// An estimate of the size of some tiles.
package struct DownloadEstimate: Sendable, Hashable {
    package var tileCount: Int
    /// The estimated bytes of the tiles, as they would be stored.
    package var bytes: Int64
    /// Half the width of the 95 % interval of ``bytes``; 0 when they are exact.
    package var uncertainty: Int64
    package var requestCount: Int

    package init(tileCount: Int, bytes: Int64, uncertainty: Int64, requestCount: Int) {
        self.tileCount = tileCount
        self.bytes = bytes
        self.uncertainty = uncertainty
        self.requestCount = requestCount
    }
}
