import Glibc
import NavGeo
import NavMap
import NavRouting

/// Computes the next belief; owns the scratch memory.
struct Transition {
    private let config: MatcherConfig
    private let recordsPath: Bool
    private var search = RouteSearch()
    private var stretches: ContiguousArray<Stretch> = []
    private var chain: ContiguousArray<TurnState> = []
    private var sums: ContiguousArray<LogSum> = []
    private var order: ContiguousArray<Int> = []

    init(config: MatcherConfig, recordsPath: Bool) {
        self.config = config
        self.recordsPath = recordsPath
    }

    /// Makes room for a graph.
    mutating func prepare(_ turns: TurnGraph) { search.prepare(turns) }

    /// The belief from one fix alone.
    mutating func first(
        fix: Fix, sigma: Double, motion: MotionState, metric: Metric, routePrior: RoutePrior?
    ) -> Belief {
        stretches.removeAll(keepingCapacity: true)
        var belief = Belief()
        belief.places = candidates(fix, sigma: sigma, origin: motion.waymark(fix), metric: metric)
        let emission = Emission(fix, sigma: sigma, config: config)
        let share = log(Double(max(belief.places.count, 1)))
        for index in belief.places.indices {
            let place = belief.places[index]
            let hint = routePrior.map { $0.contains(place.edge) ? 0 : $0.leavingLog } ?? 0
            belief.places[index].forward = emission.log(place) - share + hint
            belief.places[index].best = belief.places[index].forward
        }
        belief.offRoadForward = config.enteringLog + config.offRoadLog
        belief.offRoadBest = belief.offRoadForward
        belief.normalise()
        return belief
    }

    /// The belief after one more fix.
    mutating func next(
        after before: Belief, fix: Fix, sigma: Double, motion: MotionState, metric: Metric, routePrior: RoutePrior?
    ) -> Belief {
        stretches.removeAll(keepingCapacity: true)
        var after = Belief()
        after.places = candidates(fix, sigma: sigma, origin: motion.waymark(fix), metric: metric)
        sums.removeAll(keepingCapacity: true)
        sums.append(contentsOf: repeatElement(LogSum(), count: after.places.count))
        for index in after.places.indices { after.places[index].best = -.infinity }
        addOffRoad(before, &after)
        if !after.places.isEmpty {
            addRoads(before, &after, motion.waymark(fix), sigma: sigma, metric, routePrior)
        }
        let emission = Emission(fix, sigma: sigma, config: config)
        for index in after.places.indices {
            let log = emission.log(after.places[index])
            after.places[index].forward = sums[index].value + log
            after.places[index].best += log
        }
        hold(before, &after, fix)
        after.normalise()
        return after
    }

    /// The step that ``PathTracker`` needs of the belief computed last.
    func step(_ belief: Belief, graph: RoadGraph, isRestart: Bool) -> MatchStep {
        func parent(_ number: Int) -> Int? { number == Belief.noParent || isRestart ? nil : number }
        var nodes = belief.places.map {
            MatchStep.Node(
                edge: $0.edge, offset: $0.offset, best: $0.best, parent: parent($0.parent), stretches: $0.stretches)
        }
        nodes.append(
            MatchStep.Node(
                edge: nil, offset: 0, best: belief.offRoadBest, parent: parent(belief.offRoadParent), stretches: 0..<0))
        return MatchStep(graph: graph, nodes: Array(nodes), stretches: Array(stretches), isRestart: isRestart)
    }

    /// The nearest places that the vehicle may be at, each direction on its own.
    private mutating func candidates(_ fix: Fix, sigma: Double, origin: Waymark, metric: Metric) -> ContiguousArray<
        Place
    > {
        let graph = metric.turns.graph
        var hits = graph.edges(near: fix.coordinate, radius: config.radius(sigma: sigma))
        hits.removeAll { !metric.allows($0.edge) }
        search.setCandidates(hits.lazy.map(\.edge))
        // At a junction the end of the edge that leads there stands for the starts of all that leave it: the same place, and no guess yet.
        hits.removeAll { hit in
            guard hit.offset <= 0 else { return false }
            let opposite = graph.edgeOpposites[hit.edge.index]
            return graph.incoming(graph.edgeTails[hit.edge.index]).contains {
                $0 != opposite && search.candidate(on: $0) != nil
            }
        }
        let places = ContiguousArray(hits.prefix(min(config.maximumCandidates, 31)).map { Place($0, origin: origin) })
        search.setCandidates(places.lazy.map(\.edge))
        return places
    }

