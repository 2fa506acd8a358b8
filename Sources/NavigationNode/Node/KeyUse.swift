package import NavConfig
package import NavMessages
import NavNavigator

/// The use of configuration keys in a replay, according to its published messages.
///
/// A key that is read only for or after such a message counts as unread without one.
package struct KeyUse: Sendable, Equatable {
    /// Whether a reroute was announced, or the search for a route failed.
    package private(set) var hasRerouted = false
    /// Whether a faster route was found.
    package private(set) var hasFasterRoute = false
    /// Whether a stop before the destination was reached.
    package private(set) var hasReachedStop = false
    /// Whether there was a decision about taking an alternative.
    package private(set) var hasDecidedAlternative = false
    /// Whether there was a refusal.
    package private(set) var hasRefusal = false

    package init() {}

    package mutating func note(_ message: any Message) {
        // Comparing types is faster than casting: some messages come with each fix.
        let type = type(of: message)
        if type == NavMessages.RerouteEvent.self {
            hasRerouted = true
        } else if type == NavMessages.FasterRoute.self {
            hasFasterRoute = true
        } else if type == NavMessages.ArrivalEvent.self {
            guard let arrival = message as? NavMessages.ArrivalEvent else { return }
            if arrival.phase == .arrived, arrival.isDestination != true { hasReachedStop = true }
        } else if type == NavMessages.PolicyDecision.self {
            guard let decision = message as? NavMessages.PolicyDecision else { return }
            if decision.kind == .shouldTakeAlternative { hasDecidedAlternative = true }
            if decision.verdict != .yes { hasRefusal = true }
        }
    }
}

extension NavigationConfiguration {
    /// The keys whose values can affect a replay: all but those outside the core (the network, other nodes' services, trip files).
    package static let replayedKeys: [ConfigKey<NavigationConfiguration>] = {
        let outside = [
            "directions.", "tile_cache.", "coverage.", "state.", "policy.node", "policy.wait_ready_s",
        ]
        return keys.filter { key in !outside.contains { key.name.hasPrefix($0) } }
    }()

    /// Returns the keys of ``replayedKeys`` that a replay read: no trip keys without a destination; of a disabled feature, only its switch
    /// and the keys that other features read; the keys of reroutes, faster routes, stops and the policy according to `use`. A recorded
    /// command may change any of them.
    package func readKeys(isCommanded: Bool, _ use: KeyUse) -> [ConfigKey<NavigationConfiguration>] {
        let keys = Self.replayedKeys
        if isCommanded { return keys }
        var unread: [String] = []
        if destination == nil {
            unread = [
                "deviation.", "wrong_way.", "snap.", "reroute.", "arrival.", "legs.", "faster.", "alternatives.",
                "refresh.", "guidance.", "origin_fallback",
            ]
        }
        if !use.hasRerouted {
            unread += [
                "reroute.cooldown_s", "reroute.min_move_m", "reroute.backoff_max_s", "reroute.chosen_route_factor",
                "reroute.initial_maneuver_avoidance_",
            ]
        }
        if !use.hasFasterRoute { unread += ["faster.approval", "faster.accept_for_s"] }
        if !use.hasReachedStop { unread.append("legs.auto_advance") }
        let asked = navigator.policy.asked
        // An alternative that the vehicle takes is not decided again for this time, even when decisions are not requested from
        // the policy node.
        if asked.isEmpty, !use.hasDecidedAlternative { unread.append("policy.deadline_s") }
        if !asked.contains(.acceptFasterRoute) { unread.append("policy.approval_deadline_s") }
        if !use.hasRefusal { unread.append("policy.hold_s") }
        let off = keys.filter { $0.name.hasSuffix(".enabled") && $0.text(of: self) == "false" }
            .map { $0.name.dropLast("enabled".count) }
        // A search for a faster route refreshes the durations unless they are as recent as this.
        let shared = navigator.faster.isEnabled ? "refresh.min_interval_s" : ""
        return keys.filter { key in
            !unread.contains { key.name.hasPrefix($0) }
                && (key.name.hasSuffix(".enabled") || key.name == shared || !off.contains { key.name.hasPrefix($0) })
        }
    }
}
