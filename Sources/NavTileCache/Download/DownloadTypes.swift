/// What a tile is wanted for: the order in which tiles are fetched.
public enum DownloadUrgency: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    /// Somebody asked for it and waits.
    case asked = 0
    /// The vehicle will need it.
    case predicted = 1
    /// An offline region has it.
    case region = 2

    /// The more urgent first.
    public static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// Who wants a set of tiles: the set is replaced as a whole.
public struct DownloadOwner: Sendable, Hashable {
    /// What it wants them for.
    public var urgency: DownloadUrgency
    /// Its name, such as a region's id.
    public var name: String

    /// Somebody who wants tiles.
    public init(_ urgency: DownloadUrgency, _ name: String) {
        self.urgency = urgency
        self.name = name
    }
}

/// A tile that is wanted.
public struct TileDemand: Sendable, Hashable {
    /// Which.
    public var address: TileAddress
    /// Version of the edition it must be of; nil for whichever its source has.
    public var edition: String?
    /// How soon, the lowest first: seconds until the vehicle needs it, or any other measure of its owner.
    public var need: Double
    /// Whether the vehicle waits for it: such tiles come two at a time, and those that have time after them.
    public var isAwaited: Bool
    /// What is known of the tile on board: the source is asked whether it holds on.
    public var known: Validators?
    /// How large it will be, bytes, where a list says so.
    public var size: Int64?

    /// A tile that is wanted.
    public init(
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

/// What became of a tile that was wanted.
public struct DownloadResult: Sendable {
    /// Which.
    public var address: TileAddress
    /// The edition that was wanted, see ``TileDemand/edition``.
    public var edition: String?
    /// The answer, or why there is none and none will be looked for until it is wanted again.
    public var outcome: Result<TileAnswer, TileSourceError>
    /// Who wanted it when it arrived, by urgency and name; none when nobody did any more.
    public var owners: [DownloadOwner]
    /// How often it was asked for.
    public var attempts: Int
}

/// The permitted use of a network.
public enum NetworkMode: String, Sendable, CaseIterable {
    /// Everything.
    case unmetered
    /// What is worth its price: see ``DownloadConfiguration/metered``.
    case metered
    /// Nothing: what is under way is broken off. Sources on this machine are still read.
    case offline
}

/// Whether a source can be reached.
public enum SourceReachability: String, Sendable, CaseIterable {
    /// The last question was answered, or none was asked.
    case online
    /// Some questions failed.
    case degraded
    /// It failed so often that it is left alone for a while.
    case offline
}

/// How a source does.
public struct SourceCondition: Sendable, Hashable {
    /// The tileset that comes from it.
    public var tileset: String
    /// Whether it can be reached.
    public var reachability: SourceReachability
    /// Why it failed last, for people; nil when the last question was answered.
    public var reason: String?
    /// Seconds for which it is left alone.
    public var rest: Double?
    /// Tiles that are being fetched from it.
    public var runningCount: Int
    /// Tiles wanted from it that wait, each owner's counted.
    public var pendingCount: Int
}

/// What a queue has done since it began.
public struct DownloadStatistics: Sendable, Hashable {
    /// Bytes received, packed as they came.
    public var receivedBytes: Int64 = 0
    /// Tiles fetched.
    public var fetchedCount = 0
    /// Attempts that failed.
    public var failedAttempts = 0
    /// Tiles given up.
    public var failedCount = 0
    /// Answers refused because their form, size or hash was wrong.
    public var corruptCount = 0
    /// Tiles being fetched.
    public var runningCount = 0
    /// Tiles that wait, each owner's counted.
    public var pendingCount = 0

    /// Nothing yet.
    public init() {}
}

/// How a queue works.
public struct DownloadConfiguration: Sendable, Hashable {
    /// Most tiles at a time from one source, 1 to 64.
    public var concurrency = 6
    /// Bytes per second from all remote sources together; nil for any number.
    public var bytesPerSecond: Double?
    /// The urgencies that are fetched over a metered network.
    public var metered: Set<DownloadUrgency> = [.asked, .predicted]
    /// Most bytes of tiles that are fetched and not yet taken, or being fetched: one tile may always be. 64 MiB: half of it is what is stored at
    /// once, and what the disk takes for a batch it takes less often.
    public var undeliveredBytes: Int64 = 64 << 20
    /// Most results in one batch.
    public var batchCount = 256
    /// The number of retries of a tile that failed.
    public var retries = 4
    /// Seconds before it is asked for again; doubles each time.
    public var firstPause = 1.0
    /// Most seconds before it is asked for again.
    public var longestPause = 60.0
    /// Seconds for which a tile that was given up is not tried again, but when it is asked for.
    public var failureRest = 120.0
    /// Failures of a source one after the other until it is left alone.
    public var failuresToRest = 5
    /// Seconds for which it is left alone first; doubles with each trial that fails.
    public var firstRest = 5.0
    /// Most seconds for which it is left alone.
    public var longestRest = 120.0
    /// Most seconds that a source's Retry-After is believed.
    public var longestRetryAfter = 600.0
    /// Begins the random part of the pauses.
    public var seed: UInt64 = 1

    /// The defaults.
    public init() {}
}

/// How much fetching tiles would take.
public struct DownloadEstimate: Sendable, Hashable {
    /// Tiles that there are of those asked for.
    public var tileCount: Int
    /// Bytes of them, as they would be stored.
    public var bytes: Int64
    /// Half the width of the 95 % interval of ``bytes``; 0 when they are exact.
    public var uncertainty: Int64
    /// Requests that it took.
    public var requestCount: Int

    /// An estimate.
    public init(tileCount: Int, bytes: Int64, uncertainty: Int64, requestCount: Int) {
        self.tileCount = tileCount
        self.bytes = bytes
        self.uncertainty = uncertainty
        self.requestCount = requestCount
    }
}
