import NavKit
import NavConfig
import NavGeo
import NavNavigator

/// The keys of reroutes, faster routes, alternatives, refresh and policy.
extension NavigationConfiguration {
    static var policy: [ConfigKey<NavigationConfiguration>] {
        [
            .text(
                "policy.ask", \.navigator.policy.asked,
                range: "any of \(PolicyKind.allCases.map(\.rawValue).joined(separator: ",")), or all, or empty",
                "Decisions requested from the policy node; defaults apply to the rest.", listSeparator: ",",
                parse: { Set(names: $0) },
                format: { asked in PolicyKind.allCases.filter(asked.contains).map(\.rawValue).joined(separator: ",") }),
            .string("policy.node", \.policyNode, "Name of the policy node; empty for any node that serves Policy."),
            .number(
                "policy.wait_ready_s", \.policyWait, in: 0...60,
                "Time to wait for the policy node at the start, if policy.ask is set, seconds."),
            .number(
                "policy.deadline_s", \.navigator.policy.deadline, in: 0.01...10,
                "Time limit for an answer, seconds."),
            .number(
                "policy.approval_deadline_s", \.navigator.policy.approvalDeadline, in: 0.1...120,
                "Time limit for the approval of a faster route, seconds."),
            .number(
                "policy.hold_s", \.navigator.policy.hold, in: 0...3_600,
                "Time for which a negative answer applies if it states none, seconds."),
        ]
    }

    static var tripThresholds: [ConfigKey<NavigationConfiguration>] {
        [
            .number(
                "reroute.initial_maneuver_avoidance_s", \.navigator.rerouteManeuverAvoidance, in: 0...120,
                "Time at the present speed within which a new route avoids maneuvers, seconds."),
            .optionalNumber(
                "reroute.initial_maneuver_avoidance_m", \.navigator.rerouteManeuverAvoidanceDistance, in: 0...5_000,
                "Distance within which a new route avoids maneuvers, metres; empty uses the time."),
            .number(
                "reroute.min_commit_time_s", \.navigator.rerouteMinimumCommitTime, in: 0...120,
                "Time to the first maneuver below which a new route is proposed instead of taken, seconds; 0 for never."
            ),
            .number(
                "reroute.chosen_route_factor", \.navigator.chosenRouteFactor, in: 0.5...1,
                "Cost factor for the rest of the chosen route in the search for a new one; 1 for no preference."),
        ] + fasterKeys + alternativesKeys + arrivalKeys
    }

    private static var fasterKeys: [ConfigKey<NavigationConfiguration>] {
        [
            .flag("faster.enabled", \.navigator.faster.isEnabled, "Whether faster routes are searched for."),
            .number(
                "faster.interval_s", \.navigator.faster.interval, in: 10...86_400,
                "Time between two searches for a faster route, seconds."),
            .number(
                "faster.min_remaining_s", \.navigator.faster.minimumRemaining, in: 0...86_400,
                "Shortest remaining time on the route for a search, seconds."),
            .number(
                "faster.min_to_maneuver_s", \.navigator.faster.minimumToManeuver, in: 0...3_600,
                "Shortest time to the fork of the faster route, seconds."),
            .number(
                "faster.min_gain", \.navigator.faster.minimumGain, in: 0.001...0.9,
                "Least gain as a share of the remaining time."),
            .number(
                "faster.min_gain_s", \.navigator.faster.minimumGainSeconds, in: 0...86_400,
                "Least gain, seconds."),
            .text(
                "faster.approval", \.navigator.faster.approval, range: "auto | policy | manual",
                "Who approves a faster route.",
                parse: { FasterRouteConfig.Approval(rawValue: $0) }, format: { $0.rawValue }),
            .number(
                "faster.accept_for_s", \.navigator.faster.acceptFor, in: 1...600,
                "Time for a user to accept a faster route, seconds."),
        ]
    }

    private static var alternativesKeys: [ConfigKey<NavigationConfiguration>] {
        [
            .flag("alternatives.enabled", \.navigator.alternatives.isEnabled, "Whether alternatives are searched for."),
            .number(
                "alternatives.refresh_interval_s", \.navigator.alternatives.interval,
                in: AlternativesConfig.shortestInterval...86_400, "Time between two searches for alternatives, seconds."
            ),
            .integer(
                "alternatives.limit", \.navigator.alternatives.limit, in: 0...2, "Greatest number of alternatives."),
            .text(
                "alternatives.accept", \.navigator.alternatives.acceptance, range: "unfiltered | faster | shorter",
                "Which alternatives are shown.", parse: { AlternativesConfig.Acceptance(rawValue: $0) },
                format: { $0.rawValue }),
            .number(
                "alternatives.min_move_m", \.navigator.alternatives.minimumMovement, in: 0...10_000,
                "Shortest distance travelled between two searches for alternatives, metres."),
            .flag(
                "refresh.enabled", \.navigator.refresh.isEnabled, "Whether the route's durations are kept up to date."),
            .number(
                "refresh.interval_s", \.navigator.refresh.interval, in: 10...86_400,
                "Longest time between two refreshes, seconds."),
            .number(
                "refresh.min_interval_s", \.navigator.refresh.minimumInterval, in: 0...600,
                "Shortest time between two refreshes for new traffic, seconds."),
        ]
    }

    private static var arrivalKeys: [ConfigKey<NavigationConfiguration>] {
        [
            .flag(
                "arrival.suppress_reroute", \.navigator.arrivalSuppresses,
                "Whether leaving the route near a waypoint triggers no reroute."),
            .number(
                "arrival.dwell_s", \.navigator.arrivalDwell, in: 0...60,
                "Time that the vehicle must be at a waypoint to have arrived, seconds."),
            .optionalNumber(
                "arrival.max_speed_mps", \.navigator.arrivalMaximumSpeed, in: 0...100,
                "Greatest speed at which a waypoint is reached, m/s; empty for any."),
            .optionalNumber(
                "arrival.max_course_deg", \.navigator.arrivalCourse, in: 1...180,
                "Greatest difference between course and route at which a waypoint is reached, degrees; empty for any."),
            .text(
                "origin_fallback", \.navigator.originFallback, range: "LAT,LON, or empty",
                "Start of routes while no position is known, degrees.",
                parse: { $0.isEmpty ? .some(nil) : Coordinate(text: $0).map { .some($0) } },
                format: { $0?.text ?? "" }),
        ]
    }
}

extension Set<PolicyKind> {
    /// Parses kinds from names separated by commas; nil when one is unknown.
    fileprivate init?(names text: String) {
        if text == "all" {
            self = Set(PolicyKind.allCases)
            return
        }
        self = []
        guard !text.isEmpty else { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let kind = PolicyKind(rawValue: String(name)) else { return nil }
            insert(kind)
        }
    }
}
