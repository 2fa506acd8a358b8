internal import NavGeo

/// A reason why a tile's content cannot be encoded: a limit of the format, or a bug of the code that built it.
public enum TileEncodingError: Error, Sendable, Equatable {
    /// An edge refers to a missing or wrong node, shape, opposite or attribute, or edges are not sorted by tail.
    case inconsistentEdge(index: Int)
    /// An arrival refers to a missing node.
    case inconsistentArrival(index: Int)
    /// More edges depart from an OSM node than the format's 16 bits can count.
    case tooManyEdges(osmNode: Int64)
    /// More records than the format's 32-bit offsets can address.
    case tooLarge
}

/// An encoder of ``TileContent`` as the bytes of a road tile; equal content gives equal bytes.
public struct TileEncoder {
    private var strings: [UInt8] = [0, 0]
    private var stringOffsets: [String: UInt32] = ["": 0]

    private init() {}

    public static func encode(_ content: TileContent) throws(TileEncodingError) -> [UInt8] {
        var encoder = TileEncoder()
        return try encoder.bytes(of: content)
    }

    private mutating func bytes(of content: TileContent) throws(TileEncodingError) -> [UInt8] {
        let edges = try edgeRecords(content)
        let nodes = try nodeRecords(content)
        let arrivals = try arrivalRecords(content)
        let index = SpatialIndexBuilder(content).build()
        var conditions: [ConditionRecord] = []
        let attributes = content.attributes.map { attributeRecord($0, &conditions) }
        var features: [FeatureRecord] = []
        for (edge, value) in content.edges.enumerated() {
            for feature in value.features {
                features.append(
                    FeatureRecord(
                        edge: UInt32(edge), shapeIndex: feature.shapeIndex, kind: feature.kind.rawValue, reserved: 0))
            }
        }
        var restrictions: [RestrictionRecord] = []
        var members: [RestrictionMemberRecord] = []
        for restriction in content.restrictions
        where (2...TileLayout.longestPath).contains(restriction.path.count) && isTime(restriction.time) {
            restrictions.append(
                RestrictionRecord(
                    firstMember: UInt32(members.count), memberCount: UInt16(restriction.path.count),
                    vehicles: restriction.vehicles.rawValue, maneuver: 0,
                    time: offset(of: restriction.time)))
            members += restriction.path.map(RestrictionMemberRecord.init)
        }
        for prescribed in content.maneuvers
        where (2...TileLayout.longestPath).contains(prescribed.path.count) && prescribed.maneuver.code != 0
            && (1...PrescribedManeuver.lastPlace).contains(prescribed.maneuver.place)
        {
            restrictions.append(
                RestrictionRecord(
                    firstMember: UInt32(members.count), memberCount: UInt16(prescribed.path.count),
                    vehicles: UInt8(prescribed.maneuver.place - 1) << RestrictionRecord.placeShift,
                    maneuver: prescribed.maneuver.code, time: 0))
            members += prescribed.path.map(RestrictionMemberRecord.init)
        }
        var bounds = BoxRecord.empty
        for point in content.shapePoints { bounds.extend(point.position.latitudeE7, point.position.longitudeE7) }
        for node in content.nodes { bounds.extend(node.position.latitudeE7, node.position.longitudeE7) }
        if content.nodes.isEmpty { bounds = BoxRecord(south: 0, west: 0, north: 0, east: 0) }

        var writer = TileWriter(id: content.id, bounds: bounds)
        writer.append(nodes, as: .nodes)
        writer.append(edges, as: .edges)
        writer.append(
            content.externalNodes.map {
                ExternalNodeRecord(
                    osmID: $0.osmID, latitudeE7: $0.position.latitudeE7, longitudeE7: $0.position.longitudeE7)
            }, as: .externalNodes)
        writer.append(
            content.shapePoints.map {
                CoordinateRecord(latitudeE7: $0.position.latitudeE7, longitudeE7: $0.position.longitudeE7)
            }, as: .shapeCoordinates)
        writer.append(content.shapePoints.map(\.osmID), as: .shapeNodeIDs)
        writer.append(attributes, as: .attributes)
        writer.append(strings, as: .strings)
        writer.append(features, as: .features)
        writer.append(restrictions, as: .restrictions)
        writer.append(members, as: .restrictionMembers)
        writer.append(index.items, as: .indexItems)
        writer.append(index.boxes, as: .indexBoxes)
        writer.append(arrivals, as: .arrivals)
        writer.append(conditions, as: .conditions)
        guard writer.bytes.count <= Int(UInt32.max) else { throw .tooLarge }
        return writer.finish()
    }

    private mutating func offset(of string: String) -> UInt32 {
        if let known = stringOffsets[string] { return known }
        let offset = append(string)
        stringOffsets[string] = offset
        return offset
    }

