package import NavGeo
package import NavMap
import NavMapBuild
package import NavRouting

/// A road map drawn with characters, like Valhalla's gurka tests.
///
/// Letters and digits are nodes, everything else is decoration; a column is ``gridMetres`` east of the previous one,
/// and a line is as far south of the previous one. Roads are strings of nodes with OSM tags. The real map builder
/// builds the map, so that tests use the same tiles as a vehicle.
///
///     let map = try ASCIIMap("A---B---C", ways: ["ABC": ["highway": "primary"]])
///     #expect(try map.route("AC") == "ABC")
package struct ASCIIMap: Sendable {
    /// The place of a drawing on Earth.
    package enum Placement: Sendable {
        /// The first character of the first line is at this place.
        case northWest(Coordinate)
        /// The middle of the drawing is at this place.
        case centre(Coordinate)

        /// In the middle of a tile of every layer, so that the drawing is one tile per layer.
        package static let insideTiles = Placement.centre(TestPlaces.insideTiles)
        /// On a corner of four tiles of the local layer, inside one tile of each other layer.
        package static let localTileCorner = Placement.centre(TestPlaces.localTileCorner)
        /// On a corner of four tiles in every layer.
        package static let everyTileCorner = Placement.centre(TestPlaces.everyTileCorner)
    }

    /// A turn restriction: `kind` is the value of the `restriction` tag.
    package struct Restriction: Sendable {
        var kind: String
        var from: String
        var via: String
        var to: String
        var tags: [String: String]

        /// Creates a restriction between ways given by their strings, several separated by spaces; `via` is a node, or
        /// ways separated by spaces. `?` is a missing member.
        package init(_ kind: String, from: String, via: String, to: String, tags: [String: String] = [:]) {
            self.kind = kind
            self.from = from
            self.via = via
            self.to = to
            self.tags = tags
        }
    }

    /// An error in a drawing or in a query of it.
    package struct Mistake: Error, CustomStringConvertible {
        /// A description of the mistake.
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// The tiles, by ascending id.
    package let tiles: [RoadTile]
    /// All tiles as one graph.
    package let graph: RoadGraph
    /// The graph's turns.
    package let turns: TurnGraph
    /// The number of turn restrictions that have an effect.
    package let restrictionCount: Int

    private let coordinates: [Character: Coordinate]
    private let wayIDs: [String: Int64]
    private let wayNames: [Int64: String]

    /// Creates a map from a drawing.
    ///
    /// - Parameters:
    ///   - drawing: Lines of text; each letter or digit may appear once.
    ///   - gridMetres: Metres between columns and between lines.
    ///   - placement: The place of the drawing on Earth.
    ///   - ways: Roads as strings of nodes, with their tags. A road without a `name` is named by its string.
    ///   - nodes: Tags of nodes.
    ///   - restrictions: Turn restrictions.
    ///   - leftHandTraffic: Whether traffic keeps to the left.
    package init(
        _ drawing: String, gridMetres: Double = 100, placement: Placement = .insideTiles,
        ways: KeyValuePairs<String, [String: String]>, nodes: [Character: [String: String]] = [:],
        restrictions: [Restriction] = [], leftHandTraffic: Bool = false
    ) throws {
        try self.init(
            drawing, gridMetres: gridMetres, placement: placement, roads: ways.map { ($0.key, $0.value) }, nodes: nodes,
            restrictions: restrictions, leftHandTraffic: leftHandTraffic)
    }

    /// Creates a map of roads given at run time.
    package init(
        _ drawing: String, gridMetres: Double = 100, placement: Placement = .insideTiles,
        roads: [(way: String, tags: [String: String])], nodes: [Character: [String: String]],
        restrictions: [Restriction], leftHandTraffic: Bool = false
    ) throws {
        let coordinates = try ASCIIMap.place(drawing, gridMetres, placement)
        var data = OSMDataBuilder()
        for (node, coordinate) in coordinates.sorted(by: { $0.key < $1.key }) {
            data.addNode(id: ASCIIMap.nodeID(node), position: FixedCoordinate(coordinate), tags: nodes[node] ?? [:])
        }
        var wayIDs: [String: Int64] = [:]
        var wayNames: [Int64: String] = [:]
        for (number, (way, tags)) in roads.enumerated() {
            if let stranger = way.first(where: { coordinates[$0] == nil }) {
                throw Mistake("way \(way) has the node \(stranger), which is not in the drawing")
            }
            let id = Int64(1_000 + number)
            wayIDs[way] = id
            wayNames[id] = tags["name"] ?? way
            data.addWay(
                id: id, nodes: way.map(ASCIIMap.nodeID), tags: tags.merging(["name": way]) { given, _ in given })
        }
        for (number, restriction) in restrictions.enumerated() {
            try ASCIIMap.add(restriction, id: Int64(number + 1), to: &data, wayIDs, coordinates)
        }
        let built = try MapBuilder(MapBuilder.Options(jobs: 1, leftHandTraffic: leftHandTraffic)).build(data.build())
        self.coordinates = coordinates
        self.wayIDs = wayIDs
        self.wayNames = wayNames
        restrictionCount = built.report.restrictions
        tiles = try built.tiles.map { try $0.roadTile }
        graph = RoadGraph(tiles: tiles, mapVersion: built.report.mapVersion)
        turns = TurnGraph(graph)
    }

    /// The id for `?` in a restriction: a missing way or node.
    private static let missingID: Int64 = 999_999

    /// The OSM id of a node: its Unicode number.
    package static func nodeID(_ node: Character) -> Int64 { Int64(node.unicodeScalars.first?.value ?? 0) }

    /// The nodes of a drawing with their columns and lines, from the top left.
    package static func cells(of drawing: String) throws -> [(node: Character, column: Int, line: Int)] {
        var cells: [(node: Character, column: Int, line: Int)] = []
        for (line, text) in drawing.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for (column, character) in text.enumerated() where character.isASCII {
                guard character.isLetter || character.isNumber else { continue }
                if cells.contains(where: { $0.node == character }) { throw Mistake("\(character) is drawn twice") }
                cells.append((character, column, line))
            }
        }
        guard !cells.isEmpty else { throw Mistake("the drawing has no nodes") }
        return cells
    }

    private static func place(
        _ drawing: String, _ gridMetres: Double, _ placement: Placement
    ) throws -> [Character: Coordinate] {
        let cells = try cells(of: drawing)
        let origin: Coordinate
        var (east, south) = (0.0, 0.0)
        switch placement {
        case .northWest(let given): origin = given
        case .centre(let given):
            origin = given
            east = Double((cells.map(\.column).min() ?? 0) + (cells.map(\.column).max() ?? 0)) / 2
            south = Double((cells.map(\.line).min() ?? 0) + (cells.map(\.line).max() ?? 0)) / 2
        }
        let frame = LocalFrame(origin: origin)
        return Dictionary(
            uniqueKeysWithValues: cells.map { cell in
                let point = LocalPoint(
                    east: (Double(cell.column) - east) * gridMetres, north: (south - Double(cell.line)) * gridMetres)
                return (cell.node, FixedCoordinate(frame.coordinate(of: point)).coordinate)
            })
    }

    private static func add(
        _ restriction: Restriction, id: Int64, to data: inout OSMDataBuilder, _ wayIDs: [String: Int64],
        _ coordinates: [Character: Coordinate]
    ) throws {
        func way(_ name: some StringProtocol) throws -> Int64 {
            if name == "?" { return ASCIIMap.missingID }
            guard let id = wayIDs[String(name)] else {
                throw Mistake("a restriction refers to the way \(name), which does not exist")
            }
            return id
        }
        var members: [(kind: OSMData.Member.Kind, id: Int64, role: String)] = []
        for from in restriction.from.split(separator: " ") { members.append((.way, try way(from), "from")) }
        if restriction.via == "?" {
            members.append((.node, ASCIIMap.missingID, "via"))
        } else if restriction.via.count == 1, let node = restriction.via.first {
            guard coordinates[node] != nil else { throw Mistake("a restriction refers to \(node), which is not drawn") }
            members.append((.node, nodeID(node), "via"))
        } else {
            for via in restriction.via.split(separator: " ") { members.append((.way, try way(via), "via")) }
        }
        for to in restriction.to.split(separator: " ") { members.append((.way, try way(to), "to")) }
        data.addRelation(
            id: id, members: members,
            tags: restriction.tags.merging(["type": "restriction", "restriction": restriction.kind]) { given, _ in given
            })
    }
}