    /// Leaving the roads, staying away from them, coming back, and jumping where nothing leads.
    private mutating func addOffRoad(_ before: Belief, _ after: inout Belief) {
        var onRoad = LogSum()
        var best = Belief.noParent
        for (index, place) in before.places.enumerated() {
            onRoad.add(place.forward)
            if best == Belief.noParent || place.best > before.places[best].best { best = index }
        }
        let offRoad = before.places.count
        let share = log(Double(max(after.places.count, 1)))
        for index in after.places.indices {
            sums[index].add(before.offRoadForward + config.enteringLog - share)
            sums[index].add(config.jumpLog - share)
            after.places[index].best = before.offRoadBest + config.enteringLog - share
            after.places[index].parent = offRoad
            if best != Belief.noParent, before.places[best].best + config.jumpLog - share > after.places[index].best {
                after.places[index].best = before.places[best].best + config.jumpLog - share
                after.places[index].parent = best
            }
        }
        var sum = LogSum()
        sum.add(onRoad.value + config.leavingLog)
        sum.add(before.offRoadForward + config.stayingOffLog)
        after.offRoadForward = sum.value + config.offRoadLog
        after.offRoadBest = before.offRoadBest + config.stayingOffLog
        after.offRoadParent = offRoad
        if best != Belief.noParent, before.places[best].best + config.leavingLog > after.offRoadBest {
            after.offRoadBest = before.places[best].best + config.leavingLog
            after.offRoadParent = best
        }
        after.offRoadBest += config.offRoadLog
    }

    /// Driving on by road, from every place to every place.
    private mutating func addRoads(
        _ before: Belief, _ after: inout Belief, _ now: Waymark, sigma: Double, _ metric: Metric,
        _ routePrior: RoutePrior?
    ) {
        let graph = metric.turns.graph
        var budget = config.maximumSettled
        rank(before)
        for source in order {
            let place = before.places[source]
            let movement = Movement(from: place.origin, to: now, sigma: sigma, config: config)
            guard movement.straight <= config.maximumBridge else { continue }
            let length = Double(graph.edgeLengths[place.edge.index])
            let leaves = routePrior.map { $0.contains(place.edge) } ?? false
            func hint(_ edge: EdgeIndex) -> Double {
                guard leaves, let routePrior, !routePrior.contains(edge) else { return 0 }
                return routePrior.leavingLog
            }
            if let target = search.candidate(on: place.edge) {
                let distance = after.places[target].offset - place.offset
                if distance >= -movement.backwardTolerance {
                    let log = movement.log(distance: distance, uTurns: 0)
                    if improve(&after, target, place, source, log, state: place.state), recordsPath {
                        stretches.append(
                            Stretch(edge: place.edge, from: place.offset, to: after.places[target].offset))
                        after.places[target].stretches = (stretches.count - 1)..<stretches.count
                    }
                }
            }
            if let opposite = graph.opposite(place.edge), let target = search.candidate(on: opposite) {
                let mirrored = length - after.places[target].offset
                let log = movement.log(distance: abs(mirrored - place.offset), uTurns: 1) + hint(opposite)
                if improve(&after, target, place, source, log, state: opposite.rawValue), recordsPath {
                    let turn = min(max(mirrored, place.offset), length)
                    stretches.append(Stretch(edge: place.edge, from: place.offset, to: turn))
                    stretches.append(
                        Stretch(edge: opposite, from: length - turn, to: after.places[target].offset))
                    after.places[target].stretches = (stretches.count - 2)..<stretches.count
                }
            }
            search.run(
                metric.turns, metric, from: place.state, toEnd: max(length - place.offset, 0), toStart: place.offset,
                uTurnCost: movement.uTurnCost, bound: movement.bound, count: after.places.count, budget: &budget)
            for reach in search.reached {
                let target = reach.candidate
                let distance = reach.distance + after.places[target].offset
                let log =
                    movement.log(distance: distance, uTurns: reach.uTurns) + hint(after.places[target].edge)
                if improve(&after, target, place, source, log, state: reach.state), recordsPath {
                    record(reach, from: place, length: length, metric.turns, &after.places[target])
                }
            }
        }
    }

    /// The most probable places once more, as they were, for the case that the fix tells nothing.
    private mutating func hold(_ before: Belief, _ after: inout Belief, _ fix: Fix) {
        rank(before)
        for source in order.prefix(config.maximumHeld) {
            var place = before.places[source]
            guard
                place.holds < config.maximumHolds
                    || fix.stamp.seconds(since: place.origin.stamp) <= config.maximumHoldTime
            else { continue }
            place.holds += 1
            place.forward += config.outlierLog
            place.best += config.outlierLog
            place.parent = source
            place.distance = Geodesy.distance(fix.coordinate, place.coordinate)
            stretches.append(Stretch(edge: place.edge, from: place.offset, to: place.offset))
            place.stretches = (stretches.count - 1)..<stretches.count
            after.places.append(place)
        }
    }

