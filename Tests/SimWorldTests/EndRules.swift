import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavTestSupport

struct ReroutesEnd: Invariant {
    static let rule =
        "a reroute goes through will, fetching, fetched and applied, or fails or is rejected, before the next one"
    private var order = RerouteOrder()
    private var began = Timestamp(nanoseconds: 0)
    private var isUnderWay = false
    /// The longest time between the beginning and the end, seconds: a question, a request and another question may
    /// occur.
    private static let longest = 40.0

    mutating func violation(_ step: SimStep) -> String? {
        if step.isClockUncertain { began = step.event.stamp }
        for effect in step.effects {
            switch effect {
            case .publish(_, .route(let plan, let change)):
                if change != .refreshed { isUnderWay = plan != nil }
            case .publish(_, .arrival(let event)):
                if event.phase == .arrived, event.isDestination { isUnderWay = false }
            case .publish(_, .reroute(let event)):
                if event.phase == .willReroute {
                    if !isUnderWay { return "a reroute begins without a trip" }
                    began = step.event.stamp
                }
                if case .failed(_, let next?) = event.phase, next < step.event.stamp {
                    return "the next attempt is in the past"
                }
            default: break
            }
            if let what = order.violation(effect) { return what }
        }
        guard let open = order.open else { return nil }
        if !isUnderWay { return "reroute \(open.id) goes on without a trip" }
        let age = step.event.stamp.seconds(since: began)
        return age > ReroutesEnd.longest ? "reroute \(open.id) has lasted for \(age) s" : nil
    }
}

struct SwitchesEnd: Invariant {
    static let rule = "a switch to an alternative succeeds or fails in the same step"

    mutating func violation(_ step: SimStep) -> String? {
        var order = SwitchOrder()
        for effect in step.effects {
            guard case .publish(_, .alternativeSwitch(let event)) = effect else { continue }
            if let what = order.violation(event) { return what }
        }
        return order.open.map { "the switch to \($0) has no end" }
    }
}

struct FasterRoutesEnd: Invariant {
    static let rule = "a faster route that is detected is applied or rejected, in time and before the next one"
    private var order = FasterRouteOrder()
    private var detected = (stamp: Timestamp(nanoseconds: 0), patience: 0.0)
    private var hasRoute = false

    mutating func violation(_ step: SimStep) -> String? {
        if step.isClockUncertain { detected.stamp = step.event.stamp }
        for effect in step.effects {
            switch effect {
            case .publish(_, .fasterRoute(let event)):
                if let what = order.violation(event) { return what }
                if case .detected(let until) = event.phase {
                    if !hasRoute { return "detected without a route" }
                    let patience = until?.seconds(since: step.event.stamp) ?? step.config.policy.approvalDeadline
                    detected = (step.event.stamp, patience)
                }
            case .publish(_, .route(let plan, let change)):
                hasRoute = plan != nil
                if change != .refreshed, change != .fasterRoute, order.isOpen {
                    return "a faster route outlives its route"
                }
            default: break
            }
        }
        guard order.isOpen, step.tellsTime else { return nil }
        let age = step.event.stamp.seconds(since: detected.stamp)
        return age > detected.patience + 0.001 ? "a faster route is open for \(age) s" : nil
    }
}

struct RefreshesEnd: Invariant {
    static let rule = "a refresh succeeds or fails in the same step, and only on a trip"
    private var hasRoute = false

    mutating func violation(_ step: SimStep) -> String? {
        var isOpen = false
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(let plan, _): hasRoute = plan != nil
            case .refresh(let event):
                if !hasRoute { return "a refresh without a route" }
                switch event.phase {
                case .refreshing:
                    if isOpen { return "two refreshes at once" }
                    isOpen = true
                case .refreshed, .failed:
                    if !isOpen { return "a refresh ends that has not begun" }
                    isOpen = false
                case .invalidated: break
                }
            default: break
            }
        }
        return isOpen ? "a refresh has no end" : nil
    }
}

struct PredictionsEnd: Invariant {
    static let rule = "predictions begin and end with their events, one after the other; nothing is predicted outside"
    private var order = SimulationOrder()
    private var last: SimulationEvent? { order.last }

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .simulation(let event): if let what = order.violation(event) { return what }
            case .position(let position):
                let isOpen = last?.phase == .began
                if position.prediction != nil, !isOpen || last?.reason == .manual {
                    return "a prediction outside its events"
                }
                if isOpen, last?.reason == .manual, position.fix.type != .simulated {
                    return "a fix in a simulated drive"
                }
            default: break
            }
        }
        let isBetween = last?.phase == .willBegin || last?.phase == .willEnd
        return isBetween ? "a prediction that will begin or end does neither" : nil
    }
}
