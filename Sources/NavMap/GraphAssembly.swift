internal import NavGeo

/// An assembler of tiles into a graph: it numbers nodes and edges densely and resolves references across tiles.
struct GraphAssembly {
    let tiles: [RoadTile]
    var nodePositions: ContiguousArray<FixedCoordinate> = []
    var nodeOSMIDs: ContiguousArray<Int64> = []
    var nodeFlags: ContiguousArray<NodeFlags> = []
    var nodeLayers: ContiguousArray<UInt8> = []
    var edgeTails: ContiguousArray<NodeIndex> = []
    var edgeHeads: ContiguousArray<NodeIndex> = []
    var edgeLengths: ContiguousArray<Float> = []
    var edgeStartBearings: ContiguousArray<Float> = []
    var edgeEndBearings: ContiguousArray<Float> = []
    var edgeTurnOffsets: ContiguousArray<TurnOffsets> = []
    var edgeOpposites: ContiguousArray<EdgeIndex> = []
    var firstEdgeOfTile: ContiguousArray<UInt32> = []
    var exitReferences: [NodeIndex: String] = [:]
    var junctionNames: [NodeIndex: String] = [:]
    var sizeLimits: [NodeIndex: SizeLimits] = [:]
    var restrictions: [TurnRestriction] = []
    var maneuvers: [ManeuverPath] = []

    private var firstNodeOfTile: [Int] = []
    private var denseNodes: ContiguousArray<NodeIndex> = []
    private var sharedNodes: [Int64: NodeIndex] = [:]
    private(set) var missingArrivals: [NodeIndex: [RoadTileID]] = [:]

    init(_ given: [RoadTile]) {
        var seen: Set<RoadTileID> = []
        tiles = given.filter { seen.insert($0.id).inserted }.sorted { $0.id < $1.id }
        numberNodes()
        numberEdges()
        noteMissingArrivals()
        pairAcrossTiles()
        resolveRestrictions()
    }

    private mutating func addNode(_ osmID: Int64, _ position: FixedCoordinate, _ flags: NodeFlags, _ layers: UInt8)
        -> NodeIndex
    {
        let node = NodeIndex(nodePositions.count)
        nodePositions.append(position)
        nodeOSMIDs.append(osmID)
        nodeFlags.append(flags)
        nodeLayers.append(layers)
        return node
    }

    private mutating func numberNodes() {
        let total = tiles.reduce(0) { $0 + $1.nodeCount }
        nodePositions.reserveCapacity(total)
        nodeOSMIDs.reserveCapacity(total)
        nodeFlags.reserveCapacity(total)
        nodeLayers.reserveCapacity(total)
        denseNodes.reserveCapacity(total)
        for tile in tiles {
            firstNodeOfTile.append(denseNodes.count)
            for record in tile.nodes {
                let flags = NodeFlags(rawValue: record.flags)
                let known = flags.contains(.shared) ? sharedNodes[record.osmID] : nil
                let node: NodeIndex
                if let known {
                    node = known
                    nodeLayers[node.index] |= UInt8(truncatingIfNeeded: record.layers)
                    nodeFlags[node.index].formUnion(flags)
                } else {
                    node = addNode(
                        record.osmID,
                        FixedCoordinate(latitudeE7: record.latitudeE7, longitudeE7: record.longitudeE7), flags,
                        UInt8(truncatingIfNeeded: record.layers))
                    if flags.contains(.shared) { sharedNodes[record.osmID] = node }
                }
                if record.exitReference != 0 { exitReferences[node] = tile.string(record.exitReference) }
                var text = record.exitReference
                if record.layers & NodeRecord.hasJunctionName != 0 {
                    text = tile.offset(after: text)
                    junctionNames[node] = tile.string(text)
                }
                if flags.contains(.sizeLimited) {
                    sizeLimits[node] = SizeLimits(text: tile.string(after: text))
                }
                denseNodes.append(node)
            }
        }
    }