    /// Returns the offset of a string, stored with those of `more` that are not empty right after it.
    private mutating func offset(of string: String, _ more: String...) -> UInt32 {
        let more = more.filter { !$0.isEmpty }
        guard !more.isEmpty else { return offset(of: string) }
        let key = ([string] + more).joined(separator: "\0")
        if let known = stringOffsets[key] { return known }
        let offset = append(string)
        for next in more { _ = append(next) }
        stringOffsets[key] = offset
        return offset
    }

    private mutating func append(_ string: String) -> UInt32 {
        var utf8 = Array(string.utf8.prefix(Int(UInt16.max)))
        while !utf8.isEmpty, String(validating: utf8, as: UTF8.self) == nil { utf8.removeLast() }
        let offset = UInt32(truncatingIfNeeded: strings.count)
        strings.append(UInt8(utf8.count & 0xff))
        strings.append(UInt8(utf8.count >> 8))
        strings += utf8
        return offset
    }

    private func edgeRecords(_ content: TileContent) throws(TileEncodingError) -> [EdgeRecord] {
        var records: [EdgeRecord] = []
        records.reserveCapacity(content.edges.count)
        var previousTail = 0
        for (index, edge) in content.edges.enumerated() {
            let head: UInt32
            switch edge.head {
            case .local(let node) where content.nodes.indices.contains(node): head = UInt32(node)
            case .external(let node) where content.externalNodes.indices.contains(node):
                head = UInt32(node) | TileLayout.externalHead
            default: throw .inconsistentEdge(index: index)
            }
            guard edge.tail >= previousTail, content.nodes.indices.contains(edge.tail),
                edge.shape.count >= 2, edge.shape.count <= Int(UInt16.max),
                edge.shape.lowerBound >= 0, edge.shape.upperBound <= content.shapePoints.count,
                content.attributes.indices.contains(edge.attributes),
                edge.opposite.map({ content.edges.indices.contains($0) && content.edges[$0].opposite == index }) ?? true
            else { throw .inconsistentEdge(index: index) }
            previousTail = edge.tail
            var length = 0.0
            for point in edge.shape.dropFirst() {
                length += Geodesy.distance(
                    content.shapePoints[point - 1].position.coordinate, content.shapePoints[point].position.coordinate)
            }
            var record = EdgeRecord(
                wayID: edge.wayID, head: head, shapeStart: UInt32(edge.shape.lowerBound),
                length: Float(min(length, Double(TileLayout.longestEdge))), attributes: UInt32(edge.attributes),
                opposite: edge.opposite.map { UInt32($0) } ?? TileLayout.noIndex,
                shapeCount: UInt16(edge.shape.count), flags: edge.reversed ? EdgeRecord.reversedShape : 0)
            record.turnOffsets = turnOffsets(edge, content)
            records.append(record)
        }
        return records
    }

    private func turnOffsets(_ edge: TileContent.Edge, _ content: TileContent) -> TurnOffsets {
        guard edge.perceivedStart != nil || edge.perceivedEnd != nil else { return TurnOffsets() }
        let line = content.shapePoints[edge.shape].map(\.position)
        let measured = EndBearings(edge.reversed ? line.reversed() : line)
        func offset(_ perceived: Double?, _ measured: Float) -> Int8 {
            guard let perceived, perceived.isFinite else { return 0 }
            let angle = Angle.difference(from: Double(measured), to: perceived)
            return Int8(max(-63, min((angle / EdgeRecord.turnOffsetStep).rounded(), 63)))
        }
        return TurnOffsets(
            start: offset(edge.perceivedStart, measured.start), end: offset(edge.perceivedEnd, measured.end))
    }

    private func arrivalRecords(_ content: TileContent) throws(TileEncodingError) -> [ArrivalRecord] {
        var records: [ArrivalRecord] = []
        records.reserveCapacity(content.arrivals.count)
        for (index, arrival) in content.arrivals.enumerated() {
            guard content.nodes.indices.contains(arrival.node),
                content.externalNodes.indices.contains(arrival.externalNode)
            else { throw .inconsistentArrival(index: index) }
            records.append(ArrivalRecord(node: UInt32(arrival.node), externalNode: UInt32(arrival.externalNode)))
        }
        return records
    }

    private mutating func nodeRecords(_ content: TileContent) throws(TileEncodingError) -> [NodeRecord] {
        var records: [NodeRecord] = []
        records.reserveCapacity(content.nodes.count)
        var edge = 0
        for (index, node) in content.nodes.enumerated() {
            let first = edge
            while edge < content.edges.count, content.edges[edge].tail == index { edge += 1 }
            guard let edgeCount = UInt16(exactly: edge - first) else { throw .tooManyEdges(osmNode: node.osmID) }
            var layers: UInt32 = 0
            for layer in RoadLayer.allCases where node.layers.contains(layer) { layers |= 1 << UInt32(layer.rawValue) }
            if !node.junctionName.isEmpty { layers |= NodeRecord.hasJunctionName }
            var flags = node.flags
            if node.limits.isEmpty { flags.remove(.sizeLimited) } else { flags.insert(.sizeLimited) }
            records.append(
                NodeRecord(
                    osmID: node.osmID, latitudeE7: node.position.latitudeE7, longitudeE7: node.position.longitudeE7,
                    firstEdge: UInt32(first), edgeCount: edgeCount,
                    flags: flags.rawValue,
                    exitReference: offset(
                        of: node.exitReference, node.junctionName, node.limits.isEmpty ? "" : node.limits.text),
                    layers: layers))
        }
        return records
    }

