/// Writes small .osm.pbf files, valid or deliberately invalid.
struct PBFWriter {
    private(set) var bytes: [UInt8] = []

    static func varint(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 0x80 {
            bytes.append(UInt8(value & 0x7F) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    static func zigzag(_ value: Int64) -> [UInt8] { varint(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

    static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { varint(number << 3) + varint(value) }

    static func field(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
        varint(number << 3 | 2) + varint(UInt64(bytes.count)) + bytes
    }

    static func field(_ number: UInt64, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    /// Adds a file block that contains a blob message.
    mutating func block(_ type: String, blob: [UInt8]) {
        let header = PBFWriter.field(1, type) + PBFWriter.field(3, UInt64(blob.count))
        let length = UInt32(header.count)
        bytes += [UInt8(length >> 24), UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255)]
        bytes += header + blob
    }

    /// Adds a file block with uncompressed content.
    mutating func block(_ type: String, _ content: [UInt8]) {
        block(type, blob: PBFWriter.field(1, content))
    }

    /// Adds a header with required features.
    mutating func header(_ features: [String] = ["OsmSchema-V0.6", "DenseNodes"], timestamp: UInt64? = nil) {
        block(
            "OSMHeader", features.flatMap { PBFWriter.field(4, $0) } + (timestamp.map { PBFWriter.field(32, $0) } ?? [])
        )
    }

    /// Adds a block of groups with a string table.
    mutating func data(_ strings: [String], _ groups: [[UInt8]]) {
        block(
            "OSMData",
            PBFWriter.field(1, strings.flatMap { PBFWriter.field(1, $0) }) + groups.flatMap { PBFWriter.field(2, $0) })
    }

    /// Returns a plain node, in 1e-7 degrees.
    static func node(_ id: Int64, _ latitude: Int64, _ longitude: Int64, tags: [(UInt64, UInt64)] = []) -> [UInt8] {
        let body =
            varint(1 << 3) + zigzag(id) + field(2, tags.flatMap { varint($0.0) })
            + field(3, tags.flatMap { varint($0.1) }) + varint(8 << 3) + zigzag(latitude) + varint(9 << 3)
            + zigzag(longitude)
        return field(1, body)
    }

    /// Returns a way.
    static func way(_ id: UInt64, _ refs: [Int64], tags: [(UInt64, UInt64)], isVisible: Bool? = nil) -> [UInt8] {
        var last: Int64 = 0
        let deltas = refs.flatMap { ref in
            defer { last = ref }
            return zigzag(ref - last)
        }
        let info = isVisible.map { field(4, field(6, $0 ? 1 : 0)) } ?? []
        return field(
            3,
            field(1, id) + field(2, tags.flatMap { varint($0.0) }) + field(3, tags.flatMap { varint($0.1) }) + info
                + field(8, deltas))
    }
}
