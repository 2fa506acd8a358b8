internal import NavGeo
internal import NavMap
internal import NavRouting

/// A finder of the maneuvers of a route: exactly those that must be announced.
struct ManeuverBuilder {
    /// The greatest distance before a maneuver at which its lanes may be tagged, metres.
    static let laneReach = 40.0
    /// The greatest distance before a maneuver at which a side road can be mistaken for it, metres.
    static let ambiguityReach = 150.0
    /// The greatest length of a route edge at a waypoint that counts as a point rather than a road, metres.
    static let pointLength = 2.0
    /// The distance within which a waypoint counts as being on the road and not beside it, metres.
    static let sideDistance = 4.0
    /// The distance beyond which the side of a waypoint is not announced, metres: it is not visible from the road, and may be reached from
    /// another one.
    static let farthestSide = 50.0

    /// The distance after a turn within which the first name of the road is announced with the turn, metres.
    private static let nameReach = 40.0
    /// The same distance after the exit of a roundabout, metres.
    private static let nameReachOfExit = 60.0

    private let roads: RouteRoads
    private let model: JunctionModel
    private let classifier: TurnClassifier
    private let announcesNameChanges: Bool
    private var maneuvers: [Maneuver] = []
    private var turns: [RouteTurn] = []
    /// The route edge after the last of ``turns`` whose lanes have arrows; 0 for none.
    private var lastArrows = 0
    private var passages: [Int: RoundaboutPassage] = [:]
    private var sideRoads: [SideRoad] = []
    /// The lanes before the route edges that begin at junctions.
    private var lanes: [Int: [Lane]] = [:]
    private var leg = 0

    /// A side road that the route passes.
    private struct SideRoad {
        var routeOffset: Double
        var side: RoadSide
    }

    /// The maneuvers of a route, and the lanes at its junctions.
    struct Result {
        let roads: RouteRoads
        /// The maneuvers of each leg, in order: the first is a departure, the last an arrival.
        var maneuvers: [[Maneuver]] = []
        /// The lanes before the route edges that begin at junctions, from left to right.
        var lanes: [Int: [Lane]] = [:]
    }

    /// Finds the maneuvers of a route, and the lanes at the junctions without one.
    ///
    /// - Parameters:
    ///   - model: The junctions of the same map version for the route's vehicle. Where tiles are missing, there are no other roads to
    ///     compare with, and the maneuvers are derived from the route alone.
    ///   - announcesNameChanges: Whether a mere change of a road's name and number is a maneuver.
    static func build(_ route: Route, _ model: JunctionModel, announcesNameChanges: Bool) -> Result {
        let roads = RouteRoads(route, model.graph)
        var result = Result(roads: roads)
        for leg in route.legs.indices {
            var builder = ManeuverBuilder(roads: roads, model: model, announcesNameChanges: announcesNameChanges)
            builder.build(leg)
            result.maneuvers.append(builder.maneuvers)
            result.lanes.merge(builder.lanes) { $1 }
        }
        return result
    }

    private init(roads: RouteRoads, model: JunctionModel, announcesNameChanges: Bool) {
        self.roads = roads
        self.model = model
        self.announcesNameChanges = announcesNameChanges
        classifier = TurnClassifier(model: model)
    }