extension ASCIIMap {
    /// Returns the place of a node, or a place some metres away from it.
    package func coordinate(_ node: Character, east: Double = 0, north: Double = 0) throws -> Coordinate {
        guard let coordinate = coordinates[node] else { throw Mistake("\(node) is not drawn") }
        if east == 0 && north == 0 { return coordinate }
        return LocalFrame(origin: coordinate).coordinate(of: LocalPoint(east: east, north: north))
    }

    /// Returns a place on the straight line between two nodes, `share` of the distance along it, and `right` metres to
    /// its right.
    package func position(between first: Character, _ second: Character, at share: Double = 0.5, right: Double = 0)
        throws
        -> Coordinate
    {
        let start = try coordinate(first)
        let end = try coordinate(second)
        let frame = LocalFrame(origin: start)
        let along = frame.point(end)
        let length = max(along.length, 1e-9)
        return frame.coordinate(
            of: LocalPoint(
                east: along.east * share + along.north / length * right,
                north: along.north * share - along.east / length * right))
    }

    /// Returns the direction from one node to another, radians clockwise from north.
    package func bearing(_ first: Character, _ second: Character) throws -> Double {
        Geodesy.bearing(from: try coordinate(first), to: try coordinate(second))
    }

    /// Returns the node of the graph at a drawn node; throws for a node within a road that is not a junction.
    package func node(_ node: Character) throws -> NodeIndex {
        guard let index = graph.nodeOSMIDs.firstIndex(of: ASCIIMap.nodeID(node)) else {
            throw Mistake("\(node) is not a node of the graph")
        }
        return NodeIndex(index)
    }

