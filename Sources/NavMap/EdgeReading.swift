/// Everything that a tile holds of an edge, with the tile looked up once.
package struct EdgeReading {
    private let tile: RoadTile
    private let record: EdgeRecord
    private let tileNumber: Int
    private let local: Int

    fileprivate init(_ graph: RoadGraph, _ edge: EdgeIndex) {
        (tileNumber, local) = graph.locate(edge)
        tile = graph.tiles[tileNumber]
        record = tile.edges[local]
    }

    /// The tile-bound name of the edge.
    package var key: EdgeKey { EdgeKey(tile: tile.id, index: local) }
    /// OSM way id.
    package var wayID: Int64 { record.wayID }
    /// The line in travel order.
    package var shape: EdgeShape { EdgeShape(tile: tile, record: record) }
    /// Equal for edges of one graph that share their attributes.
    package var attributesID: UInt64 { UInt64(tileNumber) << 32 | UInt64(record.attributes) }
    /// Street name; empty when unnamed.
    package var name: String { tile.string(tile.attributeRecords[Int(record.attributes)].name) }
    /// Road numbers, separated by semicolons; empty without.
    package var reference: String { tile.string(tile.attributeRecords[Int(record.attributes)].reference) }
    /// Class, names and limits; makes the strings anew each time.
    package var attributes: RoadAttributes { tile.attributes(Int(record.attributes)) }
}

extension RoadGraph {
    /// What the tiles hold of an edge.
    package func reading(of edge: EdgeIndex) -> EdgeReading { EdgeReading(self, edge) }
}
