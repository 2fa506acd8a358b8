import Glibc
import NavGeo
import NavMatching

/// Updates of the filter by fixes, odometry and roads.
extension MotionFilter {
    // MARK: Fixes

    mutating func update(_ fix: Fix) {
        let point = frame.point(fix.coordinate)
        let noise: Double
        (biasSigma, noise) = config.parts(of: fix)
        let error = expectedError(point, noise: noise)
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

    /// Resets the lasting error after a switch to another receiver.
    mutating func noteReceiver() {
        for axis in [Axis.biasEast, Axis.biasNorth] {
            state.mean[axis] = 0
            state.isolate(axis, variance: biasSigma * biasSigma)
        }
    }

    /// Returns the distance of a fix from the expected position, in metres and as a normalised square, and the variance, m².
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

    /// Adjusts the noise factor until the normalised innovations average 2, as they do for a receiver that states its
    /// accuracy correctly (chi-square of two degrees of freedom).
    private mutating func learnConsistency(_ normalised: Double) {
        let excess = min(normalised, 4 * config.positionGate) / 2 - 1
        let share = min(max(stamp.seconds(since: fixStamp), 0.02) / config.consistencyTime, 0.1)
        fixStamp = stamp
        inflation = min(
            max(inflation * exp(share * min(excess, 4)), config.minimumInflation), config.maximumInflation)
    }

    mutating func takeVelocity(_ fix: Fix) {
        let speed = fix.usableSpeed
        if let speed { measureSpeed(self.speed < 0 ? -speed : speed, sigma: config.speedSigma) }
        guard var course = fix.course, course.isFinite else { return orient(by: fix) }
        let moved = speed ?? abs(self.speed)
        guard moved >= config.courseSpeed else {
            // Without a usable speed, the filter's own speed may be wrong: only the positions show that the vehicle moves.
            if speed == nil { orient(by: fix, isSlow: true) }
            return
        }
        if self.speed < 0 { course += .pi }
        let sigma = (config.courseSigma * config.courseSigma + pow(config.speedSigma / moved, 2)).squareRoot()
        measureCourse(course, sigma: sigma)
    }

    /// Derives speed and course from two positions, for a receiver that reports neither.
    ///
    /// It applies at the start, and when the estimated course contradicts the positions: positions cannot correct a course that is
    /// uncertain by a radian (see ``predict(to:)``).
    ///
    /// - Parameter isSlow: Whether the estimate is stationary, so that its speed is corrected even if its course fits.
    private mutating func orient(by fix: Fix, isSlow: Bool = false) {
        let sigma = config.sigma(of: fix)
        let seconds = fix.stamp.seconds(since: anchor.stamp)
        let distance = Geodesy.distance(anchor.coordinate, fix.coordinate)
        guard seconds > 0, distance > 2 * (sigma + anchor.sigma) else { return }
        let isBackwards = isOriented && speed < 0
        let bearing = Geodesy.bearing(from: anchor.coordinate, to: fix.coordinate) + (isBackwards ? .pi : 0)
        if !isOriented || courseSigma > MotionFilter.lostCourse || isSlow
            || Angle.separation(course, bearing) > MotionFilter.otherCourse
        {
            if fix.usableSpeed == nil {
                state.isolate(Axis.speed, variance: 9)
                state.mean[Axis.speed] = min(distance / seconds, 60) * (isBackwards ? -1 : 1)
            }
            state.isolate(Axis.course, variance: 0.25)
            state.mean[Axis.course] = bearing
            isOriented = true
        }
        anchor = (fix.stamp, fix.coordinate, sigma)
    }

    /// The standard deviation at which a course counts as lost, and the difference from the direction between two
    /// distant positions at which it counts as wrong, radians.
    private static let (lostCourse, otherCourse) = (0.7, 1.0)

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

    /// The course difference beyond which it is a new direction rather than an error, radians.
    private static let turnedRound = 2.0

    private mutating func measure(_ direction: FilterState.Vector, innovation: Double, variance: Double) {
        let expected = (direction * state.gain(direction)).sum()
        let normalised = innovation * innovation / (expected + variance)
        let excess = normalised > config.scalarGate ? normalised / config.scalarGate - 1 : 0
        state.update(direction, innovation: innovation, variance: variance + excess * (expected + variance))
    }

    // MARK: Odometry

    /// Predicts the state at a report's time and updates it with the report.
    mutating func update(_ odometry: Odometry) {
        predict(to: odometry.stamp)
        if let rate = odometry.turnRate {
            turn = (rate, odometry.turnRateSigma ?? config.turnRateSigma, odometry.stamp)
        }
        if odometry.isStationary {
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

    /// Updates the state with the constraint of being on a road: its direction, and the distance from its line.
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

    /// Sets the position to a dead-reckoned place on a road.
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

    /// Sets the speed to the one expected on the road, in the absence of a measurement.
    mutating func expect(speed: Double, sigma: Double) {
        state.isolate(Axis.speed, variance: sigma * sigma)
        state.mean[Axis.speed] = speed
    }
}
