import NavGeo
import NavMap
import NavRouting

/// The slow, obvious reference for the fast routers: Dijkstra's search over the driven path.
///
/// It uses the roads, the list of restricted paths and the constants of the cost model, but no part of the router's turn
/// graph, prices or searches. A state is an edge, or the driven beginning of a restricted path: all of the past that
/// the list can still depend on.
final class Oracle {
    /// A state: the number of an edge or, above these, of the beginning of a restricted path.
    typealias State = Int

    let graph: RoadGraph
    let model: CostModel
    private let edgeCosts: [UInt64?]
    private let isClosedGround: [Bool]
    /// The number of edges that leave each node.
    private let exits: [Int]
    /// The number of roads at each node, including those that only lead to it or that are closed to the vehicle.
    private let roadCounts: [Int]
    /// The restricted paths, by their last edge.
    private let forbidden: [EdgeIndex: [[EdgeIndex]]]
    private var beginnings: [[EdgeIndex]] = []
    private var numbers: [[EdgeIndex]: State] = [:]
    private var states: [EdgeIndex: [State]] = [:]
    /// Whether each edge occurs in a restricted path after its start.
    private let inside: [Bool]
    /// The cost of the turn from each edge into each edge that leaves its head; `.max` where it is forbidden.
    private var turnOffsets: [Int] = [0]
    private var turnCosts: [UInt64] = []

    /// - Parameter metric: the metric whose rounding applies to edges in traffic: see
    ///   ``OraclePrices/price(_:_:roundedAs:)``.
    init(
        _ roads: OracleRoads, _ model: CostModel, at departure: LocalTime? = nil,
        traffic: TrafficOverlay = TrafficOverlay(), excluding excluded: Set<EdgeIndex> = [],
        roundedAs metric: Metric? = nil
    ) {
        let graph = roads.graph
        let prices = OraclePrices(model, departure, traffic)
        let priced = (0..<graph.edgeCount).map { prices.price(EdgeIndex($0), roads, roundedAs: metric) }
        let edgeCosts = priced.indices.map { excluded.contains(EdgeIndex($0)) ? nil : priced[$0].cost }
        let paths = graph.restrictions.filter { $0.holds(for: model.profile.access, at: departure) }.map(\.path)
        var inside = [Bool](repeating: false, count: graph.edgeCount)
        for path in paths { for edge in path.dropFirst() { inside[edge.index] = true } }
        self.graph = graph
        self.model = model
        self.edgeCosts = edgeCosts
        isClosedGround = priced.map(\.isClosedGround)
        exits = (0..<graph.nodeCount).map { node in
            graph.outgoing(NodeIndex(node)).filter { edgeCosts[$0.index] != nil }.count
        }
        roadCounts = (0..<graph.nodeCount).map { node in
            let node = NodeIndex(node)
            return graph.outgoing(node).count + graph.incoming(node).filter { graph.opposite($0) == nil }.count
        }
        forbidden = Dictionary(grouping: paths) { $0[$0.count - 1] }
        self.inside = inside
        for path in paths {
            for length in 2..<max(path.count, 2) where numbers[Array(path[..<length])] == nil {
                let state = graph.edgeCount + beginnings.count
                numbers[Array(path[..<length])] = state
                beginnings.append(Array(path[..<length]))
                states[path[length - 1], default: []].append(state)
            }
        }
        turnOffsets.reserveCapacity(graph.edgeCount + 1)
        for edge in 0..<graph.edgeCount {
            for next in graph.outgoing(graph.edgeHeads[edge]) {
                turnCosts.append(price(EdgeIndex(edge), next) ?? .max)
            }
            turnOffsets.append(turnCosts.count)
        }
    }

    var stateCount: Int { graph.edgeCount + beginnings.count }

    func allows(_ edge: EdgeIndex) -> Bool { edgeCosts[edge.index] != nil }