    private mutating func build(_ leg: Int) {
        self.leg = leg
        guard let edges = drivenEdges(roads.route.legs[leg].edges) else { return }
        turns.reserveCapacity(edges.count + 1)
        stop(edges.lowerBound, offset: roads.route.edges[edges.lowerBound].routeOffset)
        var index = edges.lowerBound + 1
        if isRoundabout(edges.lowerBound) { index = leaveFirstRoundabout(edges) }
        while index < edges.upperBound {
            if isRoundabout(index) {
                index = driveRoundabout(from: index, end: edges.upperBound)
            } else {
                passJunction(before: index)
                index += 1
            }
        }
        let last = edges.upperBound - 1
        stop(last, offset: roads.route.edges[last].routeOffset + roads.route.edges[last].length)
        measureTurns()
        let joined = TurnJoiner.joined(takeTurns(), on: roads)
        lanes.merge(joined.lanes) { $1 }
        let announced = withoutToldNames(
            joined.turns.dropFirst().dropLast().filter {
                announcesNameChanges || $0.isPrescribed || !$0.turn.isType(.newName)
            }, from: edges.lowerBound)
        // The edge at which the driver leaves the road after each turn.
        var next = edges.upperBound
        var ends: [Int] = []
        for turn in announced.reversed() {
            ends.append(next)
            if !turn.turn.isType(.newName) { next = turn.piece }
        }
        depart(edges, next: next)
        for (turn, next) in zip(announced, ends.reversed()) { announce(turn, next: next, end: edges.upperBound) }
        arrive(edges)
        measure()
    }

    /// Moves the turns out of the builder, so that they are changed in place.
    private mutating func takeTurns() -> [RouteTurn] {
        defer { turns = [] }
        return turns
    }

    private mutating func measureTurns() {
        guard turns.count > 1 else { return }
        for index in 0..<turns.count - 1 {
            let passage = turns[index].isRoundabout ? passages[turns[index].piece] : nil
            let end = passage.map { passage in
                passage.pieces.upperBound < roads.route.edges.count
                    ? roads.route.edges[passage.pieces.upperBound].routeOffset : roads.route.length
            }
            turns[index].distance = max(0, turns[index + 1].offset - (end ?? turns[index].offset))
        }
    }

    /// Returns the edges of a leg without point-like ones at its ends, because a waypoint at a junction is on all its roads; nil for an
    /// empty or invalid range.
    private func drivenEdges(_ all: Range<Int>) -> Range<Int>? {
        guard !all.isEmpty, all.lowerBound >= 0, all.upperBound <= roads.route.edges.count else { return nil }
        let isDriven = { (index: Int) in roads.route.edges[index].length > ManeuverBuilder.pointLength }
        guard let first = all.first(where: isDriven), let last = all.last(where: isDriven) else { return all }
        return first..<last + 1
    }

    private func isRoundabout(_ index: Int) -> Bool {
        roads.kinds[index].flags.contains(.roundabout)
    }

    // MARK: Start and end of a leg

    /// - Parameter next: The edge after the first turn.
    private mutating func depart(_ edges: Range<Int>, next: Int) {
        let edge = edges.lowerBound
        let start = roads.route.edges[edge].routeOffset
        let bearing = roads.bearing(from: start, to: min(start + 25, roads.route.length))
        var maneuver = blank(.depart, nil, edge: edge, road: label(after: edge, next: next, end: edges.upperBound))
        maneuver.edge = roads.route.legs[leg].edges.lowerBound
        maneuver.routeOffset = roads.route.legs[leg].routeOffset
        maneuver.endOffset = maneuver.routeOffset
        maneuver.unambiguousOffset = maneuver.routeOffset
        maneuver.notes = []
        maneuver.bearingBefore = bearing
        maneuver.bearingAfter = bearing
        maneuvers.append(maneuver)
    }

    private mutating func arrive(_ edges: Range<Int>) {
        let legs = roads.route.legs
        let last = edges.upperBound - 1
        var maneuver = blank(.arrive, .straight, edge: last, road: roads.label(last))
        maneuver.edge = legs[leg].edges.upperBound
        maneuver.routeOffset = legs[leg].routeOffset + legs[leg].length
        maneuver.endOffset = maneuver.routeOffset
        maneuver.bearingBefore = roads.endBearing(last)
        maneuver.bearingAfter = maneuver.bearingBefore
        maneuver.isFinal = leg == legs.count - 1
        maneuver.unambiguousOffset = maneuver.routeOffset
        maneuver.notes = []
        if roads.route.waypoints.indices.contains(legs[leg].destination) {
            let waypoint = roads.route.waypoints[legs[leg].destination]
            maneuver.coordinate = waypoint.snapped
            maneuver.waypointName = waypoint.waypoint.name
            if (Self.sideDistance...Self.farthestSide).contains(waypoint.snapDistance) {
                let target = Geodesy.bearing(from: waypoint.snapped, to: waypoint.waypoint.coordinate)
                let side = degrees(from: maneuver.bearingBefore, to: target)
                // A waypoint nearly ahead or behind, as at the end of a cul-de-sac, has no side.
                if abs(side) > 20, abs(side) < 160 { maneuver.modifier = side > 0 ? .right : .left }
            }
        }
        maneuvers.append(maneuver)
    }

