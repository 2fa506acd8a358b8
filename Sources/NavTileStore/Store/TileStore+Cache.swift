import NavTileCache

// The conformances by which the cache's decisions use this disk.
extension TileStoreReader: TileCacheIndex {}
extension TileStore: TileCacheStore {}
