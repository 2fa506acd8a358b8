internal import NavGeo

/// The contraction ranks of a tile's edges: their positions in the contraction order of the whole tileset.
///
/// They are a separate small file, because an edit far away changes the order but not the tile.
///
/// Every order gives correct routes; a good one makes them fast. See <doc:RoadTileFormat>.
public struct EdgeRanks: Sendable, Equatable {
    public let tile: RoadTileID
    /// The rank of each edge of the tile, the same for both directions of a road.
    public let values: ContiguousArray<UInt32>

    public init(tile: RoadTileID, values: ContiguousArray<UInt32>) {
        self.tile = tile
        self.values = values
    }

    private static let magic = Array("NAVRANK\0".utf8)
    private static let version: UInt32 = 1
    private static let headerBytes = 24
    private static let checksumOffset = 20

    /// Returns the content of the ranks file.
    public func encoded() -> [UInt8] {
        var bytes = EdgeRanks.magic
        func append(_ value: UInt32) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
        append(EdgeRanks.version)
        append(tile.rawValue)
        append(0)
        append(0)
        for value in values { append(value) }
        let length = UInt32(bytes.count)
        bytes.withUnsafeMutableBytes { raw in
            raw.storeBytes(of: length.littleEndian, toByteOffset: 16, as: UInt32.self)
            let checksum = TileLayout.checksum(UnsafeRawBufferPointer(raw), fieldAt: EdgeRanks.checksumOffset)
            raw.storeBytes(of: checksum.littleEndian, toByteOffset: EdgeRanks.checksumOffset, as: UInt32.self)
        }
        return bytes
    }

    /// Decodes the content of a ranks file, which may come from an untrusted source.
    ///
    /// - Parameters:
    ///   - tile: The tile that the file belongs to.
    ///   - edgeCount: The number of edges of that tile.
    public init(decoding bytes: UnsafeRawBufferPointer, tile: RoadTileID, edgeCount: Int) throws(TileError) {
        guard bytes.count >= EdgeRanks.magic.count,
            bytes.prefix(EdgeRanks.magic.count).elementsEqual(EdgeRanks.magic)
        else { throw .notATile }
        let expected = EdgeRanks.headerBytes + edgeCount * 4
        guard bytes.count >= EdgeRanks.headerBytes else {
            throw .truncated(expected: UInt64(expected), found: bytes.count)
        }
        func field(_ offset: Int) -> UInt32 {
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        guard field(8) == EdgeRanks.version else {
            throw .corrupt("the ranks have format version \(field(8)), this program reads \(EdgeRanks.version)")
        }
        guard field(16) == UInt32(truncatingIfNeeded: bytes.count), bytes.count == expected else {
            throw .truncated(expected: UInt64(expected), found: bytes.count)
        }
        guard field(EdgeRanks.checksumOffset) == TileLayout.checksum(bytes, fieldAt: EdgeRanks.checksumOffset) else {
            throw .checksum
        }
        guard field(12) == tile.rawValue else { throw .corrupt("the ranks belong to another tile than \(tile)") }
        var values: ContiguousArray<UInt32> = []
        values.reserveCapacity(edgeCount)
        for edge in 0..<edgeCount { values.append(field(EdgeRanks.headerBytes + edge * 4)) }
        self.init(tile: tile, values: values)
    }
}
