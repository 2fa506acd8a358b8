public import NavGeo

/// An immutable snapshot of the loaded tiles as one directed graph.
///
/// Topology, lengths and headings lie in flat arrays for the searches; names, lines and limits are read from the tiles
/// when asked for. A head in a tile that is not loaded is a node without edges, and ``missingTiles(at:)`` names what
/// would continue it. Edge and node numbers depend on which tiles are loaded; ``EdgeKey`` and OSM ids do not.
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
    /// Metres along each edge.
    public let edgeLengths: ContiguousArray<Float>
    /// Direction of travel at the start of each edge, radians clockwise from north.
    public let edgeStartBearings: ContiguousArray<Float>
    /// Direction of travel at the end of each edge, radians clockwise from north.
    public let edgeEndBearings: ContiguousArray<Float>
    /// The same road in the other direction, or ``noEdge``.
    public let edgeOpposites: ContiguousArray<EdgeIndex>
    /// The place of each edge in the order of contraction; nil when a tile came without.
    public let edgeRanks: ContiguousArray<UInt32>?
    /// Paths that may not be driven, by anybody at any time or by some vehicles at times.
    public let restrictions: [TurnRestriction]
    /// Their numbers by the first edge of their paths.
    private let restrictionOrder: ContiguousArray<UInt32>
    /// The distinct properties of edges, and which of them each edge has.
    package let traitTable: ContiguousArray<EdgeTraits>
    package let traitNumbers: ContiguousArray<UInt32>

    let outgoingOffsets: ContiguousArray<UInt32>
    let outgoingEdges: ContiguousArray<EdgeIndex>
    let incomingOffsets: ContiguousArray<UInt32>
    let incomingEdges: ContiguousArray<EdgeIndex>
    let firstEdgeOfTile: ContiguousArray<UInt32>
    let tileIDs: ContiguousArray<RoadTileID>
    /// Of the lines of each tile's roads.
    let tileBounds: ContiguousArray<BoxRecord>
    let nodeLayers: ContiguousArray<UInt8>
    let exitReferences: [NodeIndex: String]
    let junctionNames: [NodeIndex: String]
    let loadedTiles: Set<RoadTileID>
    /// Tiles of the tileset that are not loaded; nil when its list is not known.
    let absentTiles: Set<RoadTileID>?
    let missingArrivals: [NodeIndex: [RoadTileID]]
    let incompleteness: ContiguousArray<Incompleteness>
    /// One bit for each edge: whether anything stands along it.
    let edgesWithFeatures: ContiguousArray<UInt64>

    /// Stands for "no edge" in ``edgeOpposites``.
    public static let noEdge = EdgeIndex(rawValue: .max)

    /// Joins tiles to a graph. A tile given twice counts once.
    ///
    /// Takes time in proportion to the tiles' edges: some 30 ms for 100,000, half of it where the tiles have been in a
    /// graph before. The graph is that of every vehicle at every
    /// time.
    ///
    /// - Parameter catalogue: All tiles of the tileset, loaded or not; nil when that is not known, and then only what the
    ///   loaded ones tell of others is.
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
        edgeOpposites = assembly.edgeOpposites
        restrictions = assembly.restrictions
        restrictionOrder = ContiguousArray(
            assembly.restrictions.enumerated().map { ($1.path[0].rawValue, UInt32($0)) }.sorted { $0 < $1 }.map(\.1))
        (traitTable, traitNumbers) = RoadGraph.traits(assembly.tiles)
        (outgoingOffsets, outgoingEdges) = assembly.adjacency(by: assembly.edgeTails)
        (incomingOffsets, incomingEdges) = assembly.adjacency(by: assembly.edgeHeads)
        firstEdgeOfTile = assembly.firstEdgeOfTile
        exitReferences = assembly.exitReferences
        junctionNames = assembly.junctionNames
        loadedTiles = assembly.loadedTiles
        absentTiles = catalogue.map { [loadedTiles] in Set($0).subtracting(loadedTiles) }
        missingArrivals = assembly.missingArrivals
        incompleteness = assembly.incompleteness()
        edgesWithFeatures = RoadGraph.edgesWithFeatures(
            assembly.tiles, first: assembly.firstEdgeOfTile, count: assembly.edgeTails.count)
    }

    public var edgeCount: Int { edgeTails.count }
    /// Nodes, those in missing tiles included.
    public var nodeCount: Int { nodePositions.count }

    /// Edges that start at a node, by ascending number.
    @inline(__always)
    public func outgoing(_ node: NodeIndex) -> Slice<ContiguousArray<EdgeIndex>> {
        outgoingEdges.slice(outgoingOffsets[node.index], outgoingOffsets[node.index + 1])
    }

    /// Edges that end at a node, by ascending number.
    @inline(__always)
    public func incoming(_ node: NodeIndex) -> Slice<ContiguousArray<EdgeIndex>> {
        incomingEdges.slice(incomingOffsets[node.index], incomingOffsets[node.index + 1])
    }

    /// The same road in the other direction; nil for a one-way street.
    public func opposite(_ edge: EdgeIndex) -> EdgeIndex? {
        let other = edgeOpposites[edge.index]
        return other == RoadGraph.noEdge ? nil : other
    }

    /// The tile-bound name of an edge.
    public func key(of edge: EdgeIndex) -> EdgeKey {
        let (tile, local) = locate(edge)
        return EdgeKey(tile: tiles[tile].id, index: local)
    }

    /// The edge with a tile-bound name; nil when its tile is not loaded or has no such edge.
    public func edge(_ key: EdgeKey) -> EdgeIndex? {
        guard let id = key.tile, let tile = tileNumber(id), key.index < tiles[tile].edgeCount else { return nil }
        return EdgeIndex(Int(firstEdgeOfTile[tile]) + key.index)
    }

    /// The place of a tile in ``tiles``; nil when it is not loaded.
    func tileNumber(_ id: RoadTileID) -> Int? {
        let tile = tileIDs.partitioningIndex { $0 >= id }
        return tile < tileIDs.count && tileIDs[tile] == id ? tile : nil
    }

    public func wayID(of edge: EdgeIndex) -> Int64 { record(edge).wayID }

    /// Class, names, speeds and limits of an edge.
    public func attributes(of edge: EdgeIndex) -> RoadAttributes {
        let (tile, local) = locate(edge)
        return tiles[tile].attributes(Int(tiles[tile].edges[local].attributes))
    }

    /// Class, flags, access, speed and limits of an edge, without the cost of its strings.
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

    /// The edges on which something holds at times only, ascending, with what.
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

    /// The line of an edge in travel order.
    public func shape(of edge: EdgeIndex) -> EdgeShape {
        let (tile, local) = locate(edge)
        return EdgeShape(tile: tiles[tile], record: tiles[tile].edges[local])
    }

    /// Whether anything stands along an edge.
    package func hasFeatures(_ edge: EdgeIndex) -> Bool {
        edgesWithFeatures[edge.index >> 6] & 1 << UInt64(edge.index & 63) != 0
    }

    /// Signals, stops, crossings and the like along an edge, in travel order.
    public func features(of edge: EdgeIndex) -> [PointFeature] {
        guard hasFeatures(edge) else { return [] }
        var result: [PointFeature] = []
        forEachFeature(of: edge) { result.append($0) }
        return result
    }

    /// Like ``features(of:)``, one after the other.
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

    /// Paths of two or more edges that a kind of vehicle may not drive.
    ///
    /// - Parameter time: When; nil leaves out what holds at times only.
    public func prohibitedPaths(for vehicle: VehicleAccess, at time: LocalTime?) -> [[EdgeIndex]] {
        restrictions.compactMap { $0.holds(for: vehicle, at: time) ? $0.path : nil }
    }

    /// The paths that begin with an edge and may not be driven, by anybody at any time or by some vehicles at times.
    public func restrictions(from edge: EdgeIndex) -> some Sequence<TurnRestriction> {
        var (low, high) = (0, restrictionOrder.count)
        while low < high {
            let middle = (low + high) / 2
            let first = restrictions[Int(restrictionOrder[middle])].path[0]
            if first.rawValue < edge.rawValue { low = middle + 1 } else { high = middle }
        }
        return restrictionOrder[low...].lazy.map { [restrictions] in restrictions[Int($0)] }
            .prefix { $0.path[0] == edge }
    }

    /// Exit number of a motorway junction; empty without.
    public func exitReference(of node: NodeIndex) -> String { exitReferences[node] ?? "" }

    /// Name of a motorway junction; empty without.
    public func junctionName(of node: NodeIndex) -> String { junctionNames[node] ?? "" }

    /// The tiles that hold further edges at a node but are not loaded, by ascending id.
    public func missingTiles(at node: NodeIndex) -> [RoadTileID] {
        let own = GraphAssembly.missingTiles(
            layers: nodeLayers[node.index], position: nodePositions[node.index], loaded: loadedTiles)
        return Set(own + (missingArrivals[node] ?? [])).sorted()
    }

    /// Whether a tile is loaded; nil when there is none of that id, as far as is known.
    public func hasLoaded(_ id: RoadTileID) -> Bool? {
        if loadedTiles.contains(id) { return true }
        return absentTiles?.contains(id) == true ? false : nil
    }

    /// The tile of a layer that a place lies in, if it is not loaded; nil when it is, or when there is none. Where the
    /// tileset's list is not known, there is one if a loaded road leads there.
    ///
    /// Without the list it takes time in proportion to the nodes where the tile is not loaded.
    public func missingTile(_ layer: RoadLayer, at place: Coordinate) -> RoadTileID? {
        let id = RoadTileID(layer: layer, containing: place)
        guard !loadedTiles.contains(id) else { return nil }
        if let absentTiles { return absentTiles.contains(id) ? id : nil }
        let isKnown = incompleteness.indices.contains { node in
            !incompleteness[node].isEmpty && missingTiles(at: NodeIndex(node)).contains(id)
        }
        return isKnown ? id : nil
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

/// A path that may not be driven.
public struct TurnRestriction: Sendable, Hashable {
    /// Two or more edges, each leading to the next.
    public let path: [EdgeIndex]
    /// The vehicles that may not drive it.
    public let vehicles: VehicleAccess
    /// When it may not be driven; nil for always.
    public let time: TimeCondition?

    /// Whether the path is closed to a kind of vehicle at a time; without one, what holds at times only is left out.
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
