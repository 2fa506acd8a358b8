package import NavGeo
package import NavMatching
import Glibc

package struct ReceiverModel: Sendable, Hashable {
    package enum Environment: String, Sendable, CaseIterable {
        case none
        /// Open sky: 1.5 m of slowly wandering error, 0.5 m of noise.
        case open
        /// Between buildings: 4 m of wandering error, 1.5 m of noise.
        case urban
    }

    /// Standard deviation of the wandering error on each axis, metres.
    package var wander: Double
    /// The correlation time of the wandering error, seconds (a first-order Gauss-Markov process).
    package var correlationTime: Double
    /// Standard deviation of the noise on each axis, metres.
    package var noise: Double
    /// Standard deviation of the speed, m/s.
    package var speedNoise: Double
    /// Periods of the drive without fixes, seconds since its start.
    package var outages: [ClosedRange<Double>]

    /// Creates the errors of an environment, scaled to the recordings used in tests of the matcher (2-D p50 about 1.9 m open, 5 m urban).
    package init(_ environment: Environment, outages: [ClosedRange<Double>] = []) {
        switch environment {
        case .none: (wander, noise, speedNoise) = (0, 0, 0)
        case .open: (wander, noise, speedNoise) = (1.5, 0.5, 0.1)
        case .urban: (wander, noise, speedNoise) = (4, 1.5, 0.3)
        }
        correlationTime = 30
        self.outages = outages
    }

    /// Returns the fixes of a drive that starts at `start`: one per state, none during outages.
    package func fixes(_ states: [DriveState], start: Timestamp, seed: UInt64) -> [Fix] {
        var random = SeededRandom(seed: seed)
        var error = LocalPoint(east: wander * random.gaussian(), north: wander * random.gaussian())
        var previous = states.first?.time ?? 0
        var fixes: [Fix] = []
        fixes.reserveCapacity(states.count)
        for state in states {
            let decay = exp(-(state.time - previous) / correlationTime)
            let drive = wander * (1 - decay * decay).squareRoot()
            error = LocalPoint(
                east: error.east * decay + drive * random.gaussian(),
                north: error.north * decay + drive * random.gaussian())
            previous = state.time
            let offset = LocalPoint(
                east: error.east + noise * random.gaussian(), north: error.north + noise * random.gaussian())
            let speed = max(state.speed + speedNoise * random.gaussian(), 0)
            // Course comes from the velocity vector, so its error grows as the speed falls.
            let courseError = speedNoise * random.gaussian() / max(state.speed, 0.5)
            guard !outages.contains(where: { $0.contains(state.time) }) else { continue }
            fixes.append(
                Fix(
                    stamp: start.advanced(bySeconds: state.time),
                    coordinate: LocalFrame(origin: state.coordinate).coordinate(of: offset),
                    horizontalSigma: max((wander * wander + noise * noise).squareRoot(), 0.5), speed: speed,
                    course: speed > 0.5 ? Angle.normalised(state.course + courseError) : nil, type: .simulated))
        }
        return fixes
    }
}
