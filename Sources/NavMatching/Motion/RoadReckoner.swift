import Glibc
import NavGeo
import NavMap
import NavRouting

/// Moves a place along the roads: by a distance, along the route where there is one, else as straight on as the roads go.
///
/// The distance is the odometer's while the wheels are heard. Without them the speed returns from the last one measured to what the roads let
/// expect of this driver, as an Ornstein-Uhlenbeck process whose integral is the uncertainty along the road.
struct RoadReckoner: Sendable {
    /// Where it is.
    private(set) var edge: EdgeIndex
    private var turnState: TurnState
    /// Metres from the edge's start.
    private(set) var offset: Double
    /// Probability that it is on this road, given that it was at the start: forks without a route halve it.
    private(set) var probability: Double
    /// Whether every choice so far was the route's.
    private(set) var followsRoute = true
    /// Whether the road ended.
    private(set) var isAtEnd = false
    /// Metres since the start.
    private(set) var distance = 0.0
    /// Metres per second.
    private(set) var speed: Double
    /// The driver's speed as a share of the roads'.
    private let pace: Double

    /// Variance along the road, covariance with the speed's deviation, and that one's variance.
    private var alongVariance: Double
    private var alongSpeed = 0.0
    private var speedVariance: Double
    /// Share of the distance by odometer that is not known, and metres driven by it.
    private var scaleSigma = 0.0
    private var odometerDistance = 0.0

    /// Share of the driven distance by which a map's lines differ from the lane.
    private static let mapShare = 0.003
    /// Noise of the odometer, metres per square root of metre.
    private static let odometerNoise = 0.05
    /// Speed under which a vehicle that is lost sight of is taken to stand, m/s.
    private static let standingSpeed = 1.0
    /// Standard deviation of a speed that the receiver measured last, m/s.
    private static let initialSpeedSigma = 0.3
    /// How much less likely a fork's other branch is.
    private static let forkProbability = 0.7

    init(
        edge: EdgeIndex, offset: Double, probability: Double, alongSigma: Double, speed: Double, pace: Double
    ) {
        self.edge = edge
        turnState = edge.rawValue
        self.offset = offset
        self.probability = probability
        self.speed = max(speed, 0)
        self.pace = pace
        alongVariance = alongSigma * alongSigma
        speedVariance = RoadReckoner.initialSpeedSigma * RoadReckoner.initialSpeedSigma
    }

    /// Standard deviation along the road, metres.
    var alongSigma: Double {
        let odometer = scaleSigma * odometerDistance
        let map = RoadReckoner.mapShare * distance
        return (max(alongVariance, 0) + odometer * odometer + map * map).squareRoot()
    }
    /// Standard deviation of the speed, m/s.
    var speedSigma: Double { max(speedVariance, 0).squareRoot() }

    /// Moves on by what the odometer says.
    mutating func advance(
        odometer metres: Double, speed: Double, scaleSigma: Double, _ metric: Metric, _ prior: RoutePrior?
    ) {
        self.scaleSigma = scaleSigma
        odometerDistance += abs(metres)
        alongVariance += RoadReckoner.odometerNoise * RoadReckoner.odometerNoise * abs(metres)
        self.speed = max(speed, 0)
        speedVariance = RoadReckoner.initialSpeedSigma * RoadReckoner.initialSpeedSigma
        alongSpeed = 0
        move(max(metres, 0), metric, prior)
    }

    /// Moves on by what the roads let expect.
    mutating func advance(seconds: Double, config: MotionConfig, _ metric: Metric, _ prior: RoutePrior?) {
        var rest = min(max(seconds, 0), config.maximumPrediction)
        while rest > 0 {
            let step = min(rest, 1)
            rest -= step
            if speed >= RoadReckoner.standingSpeed {
                let expected = RoadReckoner.usualSpeed(of: edge, at: offset, metric) * pace
                let decay = exp(-step / config.speedRelaxation)
                let next = expected + (speed - expected) * decay
                move((speed + next) / 2 * step, metric, prior)
                speed = next
            }
            let decay = exp(-step / config.expectedSpeedTime)
            let share = max(speed, RoadReckoner.standingSpeed) * config.expectedSpeedShare
            alongVariance += step * (2 * alongSpeed + step * speedVariance)
            alongSpeed = decay * (alongSpeed + step * speedVariance)
            speedVariance = decay * decay * speedVariance + share * share * (1 - decay * decay)
        }
    }

