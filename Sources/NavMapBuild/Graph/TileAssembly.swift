internal import NavGeo
internal import NavMap

/// An assembler that distributes a road network over tiles and creates the content of each.
struct TileAssembly: Sendable {
    private let data: OSMData
    private let network: RoadNetwork
    /// The nodes by tile, layer by layer and along a space-filling curve: indexes in the network's nodes.
    private var members: ContiguousArray<UInt32> = []
    /// The tiles in ascending order, and the start of each one's members; there is one more start than tiles.
    private(set) var tiles: [RoadTileID] = []
    private var firstMembers: [Int] = [0]
    /// For each layer and node: the node's tile and its index there; ``noTile`` if the node has no edge of the layer.
    private var nodeTiles: [ContiguousArray<UInt32>]
    private var localIndexes: [ContiguousArray<UInt32>]
    /// For each node: a bit for each layer in which it has edges, and whether edges of other tiles touch it.
    private var layerMasks: ContiguousArray<UInt8>
    private var isShared: ContiguousArray<Bool>
    /// For each node, whether three or more roads meet there.
    private let isJunction: ContiguousArray<Bool>
    /// For each node, the lanes of its widest road, both directions together; 0 when unknown.
    private let widths: ContiguousArray<UInt8>
    /// The edges that cross into another tile: the tile of their end, and the head and tail nodes, by tile.
    private var arrivals: [(tile: UInt32, head: UInt32, tail: UInt32)] = []
    /// The restrictions and the prescribed maneuvers whose first edge is in a tile, by tile.
    private var pathsOfTile: [UInt32: [Int]] = [:]
    private var maneuversOfTile: [UInt32: [Int]] = [:]
    private let restrictions: Restrictions

    private static let noTile = UInt32.max

    init(_ data: OSMData, _ network: RoadNetwork, _ restrictions: Restrictions) {
        self.data = data
        self.network = network
        self.restrictions = restrictions
        let count = network.nodes.count
        let none = ContiguousArray<UInt32>(repeating: TileAssembly.noTile, count: count)
        nodeTiles = [none, none, none]
        localIndexes = [none, none, none]
        layerMasks = ContiguousArray(repeating: 0, count: count)
        isShared = ContiguousArray(repeating: false, count: count)
        isJunction = network.junctions
        widths = network.widths
        markLayers()
        placeNodes()
        markShared()
        for (number, forbidden) in restrictions.forbidden.enumerated() {
            if let first = forbidden.path.first { pathsOfTile[tile(of: first), default: []].append(number) }
        }
        for (number, prescribed) in restrictions.prescribed.enumerated() {
            if let first = prescribed.path.first { maneuversOfTile[tile(of: first), default: []].append(number) }
        }
    }

    private func layer(_ edge: DirectedEdge) -> RoadLayer {
        network.roads.attributes[Int(network.attributes(edge))].roadClass.layer
    }

    /// Returns the packed tile of an edge.
    private func tile(of edge: DirectedEdge) -> UInt32 {
        nodeTiles[Int(layer(edge).rawValue)][Int(network.tail(edge))]
    }

    private mutating func markLayers() {
        var masks = layerMasks
        network.forEachEdge { edge in
            let bit = UInt8(1) << layer(edge).rawValue
            masks[Int(network.tail(edge))] |= bit
            masks[Int(network.head(edge))] |= bit
        }
        layerMasks = masks
    }

    private mutating func placeNodes() {
        var places: [(tile: UInt32, curve: UInt64, node: UInt32)] = []
        places.reserveCapacity(network.nodes.count)
        for (node, index) in network.nodes.enumerated() {
            let position = data.position(index)
            let curve = HilbertCurve.index(of: position)
            for layer in RoadLayer.allCases where layerMasks[node] & 1 << layer.rawValue != 0 {
                let tile = RoadTileID(layer: layer, containing: position.coordinate).rawValue
                nodeTiles[Int(layer.rawValue)][node] = tile
                places.append((tile, curve, UInt32(node)))
            }
        }
        places.sort { ($0.tile, $0.curve, $0.node) < ($1.tile, $1.curve, $1.node) }
        members.reserveCapacity(places.count)
        for place in places {
            guard let tile = RoadTileID(rawValue: place.tile) else { continue }
            if tiles.last != tile {
                if !tiles.isEmpty { firstMembers.append(members.count) }
                tiles.append(tile)
            }
            localIndexes[Int(tile.layer.rawValue)][Int(place.node)] = UInt32(members.count - (firstMembers.last ?? 0))
            members.append(place.node)
        }
        firstMembers.append(members.count)
    }

