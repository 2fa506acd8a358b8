package import NavConfig

/// The configuration of fetching tiles that the navigation node lacks.
package struct TileCacheKeys: NodeConfiguration, Equatable {
    /// Whether missing tiles are requested from the tile cache; otherwise they must be put into the directory by other
    /// means.
    package var isAsked = true
    /// The tile cache's node; empty for any node that serves TileCache.
    package var node = ""
    /// The tile cache's name for the road tiles; empty for its only tileset.
    package var tileset = ""
    /// The longest wait for a tile, seconds.
    package var deadline = 30.0
    /// Half width of the corridor for Coverage, metres. 500, as the tile cache's route buffer in the documents.
    package var corridor = 500.0

    package init() {}

    package static var keys: [ConfigKey<TileCacheKeys>] {
        [
            .flag(
                "tile_cache.ask", \.isAsked, "Whether missing tiles of a route are requested from the tile cache."),
            .string(
                "tile_cache.node", \.node, "Name of the tile cache's node; empty for any node that serves TileCache."),
            .string(
                "tile_cache.tileset", \.tileset,
                "The cache's name of the tileset of road tiles; empty if there is only one."),
            .number("tile_cache.deadline_s", \.deadline, in: 0.1...600, "Time limit for a tile request, seconds."),
            .number(
                "coverage.corridor_m", \.corridor, in: 0...100_000,
                "Half width of the corridor around a route whose tiles Coverage checks, metres."),
        ]
    }
}