    /// Moves by some metres, backwards on this edge only, towards where fixes say that it is; with what they leave of the uncertainty.
    mutating func shift(by metres: Double, alongSigma: Double, _ metric: Metric, _ prior: RoutePrior?) {
        if metres >= 0 { move(metres, metric, prior) } else { offset = max(offset + metres, 0) }
        alongVariance = alongSigma * alongSigma
        (odometerDistance, distance) = (0, 0)
    }

    /// Speed of traffic that flows freely on an edge, m/s.
    static func freeSpeed(of edge: EdgeIndex, _ metric: Metric) -> Double {
        let length = Double(metric.turns.graph.edgeLengths[edge.index])
        let duration = metric.freeFlowDuration(of: edge, from: 0, to: length)
        return duration > 0 && length > 0 ? min(max(length / duration, 1), 70) : 10
    }

    /// The same at a place of the edge: less in bends.
    static func usualSpeed(of edge: EdgeIndex, at offset: Double, _ metric: Metric) -> Double {
        let graph = metric.turns.graph
        let length = Double(graph.edgeLengths[edge.index])
        let speed = freeSpeed(of: edge, metric)
        // Drivers look ahead further than back.
        let window = max(offset - 20, 0)...min(max(offset - 20, 0) + max(3 * speed, 60), max(length, 1))
        let shape = graph.shape(of: edge)
        var travelled = 0.0
        var bend = 0.0
        var before: Double?
        for index in 1..<max(shape.count, 1) {
            let (start, end) = (shape[index - 1].coordinate, shape[index].coordinate)
            if window.contains(travelled) || before == nil {
                let bearing = Geodesy.bearing(from: start, to: end)
                if let before, window.contains(travelled) { bend += Angle.separation(before, bearing) }
                before = bearing
            }
            travelled += Geodesy.distance(start, end)
            if travelled > window.upperBound { break }
        }
        let curvature = bend / max(window.upperBound - window.lowerBound, 30)
        guard curvature > 1e-4 else { return speed }
        return min(speed, max((RoadReckoner.lateralAcceleration / curvature).squareRoot(), 3))
    }

    /// Acceleration across the direction of travel that drivers take in bends, m/s² (comfortable: 2 to 2.5).
    private static let lateralAcceleration = 2.0

    private mutating func move(_ metres: Double, _ metric: Metric, _ prior: RoutePrior?) {
        guard metres > 0, metres.isFinite, !isAtEnd else { return }
        let lengths = metric.turns.graph.edgeLengths
        offset += metres
        distance += metres
        // Edges have no least length: the bound is for maps that are wrong.
        for _ in 0..<10_000 {
            let length = Double(lengths[edge.index])
            guard offset > length else { return }
            guard let next = exit(metric, prior) else {
                offset = length
                isAtEnd = true
                return
            }
            offset -= length
            turnState = next
            edge = metric.turns.edge(of: next)
        }
        offset = min(offset, Double(lengths[edge.index]))
    }

    /// The way on: the route's, else the straightest that is a through road like this one.
    private mutating func exit(_ metric: Metric, _ prior: RoutePrior?) -> TurnState? {
        let turns = metric.turns
        let graph = turns.graph
        let opposite = graph.opposite(edge)
        let bearing = Double(graph.edgeEndBearings[edge.index])
        let roadClass = graph.traits(of: edge).roadClass
        let isRoute = prior?.contains(edge) ?? false
        var best: (state: TurnState, cost: Double, isRoute: Bool)?
        var choices = 0
        for arc in turns.arcs(from: turnState) where metric.cost(ofArc: arc) != Metric.forbidden {
            let state = turns.target(of: arc)
            let next = turns.edge(of: state)
            guard next != opposite, metric.allows(next) else { continue }
            choices += 1
            let onRoute = isRoute && (prior?.contains(next) ?? false)
            var cost = Angle.separation(bearing, Double(graph.edgeStartBearings[next.index]))
            if graph.traits(of: next).roadClass != roadClass { cost += 0.3 }
            if onRoute { cost -= 10 }
            if best.map({ cost < $0.cost }) ?? true { best = (state, cost, onRoute) }
        }
        guard let best else { return nil }
        if !best.isRoute {
            followsRoute = false
            if choices > 1 { probability *= RoadReckoner.forkProbability }
        }
        return best.state
    }
}
