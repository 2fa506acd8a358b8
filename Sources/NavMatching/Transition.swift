import Glibc
import NavGeo
import NavMap
import NavRouting

/// The computation of one belief from another; owns both and the scratch memory.
struct Transition {
    private let config: MatcherConfig
    private let recordsPath: Bool
    private var finder: RoadFinder
    private var search = RouteSearch()
    private var stretches: ContiguousArray<Stretch> = []
    private var chain: ContiguousArray<TurnState> = []
    private var order: ContiguousArray<Int> = []
    private var goals: ContiguousArray<Goal> = []
    private var movements: ContiguousArray<Movement> = []
    private var bounds: ContiguousArray<Float> = []
    /// Log probability of the most probable history computed so far; paths far below it are not searched.
    private var greatest = -Double.infinity

    /// A candidate's place and the results of the searches so far.
    private struct Goal {
        var edge: EdgeIndex
        var offset: Double
        var emission: Double
        /// The sum of the probabilities of all paths to it.
        var sum = 0.0
        /// A bitmap of the sources that reach it along their own edge with such a likelihood that no search is needed.
        var settledBy: UInt64 = 0
    }

    /// The roads around the last fix.
    var hits: ContiguousArray<RoadFinder.Hit> { finder.hits }

    private(set) var current = Belief()
    /// The belief computed last; ``commit()`` makes it ``current``.
    private(set) var next = Belief()

    /// The log probability from which driving round the block cannot improve a path.
    private static let direct = -1.0

    init(_ turns: TurnGraph, config: MatcherConfig, recordsPath: Bool) {
        self.config = config
        self.recordsPath = recordsPath
        finder = RoadFinder(turns.graph)
    }

    /// Switches to another graph; places that are missing there are dropped.
    mutating func adopt(_ turns: TurnGraph, translating translation: EdgeTranslation?) {
        finder = RoadFinder(turns.graph)
        guard let translation else { return }
        current.places = ContiguousArray(current.places.compactMap { translation.place($0) })
        current.normalise()
    }

    /// Makes the belief computed last the belief of the last step.
    mutating func commit() { swap(&current, &next) }

    mutating func begin(_ prepared: PreparedFix, _ metric: Metric, _ routePrior: RoutePrior?) {
        stretches.removeAll(keepingCapacity: true)
        next.clear()
        findCandidates(prepared, metric)
        let share = log(Double(max(next.places.count, 1)))
        for index in next.places.indices {
            let hint = routePrior.map { $0.contains(next.places[index].edge) ? 0 : $0.leavingLog } ?? 0
            let best = next.places[index].emission - share + hint
            next.places[index].best = best
            next.places[index].probability = exp(best)
        }
        next.offRoadBest = config.enteringLog + config.offRoadLog
        next.offRoadProbability = exp(next.offRoadBest)
        next.normalise()
        next.number()
    }

    mutating func advance(_ prepared: PreparedFix, _ metric: Metric, _ routePrior: RoutePrior?) {
        stretches.removeAll(keepingCapacity: true)
        next.clear()
        findCandidates(prepared, metric)
        rank()
        addOffRoad(prepared)
        if !next.places.isEmpty, !current.places.isEmpty {
            addOwnEdges(prepared, routePrior)
            addRoads(prepared, metric, routePrior)
        }
        for index in next.places.indices {
            let emission = next.places[index].emission
            next.places[index].probability = goals[index].sum * exp(emission)
            next.places[index].best += emission
        }
        hold(prepared)
        next.normalise()
        next.number()
    }

