internal import NavGeo
internal import NavMap
internal import NavRouting

/// A way through a roundabout: its route edges, exit number and turn.
struct RoundaboutPassage {
    /// The radius above which a roundabout may be called by its name, and below which it may count as a crossing with turns, metres.
    private static let smallRadius = 15.0
    /// The length up to which an unnamed road is a part of the street that it leads to, metres.
    private static let connection = 60.0

    /// The route edges of the roundabout.
    var pieces: Range<Int>
    /// The number of the exit, from 1; nil when the route does not leave the roundabout in this leg or exits may be missing from the map.
    var exit: Int?
    /// The type: a roundabout, a rotary or a turn at a small roundabout.
    var type = ManeuverType.roundabout
    /// Its own name; empty for none.
    var name = ""
    /// The turn over the whole roundabout.
    var modifier = ManeuverModifier.straight
    /// The turn at the exit.
    var exitModifier: ManeuverModifier?

    /// The passage that starts with the route edge `first`, in a leg that ends before the edge `end`.
    init(_ roads: RouteRoads, _ model: JunctionModel, first: Int, end: Int) {
        var last = first
        while last < end, roads.kinds[last].flags.contains(.roundabout) { last += 1 }
        pieces = first..<last
        let entry = roads.route.edges[first].routeOffset
        let leaving = last < end ? roads.route.edges[last].routeOffset : entry
        // The kerb bends entries and exits, so their directions are measured some distance away.
        let before = roads.bearing(from: max(entry - 45, 0), to: max(entry - 10, 0))
        let after = roads.bearing(
            from: min(leaving + 10, roads.route.length), to: min(leaving + 45, roads.route.length))
        modifier = ManeuverModifier(turnDegrees: degrees(from: before, to: after))
        let leaves = last < end
        if leaves {
            exit = countExits(roads, model)
            if let ring = roads.resolved[last - 1], let next = roads.resolved[last],
                let junction = model.intersection(after: ring),
                let taken = junction.roads.first(where: { $0.leaving == next })
            {
                exitModifier = ManeuverModifier(angle: taken.angle)
            }
        }
        recognise(roads, model, leaves: leaves)
    }

    /// Returns the number of the exit, counted as in OSRM: service roads do not count, unless the roundabout itself is one. Unlike in OSRM,
    /// two roads that leave it at one node are two exits.
    private func countExits(_ roads: RouteRoads, _ model: JunctionModel) -> Int? {
        let graph = roads.graph
        var exits = 1
        let (first, last) = (pieces.lowerBound, pieces.upperBound)
        if first > 0, let node = roads.node(before: first), let approach = roads.resolved[first - 1],
            let junction = model.intersection(after: approach)
        {
            if graph.isIncomplete(node) { return nil }
            if hasEarlyExit(junction, from: graph.edgeTails[approach.index], roads.kinds[first].flags) { exits += 1 }
        }
        for index in pieces where index > first {
            guard let node = roads.node(before: index) else {
                // A waypoint inside the roundabout splits an edge without a node; anything else is a gap in the map.
                if roads.route.edges[index].key == roads.route.edges[index - 1].key { continue }
                return nil
            }
            if graph.isIncomplete(node) { return nil }
            guard let ring = roads.resolved[index - 1], let junction = model.intersection(after: ring) else {
                return nil
            }
            let passed = passedExits(junction, roads.kinds[first])
            exits += passed == 0 && model.hasExitForCarsOnly(at: node) ? 1 : passed
        }
        if let ring = roads.resolved[last - 1], let next = roads.resolved[last],
            let junction = model.intersection(after: ring),
            let taken = junction.roads.first(where: { $0.leaving == next })
        {
            exits += passedExits(junction, roads.kinds[first], before: taken)
        }
        return exits
    }

    /// Returns the number of exits that a driver on the ring passes at a junction. Roads that leave the ring in clearly distinct directions
    /// are several exits.
    ///
    /// - Parameter taken: The exit that the driver takes there; nil for none.
    private func passedExits(_ junction: Intersection, _ ring: RoadKind, before taken: Intersection.Road? = nil)
        -> Int
    {
        /// Returns the degrees from the way back, on the outer side of the ring.
        func angle(_ road: Intersection.Road) -> Double {
            ring.flags.contains(.leftHandTraffic) ? 360 - road.angle : road.angle
        }
        let open = junction.roads.filter {
            $0.isEntry && !$0.road.isRoundabout && (ring.roadClass == .service || !$0.road.isMinor)
                && !TurnClassifier.isClosed($0.road.flags)
        }
        let ahead = junction.roads.first { $0.isEntry && $0.road.isRoundabout }.map(angle) ?? 360
        let limit = taken.map { angle($0) > ahead ? 0 : angle($0) - TurnAngles.fuzzy } ?? ahead
        var count = 0
        var latest = 0.0
        for exit in open.map(angle).sorted() where exit < limit && (count == 0 || exit - latest > TurnAngles.fuzzy) {
            count += 1
            latest = exit
        }
        return taken == nil && !open.isEmpty ? max(1, count) : count
    }

