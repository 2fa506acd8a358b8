import Glibc
public import NavGeo

/// An extended Kalman filter over position, speed, course, the sensors' errors and the receiver's lasting error.
///
/// The position moves with speed and course; a rate of turn, where it is measured, drives the course. A fix measures position *and* the
/// receiver's lasting error together, so that many fixes of one reflection do not add up to certainty. Innovations larger than a normal
/// distribution explains are weighted down, and a receiver whose innovations are larger than what it says of itself is believed less.
///
/// It follows whatever it is given: which fixes count is decided in ``FixQualifier``. It holds no buffers and allocates nothing.
struct MotionFilter: Sendable {
    typealias Axis = FilterState.Axis

    let config: MotionConfig
    private(set) var stamp: Timestamp
    private(set) var state = FilterState()
    private var frame: LocalFrame
    /// Whether the direction of travel is known.
    private(set) var isOriented = false
    /// What the noise of positions is multiplied by, found from innovations.
    private(set) var inflation = 1.0
    /// Metres driven since the start, as far as is known.
    private(set) var travelled = 0.0
    /// The last squared and normalised innovation of a position.
    private(set) var lastInnovation = 0.0
    /// Standard deviation of the lasting error, metres, as of the last fix.
    private var biasSigma: Double
    /// When the last fix was taken in.
    private var fixStamp: Timestamp
    /// The last rate of turn measured and until when it may be carried on.
    private var turn: (rate: Double, sigma: Double, stamp: Timestamp)?
    /// The position to find a course from, for receivers without one.
    private var anchor: (stamp: Timestamp, coordinate: Coordinate, sigma: Double)

    /// Longest time over which a measured rate of turn is carried on, seconds.
    private static let turnValidity = 0.5
    /// Distance from the frame's origin at which it moves along, metres.
    private static let frameReach = 5_000.0
    /// Speed from which a lasting error is told from movement, m/s.
    private static let standingSpeed = 0.15

    /// A filter at its first fix.
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

    /// Variance of a direction of which nothing is known, rad²: uniform over the circle.
    private static let unknownCourse = Double.pi * Double.pi / 3

    // MARK: What it knows

    /// Where.
    var coordinate: Coordinate {
        frame.coordinate(of: LocalPoint(east: state.mean[Axis.east], north: state.mean[Axis.north]))
    }
    /// Metres per second along the body, negative backwards.
    var speed: Double { state.mean[Axis.speed] }
    /// Standard deviation of the speed, m/s.
    var speedSigma: Double { state[Axis.speed, Axis.speed].squareRoot() }
    /// Direction of the body, radians in 0 ..< 2π.
    var course: Double { Angle.normalised(state.mean[Axis.course]) }
    /// Its standard deviation, radians.
    var courseSigma: Double { state[Axis.course, Axis.course].squareRoot() }
    /// The odometer's error as a share, with its standard deviation.
    var scale: (mean: Double, sigma: Double) {
        (state.mean[Axis.scale], state[Axis.scale, Axis.scale].squareRoot())
    }
    /// Covariance of the position, m².
    var covariance: HorizontalCovariance {
        HorizontalCovariance(
            east: state[Axis.east, Axis.east], north: state[Axis.north, Axis.north],
            eastNorth: state[Axis.east, Axis.north])
    }
    /// Whether all its numbers are such.
    var isFinite: Bool { state.isFinite }

    // MARK: Time

