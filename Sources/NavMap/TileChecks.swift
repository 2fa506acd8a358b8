extension RoadTile {
    /// Checks every reference between records and every quantity used in arithmetic, so that a malicious tile cannot
    /// make a reader trap, hang or exhaust memory.
    func checkRecords() throws(TileError) {
        try checkNodesAndEdges()
        try checkAttributes()
        try checkConditions()
        try checkFeatures()
        try checkRestrictions()
        try checkIndex()
        for arrival in arrivals
        where Int(arrival.node) >= nodes.count || Int(arrival.externalNode) >= externalNodes.count {
            throw .corrupt("an arrival points outside the tile")
        }
    }

    private func checkNodesAndEdges() throws(TileError) {
        guard shapeCoordinates.count == shapeNodeIDs.count else {
            throw .corrupt("shape points and their node ids differ in number")
        }
        var nextEdge = 0
        for node in nodes {
            guard Int(node.firstEdge) == nextEdge else { throw .corrupt("a node's edges are out of order") }
            nextEdge += Int(node.edgeCount)
        }
        guard nextEdge == edges.count else { throw .corrupt("some edges belong to no node") }
        for (index, edge) in edges.enumerated() {
            let head = Int(edge.head & ~TileLayout.externalHead)
            let heads = edge.head & TileLayout.externalHead != 0 ? externalNodes.count : nodes.count
            guard head < heads, edge.shapeCount >= 2,
                Int(edge.shapeStart) + Int(edge.shapeCount) <= shapeCoordinates.count,
                Int(edge.attributes) < attributeRecords.count, edge.length >= 0, edge.length <= TileLayout.longestEdge
            else { throw .corrupt("an edge points outside the tile") }
            guard edge.opposite == TileLayout.noIndex || isOpposite(edge, index) else {
                throw .corrupt("an edge's opposite is not the same road in the other direction")
            }
        }
    }

    /// Whether the opposite of an edge is consistent: a different edge that refers back and has as many points.
    ///
    /// If both share a shape, they must run in opposite directions.
    private func isOpposite(_ edge: EdgeRecord, _ index: Int) -> Bool {
        guard Int(edge.opposite) < edges.count, Int(edge.opposite) != index else { return false }
        let other = edges[Int(edge.opposite)]
        return Int(other.opposite) == index && other.shapeCount == edge.shapeCount
            && (other.shapeStart != edge.shapeStart || (other.flags ^ edge.flags) & EdgeRecord.reversedShape != 0)
    }

    private func checkAttributes() throws(TileError) {
        for record in attributeRecords {
            let limits = [
                record.speedLimit, record.maximumHeight, record.maximumWidth, record.maximumLength,
                record.maximumWeight, record.crossingTime, record.truckSpeedLimit, record.maximumAxleLoad,
            ]
            guard RoadClass(rawValue: record.roadClass) != nil, TileLayout.speeds.contains(record.freeFlowSpeed),
                limits.allSatisfy({ $0 >= 0 && $0 <= TileLayout.greatestQuantity })
            else { throw .corrupt("road attributes out of range") }
        }
    }

    private func checkConditions() throws(TileError) {
        var nextCondition = 0
        for record in attributeRecords {
            guard Int(record.firstCondition) == nextCondition else {
                throw .corrupt("a road's conditions are out of order")
            }
            nextCondition += Int(record.conditionCount)
        }
        guard nextCondition == conditions.count else { throw .corrupt("some conditions belong to no road") }
        var known: Set<UInt32> = []
        for condition in conditions {
            guard isTime(condition.time, &known) else { throw .corrupt("a condition's time is invalid") }
            switch condition.kind {
            case ConditionRecord.accessKind where AccessLevel(rawValue: condition.level) != nil: break
            case ConditionRecord.speedKind where condition.speed > 0 && condition.speed <= TileLayout.greatestQuantity:
                break
            default: throw .corrupt("a condition has an unknown kind or an invalid value")
            }
        }
    }

    /// Whether a string is a valid time condition; records share few distinct strings, which `known` caches.
    private func isTime(_ offset: UInt32, _ known: inout Set<UInt32>) -> Bool {
        if known.contains(offset) { return true }
        guard TimeCondition(string(offset)) != nil else { return false }
        known.insert(offset)
        return true
    }

    private func checkFeatures() throws(TileError) {
        var previousEdge: UInt32 = 0
        for feature in features {
            guard feature.edge >= previousEdge, Int(feature.edge) < edges.count,
                feature.shapeIndex < edges[Int(feature.edge)].shapeCount
            else { throw .corrupt("a feature lies outside its edge") }
            previousEdge = feature.edge
        }
    }

    private func checkRestrictions() throws(TileError) {
        var nextMember = 0
        var known: Set<UInt32> = []
        for restriction in restrictions {
            guard Int(restriction.firstMember) == nextMember,
                (2...TileLayout.longestPath).contains(Int(restriction.memberCount))
            else { throw .corrupt("a restriction's members are out of order") }
            guard restriction.time == 0 || isTime(restriction.time, &known) else {
                throw .corrupt("a restriction's time is invalid")
            }
            nextMember += Int(restriction.memberCount)
        }
        guard nextMember == restrictionMembers.count else {
            throw .corrupt("some restriction members belong to no restriction")
        }
    }

    private func checkIndex() throws(TileError) {
        guard indexBoxes.count == indexLevels.reduce(0, +) else { throw .corrupt("the spatial index is incomplete") }
        for item in indexItems {
            guard Int(item.edge) < edges.count,
                Int(item.firstSegment) + Int(item.segmentCount) < Int(edges[Int(item.edge)].shapeCount)
            else { throw .corrupt("the spatial index points outside the tile") }
        }
    }
}
