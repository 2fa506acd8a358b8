import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting

/// Moves a place along the roads: by a distance, along the route where there is one, else as straight on as the roads go.
///
/// The distance is the odometer's while the wheels are heard. Without them it is that of a vehicle which drives as the roads and this driver's
/// pace let expect; what the real one had of that speed when it was last seen fades. The deviation is an Ornstein-Uhlenbeck process, and its
/// integral is the uncertainty along the road.
///
/// Where roads part it goes on along all that are likely, each with its probability. What the vehicle's own turning tells, where it is measured,
/// decides between them; without that they stay what they are.
struct RoadReckoner: Sendable {
    /// One of the ways that the vehicle may have taken.
    struct Branch: Sendable {
        var place: RoadPlace
        /// Probability that the vehicle is on it.
        var probability: Double
        /// Whether every choice so far was the route's.
        var followsRoute: Bool
        var isAtEnd = false
        /// Direction of the road before this edge, at its end, radians clockwise from north; nil on the first.
        var entryBearing: Double?
        /// The edges before this one, the last first, as far as they are known and remembered.
        var trail = SIMD4<UInt32>(repeating: Branch.unknown)

        static let unknown = UInt32.max
    }

    /// The ways that are still possible, the one that is told first.
    private(set) var branches: ContiguousArray<Branch>
    /// Metres since the start.
    private(set) var distance = 0.0
    /// Metres per second.
    private(set) var speed: Double
    /// A vehicle that drives as usual.
    private var model: SpeedModel
    /// By what share of the model's speed the real one deviated: when it was last seen, where the two were comparable, and now. Outside of
    /// tunnels what hindered the vehicle at last goes on to; in a tunnel it is the driver alone who counts.
    private let deviationSeen: (last: Double, comparable: Double)
    private var deviation: Double
    /// The same with what it is faster for the moment, which passes sooner.
    private var excess: Double
    /// The part of the deviation that was not known at first and that the speed's variance does not have yet, as a share of the long run's.
    private var unsettled: Double

    /// Variance along the road, covariance with the speed's deviation, and that one's variance.
    private var alongVariance: Double
    private var alongSpeed = 0.0
    private var speedVariance: Double
    /// Share of the distance by odometer that is not known, and metres driven by it.
    private var scaleSigma = 0.0
    private var odometerDistance = 0.0
    /// Course of the vehicle less direction of the road, where there is only one: what the sensor and the map are off by, radians.
    private var misalignment: Double?
    /// Whether the vehicle's turning is measured, so that ways which are unlikely by themselves are worth following for a while.
    private var seesTurns = false
    /// Seconds since the vehicle was lost sight of.
    private var age = 0.0

    /// Share of the driven distance by which a map's lines differ from the lane.
    private static let mapShare = 0.003
    /// Noise of the odometer, metres per square root of metre.
    private static let odometerNoise = 0.05
    /// Speed under which a vehicle that is lost sight of is taken to stand, m/s.
    private static let standingSpeed = 1.0
    /// Standard deviation of a speed that was measured last, m/s, at least.
    private static let initialSpeedSigma = 0.3
    /// For how long an acceleration that was seen last may go on, seconds.
    private static let accelerationTime = 0.5
    /// Over how long a vehicle comes to the speed that it keeps, seconds.
    private static let gatheringTime = 5.0
    /// Over how long hindrances, bends and junctions make one speed of another outside of tunnels, seconds.
    private static let hindranceTime = 20.0
    /// Most that a vehicle brakes where it is only thought to, m/s².
    private static let braking = 2.5
    /// Ways that are followed at once: where nothing tells which one was taken, and where the turning does.
    private static let maximumBranches = (blind: 6, seeing: 12)
    /// A way less likely than this is given up, likewise.
    private static let negligible = (blind: 0.01, seeing: 0.0001)
    /// The factor by which another way must be likelier than the published one, so that it does not change to and fro.
    private static let clarity = 2.0
    /// Standard deviation between the turning of a vehicle and the bend of the drawn road, radians.
    private static let bendSigma = 0.12
    /// Metres after which that is another one.
    private static let bendDistance = 20.0
    /// Metres over which the misalignment is averaged.
    private static let alignmentDistance = 50.0
    /// Most that one observation of the turning may tell, in logarithms.
    private static let mostTurnEvidence = 2.0

    /// - Parameters:
    ///   - ways: the places where the vehicle may be, each with its probability; the one that is told first. At least one.
    ///   - speed: the one that was measured last, with its standard deviation.
    ///   - model: a vehicle that drives as usual, at this place.
    ///   - intoTunnel: whether it is in a tunnel or before the mouth of one that it is lost sight of.
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
            // A vehicle that is slower than it will be gathers speed from where it is.
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
    /// Probability that it is on this road.
    var probability: Double { branches[0].probability }
    /// Whether every choice so far was the route's.
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

