import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting

/// Dead reckoning along the roads: moves a place by a distance along the route, or without a route as straight as the
/// roads allow.
///
/// The distance comes from the odometer while wheel speed is available. Without it, the distance is that of a model
/// vehicle with the driver's pace on these roads. The last measured deviation of the real vehicle from that speed
/// decays over time. The deviation is an Ornstein-Uhlenbeck process, and its integral is the uncertainty along the
/// road.
///
/// At a fork it follows every likely branch with its probability. The vehicle's measured turning updates the
/// probabilities; without it they stay unchanged.
struct RoadReckoner: Sendable {
    /// One of the paths that the vehicle may have taken.
    struct Branch: Sendable {
        var place: RoadPlace
        /// Probability that the vehicle is on it.
        var probability: Double
        /// Whether every exit so far was the route's.
        var followsRoute: Bool
        var isAtEnd = false
        /// Direction of the road before this edge, at its end, radians clockwise from north; nil on the first.
        var entryBearing: Double?
        /// The edges before this one, the last first, as far as they are remembered.
        var trail = SIMD4<UInt32>(repeating: Branch.unknown)

        static let unknown = UInt32.max
    }

    /// The remaining branches, with the published one first.
    private(set) var branches: ContiguousArray<Branch>
    /// Metres since the start.
    private(set) var distance = 0.0
    /// Speed of the published branch, m/s.
    private(set) var speed: Double
    /// A model vehicle with usual driving behaviour.
    private var model: SpeedModel
    /// The relative deviation of the real speed from the model's: the last observed, and the last comparable one.
    ///
    /// Outside of tunnels the last hindrance is assumed to continue; in a tunnel only the driver's pace matters.
    private var deviationSeen: (last: Double, comparable: Double)
    private var deviation: Double
    /// The deviation including the momentary excess, which fades faster.
    private var excess: Double
    /// The share of the initial uncertainty about the deviation that the speed's variance does not yet include.
    private var unsettled: Double

    /// Variance along the road, covariance with the speed, and the speed's variance.
    private var alongVariance: Double
    private var alongSpeed = 0.0
    private var speedVariance: Double
    /// Relative uncertainty of the odometer's scale; `odometerDistance` is the metres driven by the odometer.
    private var scaleSigma = 0.0
    private var odometerDistance = 0.0
    /// The course minus the road's direction while there is only one branch: the offset of sensor and map, radians.
    private var misalignment: Double?
    /// Whether the vehicle's turning is measured, so that unlikely branches are worth following for a while.
    private var seesTurns = false
    /// Seconds predicted without odometry since the start.
    private var age = 0.0

    /// The share of the driven distance by which mapped geometry differs from the lane.
    private static let mapShare = 0.003
    /// Noise of the odometer, metres per square root of metre.
    private static let odometerNoise = 0.05
    /// Speed below which a vehicle counts as stationary when its fixes end, m/s.
    private static let standingSpeed = 1.0
    /// The minimum standard deviation of a measured speed, m/s.
    private static let initialSpeedSigma = 0.3
    /// The smallest ratio of the real speed to the model's.
    private static let leastRatio = 0.01
    /// The time for which the last measured acceleration may continue, seconds.
    private static let accelerationTime = 0.5
    /// The time that a vehicle takes to reach its steady speed, seconds.
    private static let gatheringTime = 5.0
    /// The time after which hindrances, bends and junctions make a speed independent of the earlier one outside of
    /// tunnels, seconds.
    private static let hindranceTime = 20.0
    /// The largest deceleration that is assumed without a measurement, m/s².
    private static let braking = 2.5
    /// The maximum number of branches, without and with measured turning.
    private static let maximumBranches = (blind: 6, seeing: 12)
    /// The probability, relative to the published branch, below which a branch is dropped, without and with measured turning.
    private static let negligible = (blind: 0.01, seeing: 0.0001)
    /// The factor by which another branch must be likelier than the published one to replace it, which prevents flapping.
    private static let clarity = 2.0
    /// Standard deviation between the vehicle's turning and the bend of the mapped road, radians.
    private static let bendSigma = 0.12
    /// The distance after which that error is independent, metres.
    private static let bendDistance = 20.0
    /// Metres over which the misalignment is averaged.
    private static let alignmentDistance = 50.0
    /// The largest log-likelihood change that one observation of the turning may cause.
    private static let mostTurnEvidence = 2.0

