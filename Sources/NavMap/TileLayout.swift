internal import CZlib

/// The byte layout of a road tile, little-endian; see <doc:RoadTileFormat>.
enum TileLayout {
    static let magic: [UInt8] = Array("NAVROAD\0".utf8)
    static let version: UInt32 = 1
    static let headerBytes = 64
    static let sectionAlignment = 8
    static let noIndex = UInt32.max
    static let externalHead: UInt32 = 1 << 31
    static let indexNodeSize = 16
    static let segmentsPerIndexItem = 8

    enum Section: Int, CaseIterable {
        case nodes, edges, externalNodes, shapeCoordinates, shapeNodeIDs, attributes, strings, features
        case restrictions, restrictionMembers, indexItems, indexBoxes

        var recordBytes: Int {
            switch self {
            case .nodes: MemoryLayout<NodeRecord>.stride
            case .edges: MemoryLayout<EdgeRecord>.stride
            case .externalNodes: MemoryLayout<ExternalNodeRecord>.stride
            case .shapeCoordinates: MemoryLayout<CoordinateRecord>.stride
            case .shapeNodeIDs: MemoryLayout<Int64>.stride
            case .attributes: MemoryLayout<AttributeRecord>.stride
            case .strings: 1
            case .features: MemoryLayout<FeatureRecord>.stride
            case .restrictions: MemoryLayout<RestrictionRecord>.stride
            case .restrictionMembers: MemoryLayout<RestrictionMemberRecord>.stride
            case .indexItems: MemoryLayout<IndexItemRecord>.stride
            case .indexBoxes: MemoryLayout<BoxRecord>.stride
            }
        }
    }

    static let tableBytes = Section.allCases.count * 8
    static let firstSectionOffset = headerBytes + tableBytes

    enum HeaderOffset {
        static let version = 8
        static let tile = 12
        static let fileLength = 16
        static let checksum = 28
        static let bounds = 32
    }

    /// The CRC-32 of a tile's bytes, the checksum field taken as zero.
    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        func update(_ value: UInt, _ part: UnsafeRawBufferPointer) -> UInt {
            var value = value
            var rest = part[...]
            while !rest.isEmpty {
                let chunk = rest.prefix(1 << 30)
                let pointer = UnsafeRawBufferPointer(rebasing: chunk).bindMemory(to: UInt8.self)
                value = crc32(value, pointer.baseAddress, UInt32(pointer.count))
                rest = rest.dropFirst(chunk.count)
            }
            return value
        }
        let zero: [UInt8] = [0, 0, 0, 0]
        var value = update(0, UnsafeRawBufferPointer(rebasing: bytes[..<HeaderOffset.checksum]))
        value = zero.withUnsafeBytes { update(value, $0) }
        value = update(value, UnsafeRawBufferPointer(rebasing: bytes[(HeaderOffset.checksum + 4)...]))
        return UInt32(truncatingIfNeeded: value)
    }

    /// The number of boxes on each level of a packed R-tree over `count` items, leaves first.
    static func indexLevels(_ count: Int) -> [Int] {
        guard count > 0 else { return [] }
        var levels = [count]
        while let last = levels.last, last > 1 { levels.append((last + indexNodeSize - 1) / indexNodeSize) }
        return levels
    }
}

struct NodeRecord {
    var osmID: Int64
    var latitudeE7: Int32
    var longitudeE7: Int32
    var firstEdge: UInt32
    var edgeCount: UInt16
    var flags: UInt16
    var exitReference: UInt32
    var layers: UInt32
}

struct EdgeRecord {
    var wayID: Int64
    var head: UInt32
    var shapeStart: UInt32
    var length: Float
    var attributes: UInt32
    var opposite: UInt32
    var shapeCount: UInt16
    var flags: UInt16

    static let reversedShape: UInt16 = 1
}

struct ExternalNodeRecord {
    var osmID: Int64
    var latitudeE7: Int32
    var longitudeE7: Int32
}

struct CoordinateRecord {
    var latitudeE7: Int32
    var longitudeE7: Int32
}

struct AttributeRecord {
    var roadClass: UInt8
    var access: UInt8
    var lanes: UInt8
    var reserved: UInt8
    var flags: UInt32
    var freeFlowSpeed: Float
    var speedLimit: Float
    var maximumHeight: Float
    var maximumWidth: Float
    var maximumLength: Float
    var maximumWeight: Float
    var crossingTime: Float
    var name: UInt32
    var reference: UInt32
    var destination: UInt32
    var destinationReference: UInt32
    var turnLanes: UInt32
}

struct FeatureRecord {
    var edge: UInt32
    var shapeIndex: UInt16
    var kind: UInt8
    var reserved: UInt8
}

struct RestrictionRecord {
    var firstMember: UInt32
    var memberCount: UInt32
}

struct RestrictionMemberRecord {
    var tailNodeID: Int64
    var headNodeID: Int64
    var wayID: Int64
}

struct IndexItemRecord {
    var edge: UInt32
    var firstSegment: UInt16
    var segmentCount: UInt16
}

struct BoxRecord {
    var south: Int32
    var west: Int32
    var north: Int32
    var east: Int32

    static let empty = BoxRecord(south: .max, west: .max, north: .min, east: .min)

    mutating func extend(_ latitudeE7: Int32, _ longitudeE7: Int32) {
        south = min(south, latitudeE7)
        north = max(north, latitudeE7)
        west = min(west, longitudeE7)
        east = max(east, longitudeE7)
    }

    mutating func extend(_ other: BoxRecord) {
        extend(other.south, other.west)
        extend(other.north, other.east)
    }

    @inline(__always)
    func intersects(_ other: BoxRecord) -> Bool {
        south <= other.north && other.south <= north && west <= other.east && other.west <= east
    }
}
