package import NavConfig

/// The keys of fetching tiles that the navigation node lacks.
package struct TileCacheKeys: NodeConfiguration, Equatable {
    /// Whether a tile cache is asked for them; without, they come when somebody puts them into the directory.
    package var isAsked = true
    /// The cache's node; empty for whichever serves TileCache.
    package var node = ""
    /// The cache's name of the road tiles; empty for its only ones.
    package var tileset = ""
    /// The longest wait for a tile, seconds.
    package var deadline = 30.0
    /// Half width of the corridor that Coverage looks at, metres. 500: the documents' route buffer.
    package var corridor = 500.0

    package init() {}

    package static var keys: [ConfigKey<TileCacheKeys>] {
        [
            .flag(
                "tile_cache.ask", \.isAsked, "Whether the tile cache is asked for tiles that a route needs and lacks."),
            .string("tile_cache.node", \.node, "Name of the tile cache's node; empty for whichever serves TileCache."),
            .string("tile_cache.tileset", \.tileset, "The cache's name of the road tiles; empty for its only ones."),
            .number("tile_cache.deadline_s", \.deadline, in: 0.1...600, "How long a tile is waited for, seconds."),
            .number(
                "coverage.corridor_m", \.corridor, in: 0...100_000,
                "Half width of the corridor around a way whose tiles Coverage looks at, metres."),
        ]
    }
}