    /// Whether another road leaves at the node of the entry, in the ring's direction.
    private func hasEarlyExit(_ junction: Intersection, from start: NodeIndex, _ flags: RoadFlags) -> Bool {
        let keepsLeft = flags.contains(.leftHandTraffic)
        for road in keepsLeft ? junction.roads.reversed() : junction.roads where road.isEntry {
            if road.road.isRoundabout { return false }
            if road.end != start, !road.road.isMinor { return true }
        }
        return false
    }

    private mutating func recognise(_ roads: RouteRoads, _ model: JunctionModel, leaves: Bool) {
        guard let start = roads.resolved[pieces.lowerBound] else { return }
        let own = roads.route.edges[pieces.lowerBound].attributes.name
        guard let ring = Ring(model, from: start) else { return }
        let radius = ring.length / (2 * .pi)
        // A word such as "rotonda" is a description, not a name.
        if !own.isEmpty, ring.names == [own], !RoundaboutPassage.isDescription(own), radius > Self.smallRadius,
            !ring.hasNeighbour(own, model)
        {
            type = .rotary
            name = own
        } else if leaves, ring.isCrossing, radius < Self.smallRadius {
            type = .roundaboutTurn
            let (first, last) = (pieces.lowerBound, pieces.upperBound)
            if first > 0, let approach = roads.resolved[first - 1], let next = roads.resolved[last],
                let before = model.junction(at: roads.graph.edgeHeads[approach.index]).first(where: {
                    $0.arriving == approach
                }),
                let after = model.junction(at: roads.graph.edgeTails[next.index]).first(where: { $0.leaving == next })
            {
                modifier = ManeuverModifier(
                    angle: intersectionAngle(circle(before.bearing + 180), after.bearing))
            }
        }
    }

    /// Whether a name is merely a word for a roundabout.
    private static func isDescription(_ name: String) -> Bool { descriptions.contains(name.lowercased()) }

    private static let descriptions: Set<String> = [
        "circle", "glorieta", "kiertoliittymä", "kreisel", "kreisverkehr", "redoma", "rond-point", "rondo",
        "rotatória", "rotonda", "rotonde", "rotunda", "roundabout", "rundkjøring", "traffic circle", "环岛", "环形交叉",
    ]

    /// A closed roundabout.
    private struct Ring {
        var length = 0.0
        var names: Set<String> = []
        /// The nodes of the ring.
        private var nodes: [NodeIndex] = []
        /// Whether up to four simple roads meet it in clearly distinct directions.
        var isCrossing = false

        /// Finds the ring of an edge; nil when it is not closed, or branches.
        init?(_ model: JunctionModel, from start: EdgeIndex) {
            var edge = start
            var bearings: [Double] = []
            var (places, isSimple) = (0, true)
            for _ in 0..<100 {
                let profile = model.profile(edge)
                if !profile.sign.name.isEmpty { names.insert(profile.sign.name) }
                length += Double(model.graph.edgeLengths[edge.index])
                nodes.append(model.graph.edgeHeads[edge.index])
                var following: EdgeIndex?
                var others = 0
                for arm in model.arms(at: model.graph.edgeHeads[edge.index]) {
                    if !arm.road.isRoundabout {
                        if others == 0 { bearings.append(arm.bearing) }
                        others += 1
                    } else if let leaving = arm.leaving {
                        guard following == nil else { return nil }
                        following = leaving
                    }
                }
                guard let next = following else { return nil }
                if others > 0 { places += 1 }
                if others > 1 { isSimple = false }
                edge = next
                if edge == start {
                    bearings.sort()
                    let areDistinct = bearings.indices.allSatisfy { index in
                        angularGap(bearings[(index + 1) % bearings.count], bearings[index]) > TurnAngles.narrow
                    }
                    isCrossing = places == 1 || isSimple && places <= 4 && areDistinct
                    return
                }
            }
            return nil
        }

        /// Whether a road of that name meets the ring, directly or over a short unnamed connection.
        func hasNeighbour(_ name: String, _ model: JunctionModel) -> Bool {
            nodes.contains { node in
                model.arms(at: node).contains { arm in
                    guard !arm.road.isRoundabout else { return false }
                    return arm.road.sign.name.isEmpty
                        ? Ring.names(behind: arm, at: node, model).contains(name) : arm.road.sign.name == name
                }
            }
        }

        /// Returns the names of the street that an unnamed road connects to the roundabout.
        private static func names(behind first: JunctionArm, at node: NodeIndex, _ model: JunctionModel) -> Set<String>
        {
            var (arm, start, length) = (first, node, first.length)
            for _ in 0..<10 where length <= RoundaboutPassage.connection {
                let there = model.arms(at: arm.end).filter { !$0.road.isRoundabout }
                let names = Set(there.map(\.road.sign.name)).subtracting([""])
                guard names.isEmpty, there.count == 2, let next = there.first(where: { $0.end != start }) else {
                    return names
                }
                (arm, start) = (next, arm.end)
                length += next.length
            }
            return []
        }
    }
}
