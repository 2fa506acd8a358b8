"""Fields, and values of enums, that the walk does not show."""

# What nothing sets, reads or asserts yet: the aim is an empty list.
PENDING = {
    # A second search that finds other alternatives, decisions in a replay, a border between two countries, a cache whose
    # every source is away, and positions that are inaccurate, late or contradict the receiver's own speed: no test looks at these values.
    "ALTERNATIVE_REMOVAL_REASON_REPLACED", "POLICY_DECIDER_RECORDED", "HORIZON_POINT_KIND_BORDER", "SOURCE_STATE_OFFLINE",
    "GNSS_QUALITY_REASON_ACCURACY", "GNSS_QUALITY_REASON_LATENCY",
    "GNSS_QUALITY_REASON_CONTRADICTION", "LOG_LEVEL_NOTICE",
}  # fmt: skip

# What no drive from outside leads to, each with the test that covers it.
SHOWN_ELSEWHERE = {
    "Alternatives.error": "Tests/Scenarios/alternatives/search-fails.scenario",
    "AlternativeSwitch.error": "Tests/Scenarios/alternatives/cannot-be-taken.scenario",
    "BarrierPoint.publisher": "LockstepTests",
    "BarrierResponse.lost_count": "LockstepTests",
    "TileArrival.removed": "LiveMapTests",
    "RerouteEvent.next_attempt_ns": "Tests/Scenarios/reroute/no-route-backs-off.scenario",
    "ALTERNATIVE_REMOVAL_REASON_INVALIDATED": "Tests/NavNavigatorTests/TimedRoadTests.swift",
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
    "GNSS_QUALITY_REASON_TUNNEL": "Tests/NavPositioningTests/MotionTests.swift",
    "INSTRUCTION_COMPONENT_KIND_DELIMITER": "Tests/NavigationNodeTests/NavigationServiceTests.swift",
    "LIFECYCLE_STATE_FINALIZED": "Tests/NavKitTests/NodeRunnerTests.swift",
    "LIFECYCLE_STATE_UNCONFIGURED": "Tests/NavKitTests/NodeRunnerTests.swift",
    "LOG_LEVEL_CRITICAL": "Tests/NavKitTests/LogGateTests.swift",
    "LOG_LEVEL_DEBUG": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_ERROR": "Tests/NavKitTests/NodeLogTests.swift",
    "LOG_LEVEL_TRACE": "Tests/NavKitTests/NodeLogTests.swift",
    "MANEUVER_TYPE_NEW_NAME": "Tests/NavGuidanceTests/ManeuverTests.swift",
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