    private mutating func markShared() {
        var shared = isShared
        var crossing = arrivals
        for node in shared.indices { shared[node] = layerMasks[node] & (layerMasks[node] &- 1) != 0 }
        network.forEachEdge { edge in
            let tiles = nodeTiles[Int(layer(edge).rawValue)]
            let (tail, head) = (Int(network.tail(edge)), Int(network.head(edge)))
            if tiles[tail] != tiles[head] {
                shared[tail] = true
                shared[head] = true
                crossing.append((tiles[head], UInt32(head), UInt32(tail)))
            }
        }
        isShared = shared
        arrivals = crossing.sorted { $0 < $1 }
    }

    /// Returns the content of the tile with an index in ``tiles``, and the tile's edges in order.
    func content(_ number: Int) -> (TileContent, edges: [DirectedEdge]) {
        let tile = tiles[number]
        let layer = tile.layer
        let nodes = members[firstMembers[number]..<firstMembers[number + 1]]
        var content = TileContent(id: tile)
        var edges: [DirectedEdge] = []
        for node in nodes {
            content.nodes.append(contentNode(node))
            for edge in network.departures(node) where self.layer(edge) == layer { edges.append(edge) }
        }
        var parts = TileParts(content: content)
        for edge in edges { parts.numbers[edge] = parts.numbers.count }
        for edge in edges { append(edge, to: &parts, tile, layer) }
        appendArrivals(to: &parts, tile)
        for number in pathsOfTile[tile.rawValue] ?? [] {
            let forbidden = restrictions.forbidden[number]
            parts.content.restrictions.append(
                TileContent.Restriction(
                    path: forbidden.path.map(reference), vehicles: forbidden.rule.vehicles, time: forbidden.rule.time))
        }
        for number in maneuversOfTile[tile.rawValue] ?? [] {
            let prescribed = restrictions.prescribed[number]
            parts.content.maneuvers.append(
                TileContent.Maneuver(path: prescribed.path.map(reference), maneuver: prescribed.maneuver))
        }
        return (parts.content, edges)
    }

    /// The content of a tile under construction.
    private struct TileParts {
        var content: TileContent
        var numbers: [DirectedEdge: Int] = [:]
        var shapes: [Int: Range<Int>] = [:]
        var externals: [UInt32: Int] = [:]
        var attributes: [UInt32: Int] = [:]
    }

    private func contentNode(_ node: UInt32) -> TileContent.Node {
        let index = network.nodes[Int(node)]
        let meaning = network.meaning(index)
        var flags = meaning?.flags ?? []
        if isShared[Int(node)] { flags.insert(.shared) }
        if isJunction[Int(node)] { flags.insert(.junction) }
        return TileContent.Node(
            osmID: data.nodeIDs[Int(index)], position: data.position(index), flags: flags,
            layers: TileAssembly.layerSets[Int(layerMasks[Int(node)])], exitReference: exitReference(node, meaning),
            junctionName: junctionName(node, meaning), limits: meaning?.limits ?? SizeLimits())
    }

    /// The sets of layers, by bit mask.
    private static let layerSets: [Set<RoadLayer>] = (0..<8).map { mask in
        Set(RoadLayer.allCases.filter { mask & 1 << $0.rawValue != 0 })
    }