    /// Moves on by what the odometer says.
    mutating func advance(odometer metres: Double, speed: Double, scaleSigma: Double, _ ahead: RoadAhead) {
        self.scaleSigma = scaleSigma
        odometerDistance += abs(metres)
        alongVariance += RoadReckoner.odometerNoise * RoadReckoner.odometerNoise * abs(metres)
        self.speed = max(speed, 0)
        speedVariance = RoadReckoner.initialSpeedSigma * RoadReckoner.initialSpeedSigma
        alongSpeed = 0
        move(max(metres, 0), ahead)
    }

    /// Moves on by what the roads let expect.
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

    /// Lets the uncertainty of one who stood grow over a step: they start at any moment alike, gather speed, and keep it.
    private mutating func start(_ step: Double, to speed: Double) {
        let (before, after) = (Standstill.started(age - step, to: speed), Standstill.started(age, to: speed))
        alongVariance += max(after.place - before.place, 0)
        speedVariance += max(after.speed - before.speed, 0)
        alongSpeed = 0
    }

    /// Lets the speed's variance take in what was not known of the deviation at first, as the vehicle comes to the speed that it keeps.
    private mutating func settle(_ step: Double, variance: Double) {
        let settled = unsettled * (1 - exp(-step / RoadReckoner.gatheringTime))
        unsettled -= settled
        speedVariance += settled * variance * speed * speed
    }

    /// Standard deviation of the speed in the long run, m/s. Who is slow for a bend drives on at what the road allows.
    private func speedSpread(_ variance: Double, free: Double, _ inTunnel: Bool) -> Double {
        (inTunnel ? speed : max(speed, model.pace.speed(onRoad: free))) * variance.squareRoot()
    }

    /// Lets the uncertainty grow: the integral of an Ornstein-Uhlenbeck process.
    private mutating func spread(_ step: Double, sigma: Double, _ config: MotionConfig, _ inTunnel: Bool) {
        let fading = exp(-step / (inTunnel ? config.expectedSpeedTime : RoadReckoner.hindranceTime))
        alongVariance += step * (2 * alongSpeed + step * speedVariance)
        alongSpeed = fading * (alongSpeed + step * speedVariance)
        speedVariance = fading * fading * speedVariance + sigma * sigma * (1 - fading * fading)
    }

    /// Moves by some metres, backwards on this edge only, towards where fixes say that it is; with what they leave of the uncertainty. It goes
    /// on along the way that leads there.
    mutating func shift(by metres: Double, alongSigma: Double, _ ahead: RoadAhead) {
        if metres >= 0 {
            move(metres, ahead)
        } else {
            branches[0].place.offset = max(branches[0].place.offset + metres, 0)
        }
        alongVariance = alongSigma * alongSigma
        (odometerDistance, distance) = (0, 0)
    }

    /// The place some metres before the one that is told, as far back as the way is remembered.
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

    /// Goes on along the way that is nearest to a place that was seen, and gives up the others.
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

    private mutating func move(_ metres: Double, _ ahead: RoadAhead) {
        guard metres > 0, metres.isFinite else { return }
        distance += metres
        let lengths = ahead.metric.turns.graph.edgeLengths
        var index = 0
        // Branches are added while it goes on; edges have no least length, and the bound is for maps that are wrong.
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

    /// Goes on from the end of an edge: one way is the branch's, the others are branches of their own.
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
                // It is moved by `metres` when its turn comes.
                branches.append(
                    Branch(
                        place: RoadPlace(edge: exit.edge, state: exit.state, offset: rest - metres),
                        probability: probability, followsRoute: followsRoute, entryBearing: bearing, trail: trail))
            }
        }
    }

    /// Gives up what is negligible, joins ways that lead to the same place, and tells the likeliest when that is clear.
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

    /// Takes in the course that the vehicle's own sensors make of its turning, after it moved by some metres.
    mutating func turn(to course: Double, sigma: Double, moved metres: Double, _ graph: RoadGraph) {
        seesTurns = true
        guard metres > 0.1 else { return }
        guard branches.count > 1 else {
            // Bends and their drawings differ for some metres; what is left over a longer way is an error.
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

    /// By how much a course differs from the direction of a way, radians: the least that is found where the vehicle may be on it, because who is
    /// thought to be past a corner may still be before it.
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
            // Between two directions of a bend all are passed through.
            if here * other < 0, abs(here) + abs(other) < .pi { return 0 }
            least = min(least, abs(other))
        }
        return least
    }

    /// Metres by which a corner is cut or a turn begins before it.
    private static let cornerReach = 5.0

    private func difference(_ branch: Branch, at offset: Double, to course: Double, _ graph: RoadGraph) -> Double {
        let bearing = graph.position(at: offset, of: branch.place.edge).bearing
        return Angle.difference(from: bearing + (misalignment ?? 0), to: course)
    }
}
