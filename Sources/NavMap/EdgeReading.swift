/// The properties that a tile holds of an edge, with the tile looked up once.
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

    package var key: EdgeKey { EdgeKey(tile: tile.id, index: local) }
    package var wayID: Int64 { record.wayID }
    /// The geometry in travel order.
    package var shape: EdgeShape { EdgeShape(tile: tile, record: record) }
    /// Equal for edges of one graph that share their attributes.
    package var attributesID: UInt64 { UInt64(tileNumber) << 32 | UInt64(record.attributes) }
    /// The number of lanes in this direction; 0 when unknown.
    package var lanes: Int { Int(tile.attributeRecords[Int(record.attributes)].lanes) }
    /// The ``RoadAttributes/turnLanes`` without the cost of the other attributes.
    package var turnLanes: String { tile.string(tile.attributeRecords[Int(record.attributes)].turnLanes) }
    /// Whether signs show where this direction leads.
    package var hasDestination: Bool {
        let attributes = tile.attributeRecords[Int(record.attributes)]
        return !tile.string(attributes.destination).isEmpty || !tile.string(attributes.destinationReference).isEmpty
    }
    /// Class, names and limits; the strings are created on every call.
    package var attributes: RoadAttributes { tile.attributes(Int(record.attributes)) }
}

extension RoadGraph {
    /// Returns the properties that the tiles hold of an edge.
    package func reading(of edge: EdgeIndex) -> EdgeReading { EdgeReading(self, edge) }

    /// Returns the edges with the given keys; nil for a key without an edge or with an edge of another OSM way.
    package func edges<Names: Collection<(key: EdgeKey, wayID: Int64)>>(_ names: Names) -> [EdgeIndex?] {
        var result: [EdgeIndex?] = []
        result.reserveCapacity(names.count)
        // Consecutive keys mostly lie in one tile.
        var last: (id: UInt32, tile: Int?)?
        for (key, wayID) in names {
            let id = UInt32(key.rawValue >> 32)
            if last?.id != id {
                last = (id, key.tile.flatMap { tileNumber($0) })
            }
            guard let tile = last?.tile, key.index < tiles[tile].edgeCount, tiles[tile].edges[key.index].wayID == wayID
            else {
                result.append(nil)
                continue
            }
            result.append(EdgeIndex(Int(firstEdgeOfTile[tile]) + key.index))
        }
        return result
    }
}
