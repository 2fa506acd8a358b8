/// A validated, immutable view of a road tile in memory. Reading never copies a section.
public final class RoadTile: @unchecked Sendable {
    // Safe to share: all pointers lead into `storage`, which is immutable and lives as long as the tile.
    private let storage: TileStorage
    public let id: RoadTileID
    /// The bounds of its road geometry, which may extend beyond the tile.
    let bounds: BoxRecord

    let nodes: UnsafeBufferPointer<NodeRecord>
    package let edges: UnsafeBufferPointer<EdgeRecord>
    let externalNodes: UnsafeBufferPointer<ExternalNodeRecord>
    package let shapeCoordinates: UnsafeBufferPointer<CoordinateRecord>
    package let shapeNodeIDs: UnsafeBufferPointer<Int64>
    let attributeRecords: UnsafeBufferPointer<AttributeRecord>
    let strings: UnsafeBufferPointer<UInt8>
    let features: UnsafeBufferPointer<FeatureRecord>
    let restrictions: UnsafeBufferPointer<RestrictionRecord>
    let restrictionMembers: UnsafeBufferPointer<RestrictionMemberRecord>
    let indexItems: UnsafeBufferPointer<IndexItemRecord>
    let indexBoxes: UnsafeBufferPointer<BoxRecord>
    let arrivals: UnsafeBufferPointer<ArrivalRecord>
    let conditions: UnsafeBufferPointer<ConditionRecord>
    let indexLevels: [Int]
    /// The contraction rank of each edge; nil when no ranks were given.
    let ranks: ContiguousArray<UInt32>?
    /// The end bearings of the edges, computed on demand and cached, because every new tile rebuilds the graph.
    let endBearings = LazyEndBearings()

    /// Creates a view of a tile's bytes after checking every offset in them.
    ///
    /// - Parameters:
    ///   - expected: The id that the tile must have; nil accepts any tile.
    ///   - ranks: The content of the ranks file, which makes route searches fast; it is decoded at once.
    public init(
        _ storage: TileStorage, expected: RoadTileID? = nil, ranks: TileStorage? = nil
    ) throws(TileError) {
        let header = try TileHeader(storage.bytes)
        if let expected, expected != header.id { throw .corrupt("it is tile \(header.id), expected \(expected)") }
        self.storage = storage
        id = header.id
        bounds = header.bounds
        nodes = try header.section(.nodes)
        edges = try header.section(.edges)
        externalNodes = try header.section(.externalNodes)
        shapeCoordinates = try header.section(.shapeCoordinates)
        shapeNodeIDs = try header.section(.shapeNodeIDs)
        attributeRecords = try header.section(.attributes)
        strings = try header.section(.strings)
        features = try header.section(.features)
        restrictions = try header.section(.restrictions)
        restrictionMembers = try header.section(.restrictionMembers)
        indexItems = try header.section(.indexItems)
        indexBoxes = try header.section(.indexBoxes)
        arrivals = try header.section(.arrivals)
        conditions = try header.section(.conditions)
        indexLevels = TileLayout.indexLevels(indexItems.count)
        if let ranks {
            self.ranks = try EdgeRanks(decoding: ranks.bytes, tile: header.id, edgeCount: edges.count).values
        } else {
            self.ranks = nil
        }
        try checkRecords()
    }

    public var nodeCount: Int { nodes.count }
    public var edgeCount: Int { edges.count }
    public var byteCount: Int { storage.bytes.count }
    /// The number of prohibited paths, including those for some vehicles or times only.
    public var prohibitedPathCount: Int { restrictions.count { $0.maneuver == 0 } }

    /// Returns the string at an offset of the string section; empty when the offset is out of range.
    func string(_ offset: UInt32) -> String {
        let start = Int(offset)
        guard start > 0, start + 2 <= strings.count else { return "" }
        let length = Int(strings[start]) | Int(strings[start + 1]) << 8
        guard start + 2 + length <= strings.count else { return "" }
        return String(decoding: strings[(start + 2)..<(start + 2 + length)], as: UTF8.self)
    }

    /// Returns the string after the one at an offset; empty when there is none.
    func string(after offset: UInt32) -> String { string(self.offset(after: offset)) }

    /// Returns the offset of the string after the one at an offset; 0 when there is none.
    func offset(after offset: UInt32) -> UInt32 {
        let start = Int(offset)
        guard start > 0, start + 2 <= strings.count else { return 0 }
        return UInt32(truncatingIfNeeded: start + 2 + Int(strings[start]) + Int(strings[start + 1]) << 8)
    }

