import NavMap
import Testing

/// The numbers of the format article: a change of one requires a new format version.
@Suite("Road tile layout")
struct LayoutTests {
    @Test("records have the sizes of the format")
    func sizes() {
        #expect(MemoryLayout<NodeRecord>.stride == 32 && MemoryLayout<NodeRecord>.alignment == 8)
        #expect(MemoryLayout<EdgeRecord>.stride == 32)
        #expect(MemoryLayout<ExternalNodeRecord>.stride == 16)
        #expect(MemoryLayout<CoordinateRecord>.stride == 8)
        #expect(MemoryLayout<AttributeRecord>.stride == 80)
        #expect(MemoryLayout<FeatureRecord>.stride == 8)
        #expect(MemoryLayout<RestrictionRecord>.stride == 12)
        #expect(MemoryLayout<ConditionRecord>.stride == 12)
        #expect(MemoryLayout<RestrictionMemberRecord>.stride == 24)
        #expect(MemoryLayout<IndexItemRecord>.stride == 8)
        #expect(MemoryLayout<BoxRecord>.stride == 16)
        #expect(MemoryLayout<ArrivalRecord>.stride == 8)
        #expect(TileLayout.Section.allCases.count == 14 && TileLayout.firstSectionOffset == 64 + 14 * 8)
    }

    @Test("fields have the offsets of the format")
    func offsets() {
        let node: [Int?] = [
            MemoryLayout<NodeRecord>.offset(of: \.osmID), MemoryLayout<NodeRecord>.offset(of: \.latitudeE7),
            MemoryLayout<NodeRecord>.offset(of: \.longitudeE7), MemoryLayout<NodeRecord>.offset(of: \.firstEdge),
            MemoryLayout<NodeRecord>.offset(of: \.edgeCount), MemoryLayout<NodeRecord>.offset(of: \.flags),
            MemoryLayout<NodeRecord>.offset(of: \.exitReference), MemoryLayout<NodeRecord>.offset(of: \.layers),
        ]
        #expect(node == [0, 8, 12, 16, 20, 22, 24, 28])
        let edge: [Int?] = [
            MemoryLayout<EdgeRecord>.offset(of: \.wayID), MemoryLayout<EdgeRecord>.offset(of: \.head),
            MemoryLayout<EdgeRecord>.offset(of: \.shapeStart), MemoryLayout<EdgeRecord>.offset(of: \.length),
            MemoryLayout<EdgeRecord>.offset(of: \.attributes), MemoryLayout<EdgeRecord>.offset(of: \.opposite),
            MemoryLayout<EdgeRecord>.offset(of: \.shapeCount), MemoryLayout<EdgeRecord>.offset(of: \.flags),
        ]
        #expect(edge == [0, 8, 12, 16, 20, 24, 28, 30])
        let attributes: [Int?] = [
            MemoryLayout<AttributeRecord>.offset(of: \.roadClass), MemoryLayout<AttributeRecord>.offset(of: \.access),
            MemoryLayout<AttributeRecord>.offset(of: \.lanes), MemoryLayout<AttributeRecord>.offset(of: \.flags),
            MemoryLayout<AttributeRecord>.offset(of: \.freeFlowSpeed),
            MemoryLayout<AttributeRecord>.offset(of: \.crossingTime), MemoryLayout<AttributeRecord>.offset(of: \.name),
            MemoryLayout<AttributeRecord>.offset(of: \.turnLanes),
            MemoryLayout<AttributeRecord>.offset(of: \.truckSpeedLimit),
            MemoryLayout<AttributeRecord>.offset(of: \.firstCondition),
            MemoryLayout<AttributeRecord>.offset(of: \.country),
        ]
        #expect(attributes == [0, 1, 2, 4, 8, 32, 36, 52, 56, 72, 76])
        #expect(MemoryLayout<RestrictionRecord>.offset(of: \.vehicles) == 6)
        #expect(MemoryLayout<RestrictionRecord>.offset(of: \.time) == 8)
        #expect(MemoryLayout<ConditionRecord>.offset(of: \.time) == 8)
    }
}
