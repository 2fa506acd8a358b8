public import NavGeo

/// An immutable snapshot of the loaded tiles as one directed graph.
///
/// Topology, lengths and headings are stored in flat arrays for the searches; names, geometry and limits are read from
/// the tiles on demand.
///
/// A head in an unloaded tile is a node without edges; ``missingTiles(at:)`` returns the tiles that continue it.
///
/// Edge and node numbers depend on which tiles are loaded; ``EdgeKey`` and OSM ids do not.
public final class RoadGraph: Sendable {
    /// The loaded tiles, by ascending id.
    public let tiles: [RoadTile]
    /// The content version of the tileset that the tiles came from.
    public let mapVersion: String

    public let nodePositions: ContiguousArray<FixedCoordinate>
    public let nodeOSMIDs: ContiguousArray<Int64>
    public let nodeFlags: ContiguousArray<NodeFlags>
    public let edgeTails: ContiguousArray<NodeIndex>
    public let edgeHeads: ContiguousArray<NodeIndex>
    /// Length of each edge, metres.
    public let edgeLengths: ContiguousArray<Float>
    /// Direction of travel at the start of each edge, radians clockwise from north.
    public let edgeStartBearings: ContiguousArray<Float>
    /// Direction of travel at the end of each edge, radians clockwise from north.
    public let edgeEndBearings: ContiguousArray<Float>
    /// The angles from these bearings to those that drivers perceive.
    let edgeTurnOffsets: ContiguousArray<TurnOffsets>
    /// The same road in the other direction, or ``noEdge``.
    public let edgeOpposites: ContiguousArray<EdgeIndex>
    /// The contraction rank of each edge; nil when a tile has no ranks.
    public let edgeRanks: ContiguousArray<UInt32>?
    /// Paths that are prohibited, for all vehicles at all times or for some vehicles at some times.
    public let restrictions: [TurnRestriction]
    /// The paths with prescribed announcements, by the first edge after the announced junction.
    private let maneuvers: [EdgeIndex: [ManeuverPath]]
    /// The first edge of the path and the index of each of ``restrictions``, sorted.
    private let restrictionOrder: ContiguousArray<(edge: UInt32, index: UInt32)>
    /// The distinct traits of edges, which ``traits(of:)`` looks up by each edge's number.
    package let traitTable: ContiguousArray<EdgeTraits>
    package let traitNumbers: ContiguousArray<UInt32>

    let outgoingOffsets: ContiguousArray<UInt32>
    let outgoingEdges: ContiguousArray<EdgeIndex>
    let incomingOffsets: ContiguousArray<UInt32>
    let incomingEdges: ContiguousArray<EdgeIndex>
    let firstEdgeOfTile: ContiguousArray<UInt32>
    let tileIDs: ContiguousArray<RoadTileID>
    /// The bounds of the road geometry of each tile.
    let tileBounds: ContiguousArray<BoxRecord>
    let nodeLayers: ContiguousArray<UInt8>
    let exitReferences: [NodeIndex: String]
    let junctionNames: [NodeIndex: String]
    private let nodeLimits: [NodeIndex: SizeLimits]
    let loadedTiles: Set<RoadTileID>
    /// Tiles of the tileset that are not loaded; nil when its list is not known.
    let absentTiles: Set<RoadTileID>?
    let missingArrivals: [NodeIndex: [RoadTileID]]
    let incompleteness: ContiguousArray<Incompleteness>
    /// A bit for each edge: whether it has point features.
    let edgesWithFeatures: ContiguousArray<UInt64>
    /// A bit for each edge: whether the path of a restriction begins with it.
    private let restrictedEdges: ContiguousArray<UInt64>

    /// The value for "no edge" in ``edgeOpposites``.
    public static let noEdge = EdgeIndex(rawValue: .max)

