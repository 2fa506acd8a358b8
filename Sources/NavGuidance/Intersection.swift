internal import NavGeo
package import NavMap
internal import NavRouting

/// A road at a node, both directions together.
struct JunctionArm {
    /// The edge that is drawn: the leaving one if there is one.
    var edge: EdgeIndex
    /// The edge by which vehicles leave the node; nil when they only arrive.
    var leaving: EdgeIndex?
    /// The edge by which vehicles arrive; nil when they only leave.
    var arriving: EdgeIndex?
    var road: RoadProfile
    /// The direction of its first metres outwards, degrees clockwise from north.
    var initialBearing: Double
    /// The perceived direction in which it leaves, degrees clockwise from north.
    var bearing: Double
    /// Metres to the next node.
    var length: Double
    /// The node at its other end.
    var end: NodeIndex
    /// Whether it is the arriving half of a road whose carriageways split here, and therefore not a separate road.
    var isMerged = false
}

/// A junction as seen by a driver who arrives by one of its roads.
struct Intersection {
    /// A road of the junction.
    struct Road {
        /// The edge by which it is entered; nil when traffic only arrives by it.
        var leaving: EdgeIndex?
        var arriving: EdgeIndex?
        var road: RoadProfile
        var bearing: Double
        var initialBearing: Double
        var end: NodeIndex
        /// Degrees counterclockwise from the approach: 0 is back, 90 right, 180 straight on, 270 left.
        var angle: Double
        /// Whether it may be entered, legally and as an open road.
        var isEntry: Bool
        /// The turn announced to a driver who takes it.
        var turn = Turn(.none, .straight)

        /// Degrees from straight ahead.
        var deviation: Double { abs(angle - 180) }
    }

    var node: NodeIndex
    /// The road by which the driver arrives.
    var approach: RoadProfile
    /// All roads by ascending angle; the first is the way back.
    var roads: [Road]
    /// Whether the turns of the roads are set.
    var isClassified = false

    var entries: Int { roads.indices.count { roads[$0].isEntry } }

    /// Returns the road whose angle is nearest to the given one, of those that `isWanted`.
    func nearest(to angle: Double, where isWanted: (Road) -> Bool = { _ in true }) -> Int? {
        var best: Int?
        var least = Double.infinity
        for index in roads.indices {
            let gap = angularGap(roads[index].angle, angle)
            if gap < least, isWanted(roads[index]) { (best, least) = (index, gap) }
        }
        return best
    }

    func nearest(toBearing bearing: Double) -> Int? {
        roads.indices.min { angularGap(roads[$0].bearing, bearing) < angularGap(roads[$1].bearing, bearing) }
    }

    /// Whether the driver's road ends at one that leads to the left and to the right.
    var isTee: Bool {
        roads.count == 3 && angularGap(roads[1].angle, 90) < TurnAngles.narrow
            && angularGap(roads[2].angle, 270) < TurnAngles.narrow
            && angularGap(roads[1].angle, roads[2].angle) > 2 * TurnAngles.narrow
    }

    /// Whether a road continues straight from an arm other than the approach.
    func isThroughStreet(_ index: Int) -> Bool {
        guard !roads[index].road.isUnlabelled else { return false }
        return roads.indices.dropFirst().contains { other in
            other != index && angularGap(roads[other].angle, roads[index].angle) > 180 - TurnAngles.fuzzy
                && roads[other].road.sign.isSame(as: roads[index].road.sign)
                && roads[other].road.hasSameClass(as: roads[index].road)
        }
    }
}

/// Angle thresholds of guidance, degrees; the values are OSRM's, which were tuned on the maps of many countries.
enum TurnAngles {
    /// A road within this angle of straight ahead looks straight when no other road is close.
    static let fuzzy = 25.0
    /// The largest narrow turn.
    static let narrow = 40.0
    /// A road at a greater angle from straight ahead leads backwards.
    static let backward = 120.0
    /// Roads within this angle of each other belong together.
    static let group = 60.0
    /// A road within this angle of straight ahead is not a turn.
    static let straight = 3.0
    /// The halves of a divided road are within this angle of each other.
    static let mergeable = 95.0
}

/// Returns the smaller angle between two directions, degrees.
func angularGap(_ first: Double, _ second: Double) -> Double {
    let turn = abs(first - second)
    let gap = turn < 360 ? turn : withoutTurns(turn)
    return gap > 180 ? 360 - gap : gap
}

