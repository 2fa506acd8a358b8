import NavDigest
internal import NavGeo
import NavTileCache

/// The binary list of an edition's tiles, little-endian.
///
/// Each tile has its zoom (1 byte), column (4) and row (4), and its number of files (1). Each file has its part (1),
/// its size (8), and a flag (1) for whether its hash (32) follows.
enum TileListing {
    static func encode(_ tiles: [ListedTile]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tiles.count * 94)
        for tile in tiles {
            bytes.append(tile.tile.zoom)
            append(tile.tile.x, to: &bytes)
            append(tile.tile.y, to: &bytes)
            let parts = tile.parts.prefix(255)
            bytes.append(UInt8(parts.count))
            for part in parts {
                bytes.append(part.part.rawValue)
                append(part.size, to: &bytes)
                bytes.append(part.hash == nil ? 0 : 1)
                bytes += part.hash?.bytes ?? []
            }
        }
        return bytes
    }

    /// Decodes the tiles of a list; nil when the bytes are malformed.
    static func decode(_ bytes: [UInt8]) -> [ListedTile]? {
        var position = 0
        func next<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
            let size = Value.bitWidth / 8
            guard bytes.count - position >= size else { return nil }
            defer { position += size }
            return bytes[position..<position + size].reversed().reduce(Value(0)) {
                $0 << 8 | Value(truncatingIfNeeded: $1)
            }
        }
        var tiles: [ListedTile] = []
        while position < bytes.count {
            guard let zoom = next(UInt8.self), let x = next(UInt32.self), let y = next(UInt32.self),
                let tile = TileID(zoom: zoom, x: x, y: y), let count = next(UInt8.self)
            else { return nil }
            var parts: [ListedPart] = []
            for _ in 0..<count {
                guard let part = next(UInt8.self).flatMap(TilePart.init), let size = next(Int64.self),
                    let isHashed = next(UInt8.self)
                else { return nil }
                var hash: ContentHash?
                if isHashed != 0 {
                    guard bytes.count - position >= 32 else { return nil }
                    hash = ContentHash(bytes: Array(bytes[position..<position + 32]))
                    position += 32
                }
                parts.append(ListedPart(part, size: size, hash: hash))
            }
            tiles.append(ListedTile(tile, parts: parts))
        }
        return tiles
    }

    private static func append<Value: FixedWidthInteger>(_ value: Value, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
