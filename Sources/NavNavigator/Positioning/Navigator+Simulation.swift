import NavGeo
import NavMatching
import NavPositioning
import NavRouting

/// A simulated drive along the route, which generates the fixes of a vehicle.
final class DriveAlong {
    var speedFactor: Double
    private var routeID: UInt64
    /// Metres from the route's start.
    private var offset: Double
    /// The place of the last fix; nil before the first.
    private var place: Coordinate?
    var due: Timestamp
    var last: Timestamp
    /// The positioning of the generated fixes.
    var positioning: Positioning
    /// The real vehicle's position, updated by its fixes; nil when unknown.
    var vehicle: VehiclePosition?
    /// Whether the prediction of the real vehicle's positions has been abandoned since.
    var isLost: Bool
    /// The start of an unpublished prediction of the real vehicle's position; nil without one.
    var unreportedPrediction: Positioning.Effect?

    /// Seconds between two fixes. It decreases with the speed factor, so that the distance between fixes, and thus the accuracy of
    /// instructions, stays the same.
    private var interval: Double { 1 / max(speedFactor, 1) }
    /// Standard deviation of the fixes per axis, metres.
    private static let sigma = 1.0

    init(
        _ drive: SimulatedDrive, on trip: Trip, at stamp: Timestamp, vehicle: VehiclePosition?, isLost: Bool,
        positioning: Positioning
    ) {
        let range = SimulatedDrive.speedRange
        speedFactor = drive.speedFactor.isFinite ? min(max(drive.speedFactor, range.lowerBound), range.upperBound) : 1
        (routeID, offset) = (trip.routeID, trip.offset)
        last = stamp
        due = stamp
        self.vehicle = vehicle
        self.isLost = isLost
        self.positioning = positioning.simulation(speedFactor: speedFactor)
    }

    /// The greatest distance of the vehicle's place from a new route, metres.
    private static let reach = 10.0

    /// Returns the offset of a place on a new route, metres; nil when it is not on it.
    private static func offset(of place: Coordinate, on trip: Trip) -> Double? {
        let (start, length) = (trip.offset, trip.plan.route.length)
        // Search the nearest stretch first, because the route may pass the same place again later.
        var stretch = 50.0
        while true {
            let end = max(start, min(start + stretch, length))
            if let near = trip.plan.route.line.project(place, within: start...end), near.distance < reach {
                return near.offset
            }
            guard end < length else { return nil }
            stretch *= 2
        }
    }

    /// Returns the fix that is due; nil while the vehicle is held at a stop.
    func fix(on trip: Trip, at stamp: Timestamp) -> Fix? {
        if trip.isHeld {
            last = stamp
            due = stamp.advanced(bySeconds: interval)
            return nil
        }
        let seconds = min(max(stamp.seconds(since: last), 0), 2 * interval)
        let line = trip.plan.route.line
        if trip.routeID != routeID {
            routeID = trip.routeID
            offset = place.flatMap { DriveAlong.offset(of: $0, on: trip) } ?? trip.offset
        }
        var reached = trip.times.offset(seconds * speedFactor, after: offset)
        // The vehicle remains at its stop until the arrival.
        let stop = trip.requiredStop.flatMap { offset <= $0 ? $0 : nil }
        if let stop { reached = min(reached, stop) }
        let speed = seconds > 0 ? (reached - offset) / seconds : 0
        offset = reached
        last = stamp
        due = stamp.advanced(bySeconds: interval)
        let coordinate = line.coordinate(at: offset) ?? trip.stop.snapped
        place = coordinate
        return Fix(
            stamp: stamp, coordinate: coordinate,
            horizontalSigma: DriveAlong.sigma, speed: speed,
            // At the stop, the route may turn back.
            course: offset == stop ? line.bearing(arrivingAt: offset) : line.bearing(at: offset), type: .simulated)
    }
}

/// Manual simulation, with its start and end events. Meanwhile the real vehicle's position is tracked but not published.
extension Navigator {
    /// The real vehicle's position, even during a simulated drive; nil when unknown.
    var vehiclePosition: VehiclePosition? { simulation.map(\.vehicle) ?? lastPosition }

    func simulate(_ drive: SimulatedDrive, _ event: NavigatorEvent) {
        guard let trip else { return }
        simulation = DriveAlong(
            drive, on: trip, at: event.stamp, vehicle: lastPosition, isLost: isLost, positioning: positioning)
        // Simulations do not nest: a prediction for lack of fixes ends now and resumes when this simulation ends.
        if let reason = positioning.predictionReason {
            take([.predictionEnded(reason, .startedOver, nil)], event)
            simulation?.unreportedPrediction = lastPosition.map { .predictionBegan(reason, $0) }
        }
        report(.willBegin, nil, event)
        report(.began, nil, event)
    }

    func simulate(at stamp: Timestamp, _ event: NavigatorEvent) {
        guard let due = simulation?.due, due <= stamp, let trip, let fix = simulation?.fix(on: trip, at: stamp) else {
            return
        }
        guard let position = simulation?.positioning.place(simulated: fix, trip.prior) else { return }
        follow(position, event)
    }

    func endSimulation(_ end: SimulationEvent.End, _ event: NavigatorEvent) {
        guard let simulation else { return }
        self.simulation = nil
        report(.willEnd, end, event)
        report(.ended, end, event)
        (lastPosition, isLost) = (simulation.vehicle, simulation.isLost)
        if let began = simulation.unreportedPrediction { take([began], event) }
    }

    /// Follows the real vehicle during a simulated drive.
    func followVehicle(_ effects: [Positioning.Effect], _ event: NavigatorEvent) {
        for effect in effects {
            switch effect {
            case .qualified(let fix, let verdict): perform(.qualified(fix, verdict))
            case .clockSet, .receiver: take([effect], event)
            case .predictionBegan: simulation?.unreportedPrediction = effect
            case .predictionEnded(_, let end, _):
                simulation?.unreportedPrediction = nil
                simulation?.isLost = end == .gaveUp
            case .position(let position):
                simulation?.vehicle = position
                simulation?.isLost = false
                startDueTrip(from: position, event)
            case .filtered, .step: break
            }
        }
    }

    private func report(
        _ phase: SimulationEvent.Phase, _ end: SimulationEvent.End?, _ event: NavigatorEvent
    ) {
        publish(.simulation(SimulationEvent(phase: phase, reason: .manual, position: lastPosition, end: end)), event)
    }
}