/// Returns the degrees counterclockwise from the way back, for a driver who arrives in one direction and leaves in another.
func intersectionAngle(_ arriving: Double, _ leaving: Double) -> Double { circle(180 - difference(arriving, leaving)) }

/// A model of a graph's junctions as drivers see them: the halves of a divided road are one road, and each road has its
/// perceived direction.
///
/// Junctions are computed on demand and cached; those not used recently are evicted. Equal graphs give equal junctions.
///
/// One model serves all routes of a vehicle, so that a reroute reuses the junctions of the old route. It must be used by one thread only.
package final class JunctionModel {
    package let graph: RoadGraph
    package let access: VehicleAccess
    /// A vehicle of the usual size: a junction looks the same to all vehicles that may drive there.
    private let vehicle: VehicleProfile
    /// The profiles by the trait numbers of a road's two directions.
    private var profiles = SlotTable<UInt64, RoadProfile>()
    private var junctions = RecentTable<[JunctionArm]>()
    private var unmerged = RecentTable<[JunctionArm]>()
    private var intersections = RecentTable<Intersection>()
    /// The line of the arm being measured, kept to reuse its memory.
    private var scratch = RoadOutline([])

    /// The maximum number of cached profiles; equal roads share one.
    private static let profileCapacity = 65_536

    /// Roads whose directions differ by less cannot be ordered by them, degrees.
    private static let indistinct = 10.0
    /// The maximum number of nodes that a walk along a road passes.
    private static let hops = 10

    package init(_ graph: RoadGraph, for access: VehicleAccess) {
        self.graph = graph
        self.access = access
        vehicle = VehicleProfile(kind: access == .truck ? .truck : .car)
    }

    /// Returns `former` if it models this graph for this access, else a new model.
    package static func reusing(_ former: JunctionModel?, of graph: RoadGraph, for access: VehicleAccess)
        -> JunctionModel
    {
        former.flatMap { $0.graph === graph && $0.access == access ? $0 : nil } ?? JunctionModel(graph, for: access)
    }

    /// Whether a divided road may begin at a node: vehicles only arrive by one of its roads.
    private func mayDivide(at node: NodeIndex) -> Bool {
        graph.incoming(node).contains { isOpen($0) && openOpposite($0) == nil }
    }

    private func isOpen(_ edge: EdgeIndex) -> Bool { isOpen(edge, to: access) }

    private func isOpen(_ edge: EdgeIndex, to vehicles: VehicleAccess) -> Bool {
        !graph.traitTable[Int(graph.traitNumbers[edge.index])].access.isDisjoint(with: vehicles)
    }

    /// Whether a road that is open to cars, but not to the vehicle, leaves a node: a truck driver sees it and counts it as an exit of a
    /// roundabout.
    func hasExitForCarsOnly(at node: NodeIndex) -> Bool {
        graph.outgoing(node).contains { edge in
            guard !isOpen(edge), isOpen(edge, to: .car) else { return false }
            let road = profile(edge)
            return !road.isMinor && !road.isRoundabout && !TurnClassifier.isClosed(road.flags)
        }
    }

    /// Whether a vehicle of usual size cannot pass a node.
    func isBarred(_ node: NodeIndex) -> Bool { vehicle.isBarred(at: node, in: graph) }

    private func openOpposite(_ edge: EdgeIndex) -> EdgeIndex? {
        graph.opposite(edge).flatMap { isOpen($0) ? $0 : nil }
    }

    func profile(_ edge: EdgeIndex) -> RoadProfile {
        // Equal traits of both directions mean equal attributes.
        let opposite = graph.opposite(edge)
        let back = opposite.map { UInt64(graph.traitNumbers[$0.index]) + 1 } ?? 0
        let key = UInt64(graph.traitNumbers[edge.index]) << 32 | back
        if let known = profiles.find(key) { return known }
        let reading = graph.reading(of: edge)
        let lanes = reading.lanes > 0 ? reading.lanes + (opposite.map { graph.reading(of: $0).lanes } ?? 0) : 0
        let profile = RoadProfile(reading.attributes, lanes: lanes)
        if profiles.count >= Self.profileCapacity { profiles = SlotTable() }
        profiles.insert(profile, at: key)
        return profile
    }

    // MARK: Arms

    /// Returns the roads at a node clockwise from north, with the halves of divided roads marked and their directions joined.
    func junction(at node: NodeIndex) -> [JunctionArm] {
        if let known = junctions.find(node.rawValue) { return known }
        var arms = arms(at: node)
        let mayMerge = arms.count >= 3 && arms.indices.contains { arms[$0].leaving == nil }
        let merged = mayMerge ? mergeHalves(&arms, at: node) : []
        if arms.count >= 2 { adjustToNeighbours(&arms, merged, at: node) }
        junctions.insert(arms, at: node.rawValue)
        return arms
    }

    /// Returns the roads at a node as they are drawn.
    func arms(at node: NodeIndex) -> [JunctionArm] {
        if let known = unmerged.find(node.rawValue) { return known }
        let (outgoing, incoming) = (graph.outgoing(node), graph.incoming(node))
        var arms: [JunctionArm] = []
        arms.reserveCapacity(
            outgoing.count { isOpen($0) } + incoming.count { isOpen($0) && openOpposite($0) == nil })
        var lanes = 0
        for edge in outgoing where isOpen(edge) {
            let road = profile(edge)
            lanes = max(lanes, road.lanes)
            arms.append(
                JunctionArm(
                    edge: edge, leaving: edge, arriving: openOpposite(edge), road: road, initialBearing: 0, bearing: 0,
                    length: Double(graph.edgeLengths[edge.index]), end: graph.edgeHeads[edge.index]))
        }
        for edge in incoming where isOpen(edge) && openOpposite(edge) == nil {
            let road = profile(edge)
            lanes = max(lanes, road.lanes)
            arms.append(
                JunctionArm(
                    edge: edge, leaving: nil, arriving: edge, road: road, initialBearing: 0, bearing: 0,
                    length: Double(graph.edgeLengths[edge.index]), end: graph.edgeTails[edge.index]))
        }
        let frame = LocalFrame(origin: graph.nodePositions[node.index].coordinate)
        // Where no road turns off, only the first metres count.
        let isSimple = arms.count <= 2
        let reach = isSimple ? RoadOutline.inaccuracy : RoadOutline.reach
        for index in arms.indices {
            scratch.take(arms[index].edge, in: graph, isOutwards: arms[index].leaving != nil, frame, reach: reach)
            let initial = scratch.initialBearing
            arms[index].initialBearing = initial
            arms[index].bearing =
                isSimple
                ? initial : scratch.bearing(arms[index].road.roadClass, arms[index].road.flags, lanes: lanes)
        }
        arms.sort { ($0.bearing, $0.edge.rawValue) < ($1.bearing, $1.edge.rawValue) }
        unmerged.insert(arms, at: node.rawValue)
        return arms
    }

    /// Returns the line of a road from its node on, at least as far as `reach`, metres.
    private func outline(
        _ edge: EdgeIndex, isOutwards: Bool, _ frame: LocalFrame, reach: Double
    ) -> RoadOutline {
        var outline = RoadOutline([])
        outline.take(edge, in: graph, isOutwards: isOutwards, frame, reach: reach)
        return outline
    }

    /// Returns the direction of a road beyond its first metres, degrees clockwise from north; nil when it is too short.
    func laterBearing(of edge: EdgeIndex) -> Double? {
        let origin = graph.nodePositions[graph.edgeTails[edge.index].index].coordinate
        return outline(edge, isOutwards: true, LocalFrame(origin: origin), reach: RoadOutline.reach).laterBearing
    }

    /// Returns the metres between two nodes.
    func distance(_ one: NodeIndex, _ other: NodeIndex) -> Double {
        Geodesy.distance(graph.nodePositions[one.index].coordinate, graph.nodePositions[other.index].coordinate)
    }

    // MARK: Divided roads

    /// Gives the halves of divided roads a common direction; returns whether each arm is such a half.
    private func mergeHalves(_ arms: inout [JunctionArm], at node: NodeIndex) -> [Bool] {
        var merged = Array(repeating: false, count: arms.count)
        let drawn = arms
        for index in arms.indices where arePair(drawn, index, at: node) {
            let next = (index + 1) % arms.count
            guard !merged[index], !merged[next] else { continue }
            merged[index] = true
            merged[next] = true
            let (_, bearing) = mergedBearing(arms, index, next, isNeighbour: false)
            for half in [index, next] {
                arms[half].bearing = bearing
                arms[half].initialBearing = bearing
                if arms[half].leaving == nil { arms[half].isMerged = true }
            }
        }
        return merged
    }

    private func mergedBearing(
        _ arms: [JunctionArm], _ first: Int, _ second: Int, isNeighbour: Bool
    ) -> (isUsable: Bool, bearing: Double) {
        let (one, other) = (arms[first], arms[second])
        let entry = one.leaving == nil ? other : one
        var opposite = entry.bearing
        var least = Double.infinity
        for arm in arms where angularGap(arm.bearing, entry.bearing + 180) < least {
            least = angularGap(arm.bearing, entry.bearing + 180)
            opposite = arm.bearing
        }
        // The heading of a driver who comes from the opposite arm.
        let through = circle(opposite + 180)
        let middle = circle(one.bearing + difference(one.bearing, other.bearing) / 2)
        // A road that continues straight ahead keeps its direction.
        if angularGap(through, entry.bearing) < TurnAngles.straight { return (false, entry.bearing) }
        if isNeighbour {
            let now = angularGap(through, middle)
            if angularGap(through, one.bearing) < now || angularGap(through, other.bearing) < now {
                return (false, through)
            }
        }
        return (true, middle)
    }

    /// Redirects a road of a few metres whose far end splits into two halves towards the middle of both.
    private func adjustToNeighbours(_ arms: inout [JunctionArm], _ merged: [Bool], at node: NodeIndex) {
        // Most junctions have no such road, and share the array with ``unmerged``.
        let bearings = arms.indices.compactMap { index in
            arms[index].length > 30 || merged.indices.contains(index) && merged[index]
                ? nil : bearingToHalves(of: arms[index], from: node).map { (index, $0) }
        }
        guard !bearings.isEmpty else { return }
        for (index, bearing) in bearings {
            arms[index].bearing = bearing
            arms[index].initialBearing = bearing
        }
    }

    /// Returns the direction of a short road towards the middle of the two halves at its far end; nil when there are none.
    private func bearingToHalves(of arm: JunctionArm, from node: NodeIndex) -> Double? {
        guard arm.end != node, mayDivide(at: arm.end) else { return nil }
        let others = arms(at: arm.end)
        guard others.count > 2, let own = others.firstIndex(where: { $0.end == node }) else { return nil }
        // Where the road bends in between, its direction there does not indicate its direction here.
        guard angularGap(arm.bearing, others[own].bearing + 180) < TurnAngles.group else { return nil }
        let previous = (own + others.count - 1) % others.count
        let next = (own + 1) % others.count
        if arePair(others, previous, at: arm.end) {
            let (isUsable, bearing) = mergedBearing(others, previous, own, isNeighbour: true)
            return isUsable ? circle(arm.bearing - angularGap(bearing, others[own].bearing)) : nil
        }
        guard arePair(others, own, at: arm.end) else { return nil }
        let (isUsable, bearing) = mergedBearing(others, own, next, isNeighbour: true)
        return isUsable ? circle(arm.bearing + angularGap(bearing, others[own].bearing)) : nil
    }

    /// Whether an arm and the next one clockwise are the halves of one road, distinct from their neighbours.
    private func arePair(_ arms: [JunctionArm], _ index: Int, at node: NodeIndex) -> Bool {
        let count = arms.count
        let next = (index + 1) % count
        guard (arms[index].leaving == nil) != (arms[next].leaving == nil),
            angularGap(arms[index].bearing, arms[next].bearing) <= TurnAngles.mergeable
        else { return false }
        let (one, other) = (arms[index], arms[next])
        guard one.road.hasSameClass(as: other.road), !one.road.isRoundabout, !other.road.isRoundabout,
            one.road.isFerry == other.road.isFerry, one.road.sign.isSame(as: other.road.sign)
        else { return false }
        let (before, after) = (arms[(index + count - 1) % count], arms[(index + 2) % count])
        func areDistinct(_ a: JunctionArm, _ b: JunctionArm) -> Bool {
            angularGap(a.bearing, b.bearing) > TurnAngles.mergeable || !a.road.sign.isSame(as: b.road.sign)
        }
        guard areDistinct(before, one), areDistinct(other, after), one.end != node, other.end != node else {
            return false
        }
        let (firstEnd, secondEnd) = (farEnd(of: one, from: node), farEnd(of: other, from: node))
        if firstEnd.node == node || secondEnd.node == node { return false }
        if isIsland(node, firstEnd.node, secondEnd.node) { return true }
        if isConnection(one, from: node) || isConnection(other, from: node) { return false }
        if isNarrowTriangle(one, other, at: node) { return true }
        return runParallel(one, other, from: node)
    }

    /// Follows a road past nodes where no other road meets it.
    func farEnd(of arm: JunctionArm, from node: NodeIndex) -> (node: NodeIndex, arm: JunctionArm, from: NodeIndex) {
        var (current, start) = (arm, node)
        for _ in 0..<Self.hops {
            let there = arms(at: current.end)
            guard there.count == 2, current.end != node, let on = there.firstIndex(where: { !isSame($0, current) })
            else {
                break
            }
            start = current.end
            current = there[on]
        }
        return (current.end, current, start)
    }

    /// Whether two arms are the ends of one edge.
    private func isSame(_ one: JunctionArm, _ other: JunctionArm) -> Bool {
        one.leaving.map { $0 == other.arriving } ?? false || one.arriving.map { $0 == other.leaving } ?? false
    }

    /// Whether the halves go round an island and rejoin at once.
    private func isIsland(_ node: NodeIndex, _ end: NodeIndex, _ other: NodeIndex) -> Bool {
        guard end == other, end != node else { return false }
        func isSplit(_ node: NodeIndex) -> Bool {
            let arms = arms(at: node)
            guard arms.count == 3, !arms[0].road.sign.isEmpty else { return false }
            return arms.allSatisfy {
                !arms[0].road.sign.changes(to: $0.road.sign) || !$0.road.sign.changes(to: arms[0].road.sign)
            }
        }
        let (here, there) = (isSplit(node), isSplit(end))
        guard here || there else { return false }
        let gap = distance(node, end)
        return gap < (here && there ? 30 : 15)
    }

    /// Whether a road only leads to another road of the same name that passes its end.
    private func isConnection(_ arm: JunctionArm, from node: NodeIndex) -> Bool {
        let end = farEnd(of: arm, from: node)
        let there = arms(at: end.node)
        guard there.count > 2, let own = there.firstIndex(where: { isSame($0, end.arm) }) else { return false }
        let arrival = circle(there[own].bearing + 180)
        func angle(_ index: Int) -> Double { intersectionAngle(arrival, there[index].bearing) }
        let named = there.indices.filter {
            $0 != own && there[$0].road.sign.isSame(as: arm.road.sign)
        }
        guard let next = named.min(by: { abs(angle($0) - 180) < abs(angle($1) - 180) }) else { return false }
        let wanted = circle(angle(next) + 180)
        guard
            let opposite = there.indices.min(by: {
                angularGap(angle($0), wanted) < angularGap(angle($1), wanted)
            }), opposite != own, there[opposite].end != end.from
        else { return false }
        if abs(abs(angle(next) - 180) - angularGap(angle(opposite), 0)) < TurnAngles.fuzzy { return false }
        return angularGap(angle(opposite), angle(next)) >= 180 - TurnAngles.fuzzy
            && (there[next].leaving == nil) == (there[opposite].leaving == nil)
            && there[next].road.sign.isSame(as: there[opposite].road.sign)
            && there[next].road.hasSameClass(as: there[opposite].road)
    }

    /// Whether the halves split shortly before a crossing road that joins them.
    private func isNarrowTriangle(_ left: JunctionArm, _ right: JunctionArm, at node: NodeIndex) -> Bool {
        // Clockwise order: `left` comes before `right`, so from the junction it is on the left.
        guard let one = crossing(of: left, from: node, at: 90), let other = crossing(of: right, from: node, at: 270)
        else {
            return false
        }
        let start = graph.nodePositions[node.index].coordinate
        let corner = graph.nodePositions[one.node.index].coordinate
        guard Geodesy.distance(start, corner) <= 80 else { return false }
        let width = Double(max(left.road.lanes, 1) + max(right.road.lanes, 1)) * RoadOutline.laneWidth
        guard Geodesy.distance(corner, graph.nodePositions[other.node.index].coordinate) <= width + 10 else {
            return false
        }
        return farEnd(of: one.arm, from: one.node).node == other.node
    }

    /// Returns the road that crosses at the end of an arm or of the edge after it, nearest to an angle.
    private func crossing(
        of arm: JunctionArm, from node: NodeIndex, at wanted: Double
    ) -> (node: NodeIndex, arm: JunctionArm)? {
        var end = farEnd(of: arm, from: node)
        for _ in 0..<2 {
            let there = arms(at: end.node)
            guard let own = there.firstIndex(where: { isSame($0, end.arm) }) else { return nil }
            let arrival = circle(there[own].bearing + 180)
            func gap(_ index: Int, _ angle: Double) -> Double {
                angularGap(intersectionAngle(arrival, there[index].bearing), angle)
            }
            let others = there.indices.filter { $0 != own }
            guard let best = others.min(by: { gap($0, wanted) < gap($1, wanted) }) else { return nil }
            if gap(best, wanted) <= TurnAngles.narrow { return (end.node, there[best]) }
            guard let on = others.min(by: { gap($0, 180) < gap($1, 180) }) else { return nil }
            end = farEnd(of: there[on], from: end.node)
        }
        return nil
    }

    /// Whether the halves run side by side for a while.
    private func runParallel(_ one: JunctionArm, _ other: JunctionArm, from node: NodeIndex) -> Bool {
        let frame = LocalFrame(origin: graph.nodePositions[node.index].coordinate)
        let reach = 120.0
        let (left, right) = (course(one, from: node, reach, frame), course(other, from: node, reach, frame))
        guard left.length > 40, right.length > 40 else { return false }
        let joinAgain = left.points[left.points.count - 1] == right.points[right.points.count - 1]
        func samples(_ line: RoadOutline) -> [LocalPoint] {
            let length = min(line.length, reach)
            let all = stride(from: 0, through: length, by: 5).map { line.point(at: $0) }
            return joinAgain ? all : Array(all.dropFirst(all.count / 3))
        }
        let (first, second) = (samples(left), samples(right))
        guard first.count > 2, second.count > 2 else { return false }
        let (a, b) = (RoadOutline(first).direction, RoadOutline(second).direction)
        let gap = angularGap(a, b)
        guard min(gap, 180 - gap) < 10 else { return false }
        func distance(_ point: LocalPoint, _ line: [LocalPoint]) -> Double {
            var least = Double.infinity
            for index in 1..<line.count {
                let place = SegmentProjection(of: point, start: line[index - 1], end: line[index])
                least = min(least, place.distance)
            }
            return least
        }
        let apart = min(distance(first[first.count / 2], second), distance(second[second.count / 2], first))
        let lanes = Double(max(1, one.road.lanes) + max(1, other.road.lanes))
        return apart <= 0.5 * lanes * RoadOutline.laneWidth + 12
    }

    /// Returns the line of a road and of its continuations with the same name.
    private func course(
        _ arm: JunctionArm, from node: NodeIndex, _ reach: Double, _ frame: LocalFrame
    ) -> RoadOutline {
        var points: [LocalPoint] = []
        var (current, length) = (arm, 0.0)
        for _ in 0..<Self.hops {
            let piece = outline(
                current.edge, isOutwards: current.leaving != nil, frame, reach: RoadOutline.reach)
            points += points.isEmpty ? piece.points : Array(piece.points.dropFirst())
            length += current.length
            guard length < reach, current.end != node else { break }
            let there = arms(at: current.end)
            guard let own = there.firstIndex(where: { isSame($0, current) }) else { break }
            let arrival = circle(there[own].bearing + 180)
            let candidates = there.indices.filter {
                $0 != own && (there.count == 2 || there[$0].road.sign.isSame(as: arm.road.sign))
                    && angularGap(there[$0].bearing, arrival) < 100
            }
            guard candidates.count == 1 else { break }
            current = there[candidates[0]]
        }
        return RoadOutline(
            points.count > 1 ? points : [LocalPoint(east: 0, north: 0), LocalPoint(east: 0, north: 0.01)])
    }

    // MARK: Views

    /// Returns the junction at the end of an edge as its driver sees it, with or without turns; nil when the edge is not open.
    func intersection(after edge: EdgeIndex) -> Intersection? {
        if let known = intersections.find(edge.rawValue) { return known }
        guard let seen = makeIntersection(after: edge) else { return nil }
        intersections.insert(seen, at: edge.rawValue)
        return seen
    }

    /// Returns the same junction with turns from a classifier, whose result must depend on the edge alone.
    func classified(after edge: EdgeIndex, by classify: (inout Intersection) -> Void) -> Intersection? {
        let known = intersections.find(edge.rawValue)
        if let known, known.isClassified { return known }
        guard var seen = known ?? makeIntersection(after: edge) else { return nil }
        classify(&seen)
        intersections.insert(seen, at: edge.rawValue)
        return seen
    }

    private func makeIntersection(after edge: EdgeIndex) -> Intersection? {
        let node = graph.edgeHeads[edge.index]
        let arms = junction(at: node)
        guard let own = arms.indices.first(where: { arms[$0].arriving == edge }) else { return nil }
        let arrival = circle(arms[own].bearing + 180)
        let initialArrival = circle(arms[own].initialBearing + 180)
        let refused = graph.refusedTurns(from: edge, for: access)
        let isBarred = isBarred(node)
        let exits = arms.indices.count { index in arms[index].leaving.map { !refused.contains($0) } ?? false }
        let twoWay = arms.indices.count { arms[$0].arriving != nil }
        let ring = ringAngles(arms, arrival)

        var back: Intersection.Road?
        var roads: [Intersection.Road] = []
        roads.reserveCapacity(arms.count)
        for (index, arm) in arms.enumerated() {
            var angle = intersectionAngle(arrival, arm.bearing)
            let initialAngle = intersectionAngle(initialArrival, arm.initialBearing)
            var isEntry = arm.leaving.map { !refused.contains($0) } ?? false
            if index == own {
                isEntry = isEntry && (isBarred || arms.count == 1 || exits == 1 || twoWay <= 1)
                angle = 0
            } else {
                if isBarred { isEntry = false }
                if isEntry, let ring, ring.isAgainstFlow(circle(arm.bearing)) { isEntry = false }
                if isEntry, angle < 15 && initialAngle > 180 || angle > 345 && initialAngle < 180 { angle = 0 }
            }
            let road = Intersection.Road(
                leaving: arm.leaving, arriving: arm.arriving, road: arm.road, bearing: arm.bearing,
                initialBearing: arm.initialBearing, end: arm.end, angle: angle, isEntry: isEntry)
            if index == own {
                back = road
            } else if isEntry || !arm.isMerged && angle > 1e-6 {
                roads.append(road)
            }
        }
        roads.sort { ($0.angle, $0.leaving?.rawValue ?? 0) < ($1.angle, $1.leaving?.rawValue ?? 0) }
        restoreOrder(&roads, initialArrival)
        if !(roads.first.map { $0.angle < 1e-6 && $0.isEntry } ?? false), let back { roads.insert(back, at: 0) }
        return Intersection(node: node, approach: arms[own].road, roads: roads)
    }

    /// Swaps roads with nearly the same perceived direction whose first metres are in the opposite order: roads do not cross where they
    /// split, so the first metres show which one is on the left.
    private func restoreOrder(_ roads: inout [Intersection.Road], _ initialArrival: Double) {
        for index in roads.indices.dropFirst() {
            guard roads[index].angle - roads[index - 1].angle < Self.indistinct else { continue }
            let (one, other) = (roads[index - 1], roads[index])
            let gap =
                intersectionAngle(initialArrival, one.initialBearing)
                - intersectionAngle(initialArrival, other.initialBearing)
            guard gap > TurnAngles.straight, gap < 90 else { continue }
            roads.swapAt(index - 1, index)
            (roads[index - 1].angle, roads[index].angle) = (one.angle, other.angle)
        }
    }

    /// The directions of a roundabout at a node, as seen from an approach outside it.
    private struct Ring {
        var arrival: Double
        var turn: Double
        var approach: Double

        /// Whether leaving by a road means driving against the roundabout's traffic.
        func isAgainstFlow(_ bearing: Double) -> Bool {
            let angle = intersectionAngle(arrival, bearing)
            return approach < turn ? angle < approach : approach > turn && angle > approach
        }
    }

    private func ringAngles(_ arms: [JunctionArm], _ arrival: Double) -> Ring? {
        guard let into = arms.indices.first(where: { arms[$0].leaving == nil && arms[$0].road.isRoundabout }),
            let out = arms.indices.first(where: { arms[$0].leaving != nil && arms[$0].road.isRoundabout })
        else { return nil }
        let direction = circle(arms[into].bearing + 180)
        return Ring(
            arrival: direction, turn: intersectionAngle(direction, arms[out].bearing),
            approach: intersectionAngle(direction, circle(arrival + 180)))
    }
}

extension RoadOutline {
    /// The direction from the first point to the last, along the best-fitting line.
    var direction: Double { RoadOutline.bearing(points[0], points[points.count - 1]) }
}
