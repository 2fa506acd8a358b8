import Glibc
import NavGeo
import NavMatching

/// An extended Kalman filter over position, speed, course, the sensors' errors and the receiver's lasting error.
///
/// Speed and course move the position; a measured turn rate moves the course. A fix measures the sum of the position
/// and the receiver's lasting error, so that repeated fixes with the same reflection do not accumulate certainty.
///
/// Innovations too large for a normal distribution are downweighted, as is a receiver whose innovations exceed its
/// stated accuracy.
///
/// It does not validate its input: ``FixQualifier`` decides which fixes are accepted. It has no buffers and allocates no memory.
struct MotionFilter: Sendable {
    typealias Axis = FilterState.Axis

    let config: MotionConfig
    var stamp: Timestamp
    var state = FilterState()
    var frame: LocalFrame
    /// Whether the direction of travel is known.
    var isOriented = false
    /// The factor on the noise of positions, estimated from innovations.
    var inflation = 1.0
    /// Metres driven forwards since the start.
    private(set) var travelled = 0.0
    /// Standard deviation of the lasting error, metres, as of the last fix.
    var biasSigma: Double
    /// When the last fix was processed.
    var fixStamp: Timestamp
    /// The last measured turn rate and when it was measured.
    var turn: (rate: Double, sigma: Double, stamp: Timestamp)?
    /// The reference position for deriving a course when the receiver reports none.
    var anchor: (stamp: Timestamp, coordinate: Coordinate, sigma: Double)

    /// The longest time for which a measured turn rate is carried forward, seconds.
    private static let turnValidity = 0.5
    /// The distance from the frame's origin at which the frame is recentred, metres.
    private static let frameReach = 5_000.0
    /// Speed below which the vehicle counts as stationary, m/s.
    private static let standingSpeed = 0.15

    init(_ fix: Fix, config: MotionConfig) {
        self.config = config
        stamp = fix.stamp
        fixStamp = fix.stamp
        frame = LocalFrame(origin: fix.coordinate)
        let sigma = config.sigma(of: fix)
        biasSigma = config.parts(of: fix).lastingSigma
        anchor = (fix.stamp, fix.coordinate, sigma)
        place(sigma: sigma)
        state[Axis.speed, Axis.speed] = 100
        state[Axis.course, Axis.course] = MotionFilter.unknownCourse
        state[Axis.turnBias, Axis.turnBias] = config.turnBiasSigma * config.turnBiasSigma
        state[Axis.scale, Axis.scale] = config.scaleSigma * config.scaleSigma
        takeVelocity(fix)
    }

    /// Variance of an unknown direction, rad²: uniform over the circle.
    private static let unknownCourse = Double.pi * Double.pi / 3

    // MARK: Estimates

    var coordinate: Coordinate {
        let place = frame.coordinate(of: LocalPoint(east: state.mean[Axis.east], north: state.mean[Axis.north]))
        // The frame is flat, so latitude and longitude are clamped at the poles.
        return Coordinate(
            latitude: min(max(place.latitude, -90), 90), longitude: place.longitude.remainder(dividingBy: 360))
    }
    /// Speed along the vehicle's longitudinal axis, m/s; negative backwards.
    var speed: Double { state.mean[Axis.speed] }
    /// Standard deviation of the speed, m/s.
    var speedSigma: Double { state[Axis.speed, Axis.speed].squareRoot() }
    /// Direction of the vehicle's longitudinal axis, radians in 0 ..< 2π.
    var course: Double { Angle.normalised(state.mean[Axis.course]) }
    /// Standard deviation of the course, radians.
    var courseSigma: Double { state[Axis.course, Axis.course].squareRoot() }
    /// The relative error of the odometer, with its standard deviation.
    var scale: (mean: Double, sigma: Double) {
        (state.mean[Axis.scale], state[Axis.scale, Axis.scale].squareRoot())
    }
    /// Covariance of the position, m².
    var covariance: HorizontalCovariance {
        HorizontalCovariance(
            east: state[Axis.east, Axis.east], north: state[Axis.north, Axis.north],
            eastNorth: state[Axis.east, Axis.north])
    }
    var isFinite: Bool { state.isFinite }

    // MARK: Time

    /// Predicts the state at a later moment.
    mutating func predict(to stamp: Timestamp) {
        let seconds = stamp.seconds(since: self.stamp)
        guard seconds > 0 else { return }
        var turn = turn
        if let known = turn, stamp.seconds(since: known.stamp) > MotionFilter.turnValidity { turn = nil }
        self.stamp = stamp
        // Long gaps are split, because a transition is linear in time.
        var rest = min(seconds, config.maximumPrediction)
        while rest > 0 {
            let step = min(rest, 1)
            advance(step, turn: turn.map { ($0.rate, $0.sigma) })
            rest -= step
        }
        recentre()
    }