    /// Returns the exit number: the junction's, else that of a ramp that leaves there.
    private func exitReference(_ node: UInt32, _ meaning: NodeTags.Meaning?) -> String {
        let index = network.nodes[Int(node)]
        if meaning?.flags.contains(.motorwayJunction) == true {
            let reference = data.nodeTags.value(.ref, of: Int(network.meaningNumbers[Int(index)]))
            if reference != 0 { return data.strings[reference] }
        }
        for edge in network.departures(node) {
            let reference = network.roads.exitReferences[Int(network.segmentRoads[edge.segment])]
            if reference != 0 && leavesPlainRoad(edge) { return data.strings[reference] }
        }
        return ""
    }

    private func junctionName(_ node: UInt32, _ meaning: NodeTags.Meaning?) -> String {
        guard let meaning,
            meaning.flags.contains(.motorwayJunction) || meaning.isNamedJunction
                || meaning.flags.contains(.trafficSignals) && namesSignals(node)
        else { return "" }
        return data.strings[data.nodeTags.value(.name, of: Int(network.meaningNumbers[Int(network.nodes[Int(node)])]))]
    }

    /// Whether the signals at a node carry their junction's name, as in East Asia; elsewhere the name is that of the equipment.
    private func namesSignals(_ node: UInt32) -> Bool {
        guard let edge = network.departures(node).first else { return false }
        let country = network.roads.attributes[Int(network.attributes(edge))].country
        return country == 0 || TileAssembly.namingCountries.contains(country)
    }

    /// The countries where signals carry the junction's name, after the wiki's "Tag:junction=yes".
    private static let namingCountries = Set(["CN", "JP", "KP", "KR", "TW"].map(CountryCode.packed))

    /// Whether an edge is the start of its ramp: a road with another exit number also leaves its first node.
    private func leavesPlainRoad(_ edge: DirectedEdge) -> Bool {
        let own = network.roads.exitReferences[Int(network.segmentRoads[edge.segment])]
        return network.departures(network.tail(edge)).contains {
            network.roads.exitReferences[Int(network.segmentRoads[$0.segment])] != own
        }
    }

    private func append(_ edge: DirectedEdge, to parts: inout TileParts, _ tile: RoadTileID, _ layer: RoadLayer) {
        let segment = edge.segment
        let head = Int(network.head(edge))
        let headTile = nodeTiles[Int(layer.rawValue)][head]
        let tail = Int(localIndexes[Int(layer.rawValue)][Int(network.tail(edge))])
        let isLocal = headTile == tile.rawValue
        let opposite = DirectedEdge(segment, isBackward: !edge.isBackward)
        let shape = parts.shapes[segment] ?? appendShape(segment, to: &parts)
        parts.content.edges.append(
            TileContent.Edge(
                tail: tail,
                head: isLocal
                    ? .local(Int(localIndexes[Int(layer.rawValue)][head])) : .external(external(UInt32(head), &parts)),
                wayID: data.ways.ids[Int(network.roads.ways[Int(network.segmentRoads[segment])])],
                shape: shape, reversed: edge.isBackward, opposite: parts.numbers[opposite],
                attributes: attributes(network.attributes(edge), &parts), features: features(edge),
                perceivedStart: outwardDirection(edge, isFromEnd: false),
                perceivedEnd: outwardDirection(edge, isFromEnd: true).map { $0 + .pi }))
    }

    /// Returns the perceived outward direction of an edge's road at one of its ends, radians clockwise from north; nil where no other road
    /// turns off.
    private func outwardDirection(_ edge: DirectedEdge, isFromEnd: Bool) -> Double? {
        let node = Int(isFromEnd ? network.head(edge) : network.tail(edge))
        guard isJunction[node] else { return nil }
        let (start, end) = (network.segmentStarts[edge.segment], network.segmentEnds[edge.segment])
        let isReversed = edge.isBackward != isFromEnd
        let origin = data.position(network.lineNodes[isReversed ? end : start]).coordinate
        let outline = RoadOutline(LocalFrame(origin: origin), reach: RoadOutline.reach, count: end - start + 1) {
            data.position(network.lineNodes[isReversed ? end - $0 : start + $0]).coordinate
        }
        let road = network.roads.attributes[Int(network.attributes(edge))]
        return Angle.radians(outline.bearing(road.roadClass, road.flags, lanes: Int(widths[node])))
    }

