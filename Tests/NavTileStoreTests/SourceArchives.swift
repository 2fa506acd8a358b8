import Foundation
import GRDB
import NavGeo
import NavHTTP
import NavTestSystem
import NavTileStore

/// Writes valid and damaged PMTiles archives.
struct SourceArchive {
    struct Entry {
        var id: UInt64
        var offset: UInt64
        var length: UInt64
        var run: UInt64
    }

    var packing: Packing? = .gzip
    var tilePacking: UInt8 = 1
    var tileType: UInt8 = 1
    var zooms: ClosedRange<UInt8> = 0...14
    /// Entries for each leaf; nil for a root alone.
    var leafSize: Int?

    static func varint(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 0x80 {
            bytes.append(UInt8(value & 0x7f) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    static func directory(_ entries: [Entry]) -> [UInt8] {
        var bytes = varint(UInt64(entries.count))
        var last: UInt64 = 0
        for entry in entries {
            bytes += varint(entry.id &- last)
            last = entry.id
        }
        for entry in entries { bytes += varint(entry.run) }
        for entry in entries { bytes += varint(entry.length) }
        for (index, entry) in entries.enumerated() {
            let follows = index > 0 && entry.offset == entries[index - 1].offset + entries[index - 1].length
            bytes += varint(follows ? 0 : entry.offset + 1)
        }
        return bytes
    }

    func pack(_ bytes: [UInt8]) -> [UInt8] {
        switch packing {
        case .gzip: Packer.gzip(bytes)
        case .zstd: Packer.zstd(bytes)
        default: bytes
        }
    }

    /// An archive of tiles; neighbours with equal content become a run.
    func archive(_ tiles: [TileID: [UInt8]], metadata: String = #"{"attribution":"nobody"}"#) -> [UInt8] {
        var data: [UInt8] = []
        var entries: [Entry] = []
        var last: [UInt8] = []
        for (number, bytes) in tiles.map({ (HilbertTileID.number($0.key), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
            if let entry = entries.last, entry.id + entry.run == number, bytes == last {
                entries[entries.count - 1].run += 1
            } else {
                entries.append(
                    Entry(id: number, offset: UInt64(data.count), length: UInt64(bytes.count), run: 1))
                data += bytes
                last = bytes
            }
        }
        var leaves: [UInt8] = []
        var root = entries
        if let leafSize {
            root = []
            for start in stride(from: 0, to: entries.count, by: leafSize) {
                let packed = pack(Self.directory(Array(entries[start..<min(start + leafSize, entries.count)])))
                root.append(
                    Entry(
                        id: entries[start].id, offset: UInt64(leaves.count), length: UInt64(packed.count), run: 0))
                leaves += packed
            }
        }
        return archive(
            root: pack(Self.directory(root)), leaves: leaves, data: data, metadata: pack(Array(metadata.utf8)),
            count: UInt64(tiles.count))
    }

    /// An archive of the given sections.
    func archive(root: [UInt8], leaves: [UInt8], data: [UInt8], metadata: [UInt8] = [], count: UInt64 = 0) -> [UInt8] {
        var header = Array("PMTiles".utf8) + [3]
        var offset = UInt64(PMTilesHeader.size)
        func add(_ value: UInt64) { header += (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        for section in [root, metadata, leaves, data] {
            add(offset)
            add(UInt64(section.count))
            offset += UInt64(section.count)
        }
        for _ in 0..<3 { add(count) }
        let internalPacking: UInt8 = packing == .gzip ? 2 : packing == .zstd ? 4 : 1
        header += [1, internalPacking, tilePacking, tileType, zooms.lowerBound, zooms.upperBound]
        for degrees in [-9.0, 41.0, -8.0, 42.0] {
            let value = UInt32(bitPattern: Int32(degrees * 1e7))
            header += (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        header += [UInt8](repeating: 0, count: PMTilesHeader.size - header.count)
        return header + root + metadata + leaves + data
    }
}

enum SourceMBTiles {
    /// Writes an MBTiles file.
    static func write(_ tiles: [TileID: [UInt8]], to path: String, format: String = "pbf") throws {
        let database = try DatabaseQueue(path: path)
        try database.write { database in
            try database.execute(sql: "CREATE TABLE metadata (name TEXT, value TEXT)")
            try database.execute(
                sql: "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)")
            for (name, value) in [
                ("format", format), ("bounds", "-9,41,-8,42"), ("attribution", "nobody"), ("json", "{}"),
            ] {
                try database.execute(sql: "INSERT INTO metadata VALUES (?, ?)", arguments: [name, value])
            }
            for (tile, bytes) in tiles.sorted(by: { $0.key < $1.key }) {
                let row = (1 << Int64(tile.zoom)) - 1 - Int64(tile.y)
                try database.execute(
                    sql: "INSERT INTO tiles VALUES (?, ?, ?, ?)",
                    arguments: [Int64(tile.zoom), Int64(tile.x), row, Data(bytes)])
            }
        }
        try database.close()
    }

    /// Adds the usual index of the tiles, and damages a page in its middle.
    static func addIndexWithDamagedMiddle(to path: String) throws {
        let database = try DatabaseQueue(path: path)
        let (first, last, size) = try database.write { database in
            let first = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(
                sql: "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)")
            return (
                first, try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0,
                try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0
            )
        }
        try database.close()
        // The root and its leaves follow one another.
        try overwrite(path, at: (first + last) / 2 * size, with: [UInt8](repeating: 0, count: size))
    }

    /// Writes a file whose query generates endless tiles.
    static func writeEndless(to path: String) throws {
        let database = try DatabaseQueue(path: path)
        try database.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE metadata (name TEXT, value TEXT);
                    CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                      SELECT i AS zoom_level, i AS tile_column, i AS tile_row, x'00' AS tile_data FROM n WHERE i < 0;
                    """)
        }
        try database.close()
    }
}
