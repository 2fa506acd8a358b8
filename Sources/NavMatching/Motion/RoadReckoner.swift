import Glibc
import NavGeo
import NavMap
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
        /// Whether the road ended.
        var isAtEnd = false
    }

    /// The ways that are still possible, the one that is told first.
    private(set) var branches: ContiguousArray<Branch>
    /// Metres since the start.
    private(set) var distance = 0.0
    /// Metres per second.
    private(set) var speed: Double
    /// A vehicle that drives as usual.
    private var model: SpeedModel
    /// The real speed as a share of the model's, less 1: when it was last seen, and now.
    private let excessSeen: Double
    private var excess: Double

    /// Variance along the road, covariance with the speed's deviation, and that one's variance.
    private var alongVariance: Double
    private var alongSpeed = 0.0
    private var speedVariance: Double
    /// Share of the distance by odometer that is not known, and metres driven by it.
    private var scaleSigma = 0.0
    private var odometerDistance = 0.0
    /// Course of the vehicle less direction of the road, where there is only one: what the sensor and the map are off by, radians.
    private var misalignment: Double?

    /// Share of the driven distance by which a map's lines differ from the lane.
    private static let mapShare = 0.003
    /// Noise of the odometer, metres per square root of metre.
    private static let odometerNoise = 0.05
    /// Speed under which a vehicle that is lost sight of is taken to stand, m/s.
    private static let standingSpeed = 1.0
    /// Standard deviation of a speed that the receiver measured last, m/s.
    private static let initialSpeedSigma = 0.3
    /// Ways that are followed at once.
    private static let maximumBranches = 6
    /// A way less likely than this is given up.
    private static let negligible = 0.01
    /// How much likelier another way must be than the one that is told, so that it does not change to and fro.
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
    ///   - probability: that the vehicle is at this place.
    ///   - speed: the one that was measured last.
    ///   - model: a vehicle that drives as usual, at this place.
    init(_ place: RoadPlace, probability: Double, alongSigma: Double, speed: Double, model: SpeedModel) {
        branches = [Branch(place: place, probability: probability, followsRoute: true)]
        self.speed = max(speed, 0)
        self.model = model
        excessSeen = model.ratio(of: max(speed, 0)) - 1
        excess = excessSeen
        alongVariance = alongSigma * alongSigma
        speedVariance = RoadReckoner.initialSpeedSigma * RoadReckoner.initialSpeedSigma
    }

    /// Where it is told to be.
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
        let decay = exp(-min(rest, 1) / config.expectedSpeedTime)
        while rest > 0 {
            let step = min(rest, 1)
            rest -= step
            let fading = step == 1 ? decay : exp(-step / config.expectedSpeedTime)
            let outlook = model.outlook(
                from: excessSeen, onRoad: ahead.freeSpeed(of: place.edge), inTunnel: ahead.isTunnel(place.edge))
            if speed >= RoadReckoner.standingSpeed {
                model.advance(step, ceiling: ahead.speed(at: place, model.pace).expected)
                excess = outlook.excess + (excess - outlook.excess) * fading
                let next = max((model.speed ?? speed) * (1 + excess), RoadReckoner.standingSpeed)
                move((speed + next) / 2 * step, ahead)
                speed = next
            }
            let share = max(speed, RoadReckoner.standingSpeed) * outlook.variance.squareRoot()
            alongVariance += step * (2 * alongSpeed + step * speedVariance)
            alongSpeed = fading * (alongSpeed + step * speedVariance)
            speedVariance = fading * fading * speedVariance + share * share * (1 - fading * fading)
        }
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
        var total = 0.0
        ahead.exits(of: branch.place) { total += $0.weight }
        ahead.exits(of: branch.place) { exit in
            let probability = total > 0 ? branch.probability * exit.weight / total : 0
            let followsRoute = branch.followsRoute && exit.isRoute
            if exit.state == main.state {
                branches[index].place = RoadPlace(edge: exit.edge, state: exit.state, offset: rest)
                branches[index].probability = probability
                branches[index].followsRoute = followsRoute
            } else if branches.count < RoadReckoner.maximumBranches,
                probability >= RoadReckoner.negligible * branches[0].probability
            {
                // It is moved by `metres` when its turn comes.
                branches.append(
                    Branch(
                        place: RoadPlace(edge: exit.edge, state: exit.state, offset: rest - metres),
                        probability: probability, followsRoute: followsRoute))
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
            guard branch.probability >= RoadReckoner.negligible * branches[0].probability else { continue }
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
        guard metres > 0.1 else { return }
        func miss(_ branch: Branch) -> Double {
            let bearing = graph.position(at: branch.place.offset, of: branch.place.edge).bearing
            return Angle.difference(from: bearing + (misalignment ?? 0), to: course)
        }
        guard branches.count > 1 else {
            // Bends and their drawings differ for some metres; what is left over a longer way is an error.
            let share = min(metres / RoadReckoner.alignmentDistance, 1)
            let limited = min(max(miss(branches[0]), -RoadReckoner.bendSigma), RoadReckoner.bendSigma)
            misalignment = (misalignment ?? 0) + limited * (misalignment == nil ? 1 : share)
            return
        }
        let variance = RoadReckoner.bendSigma * RoadReckoner.bendSigma + min(sigma * sigma, 1)
        let weight = min(metres / max(RoadReckoner.bendDistance, alongSigma), 1)
        var before = 0.0
        var after = 0.0
        for index in branches.indices where !branches[index].isAtEnd {
            let angle = miss(branches[index])
            before += branches[index].probability
            branches[index].probability *= exp(
                -min(weight * angle * angle / variance / 2, RoadReckoner.mostTurnEvidence))
            after += branches[index].probability
        }
        guard after > 0 else { return }
        for index in branches.indices where !branches[index].isAtEnd { branches[index].probability *= before / after }
        tidy()
    }
}