    // MARK: Junctions

    private func sign(_ index: Int) -> RoadSign {
        if let edge = roads.resolved[index] { return model.profile(edge).sign }
        let attributes = roads.route.edges[index].attributes
        return RoadSign(name: attributes.name, reference: attributes.reference)
    }

    /// Returns a turn at a junction whose roads are unknown.
    private func blankTurn(_ turn: Turn, piece: Int, offset: Double) -> RouteTurn {
        RouteTurn(
            piece: piece, lastPiece: piece, turn: turn, offset: offset, roads: 1, entries: 1,
            bearingIn: circle(Angle.degrees(piece > 0 ? roads.endBearing(piece - 1) : roads.startBearing(piece))),
            bearingOut: circle(Angle.degrees(roads.startBearing(piece))), sign: sign(piece),
            isOnFerry: roads.kinds[piece].roadClass == .ferry)
    }

    private mutating func stop(_ piece: Int, offset: Double) {
        var turn = blankTurn(Turn(.none, .straight), piece: piece, offset: offset)
        turn.isStop = true
        turns.append(turn)
    }

    private mutating func passJunction(before index: Int) {
        let offset = roads.route.edges[index].routeOffset
        guard let previous = roads.resolved[index - 1], let next = roads.resolved[index] else { return }
        guard let node = roads.node(before: index) else {
            if roads.graph.opposite(previous) == next {
                turns.append(blankTurn(Turn(.continue, .uTurn), piece: index, offset: offset))
            }
            return
        }
        let prescribed = prescribedManeuver(before: index, onto: next)
        if prescribed == nil, isPlain(index, node) { return }
        guard var junction = classifier.classified(after: previous),
            var taken = junction.roads.indices.first(where: { junction.roads[$0].leaving == next })
        else { return }
        let own = junction.roads[taken]
        // A road drawn twice counts as one, both where its lines split and where they join again.
        func isTwin(_ road: Int) -> Bool {
            let (leaving, arriving) = (junction.roads[road].leaving, junction.roads[road].arriving)
            return leaving != own.leaving && junction.roads[road].angle > 1e-6
                && (model.areTwins(leaving, own.leaving) || model.areTwins(arriving, previous))
        }
        let twins = junction.roads.indices.filter(isTwin)
        if !own.isEntry || !twins.isEmpty {
            junction.roads[taken].isEntry = true
            // Only one of the lines may have the road's name.
            if junction.approach.isUnlabelled,
                let named = twins.first(where: { model.areTwins(junction.roads[$0].arriving, previous) })
            {
                junction.approach = junction.roads[named].road
            }
            for twin in twins.reversed() { junction.roads.remove(at: twin) }
            taken = junction.roads.firstIndex { $0.leaving == next } ?? taken
            junction = classifier.classified(junction, after: previous)
        }
        let seen = junction.roads[taken].turn
        let told = prescribed.map(seen.obeying) ?? seen
        if !told.isManeuver || told.modifier == .straight { remember(junction, taken, offset) }
        let approach =
            told.type == .roundabout ? nil : laneTags(before: index, reach: told.isManeuver ? Self.laneReach : 0)
        let tagged =
            approach.map {
                LaneGuidance.lanes(
                    $0.lanes, at: junction, onto: taken, for: model.access, width: roads.route.vehicle.width)
            } ?? []
        guard told.kind != .none else {
            if !tagged.isEmpty { lanes[index] = tagged }
            return
        }
        var alternatives: [Double] = []
        for other in junction.roads.indices.dropFirst() where other != taken && junction.roads[other].isEntry {
            alternatives.append(180 - junction.roads[other].angle)
        }
        turns.append(
            RouteTurn(
                piece: index, lastPiece: index, turn: told, offset: offset, roads: junction.roads.count,
                entries: junction.entries, bearingIn: circle(junction.roads[0].bearing + 180), bearingOut: own.bearing,
                deviation: 180 - junction.roads[taken].angle, alternatives: alternatives, sign: own.road.sign,
                isOnFerry: roads.kinds[index].roadClass == .ferry,
                isRoundabout: told.isType(.roundabout), isPrescribed: prescribed != nil, lanes: tagged,
                laneDestinations: LaneGuidance.destinations(approach?.signs ?? "", over: tagged)))
        if turns[turns.count - 1].hasArrows { lastArrows = index }
    }