    /// Joins tiles into a graph; a tile given twice counts once.
    ///
    /// Takes time in proportion to the tiles' edges: some 30 ms for 100,000, and half of that for tiles that have been
    /// in a graph before.
    ///
    /// The graph is independent of vehicle and time.
    ///
    /// - Parameter catalogue: All tiles of the tileset, loaded or not; nil when unknown, in which case only tiles that
    ///   the loaded ones refer to are known.
    public init(tiles: [RoadTile], mapVersion: String, catalogue: [RoadTileID]? = nil) {
        let assembly = GraphAssembly(tiles)
        edgeRanks = assembly.ranks()
        self.tiles = assembly.tiles
        tileIDs = ContiguousArray(assembly.tiles.map(\.id))
        tileBounds = ContiguousArray(assembly.tiles.map(\.bounds))
        self.mapVersion = mapVersion
        nodePositions = assembly.nodePositions
        nodeOSMIDs = assembly.nodeOSMIDs
        nodeFlags = assembly.nodeFlags
        nodeLayers = assembly.nodeLayers
        edgeTails = assembly.edgeTails
        edgeHeads = assembly.edgeHeads
        edgeLengths = assembly.edgeLengths
        edgeStartBearings = assembly.edgeStartBearings
        edgeEndBearings = assembly.edgeEndBearings
        edgeTurnOffsets = assembly.edgeTurnOffsets
        edgeOpposites = assembly.edgeOpposites
        restrictions = assembly.restrictions
        maneuvers = Dictionary(grouping: assembly.maneuvers) { $0.path[$0.maneuver.place] }
        restrictionOrder = ContiguousArray(
            assembly.restrictions.enumerated().map { ($1.path[0].rawValue, UInt32($0)) }.sorted { $0 < $1 })
        (traitTable, traitNumbers) = RoadGraph.traits(assembly.tiles)
        (outgoingOffsets, outgoingEdges) = assembly.adjacency(by: assembly.edgeTails)
        (incomingOffsets, incomingEdges) = assembly.adjacency(by: assembly.edgeHeads)
        firstEdgeOfTile = assembly.firstEdgeOfTile
        exitReferences = assembly.exitReferences
        junctionNames = assembly.junctionNames
        nodeLimits = assembly.sizeLimits
        loadedTiles = assembly.loadedTiles
        absentTiles = catalogue.map { [loadedTiles] in Set($0).subtracting(loadedTiles) }
        missingArrivals = assembly.missingArrivals
        incompleteness = assembly.incompleteness()
        edgesWithFeatures = RoadGraph.edgesWithFeatures(
            assembly.tiles, first: assembly.firstEdgeOfTile, count: assembly.edgeTails.count)
        var restricted = ContiguousArray<UInt64>(repeating: 0, count: edgesWithFeatures.count)
        for restriction in assembly.restrictions {
            let edge = restriction.path[0].index
            restricted[edge >> 6] |= 1 << UInt64(edge & 63)
        }
        restrictedEdges = restricted
    }

    public var edgeCount: Int { edgeTails.count }
    /// The number of nodes, including those in missing tiles.
    public var nodeCount: Int { nodePositions.count }

    /// Returns the angle that a driver perceives when turning from an edge into one that starts at its end, radians, clockwise positive,
    /// −π ... π.
    ///
    /// The first metres of a road model the junction, not the road; ``RoadOutline`` measures it beyond when the map is built. In tiles from
    /// before that, it is the angle between the last and the first metres.
    public func turnAngle(_ first: EdgeIndex, _ second: EdgeIndex) -> Double {
        let offset = Int(edgeTurnOffsets[second.index].start) - Int(edgeTurnOffsets[first.index].end)
        return Angle.difference(
            from: Double(edgeEndBearings[first.index]),
            to: Double(edgeStartBearings[second.index]) + Double(offset) * EdgeRecord.turnOffsetStep)
    }

    /// Returns the edges that start at a node, by ascending number.
    @inline(__always)
    public func outgoing(_ node: NodeIndex) -> Slice<ContiguousArray<EdgeIndex>> {
        outgoingEdges.slice(outgoingOffsets[node.index], outgoingOffsets[node.index + 1])
    }

    /// Returns the edges that end at a node, by ascending number.
    @inline(__always)
    public func incoming(_ node: NodeIndex) -> Slice<ContiguousArray<EdgeIndex>> {
        incomingEdges.slice(incomingOffsets[node.index], incomingOffsets[node.index + 1])
    }

    /// Returns the same road in the other direction; nil for a one-way street.
    public func opposite(_ edge: EdgeIndex) -> EdgeIndex? {
        let other = edgeOpposites[edge.index]
        return other == RoadGraph.noEdge ? nil : other
    }

    /// Returns the key of an edge, which stays valid when other tiles are loaded.
    public func key(of edge: EdgeIndex) -> EdgeKey {
        let (tile, local) = locate(edge)
        return EdgeKey(tile: tiles[tile].id, index: local)
    }