    /// Returns the places, among some on roads sorted by distance, to which a waypoint snaps: those on the nearest
    /// road, or on the roads that meet at the nearest point. A residents' track is skipped for a street up to 30 m
    /// farther, unless the waypoint is a vehicle.
    func places(_ waypoint: Waypoint, _ hits: [EdgeProjection]) -> [EdgeProjection] {
        func isClosedTrack(_ hit: EdgeProjection) -> Bool {
            graph.traits(of: hit.edge).roadClass == .track && isClosedGround[hit.edge.index]
        }
        guard var first = hits.first else { return [] }
        if waypoint.bearing == nil, isClosedTrack(first) {
            let street = hits.first { hit in
                ![.motorway, .trunk, .ferry].contains(graph.traits(of: hit.edge).roadClass) && !isClosedTrack(hit)
            }
            if let street, street.distance <= first.distance + 30 { first = street }
        }
        return hits.filter {
            $0.edge == first.edge || graph.opposite(first.edge) == $0.edge
                || ($0.distance - first.distance < 0.1 && Geodesy.distance($0.coordinate, first.coordinate) < 0.1)
        }
    }

    func edge(of state: State) -> EdgeIndex {
        state < graph.edgeCount ? EdgeIndex(state) : beginnings[state - graph.edgeCount].last ?? RoadGraph.noEdge
    }

    /// Returns the states on an edge.
    func states(on edge: EdgeIndex) -> [State] { [edge.index] + (states[edge] ?? []) }

    /// Returns the cost of a part of an edge that may be driven, ms.
    func part(_ edge: EdgeIndex, _ start: Double, _ end: Double) -> UInt64 {
        let length = Double(graph.edgeLengths[edge.index])
        guard length > 0, let whole = edgeCosts[edge.index] else { return 0 }
        return UInt64((Double(whole) * min(max((min(end, length) - start) / length, 0), 1)).rounded())
    }

    /// Returns the state after continuing into an edge; nil when that completes a restricted path.
    func follow(_ state: State, _ next: EdgeIndex) -> State? {
        guard inside[next.index] else { return next.index }
        let driven = (state < graph.edgeCount ? [EdgeIndex(state)] : beginnings[state - graph.edgeCount]) + [next]
        if completesRestriction(driven) { return nil }
        for start in 0..<(driven.count - 1) {
            if let number = numbers[Array(driven[start...])] { return number }
        }
        return next.index
    }

    func completesRestriction(_ driven: [EdgeIndex]) -> Bool {
        guard let last = driven.last, let paths = forbidden[last] else { return false }
        return paths.contains { driven.suffix($0.count).elementsEqual($0) }
    }

    /// Returns the cost of the turn from one edge into the next, ms; nil where it is forbidden: through a barrier, and
    /// a U-turn elsewhere than at a dead end, barrier or turning circle.
    func turnCost(_ first: EdgeIndex, _ second: EdgeIndex) -> UInt64? {
        guard let place = graph.outgoing(graph.edgeHeads[first.index]).enumerated().first(where: { $1 == second })
        else { return nil }
        let cost = turnCosts[turnOffsets[first.index] + place.offset]
        return cost == .max ? nil : cost
    }

    private func price(_ first: EdgeIndex, _ second: EdgeIndex) -> UInt64? {
        guard allows(first), allows(second) else { return nil }
        let node = graph.edgeHeads[first.index]
        let flags = graph.nodeFlags[node.index]
        let isBack = graph.opposite(first) == second
        let isBarred =
            flags.contains(.impassable) || model.profile.kind == .truck && flags.contains(.truckImpassable)
            || isTooBig(for: graph.sizeLimits(of: node))
        if isBarred, !isBack { return nil }
        let isDeadEnd = exits[node.index] == 1 && !graph.lacksDepartures(node)
        if isBack, !isDeadEnd, !isBarred, !flags.contains(.turningCircle) { return nil }
        if !isBack, crossesRoundabout(first, second, at: node) { return nil }
        var seconds = flags.contains(.trafficSignals) ? 2.0 : 0
        if flags.contains(.tollBooth) || flags.contains(.gate) { seconds += 15 }
        if isBack {
            seconds += 20
        } else if roadCounts[node.index] > 2 {
            let angle = graph.turnAngle(first, second)
            let left = graph.traits(of: first).flags.contains(.leftHandTraffic)
            seconds += CostModel.turnDuration(angle: angle, leftHandTraffic: left)
        }
        let isPrivate = flags.contains(model.profile.kind == .truck ? .truckPrivateGate : .privateGate)
        let isOutside = !isClosedGround[first.index]
        let penalty = isOutside && (isClosedGround[second.index] || isPrivate && !isBack) ? 450.0 : 0
        return UInt64(((seconds + penalty) * 1_000).rounded())
    }