    /// - Parameters:
    ///   - ways: The possible places with their probabilities, the published one first; at least one.
    ///   - speed: The last measured speed, m/s; `speedSigma` is its standard deviation.
    ///   - model: The model vehicle at this place.
    ///   - intoTunnel: Whether the vehicle is in or just before a tunnel when its fixes end.
    init(
        _ ways: ContiguousArray<Branch>, alongSigma: Double, speed: Double, speedSigma: Double, model: SpeedModel,
        intoTunnel: Bool
    ) {
        branches = ways
        self.speed = max(speed, 0)
        self.model = model
        deviationSeen = (model.ratio(of: max(speed, 0)) - 1, model.deviation.mean)
        if intoTunnel {
            deviation = deviationSeen.comparable
            unsettled = model.deviation.unknown
            // A vehicle that is slower than its steady speed accelerates from its current speed.
            let expected = max(speed, 0) / (1 + deviation)
            if expected < model.speed ?? 0 { self.model.take(expected) }
        } else {
            (deviation, unsettled) = (deviationSeen.last, 0)
        }
        excess = self.model.ratio(of: max(speed, 0)) - 1
        alongVariance = alongSigma * alongSigma
        let change = model.acceleration * RoadReckoner.accelerationTime
        let initial = max(speedSigma, RoadReckoner.initialSpeedSigma)
        speedVariance = initial * initial + change * change
    }

    private var negligible: Double {
        seesTurns ? RoadReckoner.negligible.seeing : RoadReckoner.negligible.blind
    }
    private var maximumBranches: Int {
        seesTurns ? RoadReckoner.maximumBranches.seeing : RoadReckoner.maximumBranches.blind
    }

    var place: RoadPlace { branches[0].place }
    /// Probability of the published branch.
    var probability: Double { branches[0].probability }
    /// Whether every exit of the published branch was the route's.
    var followsRoute: Bool { branches[0].followsRoute }

    /// Standard deviation along the road, metres.
    var alongSigma: Double {
        let odometer = scaleSigma * odometerDistance
        let map = RoadReckoner.mapShare * distance
        return (max(alongVariance, 0) + odometer * odometer + map * map).squareRoot()
    }
    /// Standard deviation of the speed, m/s.
    var speedSigma: Double { max(speedVariance, 0).squareRoot() }

    // MARK: Moving

    /// Advances by an odometer distance.
    mutating func advance(odometer metres: Double, speed: Double, scaleSigma: Double, _ ahead: RoadAhead) {
        self.scaleSigma = scaleSigma
        odometerDistance += abs(metres)
        alongVariance += RoadReckoner.odometerNoise * RoadReckoner.odometerNoise * abs(metres)
        self.speed = max(speed, 0)
        speedVariance = RoadReckoner.initialSpeedSigma * RoadReckoner.initialSpeedSigma
        alongSpeed = 0
        if !ahead.isTunnel(place.edge) {
            // Faster wheels show that the hindrance from before the outage has ended.
            let freed = min(self.speed / ahead.speed(at: place, model.pace).expected, 1) - 1
            deviation = max(deviation, freed)
            deviationSeen.last = max(deviationSeen.last, freed)
        }
        // Without further measurements, the model vehicle continues from this speed, not from the one before the outage.
        excess = deviation
        model.take(self.speed / max(1 + deviation, RoadReckoner.leastRatio))
        move(max(metres, 0), ahead)
    }

