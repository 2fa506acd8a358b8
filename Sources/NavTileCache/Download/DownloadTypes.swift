/// The purpose of a demand: the order in which tiles are fetched.
package enum DownloadUrgency: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    /// Somebody asked for it and waits.
    case asked = 0
    /// The vehicle will need it.
    case predicted = 1
    /// An offline region has it.
    case region = 2

    /// The more urgent first.
    package static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// The owner of a set of demands, which is replaced as a whole.
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
    /// Version of the edition it must be of; nil for whichever its source has.
    package var edition: String?
    /// The order, lowest first: seconds until the vehicle needs it, or any other measure of its owner.
    package var need: Double
    /// Whether the vehicle waits for it: such tiles come two at a time, and those that have time after them.
    package var isAwaited: Bool
    /// The validators of the tile on board: the source is asked whether it is unchanged.
    package var known: Validators?
    /// The size, bytes, where a list has it.
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

    /// Whether it comes before another: what the vehicle waits for does, then what is needed sooner; a need that is no
    /// number comes last.
    package func isSooner(than other: TileDemand) -> Bool {
        if isAwaited != other.isAwaited { return isAwaited }
        return need < other.need || (other.need.isNaN && !need.isNaN)
    }
}

/// The outcome of a demand for a tile.
package struct DownloadResult: Sendable {
    package var address: TileAddress
    /// The edition that was wanted, see ``TileDemand/edition``.
    package var edition: String?
    /// The answer, or why there is none and none will be looked for until it is wanted again.
    package var outcome: Result<TileAnswer, TileSourceError>
    /// The owners that wanted it when it arrived, by urgency and name.
    package var owners: [DownloadOwner]
    package var attempts: Int
}

package enum NetworkMode: String, Sendable, CaseIterable {
    /// Everything.
    case unmetered
    /// The urgencies that are worth the price: see ``DownloadConfiguration/metered``.
    case metered
    /// Nothing: what is under way is broken off. Sources on this machine are still read.
    case offline
}

package enum SourceReachability: String, Sendable, CaseIterable {
    /// The last question was answered, or none was asked.
    case online
    case degraded
    /// It failed so often that it is left alone for a while.
    case offline
}

package struct SourceCondition: Sendable, Hashable {
    package var tileset: String
    package var reachability: SourceReachability
    /// The reason of its last failure, for people; nil when the last question was answered.
    package var reason: String?
    /// Seconds for which it is left alone.
    package var rest: Double?
    /// Tiles that are being fetched from it.
    package var runningCount: Int
    /// Tiles wanted from it that wait, each owner's counted.
    package var pendingCount: Int
}

/// The counts of a queue since it began.
package struct DownloadStatistics: Sendable, Hashable {
    /// Bytes received, packed as they came.
    package var receivedBytes: Int64 = 0
    package var fetchedCount = 0
    package var failedAttempts = 0
    /// Tiles given up.
    package var failedCount = 0
    /// Answers refused because their form, size or hash was wrong.
    package var corruptCount = 0
    /// Tiles being fetched.
    package var runningCount = 0
    /// Tiles that wait, each owner's counted.
    package var pendingCount = 0

    package init() {}
}

package struct DownloadConfiguration: Sendable, Hashable {
    /// Most tiles at a time from one source, 1 to 64.
    package var concurrency = 6
    /// Bytes per second from all remote sources together; nil for any number.
    package var bytesPerSecond: Double?
    /// The urgencies that are fetched over a metered network.
    package var metered: Set<DownloadUrgency> = [.asked, .predicted]
    /// Most bytes of tiles that are fetched and not yet taken, or being fetched: one tile may always be. 64 MiB: half of it is what is stored at
    /// once, and what the disk takes for a batch it takes less often.
    package var undeliveredBytes: Int64 = 64 << 20
    package var batchCount = 256
    /// The number of retries of a tile that failed.
    package var retries = 4
    /// Seconds before it is asked for again; doubles each time.
    package var firstPause = 1.0
    /// Most seconds before it is asked for again.
    package var longestPause = 60.0
    /// Seconds for which a tile that was given up is not tried again, but when it is asked for.
    package var failureRest = 120.0
    /// Failures of a source one after the other until it is left alone.
    package var failuresToRest = 5
    /// Seconds for which it is left alone first; doubles with each trial that fails.
    package var firstRest = 5.0
    /// Most seconds for which it is left alone.
    package var longestRest = 120.0
    /// Most seconds that a source's Retry-After is believed.
    package var longestRetryAfter = 600.0
    /// Begins the random part of the pauses.
    package var seed: UInt64 = 1

    package init() {}
}

/// An estimate of the size of some tiles.
package struct DownloadEstimate: Sendable, Hashable {
    package var tileCount: Int
    /// Bytes of them, as they would be stored.
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