    private func isTooBig(for limits: SizeLimits) -> Bool {
        let profile = model.profile
        let sizes = [
            (profile.height, limits.height), (profile.width, limits.width), (profile.length, limits.length),
            (profile.weight, limits.weight), (profile.axleLoad, limits.axleLoad),
        ]
        return sizes.contains { own, limit in
            if let own, let limit { own > limit } else { false }
        }
    }

    /// Whether a vehicle would leave a roundabout at its node of entry, by a road that circulating traffic passes
    /// first.
    private func crossesRoundabout(_ first: EdgeIndex, _ second: EdgeIndex, at node: NodeIndex) -> Bool {
        func isRound(_ edge: EdgeIndex) -> Bool { graph.traits(of: edge).flags.contains(.roundabout) }
        guard !isRound(first), !isRound(second), let inward = graph.incoming(node).first(where: isRound),
            let onward = graph.outgoing(node).last(where: { isRound($0) && allows($0) })
        else { return false }
        // Clockwise from the direction from which the circulating traffic comes.
        let origin = Double(graph.edgeEndBearings[inward.index]) + .pi
        func place(_ bearing: Double) -> Double { Angle.normalised(bearing - origin) }
        let approach = place(Double(graph.edgeEndBearings[first.index]) + .pi)
        let exit = place(Double(graph.edgeStartBearings[second.index]))
        let ahead = place(Double(graph.edgeStartBearings[onward.index]))
        return approach < ahead ? exit < approach : approach > ahead && exit > approach
    }
}

extension Oracle {
    /// A start of a search.
    struct Seed {
        var edge: EdgeIndex
        var offset: Double
        /// The cost up to this place, ms.
        var cost: UInt64 = 0
        /// The driven part of a restricted path; nil for the edge alone.
        var state: State?
    }

    /// The least costs from some places to the end of every state's edge, in reusable memory.
    final class Tree {
        fileprivate(set) var seeds: [Seed] = []
        /// The costs within the surroundings of the start, then those beyond; `.max` where unreachable.
        fileprivate var costs: [UInt64] = []
        fileprivate var touched: [Int] = []
        fileprivate var heap = KeyedHeap()

        fileprivate func begin(_ count: Int) {
            for key in touched where key < costs.count { costs[key] = .max }
            touched.removeAll(keepingCapacity: true)
            if costs.count != count { costs = [UInt64](repeating: .max, count: count) }
            heap.removeAll()
        }

        fileprivate func improve(_ key: Int, _ cost: UInt64) {
            guard cost < costs[key] else { return }
            if costs[key] == .max { touched.append(key) }
            costs[key] = cost
            heap.push(cost, key)
        }
    }

    /// Searches from some places to all states, or until a state is reached or a cost is exceeded.
    ///
    /// - Parameter surroundings: the area in which each maneuver costs two minutes more.
    func search(
        _ tree: Tree, from seeds: [Seed], surroundings: (centre: Coordinate, radius: Double)? = nil,
        until goal: State? = nil, limit: UInt64 = .max
    ) {
        let count = stateCount
        tree.begin(count * 2)
        tree.seeds = seeds.filter { allows($0.edge) }
        for seed in tree.seeds {
            tree.improve(seed.state ?? seed.edge.index, seed.cost + part(seed.edge, seed.offset, .infinity))
        }
        while let (cost, key) = tree.heap.pop() {
            guard tree.costs[key] == cost else { continue }
            if cost > limit { return }
            let state = key % count
            if state == goal { return }
            let edge = edge(of: state)
            let node = graph.edgeHeads[edge.index]
            let isNear = key < count && surroundings.map { self.isNear(node, $0) } ?? false
            if key < count, !isNear {
                tree.costs[key] = .max
                tree.improve(count + state, cost)
                continue
            }
            var slot = turnOffsets[edge.index]
            for next in graph.outgoing(node) {
                defer { slot += 1 }
                guard turnCosts[slot] != .max, let whole = edgeCosts[next.index], let onward = follow(state, next)
                else { continue }
                let extra = isNear ? maneuverCost(edge, next) : 0
                tree.improve((isNear ? 0 : count) + onward, cost + turnCosts[slot] + extra + whole)
            }
        }
    }

