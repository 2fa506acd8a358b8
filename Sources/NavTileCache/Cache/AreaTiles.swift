package import NavGeo

/// An enumeration of the tiles of an area, tileset by tileset, up to the limit of a region.
package struct AreaTiles {
    /// The maximum number of tiles of all tilesets together: `region.max_tiles`.
    package let limit: Int
    private var count = 0

    package init(limit: Int) { self.limit = limit }

    package mutating func tiles(
        of area: RegionArea, _ descriptor: RegionDescriptor, _ index: EditionIndex
    ) throws(TileFailure) -> [TileID] {
        let tiles: [TileID]
        do throws(RegionFault) {
            tiles = index.tiles(of: try area.tiles(of: index.levels(of: descriptor.layers), limit: limit))
        } catch {
            throw TileFailure(error).about("geometry")
        }
        count += tiles.count
        guard count <= limit else {
            throw TileFailure(
                .invalidRequest,
                "geometry: the area has \(count) tiles, more than \(limit) (region.max_tiles); use a smaller area or fewer levels"
            )
        }
        return tiles
    }
}

extension RegionDescriptor {
    /// The wanted levels of its tileset.
    package var layers: [RegionLayer] {
        domain == .navigation ? RegionLayer.navigation(in: zoomMin...zoomMax) : RegionLayer.maps(zoomMin...zoomMax)
    }
}