    /// Returns the edge with a key; nil when its tile is not loaded or has no such edge.
    public func edge(_ key: EdgeKey) -> EdgeIndex? {
        guard let id = key.tile, let tile = tileNumber(id), key.index < tiles[tile].edgeCount else { return nil }
        return EdgeIndex(Int(firstEdgeOfTile[tile]) + key.index)
    }

    /// Returns the index of a tile in ``tiles``; nil when it is not loaded.
    func tileNumber(_ id: RoadTileID) -> Int? {
        let tile = tileIDs.partitioningIndex { $0 >= id }
        return tile < tileIDs.count && tileIDs[tile] == id ? tile : nil
    }

    public func wayID(of edge: EdgeIndex) -> Int64 { record(edge).wayID }

    /// Returns the class, names, speeds and limits of an edge.
    public func attributes(of edge: EdgeIndex) -> RoadAttributes {
        let (tile, local) = locate(edge)
        return tiles[tile].attributes(Int(tiles[tile].edges[local].attributes))
    }

    /// Returns the class, flags, access, speed and limits of an edge, without the cost of its strings.
    public func traits(of edge: EdgeIndex) -> EdgeTraits { traitTable[Int(traitNumbers[edge.index])] }

    private static func traits(_ tiles: [RoadTile]) -> (ContiguousArray<EdgeTraits>, ContiguousArray<UInt32>) {
        var table: ContiguousArray<EdgeTraits> = []
        var numbers: ContiguousArray<UInt32> = []
        numbers.reserveCapacity(tiles.reduce(0) { $0 + $1.edgeCount })
        for tile in tiles {
            let first = UInt32(table.count)
            for record in tile.attributeRecords { table.append(EdgeTraits(record)) }
            for edge in tile.edges { numbers.append(first + edge.attributes) }
        }
        return (table, numbers)
    }

    private static func edgesWithFeatures(
        _ tiles: [RoadTile], first: ContiguousArray<UInt32>, count: Int
    ) -> ContiguousArray<UInt64> {
        var bits = ContiguousArray<UInt64>(repeating: 0, count: (count + 63) / 64)
        for (number, tile) in tiles.enumerated() {
            for feature in tile.features where feature.edge < UInt32(tile.edgeCount) {
                let edge = Int(first[number]) + Int(feature.edge)
                bits[edge >> 6] |= 1 << UInt64(edge & 63)
            }
        }
        return bits
    }

    /// Returns the edges with time-dependent conditions, in ascending order.
    package func conditionalEdges() -> [(edge: EdgeIndex, conditions: [RoadCondition])] {
        var result: [(edge: EdgeIndex, conditions: [RoadCondition])] = []
        for (number, tile) in tiles.enumerated() {
            let conditions = tile.attributeRecords.map { tile.conditions(of: $0) }
            guard conditions.contains(where: { !$0.isEmpty }) else { continue }
            for (local, edge) in tile.edges.enumerated() where !conditions[Int(edge.attributes)].isEmpty {
                result.append((EdgeIndex(Int(firstEdgeOfTile[number]) + local), conditions[Int(edge.attributes)]))
            }
        }
        return result
    }

    /// Returns the geometry of an edge in travel order.
    public func shape(of edge: EdgeIndex) -> EdgeShape {
        let (tile, local) = locate(edge)
        return EdgeShape(tile: tiles[tile], record: tiles[tile].edges[local])
    }

    /// Whether an edge has point features.
    package func hasFeatures(_ edge: EdgeIndex) -> Bool {
        edgesWithFeatures[edge.index >> 6] & 1 << UInt64(edge.index & 63) != 0
    }

    /// Returns the signals, stops, crossings and other point features along an edge, in travel order.
    public func features(of edge: EdgeIndex) -> [PointFeature] {
        guard hasFeatures(edge) else { return [] }
        var result: [PointFeature] = []
        forEachFeature(of: edge) { result.append($0) }
        return result
    }

    /// Calls `body` with each of an edge's ``features(of:)``.
    package func forEachFeature(of edge: EdgeIndex, _ body: (PointFeature) -> Void) {
        guard hasFeatures(edge) else { return }
        let (tile, local) = locate(edge)
        let all = tiles[tile].features
        var low = all.partitioningIndex { $0.edge >= UInt32(local) }
        while low < all.count, all[low].edge == UInt32(local) {
            if let kind = PointFeature.Kind(rawValue: all[low].kind) {
                body(PointFeature(kind: kind, shapeIndex: all[low].shapeIndex))
            }
            low += 1
        }
    }

