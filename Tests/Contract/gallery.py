"""A street far from the town with every class, feature, lane and maneuver that the enums name; and fixes of every kind."""

import time
from typing import TYPE_CHECKING, Any

from request_fields import points
from stage import Failed
from town import Drawing, crossing, place

if TYPE_CHECKING:
    from drives import Drives

WEST, NORTH, STEP = -4500.0, 3000.0, 100.0


def at(steps: float, north: float = 0.0) -> tuple[float, float]:
    """Returns a place by its steps along the street and its metres north of it, in metres of the town."""
    return WEST + steps * STEP, NORTH + north


def spot(steps: float, north: float = 0.0) -> tuple[float, float]:
    """Returns the latitude and longitude of such a place."""
    return place(*at(steps, north))


def draw(town: Drawing) -> None:
    """Adds the street to the drawing."""
    town.way(at(0), at(1), highway="primary", name="Allee")
    town.way(at(1), at(2), highway="trunk", name="Allee")
    town.way(at(2), at(2.5), at(3), highway="living_street", name="Wohnweg")
    town.way(at(3), at(4), highway="track", tracktype="grade1", name="Feldweg")
    limits = {"maxheight": "4", "maxlength": "10", "maxweight": "7.5", "maxaxleload": "5"}
    town.way(at(4), at(5), highway="residential", name="Lange Gasse", **limits)
    lanes = {"lanes": "6", "lanes__forward": "5", "lanes__backward": "1"}
    lanes["turn__lanes__forward"] = "reverse|sharp_left|slight_left|slight_right|sharp_right"
    town.way(at(5), at(6), highway="secondary", name="Spurgasse", **lanes)
    for steps, kind in ((1, "give_way"), (2, "crossing")):
        town.node(*at(steps), highway=kind)
    town.node(*at(2.5), traffic_calming="hump")
    town.node(*at(4), barrier="gate")
    for north in (1, -1):
        town.way(at(6), at(5, 60 * north), highway="secondary", name=f"Spitzgasse {north + 2}")
        town.way(at(6), at(7, 40 * north), highway="secondary", name=f"Gabelgasse {north + 2}")
    # A street that turns and keeps its name at a junction where another street goes straight on.
    town.way(at(7, 40), at(8, 80), at(8, 200), highway="secondary", name="Gabelgasse 3")
    town.way(at(8, 80), at(9, 120), highway="residential", name="Seitengasse")
    # Roundabouts without names: a large one and a small one.
    town.way(at(7, -40), at(8, -40), highway="secondary", name="Gabelgasse 1")
    ring(town, 8.3, -40, 30)
    town.way(at(8.6, -40), at(9.5, -40), highway="secondary", name="Ostgasse")
    town.way(at(8.3, -70), at(8.3, -200), highway="secondary", name="Zweiggasse")
    ring(town, 9.6, -40, 10)
    town.way(at(9.7, -40), at(11, -40), highway="secondary", name="Endgasse", toll="yes")
    town.way(at(9.6, -50), at(9.6, -150), highway="secondary", name="Abgasse")
    town.way(at(1), at(1, 100), highway="service", access="private", name="Privatweg")
    town.way(at(2), at(2, 100), highway="residential", motor_vehicle="destination", name="Anliegerweg")
    # The end of the turning street is an enclave of another country.
    town.country("AT", at(7.9, 90), at(8.1, 90), at(8.1, 260), at(7.9, 260))


def ring(town: Drawing, steps: float, north: float, radius: float) -> None:
    """Draws a roundabout around a place."""
    wide = radius / STEP
    corners = [at(steps - wide, north), at(steps, north - radius), at(steps + wide, north), at(steps, north + radius)]
    town.way(*corners, corners[0], highway="secondary", junction="roundabout")


