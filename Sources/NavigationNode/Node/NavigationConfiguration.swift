import NavKit
package import NavConfig
import NavDirections
package import NavGeo
import NavGuidance
package import NavMap
package import NavMatching
package import NavNavigator
import NavPositioning
package import NavRouting

/// The configuration of `navigation-node` and of `navbus replay`.
package struct NavigationConfiguration: NodeConfiguration {
    package var tiles = ""
    /// A file with speeds of road segments; empty for none.
    package var traffic = ""
    /// The destination from the first position on; nil to wait for a command.
    package var destination: Coordinate?
    package var via: [Coordinate] = []
    /// The vehicle's type, and its differences from the usual vehicle of that type.
    package var vehicle = VehicleKeys()
    /// Names of receivers in the order of preference; others rank below them, by their accuracy.
    package var receivers: [String] = [] { didSet { navigator.positioning.fixes.preferredReceivers = receivers.count } }
    /// The online route provider, if there is one.
    package var online = OnlineRoutingKeys() {
        didSet { navigator.hasOnlineProvider = online.directions.isEnabled }
    }
    package var tileCache = TileCacheKeys()
    /// The file in which the trip is saved for a restart of the node; empty to save none.
    package var tripFile = ""
    /// The age above which a saved trip is not resumed, seconds; 0 for no limit. A day: a trip resumes after a stop overnight, but not
    /// after a week.
    package var tripMaximumAge = 86_400.0
    /// The policy node of the vehicle's owner; empty for any node that serves Policy.
    package var policyNode = ""
    /// The longest wait for the policy node at startup, seconds. 2: a launch file starts both.
    package var policyWait = 2.0
    package var navigator = NavigatorConfig()
    package var matcher = MatcherConfig()
    package var horizon = HorizonKeys()

    package init() { navigator.policy.grace = Self.policyGrace }

    /// The time after a request's deadline at which the session decides without a timeout report: 5 s of the fixes' time, longer than the
    /// lag of a stalled node.
    private static let policyGrace = 5.0

    /// The waypoints of the configured trip; empty without one.
    package var trip: [Waypoint] {
        guard let destination else { return [] }
        return (via + [destination]).map { Waypoint($0) }
    }

    /// The configured trip as text: the stops and the destination.
    var tripText: String { (via + (destination.map { [$0] } ?? [])).map(\.text).joined(separator: ";") }

    package var profile: VehicleProfile { vehicle.profile }

    /// The local clocks' offset from UTC, minutes; nil when unknown.
    package var minutesAheadOfUTC: Int? { navigator.minutesAheadOfUTC }

    /// Returns the local time of a departure at a moment; nil when the offset is unknown.
    package func departure(at moment: Timestamp) -> LocalTime? { navigator.localTime(at: moment) }

    package static var keys: [ConfigKey<NavigationConfiguration>] {
        [
            .string("tiles", \.tiles, "Directory of road tiles, as made by 'navbus map build'."),
            .string(
                "traffic", \.traffic,
                "File of initial traffic speeds: lines of from_node,to_node,speed_kmh, 0 for closed."),
            .text(
                "destination", \.destination, range: "LAT,LON, or empty",
                "Destination of guidance from the first position on, degrees; empty waits for a command.",
                parse: { $0.isEmpty ? .some(nil) : Coordinate(text: $0).map { .some($0) } },
                format: { $0?.text ?? "" }),
            .text(
                "via", \.via, range: "LAT,LON;LAT,LON;…, or empty", "Stops on the way to the destination, degrees.",
                parse: { text in
                    let parts = text.split(separator: ";")
                    let places = parts.compactMap { Coordinate(text: String($0)) }
                    return places.count == parts.count ? places : nil
                }, format: { $0.map(\.text).joined(separator: ";") }),
        ] + VehicleKeys.keys.map { $0.within(\.vehicle) } + OnlineRoutingKeys.keys.map { $0.within(\.online) }
            + TileCacheKeys.keys.map { $0.within(\.tileCache) } + [preference, offset.live] + wording + state + policy
            + (thresholds + tripThresholds + HorizonKeys.keys.map { $0.within(\.horizon) }).map(\.live)
    }

    private static var preference: ConfigKey<NavigationConfiguration> {
        .text(
            "receivers", \.receivers, range: "at most \(ReceiverRegister.mostPreferred) names, or empty",
            "Receivers in the order of preference, by the frame or source of their fixes, separated by commas: the "
                + "first with usable fixes is used; if none has any, others are used by their accuracy.",
            listSeparator: ",",
            parse: { text in
                let names = text.split(separator: ",").map { String($0.trimmingPrefix(while: { $0 == " " })) }
                guard names.count <= ReceiverRegister.mostPreferred, Set(names).count == names.count else { return nil }
                return names
            }, format: { $0.joined(separator: ",") })
    }

    private static var wording: [ConfigKey<NavigationConfiguration>] {
        [
            .text(
                "guidance.language", \.navigator.wording.language, range: PhraseTable.tags,
                "Language of instructions where a request names none.",
                parse: { PhraseTable.named($0)?.language }, format: { $0 }),
            .text(
                "guidance.units", \.navigator.wording.units,
                range: DistanceUnits.allCases.map(\.rawValue).joined(separator: " | "),
                "Units of distances where a request names none: those of each country's roads, kilometres, or miles.",
                parse: { DistanceUnits(rawValue: $0) }, format: { $0.rawValue }),
            .flag(
                "guidance.new_names", \.navigator.wording.announcesNameChanges,
                "Whether a road that only changes its name or number is a maneuver, NEW_NAME."),
            .text(
                "guidance.notices", \.navigator.wording.notices,
                range: RouteNotice.Topics.names.map(\.name).joined(separator: ", ") + ", or empty",
                "Topics, separated by commas, that are announced without a maneuver: toll roads and booths, tunnels of 500 m "
                    + "and more, and borders.",
                listSeparator: ",", parse: { RouteNotice.Topics(names: $0) }, format: { $0.text }),
        ]
    }

    private static var state: [ConfigKey<NavigationConfiguration>] {
        [
            .string(
                "state.path", \.tripFile,
                "File that saves the trip, to be resumed after a restart; empty saves none. Not used with sim_time."
            ),
            .number(
                "state.max_age_s", \.tripMaximumAge, in: 0...31_536_000,
                "Age above which a saved trip is not resumed, seconds; 0 for no limit."),
        ]
    }

    private static var offset: ConfigKey<NavigationConfiguration> {
        .text(
            "utc_offset_min", \.navigator.minutesAheadOfUTC, range: "-720 … 840, or empty",
            "Local time minus UTC, minutes, for time-dependent rules; empty ignores them, and a speed limit that "
                + "depends on the hour is unknown.",
            parse: { text in
                if text.isEmpty { return .some(nil) }
                guard let minutes = Int(text), (-720...840).contains(minutes) else { return nil }
                return minutes
            }, format: { $0.map(String.init) ?? "" })
    }

    /// The thresholds of the core's decisions, which can be changed while the node runs.
    private static var thresholds: [ConfigKey<NavigationConfiguration>] {
        [
            .number(
                "fix.max_h_accuracy_m", \.navigator.positioning.fixes.maximumAccuracy, in: 1...10_000,
                "Worst horizontal accuracy (1 σ) of a usable fix, metres."),
            .number(
                "fix.start_max_h_accuracy_m", \.navigator.positioning.fixes.startMaximumAccuracy, in: 1...10_000,
                "Worst horizontal accuracy (1 σ) of the fix that starts navigation, metres."),
            .text(
                "fix.min_type", \.navigator.positioning.fixes.minimumType,
                range: FixTypeName.all.joined(separator: " | "),
                "Least type of a usable fix; fixes without a type are usable only with any.",
                parse: { FixTypeName.type($0) }, format: { FixTypeName.name($0) }),
            .number(
                "fix.max_age_s", \.navigator.positioning.fixes.maximumAge, in: 0.1...60,
                "Longest delay of a usable fix beyond the usual delay, seconds."),
            .number(
                "dead_reckoning.start_after_s", \.navigator.positioning.reckoning.startAfter, in: 0.2...60,
                "Time without a usable fix after which positions are predicted, seconds; at least 1.5 times the usual time "
                    + "between fixes."),
            .number(
                "dead_reckoning.tunnel_start_after_s", \.navigator.positioning.reckoning.tunnelStartAfter, in: 0.2...60,
                "Time without a usable fix in a mapped tunnel after which positions are predicted, seconds."),
            .integer(
                "dead_reckoning.exit_good_fixes", \.navigator.positioning.reckoning.exitGoodFixes, in: 1...100,
                "Consecutive usable fixes that end dead reckoning."),
            .number(
                "deviation.min_distance_m", \.navigator.deviationMinimumDistance, in: 1...1_000,
                "Distance from the route that is tolerated while no other road is matched, metres; a matched road beside the "
                    + "route counts earlier, usually within 15 m."),
            .number(
                "deviation.max_distance_m", \.navigator.deviationMaximumDistance, in: 1...1_000,
                "Distance from the route that is never tolerated, however inaccurate the fix, metres; a matched road beside "
                    + "the route counts earlier, usually within 15 m."),
            .number(
                "deviation.debounce_s", \.navigator.deviationDebounce, in: 0...60,
                "Time for which fixes must contradict the route, seconds."),
            .integer(
                "deviation.debounce_fixes", \.navigator.deviationDebounceFixes, in: 1...100,
                "Number of fixes that must contradict the route."),
            .number(
                "wrong_way.backtrack_m", \.navigator.wrongWayDistance, in: 1...1_000,
                "Distance driven back along the route that counts as the wrong way, metres. After deviation.debounce_s: half of it "
                    + "below 4 m/s, and at once above."
            ),
            .integer(
                "wrong_way.fixes", \.navigator.wrongWayFixes, in: 1...100,
                "Number of fixes in the wrong direction that count as the wrong way."),
            .number(
                "snap.max_m", \.navigator.snapRadius, in: 0...10_000,
                "Greatest distance to move a waypoint to a road, metres; a request may override it (radius_m)."
            ),
            .number(
                "snap.position_max_m", \.navigator.positionSnapRadius, in: 0...10_000,
                "Greatest distance from the vehicle's position to a road, where a route starts, metres."),
            .flag("reroute.detect", \.navigator.rerouteDetect, "Whether leaving the route triggers a reroute."),
            .number(
                "reroute.cooldown_s", \.navigator.rerouteCooldown, in: 0...600,
                "Shortest time between two reroutes, seconds."),
            .number(
                "reroute.min_move_m", \.navigator.rerouteMinimumMovement, in: 0...10_000,
                "Shortest distance travelled between two reroutes, metres."),
            .number(
                "reroute.backoff_max_s", \.navigator.rerouteBackoffLongest, in: 1...3_600,
                "Longest pause after failed reroutes, seconds."),
            .number(
                "reroute.deadline_s", \.navigator.rerouteDeadline, in: 0.1...600,
                "Time limit for finding a new route, seconds."),
            .number(
                "arrival.radius_m", \.navigator.arrivalRadius, in: 0.5...1_000,
                "Distance to a waypoint at which it is reached, metres."),
            .number(
                "arrival.approach_s", \.navigator.arrivalApproach, in: 0...3_600,
                "Time before a waypoint at which the approach is announced, seconds."),
            .number(
                "arrival.suppress_reroute_m", \.navigator.arrivalSuppressReroute, in: 0...10_000,
                "Distance before a waypoint within which leaving the route triggers no reroute, metres."),
            .flag(
                "legs.auto_advance", \.navigator.legsAutoAdvance,
                "Whether the next leg starts automatically at a waypoint."
            ),
        ]
    }
}

