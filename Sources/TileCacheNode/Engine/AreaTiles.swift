package import NavGeo
package import NavMessages
package import NavTileCache
package import NavTileStore

/// Finds the tiles of an area, of one tileset after the other, within the most that a region may have.
struct AreaTiles {
    /// The most tiles of all tilesets together: `region.max_tiles`.
    let limit: Int
    private var count = 0

    init(limit: Int) { self.limit = limit }

    /// The tiles that an edition has of an area.
    mutating func tiles(
        of area: RegionArea, _ descriptor: NavTileStore.RegionDescriptor, _ index: EditionIndex
    ) throws(TileFailure) -> [TileID] {
        let tiles: [TileID]
        do throws(RegionFault) {
            tiles = index.tiles(of: try area.tiles(of: index.levels(of: descriptor.layers), limit: limit))
        } catch {
            throw TileFailure(error)
        }
        count += tiles.count
        guard count <= limit else {
            throw TileFailure(
                .invalidRequest,
                "the area has \(count) tiles, more than \(limit) (region.max_tiles): make it smaller, or take fewer zoom levels"
            )
        }
        return tiles
    }
}