    /// Returns the restrictions whose path begins with an edge, for all vehicles and times.
    public func restrictions(from edge: EdgeIndex) -> some Sequence<TurnRestriction> {
        var (low, high) = (0, restrictionOrder.count)
        while low < high {
            let middle = (low + high) / 2
            if restrictionOrder[middle].edge < edge.rawValue { low = middle + 1 } else { high = middle }
        }
        return restrictionOrder[low...].lazy.prefix { $0.edge == edge.rawValue }
            .map { [restrictions] in restrictions[Int($0.index)] }
    }

    /// Returns the edges onto which a kind of vehicle may never turn from an edge.
    package func refusedTurns(from edge: EdgeIndex, for vehicle: VehicleAccess) -> [EdgeIndex] {
        guard restrictedEdges[edge.index >> 6] & 1 << UInt64(edge.index & 63) != 0 else { return [] }
        return restrictions(from: edge).filter { $0.path.count == 2 && $0.holds(for: vehicle, at: nil) }
            .map { $0.path[1] }
    }

    /// Returns the paths with a prescribed announcement before an edge.
    public func maneuvers(onto edge: EdgeIndex) -> [ManeuverPath] {
        maneuvers.isEmpty ? [] : maneuvers[edge] ?? []
    }

    /// Returns the exit number of a motorway junction; empty when there is none.
    public func exitReference(of node: NodeIndex) -> String { exitReferences[node] ?? "" }

    /// Returns the name of a junction; empty when there is none.
    public func junctionName(of node: NodeIndex) -> String { junctionNames[node] ?? "" }

    /// Returns the limits of vehicles that pass a node; empty unless it has ``NodeFlags/sizeLimited``.
    public func sizeLimits(of node: NodeIndex) -> SizeLimits { nodeLimits[node] ?? SizeLimits() }

    /// Returns the unloaded tiles that hold further edges at a node, by ascending id.
    public func missingTiles(at node: NodeIndex) -> [RoadTileID] {
        let own = GraphAssembly.missingTiles(
            layers: nodeLayers[node.index], position: nodePositions[node.index], loaded: loadedTiles)
        return Set(own + (missingArrivals[node] ?? [])).sorted()
    }

    /// Returns whether a tile is loaded; nil when no tile of that id is known to exist.
    public func hasLoaded(_ id: RoadTileID) -> Bool? {
        if loadedTiles.contains(id) { return true }
        return absentTiles?.contains(id) == true ? false : nil
    }

    /// Whether edges at the node are missing because their tile is not loaded.
    @inline(__always)
    public func isIncomplete(_ node: NodeIndex) -> Bool { !incompleteness[node.index].isEmpty }

    /// Whether edges that leave the node may be missing because their tile is not loaded.
    @inline(__always)
    public func lacksDepartures(_ node: NodeIndex) -> Bool { incompleteness[node.index].contains(.departures) }

    /// Whether edges that lead to the node may be missing because their tile is not loaded.
    @inline(__always)
    public func lacksArrivals(_ node: NodeIndex) -> Bool { incompleteness[node.index].contains(.arrivals) }

    @inline(__always)
    func locate(_ edge: EdgeIndex) -> (tile: Int, local: Int) {
        var low = 0
        var high = tiles.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if firstEdgeOfTile[middle] <= edge.rawValue { low = middle } else { high = middle - 1 }
        }
        return (low, edge.index - Int(firstEdgeOfTile[low]))
    }

    func record(_ edge: EdgeIndex) -> EdgeRecord {
        let (tile, local) = locate(edge)
        return tiles[tile].edges[local]
    }
}

/// A path that is prohibited.
public struct TurnRestriction: Sendable, Hashable {
    /// Two or more consecutive edges.
    public let path: [EdgeIndex]
    /// The vehicles that the restriction applies to.
    public let vehicles: VehicleAccess
    /// The time at which the restriction holds; nil when it always holds.
    public let time: TimeCondition?

    /// Whether the path is closed to a kind of vehicle at a time; without a time, only permanent restrictions count.
    public func holds(for vehicle: VehicleAccess, at moment: LocalTime?) -> Bool {
        guard !vehicles.isDisjoint(with: vehicle) else { return false }
        guard let time else { return true }
        return moment.map(time.holds) ?? false
    }
}

extension ContiguousArray {
    @inline(__always)
    func slice(_ start: UInt32, _ end: UInt32) -> Slice<ContiguousArray<Element>> {
        Slice(base: self, bounds: Int(start)..<Int(end))
    }
}
