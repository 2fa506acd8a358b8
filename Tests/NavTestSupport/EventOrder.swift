package import NavNavigator

/// The order of a reroute's events: will reroute, fetching, fetched, applied; or an earlier end as failed or rejected.
/// Reroutes do not overlap.
package struct RerouteOrder {
    /// The last event of a reroute.
    package enum Stage: Sendable { case announced, fetching, fetched }
    /// The reroute that has not ended yet.
    package private(set) var open: (id: UInt64, stage: Stage)?
    private var known: Set<UInt64> = []
    private var starts: Set<UInt64> = []

    /// Creates the state before any event.
    package init() {}

    /// Handles an effect and returns the violation of the order; nil if there is none.
    package mutating func violation(_ effect: Effect) -> String? {
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
            // A trip that could not start, or an external route that cannot be used, fails without an announcement.
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

/// The order of a switch's events: an announced switch to an alternative is completed or fails before the next one.
package struct SwitchOrder {
    /// The alternative of the switch that has not ended yet.
    package private(set) var open: UInt64?

    /// Creates the state before any event.
    package init() {}

    /// Handles an event and returns the violation of the order; nil if there is none.
    package mutating func violation(_ event: AlternativeSwitch) -> String? {
        switch event.phase {
        case .willTake:
            if open != nil { return "two switches at once" }
            open = event.id
        case .taken, .failed:
            if open != event.id { return "a switch that has not begun ends" }
            open = nil
        }
        return nil
    }
}

/// The order of a faster route's events: a detected one is applied or rejected before the next one.
package struct FasterRouteOrder {
    /// Whether a faster route has not ended yet.
    package private(set) var isOpen = false

    /// Creates the state before any event.
    package init() {}

    /// Handles an event and returns the violation of the order; nil if there is none.
    package mutating func violation(_ event: FasterRouteEvent) -> String? {
        switch event.phase {
        case .detected:
            if isOpen { return "a faster route is detected while another is open" }
            isOpen = true
        case .applied, .rejected:
            if !isOpen { return "a faster route that was not detected ends" }
            isOpen = false
        }
        return nil
    }
}

/// The order of a prediction's events: will begin, began, will end, ended, all with the same reason.
package struct SimulationOrder {
    /// The last event.
    package private(set) var last: SimulationEvent?

    /// Creates the state before any event.
    package init() {}

    /// Handles an event and returns the violation of the order; nil if there is none.
    package mutating func violation(_ event: SimulationEvent) -> String? {
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
