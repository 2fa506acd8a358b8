import NavTileCache

// The disk of a tile cache, as its decisions see it.
extension TileStoreReader: TileCacheIndex {}
extension TileStore: TileCacheStore {}
