"""Fields, and values of enums, that the walk does not show."""

# Where a field is not set though the same message has it elsewhere: by the message's place and the field, with the reason. The place is a
# pattern; `*` stands for all fields.
ABSENT: dict[tuple[str, str], str] = {
    ("/nav/journal.command*", "*"): "the request as it came, judged by its effect",
    ("/nav/journal.policy_decision*", "*"): "the decision as on /nav/policy/decision",
    ("/nav/journal.fix", "*"): "the fix as it came, judged by its effect",
    ("/nav/journal.odometry", "*"): "the message as it came, judged by its effect",
    ("/nav/journal.traffic", "speeds"): "recorded on /traffic/speeds; the journal says only which message came into force",
    (
        "/nav/journal.route_answer.routes",
        "stamp_ns session_id route_id cause_sequence event_sequence options reason chosen_route_id refresh_count",
    ): "the router's answer, which becomes a route with an identity only when it is published",
    ("/nav/fix_rejected.fix", "*"): "the fix as it came, judged by its effect",
    ("/nav/policy/request.should_discard_fix.fix", "*"): "the fix as it came, judged by its effect",
    (
        "/gnss/fix",
        "position_covariance position_covariance_type frame_id heading heading_variance velocity_east_mps velocity_north_mps "
        "velocity_covariance integrity horizontal_protection_level_m vertical_protection_level_m integrity_risk_per_h spoofing "
        "jamming receive_stamp_ns receive_monotonic_ns",
    ): "a file of gpsd's reports does not tell it",
    ("*.matched", "altitude_m heading"): "only the raw fix has them",
    ("*.pose", "altitude_m heading"): "only the raw fix has them",
    ("*.candidates.road", "from_node to_node offset_m"): "the comment of MatchCandidate.road leaves them out",
    ("*.error", "missing_tiles nearest_road_m"): "only with MISSING_TILES, NO_ROAD_NEARBY and NO_ROUTE, which few calls lead to",
    ("*.routes", "event_sequence reason"): "absent in previews and answers, as the comments of Route say",
    ("*.route", "event_sequence reason"): "absent inside other messages, as the comments of Route say",
    ("*.routes", "session_id cause_sequence chosen_route_id refresh_count"): "not in force: no fix or session has led to it",
    ("*.route", "cause_sequence chosen_route_id refresh_count"): "not in force yet, chosen or refreshed",
    ("/nav/policy/request.*", "prediction age_s road_ref speed_unlimited"): "asked with fixes, on streets with a limit and no number",
    (
        "/nav/policy/request.*.progress",
        "visual_instruction_id spoken_instruction_id lanes lanes_distance_m",
    ): "asked away from junctions with known lanes, or before the first instruction",
    ("/nav/policy/request.revise_instruction.visual", "cleared"): "the owner is asked only about what is shown",
    ("Navigation.RepeatInstruction.instruction", "event_sequence is_notice"): "an answer is no event, and no notice is repeated",
    ("Navigation.GetHorizon.horizon", "event_sequence"): "an answer is no event",
    ("*reroute_options.waypoints", "snapped snap_distance_m side"): "places of a request, which the router has not snapped yet",
    ("*", "curbside"): "published where it was asked for; the walk asks for it in routes that are given",
    ("*.options", "alternatives departure_ns"): "a trip under way has neither, as the comments of RouteOptions say",
    ("*faster_route.route*", "congestion traffic_delay_s traffic_delay_scope"): "the faster route leads around the traffic",
    ("*.notices", "country"): "the way to the island crosses no border",
    ("Navigation.AdvanceLeg.progress", "road_ref speed_unlimited lanes lanes_distance_m"): "as in the questions to the owner",
    ("TileCache.Statistics.state", "event_sequence"): "an answer is no event",
    ("*.legs", "notices"): "the town, in which alternatives are, has no tunnel and no toll",
    ("*.legs.steps", "ref destinations exits rotary_name destination_refs"): "the town has no motorway and no roundabout",
    ("*.maneuver", "roundabout_exit"): "the town has no roundabout",
    ("*.intersections", "lanes"): "lanes are known on one street of the town",
    ("*.speed_limits", "unlimited"): "every street of the town has a limit",
    ("*.summary", "restrictions ferries"): "the town has no ferry, and its limits are far from the vehicle's size",
    ("*.restrictions", "limit own"): "the limits of the town are far from the vehicle's size",
    (
        "/nav/policy/decision.revised_instruction.*",
        "stamp_ns session_id route_id cause_sequence event_sequence instruction_id utterance_id cleared leg_index step_index maneuver "
        "urgency trigger_distance_m distance_to_maneuver_m duration_to_maneuver_s driving_side is_repeat is_notice",
    ): "what the owner cannot change is not in the decision",
}

