import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning

struct EventsAreCounted: Invariant {
    static let rule =
        "every publication has the stamp of its event, a known cause and the next sequence number"
    private var sequence: UInt64 = 0
    /// The known causes: the consequences of an answer, or of its absence, have the cause of the question.
    private var causes: Set<UInt64> = []

    mutating func violation(_ step: SimStep) -> String? {
        causes.insert(step.event.causeSequence)
        for effect in step.effects {
            guard case .publish(let context, _) = effect else { continue }
            sequence += 1
            if context.eventSequence != sequence {
                return "sequence number \(context.eventSequence) instead of \(sequence)"
            }
            if context.stamp != step.event.stamp {
                return "a publication has stamp \(context.stamp), its event \(step.event.stamp)"
            }
            if !causes.contains(context.causeSequence) {
                return "a publication has the unknown cause \(context.causeSequence)"
            }
        }
        return nil
    }
}

struct TimeGoesOn: Invariant {
    static let rule = "positions and progress never go back in time"
    private var position: Timestamp?
    private var progress: Timestamp?

    mutating func violation(_ step: SimStep) -> String? {
        if step.isClockUncertain { (position, progress) = (nil, nil) }
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .position(let told):
                if let position, told.stamp < position {
                    return "a position of \(told.stamp) comes after one of \(position)"
                }
                position = told.stamp
            case .progress(let told):
                if let progress, told.position.stamp < progress {
                    return "a progress of \(told.position.stamp) comes after one of \(progress)"
                }
                progress = told.position.stamp
            case .simulation(let event) where event.reason == .manual: (position, progress) = (nil, nil)
            default: break
            }
        }
        return nil
    }
}

struct TimersMoveOn: Invariant {
    static let rule = "a timer is not requested twice"

    mutating func violation(_ step: SimStep) -> String? {
        guard case .timer = step.event.kind, let due = step.due, due <= step.event.stamp else { return nil }
        return "the timer of \(step.event.stamp) leads to one of \(due)"
    }
}

struct NumbersAreSound: Invariant {
    static let rule = "every number is finite and in its range"

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            let (natural, finite) = numbers(of: what)
            if let odd = natural.first(where: { !($0 >= 0 && $0.isFinite) }) { return "\(odd) in \(kind(what))" }
            if let odd = finite.first(where: { !$0.isFinite }) { return "\(odd) in \(kind(what))" }
            if case .progress(let progress) = what {
                guard progress.leg < progress.legCount, progress.step < progress.stepCount, progress.snapped.isValid,
                    progress.waypointsRemaining >= 1, progress.deviation.probability <= 1
                else { return "leg, step or position of a progress is out of range" }
            }
        }
        return nil
    }

    private func kind(_ what: Publication) -> String { String("\(what)".prefix { $0 != "(" }) }

    /// Returns the numbers that must not be negative, and the others.
    private func numbers(of what: Publication) -> (natural: [Double], finite: [Double]) {
        switch what {
        case .position(let position): (sigmas(position), [position.coordinate.latitude, position.coordinate.longitude])
        case .progress(let progress):
            (
                [
                    progress.offset, progress.distanceRemaining, progress.durationRemaining,
                    progress.legDistanceRemaining, progress.legDurationRemaining, progress.stepDistanceRemaining,
                    progress.stepDurationRemaining, progress.deviation.distance, progress.deviation.probability,
                    progress.deviation.courseDifference ?? 0, progress.snappedBearing ?? 0,
                ] + sigmas(progress.position), []
            )
        case .visual(_, let distance, let duration): ([distance, duration], [])
        case .spoken(let spoken, let distance, let duration): ([distance, duration, spoken.distance], [])
        case .arrival(let event): ([event.distanceRemaining, event.durationRemaining], [])
        case .alternatives(let update):
            (
                update.alternatives.flatMap { [$0.distanceToFork, $0.durationToFork, $0.distance, $0.duration] },
                update.alternatives.map(\.durationDelta)
            )
        case .fasterRoute(let event): ([], [event.gain.seconds, event.gain.share])
        case .refresh(let event): ([], [event.delta])
        case .reroute(let event): ([event.maneuverAvoidance], [])
        case .policyDecision(let decision): ([decision.latency], [])
        case .fixRejected(_, let rejection): ([], [rejection.value ?? 0, rejection.limit ?? 0])
        case .route, .state, .simulation, .receiver, .preview, .alternativeSwitch, .policyRequest: ([], [])
        }
    }

    private func sigmas(_ position: VehiclePosition) -> [Double] {
        var numbers = [
            position.match.confidence, position.match.offRoadProbability, position.age, position.directionProbability,
        ]
        if let road = position.road { numbers += [road.alongSigma, road.crossSigma, road.offset, road.distance] }
        if let sigma = position.sigma { numbers.append(sigma) }
        return numbers + position.match.candidates.flatMap { [$0.probability, $0.offset, $0.distance] }
    }
}

struct PredictionsGiveWay: Invariant {
    static let rule = "predictions end after ten accepted fixes in a row"
    private var good = 0
    private var last = -Double.infinity

    mutating func violation(_ step: SimStep) -> String? {
        if case .fix(let fix) = step.event.kind {
            // A fix of an unused receiver does not count.
            let isRejected = step.publications.contains { if case .fixRejected = $0.what { true } else { false } }
            if isRejected || step.time - last > 1.5 { good = 0 }
            if step.lastFix == fix.stamp, !isRejected {
                good += 1
                last = step.time
            }
        }
        for (_, what) in step.publications {
            switch what {
            // A change of receiver or a manual simulation restarts the count.
            case .receiver: good = 0
            case .simulation(let event): if event.reason == .manual { good = 0 }
            case .position(let position):
                // By stamps: a fix arrives a fraction of a second after its moment, and in a tunnel fixes are missing
                // after a second.
                if position.prediction != nil, good >= 10, step.time - last < 0.9, !step.isClockUncertain,
                    let fix = step.lastFix, position.stamp.seconds(since: fix) < 1
                {
                    return "a position of \(position.stamp) is predicted after \(good) accepted fixes"
                }
            default: break
            }
        }
        return nil
    }
}