    /// Whether readers can parse a time; an empty text means always.
    private func isTime(_ text: String) -> Bool { text.isEmpty || TimeCondition(text) != nil }

    private mutating func conditionRecord(_ condition: RoadCondition) -> ConditionRecord? {
        guard !condition.time.isEmpty, isTime(condition.time) else { return nil }
        var record = ConditionRecord(
            kind: ConditionRecord.accessKind, level: 0, vehicles: condition.vehicles.rawValue, reserved: 0, speed: 0,
            time: 0)
        switch condition.effect {
        case .access(let level): record.level = level.rawValue
        case .speedLimit(let speed):
            guard speed > 0, speed <= TileLayout.greatestQuantity else { return nil }
            record.kind = ConditionRecord.speedKind
            record.speed = speed
        }
        record.time = offset(of: condition.time)
        return record
    }

    private mutating func attributeRecord(
        _ value: RoadAttributes, _ conditions: inout [ConditionRecord]
    ) -> AttributeRecord {
        let own = value.conditions.prefix(Int(UInt8.max)).compactMap { conditionRecord($0) }
        let firstCondition = conditions.count
        conditions += own
        func bounded(_ value: Float?) -> Float {
            guard let value, value >= 0 else { return 0 }
            return value <= TileLayout.greatestQuantity ? value : 0
        }
        let speed = max(value.freeFlowSpeed, TileLayout.speeds.lowerBound)
        return AttributeRecord(
            roadClass: value.roadClass.rawValue, access: value.access.rawValue, lanes: value.lanes ?? 0,
            conditionCount: UInt8(own.count),
            flags: value.flags.rawValue, freeFlowSpeed: min(speed, TileLayout.speeds.upperBound),
            speedLimit: bounded(value.speedLimit),
            maximumHeight: bounded(value.maximumHeight), maximumWidth: bounded(value.maximumWidth),
            maximumLength: bounded(value.maximumLength), maximumWeight: bounded(value.maximumWeight),
            crossingTime: bounded(value.crossingTime), name: offset(of: value.name, value.localNames.text),
            reference: offset(of: value.reference),
            destination: offset(of: value.destination), destinationReference: offset(of: value.destinationReference),
            turnLanes: offset(of: value.turnLanes, value.laneChanges),
            truckSpeedLimit: bounded(value.truckSpeedLimit),
            maximumAxleLoad: bounded(value.maximumAxleLoad),
            destinationReferenceTo: offset(of: value.destinationReferenceTo),
            destinationLanes: offset(of: value.destinationLanes), firstCondition: UInt32(firstCondition),
            country: CountryCode.packed(value.country),
            nameFlags: (value.localNames.isEmpty ? 0 : AttributeRecord.hasLocalNames)
                | (value.laneChanges.isEmpty ? 0 : AttributeRecord.hasLaneChanges))
    }
}

extension RestrictionMemberRecord {
    init(_ edge: EdgeReference) {
        self.init(tailNodeID: edge.tailNodeID, headNodeID: edge.headNodeID, wayID: edge.wayID)
    }
}

/// A writer that places sections behind a header and its table.
private struct TileWriter {
    var bytes: [UInt8]

    init(id: RoadTileID, bounds: BoxRecord) {
        bytes = [UInt8](repeating: 0, count: TileLayout.firstSectionOffset)
        for (index, byte) in TileLayout.magic.enumerated() { bytes[index] = byte }
        put(TileLayout.version, at: TileLayout.HeaderOffset.version)
        put(id.rawValue, at: TileLayout.HeaderOffset.tile)
        put(bounds, at: TileLayout.HeaderOffset.bounds)
    }

    mutating func append<Record>(_ records: [Record], as section: TileLayout.Section) {
        while bytes.count % TileLayout.sectionAlignment != 0 { bytes.append(0) }
        let entry = TileLayout.headerBytes + section.rawValue * 8
        put(UInt32(truncatingIfNeeded: bytes.count), at: entry)
        put(UInt32(truncatingIfNeeded: records.count), at: entry + 4)
        records.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    mutating func finish() -> [UInt8] {
        put(UInt64(bytes.count), at: TileLayout.HeaderOffset.fileLength)
        let checksum = bytes.withUnsafeBytes { TileLayout.checksum($0) }
        put(checksum, at: TileLayout.HeaderOffset.checksum)
        return bytes
    }

    private mutating func put<Value>(_ value: Value, at offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
    }
}
