public import NavGeo

/// The geometry of an edge in travel order: positions with OSM node ids, both ends included.
public struct EdgeShape: Sendable, RandomAccessCollection {
    private let tile: RoadTile
    private let start: Int
    /// Number of points, at least 2.
    public let count: Int
    private let reversed: Bool

    init(tile: RoadTile, record: EdgeRecord) {
        self.tile = tile
        start = Int(record.shapeStart)
        count = Int(record.shapeCount)
        reversed = record.flags & EdgeRecord.reversedShape != 0
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    @inline(__always)
    private func position(_ index: Int) -> Int {
        precondition(index >= 0 && index < count, "index outside an edge's shape")
        return reversed ? start + count - 1 - index : start + index
    }

    /// The position of the point `index`.
    public subscript(index: Int) -> FixedCoordinate {
        let record = tile.shapeCoordinates[position(index)]
        return FixedCoordinate(latitudeE7: record.latitudeE7, longitudeE7: record.longitudeE7)
    }

    /// Returns the OSM node id of the point `index`.
    public func nodeID(_ index: Int) -> Int64 { tile.shapeNodeIDs[position(index)] }

    public var coordinates: [Coordinate] { map(\.coordinate) }
}