    /// Advances by the distance that the roads and the driver's pace suggest.
    mutating func advance(seconds: Double, config: MotionConfig, _ ahead: RoadAhead) {
        var rest = min(max(seconds, 0), config.maximumPrediction)
        while rest > 0 {
            let step = min(rest, 1)
            rest -= step
            age += step
            let inTunnel = ahead.isTunnel(place.edge)
            let free = ahead.freeSpeed(of: place.edge)
            let seen = inTunnel ? deviationSeen.comparable : deviationSeen.last
            let outlook = model.outlook(from: seen, onRoad: free, inTunnel: inTunnel)
            if speed >= RoadReckoner.standingSpeed {
                model.advance(step, ceiling: ahead.speed(at: place, model.pace).expected)
                let before = deviation
                deviation = outlook.excess + (deviation - outlook.excess) * exp(-step / config.expectedSpeedTime)
                excess = deviation + (excess - before) * exp(-step / RoadReckoner.hindranceTime)
                let expected = max((model.speed ?? speed) * (1 + excess), speed - RoadReckoner.braking * step)
                let next = max(expected, RoadReckoner.standingSpeed)
                move((speed + next) / 2 * step, ahead)
                speed = next
            }
            guard speed >= RoadReckoner.standingSpeed else {
                start(step, to: model.pace.speed(onRoad: free) * Standstill.startedShare)
                continue
            }
            if inTunnel { settle(step, variance: outlook.variance) }
            spread(step, sigma: speedSpread(outlook.variance, free: free, inTunnel), config, inTunnel)
        }
    }

    /// Increases the uncertainty of a stationary vehicle over a step; see ``Standstill``.
    private mutating func start(_ step: Double, to speed: Double) {
        let (before, after) = (Standstill.started(age - step, to: speed), Standstill.started(age, to: speed))
        alongVariance += max(after.place - before.place, 0)
        speedVariance += max(after.speed - before.speed, 0)
        alongSpeed = 0
    }

    /// Moves the initial uncertainty about the deviation into the speed's variance, as the vehicle reaches its steady speed.
    private mutating func settle(_ step: Double, variance: Double) {
        let settled = unsettled * (1 - exp(-step / RoadReckoner.gatheringTime))
        unsettled -= settled
        speedVariance += settled * variance * speed * speed
    }

    /// Returns the long-run standard deviation of the speed, m/s.
    ///
    /// A vehicle that slowed down for a bend returns to the road's speed after it.
    private func speedSpread(_ variance: Double, free: Double, _ inTunnel: Bool) -> Double {
        (inTunnel ? speed : max(speed, model.pace.speed(onRoad: free))) * variance.squareRoot()
    }

    /// Increases the uncertainty over a step: the integral of an Ornstein-Uhlenbeck process.
    private mutating func spread(_ step: Double, sigma: Double, _ config: MotionConfig, _ inTunnel: Bool) {
        let fading = exp(-step / (inTunnel ? config.expectedSpeedTime : RoadReckoner.hindranceTime))
        alongVariance += step * (2 * alongSpeed + step * speedVariance)
        alongSpeed = fading * (alongSpeed + step * speedVariance)
        speedVariance = fading * fading * speedVariance + sigma * sigma * (1 - fading * fading)
    }

    /// Shifts the place towards the fixes, backwards on this edge only, and sets the remaining uncertainty.
    mutating func shift(by metres: Double, alongSigma: Double, _ ahead: RoadAhead) {
        if metres >= 0 {
            move(metres, ahead)
        } else {
            branches[0].place.offset = max(branches[0].place.offset + metres, 0)
        }
        alongVariance = alongSigma * alongSigma
        (odometerDistance, distance) = (0, 0)
    }

    /// Returns the place some metres behind the published one, as far as the trail is recorded.
    func place(before metres: Double, _ graph: RoadGraph) -> RoadPlace {
        let branch = branches[0]
        var (edge, offset) = (branch.place.edge, branch.place.offset - max(metres, 0))
        var index = 0
        while offset < 0, index < 4, branch.trail[index] != Branch.unknown {
            edge = EdgeIndex(rawValue: branch.trail[index])
            offset += Double(graph.edgeLengths[edge.index])
            index += 1
        }
        return RoadPlace(edge: edge, offset: max(offset, 0))
    }