    /// Returns the edge that passes `first` and then, next on its line, `second`.
    package func edge(_ first: Character, _ second: Character) throws -> EdgeIndex {
        let (from, to) = (ASCIIMap.nodeID(first), ASCIIMap.nodeID(second))
        for number in 0..<graph.edgeCount {
            let shape = graph.shape(of: EdgeIndex(number))
            for point in 1..<shape.count where shape.nodeID(point - 1) == from && shape.nodeID(point) == to {
                return EdgeIndex(number)
            }
        }
        throw Mistake("no edge runs from \(first) to \(second)")
    }

    /// Returns the OSM id of a way given by its string.
    package func wayID(_ way: String) throws -> Int64 {
        guard let id = wayIDs[way] else { throw Mistake("\(way) is not a way") }
        return id
    }

    /// Returns the nodes that an edge passes, in travel order.
    package func letters(of edge: EdgeIndex) -> String {
        let shape = graph.shape(of: edge)
        return String(shape.indices.map { letter(shape.nodeID($0)) })
    }

    /// Returns the nodes that a route passes, including those just before its start and just after its end.
    package func letters(of route: Route) -> String {
        var nodes: [Int64] = []
        for (index, segment) in route.segments.enumerated() {
            // If a leg starts or ends at a node, a piece without length repeats its segment.
            if Geodesy.distance(route.coordinates[index], route.coordinates[index + 1]) < 0.01 { continue }
            if nodes.suffix(2) == [segment.fromNodeID, segment.toNodeID] { continue }
            if nodes.last != segment.fromNodeID { nodes.append(segment.fromNodeID) }
            nodes.append(segment.toNodeID)
        }
        return String(nodes.map(letter))
    }

    /// Returns the names of a route's roads, without consecutive repetitions.
    package func names(of route: Route) -> [String] {
        var names: [String] = []
        for edge in route.edges where edge.length > 0.01 && names.last != edge.attributes.name {
            names.append(edge.attributes.name)
        }
        return names
    }

    private func letter(_ nodeID: Int64) -> Character {
        UInt32(exactly: nodeID).flatMap(Unicode.Scalar.init).map(Character.init) ?? "?"
    }

    /// Returns a router for a vehicle.
    package func router(_ profile: VehicleProfile = VehicleProfile()) -> Router {
        Router(Metric(turns, model: CostModel(profile: profile)))
    }

    /// Returns the answer to a request for a route through places.
    package func outcome(_ waypoints: [Waypoint], _ profile: VehicleProfile = VehicleProfile()) -> RouteOutcome {
        router(profile).route(RouteRequest(waypoints: waypoints), workspace: SearchWorkspace())
    }

    /// Returns the route through places.
    package func route(_ waypoints: [Waypoint], _ profile: VehicleProfile = VehicleProfile()) throws -> Route {
        switch outcome(waypoints, profile) {
        case .found(let route): return route
        case let other: throw Mistake("expected a route instead of \(other)")
        }
    }

    /// Returns the nodes passed by the route that stops at the given nodes.
    package func route(_ stops: String, _ profile: VehicleProfile = VehicleProfile()) throws -> String {
        letters(of: try route(try stops.map { Waypoint(try coordinate($0)) }, profile))
    }

    /// Returns a graph of some of the tiles, which lists either all others or only those that its roads lead to.
    package func graph(without missing: Set<RoadTileID>, knowsAll: Bool = false) -> RoadGraph {
        RoadGraph(
            tiles: tiles.filter { !missing.contains($0.id) }, mapVersion: graph.mapVersion,
            catalogue: knowsAll ? tiles.map(\.id) : nil)
    }

    /// Returns the tile of the edges of a layer that start at a node.
    package func tile(_ layer: RoadLayer, at node: Character) throws -> RoadTileID {
        RoadTileID(layer: layer, containing: try coordinate(node))
    }
}