# What a client may send and the node does not read, as the proto says there.
IGNORED: dict[tuple[str, str], str] = {
    (
        "ReviseInstructionAnswer.visual",
        "stamp_ns session_id route_id cause_sequence event_sequence instruction_id cleared leg_index step_index maneuver "
        "trigger_distance_m distance_to_maneuver_m duration_to_maneuver_s driving_side",
    ): "the owner words an instruction; identity, stamps, maneuver and distances stay",
    (
        "ReviseInstructionAnswer.spoken",
        "stamp_ns session_id route_id cause_sequence event_sequence utterance_id leg_index step_index maneuver urgency "
        "trigger_distance_m distance_to_maneuver_m duration_to_maneuver_s is_repeat is_notice",
    ): "the owner words an instruction; identity, stamps, maneuver and distances stay",
    ("ReviseInstructionAnswer.*.maneuver", "*"): "the maneuver stays",
    ("ReviseInstructionAnswer.visual.sub_maneuver", "latitude longitude course_before course_after"): "the maneuver's place stays",
    (
        "SetRouteRequest.route",
        "stamp_ns session_id route_id cause_sequence event_sequence edge_ids edge_first_points map_version provider reason "
        "chosen_route_id refresh_count compute_duration_s",
    ): "the node matches the geometry to its own map, and gives the route an identity of its own",
    ("SetRouteRequest.route.legs", "steps duration_typical_s waypoint_index names notices"): "made from the node's own map",
    ("SetRouteRequest.route.legs.steps*", "*"): "made from the node's own map",
    ("SetRouteRequest.route.legs.notices*", "*"): "made from the node's own map",
    ("SetRouteRequest.route.legs.annotation", "way_ids distances_m speeds_mps speed_limits congestion"): "from the node's own map",
    ("SetRouteRequest.route.legs.annotation.*", "*"): "from the node's own map",
    ("SetRouteRequest.route.waypoints", "snapped snap_distance_m side"): "set by the router",
    ("SetRouteRequest.route.waypoints.snapped", "*"): "set by the router",
    (
        "SetRouteRequest.route.summary",
        "distance_m duration_typical_s traffic_delay_s traffic_delay_scope traffic_stamp_ns eta_ns toll restrictions "
        "ferry_length_m motorway_length_m unpaved_length_m tunnel_length_m countries names weight country_passages ferries",
    ): "counted on the node's own map",
    ("SetRouteRequest.route.summary.*", "*"): "counted on the node's own map",
    ("SetRouteRequest.route.options", "alternatives"): "a given route has none",
}