    private mutating func numberEdges() {
        let total = tiles.reduce(0) { $0 + $1.edgeCount }
        edgeTails.reserveCapacity(total)
        edgeHeads.reserveCapacity(total)
        edgeLengths.reserveCapacity(total)
        edgeStartBearings.reserveCapacity(total)
        edgeEndBearings.reserveCapacity(total)
        edgeTurnOffsets.reserveCapacity(total)
        edgeOpposites.reserveCapacity(total)
        for (tileIndex, tile) in tiles.enumerated() {
            let firstEdge = edgeTails.count
            let firstNode = firstNodeOfTile[tileIndex]
            firstEdgeOfTile.append(UInt32(firstEdge))
            let bearings = tile.endBearings(tile)
            for (local, node) in tile.nodes.enumerated() {
                for edge in Int(node.firstEdge)..<(Int(node.firstEdge) + Int(node.edgeCount)) {
                    let record = tile.edges[edge]
                    let head = Int(record.head & ~TileLayout.externalHead)
                    edgeTails.append(denseNodes[firstNode + local])
                    edgeHeads.append(
                        record.head & TileLayout.externalHead != 0
                            ? external(tile.externalNodes[head], layer: tile.id.layer) : denseNodes[firstNode + head])
                    edgeLengths.append(record.length)
                    edgeOpposites.append(
                        record.opposite == TileLayout.noIndex
                            ? RoadGraph.noEdge : EdgeIndex(firstEdge + Int(record.opposite)))
                    edgeStartBearings.append(bearings[edge].start)
                    edgeEndBearings.append(bearings[edge].end)
                    edgeTurnOffsets.append(record.turnOffsets)
                }
            }
        }
    }

    /// Returns the node for a head in another tile.
    ///
    /// If that tile is not loaded, adds a placeholder node that is known to have edges in this layer only.
    private mutating func external(_ record: ExternalNodeRecord, layer: RoadLayer) -> NodeIndex {
        if let known = sharedNodes[record.osmID] { return known }
        let node = addNode(
            record.osmID, FixedCoordinate(latitudeE7: record.latitudeE7, longitudeE7: record.longitudeE7), .shared,
            1 << layer.rawValue)
        sharedNodes[record.osmID] = node
        return node
    }

    /// Finds the unloaded tiles whose edges lead to loaded nodes.
    private mutating func noteMissingArrivals() {
        let loaded = loadedTiles
        for (tileIndex, tile) in tiles.enumerated() {
            for arrival in tile.arrivals {
                let origin = tile.externalNodes[Int(arrival.externalNode)]
                let position = FixedCoordinate(latitudeE7: origin.latitudeE7, longitudeE7: origin.longitudeE7)
                let id = RoadTileID(layer: tile.id.layer, containing: position.coordinate)
                guard !loaded.contains(id) else { continue }
                missingArrivals[denseNodes[firstNodeOfTile[tileIndex] + Int(arrival.node)], default: []].append(id)
            }
        }
    }

    /// Finds the opposite edge of edges whose two ends lie in different tiles.
    private mutating func pairAcrossTiles() {
        var crossing: [EdgeReference: EdgeIndex] = [:]
        var candidates: [(edge: EdgeIndex, reference: EdgeReference)] = []
        for (tileIndex, tile) in tiles.enumerated() {
            for (local, record) in tile.edges.enumerated() where record.head & TileLayout.externalHead != 0 {
                let edge = EdgeIndex(Int(firstEdgeOfTile[tileIndex]) + local)
                let own = reference(edge, wayID: record.wayID)
                crossing[own] = edge
                candidates.append((edge, own))
            }
        }
        for (edge, own) in candidates {
            let mirrored = EdgeReference(tailNodeID: own.headNodeID, headNodeID: own.tailNodeID, wayID: own.wayID)
            if let other = crossing[mirrored] { edgeOpposites[edge.index] = other }
        }
    }

    private func reference(_ edge: EdgeIndex, wayID: Int64) -> EdgeReference {
        EdgeReference(
            tailNodeID: nodeOSMIDs[edgeTails[edge.index].index], headNodeID: nodeOSMIDs[edgeHeads[edge.index].index],
            wayID: wayID)
    }

