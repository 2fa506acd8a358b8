public import NavMap
public import NavRouting

internal import NavGeo

/// Finds the maneuvers of a route: what a driver must be told, and nothing else.
public struct ManeuverBuilder {
    /// Ramps up to this length that end on an ordinary road are slip lanes of a turn, metres.
    static let slipLaneLength = 150.0
    /// How far before a maneuver its lanes may be tagged, metres.
    static let laneReach = 40.0
    /// How far before a maneuver a side road can be taken for it, metres.
    static let ambiguityReach = 150.0
    /// A piece of a route up to this long at a waypoint is no road to turn into, metres.
    static let pointLength = 2.0
    /// A waypoint nearer to the road than this lies on it, metres.
    static let sideDistance = 4.0

    private let roads: RouteRoads
    private let classifier: TurnClassifier
    private let announcesNameChanges: Bool
    private var maneuvers: [Maneuver] = []
    private var sideRoads: [SideRoad] = []
    private var leg = 0

    /// A road that is passed.
    private struct SideRoad {
        var routeOffset: Double
        var side: RoadSide
    }

    /// The maneuvers of each leg, in order: the first is a departure, the last an arrival.
    ///
    /// - Parameters:
    ///   - graph: the roads of the same map version. Without the tiles of a part of the route there are no other roads to compare with, and
    ///     only what the route itself shows is told.
    ///   - announcesNameChanges: whether a road that merely goes on under another name and number is a maneuver.
    public static func maneuvers(of route: Route, in graph: RoadGraph, announcesNameChanges: Bool = false)
        -> [[Maneuver]]
    {
        let roads = RouteRoads(route, graph)
        return route.legs.indices.map { leg in
            var builder = ManeuverBuilder(roads: roads, announcesNameChanges: announcesNameChanges)
            builder.build(leg)
            return builder.maneuvers
        }
    }

    private init(roads: RouteRoads, announcesNameChanges: Bool) {
        self.roads = roads
        self.announcesNameChanges = announcesNameChanges
        classifier = TurnClassifier(roads: roads)
    }

    private mutating func build(_ leg: Int) {
        self.leg = leg
        guard let edges = drivenEdges(roads.route.legs[leg].edges) else { return }
        depart(edges)
        var index = edges.lowerBound + 1
        if isRoundabout(edges.lowerBound) { index = leaveFirstRoundabout(edges) }
        while index < edges.upperBound {
            if isRoundabout(index) {
                index = driveRoundabout(from: index, end: edges.upperBound)
            } else if let end = takeSlipLane(from: index, end: edges.upperBound) {
                index = end
            } else {
                passJunction(before: index, end: edges.upperBound)
                index += 1
            }
        }
        arrive(edges)
        maneuvers = ManeuverJoiner.joined(maneuvers, roads)
        measure()
    }

    /// The pieces of a leg without those at its ends that are a point: a waypoint at a junction is on all its roads. Nil for no pieces.
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

