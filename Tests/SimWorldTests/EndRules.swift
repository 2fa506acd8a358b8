import NavGeo
import NavMatching
import NavNavigator

struct ReroutesEnd: Invariant {
    static let rule =
        "a reroute goes will, fetching, fetched, applied, or ends as failed or rejected, soon and before the next one"
    private enum Phase { case announced, fetching, fetched }
    private var open: (id: UInt64, phase: Phase, stamp: Timestamp)?
    private var known: Set<UInt64> = []
    private var starts: Set<UInt64> = []
    private var isUnderWay = false
    /// A question, a request and another question may lie between the beginning and the end, seconds.
    private static let longest = 40.0

    mutating func breach(_ step: SimStep) -> String? {
        if step.isClockUncertain { open?.stamp = step.event.stamp }
        for effect in step.effects {
            switch effect {
            case .requestRoute(let query): if query.purpose == .start { starts.insert(query.requestID) }
            case .publish(_, .route(let plan, let change)):
                if change != .refreshed { isUnderWay = plan != nil }
            case .publish(_, .arrival(let event)):
                if event.phase == .arrived, event.isDestination { isUnderWay = false }
            case .publish(_, .reroute(let event)): if let what = take(event, step) { return what }
            default: break
            }
        }
        guard let open else { return nil }
        if !isUnderWay { return "reroute \(open.id) goes on without a trip" }
        let age = step.event.stamp.seconds(since: open.stamp)
        return age > ReroutesEnd.longest ? "reroute \(open.id) has lasted for \(age) s" : nil
    }

    private mutating func take(_ event: RerouteEvent, _ step: SimStep) -> String? {
        let isOpen = open != nil && open?.id == event.requestID
        switch event.phase {
        case .willReroute:
            guard let id = event.requestID, open == nil, known.insert(id).inserted else {
                return "a reroute begins while another is open"
            }
            if !isUnderWay { return "a reroute begins without a trip" }
            open = (id, .announced, step.event.stamp)
        case .fetching(let attempt):
            if !isOpen || open?.phase != .announced || attempt < 1 { return "fetching at the wrong time" }
            open?.phase = .fetching
        case .fetched:
            if !isOpen || open?.phase != .fetching { return "fetched at the wrong time" }
            open?.phase = .fetched
        case .applied:
            if event.isProactive { return open == nil ? nil : "a faster route is applied in a reroute" }
            if !isOpen || open?.phase != .fetched { return "applied at the wrong time" }
            open = nil
        case .failed(_, let next):
            if let next, next < step.event.stamp { return "the next attempt lies behind" }
            // A trip that could not begin, or a route from elsewhere that cannot be used, fails without an announcement.
            if let id = event.requestID, !starts.contains(id) {
                if !isOpen || open?.phase != .fetching { return "failed at the wrong time" }
                open = nil
            }
        case .rejected:
            if !isOpen { return "rejected, but not announced" }
            open = nil
        }
        return nil
    }
}

struct SwitchesEnd: Invariant {
    static let rule = "an alternative that will be taken is taken, or the switch fails, in the same step"

    mutating func breach(_ step: SimStep) -> String? {
        var open: UInt64?
        for effect in step.effects {
            guard case .publish(_, .alternativeSwitch(let event)) = effect else { continue }
            switch event.phase {
            case .willTake:
                if open != nil { return "two switches at once" }
                open = event.id
            case .taken, .failed:
                if open != event.id { return "a switch ends that has not begun" }
                open = nil
            }
        }
        return open.map { "the switch to \($0) has no end" }
    }
}

struct FasterRoutesEnd: Invariant {
    static let rule = "a faster route that is detected is applied or rejected, in time and before the next one"
    private var open: (stamp: Timestamp, patience: Double)?
    private var hasRoute = false

    mutating func breach(_ step: SimStep) -> String? {
        if step.isClockUncertain { open?.stamp = step.event.stamp }
        for effect in step.effects {
            switch effect {
            case .publish(_, .fasterRoute(let event)):
                switch event.phase {
                case .detected(let until):
                    if open != nil || !hasRoute { return "detected at the wrong time" }
                    let patience = until?.seconds(since: step.event.stamp) ?? step.config.policy.approvalDeadline
                    open = (step.event.stamp, patience)
                case .applied, .rejected:
                    if open == nil { return "a faster route ends that has not begun" }
                    open = nil
                }
            case .publish(_, .route(let plan, let change)):
                hasRoute = plan != nil
                if change != .refreshed, change != .fasterRoute, open != nil {
                    return "a faster route outlives its route"
                }
            default: break
            }
        }
        guard let open else { return nil }
        let age = step.event.stamp.seconds(since: open.stamp)
        return age > open.patience + 0.001 ? "a faster route is open for \(age) s" : nil
    }
}

struct RefreshesEnd: Invariant {
    static let rule = "a refresh that begins is done or fails in the same step, and only on a trip"
    private var hasRoute = false

    mutating func breach(_ step: SimStep) -> String? {
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
    private var last: SimulationEvent?

    mutating func breach(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .simulation(let event):
                let before: SimulationEvent.Phase
                switch event.phase {
                case .willBegin: before = .ended
                case .began: before = .willBegin
                case .willEnd: before = .began
                case .ended: before = .willEnd
                }
                if last?.phase ?? .ended != before { return "\(event.phase) after \(last?.phase ?? .ended)" }
                if before != .ended, last?.reason != event.reason { return "the reason changes to \(event.reason)" }
                last = event
            case .position(let sighting):
                let isOpen = last?.phase == .began
                if sighting.prediction != nil, !isOpen || last?.reason == .manual {
                    return "a prediction outside of its events"
                }
                if isOpen, last?.reason == .manual, sighting.fix.type != .simulated {
                    return "a fix in a simulated drive"
                }
            default: break
            }
        }
        let isBetween = last?.phase == .willBegin || last?.phase == .willEnd
        return isBetween ? "a prediction that will begin or end does not" : nil
    }
}