    private func isNear(_ node: NodeIndex, _ surroundings: (centre: Coordinate, radius: Double)) -> Bool {
        LocalFrame(origin: surroundings.centre).point(graph.nodePositions[node.index].coordinate).length
            <= surroundings.radius
    }

    private func maneuverCost(_ first: EdgeIndex, _ second: EdgeIndex) -> UInt64 {
        let angle = Angle.separation(
            Double(graph.edgeEndBearings[first.index]), Double(graph.edgeStartBearings[second.index]))
        let isManeuver =
            graph.opposite(first) == second || roadCounts[graph.edgeHeads[first.index].index] > 2 && angle > .pi / 6
        return isManeuver ? 120_000 : 0
    }

    /// Returns the least cost to the end of a state's edge.
    func cost(_ tree: Tree, _ state: State) -> UInt64? {
        let cost = min(tree.costs[state], tree.costs[stateCount + state])
        return cost == .max ? nil : cost
    }

    /// Returns the least costs to a place, by the state of arrival.
    func costs(_ tree: Tree, to edge: EdgeIndex, at offset: Double) -> [State: UInt64] {
        guard allows(edge) else { return [:] }
        var result: [State: UInt64] = [:]
        for seed in tree.seeds where seed.edge == edge && seed.offset <= offset {
            let state = seed.state ?? edge.index
            result[state] = min(result[state] ?? .max, seed.cost + part(edge, seed.offset, offset))
        }
        let tail = part(edge, 0, offset)
        for before in graph.incoming(graph.edgeTails[edge.index]) {
            guard let turn = turnCost(before, edge) else { continue }
            for state in states(on: before) {
                guard let reached = follow(state, edge) else { continue }
                for (layer, extra) in [(0, maneuverCost(before, edge)), (stateCount, 0)] {
                    let cost = tree.costs[layer + state]
                    guard cost != .max else { continue }
                    result[reached] = min(result[reached] ?? .max, cost + turn + extra + tail)
                }
            }
        }
        return result
    }

    /// Returns the departures from a reached waypoint. From a stop the vehicle departs in the direction of its arrival
    /// or, for 20 s, after a U-turn, and the previous path no longer matters; at a pass-through point it continues.
    func departures(_ places: [EdgeProjection], _ tree: Tree, isStop: Bool) -> [Seed] {
        var seeds: [Seed] = []
        for place in places {
            let arrivals = costs(tree, to: place.edge, at: place.offset)
            if !isStop {
                for (state, cost) in arrivals.sorted(by: { $0.key < $1.key }) {
                    seeds.append(Seed(edge: place.edge, offset: place.offset, cost: cost, state: state))
                }
                continue
            }
            if let least = arrivals.values.min() {
                seeds.append(Seed(edge: place.edge, offset: place.offset, cost: least))
            }
            for back in places where graph.opposite(place.edge) == back.edge {
                guard let cost = cost(tree, to: back.edge, at: back.offset) else { continue }
                seeds.append(Seed(edge: place.edge, offset: place.offset, cost: cost + 20_000))
            }
        }
        return seeds
    }

    /// Returns the least cost to a place.
    func cost(_ tree: Tree, to edge: EdgeIndex, at offset: Double) -> UInt64? {
        costs(tree, to: edge, at: offset).values.min()
    }
}

/// A binary heap of keys by cost; keys below 2^24.
private struct KeyedHeap {
    private var entries: [UInt64] = []

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    mutating func push(_ cost: UInt64, _ key: Int) {
        let entry = cost << 24 | UInt64(key)
        entries.append(entry)
        var child = entries.count - 1
        while child > 0, entries[(child - 1) / 2] > entry {
            entries[child] = entries[(child - 1) / 2]
            child = (child - 1) / 2
        }
        entries[child] = entry
    }

    mutating func pop() -> (UInt64, Int)? {
        guard let first = entries.first, let moved = entries.popLast() else { return nil }
        if !entries.isEmpty {
            var parent = 0
            while 2 * parent + 1 < entries.count {
                var child = 2 * parent + 1
                if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
                guard entries[child] < moved else { break }
                entries[parent] = entries[child]
                parent = child
            }
            entries[parent] = moved
        }
        return (first >> 24, Int(first & 0xFF_FFFF))
    }
}