def street(drives: "Drives") -> None:
    """Requests routes with every kind of maneuver, lane and restriction, then drives along the street and back against the route."""
    route, types, bus = drives.router.route, drives.types, drives.bus
    spur = drives.router.waypoint(spot(9, 120), kind=2)
    wide = types.VehicleProfile(vehicle_class=2, height_m=3.9, length_m=9.9, weight_kg=7400, axle_load_kg=4900)
    maneuvers: set[str] = set()
    restrictions: set[str] = set()
    notices: set[str] = set()
    for origin, target, wishes in (
        ((0.2, 0), [spot(5.2, 48)], {"avoid": [1, 2, 3, 4, 5]}),
        ((0.2, 0), [spot(5.2, -48)], {}),
        ((0.2, 0), [spot(8, 190)], {}),
        ((0.2, 0), [spur, spot(7.5, 60)], {}),
        ((7.2, -40), [spot(8.3, -190)], {}),
        ((8.7, -40), [spot(9.6, -140)], {}),
        ((8.7, -40), [spot(10.5, -40)], {}),
        ((8.09, -61), [spot(9, -40)], {}),
        ((0.2, 0), [spot(1, 90)], {}),
        ((0.2, 0), [spot(2, 90)], {}),
        ((4.1, 0), [spot(5.5, 0)], {"vehicle": wide}),
    ):
        found = route(spot(*origin), *target, **wishes)
        for leg in found.legs:
            notices |= {types.enum("RouteNoticeKind", notice.kind) for notice in leg.notices}
            for step in leg.steps:
                maneuvers.add(types.enum("ManeuverType", step.maneuver.type))
                maneuvers.add(types.enum("ManeuverModifier", step.maneuver.modifier))
        restrictions |= {types.enum("RestrictionKind", one.kind) for one in found.summary.restrictions}
    for wanted, seen in (
        ("FORK CONTINUE ROUNDABOUT ROUNDABOUT_TURN EXIT_ROUNDABOUT UTURN SHARP_LEFT SHARP_RIGHT", maneuvers),
        ("HEIGHT LENGTH WEIGHT AXLE_LOAD PRIVATE DESTINATION_ONLY", restrictions),
        ("TOLL_ROAD BORDER", notices),
    ):
        if set(wanted.split()) - seen:
            raise Failed(f"routes of the street lack {sorted(set(wanted.split()) - seen)}")
    since = time.monotonic()
    way = drives.guide(spot(0.2), spot(8, 190), speed=20)
    marks = lambda horizon: [mark for path in horizon.paths for mark in path.points]  # noqa: E731
    is_border = lambda mark: types.enum("HorizonPointKind", mark.kind) == "BORDER" and mark.text == "AT"  # noqa: E731
    bus.expect("/nav/horizon", lambda horizon: any(map(is_border, marks(horizon))), since, "a border ahead")
    # The last three segments get a share of their speeds without traffic.
    shares = zip((0.9, 0.7, 0.5), range(-3, 0), strict=True)
    note = way.legs[0].annotation
    speeds = {index: share * note.distances_m[index] / note.durations_s[index] for share, index in shares}
    drives.traffic(*[(note.way_ids[at], *note.node_ids[at - 1 :][:2], speed) for at, speed in speeds.items()])
    bus.expect("/nav/position", lambda told: told.road_class == 10, since, "a track", 60)
    bus.expect("/nav/progress", lambda told: told.distance_traveled_m > 450, since, "the end of the track")
    drives.vehicle.follow([drives.vehicle.place, *reversed([one for one in points(way)[:5]])], 10)
    bus.expect("/nav/reroute", lambda event: event.reason == 2, since, "a reroute for driving the wrong way")
    drives.stop()


def fix_kinds(drives: "Drives") -> None:
    """Fixes of every type and status: usable fixes, and fixes that are rejected with the expected reason."""
    bus, types = drives.bus, drives.types
    rejected = {
        ("fix_type", 1): "FIX_TYPE", ("fix_type", 2): "FIX_TYPE", ("integrity", 4): "INTEGRITY", ("spoofing", 3): "SPOOFING",
        ("jamming", 3): "JAMMING", ("speed", 300.0): "SPEED",
    }  # fmt: skip
    kinds: dict[str, Any] = {
        "fix_type": range(1, 13), "position_covariance_type": (1, 3), "integrity": (1, 3, 4), "spoofing": (2, 3), "jamming": (2, 3),
        "speed": (300.0,),
    }  # fmt: skip
    for name, values in kinds.items():
        for value in values:
            since = time.monotonic()
            drives.vehicle.extra = {name: value}
            reason = rejected.get((name, value))
            if reason:
                wanted = lambda event: types.enum("FixRejectionReason", event.reason) == reason  # noqa: B023, E731
                bus.expect("/nav/fix_rejected", wanted, since, f"a fix with {name} {value}, rejected as {reason}")
                drives.prove(f"GnssFix.{name}", "changes the answer")
            else:
                wanted = lambda entry: getattr(entry.fix, name) == value  # noqa: B023, E731
                bus.expect("/nav/journal", wanted, since, f"a fix with {name} {value}")
    # A report of a receiver without a position solution.
    since = time.monotonic()
    drives.vehicle.extra = {"latitude": 0.0, "longitude": 0.0}
    bus.expect("/nav/fix_rejected", lambda event: event.reason == 1, since, "a fix without a position")
    drives.vehicle.extra = {}
    quality(drives)


def quality(drives: "Drives") -> None:
    """Usable fixes that reduce the quality of positioning, with the reason."""

    def reduced(since: float, reason: str) -> None:
        named = lambda state: [drives.types.enum("GnssQualityReason", one) for one in state.gnss.reasons]  # noqa: E731
        drives.bus.expect("/nav/state", lambda state: reason in named(state), since, f"a reduced quality: {reason}")

    since = time.monotonic()
    # At another place, so that earlier fixes have no influence.
    drives.vehicle.extra = {"horizontal_accuracy_m": 60.0, "position_covariance": None}
    drives.vehicle.stand(crossing(6, 4))
    reduced(since, "ACCURACY")
    drives.vehicle.extra = {}
    since = time.monotonic()
    drives.vehicle.late = 1.5
    reduced(since, "LATENCY")
    drives.vehicle.late = 0.0