# What no drive from outside leads to, each with the test that covers it.
SHOWN_ELSEWHERE = {
    "Alternatives.error": "Tests/Scenarios/alternatives/search-fails.scenario",
    "AlternativeSwitch.error": "Tests/Scenarios/alternatives/cannot-be-taken.scenario",
    "BarrierPoint.publisher": "Tests/NavKitTests/LockstepTests.swift",
    "BarrierResponse.lost_count": "Tests/NavKitTests/LockstepTests.swift",
    "JournalEntry.provider": "Tests/NavigationNodeTests/ProviderRestTests.swift",
    "ProviderChange.rests": "Tests/NavigationNodeTests/ProviderRestTests.swift",
    "TileArrival.removed": "Tests/NavigationNodeTests/LiveMapTests.swift",
    "RerouteEvent.next_attempt_ns": "Tests/Scenarios/reroute/no-route-backs-off.scenario",
    "ALTERNATIVE_SWITCH_PHASE_FAILED": "Tests/Scenarios/alternatives/cannot-be-taken.scenario",
    "DEVIATION_STATE_OFF_STEP": "Tests/NavNavigatorTests/DeviationTests.swift",
    "ERROR_CODE_CORRUPT_DATA": "Tests/TileCacheNodeTests/CacheHostileTests.swift",
    "ERROR_CODE_DEADLINE_EXCEEDED": "Tests/Scenarios/reroute/deadline.scenario",
    "ERROR_CODE_DENIED_BY_POLICY": "Tests/TileCacheNodeTests/CacheAheadTests.swift",
    "ERROR_CODE_INTERNAL": "Tests/NavNavigatorTests/CommandTests.swift",
    "ERROR_CODE_RESOURCE_EXHAUSTED": "Tests/TileCacheNodeTests/CacheRecoveryTests.swift",
    "FIX_REJECTION_REASON_DUPLICATE": "Tests/Scenarios/positioning/twice-and-swapped.scenario",
    "FIX_REJECTION_REASON_FROZEN": "Tests/Scenarios/positioning/frozen.scenario",
    "FIX_REJECTION_REASON_FUTURE": "Tests/NavigationNodeTests/FixClockTests.swift",
    "FIX_REJECTION_REASON_STALE": "Tests/Scenarios/positioning/late.scenario",
    "FIX_REJECTION_REASON_START_ACCURACY": "Tests/Scenarios/positioning/start-accuracy.scenario",
    "GNSS_QUALITY_REASON_CONTRADICTION": "Tests/NavigationNodeTests/PositioningTests.swift",
    "GNSS_QUALITY_REASON_TUNNEL": "Tests/Scenarios/positioning/tunnel.scenario",
    "INSTRUCTION_COMPONENT_KIND_DELIMITER": "Tests/NavigationNodeTests/NavigationServiceTests.swift",
    "LIFECYCLE_STATE_FINALIZED": "Tests/NavKitTests/NodeRunnerTests.swift",
    "LIFECYCLE_STATE_UNCONFIGURED": "Tests/NavKitTests/NodeRunnerTests.swift",
    "LOG_LEVEL_CRITICAL": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_DEBUG": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_ERROR": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_NOTICE": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_TRACE": "Tests/NavKitTests/NodeLogTests.swift",
    "MANEUVER_TYPE_NEW_NAME": "Tests/NavGuidanceTests/ManeuverTests.swift",
    "POLICY_DECIDER_RECORDED": "Tests/NavigationNodeTests/RecordedPolicyTests.swift",
    "POLICY_DECIDER_TIMEOUT": "Tests/Scenarios/policy/silent.scenario",
    "POLICY_DECIDER_UNAVAILABLE": "Tests/Scenarios/policy/dead.scenario",
    "PREDICTION_METHOD_STRAIGHT_ON": "Tests/NavPositioningTests/InterruptedOutageTests.swift",
    "RECEIVER_SELECTION_REASON_BETTER": "Tests/NavigationNodeTests/ReceiverSelectionTests.swift",
    "RECEIVER_SELECTION_REASON_PREFERRED": "Tests/NavigationNodeTests/ReceiverSelectionTests.swift",
    "REGION_EVENT_KIND_GEOMETRY_CHANGED": "Tests/TileCacheNodeTests/CacheRegionTests.swift",
    "REROUTE_REASON_ROUTE_INVALIDATED": "Tests/Scenarios/reroute/closed-ahead.scenario",
    "REROUTE_REJECTION_BACK_ON_ROUTE": "Tests/Scenarios/reroute/back-on-route.scenario",
    "REROUTE_REJECTION_POLICY": "Tests/Scenarios/reroute/owner-rejects-the-route.scenario",
    "REROUTE_REJECTION_STALE": "Tests/Scenarios/reroute/stale.scenario",
    "REROUTE_REJECTION_TOO_NEAR": "Tests/Scenarios/reroute/commit-time.scenario",
    "ROUTE_REFRESH_PHASE_FAILED": "Tests/Scenarios/refresh/part-not-on-board.scenario",
    "SIMULATION_END_REASON_GAVE_UP": "Tests/Scenarios/positioning/prediction-gives-up.scenario",
    "SIMULATION_REASON_TUNNEL": "Tests/Scenarios/positioning/tunnel.scenario",
}
