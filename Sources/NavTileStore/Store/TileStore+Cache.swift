import NavTileCache

// The conformances through which the cache's decisions use this disk.
extension TileStoreReader: TileCacheIndex {}
extension TileStore: TileCacheStore {}