    private mutating func advance(_ seconds: Double, turn: (rate: Double, sigma: Double)?) {
        let rate = turn.map { $0.rate - state.mean[Axis.turnBias] } ?? 0
        let speed = state.mean[Axis.speed]
        let direction = state.mean[Axis.course] + rate * seconds / 2
        let (sine, cosine) = (sin(direction), cos(direction))
        state.mean[Axis.east] += speed * sine * seconds
        state.mean[Axis.north] += speed * cosine * seconds
        state.mean[Axis.course] += rate * seconds
        travelled += max(speed, 0) * seconds
        var east = FilterState.Vector.zero
        var north = FilterState.Vector.zero
        east[Axis.speed] = sine * seconds
        north[Axis.speed] = cosine * seconds
        // The linearisation holds only while the course is known to about a radian.
        let isDirected = state[Axis.course, Axis.course] < 1
        if isDirected {
            east[Axis.course] = speed * cosine * seconds
            north[Axis.course] = -speed * sine * seconds
        }
        if turn != nil {
            east[Axis.turnBias] = -speed * cosine * seconds * seconds / 2
            north[Axis.turnBias] = speed * sine * seconds * seconds / 2
        }
        state.couple(Axis.east, east)
        state.couple(Axis.north, north)
        if turn != nil {
            var course = FilterState.Vector.zero
            course[Axis.turnBias] = -seconds
            state.couple(Axis.course, course)
        }
        diffuse(seconds, speed, sine, cosine, turn)
        fadeBias(seconds)
    }

    /// Adds the process noise of the movement.
    private mutating func diffuse(
        _ seconds: Double, _ speed: Double, _ sine: Double, _ cosine: Double, _ turn: (rate: Double, sigma: Double)?
    ) {
        let acceleration = config.accelerationDensity * config.accelerationDensity
        let density = min(config.turnAcceleration / max(abs(speed), 1), config.maximumTurnDensity)
        var bend = density * density
        if let turn { bend = config.turnDensityMeasured * config.turnDensityMeasured + turn.sigma * turn.sigma * 0.1 }
        // A stationary vehicle does not turn.
        if abs(speed) < MotionFilter.standingSpeed { bend *= 0.01 }
        let (square, cube) = (seconds * seconds / 2, seconds * seconds * seconds / 3)
        add(Axis.speed, Axis.speed, acceleration * seconds)
        add(Axis.east, Axis.speed, acceleration * square * sine)
        add(Axis.north, Axis.speed, acceleration * square * cosine)
        add(Axis.course, Axis.course, bend * seconds)
        add(Axis.east, Axis.course, bend * square * speed * cosine)
        add(Axis.north, Axis.course, -bend * square * speed * sine)
        let along = acceleration * cube
        let across = bend * cube * speed * speed
        let wander = config.positionDensity * config.positionDensity * seconds
        add(Axis.east, Axis.east, along * sine * sine + across * cosine * cosine + wander)
        add(Axis.north, Axis.north, along * cosine * cosine + across * sine * sine + wander)
        add(Axis.east, Axis.north, (along - across) * sine * cosine)
        add(Axis.turnBias, Axis.turnBias, config.turnBiasWalk * config.turnBiasWalk * seconds)
        add(Axis.scale, Axis.scale, config.scaleWalk * config.scaleWalk * seconds)
        if state[Axis.course, Axis.course] > MotionFilter.unknownCourse {
            state.isolate(Axis.course, variance: MotionFilter.unknownCourse)
        }
        // No road vehicle exceeds some 70 m/s, so the uncertainty is capped.
        if state[Axis.speed, Axis.speed] > 900 { state.isolate(Axis.speed, variance: 900) }
    }

    @inline(__always)
    mutating func add(_ row: Int, _ column: Int, _ value: Double) {
        state[row, column] += value
        if row != column { state[column, row] += value }
    }

    /// Decays the lasting error with its correlation time and adds the corresponding process noise.
    private mutating func fadeBias(_ seconds: Double) {
        let decay = exp(-seconds / config.correlationTime)
        let renewal = biasSigma * biasSigma * (1 - decay * decay)
        for axis in [Axis.biasEast, Axis.biasNorth] {
            state.mean[axis] *= decay
            state.rows[axis] *= decay
            for row in 0..<Axis.count { state[row, axis] *= decay }
            state[axis, axis] += renewal
        }
    }

    /// Moves the frame's origin to the vehicle; over these distances north changes by less than a tenth of a degree.
    mutating func recentre() {
        let point = LocalPoint(east: state.mean[Axis.east], north: state.mean[Axis.north])
        guard point.length > MotionFilter.frameReach else { return }
        frame = LocalFrame(origin: frame.coordinate(of: point))
        state.mean[Axis.east] = 0
        state.mean[Axis.north] = 0
    }

    private mutating func place(sigma: Double) {
        let lasting = biasSigma * biasSigma
        state[Axis.east, Axis.east] = sigma * sigma
        state[Axis.north, Axis.north] = sigma * sigma
        state[Axis.biasEast, Axis.biasEast] = lasting
        state[Axis.biasNorth, Axis.biasNorth] = lasting
        add(Axis.east, Axis.biasEast, -lasting)
        add(Axis.north, Axis.biasNorth, -lasting)
    }
}