    private func appendArrivals(to parts: inout TileParts, _ tile: RoadTileID) {
        var low = 0
        var high = arrivals.count
        while low < high {
            let middle = (low + high) / 2
            if arrivals[middle].tile < tile.rawValue { low = middle + 1 } else { high = middle }
        }
        var previous: (head: UInt32, tail: UInt32)?
        for arrival in arrivals[low...].prefix(while: { $0.tile == tile.rawValue }) {
            // Two roads may connect the same nodes.
            if let previous, previous == (arrival.head, arrival.tail) { continue }
            previous = (arrival.head, arrival.tail)
            let node = Int(localIndexes[Int(tile.layer.rawValue)][Int(arrival.head)])
            parts.content.arrivals.append(
                TileContent.Arrival(node: node, externalNode: external(arrival.tail, &parts)))
        }
    }

    private func appendShape(_ segment: Int, to parts: inout TileParts) -> Range<Int> {
        let start = parts.content.shapePoints.count
        for at in network.segmentStarts[segment]...network.segmentEnds[segment] {
            let node = network.lineNodes[at]
            parts.content.shapePoints.append(
                TileContent.ShapePoint(osmID: data.nodeIDs[Int(node)], position: data.position(node)))
        }
        let shape = start..<parts.content.shapePoints.count
        parts.shapes[segment] = shape
        return shape
    }

    private func external(_ node: UInt32, _ parts: inout TileParts) -> Int {
        if let known = parts.externals[node] { return known }
        let index = network.nodes[Int(node)]
        parts.content.externalNodes.append(
            TileContent.ExternalNode(osmID: data.nodeIDs[Int(index)], position: data.position(index)))
        parts.externals[node] = parts.content.externalNodes.count - 1
        return parts.content.externalNodes.count - 1
    }

    private func attributes(_ number: UInt32, _ parts: inout TileParts) -> Int {
        if let known = parts.attributes[number] { return known }
        parts.content.attributes.append(network.roads.attributes[Int(number)].attributes(data.strings))
        parts.attributes[number] = parts.content.attributes.count - 1
        return parts.content.attributes.count - 1
    }

    /// Returns the features between the ends of an edge that apply to its direction.
    private func features(_ edge: DirectedEdge) -> [PointFeature] {
        let (start, end) = (network.segmentStarts[edge.segment], network.segmentEnds[edge.segment])
        let isOneWay = !network.exists(DirectedEdge(edge.segment, isBackward: !edge.isBackward))
        lazy var middle = network.middle(edge.segment, data)
        var features: [PointFeature] = []
        for at in stride(from: start + 1, to: end, by: 1) {
            guard let meaning = network.meaning(network.lineNodes[at]), let kind = meaning.feature else { continue }
            let isMeant: Bool
            switch meaning.facing {
            case .both: isMeant = true
            case .forward: isMeant = !edge.isBackward
            case .backward: isMeant = edge.isBackward
            case .untagged where kind == .stop || kind == .giveWay:
                // Signs without a direction apply to traffic towards the nearer end, if there is traffic in both directions.
                isMeant = isOneWay || edge.isBackward == (at < middle)
            case .untagged: isMeant = true
            }
            let index = edge.isBackward ? end - at : at - start
            if isMeant { features.append(PointFeature(kind: kind, shapeIndex: UInt16(index))) }
        }
        return edge.isBackward ? features.reversed() : features
    }

    private func reference(_ edge: DirectedEdge) -> EdgeReference {
        EdgeReference(
            tailNodeID: data.nodeIDs[Int(network.nodes[Int(network.tail(edge))])],
            headNodeID: data.nodeIDs[Int(network.nodes[Int(network.head(edge))])],
            wayID: data.ways.ids[Int(network.roads.ways[Int(network.segmentRoads[edge.segment])])])
    }
}
