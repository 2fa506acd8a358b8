import NavGeo
import NavGuidance
import NavMap
import NavRouting
import Testing

/// A drawn map: letters are nodes, a grid step is `scale` metres in both directions.
struct Town {
    private static let origin = Coordinate(latitude: 60.17, longitude: 24.94)

    private struct Road {
        var from: Character
        var to: Character
        var wayID: Int64
        var attributes: RoadAttributes
        /// The points after the first, relative to it; empty for a straight road.
        var course: [LocalPoint] = []
    }

    private var places: [Character: LocalPoint] = [:]
    private var letters: [Character] = []
    private var roads: [Road] = []
    private var ways: Int64 = 0
    private let frame = LocalFrame(origin: Town.origin)
    private let scale: Double
    /// Flags of nodes, by letter.
    var nodeFlags: [Character: NodeFlags] = [:]
    /// Turns that a restriction forbids, by their three letters.
    var refusedTurns: [String] = []
    /// Announcements that the map prescribes, by the letters of their paths.
    var prescribed: [(path: String, maneuver: PrescribedManeuver)] = []
    /// Exit numbers of nodes, by letter.
    var exits: [Character: String] = [:]
    /// Names of junctions, by letter.
    var junctionNames: [Character: String] = [:]

    init(_ drawing: String, scale: Double = 10) {
        self.scale = scale
        for (row, line) in drawing.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for (column, letter) in line.enumerated() where letter.isLetter || letter.isNumber {
                places[letter] = LocalPoint(east: Double(column) * scale, north: -Double(row) * scale)
                letters.append(letter)
            }
        }
    }

    /// Adds a road over the letters of `path`, two-way unless it is `oneway`.
    mutating func road(
        _ path: String, _ name: String = "", oneway: Bool = false, roadClass: RoadClass = .residential,
        flags: RoadFlags = [], speed: Float = 14, reference: String = "", destination: String = "",
        lanes: UInt8? = nil, turnLanes: String = "", access: VehicleAccess = [.car], country: String = "",
        localNames: LocalNames = .none, destinationReference: String = "", destinationReferenceTo: String = "",
        laneChanges: String = "", destinationLanes: String = ""
    ) {
        ways += 1
        let attributes = RoadAttributes(
            roadClass: roadClass, flags: oneway ? flags.union(.oneway) : flags, access: access, freeFlowSpeed: speed,
            lanes: lanes, name: name, reference: reference, destination: destination,
            destinationReference: destinationReference, turnLanes: turnLanes,
            destinationReferenceTo: destinationReferenceTo, destinationLanes: destinationLanes, country: country,
            localNames: localNames, laneChanges: laneChanges)
        for (from, to) in zip(path, path.dropFirst()) {
            roads.append(Road(from: from, to: to, wayID: ways, attributes: attributes))
            guard !oneway else { continue }
            var back = attributes
            (back.turnLanes, back.laneChanges, back.destinationLanes) = ("", "", "")
            roads.append(Road(from: to, to: from, wayID: ways, attributes: back))
        }
    }

    /// Adds a place `metres` below or to the right of another one.
    mutating func place(_ letter: Character, below other: Character, _ metres: Double) {
        place(letter, other, east: 0, north: -metres)
    }
    mutating func place(_ letter: Character, rightOf other: Character, _ metres: Double) {
        place(letter, other, east: metres, north: 0)
    }
    private mutating func place(_ letter: Character, _ other: Character, east: Double, north: Double) {
        guard let base = places[other] else { return }
        places[letter] = LocalPoint(east: base.east + east, north: base.north + north)
        letters.append(letter)
    }

    /// Adds a winding road, two-way unless it is `oneway`, over points in metres east and north of its start; the last
    /// one becomes a new letter.
    mutating func road(
        _ from: Character, _ to: Character, over points: [(Double, Double)], _ name: String, oneway: Bool = false,
        roadClass: RoadClass = .residential
    ) {
        guard let start = places[from], let last = points.last else { return }
        place(to, from, east: last.0, north: last.1)
        ways += 1
        let attributes = RoadAttributes(
            roadClass: roadClass, flags: oneway ? .oneway : [], access: [.car], freeFlowSpeed: 14, name: name)
        let course = points.map { LocalPoint(east: start.east + $0.0, north: start.north + $0.1) }
        roads.append(Road(from: from, to: to, wayID: ways, attributes: attributes, course: course))
        guard !oneway else { return }
        let back = course.dropLast().reversed() + [start]
        roads.append(Road(from: to, to: from, wayID: ways, attributes: attributes, course: back))
    }

    private func id(_ letter: Character) -> Int64 { Int64(letters.firstIndex(of: letter) ?? 0) + 1 }

    private func position(_ letter: Character) -> FixedCoordinate {
        FixedCoordinate(frame.coordinate(of: places[letter] ?? LocalPoint(east: 0, north: 0)))
    }

    func coordinate(_ letter: Character, east: Double = 0, north: Double = 0) -> Coordinate {
        let place = places[letter] ?? LocalPoint(east: 0, north: 0)
        return frame.coordinate(of: LocalPoint(east: place.east + east, north: place.north + north))
    }

    func graph() throws -> RoadGraph { try graph { _ in true } }

    /// Returns the graph in which only some roads are open to cars, with the same edges.
    private func graph(isOpen: (Road) -> Bool) throws -> RoadGraph {
        var content = TileContent(id: RoadTileID(layer: .local, containing: Town.origin))
        content.nodes = letters.map {
            TileContent.Node(
                osmID: id($0), position: position($0), flags: nodeFlags[$0] ?? [], layers: [.local],
                exitReference: exits[$0] ?? "", junctionName: junctionNames[$0] ?? "")
        }
        let sorted = roads.sorted { id($0.from) < id($1.from) }
        for road in sorted {
            let opposite = sorted.firstIndex { $0.from == road.to && $0.to == road.from && $0.wayID == road.wayID }
            let start = content.shapePoints.count
            content.shapePoints.append(TileContent.ShapePoint(osmID: id(road.from), position: position(road.from)))
            for (number, point) in road.course.dropLast().enumerated() {
                content.shapePoints.append(
                    TileContent.ShapePoint(
                        osmID: 1_000 * road.wayID + Int64(number),
                        position: FixedCoordinate(frame.coordinate(of: point))))
            }
            content.shapePoints.append(TileContent.ShapePoint(osmID: id(road.to), position: position(road.to)))
            var attributes = road.attributes
            if !isOpen(road) { attributes.access = [] }
            content.attributes.append(attributes)
            content.edges.append(
                TileContent.Edge(
                    tail: Int(id(road.from)) - 1, head: .local(Int(id(road.to)) - 1), wayID: road.wayID,
                    shape: start..<content.shapePoints.count, reversed: false, opposite: opposite,
                    attributes: content.attributes.count - 1))
        }
        func edges(_ letters: String) -> [EdgeReference] {
            zip(letters, letters.dropFirst()).compactMap { from, to in
                roads.first { $0.from == from && $0.to == to }.map {
                    EdgeReference(tailNodeID: id(from), headNodeID: id(to), wayID: $0.wayID)
                }
            }
        }
        content.restrictions = refusedTurns.map { TileContent.Restriction(path: edges($0)) }
        content.maneuvers = prescribed.map { TileContent.Maneuver(path: edges($0.path), maneuver: $0.maneuver) }
        let bytes = try TileEncoder.encode(content)
        return RoadGraph(tiles: [try RoadTile(TileStorage(copying: bytes))], mapVersion: "drawn")
    }

    /// Returns the route over the letters of each leg, which the router finds because all other roads are closed.
    ///
    /// - Parameters:
    ///   - via: a waypoint of the first leg without a stop.
    ///   - destination: the last waypoint, if it is not at the last letter.
    func route(
        _ legs: String..., via: Coordinate? = nil, destination: Coordinate? = nil, name: String = ""
    ) throws -> Route {
        var waypoints: [Waypoint] = []
        for (number, leg) in legs.enumerated() {
            let first = try #require(leg.first)
            waypoints.append(Waypoint(coordinate(first)))
            if number == 0, let via { waypoints.append(Waypoint(via, isStop: false)) }
        }
        let last = try #require(legs.last?.last)
        waypoints.append(Waypoint(destination ?? coordinate(last), name: name))
        let closed = try graph { road in
            legs.contains { leg in zip(leg, leg.dropFirst()).contains { $0 == road.from && $1 == road.to } }
        }
        let outcome = Router(graph: closed).route(
            RouteRequest(waypoints: waypoints), workspace: SearchWorkspace())
        guard case .found(let route) = outcome else { throw NoRoute(outcome: "\(outcome)") }
        return route
    }

    struct NoRoute: Error {
        var outcome: String
    }

    /// Returns the instructions along a route without departure and arrival.
    func told(_ path: String, via: Coordinate? = nil) throws -> [String] {
        let guidance = RouteGuidance(route: try route(path, via: via), graph: try graph())
        return guidance.maneuvers.dropFirst().dropLast().map { guidance.options.text.instruction($0) }
    }

    func guidance(_ path: String, options: GuidanceOptions = GuidanceOptions()) throws -> RouteGuidance {
        RouteGuidance(route: try route(path), graph: try graph(), options: options)
    }

    func maneuvers(_ path: String) throws -> [Maneuver] { try guidance(path).maneuvers }
}

extension RouteGuidance {
    /// The maneuvers of all legs in travel order, one per step.
    var maneuvers: [Maneuver] { steps.map(\.maneuver) }
}
