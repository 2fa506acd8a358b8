import Glibc
import NavGeo
import NavSimulation

/// A driver whose speed is a randomly varying share of the roads' speeds.
struct DriverModel {
    /// The driver's mean speed as a share of the roads' speeds.
    var pace: Double
    /// The standard deviation of this share.
    var deviation: Double
    /// The correlation time of a deviation, seconds (a first-order Gauss-Markov process).
    var correlationTime: Double

    init(pace: Double = 1, deviation: Double = 0.04, correlationTime: Double = 60) {
        self.pace = pace
        self.deviation = deviation
        self.correlationTime = max(correlationTime, 1)
    }

    /// Returns the same drive at the driver's speed, again with `rate` states per second.
    func drive(_ states: [DriveState], rate: Double, seed: UInt64) -> [DriveState] {
        guard states.count > 1, rate > 0, rate.isFinite else { return states }
        var random = SeededRandom(seed: seed)
        var wander = deviation * random.gaussian()
        var time = 0.0
        var sample = 0
        var driven: [DriveState] = []
        driven.reserveCapacity(states.count)
        for (first, second) in zip(states, states.dropFirst()) {
            let step = max(second.time - first.time, 0)
            let decay = exp(-step / correlationTime)
            wander = wander * decay + deviation * (1 - decay * decay).squareRoot() * random.gaussian()
            let share = min(max(pace + wander, 0.4), 1.6)
            let duration = step / share
            while Double(sample) / rate <= time + duration {
                let part = duration > 0 ? (Double(sample) / rate - time) / duration : 0
                var state = part < 0.5 ? first : second
                state.time = Double(sample) / rate
                state.offset = first.offset + (second.offset - first.offset) * part
                state.coordinate.latitude =
                    first.coordinate.latitude + (second.coordinate.latitude - first.coordinate.latitude) * part
                state.coordinate.longitude =
                    first.coordinate.longitude + (second.coordinate.longitude - first.coordinate.longitude) * part
                state.speed = (first.speed + (second.speed - first.speed) * part) * share
                driven.append(state)
                sample += 1
            }
            time += duration
        }
        if var last = states.last {
            last.time = Double(sample) / rate
            driven.append(last)
        }
        return driven
    }
}
