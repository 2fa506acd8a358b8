package import NavMessages

/// Human-readable lines for the events of a drive; messages published with every fix have none.
package enum EventLine {
    /// Returns the line of a message; nil for a message without one.
    ///
    /// - Parameter numbersRoutes: Whether the line contains the route's number, which counts up and may differ between drives for
    ///   the same route.
    package static func text(_ message: any Message, numbersRoutes: Bool = true) -> String? {
        switch message {
        case let event as NavMessages.RerouteEvent: reroute(event)
        case let event as NavMessages.ArrivalEvent: arrival(event)
        case let route as NavMessages.Route: self.route(route, numbersRoutes)
        case let spoken as NavMessages.SpokenInstruction: spoken.text.map { "say: \($0)" }
        case let state as NavMessages.NavigationState: self.state(state)
        case let event as NavMessages.SimulationEvent: simulation(event)
        case let selection as ReceiverSelection: receiver(selection)
        case let offered as NavMessages.Alternatives: alternatives(offered)
        case let event as NavMessages.AlternativeSwitch:
            "alternative \(word(event.phase?.description, "ALTERNATIVE_SWITCH_PHASE_"))"
                + (event.byDriving == true ? " by driving onto it" : "")
        case let event as NavMessages.FasterRoute:
            "faster route \(word(event.phase?.description, "FASTER_ROUTE_PHASE_"))"
                + (event.gainS.map { ": \(whole($0)) s sooner" } ?? "")
        case let event as NavMessages.RouteRefresh: refresh(event)
        // Default decisions are left out.
        case let decision as NavMessages.PolicyDecision where decision.decidedBy != .default:
            "policy \(word(decision.kind?.description, "POLICY_KIND_")): "
                + "\(word(decision.verdict?.description, "POLICY_VERDICT_")) by \(word(decision.decidedBy?.description, "POLICY_DECIDER_"))"
        default: nil
        }
    }

    /// Whether a message reports that a route was not found and will not be retried.
    static func isLastingFailure(_ message: any Message) -> Bool {
        guard let event = message as? NavMessages.RerouteEvent else { return false }
        return event.phase == .failed && event.nextAttemptNs == nil
    }

    private static func reroute(_ event: NavMessages.RerouteEvent) -> String {
        let phase = word(event.phase?.description, "REROUTE_PHASE_")
        let reason = word(event.reason?.description, "REROUTE_REASON_")
        switch event.phase {
        case .failed:
            let next = event.nextAttemptNs == nil ? "no retry" : "will be retried"
            return "reroute \(phase) (\(reason)): \(event.error?.message ?? "unknown cause"), \(next)"
        case .rejected: return "reroute \(phase): \(word(event.rejection?.description, "REROUTE_REJECTION_"))"
        default: return "reroute \(phase) (\(reason))"
        }
    }

    private static func alternatives(_ offered: NavMessages.Alternatives) -> String? {
        if let error = offered.error { return "alternatives: \(error.message ?? "unknown cause")" }
        let ways = offered.alternatives.map { alternative in
            let summary = alternative.route?.summary
            let names = summary.map { $0.names.isEmpty ? "" : " via \($0.names.joined(separator: ", "))" } ?? ""
            return (alternative.durationDeltaS.map { "\($0 < 0 ? "" : "+")\(whole($0 / 60)) min" } ?? "?")
                + names
        }
        return "alternatives: " + (ways.isEmpty ? "none" : ways.joined(separator: "; "))
    }

    private static func refresh(_ event: NavMessages.RouteRefresh) -> String? {
        switch event.phase {
        case .invalidated: "route INVALIDATED: it leads over a closed road"
        case .failed: "refresh FAILED: \(event.error?.message ?? "unknown cause")"
        case .refreshed where abs(event.etaDeltaS ?? 0) >= 30:
            "refresh: arrival \(whole(abs(event.etaDeltaS ?? 0))) s \((event.etaDeltaS ?? 0) < 0 ? "earlier" : "later")"
        default: nil
        }
    }

    private static func arrival(_ event: NavMessages.ArrivalEvent) -> String? {
        guard event.phase != .approaching || event.isFirst == true else { return nil }
        let place = event.isDestination == true ? "destination" : "waypoint \(event.waypointIndex ?? 0)"
        let remaining = event.distanceRemainingM.map { ", \(whole($0)) m to go" } ?? ""
        return "arrival \(word(event.phase?.description, "ARRIVAL_PHASE_")) \(place)\(remaining)"
    }

    private static func route(_ route: NavMessages.Route, _ isNumbered: Bool) -> String {
        guard let summary = route.summary else { return "route: none" }
        let length = summary.distanceM.map {
            $0 >= 1_000 ? "\(whole($0 / 100) / 10).\(whole($0 / 100) % 10) km" : "\(whole($0.rounded(.down))) m"
        }
        let minutes = summary.durationS.map { "\(whole(($0 / 60).rounded(.up))) min" }
        let names = summary.names.isEmpty ? "" : " via \(summary.names.joined(separator: ", "))"
        let number = isNumbered ? " \(route.routeId ?? 0)" : ""
        return "route\(number): \(length ?? "?"), \(minutes ?? "?")\(names)"
    }

    private static func state(_ state: NavMessages.NavigationState) -> String? {
        guard let phase = state.phase else { return nil }
        let guidance = state.guidance.map { " " + word($0.description, "GUIDANCE_STATE_") } ?? ""
        return "state \(word(phase.description, "NAVIGATION_PHASE_"))\(guidance)"
    }

    private static func simulation(_ event: NavMessages.SimulationEvent) -> String? {
        guard event.phase == .began || event.phase == .ended else { return nil }
        let phase = word(event.phase?.description, "SIMULATION_PHASE_")
        let end = event.endReason.map { ": " + word($0.description, "SIMULATION_END_REASON_") } ?? ""
        return "prediction \(phase) (\(word(event.reason?.description, "SIMULATION_REASON_")))\(end)"
    }

    private static func receiver(_ selection: ReceiverSelection) -> String? {
        guard let name = selection.receiver else { return nil }
        guard let previous = selection.previous else { return name.isEmpty ? nil : "receiver '\(name)'" }
        let reason = word(selection.reason?.description, "RECEIVER_SELECTION_REASON_")
        return "receiver '\(name)' instead of '\(previous)' (\(reason))"
    }

    /// Returns a recorded number, which may have any value, as a whole number.
    private static func whole(_ value: Double) -> Int {
        value.isFinite ? Int(min(max(value.rounded(), -1e12), 1e12)) : 0
    }

    private static func word(_ name: String?, _ prefix: String) -> String {
        guard let name else { return "?" }
        return name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
    }
}