    /// Returns the announcement that the map prescribes on the route's way through the junction before an edge; nil for none.
    private func prescribedManeuver(before index: Int, onto next: EdgeIndex) -> PrescribedManeuver? {
        let edges = roads.route.legs[leg].edges
        return roads.graph.maneuvers(onto: next).first { rule in
            let first = index - rule.maneuver.place
            return first >= edges.lowerBound && first + rule.path.count <= edges.upperBound
                && rule.path.indices.allSatisfy { roads.resolved[first + $0] == rule.path[$0] }
        }?.maneuver
    }

    /// Whether no other road meets the route between two edges of the same road.
    private func isPlain(_ index: Int, _ node: NodeIndex) -> Bool {
        guard let previous = roads.resolved[index - 1], let next = roads.resolved[index],
            roads.isLabelledAlike(index), roads.kinds[index - 1].roadClass == roads.kinds[index].roadClass,
            roads.kinds[index - 1].flags == roads.kinds[index].flags
        else { return false }
        let graph = roads.graph
        let (back, onward) = (graph.edgeOpposites[previous.index], graph.edgeOpposites[next.index])
        guard back != next else { return false }
        return graph.outgoing(node).allSatisfy { $0 == next || $0 == back }
            && graph.incoming(node).allSatisfy { $0 == previous || $0 == onward }
    }

    private mutating func remember(_ junction: Intersection, _ taken: Int, _ offset: Double) {
        for index in junction.roads.indices where index != taken && junction.roads[index].isEntry {
            guard (30..<150).contains(junction.roads[index].deviation) else { continue }
            sideRoads.append(SideRoad(routeOffset: offset, side: junction.roads[index].angle < 180 ? .right : .left))
        }
    }

    // MARK: Roundabouts

    private mutating func driveRoundabout(from first: Int, end: Int) -> Int {
        let passage = RoundaboutPassage(roads, model, first: first, end: end)
        var turn = blankTurn(
            Turn(passage.type, passage.modifier), piece: first, offset: roads.route.edges[first].routeOffset)
        turn.isRoundabout = true
        let exit = passage.pieces.upperBound
        if exit < end {
            turn.lastPiece = exit
            turn.sign = sign(exit)
            turn.isOnFerry = roads.kinds[exit].roadClass == .ferry
        }
        passages[first] = passage
        turns.append(turn)
        return exit + 1
    }

    private mutating func leaveFirstRoundabout(_ edges: Range<Int>) -> Int {
        var exit = edges.lowerBound
        while exit < edges.upperBound, isRoundabout(exit) { exit += 1 }
        guard exit < edges.upperBound else { return exit + 1 }
        var modifier = ManeuverModifier(
            turnDegrees: degrees(from: roads.endBearing(exit - 1), to: roads.startBearing(exit)))
        if let ring = roads.resolved[exit - 1], let next = roads.resolved[exit],
            let taken = model.intersection(after: ring)?.roads.first(where: { $0.leaving == next })
        {
            modifier = ManeuverModifier(angle: taken.angle)
        }
        var turn = blankTurn(
            Turn(.exitRoundabout, modifier), piece: exit, offset: roads.route.edges[exit].routeOffset)
        turn.isRoundabout = true
        turns.append(turn)
        return exit + 1
    }