    /// Returns the belief computed last as a step for ``PathTracker``.
    func step(graph: RoadGraph, isRestart: Bool) -> MatchStep {
        func parent(_ number: Int32) -> Int? { number == Belief.noParent || isRestart ? nil : Int(number) }
        var nodes = next.places.map {
            MatchStep.Node(
                edge: $0.edge, offset: $0.offset, best: $0.best, parent: parent($0.parent),
                stretches: Int($0.firstStretch)..<Int($0.firstStretch + $0.stretchCount))
        }
        nodes.append(
            MatchStep.Node(
                edge: nil, offset: 0, best: next.offRoadBest, parent: parent(next.offRoadParent), stretches: 0..<0))
        return MatchStep(graph: graph, nodes: Array(nodes), stretches: Array(stretches), isRestart: isRestart)
    }

    /// Finds the nearest places that the vehicle may be at, one per direction, with the likelihood of the fix given each.
    private mutating func findCandidates(_ prepared: PreparedFix, _ metric: Metric) {
        finder.find(prepared.frame, radius: config.radius(sigma: prepared.sigma))
        let limit = min(max(config.maximumCandidates, 0), 31)
        let emission = Emission(prepared.fix, sigma: prepared.sigma, weight: prepared.weight, config: config)
        search.removeCandidates()
        for index in finder.hits.indices where metric.allows(finder.hits[index].edge) {
            search.addCandidate(finder.hits[index].edge)
        }
        for index in finder.hits.indices {
            let opposite = finder.hits[index].opposite
            if opposite != RoadGraph.noEdge, metric.allows(opposite) { search.addCandidate(opposite) }
        }
        for hit in finder.hits {
            guard next.places.count < limit else { break }
            let bearing = atan2(hit.along.east, hit.along.north)
            let coordinate = prepared.frame.coordinate(of: hit.point)
            for isOpposite in [false, true] where !isOpposite || hit.opposite != RoadGraph.noEdge {
                var place = Place(
                    hit, isOpposite: isOpposite, bearing: Angle.normalised(isOpposite ? bearing + .pi : bearing),
                    coordinate: coordinate, origin: prepared.movementReference)
                guard metric.allows(place.edge), next.places.count < limit,
                    place.offset > 0 || !isReachedBefore(place, metric.turns.graph)
                else { continue }
                place.emission = emission.log(place)
                place.best = -.infinity
                next.places.append(place)
            }
        }
        search.removeCandidates()
        goals.removeAll(keepingCapacity: true)
        for index in next.places.indices {
            let goal = Goal(
                edge: next.places[index].edge, offset: next.places[index].offset,
                emission: next.places[index].emission)
            search.addCandidate(goal.edge)
            goals.append(goal)
        }
    }

    /// Whether the end of another candidate's edge represents the start of this one.
    ///
    /// At a junction, the end of an incoming edge is the same place as the starts of all outgoing edges, and does not presume which one
    /// follows.
    private func isReachedBefore(_ place: Place, _ graph: RoadGraph) -> Bool {
        graph.incoming(graph.edgeTails[place.edge.index]).contains {
            $0 != place.opposite && search.candidate(on: $0) != nil
        }
    }

    /// Adds the off-road transitions: leaving the roads, staying off them, returning, and jumping where no road connects.
    private mutating func addOffRoad(_ prepared: PreparedFix) {
        let share = 1 / Double(max(next.places.count, 1))
        let shareLog = log(share)
        // Leaving and rejoining roads depends on the distance driven, not on the number of fixes.
        let leaving = config.leavingProbability * prepared.weight
        let entering = config.enteringProbability * prepared.weight
        let (leavingLog, enteringLog) = (log(leaving), log(entering))
        let emission = prepared.weight * config.offRoadLog
        let arriving = share * (current.offRoadProbability * entering + exp(config.jumpLog))
        var best = current.offRoadBest + enteringLog + shareLog
        var parent = current.offRoadNode
        let top = order.first.map { (best: current.places[$0].best, node: current.places[$0].node) }
        if let top, top.best + config.jumpLog + shareLog > best {
            best = top.best + config.jumpLog + shareLog
            parent = top.node
        }
        for index in next.places.indices {
            goals[index].sum = arriving
            next.places[index].best = best
            next.places[index].parent = parent
        }
        next.offRoadProbability =
            ((1 - current.offRoadProbability) * leaving + current.offRoadProbability * (1 - entering)) * exp(emission)
        next.offRoadBest = current.offRoadBest + log(1 - entering)
        next.offRoadParent = current.offRoadNode
        if let top, top.best + leavingLog > next.offRoadBest {
            next.offRoadBest = top.best + leavingLog
            next.offRoadParent = top.node
        }
        next.offRoadBest += emission
        greatest = next.offRoadBest
        for source in held where mayBeHeld(current.places[source], prepared) {
            greatest = max(greatest, current.places[source].best + config.outlierLog)
        }
    }

