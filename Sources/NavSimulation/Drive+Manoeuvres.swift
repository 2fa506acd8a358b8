package import NavMap
import NavGeo

extension Drive {
    /// Speed of a reversing car, m/s: walking pace.
    private static let backwardSpeed = 1.5
    /// Acceleration of a reversing car, m/s².
    private static let backwardAcceleration = 0.7
    /// The minimum time at standstill between reversing and driving off, seconds.
    private static let pause = 2.0

    /// Returns `rate` states per second of a vehicle that first reverses to the line's start, stops, and then drives off.
    ///
    /// - Parameter distance: the distance to reverse, metres, at most the line's length; with 0, the vehicle drives off immediately.
    package func states(rate: Double, backingUp distance: Double) -> [DriveState] {
        let forward = states(rate: rate)
        let distance = min(distance, line.length)
        guard distance > 0, let first = forward.first else { return forward }
        let ramp = min(
            Drive.backwardSpeed / Drive.backwardAcceleration, (distance / Drive.backwardAcceleration).squareRoot())
        let speed = Drive.backwardAcceleration * ramp
        let moving = distance / speed + ramp
        // A whole number of seconds, so that fixes at any whole rate coincide with it.
        let duration = (moving + Drive.pause).rounded(.up)
        var states: [DriveState] = []
        for sample in 0..<Int((duration * rate).rounded(.up)) {
            let time = Double(sample) / rate
            guard time < moving else {
                var standing = first
                (standing.time, standing.speed) = (time, 0)
                states.append(standing)
                continue
            }
            let end = max(time - (moving - ramp), 0)
            let rising = min(time, ramp)
            let gone =
                Drive.backwardAcceleration * rising * rising / 2 + speed * max(time - ramp, 0)
                - Drive.backwardAcceleration * end * end / 2
            var state = self.state(
                at: max(distance - gone, 0), time: time,
                speed: min(Drive.backwardAcceleration * rising, speed) - Drive.backwardAcceleration * end)
            state.course = Angle.normalised(state.course + .pi)
            state.reverses = true
            states.append(state)
        }
        return states
            + forward.map { state in
                var state = state
                state.time += duration
                return state
            }
    }

    /// Returns the times at which the vehicle is in tunnels of the map, in seconds of the states' time.
    ///
    /// - Parameter length: the minimum length of a tunnel, metres; in shorter ones satellites remain visible through the ends.
    package func tunnels(_ states: [DriveState], on graph: RoadGraph, from length: Double = 30) -> [ClosedRange<Double>]
    {
        var isDark = [Bool](repeating: false, count: edges.count)
        var index = 0
        while index < edges.count {
            var end = index
            var total = 0.0
            while end < edges.count, graph.traits(of: edges[end]).flags.contains(.tunnel) {
                total += Double(graph.edgeLengths[edges[end].index])
                end += 1
            }
            if total >= length { for dark in index..<end { isDark[dark] = true } }
            index = max(end, index + 1)
        }
        var spans: [ClosedRange<Double>] = []
        var open: (start: Double, end: Double)?
        for state in states {
            if isDark[state.edge] {
                open = (open?.start ?? state.time, state.time)
            } else if let span = open {
                spans.append(span.start...span.end)
                open = nil
            }
        }
        if let open { spans.append(open.start...open.end) }
        return spans
    }
}