    func attributes(_ index: Int) -> RoadAttributes {
        let record = attributeRecords[index]
        func limit(_ value: Float) -> Float? { value > 0 ? value : nil }
        return RoadAttributes(
            roadClass: RoadClass(rawValue: record.roadClass) ?? .service, flags: RoadFlags(rawValue: record.flags),
            access: VehicleAccess(rawValue: record.access), freeFlowSpeed: record.freeFlowSpeed,
            speedLimit: limit(record.speedLimit), lanes: record.lanes > 0 ? record.lanes : nil,
            maximumHeight: limit(record.maximumHeight), maximumWidth: limit(record.maximumWidth),
            maximumLength: limit(record.maximumLength), maximumWeight: limit(record.maximumWeight),
            crossingTime: limit(record.crossingTime), name: string(record.name), reference: string(record.reference),
            destination: string(record.destination), destinationReference: string(record.destinationReference),
            turnLanes: string(record.turnLanes), truckSpeedLimit: limit(record.truckSpeedLimit),
            maximumAxleLoad: limit(record.maximumAxleLoad),
            destinationReferenceTo: string(record.destinationReferenceTo),
            destinationLanes: string(record.destinationLanes), country: CountryCode.text(record.country),
            conditions: conditions(of: record),
            localNames: record.nameFlags & AttributeRecord.hasLocalNames == 0
                ? .none : LocalNames(text: string(after: record.name)),
            laneChanges: record.nameFlags & AttributeRecord.hasLaneChanges == 0 ? "" : string(after: record.turnLanes))
    }

    func conditions(of record: AttributeRecord) -> [RoadCondition] {
        guard record.conditionCount > 0 else { return [] }
        let first = Int(record.firstCondition)
        return conditions[first..<(first + Int(record.conditionCount))].map { condition in
            RoadCondition(
                condition.kind == ConditionRecord.speedKind
                    ? .speedLimit(condition.speed) : .access(AccessLevel(rawValue: condition.level) ?? .open),
                vehicles: VehicleAccess(rawValue: condition.vehicles), time: string(condition.time))
        }
    }
}

/// The packing of a country's two letters into 16 bits, 0 for no country.
package enum CountryCode {
    /// Packs two upper-case letters; returns 0 for any other text.
    package static func packed(_ text: String) -> UInt16 {
        let bytes = Array(text.utf8)
        guard bytes.count == 2, bytes.allSatisfy({ $0 >= 65 && $0 <= 90 }) else { return 0 }
        return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    }

    /// Returns the letters; empty for 0.
    package static func text(_ packed: UInt16) -> String {
        let bytes = [UInt8(packed >> 8), UInt8(packed & 0xff)]
        return bytes.allSatisfy { $0 >= 65 && $0 <= 90 } ? String(decoding: bytes, as: UTF8.self) : ""
    }
}

private struct TileHeader {
    let bytes: UnsafeRawBufferPointer
    let id: RoadTileID
    let bounds: BoxRecord

    init(_ bytes: UnsafeRawBufferPointer) throws(TileError) {
        guard bytes.count >= TileLayout.magic.count,
            bytes.prefix(TileLayout.magic.count).elementsEqual(TileLayout.magic)
        else { throw .notATile }
        guard bytes.count >= TileLayout.firstSectionOffset else {
            throw .truncated(expected: UInt64(TileLayout.firstSectionOffset), found: bytes.count)
        }
        let version = bytes.loadUnaligned(fromByteOffset: TileLayout.HeaderOffset.version, as: UInt32.self)
        guard version == TileLayout.version else { throw .version(found: version) }
        let length = bytes.loadUnaligned(fromByteOffset: TileLayout.HeaderOffset.fileLength, as: UInt64.self)
        guard length == UInt64(bytes.count) else { throw .truncated(expected: length, found: bytes.count) }
        let checksum = bytes.loadUnaligned(fromByteOffset: TileLayout.HeaderOffset.checksum, as: UInt32.self)
        guard checksum == TileLayout.checksum(bytes) else { throw .checksum }
        let raw = bytes.loadUnaligned(fromByteOffset: TileLayout.HeaderOffset.tile, as: UInt32.self)
        guard let id = RoadTileID(rawValue: raw) else { throw .corrupt("tile number \(raw) does not exist") }
        guard UInt(bitPattern: bytes.baseAddress) % UInt(TileLayout.sectionAlignment) == 0 else {
            throw .corrupt("its bytes are not aligned in memory")
        }
        self.bytes = bytes
        self.id = id
        bounds = bytes.loadUnaligned(fromByteOffset: TileLayout.HeaderOffset.bounds, as: BoxRecord.self)
    }

    func section<Record>(_ section: TileLayout.Section) throws(TileError) -> UnsafeBufferPointer<Record> {
        let entry = TileLayout.headerBytes + section.rawValue * 8
        let offset = Int(bytes.loadUnaligned(fromByteOffset: entry, as: UInt32.self))
        let count = Int(bytes.loadUnaligned(fromByteOffset: entry + 4, as: UInt32.self))
        guard offset % TileLayout.sectionAlignment == 0, offset >= TileLayout.firstSectionOffset,
            count * section.recordBytes <= bytes.count - offset
        else { throw .corrupt("section '\(section)' lies outside the file") }
        let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count * section.recordBytes)])
        return part.assumingMemoryBound(to: Record.self)
    }
}
