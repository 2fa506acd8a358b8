"""The ids of a segment in /traffic/speeds, and the combination of successive messages."""

import math
import time
from typing import TYPE_CHECKING, Any

from stage import Failed
from town import crossing

if TYPE_CHECKING:
    from drives import Drives


def segment_ids(drives: "Drives", route: Any) -> None:
    """Checks that speeds of segments with a wrong id do not change the route's times and that those with correct ids do."""
    bus, ahead = drives.bus, drives.segments(route, 900, 1400)
    strange = 9_000_000_000
    for name, way_shift, start_shift, end_shift in (
        ("way_id", strange, 0, 0),
        ("from_node", 0, strange, 0),
        ("to_node", 0, 0, strange),
    ):
        wrong = [(way + way_shift, start + start_shift, end + end_shift, 2.0) for way, start, end in ahead]
        since = drives.traffic(*wrong)
        sequence = drives.vehicle.publisher.sequences["/traffic/speeds"]
        # The node combines messages that arrive together, so each message waits for the map and the refresh of the previous one.
        bus.expect(
            "/nav/journal",
            lambda entry: entry.HasField("traffic") and entry.cause_sequence == sequence,  # noqa: B023
            since,
            f"speeds of another {name}",
        )
        bus.expect(
            "/nav/route_refresh",
            lambda event: event.HasField("eta_delta_s") and event.cause_sequence == sequence,  # noqa: B023
            since,
            f"a refresh for speeds of another {name}",
        )
        deltas = [heard.message.eta_delta_s for heard in bus.observer.since(since, "/nav/route_refresh")]
        if max(deltas) > 5:
            raise Failed(f"speeds of another {name} change the time of arrival by {max(deltas):.0f} s")
    since = drives.traffic(*[(*segment, 2.0) for segment in ahead])
    bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s > 5, since, "a jam")
    drives.prove("TrafficSpeed.way_id TrafficSpeed.from_node TrafficSpeed.to_node", "changes the answer")


def offers(drives: "Drives") -> None:
    """Checks that alternatives are withdrawn when traffic slows them, when they are closed, and at the end of guidance."""
    bus, since = drives.bus, time.monotonic()
    route = drives.guide(crossing(0, 1), crossing(7, 4), speed=3)

    def segments(route: Any) -> set[Any]:
        return set(drives.segments(route, 0, math.inf))

    def shown(since: float) -> list[set[Any]]:
        # If the only fork was too near, the node searches again after 30 s.
        update = bus.expect("/nav/alternatives", lambda update: update.alternatives, since, "alternatives", seconds=80)
        return [segments(one.route) for one in update.alternatives]

    def withdrawn(since: float, reason: str) -> None:
        is_meant = lambda one: drives.types.enum("AlternativeRemovalReason", one.reason) == reason  # noqa: E731
        bus.expect("/nav/alternatives", lambda update: any(map(is_meant, update.removed)), since, f"a removed alternative: {reason}")

    apart = set().union(*shown(since)) - segments(route)
    drives.set(alternatives__accept="faster")
    since = drives.traffic(*[(*segment, 1.0) for segment in sorted(apart)])
    withdrawn(since, "NOT_ACCEPTED")
    drives.set(alternatives__accept="unfiltered")
    since = drives.traffic()
    shown(since)
    since = time.monotonic()
    drives.stop()
    withdrawn(since, "STOPPED")
    # Guidance starts again, because a closed alternative may have been the only one.
    since = time.monotonic()
    main = segments(drives.guide(crossing(0, 1), crossing(7, 4), speed=3))
    first, *others = shown(since)
    since = drives.traffic(*[(*segment, None) for segment in sorted(first.difference(main, *others))])
    withdrawn(since, "INVALIDATED")
    drives.stop()


def additions(drives: "Drives", route: Any) -> None:
    """Sends speeds that are added to those of the previous message, and speeds that replace all of them."""
    since = drives.traffic(*[(*segment, 3.0) for segment in drives.segments(route, 1500, 1800)], replaces=False)
    drives.bus.expect("/nav/route_refresh", lambda event: event.HasField("eta_delta_s"), since, "an added jam")
    deltas = [heard.message.eta_delta_s for heard in drives.bus.observer.since(since, "/nav/route_refresh")]
    if min(deltas) < -5 or max(deltas) < 5:
        raise Failed(f"speeds that are added to a longer jam change the time of arrival by {deltas} s")
    since = drives.traffic()
    drives.bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s < -5, since, "the end of both jams")
    drives.prove("TrafficSpeeds.replaces_all", "changes the answer")


def ages(drives: "Drives") -> None:
    """Checks that the time of measurement is published."""
    bus = drives.bus
    ahead = drives.segments(drives.guide(crossing(0, 1), crossing(7, 4), speed=3), 900, 1400)
    since = drives.traffic(*[(*segment, 2.0) for segment in ahead], age=30)
    told = bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s > 5, since, "a jam")
    age = (told.stamp_ns - told.traffic_stamp_ns) / 1e9
    if not 29 < age < 60:
        raise Failed(f"the traffic of 30 s ago is {age:.0f} s old")
    drives.prove("TrafficSpeeds.stamp_ns", "changes the answer")
    bus.expect("/nav/journal", lambda event: event.traffic.provider == "walk", since, "the name of the source")
    drives.prove("TrafficSpeeds.provider", "changes the answer")
    drives.stop()