    // MARK: Making maneuvers

    /// - Parameters:
    ///   - next: The edge after the next turn.
    ///   - end: The edge after the leg.
    private mutating func announce(_ turn: RouteTurn, next: Int, end: Int) {
        guard var type = turn.turn.type else { return }
        let node = roads.node(before: turn.piece)
        let isMini = node.map { roads.graph.nodeFlags[$0.index].contains(.miniRoundabout) } ?? false
        if isMini, !turn.isPrescribed, type == .turn || type == .continue || type == .endOfRoad || type == .fork {
            type = .roundaboutTurn
        }
        let road = label(after: turn.piece, next: next, end: end)
        var maneuver = blank(type, turn.turn.modifier, edge: turn.piece, road: road)
        if let passage = passages[turn.piece] {
            let exit = passage.pieces.upperBound
            maneuver.roundaboutName = passage.name
            maneuver.roundaboutExit = passage.exit
            maneuver.exitModifier = passage.exitModifier
            if exit < end {
                maneuver.endOffset = roads.route.edges[exit].routeOffset
                maneuver.bearingAfter = roads.startBearing(exit)
                maneuver.road = label(after: exit, next: next, end: end, reach: Self.nameReachOfExit)
                maneuver.notes = notes(before: exit)
            } else {
                maneuver.endOffset = roads.route.edges[exit - 1].routeOffset + roads.route.edges[exit - 1].length
                maneuver.road = RoadLabel()
            }
        } else if type == .roundabout {
            // The roundabout is left where it is entered.
            maneuver.roundaboutExit = 1
            maneuver.exitModifier = turn.turn.modifier
        }
        if turn.lastPiece > turn.piece, passages[turn.piece] == nil {
            maneuver.endOffset = roads.route.edges[turn.lastPiece].routeOffset
            maneuver.bearingAfter = roads.startBearing(turn.lastPiece)
            let signs = maneuver.road
            maneuver.road = label(after: turn.lastPiece, next: next, end: end)
            if maneuver.road.signs.isEmpty {
                (maneuver.road.destinations, maneuver.road.destinationReferences) = (
                    signs.destinations, signs.destinationReferences
                )
            }
            maneuver.notes.formUnion(notes(before: turn.lastPiece))
        }
        maneuver.lanes = turn.lanes
        maneuver.keepsRoad =
            turn.piece > 0 && sign(turn.piece - 1).continues(as: turn.sign)
            && maneuver.road.isCalledLike(roads.label(turn.piece - 1))
        if !turn.isPrescribed, turn.turn.modifier != .uTurn, !maneuver.road.isUnnamed {
            // A driver cannot continue on a road whose name begins here, nor turn onto the number of the current road.
            if type == .continue, !maneuver.keepsRoad { maneuver.type = .turn }
            if type == .turn, maneuver.keepsRoad, maneuver.road.isCalledByNumber { maneuver.type = .continue }
        }
        maneuver.endsRoad = maneuver.type == .endOfRoad || maneuver.type == .turn && turn.endsLongRoad
        if type == .offRamp, let node {
            maneuver.exitNumbers = RoadLabel.list(roads.graph.exitReference(of: node))
            // Names of crossroads are in `junctionName` instead.
            if roads.graph.nodeFlags[node.index].contains(.motorwayJunction) {
                maneuver.exitName = roads.graph.junctionName(of: node)
            }
        }
        switch maneuver.type {
        case .turn, .continue, .fork, .endOfRoad: maneuver.junctionName = junctionName(turn)
        default: break
        }
        if roads.kinds[turn.lastPiece].flags.contains(.link) {
            maneuvers.append(maneuver)
            nameRamp(maneuvers.count - 1, from: turn.lastPiece, end: nameEnd(turn.lastPiece, next: next, end: end))
            maneuver = maneuvers.removeLast()
        }
        if maneuver.road.destinations.isEmpty { maneuver.road.destinations = turn.laneDestinations }
        finish(&maneuver, edge: turn.piece)
    }