    /// Keeps the branch nearest to a matched place and drops the others.
    mutating func choose(near road: MatchedPosition.RoadPosition, _ graph: RoadGraph) {
        guard branches.count > 1 else { return }
        var best: (branch: Branch, distance: Double)?
        for branch in branches {
            let here = graph.position(at: branch.place.offset, of: branch.place.edge)
            var distance = Geodesy.distance(here.coordinate, road.coordinate)
            if branch.place.edge == road.edge { distance = 0 }
            if best.map({ distance < $0.distance }) ?? true { best = (branch, distance) }
        }
        if let best { branches = [best.branch] }
    }

    /// Returns the reckoner on another graph, without the branches whose edges are missing there; nil when no branch is left.
    func translated(by translation: EdgeTranslation) -> RoadReckoner? {
        var reckoner = self
        reckoner.branches = ContiguousArray(branches.compactMap { $0.translated(by: translation) })
        return reckoner.branches.isEmpty ? nil : reckoner
    }

    private mutating func move(_ metres: Double, _ ahead: RoadAhead) {
        guard metres > 0, metres.isFinite else { return }
        distance += metres
        let lengths = ahead.metric.turns.graph.edgeLengths
        var index = 0
        // Branches are appended during the loop. Edges have no minimum length, so the budget guards against broken maps.
        var budget = 10_000
        while index < branches.count {
            branches[index].place.offset += branches[index].isAtEnd ? 0 : metres
            while !branches[index].isAtEnd, budget > 0 {
                let length = Double(lengths[branches[index].place.edge.index])
                guard branches[index].place.offset > length else { break }
                budget -= 1
                part(index, at: length, moved: metres, ahead)
            }
            let length = Double(lengths[branches[index].place.edge.index])
            branches[index].place.offset = min(branches[index].place.offset, length)
            index += 1
        }
        tidy()
    }

    /// Moves a branch past the end of its edge: it follows the main exit, and the other exits become new branches.
    private mutating func part(_ index: Int, at length: Double, moved metres: Double, _ ahead: RoadAhead) {
        let branch = branches[index]
        guard let main = ahead.mainExit(of: branch.place) else {
            branches[index].place.offset = length
            branches[index].isAtEnd = true
            return
        }
        let rest = branch.place.offset - length
        let bearing = Double(ahead.metric.turns.graph.edgeEndBearings[branch.place.edge.index])
        let old = branch.trail
        let trail = SIMD4(branch.place.edge.rawValue, old[0], old[1], old[2])
        var total = 0.0
        ahead.exits(of: branch.place) { total += $0.weight }
        ahead.exits(of: branch.place) { exit in
            let probability = total > 0 ? branch.probability * exit.weight / total : 0
            let followsRoute = branch.followsRoute && exit.isRoute
            if exit.state == main.state {
                branches[index].place = RoadPlace(edge: exit.edge, state: exit.state, offset: rest)
                branches[index].entryBearing = bearing
                branches[index].trail = trail
                branches[index].probability = probability
                branches[index].followsRoute = followsRoute
            } else if branches.count < maximumBranches, probability >= negligible * branches[0].probability {
                // The outer loop moves the new branch by `metres` later.
                branches.append(
                    Branch(
                        place: RoadPlace(edge: exit.edge, state: exit.state, offset: rest - metres),
                        probability: probability, followsRoute: followsRoute, entryBearing: bearing, trail: trail))
            }
        }
    }

    /// Drops negligible branches, merges branches at the same place, and switches to the likeliest when it is clearly ahead.
    private mutating func tidy() {
        guard branches.count > 1 else { return }
        var kept = 1
        for index in 1..<branches.count {
            let branch = branches[index]
            if let same = (0..<kept).first(where: {
                branches[$0].place.edge == branch.place.edge
                    && abs(branches[$0].place.offset - branch.place.offset) < 30
            }) {
                branches[same].probability += branch.probability
                continue
            }
            guard branch.probability >= negligible * branches[0].probability else { continue }
            branches[kept] = branch
            kept += 1
        }
        branches.removeLast(branches.count - kept)
        guard let best = branches.indices.max(by: { branches[$0].probability < branches[$1].probability }),
            branches[best].probability > RoadReckoner.clarity * branches[0].probability
        else { return }
        branches.swapAt(0, best)
    }