extension NavigationConfiguration {
    /// The conflict of keys that exclude each other; nil when there is none.
    package var conflict: String? {
        if online.directions.isEnabled, online.directions.deadline >= navigator.rerouteDeadline {
            return
                "directions.deadline_ms (\(Int(online.directions.deadline * 1_000))) must be less than reroute.deadline_s "
                + "(\(navigator.rerouteDeadline)), so that a route can be computed on board when the provider does not answer"
        }
        if let conflict = vehicle.conflict { return conflict }
        let (least, greatest) = (navigator.deviationMinimumDistance, navigator.deviationMaximumDistance)
        guard least > greatest else { return nil }
        return
            "deviation.min_distance_m (\(least)) must not exceed deviation.max_distance_m (\(greatest)): "
            + "lower the first or raise the second"
    }

    /// The reason why no faster route can come into force; nil when one can, or when none is searched for.
    package var approvalProblem: String? {
        let faster = navigator.faster
        let isAsked = navigator.policy.asked.contains(.acceptFasterRoute)
        guard faster.isEnabled, faster.approval == .policy, !isAsked else { return nil }
        return
            "faster.approval is policy, but no approval is requested: every faster route is refused until policy.ask contains "
            + "accept_faster_route"
    }

    package var omission: String? {
        if tiles.isEmpty { return "no map: give a directory of road tiles with --set tiles=DIRECTORY" }
        return via.isEmpty || destination != nil
            ? nil : "via has no effect without a destination: set destination=LAT,LON, or leave via out"
    }

    /// The files and folders that are read, by key.
    package var inputPaths: [(key: String, path: String)] {
        let online =
            online.directions.isEnabled
            ? [("directions.token_file", online.tokenFile), ("directions.ca_file", online.directions.authorities)] : []
        return ([("tiles", tiles), ("traffic", traffic)] + online).filter { !$0.1.isEmpty }
    }

    /// The files that are written, by key.
    package var outputPaths: [(key: String, path: String)] {
        [("state.path", tripFile)].filter { !$0.path.isEmpty }
    }
}

extension RouteNotice.Topics {
    /// The topics, by name.
    fileprivate static let names: [(name: String, value: RouteNotice.Topics)] = [
        ("tolls", .tolls), ("tunnels", .tunnels), ("borders", .borders),
    ]

    /// Parses a set from names separated by commas; nil when one is unknown.
    fileprivate init?(names text: String) {
        self = []
        guard !text.isEmpty else { return }
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let value = Self.names.first(where: { $0.name == name })?.value else { return nil }
            insert(value)
        }
    }

    /// The names, separated by commas.
    fileprivate var text: String { Self.names.filter { contains($0.value) }.map(\.name).joined(separator: ",") }
}
