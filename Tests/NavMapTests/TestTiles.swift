import NavGeo
import NavMap
import NavTestSupport

/// Small hand-made tiles and their bytes.
enum TestTiles {
    static let id = RoadTileID(layer: .local, containing: TestPlaces.insideTiles)
    static let neighbour = RoadTileID(rawValue: id.rawValue + (1 << 12)) ?? id

    /// Returns two nodes and a third in the next tile: A ⇄ B over a bend, B → C, with names, a feature, a restriction
    /// and an arrival.
    static func content() -> TileContent {
        func position(_ east: Double, _ north: Double) -> FixedCoordinate {
            FixedCoordinate(
                LocalFrame(origin: TestPlaces.insideTiles).coordinate(of: LocalPoint(east: east, north: north)))
        }
        var content = TileContent(id: id)
        content.nodes = [
            TileContent.Node(osmID: 1, position: position(0, 0), flags: [.trafficSignals], layers: [.local]),
            TileContent.Node(
                osmID: 2, position: position(200, 0), flags: [.shared, .motorwayJunction], layers: [.local, .highway],
                exitReference: "7a", junctionName: "Kreuz Süd"),
        ]
        let outside = FixedCoordinate(
            Coordinate(latitude: TestPlaces.insideTiles.latitude, longitude: neighbour.tile.northWest.longitude + 0.001)
        )
        content.externalNodes = [
            TileContent.ExternalNode(osmID: 3, position: outside),
            TileContent.ExternalNode(osmID: 4, position: outside),
        ]
        content.shapePoints = [
            .init(osmID: 1, position: position(0, 0)), .init(osmID: 11, position: position(100, 50)),
            .init(osmID: 2, position: position(200, 0)), .init(osmID: 2, position: position(200, 0)),
            .init(osmID: 3, position: outside),
        ]
        content.attributes = [
            RoadAttributes(
                roadClass: .residential, flags: [.taggedSpeedLimit], freeFlowSpeed: 11, speedLimit: 13.9, lanes: 2,
                maximumHeight: 3.5, maximumWidth: 2.5, maximumLength: 12, maximumWeight: 7.5, name: "Köydenpunojankatu",
                reference: "A 1;E 35", destination: "Töölö", destinationReference: "45", turnLanes: "left|through",
                truckSpeedLimit: 16.7, maximumAxleLoad: 10, destinationReferenceTo: "E 18", destinationLanes: "A|B",
                country: "FI",
                conditions: [
                    RoadCondition(.access(.none), vehicles: .truck, time: "22:00-06:00"),
                    RoadCondition(.speedLimit(8.3), time: "Mo-Fr 07:00-17:00"),
                ], localNames: LocalNames([("en", "Long Bridge"), ("zh", "长桥"), ("ipa", "ˈpitkæˌsiltɑ")]),
                laneChanges: "yes|not_left"),
            RoadAttributes(roadClass: .service, freeFlowSpeed: 4),
        ]
        content.edges = [
            .init(
                tail: 0, head: .local(1), wayID: 100, shape: 0..<3, reversed: false, opposite: 1, attributes: 0,
                features: [PointFeature(kind: .crossing, shapeIndex: 1)]),
            .init(tail: 1, head: .local(0), wayID: 100, shape: 0..<3, reversed: true, opposite: 0, attributes: 0),
            .init(tail: 1, head: .external(0), wayID: 101, shape: 3..<5, reversed: false, opposite: nil, attributes: 1),
        ]
        content.arrivals = [TileContent.Arrival(node: 1, externalNode: 1)]
        let path = [
            EdgeReference(tailNodeID: 1, headNodeID: 2, wayID: 100),
            EdgeReference(tailNodeID: 2, headNodeID: 3, wayID: 101),
        ]
        content.restrictions = [
            TileContent.Restriction(path: path),
            TileContent.Restriction(path: path, vehicles: .truck, time: "Mo-Fr 07:00-09:00"),
        ]
        return content
    }

    static func bytes() throws -> [UInt8] { try TileEncoder.encode(content()) }

    static func tile(_ bytes: [UInt8]) throws -> RoadTile { try RoadTile(TileStorage(copying: bytes)) }

    /// Writes the checksum of changed bytes.
    static func seal(_ bytes: inout [UInt8]) {
        let checksum = bytes.withUnsafeBytes { TileLayout.checksum($0) }
        put(checksum, at: TileLayout.HeaderOffset.checksum, in: &bytes)
    }

    static func put<Value>(_ value: Value, at offset: Int, in bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
    }

    /// Returns the offset of a section and its number of records.
    static func section(_ section: TileLayout.Section, of bytes: [UInt8]) -> (offset: Int, count: Int) {
        let entry = TileLayout.headerBytes + section.rawValue * 8
        return bytes.withUnsafeBytes {
            (
                Int($0.loadUnaligned(fromByteOffset: entry, as: UInt32.self)),
                Int($0.loadUnaligned(fromByteOffset: entry + 4, as: UInt32.self))
            )
        }
    }

    /// Reads all of a tile, as a graph of one tile.
    static func exercise(_ tile: RoadTile) {
        let graph = RoadGraph(tiles: [tile], mapVersion: "test")
        for number in 0..<graph.edgeCount {
            let edge = EdgeIndex(number)
            let shape = graph.shape(of: edge)
            for index in shape.indices { _ = (shape[index].coordinate, shape.nodeID(index)) }
            _ = graph.attributes(of: edge)
            _ = graph.traits(of: edge)
            for feature in graph.features(of: edge) { _ = shape[Int(feature.shapeIndex)] }
            _ = graph.wayID(of: edge)
            _ = graph.edge(graph.key(of: edge))
            for offset in [-1, 0, Double(graph.edgeLengths[number]), .infinity, .nan] {
                _ = shape[graph.position(at: offset, of: edge).segment + 1]
            }
            if let opposite = graph.opposite(edge) { _ = graph.shape(of: opposite).count }
            for place in [TestPlaces.insideTiles, shape[0].coordinate] { _ = graph.project(place, onto: edge) }
        }
        for number in 0..<graph.nodeCount {
            let node = NodeIndex(number)
            for edge in graph.outgoing(node) { _ = graph.edgeHeads[edge.index] }
            for edge in graph.incoming(node) { _ = graph.edgeTails[edge.index] }
            _ = (graph.missingTiles(at: node), graph.exitReference(of: node), graph.isIncomplete(node))
        }
        for radius in [10.0, 1_000, 1e8] {
            for hit in graph.edges(near: TestPlaces.insideTiles, radius: radius) {
                _ = graph.shape(of: hit.edge)[hit.segment + 1]
            }
        }
        let moment = LocalTime(localSeconds: 1_767_600_000)
        for path in graph.prohibitedPaths(for: .all, at: moment) {
            for edge in path { _ = graph.edgeLengths[edge.index] }
        }
    }
}

extension RoadGraph {
    /// Returns the paths of two or more edges that are prohibited to a kind of vehicle; without a time, those always
    /// prohibited.
    func prohibitedPaths(for vehicle: VehicleAccess, at time: LocalTime?) -> [[EdgeIndex]] {
        restrictions.compactMap { $0.holds(for: vehicle, at: time) ? $0.path : nil }
    }
}
