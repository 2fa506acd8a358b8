import Foundation
package import NavConfig
package import NavGeo
import NavHTTPServer
package import NavTileCache
import NavTileStore

package struct TileCacheConfiguration: NodeConfiguration {
    /// The store's folder; empty for the user's default.
    package var storePath = ""
    package var tilesets: [TilesetKeys] = []
    /// The keys for tiles that are kept ahead of the vehicle.
    package var predictive = PredictiveKeys()
    /// The thresholds of the cache, except those in ``predictive``.
    package var cache = CacheSettings()
    /// The settings of downloads, except those shared with ``cache``.
    package var download = DownloadConfiguration()
    /// The rate limit of all downloads together, kilobits per second; 0 for no limit.
    package var bandwidth = 0.0
    /// The endpoint for web maps.
    package var http = TileServerKeys()

    /// The wall clock for expiry; not a configuration key.
    package var wallClock: @Sendable () -> Timestamp = TileSourceConfiguration.wallClock
    /// The maximum time for which sizes are sampled before a region is loaded; slower sources are not awaited; not a configuration key.
    package var samplingTime = Duration.seconds(5)

    package init() {}

    /// Returns the store's folder: the configured one, else `navbus/tiles` in the user's data folder.
    package func storeFolder(environment: [String: String]) -> String {
        guard storePath.isEmpty else { return storePath }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/navbus/tiles" }
        return (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share/navbus/tiles"
    }

    package var settings: CacheSettings {
        var settings = cache
        settings.isPredictive = predictive.isEnabled
        settings.navigation = predictive.navigationProfile
        settings.maps = predictive.mapsProfile
        return settings
    }

    package var downloads: DownloadConfiguration {
        var downloads = download
        downloads.metered = cache.metered
        downloads.bytesPerSecond = bytesPerSecond
        return downloads
    }

    /// The rate limit, bytes per second; nil for no limit.
    package var bytesPerSecond: Double? { bandwidth > 0 ? bandwidth * 125 : nil }

    package static var keys: [ConfigKey<TileCacheConfiguration>] {
        [
            .string(
                "store.path", \.storePath,
                "Folder of the tile store; empty for navbus/tiles below XDG_DATA_HOME or ~/.local/share."),
            .number(
                "store.budget_mb", \.cache.budgetMB, in: 1...10_000_000,
                "Greatest size of all stored tiles, megabytes; tiles of offline regions count and are never evicted."
            ).live,
            .integer(
                "store.patrol_bytes_per_s", \.cache.scrubBytesPerSecond, in: 0...100_000_000,
                "Rate of checking stored files for damage while the node is idle, bytes per second; 0 for never."
            ).live,
            .text(
                "tilesets", \.tilesets, range: TilesetKeys.range, "The tilesets: their names and where they come from.",
                parse: { TilesetKeys.list($0) }, format: { ConfigRecord.text($0.map(\.record)) },
                defect: { TilesetKeys.defect(of: $0) }),
        ] + PredictiveKeys.keys.map { $0.within(\.predictive) } + [
            .text(
                "network.mode", \.cache.network, range: NetworkMode.allCases.map(\.rawValue).joined(separator: " | "),
                "Use of the network: for everything, only for what network.metered names, or not at all.",
                parse: { NetworkMode(rawValue: $0) }, format: { $0.rawValue }
            ).live,
            .text(
                "network.metered", \.cache.metered, range: "any of asked,predicted,region, or empty",
                "Tiles fetched over a metered network: requested ones, ones ahead of the vehicle, ones of regions.",
                listSeparator: ",",
                parse: { Set(urgencies: $0) }, format: { $0.text }),
            .text(
                "network.bandwidth_kbps", \.bandwidth, range: "8 … 10000000, or 0",
                "Greatest rate of all downloads together, kilobits per second; 0 for no limit.",
                parse: { text in
                    decimal(text).flatMap { (rate: Double) in rate == 0 || (8...10_000_000).contains(rate) ? rate : nil
                    }
                },
                format: { $0 == $0.rounded() ? String(Int64($0)) : "\($0)" }
            ).live,
            .integer(
                "network.concurrency", \.download.concurrency, in: 1...64,
                "Greatest number of simultaneous downloads from one source."),
            .integer(
                "network.retries", \.download.retries, in: 0...100, "Number of retries for a tile that failed."),
            .number(
                "edition.check_interval_s", \.cache.editionInterval, in: 1...2_592_000,
                "Interval at which sources are asked for a newer edition, seconds."
            ).live,
            .integer(
                "region.max_tiles", \.cache.greatestRegionCount, in: 1...10_000_000,
                "Greatest number of tiles of one offline region."
            ).live,
            .number(
                "region.retry_s", \.cache.regionRetry, in: 1...86_400,
                "Time after which an incomplete offline region is retried, seconds."
            ).live,
        ] + TileServerKeys.keys.map { $0.within(\.http) }
    }
}

/// The endpoint that serves tiles to web maps.
package struct TileServerKeys: NodeConfiguration, Hashable {
    /// The address that it listens on, HOST:PORT; empty for no endpoint.
    package var listen = ""
    /// Whether it may listen on addresses other than the loopback address.
    package var allowsRemote = false
    package var connections = 64
    /// The time after which an inactive client is disconnected, seconds.
    package var idle = 15.0
    /// The origin of pages that may use it, for CORS.
    package var origin = "*"

    package init() {}

    package static var keys: [ConfigKey<TileServerKeys>] {
        [
            .text(
                "http.listen", \.listen, range: "HOST:PORT, such as 127.0.0.1:8090, or empty",
                "Address that serves tiles to web maps, as /{tileset}/{z}/{x}/{y}; empty for none.",
                parse: { $0.isEmpty || ListenAddress(text: $0) != nil ? $0 : nil }, format: { $0 }),
            .flag(
                "http.allow_remote", \.allowsRemote,
                "Whether the endpoint may listen on addresses other than loopback."),
            .integer(
                "http.max_connections", \.connections, in: 1...10_000, "Greatest number of simultaneous connections."),
            .number(
                "http.idle_s", \.idle, in: 0.1...3_600,
                "Time after which an idle client is disconnected, seconds."),
            .string(
                "http.allow_origin", \.origin,
                "The origin of pages that may use the endpoint, as in Access-Control-Allow-Origin; empty for none."),
        ]
    }
}

extension Set<DownloadUrgency> {
    private static let names: [(String, DownloadUrgency)] = [
        ("asked", .asked), ("predicted", .predicted), ("region", .region),
    ]

    /// The urgencies from a comma-separated list of names; nil when one is unknown.
    fileprivate init?(urgencies text: String) {
        self = []
        for name in text.split(separator: ",") {
            guard let known = Self.names.first(where: { $0.0 == name }) else { return nil }
            insert(known.1)
        }
    }

    /// The names, separated by commas.
    fileprivate var text: String { Self.names.filter { contains($0.1) }.map(\.0).joined(separator: ",") }
}

extension TileCacheConfiguration {
    /// The files and folders that are read, by key.
    package var inputPaths: [(key: String, path: String)] {
        tilesets.flatMap { tileset in
            let isLocal = !tileset.source.contains(":") && !tileset.source.contains("{")
            return [isLocal ? tileset.source : nil, tileset.authFile, tileset.authorities].compactMap { path in
                path.map { ("tilesets", $0) }
            }
        }
    }
    /// The folders that are created, by key.
    package var outputPaths: [(key: String, path: String)] {
        storePath.isEmpty || FileManager.default.fileExists(atPath: storePath) ? [] : [("store.path", storePath)]
    }
}
