internal import CZlib

/// The byte layout of a road tile, little-endian; see <doc:RoadTileFormat>.
package enum TileLayout {
    package static let magic: [UInt8] = Array("NAVROAD\0".utf8)
    package static let version: UInt32 = 2
    package static let headerBytes = 64
    package static let sectionAlignment = 8
    package static let noIndex = UInt32.max
    package static let externalHead: UInt32 = 1 << 31
    package static let indexNodeSize = 16
    package static let segmentsPerIndexItem = 8
    /// The longest prohibited path, edges; searches store every prefix of every path, so memory grows with the square of the length.
    package static let longestPath = 255
    /// The longest edge, metres: half of the equator, longer than any road or ferry.
    package static let longestEdge: Float = 2e7
    /// The range of free-flow speeds, m/s: from a hundredth of walking pace to an airliner.
    package static let speeds: ClosedRange<Float> = 0.01...300
    /// The upper bound of every height, weight, speed limit and crossing time in a tile, in metres, tonnes, m/s or seconds.
    package static let greatestQuantity: Float = 1e7

    package enum Section: Int, CaseIterable {
        case nodes, edges, externalNodes, shapeCoordinates, shapeNodeIDs, attributes, strings, features
        case restrictions, restrictionMembers, indexItems, indexBoxes, arrivals, conditions

        package var recordBytes: Int {
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
            case .arrivals: MemoryLayout<ArrivalRecord>.stride
            case .conditions: MemoryLayout<ConditionRecord>.stride
            }
        }
    }

    package static let tableBytes = Section.allCases.count * 8
    package static let firstSectionOffset = headerBytes + tableBytes

    package enum HeaderOffset {
        package static let version = 8
        package static let tile = 12
        package static let fileLength = 16
        package static let checksum = 28
        package static let bounds = 32
    }

    /// Returns the CRC-32 of a file's bytes, with the four bytes of the checksum field taken as zero.
    package static func checksum(
        _ bytes: UnsafeRawBufferPointer, fieldAt offset: Int = HeaderOffset.checksum
    ) -> UInt32 {
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
        var value = update(0, UnsafeRawBufferPointer(rebasing: bytes[..<offset]))
        value = zero.withUnsafeBytes { update(value, $0) }
        value = update(value, UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)...]))
        return UInt32(truncatingIfNeeded: value)
    }

    /// Returns the number of boxes on each level of a packed R-tree over `count` items, leaves first.
    package static func indexLevels(_ count: Int) -> [Int] {
        guard count > 0 else { return [] }
        var levels = [count]
        while let last = levels.last, last > 1 { levels.append((last + indexNodeSize - 1) / indexNodeSize) }
        return levels
    }
}

package struct NodeRecord {
    package var osmID: Int64
    package var latitudeE7: Int32
    package var longitudeE7: Int32
    package var firstEdge: UInt32
    package var edgeCount: UInt16
    package var flags: UInt16
    package var exitReference: UInt32
    package var layers: UInt32

    /// A flag in ``layers``: the junction's name follows the string of its exit number.
    package static let hasJunctionName: UInt32 = 1 << 16
}

package struct EdgeRecord {
    package var wayID: Int64
    package var head: UInt32
    package var shapeStart: UInt32
    package var length: Float
    package var attributes: UInt32
    package var opposite: UInt32
    package var shapeCount: UInt16
    package var flags: UInt16

    static let reversedShape: UInt16 = 1
    /// The unit of ``turnOffsets``, radians: 1.5 degrees.
    static let turnOffsetStep = 1.5 * Double.pi / 180

    /// The angles from the measured bearings at the edge's start and end to those that drivers perceive, clockwise, in units of
    /// ``turnOffsetStep``: bits 1 to 7 and 8 to 14 of ``flags``, each a signed number. 0 where they are equal or there is no turn.
    var turnOffsets: TurnOffsets {
        get {
            let bits = Int16(bitPattern: flags)
            return TurnOffsets(
                start: Int8(truncatingIfNeeded: (bits << 8) >> 9), end: Int8(truncatingIfNeeded: (bits << 1) >> 9))
        }
        set {
            func bits(_ offset: Int8) -> UInt16 { UInt16(UInt8(bitPattern: min(max(offset, -63), 63)) & 0x7F) }
            flags = flags & ~0x7FFE | bits(newValue.start) << 1 | bits(newValue.end) << 8
        }
    }

    /// Whether the edge is driven from the last point of its shape to the first.
    @inlinable package var isReversed: Bool { flags & 1 != 0 }
}

/// The angles from an edge's measured bearings to the perceived ones, in units of ``EdgeRecord/turnOffsetStep``.
struct TurnOffsets: Sendable, Equatable {
    var start: Int8 = 0
    var end: Int8 = 0
}

package struct ExternalNodeRecord {
    package var osmID: Int64
    package var latitudeE7: Int32
    package var longitudeE7: Int32
}

package struct ArrivalRecord {
    package var node: UInt32
    package var externalNode: UInt32
}

package struct CoordinateRecord {
    package var latitudeE7: Int32
    package var longitudeE7: Int32
}

package struct AttributeRecord {
    package var roadClass: UInt8
    package var access: UInt8
    package var lanes: UInt8
    package var conditionCount: UInt8
    package var flags: UInt32
    package var freeFlowSpeed: Float
    package var speedLimit: Float
    package var maximumHeight: Float
    package var maximumWidth: Float
    package var maximumLength: Float
    package var maximumWeight: Float
    package var crossingTime: Float
    package var name: UInt32
    package var reference: UInt32
    package var destination: UInt32
    package var destinationReference: UInt32
    package var turnLanes: UInt32
    package var truckSpeedLimit: Float
    package var maximumAxleLoad: Float
    package var destinationReferenceTo: UInt32
    package var destinationLanes: UInt32
    package var firstCondition: UInt32
    package var country: UInt16
    /// ``hasLocalNames`` and ``hasLaneChanges``.
    package var nameFlags: UInt16

    /// A flag in ``nameFlags``: the text of ``LocalNames`` follows the name.
    package static let hasLocalNames: UInt16 = 1
    /// A flag in ``nameFlags``: the text of ``RoadAttributes/laneChanges`` follows the turn lanes.
    package static let hasLaneChanges: UInt16 = 1 << 1
}

package struct ConditionRecord {
    package var kind: UInt8
    package var level: UInt8
    package var vehicles: UInt8
    package var reserved: UInt8
    package var speed: Float
    package var time: UInt32

    static let accessKind: UInt8 = 0
    static let speedKind: UInt8 = 1
}

package struct FeatureRecord {
    package var edge: UInt32
    package var shapeIndex: UInt16
    package var kind: UInt8
    package var reserved: UInt8
}

package struct RestrictionRecord {
    package var firstMember: UInt32
    package var memberCount: UInt16
    package var vehicles: UInt8
    /// The ``PrescribedManeuver/code`` of a path with a prescribed maneuver, which restricts no vehicle; 0 for a restriction.
    package var maneuver: UInt8
    package var time: UInt32

    /// The place of a maneuver, less one, is stored above the bits of ``VehicleAccess``.
    static let placeShift: UInt8 = 5
}

package struct RestrictionMemberRecord {
    package var tailNodeID: Int64
    package var headNodeID: Int64
    package var wayID: Int64
}

package struct IndexItemRecord {
    package var edge: UInt32
    package var firstSegment: UInt16
    package var segmentCount: UInt16
}

package struct BoxRecord {
    package var south: Int32
    package var west: Int32
    package var north: Int32
    package var east: Int32

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