    /// Returns the name of the crossroads at which a turn begins or ends; empty for none, and for exits, which have an `exitName`.
    private func junctionName(_ turn: RouteTurn) -> String {
        for piece in turn.piece == turn.lastPiece ? [turn.piece] : [turn.piece, turn.lastPiece] {
            guard let node = roads.node(before: piece),
                !roads.graph.nodeFlags[node.index].contains(.motorwayJunction)
            else { continue }
            let name = roads.graph.junctionName(of: node)
            if !name.isEmpty { return name }
        }
        return ""
    }

    // MARK: Signs

    /// Returns the label of the road that a maneuver leads onto. A nameless road takes the name of the road after it unless the driver
    /// turns into that one; a ramp is also named by the road that it leads to.
    private func label(after index: Int, next: Int, end: Int, reach: Double = nameReach) -> RoadLabel {
        roads.label(after: index, before: nameEnd(index, next: next, end: end), reach: reach)
    }

    /// Returns the turns of a leg without name changes that are already announced: those straight ahead after a short nameless road,
    /// because the turn onto that road announces the name.
    ///
    /// - Parameter start: The first edge of the leg.
    private func withoutToldNames(_ turns: [RouteTurn], from start: Int) -> [RouteTurn] {
        var (first, reach) = (start, Self.nameReach)
        return turns.filter { turn in
            if turn.turn.isType(.newName), turn.turn.modifier == .straight, !turn.isPrescribed, !turn.hasArrows,
                roads.label(after: first, before: turn.piece, reach: reach).isUnnamed,
                !roads.label(after: first, before: turn.piece + 1, reach: reach).isUnnamed
            {
                return false
            }
            let exit = passages[turn.piece]?.pieces.upperBound
            (first, reach) = exit.map { ($0, Self.nameReachOfExit) } ?? (turn.lastPiece, Self.nameReach)
            return true
        }
    }

    /// Returns the end of the edges in which the name of a nameless road is searched.
    private func nameEnd(_ index: Int, next: Int, end: Int) -> Int {
        isRamp(index) && !isSoonLeft(index, at: next, end: end) ? end : next
    }

    /// Whether a route edge is a ramp, and not a link between roads at grade.
    private func isRamp(_ index: Int) -> Bool {
        roads.kinds[index].flags.contains(.link) && roads.kinds[index].roadClass <= .trunk
    }

    /// Whether the driver turns from a ramp onto a street shortly after the ramp's start, so that two consecutive instructions would name
    /// that street.
    private func isSoonLeft(_ ramp: Int, at next: Int, end: Int) -> Bool {
        next < end && !(roads.kinds[next].roadClass <= .trunk)
            && roads.route.edges[next].routeOffset - roads.route.edges[ramp].routeOffset < 2 * TurnJoiner.reach
    }

    /// Names a ramp by its signs, which may be tagged only on a later edge, and by the road that it leads to.
    private mutating func nameRamp(_ maneuver: Int, from index: Int, end: Int) {
        var next = index
        while next < end, roads.kinds[next].flags.contains(.link) {
            let label = roads.label(next)
            if maneuvers[maneuver].road.destinations.isEmpty {
                maneuvers[maneuver].road.destinations = label.destinations
            }
            if maneuvers[maneuver].road.destinationReferences.isEmpty {
                maneuvers[maneuver].road.destinationReferences = label.destinationReferences
            }
            next += 1
            // Beyond a fork of ramps, the signs belong to one arm only.
            if next < end, let node = roads.node(before: next), roads.graph.outgoing(node).count > 1 { break }
        }
        guard maneuvers[maneuver].road.isUnnamed, next < end,
            !roads.kinds[next].flags.contains(.link)
        else { return }
        let label = roads.label(next)
        maneuvers[maneuver].road.name = label.name
        maneuvers[maneuver].road.localNames = label.localNames
        maneuvers[maneuver].road.references = label.references
        maneuvers[maneuver].road.prefersReference = label.prefersReference
    }

