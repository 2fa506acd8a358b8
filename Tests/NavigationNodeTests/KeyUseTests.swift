import NavConfig
import NavMessages
import NavigationNode
import Testing

/// The configuration keys that a replay reads.
struct KeyUseTests {
    /// Returns the names of the keys that are read by a replay with the given published messages.
    private static func names(
        _ overrides: [String], _ messages: [any Message] = [], isCommanded: Bool = false
    ) throws -> Set<String> {
        let configuration = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: overrides)
        var use = KeyUse()
        for message in messages { use.note(message) }
        return Set(configuration.readKeys(isCommanded: isCommanded, use).map(\.name))
    }

    @Test func keysReadByAReplayFollowFromItsMessages() throws {
        let all = Set(NavigationConfiguration.replayedKeys.map(\.name))
        #expect(try Self.names([], isCommanded: true) == all)
        let free = try Self.names([])
        #expect(
            free.isDisjoint(with: [
                "guidance.language", "wrong_way.fixes", "policy.hold_s", "policy.deadline_s", "reroute.detect",
                "faster.enabled", "origin_fallback",
            ]))
        #expect(free.isSuperset(of: ["fix.max_age_s", "policy.ask", "vehicle.kind", "destination", "utc_offset_min"]))
        let destination = "destination=60.1,24.9"
        let trip = try Self.names([destination])
        #expect(trip.isSuperset(of: ["guidance.language", "wrong_way.fixes", "reroute.detect", "reroute.deadline_s"]))
        let shown: [(message: any Message, keys: Set<String>)] = [
            (
                RerouteEvent(phase: .failed),
                [
                    "reroute.cooldown_s", "reroute.min_move_m", "reroute.backoff_max_s", "reroute.chosen_route_factor",
                    "reroute.initial_maneuver_avoidance_s", "reroute.initial_maneuver_avoidance_m",
                ]
            ),
            (FasterRoute(), ["faster.approval", "faster.accept_for_s"]),
            (ArrivalEvent(phase: .arrived, isDestination: false), ["legs.auto_advance"]),
            (ArrivalEvent(phase: .arrived, isDestination: true), []),
            (PolicyDecision(kind: .shouldTakeAlternative, verdict: .yes), ["policy.deadline_s"]),
            (PolicyDecision(kind: .shouldReroute, verdict: .no), ["policy.hold_s"]),
        ]
        for (message, keys) in shown {
            #expect(trip.isDisjoint(with: keys))
            #expect(try Self.names([destination], [message]) == trip.union(keys), "\(message)")
        }
        let asked = ["policy.deadline_s", "policy.approval_deadline_s"]
        #expect(try Self.names([destination, "policy.ask=accept_faster_route"]) == trip.union(asked))
        #expect(
            try Self.names([destination, "faster.enabled=false"]).filter { $0.hasPrefix("faster.") } == [
                "faster.enabled"
            ])
        // Searches for faster routes also refresh the durations.
        let unrefreshed = [destination, "refresh.enabled=false"]
        let shared = try Self.names(unrefreshed).filter { $0.hasPrefix("refresh.") }
        #expect(shared == ["refresh.enabled", "refresh.min_interval_s"])
        let none = try Self.names(unrefreshed + ["faster.enabled=false"]).filter { $0.hasPrefix("refresh.") }
        #expect(none == ["refresh.enabled"])
        #expect(all == trip.union(shown.flatMap(\.keys)).union(asked))
    }
}
