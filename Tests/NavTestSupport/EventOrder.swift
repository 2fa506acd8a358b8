public import NavNavigator

/// Reroutes go will, fetching, fetched, applied, or end before as failed or rejected, one after the other.
public struct RerouteOrder {
    /// How far one has come.
    public enum Stage: Sendable { case announced, fetching, fetched }
    /// The one that has no end yet.
    public private(set) var open: (id: UInt64, stage: Stage)?
    private var known: Set<UInt64> = []
    private var starts: Set<UInt64> = []

    /// Nothing has happened yet.
    public init() {}

    /// Takes an effect in; what is wrong with its place in the order, nil when nothing is.
    public mutating func breach(_ effect: Effect) -> String? {
        switch effect {
        case .requestRoute(let query) where query.purpose == .start: starts.insert(query.requestID)
        case .publish(_, .reroute(let event)): return take(event)
        default: break
        }
        return nil
    }

    private mutating func take(_ event: RerouteEvent) -> String? {
        let stage = open?.id == event.requestID ? open?.stage : nil
        switch event.phase {
        case .willReroute:
            guard let id = event.requestID, open == nil, known.insert(id).inserted else {
                return "a reroute begins while another is open"
            }
            open = (id, .announced)
        case .fetching(let attempt):
            if stage != .announced || attempt < 1 { return "fetching at the wrong time" }
            open?.stage = .fetching
        case .fetched:
            if stage != .fetching { return "fetched at the wrong time" }
            open?.stage = .fetched
        case .applied:
            if event.isProactive { return open == nil ? nil : "a faster route is applied in a reroute" }
            if stage != .fetched { return "applied at the wrong time" }
            open = nil
        case .failed:
            // A trip that could not begin, or a route from elsewhere that cannot be used, fails without an announcement.
            if let id = event.requestID, !starts.contains(id) {
                if stage != .fetching { return "failed at the wrong time" }
                open = nil
            }
        case .rejected:
            if stage == nil { return "rejected, but not announced" }
            open = nil
        }
        return nil
    }
}

/// A switch to an alternative that is announced is done or fails, before the next one.
public struct SwitchOrder {
    /// The alternative of the switch that has no end yet.
    public private(set) var open: UInt64?

    /// Nothing has happened yet.
    public init() {}

    /// Takes an event in; what is wrong with its place in the order, nil when nothing is.
    public mutating func breach(_ event: AlternativeSwitch) -> String? {
        switch event.phase {
        case .willTake:
            if open != nil { return "two switches at once" }
            open = event.id
        case .taken, .failed:
            if open != event.id { return "a switch ends that has not begun" }
            open = nil
        }
        return nil
    }
}

/// A faster route that is detected is applied or rejected, before the next one.
public struct FasterRouteOrder {
    /// Whether one has no end yet.
    public private(set) var isOpen = false

    /// Nothing has happened yet.
    public init() {}

    /// Takes an event in; what is wrong with its place in the order, nil when nothing is.
    public mutating func breach(_ event: FasterRouteEvent) -> String? {
        switch event.phase {
        case .detected:
            if isOpen { return "a faster route is detected while another is open" }
            isOpen = true
        case .applied, .rejected:
            if !isOpen { return "a faster route ends that has not begun" }
            isOpen = false
        }
        return nil
    }
}

/// Predictions will begin, begin, will end and end, each time for one reason.
public struct SimulationOrder {
    /// The event that came last.
    public private(set) var last: SimulationEvent?

    /// Nothing has happened yet.
    public init() {}

    /// Takes an event in; what is wrong with its place in the order, nil when nothing is.
    public mutating func breach(_ event: SimulationEvent) -> String? {
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
        return nil
    }
}