    /// Moves on to a later moment.
    mutating func predict(to stamp: Timestamp) {
        let seconds = stamp.seconds(since: self.stamp)
        guard seconds > 0 else { return }
        var turn = turn
        if let known = turn, stamp.seconds(since: known.stamp) > MotionFilter.turnValidity { turn = nil }
        self.stamp = stamp
        // Long gaps in steps: a transition is linear in the time.
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
        // Linear only while the direction is known to a radian.
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

    /// What is not known of the movement.
    private mutating func diffuse(
        _ seconds: Double, _ speed: Double, _ sine: Double, _ cosine: Double, _ turn: (rate: Double, sigma: Double)?
    ) {
        let acceleration = config.accelerationDensity * config.accelerationDensity
        let density = min(config.turnAcceleration / max(abs(speed), 1), config.maximumTurnDensity)
        var bend = density * density
        if let turn { bend = config.turnDensityMeasured * config.turnDensityMeasured + turn.sigma * turn.sigma * 0.1 }
        // At a standstill nothing turns.
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
        // No road vehicle is faster than some 70 m/s: more is not to be known less of.
        if state[Axis.speed, Axis.speed] > 900 { state.isolate(Axis.speed, variance: 900) }
    }

    @inline(__always)
    private mutating func add(_ row: Int, _ column: Int, _ value: Double) {
        state[row, column] += value
        if row != column { state[column, row] += value }
    }

    /// The lasting error fades with its correlation time and is renewed as much.
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

    /// Moves the frame's origin along with the vehicle; over these distances north stays north within a tenth of a degree.
    private mutating func recentre() {
        let point = LocalPoint(east: state.mean[Axis.east], north: state.mean[Axis.north])
        guard point.length > MotionFilter.frameReach else { return }
        frame = LocalFrame(origin: frame.coordinate(of: point))
        state.mean[Axis.east] = 0
        state.mean[Axis.north] = 0
    }

    // MARK: Fixes

    /// Takes in a fix of the present moment.
    mutating func update(_ fix: Fix) {
        let point = frame.point(fix.coordinate)
        let noise: Double
        (biasSigma, noise) = config.parts(of: fix)
        let error = expectedError(point, noise: noise)
        lastInnovation = error.normalised
        learnConsistency(error.normalised)
        let weight = error.normalised > config.positionGate ? error.normalised / config.positionGate : 1
        let variance = noise * inflation + (weight - 1) * error.variance
        var east = FilterState.Vector.zero
        east[Axis.east] = 1
        east[Axis.biasEast] = 1
        state.update(
            east, innovation: point.east - state.mean[Axis.east] - state.mean[Axis.biasEast], variance: variance)
        var north = FilterState.Vector.zero
        north[Axis.north] = 1
        north[Axis.biasNorth] = 1
        state.update(
            north, innovation: point.north - state.mean[Axis.north] - state.mean[Axis.biasNorth], variance: variance)
        takeVelocity(fix)
    }

    /// Another receiver measures from now on: its lasting error is another one.
    mutating func noteReceiver() {
        for axis in [Axis.biasEast, Axis.biasNorth] {
            state.mean[axis] = 0
            state.isolate(axis, variance: biasSigma * biasSigma)
        }
    }

    /// How far a position lies from where the filter expects it, squared and in units of the variance; and that variance, m².
    func expectedError(of fix: Fix) -> (distance: Double, normalised: Double, variance: Double) {
        expectedError(frame.point(fix.coordinate), noise: config.parts(of: fix).noise)
    }

    private func expectedError(
        _ point: LocalPoint, noise: Double
    ) -> (distance: Double, normalised: Double, variance: Double) {
        let east = point.east - state.mean[Axis.east] - state.mean[Axis.biasEast]
        let north = point.north - state.mean[Axis.north] - state.mean[Axis.biasNorth]
        let noise = noise * inflation
        let eastEast =
            state[Axis.east, Axis.east] + 2 * state[Axis.east, Axis.biasEast] + state[Axis.biasEast, Axis.biasEast]
            + noise
        let northNorth =
            state[Axis.north, Axis.north] + 2 * state[Axis.north, Axis.biasNorth]
            + state[Axis.biasNorth, Axis.biasNorth] + noise
        let eastNorth =
            state[Axis.east, Axis.north] + state[Axis.east, Axis.biasNorth] + state[Axis.biasEast, Axis.north]
            + state[Axis.biasEast, Axis.biasNorth]
        let determinant = eastEast * northNorth - eastNorth * eastNorth
        let distance = (east * east + north * north).squareRoot()
        let mean = (eastEast + northNorth) / 2
        guard determinant > 0 else { return (distance, 0, mean) }
        let square = (northNorth * east * east - 2 * eastNorth * east * north + eastEast * north * north) / determinant
        return (distance, square.isFinite ? square : 1e9, mean)
    }

    /// A receiver that says true makes innovations of 2 on average (chi-square of two degrees of freedom); the inflation is moved until
    /// they are.
    private mutating func learnConsistency(_ normalised: Double) {
        let excess = min(normalised, 4 * config.positionGate) / 2 - 1
        let share = min(max(stamp.seconds(since: fixStamp), 0.02) / config.consistencyTime, 0.1)
        fixStamp = stamp
        inflation = min(
            max(inflation * exp(share * min(excess, 4)), config.minimumInflation), config.maximumInflation)
    }

    private mutating func takeVelocity(_ fix: Fix) {
        let speed = fix.usableSpeed
        if let speed { measureSpeed(self.speed < 0 ? -speed : speed, sigma: config.speedSigma) }
        guard var course = fix.course, course.isFinite else { return orient(by: fix) }
        let moved = speed ?? abs(self.speed)
        guard moved >= config.courseSpeed else { return }
        if self.speed < 0 { course += .pi }
        let sigma = (config.courseSigma * config.courseSigma + pow(config.speedSigma / moved, 2)).squareRoot()
        measureCourse(course, sigma: sigma)
    }

    /// Finds speed and direction from two positions, for a receiver that tells neither.
    private mutating func orient(by fix: Fix) {
        let sigma = config.sigma(of: fix)
        let seconds = fix.stamp.seconds(since: anchor.stamp)
        let distance = Geodesy.distance(anchor.coordinate, fix.coordinate)
        guard seconds > 0, distance > 2 * (sigma + anchor.sigma) else { return }
        if !isOriented {
            let bearing = Geodesy.bearing(from: anchor.coordinate, to: fix.coordinate)
            if fix.usableSpeed == nil {
                state.isolate(Axis.speed, variance: 9)
                state.mean[Axis.speed] = min(distance / seconds, 60)
            }
            state.isolate(Axis.course, variance: 0.25)
            state.mean[Axis.course] = bearing
            isOriented = true
        }
        anchor = (fix.stamp, fix.coordinate, sigma)
    }

    private mutating func measureSpeed(_ speed: Double, sigma: Double) {
        var direction = FilterState.Vector.zero
        direction[Axis.speed] = 1
        measure(direction, innovation: speed - state.mean[Axis.speed], variance: sigma * sigma)
    }

    private mutating func measureCourse(_ course: Double, sigma: Double) {
        let innovation = Angle.difference(from: state.mean[Axis.course], to: course)
        if !isOriented || abs(innovation) > MotionFilter.turnedRound {
            state.isolate(Axis.course, variance: max(sigma * sigma, 0.01))
            state.mean[Axis.course] = course
            isOriented = true
            return
        }
        var direction = FilterState.Vector.zero
        direction[Axis.course] = 1
        measure(direction, innovation: innovation, variance: sigma * sigma)
    }

    /// A course that differs by more than this is another direction and no small error, radians.
    private static let turnedRound = 2.0

    private mutating func measure(_ direction: FilterState.Vector, innovation: Double, variance: Double) {
        let expected = (direction * state.gain(direction)).sum()
        let normalised = innovation * innovation / (expected + variance)
        let excess = normalised > config.scalarGate ? normalised / config.scalarGate - 1 : 0
        state.update(direction, innovation: innovation, variance: variance + excess * (expected + variance))
    }

    // MARK: Odometry

    /// Moves on to the time of a report and takes it in.
    mutating func update(_ odometry: Odometry) {
        predict(to: odometry.stamp)
        if let rate = odometry.turnRate {
            turn = (rate, odometry.turnRateSigma ?? config.turnRateSigma, odometry.stamp)
        }
        if odometry.standsStill {
            measureSpeed(0, sigma: 0.01)
        } else if let speed = odometry.speed {
            if (speed < 0) != (self.speed < 0), abs(speed - self.speed) > 1 {
                state.isolate(Axis.speed, variance: 1)
                state.mean[Axis.speed] = speed
            }
            var direction = FilterState.Vector.zero
            direction[Axis.speed] = 1 + state.mean[Axis.scale]
            direction[Axis.scale] = state.mean[Axis.speed]
            let sigma = odometry.speedSigma ?? config.odometrySigma
            measure(
                direction, innovation: speed - (1 + state.mean[Axis.scale]) * state.mean[Axis.speed],
                variance: sigma * sigma)
        }
    }

    // MARK: Roads

    /// Takes in that the vehicle is on a road: its direction, and how far it can be beside it.
    mutating func constrain(_ constraint: RoadConstraint) {
        let point = frame.point(constraint.coordinate)
        let (sine, cosine) = (sin(constraint.bearing), cos(constraint.bearing))
        var across = FilterState.Vector.zero
        across[Axis.east] = cosine
        across[Axis.north] = -sine
        let offset = (point.east - state.mean[Axis.east]) * cosine - (point.north - state.mean[Axis.north]) * sine
        measure(across, innovation: offset, variance: constraint.crossSigma * constraint.crossSigma)
        guard isOriented, abs(speed) > config.courseSpeed else { return }
        let innovation = Angle.difference(from: state.mean[Axis.course], to: constraint.bearing)
        guard abs(innovation) < 1 else { return }
        var direction = FilterState.Vector.zero
        direction[Axis.course] = 1
        measure(direction, innovation: innovation, variance: constraint.bearingSigma * constraint.bearingSigma)
    }

    /// Puts the vehicle on a road, where it was reckoned to be.
    mutating func settle(_ coordinate: Coordinate, bearing: Double, alongSigma: Double, crossSigma: Double) {
        let point = frame.point(coordinate)
        state.isolate(Axis.east, variance: 0)
        state.isolate(Axis.north, variance: 0)
        state.mean[Axis.east] = point.east
        state.mean[Axis.north] = point.north
        let (sine, cosine) = (sin(bearing), cos(bearing))
        let (along, cross) = (alongSigma * alongSigma, crossSigma * crossSigma)
        add(Axis.east, Axis.east, along * sine * sine + cross * cosine * cosine)
        add(Axis.north, Axis.north, along * cosine * cosine + cross * sine * sine)
        add(Axis.east, Axis.north, (along - cross) * sine * cosine)
        recentre()
    }

    /// Lets the speed be what the road lets expect, for lack of anything better.
    mutating func expect(speed: Double, sigma: Double) {
        state.isolate(Axis.speed, variance: sigma * sigma)
        state.mean[Axis.speed] = speed
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

/// Covariance of a horizontal position, m².
public struct HorizontalCovariance: Sendable, Hashable {
    /// Variance to the east.
    public var east: Double
    /// Variance to the north.
    public var north: Double
    /// Covariance of both.
    public var eastNorth: Double

    /// Standard deviation in a direction, radians clockwise from north; metres.
    public func sigma(along bearing: Double) -> Double {
        let (sine, cosine) = (sin(bearing), cos(bearing))
        return max(east * sine * sine + 2 * eastNorth * sine * cosine + north * cosine * cosine, 0).squareRoot()
    }

    /// Standard deviation across a direction, metres.
    public func sigma(across bearing: Double) -> Double { sigma(along: bearing + .pi / 2) }

    /// Root of the mean variance of both axes, metres: what a fix has for its accuracy.
    public var perAxis: Double { max((east + north) / 2, 0).squareRoot() }
}

/// What the road graph tells the position filter: the vehicle is on a road.
public struct RoadConstraint: Sendable, Hashable {
    /// A point of the road beside the vehicle.
    public var coordinate: Coordinate
    /// Direction of the road there, radians clockwise from north.
    public var bearing: Double
    /// Standard deviation of the distance between the vehicle and the road's line, metres.
    public var crossSigma: Double
    /// Standard deviation between the vehicle's direction and the road's, radians.
    public var bearingSigma: Double

    /// A constraint.
    public init(coordinate: Coordinate, bearing: Double, crossSigma: Double, bearingSigma: Double) {
        self.coordinate = coordinate
        self.bearing = bearing
        self.crossSigma = crossSigma
        self.bearingSigma = bearingSigma
    }
}