    /// Orders places by probability.
    private mutating func rank(_ belief: Belief) {
        order.removeAll(keepingCapacity: true)
        order.append(contentsOf: belief.places.indices)
        order.sort { (belief.places[$1].best, $0) < (belief.places[$0].best, $1) }
    }

    /// Adds a way to a place; true when it is the most probable so far.
    private mutating func improve(
        _ after: inout Belief, _ target: Int, _ place: Place, _ source: Int, _ log: Double, state: TurnState
    ) -> Bool {
        sums[target].add(place.forward + log)
        guard place.best + log > after.places[target].best else { return false }
        after.places[target].best = place.best + log
        after.places[target].parent = source
        after.places[target].state = state
        return true
    }

    private mutating func record(
        _ reach: Reach, from source: Place, length: Double, _ turns: TurnGraph, _ place: inout Place
    ) {
        let first = stretches.count
        chain.removeAll(keepingCapacity: true)
        let turned = search.chain(to: reach.state, into: &chain)
        if turned, let opposite = turns.graph.opposite(source.edge) {
            stretches.append(Stretch(edge: source.edge, from: source.offset, to: source.offset))
            stretches.append(Stretch(edge: opposite, from: length - source.offset, to: length))
        } else {
            stretches.append(Stretch(edge: source.edge, from: source.offset, to: length))
        }
        for state in chain.reversed() {
            let edge = turns.edge(of: state)
            stretches.append(Stretch(edge: edge, from: 0, to: Double(turns.graph.edgeLengths[edge.index])))
        }
        stretches[stretches.count - 1].to = place.offset
        place.stretches = first..<stretches.count
    }
}

/// How likely a fix is from a place.
struct Emission {
    private let sigma: Double
    private let course: Double?
    private let courseSigma: Double

    /// Beyond this many standard deviations the likelihood falls as of a distribution with a heavier tail: reflections in streets.
    private static let tail = 4.0
    /// Least log likelihood of a course: receivers turn round at times.
    private static let courseFloor = -7.0

    init(_ fix: Fix, sigma: Double, config: MatcherConfig) {
        self.sigma = sigma
        let speed = fix.usableSpeed
        course = (speed ?? 0) >= config.courseSpeed ? fix.usableCourse : nil
        // Roads bend between their nodes and lanes change: 12 degrees at speed, more when slow.
        courseSigma = Angle.radians(12 + 60 / max(speed ?? 1, 1))
    }

    func log(_ place: Place) -> Double {
        let deviation = place.distance / sigma
        var log =
            deviation <= Emission.tail
            ? -deviation * deviation / 2 : -Emission.tail * (deviation - Emission.tail / 2)
        if let course {
            let angle = Angle.separation(course, place.bearing) / courseSigma
            log += max(-angle * angle / 2, Emission.courseFloor)
        }
        return log
    }
}

/// How likely a way is, given the movement between two fixes.
struct Movement {
    /// Metres between the fixes.
    let straight: Double
    /// Metres that a place may seem to go back by noise.
    let backwardTolerance: Double
    /// Metres that a turn counts as in comparing ways.
    let uTurnCost: Float
    /// Metres beyond which a way is less likely than a jump.
    let bound: Float

    private let scale: Double
    private let uTurnLog: Double
    private let expected: (distance: Double, sigma: Double)?
    private let possible: Double

    /// Least log likelihood of a distance against the reported speeds: they lag, and wheels and receivers disagree.
    private static let speedFloor = -6.0

    init(from origin: Waymark, to now: Waymark, sigma: Double, config: MatcherConfig) {
        straight = Geodesy.distance(origin.coordinate, now.coordinate)
        scale = config.detourScale + config.detourGrowth * straight
        backwardTolerance = 3 * sigma
        uTurnLog = config.uTurnLog
        uTurnCost = Float(-config.uTurnLog * scale)
        possible = config.maximumSpeed * max(now.stamp.seconds(since: origin.stamp), 0) + 6 * sigma
        bound = Float(min(straight - config.jumpLog * scale, config.maximumBridge * 2, possible))
        if origin.gaps == now.gaps {
            let travelled = now.travelled - origin.travelled
            expected = (travelled, 0.1 * travelled + sigma)
        } else {
            expected = nil
        }
    }

    func log(distance: Double, uTurns: Int) -> Double {
        guard distance <= possible else { return -.infinity }
        var log = -abs(distance - straight) / scale + Double(uTurns) * uTurnLog
        if let expected {
            let deviation = (distance - expected.distance) / expected.sigma
            log += max(-deviation * deviation / 2, Movement.speedFloor)
        }
        return log
    }
}