    /// Resolves restrictions and prescribed maneuvers from OSM ids to paths of edges.
    ///
    /// Paths with an edge in an unloaded tile cannot be driven and are left out.
    private mutating func resolveRestrictions() {
        var wanted: Set<EdgeReference> = []
        // A bitmap of the low bits of the restrictions' way ids, which excludes most edges quickly.
        var named = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)
        func digits(_ wayID: Int64) -> Int { Int(truncatingIfNeeded: UInt64(bitPattern: wayID) & 0xFFFF) }
        for tile in tiles {
            for member in tile.restrictionMembers {
                named[digits(member.wayID) >> 6] |= 1 << UInt64(digits(member.wayID) & 63)
                wanted.insert(
                    EdgeReference(tailNodeID: member.tailNodeID, headNodeID: member.headNodeID, wayID: member.wayID))
            }
        }
        guard !wanted.isEmpty else { return }
        var found: [EdgeReference: EdgeIndex] = [:]
        for (tileIndex, tile) in tiles.enumerated() {
            for (local, record) in tile.edges.enumerated()
            where named[digits(record.wayID) >> 6] & 1 << UInt64(digits(record.wayID) & 63) != 0 {
                let edge = EdgeIndex(Int(firstEdgeOfTile[tileIndex]) + local)
                let own = reference(edge, wayID: record.wayID)
                if wanted.contains(own) { found[own] = edge }
            }
        }
        for tile in tiles {
            for restriction in tile.restrictions {
                let members = tile.restrictionMembers[
                    Int(restriction.firstMember)..<Int(restriction.firstMember) + Int(restriction.memberCount)]
                let path = members.compactMap {
                    found[EdgeReference(tailNodeID: $0.tailNodeID, headNodeID: $0.headNodeID, wayID: $0.wayID)]
                }
                let connected = zip(path, path.dropFirst()).allSatisfy { edgeHeads[$0.index] == edgeTails[$1.index] }
                guard path.count == members.count, path.count >= 2, connected else { continue }
                if restriction.maneuver != 0 {
                    let place = Int(restriction.vehicles >> RestrictionRecord.placeShift) + 1
                    if place < path.count,
                        let maneuver = PrescribedManeuver(code: restriction.maneuver, place: place)
                    {
                        maneuvers.append(ManeuverPath(path: path, maneuver: maneuver))
                    }
                    continue
                }
                restrictions.append(
                    TurnRestriction(
                        path: path, vehicles: VehicleAccess(rawValue: restriction.vehicles),
                        time: restriction.time == 0 ? nil : TimeCondition(tile.string(restriction.time))))
            }
        }
    }

    /// Returns the ranks of all edges; nil when a tile has none.
    func ranks() -> ContiguousArray<UInt32>? {
        var result: ContiguousArray<UInt32> = []
        result.reserveCapacity(edgeTails.count)
        for tile in tiles {
            guard let ranks = tile.ranks else { return nil }
            result.append(contentsOf: ranks)
        }
        return result
    }

    var loadedTiles: Set<RoadTileID> { Set(tiles.map(\.id)) }

    /// Returns the unloaded tiles that may hold a node's edges, by its layers and position, in ascending order.
    static func missingTiles(layers: UInt8, position: FixedCoordinate, loaded: Set<RoadTileID>) -> [RoadTileID] {
        RoadLayer.allCases.compactMap { layer in
            guard layers & 1 << layer.rawValue != 0 else { return nil }
            let id = RoadTileID(layer: layer, containing: position.coordinate)
            return loaded.contains(id) ? nil : id
        }.sorted()
    }

    /// Returns for each node which of its edges may lie in unloaded tiles.
    func incompleteness() -> ContiguousArray<Incompleteness> {
        let loaded = loadedTiles
        var result = ContiguousArray<Incompleteness>(repeating: [], count: nodePositions.count)
        for node in nodePositions.indices where nodeFlags[node].contains(.shared) {
            let missing = GraphAssembly.missingTiles(
                layers: nodeLayers[node], position: nodePositions[node], loaded: loaded)
            if !missing.isEmpty { result[node] = [.departures, .arrivals] }
        }
        for node in missingArrivals.keys { result[node.index].insert(.arrivals) }
        return result
    }

    /// Groups the edges by a node of each, as offsets and edges.
    func adjacency(by node: ContiguousArray<NodeIndex>) -> (ContiguousArray<UInt32>, ContiguousArray<EdgeIndex>) {
        var offsets = ContiguousArray<UInt32>(repeating: 0, count: nodePositions.count + 1)
        for value in node { offsets[value.index + 1] += 1 }
        for index in 1..<offsets.count { offsets[index] += offsets[index - 1] }
        var next = offsets
        var edges = ContiguousArray<EdgeIndex>(repeating: RoadGraph.noEdge, count: node.count)
        for (edge, value) in node.enumerated() {
            edges[Int(next[value.index])] = EdgeIndex(edge)
            next[value.index] += 1
        }
        return (offsets, edges)
    }
}

/// The edges of a node that may be missing because their tiles are not loaded.
struct Incompleteness: OptionSet, Sendable {
    let rawValue: UInt8

    static let departures = Incompleteness(rawValue: 1 << 0)
    static let arrivals = Incompleteness(rawValue: 1 << 1)
}
