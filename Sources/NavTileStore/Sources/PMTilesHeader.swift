package import NavGeo
package import NavHTTP
package import NavTileCache

/// The tile numbering of PMTiles: along the Hilbert curves of all zoom levels, level by level.
package enum HilbertTileID {
    package static func number(_ tile: TileID) -> UInt64 {
        var (x, y) = (tile.x, tile.y)
        var number = first(tile.zoom)
        var side: UInt32 = tile.zoom == 0 ? 0 : 1 << UInt32(tile.zoom - 1)
        while side > 0 {
            let right: UInt32 = x & side == 0 ? 0 : 1
            let low: UInt32 = y & side == 0 ? 0 : 1
            number += UInt64(side) * UInt64(side) * UInt64((3 * right) ^ low)
            rotate(&x, &y, side, right, low)
            side >>= 1
        }
        return number
    }

    /// Returns the tile of a number; nil beyond zoom level 22.
    package static func tile(_ number: UInt64) -> TileID? {
        guard let zoom = (0...TileID.maximumZoom).first(where: { number < first($0 + 1) }) else { return nil }
        var rest = number - first(zoom)
        var (x, y): (UInt32, UInt32) = (0, 0)
        for level in 0..<UInt32(zoom) {
            let side: UInt32 = 1 << level
            let right = UInt32(truncatingIfNeeded: rest >> 1) & 1
            let low = (UInt32(truncatingIfNeeded: rest) & 1) ^ right
            rotate(&x, &y, side, right, low)
            x += right * side
            y += low * side
            rest >>= 2
        }
        return TileID(zoom: zoom, x: x, y: y)
    }

    /// Returns the number of the first tile of a zoom level: (4^zoom - 1) / 3.
    package static func first(_ zoom: UInt8) -> UInt64 { ((1 << (2 * UInt64(zoom))) - 1) / 3 }

    private static func rotate(_ x: inout UInt32, _ y: inout UInt32, _ side: UInt32, _ right: UInt32, _ low: UInt32) {
        guard low == 0 else { return }
        if right == 1 {
            x = (side &- 1) &- x
            y = (side &- 1) &- y
        }
        swap(&x, &y)
    }
}

/// The first 127 bytes of a PMTiles archive, version 3.
package struct PMTilesHeader: Sendable, Hashable {
    package struct Section: Sendable, Hashable {
        package var offset: UInt64
        package var length: UInt64
    }

    package static let size = 127
    /// The bound on the end of the header and the root directory, bytes (from the specification).
    package static let rootEnd = 16_384

    package var root: Section
    package var metadata: Section
    package var leaves: Section
    package var data: Section
    package var addressedCount: UInt64
    /// The compression of directories and metadata; nil for none.
    package var packing: Packing?
    /// The compression of tiles; nil for none.
    package var tilePacking: Packing?
    package var form: TileForm
    package var zooms: ClosedRange<UInt8>
    package var bounds: BoundingBox?

    /// Parses a header.
    ///
    /// - Parameter size: the size of the whole archive, bytes; every section must lie within it.
    package init(_ bytes: [UInt8], size: UInt64, place: String) throws(TileSourceError) {
        let fault = { (text: String) in
            TileSourceError(.malformed, "'\(place)' is not a valid PMTiles archive: \(text)")
        }
        guard bytes.count >= Self.size, bytes.starts(with: Array("PMTiles".utf8)) else {
            throw fault("its header is missing")
        }
        guard bytes[7] == 3 else { throw fault("its version is \(bytes[7]); only 3 is supported") }
        func number(_ offset: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * $1) } }
        func section(_ offset: Int, _ name: String) throws(TileSourceError) -> Section {
            let section = Section(offset: number(offset), length: number(offset + 8))
            let (end, isOver) = section.offset.addingReportingOverflow(section.length)
            guard !isOver, end <= size || section.length == 0 else {
                throw fault("the section '\(name)' extends beyond the end of the file")
            }
            return section
        }
        root = try section(8, "root directory")
        metadata = try section(24, "metadata")
        leaves = try section(40, "leaf directories")
        data = try section(56, "data")
        addressedCount = number(72)
        guard root.length > 0, root.offset >= UInt64(Self.size), root.offset + root.length <= UInt64(Self.rootEnd)
        else { throw fault("its root directory is not within the first \(Self.rootEnd) bytes") }
        packing = try Self.packing(bytes[97], "directories", fault)
        tilePacking = try Self.packing(bytes[98], "tiles", fault)
        form =
            switch bytes[99] {
            case 1: .vector
            case 2: .png
            case 3: .jpeg
            case 4: .webp
            case 5: .avif
            default: .unknown
            }
        guard bytes[100] <= bytes[101], bytes[100] <= TileID.maximumZoom else {
            throw fault("its zoom levels are invalid")
        }
        zooms = bytes[100]...min(bytes[101], TileID.maximumZoom)
        let edges = [102, 106, 110, 114].map { offset in
            Double(Int32(truncatingIfNeeded: (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << (8 * $1) }))
                / 1e7
        }
        bounds = TileJSON.bounds(edges)
    }

    private static func packing(
        _ byte: UInt8, _ what: String, _ fault: (String) -> TileSourceError
    ) throws(TileSourceError) -> Packing? {
        switch byte {
        case 1: nil
        case 2: .gzip
        case 4: .zstd
        case 3: throw fault("its \(what) are compressed with Brotli, which is not supported; use gzip")
        default: throw fault("its \(what) have the unknown compression \(byte)")
        }
    }
}