    /// Adds transitions along the same edge and U-turns on it.
    private mutating func addOwnEdges(_ prepared: PreparedFix, _ routePrior: RoutePrior?) {
        movements.removeAll(keepingCapacity: true)
        for (rank, source) in order.enumerated() {
            let place = current.places[source]
            let movement = Movement(
                from: place.origin, to: prepared.movementReference, frame: prepared.frame, sigma: prepared.sigma,
                config: config)
            movements.append(movement)
            guard movement.straight <= config.maximumBridge else { continue }
            if let target = search.candidate(on: place.edge) {
                let goal = goals[target]
                let distance = goal.offset - place.offset
                if distance >= -movement.backwardTolerance {
                    let log = movement.log(distance: distance, uTurns: 0)
                    if log >= Transition.direct { goals[target].settledBy |= 1 << UInt64(rank) }
                    if improve(target, place, log, state: place.state), recordsPath {
                        stretches.append(Stretch(edge: place.edge, from: place.offset, to: goal.offset))
                        noteStretches(1, of: target)
                    }
                }
            }
            if place.opposite != RoadGraph.noEdge, let target = search.candidate(on: place.opposite) {
                let goal = goals[target]
                let mirrored = place.length - goal.offset
                let log =
                    movement.log(distance: abs(mirrored - place.offset), uTurns: 1)
                    + hint(from: place, to: place.opposite, routePrior)
                if improve(target, place, log, state: place.opposite.rawValue), recordsPath {
                    let turn = min(max(mirrored, place.offset), place.length)
                    stretches.append(Stretch(edge: place.edge, from: place.offset, to: turn))
                    stretches.append(Stretch(edge: place.opposite, from: place.length - turn, to: goal.offset))
                    noteStretches(2, of: target)
                }
            }
        }
    }

    /// Assigns the last stretches to a place.
    private mutating func noteStretches(_ count: Int, of target: Int) {
        next.places[target].firstStretch = Int32(stretches.count - count)
        next.places[target].stretchCount = Int32(count)
    }

    /// Adds paths over other roads, between all places where they may matter.
    private mutating func addRoads(_ prepared: PreparedFix, _ metric: Metric, _ routePrior: RoutePrior?) {
        var budget = config.maximumSettled
        for (rank, source) in order.enumerated() {
            let place = current.places[source]
            let movement = movements[rank]
            guard movement.straight <= config.maximumBridge else { continue }
            bounds.removeAll(keepingCapacity: true)
            let advantage = place.best - greatest - Belief.negligible
            for target in 0..<goals.count {
                let reach =
                    movement.straight + movement.scale * (advantage + goals[target].emission) - goals[target].offset
                let isSettled = goals[target].settledBy & 1 << UInt64(rank) != 0
                bounds.append(isSettled ? -1 : Float(min(reach, movement.bound)))
            }
            search.run(
                metric.turns, metric, from: place.state, toEnd: max(place.length - place.offset, 0),
                toStart: place.offset, opposite: place.opposite, uTurnCost: movement.uTurnCost, bounds: bounds,
                budget: &budget)
            for index in 0..<search.reached.count {
                let reach = search.reached[index]
                let goal = goals[reach.candidate]
                let log =
                    movement.log(distance: reach.distance + goal.offset, uTurns: reach.uTurns)
                    + hint(from: place, to: goal.edge, routePrior)
                if improve(reach.candidate, place, log, state: reach.state), recordsPath {
                    record(reach, from: place, metric.turns)
                }
            }
        }
    }

