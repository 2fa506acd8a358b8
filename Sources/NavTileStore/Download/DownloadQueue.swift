public import NavGeo

/// Fetches the tiles that are wanted, the most urgent first, and hands them on as they come.
///
/// Owners say which tiles they want and may say so anew at any time. What has not begun and is not wanted any more is not
/// begun; what is under way is finished and delivered, it is paid for.
public final class DownloadQueue: Sendable {
    /// A queue over some sources, one for each tileset. It fetches nothing before ``next()`` or
    /// ``fetch(_:)`` is called.
    ///
    /// Fails with ``TileSourceError/Code/configuration``.
    public init(
        _ sources: [any TileSource], _ configuration: DownloadConfiguration = DownloadConfiguration(),
        clock: DownloadClock = .system
    ) throws(TileSourceError) {
        throw TileSourceError(.configuration, "not yet")
    }

    /// Replaces what an owner wants. A tile that it got, or that was given up, is not fetched again before
    /// it is wanted in a call of this after its result was delivered.
    public func want(_ wants: [TileWant], for owner: DownloadOwner) {}

    /// Forgets an owner and what it wants.
    public func forget(_ owner: DownloadOwner) {}

    /// Fetches one tile before all others and waits for it; joins a request for it that is under way. The result is
    /// delivered by ``next()`` as well.
    public func fetch(_ want: TileWant) async throws(TileSourceError) -> TileAnswer {
        throw TileSourceError(.configuration, "not yet")
    }

    /// Waits for the next results, at least one; nil when the queue has stopped.
    ///
    /// For one reader: what it was given last counts as held until it asks again, and while it holds too much
    /// (``DownloadConfiguration/undeliveredBytes``) nothing is begun.
    public func next() async -> [DownloadResult]? { nil }

    /// Asks a source what it has, as the network and the source's state allow.
    public func edition(
        of tileset: String, known: Validators? = nil
    ) async throws(TileSourceError) -> EditionAnswer {
        throw TileSourceError(.configuration, "not yet")
    }

    /// How much some tiles of a tileset would take: exact where the source knows, else by some samples.
    ///
    /// - Parameter edition: what the source has, where the caller knows; its list answers without any request.
    public func estimate(
        _ tiles: [TileID], of tileset: String, edition: TilesetEdition? = nil
    ) async throws(TileSourceError) -> DownloadEstimate {
        throw TileSourceError(.configuration, "not yet")
    }

    /// What may be sent over a network.
    public var network: NetworkMode {
        get { .unmetered }
        set {}
    }

    /// Bytes per second from all remote sources together; nil for any number.
    public var bytesPerSecond: Double? {
        get { nil }
        set {}
    }

    /// Whether nothing new is begun.
    public var isPaused: Bool {
        get { false }
        set {}
    }

    /// How the sources do, by tileset.
    public var conditions: [SourceCondition] { [] }

    /// What the queue has done.
    public var statistics: DownloadStatistics { DownloadStatistics() }

    /// Breaks off what is under way and waits until that has ended; results that were not taken are lost, the
    /// sources stay open.
    public func stop() async {}
}