    /// Adds a maneuver, with the place from which no other road can be mistaken for it.
    private mutating func finish(_ maneuver: inout Maneuver, edge: Int) {
        let earliest = max(
            maneuver.routeOffset - ManeuverBuilder.ambiguityReach, maneuvers.last?.endOffset ?? 0)
        let range = earliest..<max(earliest, maneuver.routeOffset)
        let side = maneuver.modifier?.side
        maneuver.unambiguousOffset =
            sideRoads.last { $0.side == side && range.contains($0.routeOffset) }?.routeOffset ?? earliest
        maneuvers.append(maneuver)
    }

    private func blank(_ type: ManeuverType, _ modifier: ManeuverModifier?, edge: Int, road: RoadLabel) -> Maneuver {
        let route = roads.route
        let offset = route.edges[edge].routeOffset
        let isStart = edge == route.legs[leg].edges.lowerBound
        let after = roads.startBearing(edge)
        let points = route.edges[edge].coordinates
        let known = route.coordinates.indices.contains(points.lowerBound) ? route.coordinates[points.lowerBound] : nil
        return Maneuver(
            leg: leg, edge: edge, routeOffset: offset, endOffset: offset,
            coordinate: known ?? Coordinate(latitude: 0, longitude: 0),
            bearingBefore: isStart ? after : roads.endBearing(edge - 1), bearingAfter: after, type: type,
            modifier: modifier, road: road,
            keepsRoad: false, endsRoad: false, exitNumbers: [], exitName: "", roundaboutExit: nil, exitModifier: nil,
            roundaboutName: "",
            drivingSide: roads.kinds[edge].flags.contains(.leftHandTraffic) ? .left : .right, lanes: [],
            notes: isStart ? [] : notes(before: edge), unambiguousOffset: offset, waypointName: "", isFinal: false,
            distance: 0, duration: 0)
    }

    /// Returns the lanes tagged on the approach and the signs over them, or those up to `reach` metres before it when the last metres
    /// before the junction are not tagged. A tag of an earlier junction does not apply to this one. Lanes with arrows take precedence.
    private func laneTags(before edge: Int, reach: Double) -> (lanes: String, signs: String)? {
        let start = max(lastArrows, roads.route.legs[leg].edges.lowerBound)
        var index = edge - 1
        var rest = reach
        var withoutArrows: (lanes: String, signs: String)?
        repeat {
            let lanes = roads.route.edges[index].turnLanes
            if !lanes.isEmpty {
                let found = (lanes, roads.route.edges[index].attributes.destinationLanes)
                if !LaneGuidance.hasOnlyMarks(lanes) { return found }
                withoutArrows = withoutArrows ?? found
            }
            rest -= roads.route.edges[index].length
            index -= 1
        } while index >= start && rest > 0
        return withoutArrows
    }

    private func notes(before edge: Int) -> RoadNotes {
        guard edge > 0 else { return [] }
        let previous = roads.kinds[edge - 1]
        let next = roads.kinds[edge]
        var notes: RoadNotes = []
        if next.roadClass == .ferry, previous.roadClass != .ferry { notes.insert(.boardsFerry) }
        if previous.roadClass == .ferry, next.roadClass != .ferry { notes.insert(.leavesFerry) }
        return notes
    }

    /// Fills in the distances and times to the next maneuver.
    private mutating func measure() {
        guard maneuvers.count > 1 else { return }
        for index in 0..<maneuvers.count - 1 {
            maneuvers[index].distance = max(maneuvers[index + 1].routeOffset - maneuvers[index].routeOffset, 0)
            let first = maneuvers[index].edge
            var duration = 0.0
            for piece in first..<max(maneuvers[index + 1].edge, first) {
                duration = duration + roads.route.edges[piece].duration + roads.route.edges[piece].turnDuration
            }
            maneuvers[index].duration = duration
        }
    }
}