    @inline(__always)
    private func hint(from place: Place, to edge: EdgeIndex, _ routePrior: RoutePrior?) -> Double {
        guard let routePrior, routePrior.contains(place.edge), !routePrior.contains(edge) else { return 0 }
        return routePrior.leavingLog
    }

    /// Keeps the most probable places unchanged, in case the fix is an outlier.
    private mutating func hold(_ prepared: PreparedFix) {
        for source in held where mayBeHeld(current.places[source], prepared) {
            var place = current.places[source]
            place.holds += 1
            place.probability *= exp(config.outlierLog)
            place.best += config.outlierLog
            place.parent = place.node
            place.distance = prepared.frame.distance(prepared.fix.coordinate, place.coordinate)
            if recordsPath {
                stretches.append(Stretch(edge: place.edge, from: place.offset, to: place.offset))
                place.firstStretch = Int32(stretches.count - 1)
                place.stretchCount = 1
            }
            next.places.append(place)
        }
    }

    /// The places that are kept in case the fix is an outlier.
    private var held: ContiguousArray<Int>.SubSequence { order.prefix(min(max(config.maximumHeld, 0), 16)) }

    private func mayBeHeld(_ place: Place, _ prepared: PreparedFix) -> Bool {
        guard prepared.silence <= config.maximumHoldGap else { return false }
        return place.holds < config.maximumHolds
            || prepared.fix.stamp.seconds(since: place.origin.stamp) <= config.maximumHoldTime
    }

    /// Sorts the places of the last step by probability, by insertion as there are few.
    private mutating func rank() {
        order.removeAll(keepingCapacity: true)
        for index in current.places.indices {
            let best = current.places[index].best
            order.append(index)
            var hole = index
            while hole > 0, current.places[order[hole - 1]].best < best {
                order[hole] = order[hole - 1]
                hole -= 1
            }
            order[hole] = index
        }
    }

    /// Adds a path to a place; returns whether it is the most probable so far.
    private mutating func improve(_ target: Int, _ place: Place, _ log: Double, state: TurnState) -> Bool {
        goals[target].sum += place.probability * exp(log)
        let best = place.best + log
        greatest = max(greatest, best + goals[target].emission)
        guard best > next.places[target].best else { return false }
        next.places[target].best = best
        next.places[target].parent = place.node
        next.places[target].state = state
        return true
    }

    private mutating func record(_ reach: Reach, from source: Place, _ turns: TurnGraph) {
        let first = stretches.count
        chain.removeAll(keepingCapacity: true)
        let turned = search.chain(to: reach.state, into: &chain)
        if turned, source.opposite != RoadGraph.noEdge {
            stretches.append(Stretch(edge: source.edge, from: source.offset, to: source.offset))
            stretches.append(Stretch(edge: source.opposite, from: source.length - source.offset, to: source.length))
        } else {
            stretches.append(Stretch(edge: source.edge, from: source.offset, to: source.length))
        }
        for state in chain.reversed() {
            let edge = turns.edge(of: state)
            stretches.append(Stretch(edge: edge, from: 0, to: Double(turns.graph.edgeLengths[edge.index])))
        }
        stretches[stretches.count - 1].to = next.places[reach.candidate].offset
        noteStretches(stretches.count - first, of: reach.candidate)
    }
}

/// A fix with the values that every part of the computation needs.
struct PreparedFix {
    let fix: Fix
    /// Standard deviation per axis, metres.
    let sigma: Double
    /// The share of the position's evidence that is new, 0 ... 1.
    let weight: Double
    /// The local frame around the fix.
    let frame: LocalFrame
    /// The fix as a reference to measure movement from.
    let movementReference: MovementReference
    /// Seconds since the last usable fix that was neither frozen nor suspect.
    let silence: Double
}