    // MARK: Turning

    /// Updates the branches with a course from the vehicle's turn sensor, after it moved by some metres.
    mutating func turn(to course: Double, sigma: Double, moved metres: Double, _ graph: RoadGraph) {
        seesTurns = true
        guard metres > 0.1 else { return }
        guard branches.count > 1 else {
            // Bends and their mapped shapes differ over some metres; a difference that lasts longer is an offset.
            let share = min(metres / RoadReckoner.alignmentDistance, 1)
            let miss = difference(branches[0], at: branches[0].place.offset, to: course, graph)
            let limited = min(max(miss, -RoadReckoner.bendSigma), RoadReckoner.bendSigma)
            misalignment = (misalignment ?? 0) + limited * (misalignment == nil ? 1 : share)
            return
        }
        let variance = RoadReckoner.bendSigma * RoadReckoner.bendSigma + min(sigma * sigma, 1)
        let weight = min(metres / max(RoadReckoner.bendDistance, alongSigma), 1)
        var before = 0.0
        var after = 0.0
        for index in branches.indices where !branches[index].isAtEnd {
            let angle = miss(branches[index], course, graph)
            before += branches[index].probability
            branches[index].probability *= exp(
                -min(weight * angle * angle / variance / 2, RoadReckoner.mostTurnEvidence))
            after += branches[index].probability
        }
        guard after > 0 else { return }
        for index in branches.indices where !branches[index].isAtEnd { branches[index].probability *= before / after }
        tidy()
    }

    /// Returns the smallest difference between a course and a branch's direction within its position uncertainty,
    /// radians: a vehicle believed to be past a corner may still be before it.
    private func miss(_ branch: Branch, _ course: Double, _ graph: RoadGraph) -> Double {
        let here = difference(branch, at: branch.place.offset, to: course, graph)
        let reach = alongSigma + RoadReckoner.cornerReach
        let length = Double(graph.edgeLengths[branch.place.edge.index])
        let next = difference(branch, at: min(branch.place.offset + reach, length), to: course, graph)
        var before = difference(branch, at: max(branch.place.offset - reach, 0), to: course, graph)
        if branch.place.offset < reach, let entry = branch.entryBearing {
            before = Angle.difference(from: entry + (misalignment ?? 0), to: course)
        }
        var least = abs(here)
        for other in [before, next] {
            // The directions on both sides of a bend bracket the course, so the bend passes through it.
            if here * other < 0, abs(here) + abs(other) < .pi { return 0 }
            least = min(least, abs(other))
        }
        return least
    }

    /// Metres by which drivers cut a corner or begin to turn before it.
    private static let cornerReach = 5.0

    private func difference(_ branch: Branch, at offset: Double, to course: Double, _ graph: RoadGraph) -> Double {
        let bearing = graph.position(at: offset, of: branch.place.edge).bearing
        return Angle.difference(from: bearing + (misalignment ?? 0), to: course)
    }
}

extension RoadReckoner.Branch {
    /// Returns the branch on another graph; nil when its edge is missing there.
    fileprivate func translated(by translation: EdgeTranslation) -> RoadReckoner.Branch? {
        guard let here = translation.place(place.offset, on: place.edge) else { return nil }
        var branch = self
        branch.place = RoadPlace(edge: here.edge, offset: here.offset)
        // The road may continue in the other graph.
        branch.isAtEnd = false
        for index in 0..<4 where trail[index] != RoadReckoner.Branch.unknown {
            let edge = translation.edge(EdgeIndex(rawValue: trail[index]))
            branch.trail[index] = edge?.rawValue ?? RoadReckoner.Branch.unknown
        }
        return branch
    }
}