    private mutating func depart(_ edges: Range<Int>) {
        let edge = edges.lowerBound
        let start = roads.route.edges[edge].routeOffset
        let bearing = roads.bearing(from: start, to: min(start + 25, roads.route.length))
        var maneuver = blank(.depart, nil, edge: edge, end: edges.upperBound)
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
        var maneuver = blank(.arrive, .straight, edge: last, end: edges.upperBound)
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
            if waypoint.snapDistance >= ManeuverBuilder.sideDistance {
                let target = Geodesy.bearing(from: waypoint.snapped, to: waypoint.waypoint.coordinate)
                let side = degrees(from: maneuver.bearingBefore, to: target)
                // Nearly ahead or behind, as at the end of a cul-de-sac, is on no side.
                if abs(side) > 20, abs(side) < 160 { maneuver.modifier = side > 0 ? .right : .left }
            }
        }
        maneuvers.append(maneuver)
    }

    // MARK: Junctions

    private mutating func passJunction(before index: Int, end: Int) {
        let next = roads.kinds[index]
        let alternatives = roads.alternatives(before: index)
        let relevant = classifier.relevantAlternatives(alternatives, before: index)
        if let merge = mergeModifier(before: index, relevant) {
            append(.merge, merge, edge: index, end: end)
        } else if leavesForRamp(before: index, relevant) {
            appendRamp(before: index, end: end, relevant)
        } else if let decision = classifier.decide(before: index, relevant) {
            let atMini = roads.node(before: index).map {
                roads.graph.nodeFlags[$0.index].contains(.miniRoundabout)
            }
            let turns = decision.type == .turn || decision.type == .continue || decision.type == .endOfRoad
            let type = atMini == true && turns ? .roundaboutTurn : decision.type
            append(type, decision.modifier, edge: index, end: end)
            if next.flags.contains(.link) { nameRamp(maneuvers.count - 1, from: index, end: end) }
        } else if announcesNameChanges, changesName(before: index) {
            append(.newName, ManeuverModifier(turnDegrees: roads.turn(before: index)), edge: index, end: end)
        } else {
            remember(alternatives, at: index)
        }
    }

    private mutating func remember(_ alternatives: [Branch], at index: Int) {
        for branch in alternatives where abs(branch.angle) >= 30 && abs(branch.angle) < 150 {
            sideRoads.append(
                SideRoad(routeOffset: roads.route.edges[index].routeOffset, side: branch.angle > 0 ? .right : .left))
        }
    }

    private func changesName(before index: Int) -> Bool {
        let previous = roads.label(index - 1)
        let next = roads.label(index)
        return !previous.isUnnamed && !next.isUnnamed && previous.name != next.name
            && !previous.references.contains { next.references.contains($0) }
    }

    // MARK: Ramps

    /// How a ramp joins the road `index`; nil when it is no such place.
    private func mergeModifier(before index: Int, _ relevant: [Branch]) -> ManeuverModifier? {
        let previous = roads.kinds[index - 1]
        let next = roads.kinds[index]
        guard previous.flags.contains(.link), !next.flags.contains(.link),
            next.roadClass == .motorway || next.roadClass == .trunk,
            relevant.isEmpty, abs(roads.turn(before: index)) < 45
        else { return nil }
        let others = roads.turnsOfOthers(into: index).filter { abs($0) < 45 }
        guard let main = others.min(by: { abs($0) < abs($1) }) else { return nil }
        // A ramp from the right points left of the road that it joins, so it turns further to the right than that road's traffic.
        let own = roads.turn(before: index)
        let fromRight =
            abs(own - main) < 1 ? !next.flags.contains(.leftHandTraffic) : own > main
        return fromRight ? .slightLeft : .slightRight
    }

    private func leavesForRamp(before index: Int, _ relevant: [Branch]) -> Bool {
        let previous = roads.kinds[index - 1]
        let next = roads.kinds[index]
        guard !relevant.isEmpty, next.flags.contains(.link), !previous.flags.contains(.link) else { return false }
        // A link between lesser roads that one turns into is a street to a driver.
        let isFast = [previous.roadClass, next.roadClass].contains { $0 == .motorway || $0 == .trunk }
        return (isFast || abs(roads.turn(before: index)) < TurnClassifier.endOfRoadTurn)
            && relevant.contains { !$0.traits.flags.contains(.link) }
    }

    private mutating func appendRamp(before index: Int, end: Int, _ relevant: [Branch]) {
        let previous = roads.kinds[index - 1]
        let turn = roads.turn(before: index)
        let main = relevant.min { abs($0.angle) < abs($1.angle) }?.angle ?? 0
        let type: ManeuverType =
            previous.roadClass == .motorway || previous.roadClass == .trunk ? .offRamp : .onRamp
        var modifier = ManeuverModifier(turnDegrees: turn)
        if modifier == .straight || abs(main) < 45 && abs(turn) < 45 {
            modifier = turn >= main ? .slightRight : .slightLeft
        }
        append(type, modifier, edge: index, end: end)
        let last = maneuvers.count - 1
        if let node = roads.node(before: index) { maneuvers[last].exitNumber = roads.graph.exitReference(of: node) }
        nameRamp(last, from: index, end: end)
    }

    /// A ramp is known by its signs, which may only be tagged further on, and by the road that it leads to.
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
            // Beyond a fork of ramps the signs are those of one arm.
            if next < end, !roads.alternatives(before: next).isEmpty { break }
        }
        guard maneuvers[maneuver].road.isUnnamed, next < end,
            !roads.kinds[next].flags.contains(.link)
        else { return }
        let label = roads.label(next)
        maneuvers[maneuver].road.name = label.name
        maneuvers[maneuver].road.references = label.references
        maneuvers[maneuver].road.prefersReference = label.prefersReference
    }

    /// Drives a slip lane of an ordinary junction as the turn that it is. Returns the piece after it, or nil when there is none here.
    private mutating func takeSlipLane(from index: Int, end: Int) -> Int? {
        guard roads.kinds[index].flags.contains(.link), !roads.kinds[index - 1].flags.contains(.link),
            roads.kinds[index - 1].roadClass != .ferry
        else { return nil }
        let edges = roads.route.edges
        var next = index
        var length = 0.0
        while next < end, roads.kinds[next].flags.contains(.link), length <= ManeuverBuilder.slipLaneLength {
            length += edges[next].length
            next += 1
        }
        guard next < end, length <= ManeuverBuilder.slipLaneLength, !isRoundabout(next),
            !roads.kinds[next].flags.contains(.link), roads.kinds[next].roadClass != .motorway,
            roads.kinds[index - 1].roadClass != .motorway
        else { return nil }
        let before = roads.endBearing(index - 1)
        let after = roads.startBearing(next)
        let turn = degrees(from: before, to: after)
        let origin = roads.label(index - 1)
        let keepsName = roads.label(next).sharesName(with: origin)
        if abs(turn) < 20, keepsName { return next + 1 }
        var maneuver = blank(keepsName ? .continue : .turn, ManeuverModifier(turnDegrees: turn), edge: index, end: end)
        maneuver.endOffset = edges[next].routeOffset
        maneuver.bearingAfter = after
        let signs = maneuver.road
        maneuver.road = roads.label(after: next, before: end)
        if maneuver.road.destinations.isEmpty { maneuver.road.destinations = signs.destinations }
        maneuver.notes = notes(before: next)
        finish(&maneuver, edge: index)
        return next + 1
    }

    // MARK: Roundabouts

    private mutating func driveRoundabout(from first: Int, end: Int) -> Int {
        let passage = RoundaboutPassage(roads, first: first, end: end)
        let edges = roads.route.edges
        let exit = passage.pieces.upperBound
        var maneuver = blank(
            .roundabout, ManeuverModifier(turnDegrees: passage.turn), edge: first, end: end)
        let own = edges[first].attributes.name
        let neighbours = [first - 1, exit].filter { $0 < end }.map { edges[$0].attributes.name }
        // A word in small letters, such as "rotonda", describes and does not name; scripts without cases name.
        let isName = own != own.lowercased() || own == own.uppercased()
        if !own.isEmpty, isName, !neighbours.contains(own) {
            maneuver.type = .rotary
            maneuver.roundaboutName = own
        }
        maneuver.roundaboutExit = passage.exit
        if exit < end {
            maneuver.endOffset = edges[exit].routeOffset
            maneuver.bearingAfter = roads.startBearing(exit)
            maneuver.road = roads.label(after: exit, before: end, reach: 60)
            maneuver.notes = notes(before: exit)
        } else {
            maneuver.endOffset = edges[exit - 1].routeOffset + edges[exit - 1].length
            maneuver.road = RoadLabel()
        }
        finish(&maneuver, edge: first)
        return exit + 1
    }

    private mutating func leaveFirstRoundabout(_ edges: Range<Int>) -> Int {
        var exit = edges.lowerBound
        while exit < edges.upperBound, isRoundabout(exit) { exit += 1 }
        if exit < edges.upperBound {
            append(
                .exitRoundabout, ManeuverModifier(turnDegrees: roads.turn(before: exit)), edge: exit,
                end: edges.upperBound)
        }
        return exit + 1
    }

    // MARK: Making maneuvers

    private mutating func append(_ type: ManeuverType, _ modifier: ManeuverModifier, edge: Int, end: Int) {
        var maneuver = blank(type, modifier, edge: edge, end: end)
        finish(&maneuver, edge: edge)
    }

    /// Adds lanes and the place from which the maneuver cannot be mistaken.
    private mutating func finish(_ maneuver: inout Maneuver, edge: Int) {
        if let modifier = maneuver.modifier { maneuver.lanes = lanes(before: edge, modifier, maneuver.drivingSide) }
        let earliest = max(
            maneuver.routeOffset - ManeuverBuilder.ambiguityReach, maneuvers.last?.endOffset ?? 0)
        let side = maneuver.modifier?.side
        maneuver.unambiguousOffset =
            sideRoads.last { $0.side == side && $0.routeOffset >= earliest }?.routeOffset ?? earliest
        maneuvers.append(maneuver)
    }

    private func blank(_ type: ManeuverType, _ modifier: ManeuverModifier?, edge: Int, end: Int) -> Maneuver {
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
            modifier: modifier, road: roads.label(after: edge, before: end),
            keepsRoad: !isStart
                && roads.label(edge).sharesName(with: roads.label(edge - 1)),
            exitNumber: "", roundaboutExit: nil,
            roundaboutName: "",
            drivingSide: roads.kinds[edge].flags.contains(.leftHandTraffic) ? .left : .right, lanes: [],
            notes: isStart ? [] : notes(before: edge), unambiguousOffset: offset, waypointName: "", isFinal: false,
            distance: 0, duration: 0)
    }

    /// The lanes tagged on the approach, or a little before it where the last metres of a junction carry no tag.
    private func lanes(before edge: Int, _ modifier: ManeuverModifier, _ side: RoadSide) -> [Lane] {
        let start = roads.route.legs[leg].edges.lowerBound
        var index = edge - 1
        var reach = ManeuverBuilder.laneReach
        while index >= start, reach > 0 {
            let tag = roads.route.edges[index].attributes.turnLanes
            if !tag.isEmpty { return LaneGuidance.lanes(tag, for: modifier, drivingSide: side) }
            reach -= roads.route.edges[index].length
            index -= 1
        }
        return []
    }

    private func notes(before edge: Int) -> RoadNotes {
        guard edge > 0 else { return [] }
        let previous = roads.kinds[edge - 1]
        let next = roads.kinds[edge]
        var notes: RoadNotes = []
        func begins(_ flag: RoadFlags) -> Bool { next.flags.contains(flag) && !previous.flags.contains(flag) }
        if begins(.tunnel) { notes.insert(.tunnel) }
        if begins(.bridge) { notes.insert(.bridge) }
        if begins(.toll) { notes.insert(.toll) }
        if begins(.unpaved) { notes.insert(.unpaved) }
        if next.roadClass == .ferry, previous.roadClass != .ferry { notes.insert(.boardsFerry) }
        if previous.roadClass == .ferry, next.roadClass != .ferry { notes.insert(.leavesFerry) }
        return notes
    }

    /// Fills in distances and times to the next maneuver.
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
