"""Requests of the navigation service, field by field: each changes the answer or is rejected by name."""

import math
import time
from typing import Any

from stage import Bus, Caller, Failed, Place, distance
from town import HARBOUR, ISLAND, NOWHERE, crossing, place

INVALID, NOT_FOUND = "INVALID_REQUEST", "NOT_FOUND"


def points(route: Any) -> list[Place]:
    """Returns the line of a route."""
    found, latitude, longitude = [], 0, 0
    for north, east in zip(route.geometry.lat_deltas_e7, route.geometry.lon_deltas_e7):
        latitude, longitude = latitude + north, longitude + east
        found.append((latitude / 1e7, longitude / 1e7))
    return found


def polygon(types: Any, corners: list[Place]) -> Any:
    """Returns an area with one ring."""
    area, before = types.Polygon(), (0, 0)
    ring = area.rings.add()
    for latitude, longitude in corners:
        here = (round(latitude * 1e7), round(longitude * 1e7))
        ring.lat_deltas_e7.append(here[0] - before[0])
        ring.lon_deltas_e7.append(here[1] - before[1])
        before = here
    return area


class Router:
    """A client that requests routes without opening a preview."""

    def __init__(self, call: Caller) -> None:
        self.call, self.types, self.contract = call, call.bus.types, call.bus.contract

    def waypoint(self, at: Place, **fields: Any) -> Any:
        """Returns a waypoint."""
        return self.types.Waypoint(latitude=at[0], longitude=at[1], **fields)

    def stop(self, at: Place, **fields: Any) -> Any:
        """Returns a waypoint that has every field and is still reachable from everywhere."""
        wide = dict(name="Halt", kind=1, course=0.0, course_tolerance_rad=math.pi, radius_m=90.0, curbside=False)
        return self.waypoint(at, **(wide | fields))

    def options(self, **fields: Any) -> Any:
        """Returns options that have every field and close no road in the town; None omits a field."""
        car = self.types.VehicleProfile(
            vehicle_class=1, height_m=1.5, width_m=1.8, length_m=4.5, weight_kg=1500, axle_load_kg=900, hazardous_goods=False,
            max_speed_mps=50,
        )  # fmt: skip
        far = polygon(self.types, [place(-3000, -900), place(-2900, -900), place(-2900, -800)])
        every = dict(
            vehicle=car, avoid=[4], exclude_areas=[far], use_traffic=True, initial_maneuver_avoidance_m=1.0, language="en",
            units=1, allow_online=False,
        )  # fmt: skip
        return self.types.RouteOptions(**(every | fields))

    def answer(self, origin: Any, *waypoints: Any, **options: Any) -> Any:
        """Returns the last part of the answer to a request over places or waypoints."""
        whole = [one if hasattr(one, "latitude") else self.waypoint(one) for one in (origin, *waypoints)]
        request = self.types.CalculateRouteRequest(
            origin=whole[0], waypoints=whole[1:], options=self.types.RouteOptions(**options), preview=False
        )
        return self.call("Navigation.CalculateRoute", request)

    def route(self, origin: Any, *waypoints: Any, **options: Any) -> Any:
        """Returns the best route."""
        answer = self.answer(origin, *waypoints, **options)
        if not answer.routes:
            raise Failed(f"no route: {answer.error.message}")
        return answer.routes[0]

    def differs(self, field: str, one: Any, other: Any) -> None:
        """Checks that two results differ, and records that the field changes the answer."""
        if one == other:
            raise Failed(f"{field} changes nothing")
        self.contract.prove(field, "changes the answer")

    def refused(self, field: str, code: str, words: str, **options: Any) -> None:
        """Checks that a value of an option is rejected by name."""
        error = self.answer(crossing(0, 1), crossing(3, 2), **options).error
        found = self.types.enum("ErrorCode", error.code)
        if found != code or words not in error.message:
            raise Failed(f"{field} is not rejected as {code} naming '{words}', but: {found} {error.message}")
        self.contract.prove(field, "is refused by name")


def options(router: Router) -> None:
    """The options of a route."""
    types, route, differs = router.types, router.route, router.differs
    plain = route(crossing(0, 1), HARBOUR)
    differs("RouteOptions.avoid", points(plain), points(route(crossing(0, 1), HARBOUR, avoid=[2])))
    near = route(crossing(0, 2), crossing(1, 2))
    block = polygon(types, [place(100, 480), place(150, 480), place(150, 520), place(100, 520)])
    around = route(crossing(0, 2), crossing(1, 2), exclude_areas=[block])
    for field in ("RouteOptions.exclude_areas", "Polygon.rings", "Polyline.lat_deltas_e7", "Polyline.lon_deltas_e7"):
        differs(field, points(near), points(around))
    router.refused("RouteOptions.alternatives", INVALID, "alternatives", alternatives=3)
    differs("RouteOptions.alternatives", 1, len(router.answer(crossing(0, 1), crossing(7, 4), alternatives=2).routes))
    router.refused("RouteOptions.language", INVALID, "zh-Hans", language="sv")
    instructions = [
        [step.instruction for leg in one.legs for step in leg.steps]
        for one in (plain, route(crossing(0, 1), HARBOUR, language="fi"))
    ]
    differs("RouteOptions.language", *instructions)
    day = time.time_ns() // 86_400_000_000_000 * 86_400_000_000_000
    differs(
        "RouteOptions.departure_ns",
        points(route(crossing(0, 5), crossing(1, 5), departure_ns=day + 12 * 3_600_000_000_000)),
        points(route(crossing(0, 5), crossing(1, 5), departure_ns=day + 2 * 3_600_000_000_000)),
    )
    start = router.waypoint(place(0, 300), course=0.0)
    differs(
        "RouteOptions.initial_maneuver_avoidance_m",
        points(route(start, place(700, 500))),
        points(route(start, place(700, 500), initial_maneuver_avoidance_m=400)),
    )
    limits = {
        "width_m": (1, 2.5), "length_m": (2, 14.0), "weight_kg": (3, 9000.0), "axle_load_kg": (4, 8000.0),
        "hazardous_goods": (5, True),
    }  # fmt: skip
    for name, (column, value) in limits.items():
        vehicle = types.VehicleProfile(
            vehicle_class=2, height_m=2, width_m=1.8, length_m=5, weight_kg=2000, axle_load_kg=1000
        )
        one = route(crossing(column, 2), crossing(column, 3), vehicle=vehicle)
        setattr(vehicle, name, value)
        differs(
            f"VehicleProfile.{name}",
            points(one),
            points(route(crossing(column, 2), crossing(column, 3), vehicle=vehicle)),
        )
    low, high = types.VehicleProfile(vehicle_class=2, height_m=3, weight_kg=9000), types.VehicleProfile(
        vehicle_class=2, height_m=4.5, weight_kg=9000
    )
    differs(
        "VehicleProfile.height_m",
        points(route(crossing(0, 1), HARBOUR, vehicle=low)),
        points(route(crossing(0, 1), HARBOUR, vehicle=high)),
    )
    differs(
        "RouteOptions.vehicle", plain.summary.duration_s, route(crossing(0, 1), HARBOUR, vehicle=low).summary.duration_s
    )
    differs(
        "VehicleProfile.vehicle_class",
        plain.summary.duration_s,
        route(crossing(0, 1), HARBOUR, vehicle=low).summary.duration_s,
    )
    slow = types.VehicleProfile(max_speed_mps=12)
    differs(
        "VehicleProfile.max_speed_mps",
        plain.summary.duration_s,
        route(crossing(0, 1), HARBOUR, vehicle=slow).summary.duration_s,
    )


def waypoints(router: Router) -> None:
    """The fields of a waypoint."""
    types, route, differs, waypoint = router.types, router.route, router.differs, router.waypoint
    plain = points(route(crossing(0, 1), crossing(3, 2)))
    differs("CalculateRouteRequest.origin", plain[0], points(route(crossing(1, 1), crossing(3, 2)))[0])
    differs("CalculateRouteRequest.waypoints", plain, points(route(crossing(0, 1), crossing(3, 1), crossing(3, 2))))
    # The same place except for one coordinate.
    differs("Waypoint.latitude", plain[-1], points(route(crossing(0, 1), crossing(3, 3)))[-1])
    differs("Waypoint.longitude", plain[-1], points(route(crossing(0, 1), crossing(4, 2)))[-1])
    named = route(crossing(0, 1), waypoint(crossing(3, 1), name="Depot"))
    if "Depot" not in named.legs[0].steps[-1].instruction:
        raise Failed("the name of a waypoint is not in the arrival's instruction")
    router.contract.prove("Waypoint.name", "changes the answer")
    stop = route(crossing(0, 1), waypoint(crossing(3, 1), kind=1), crossing(3, 4))
    via = route(crossing(0, 1), waypoint(crossing(3, 1), kind=2), crossing(3, 4))
    differs("Waypoint.kind", len(stop.legs), len(via.legs))
    middle = place(375, 250)
    east, west = waypoint(middle, course=math.pi / 2), waypoint(middle, course=1.5 * math.pi)
    differs("Waypoint.course", points(route(east, crossing(3, 3))), points(route(west, crossing(3, 3))))
    # A course that differs from the road's is accepted with a wide tolerance but not with a narrow one.
    wide = router.answer(waypoint(middle, course=1.2, course_tolerance_rad=0.6, radius_m=30), crossing(3, 3))
    narrow = router.answer(waypoint(middle, course=1.2, course_tolerance_rad=0.1, radius_m=30), crossing(3, 3))
    differs("Waypoint.course_tolerance_rad", bool(wide.routes), bool(narrow.routes))
    beside = place(375, 310)
    far = router.answer(crossing(0, 1), waypoint(beside, radius_m=100))
    close = router.answer(crossing(0, 1), waypoint(beside, radius_m=20))
    differs("Waypoint.radius_m", bool(far.routes), bool(close.routes))
    error = router.answer(crossing(0, 1), waypoint(beside, radius_m=1e6)).error
    if "radius_m" not in error.message:
        raise Failed(f"a radius_m of 1,000 km is not rejected by name: {error.message}")
    left = place(375, 262)
    free = route(crossing(0, 1), waypoint(left))
    kerb = route(crossing(0, 1), waypoint(left, curbside=True))
    differs("Waypoint.curbside", points(free), points(kerb))
    sides = [one.waypoints[-1].side for one in (free, kerb)]
    if sides != [1, 2]:
        raise Failed(f"a place to the left of the road has the sides {sides} without and with curbside")
    lost = router.answer(crossing(0, 1), NOWHERE)
    if router.types.enum("ErrorCode", lost.error.code) != "NO_ROUTE":
        raise Failed(f"a road that leads nowhere: {lost.error}")
    island = route(crossing(0, 1), ISLAND)
    if not island.summary.ferries or not island.summary.toll.gate_count:
        raise Failed("the way to the island has no ferry or no toll booth")
    for number, leg in enumerate(stop.legs):
        check_intersections(stop, leg, number)


def check_intersections(route: Any, leg: Any, number: int) -> None:
    """Checks the junctions of a leg against the line of its route."""
    line = points(route)
    count = 0
    for step in leg.steps:
        if not step.intersections:
            raise Failed(f"a step of leg {number} has no junction")
        if step.intersections[0].point != step.first_point:
            raise Failed("a step's first junction is not at its maneuver")
        for junction in step.intersections:
            courses = list(junction.courses)
            if courses != sorted(courses) or len(courses) != len(junction.entries):
                raise Failed(f"courses and entries of a junction are inconsistent: {junction}")
            for name, there in (("out_index", junction.point + 1), ("in_index", junction.point - 1)):
                if not junction.HasField(name):
                    continue
                index = getattr(junction, name)
                if index >= len(courses) or name == "out_index" and not junction.entries[index]:
                    raise Failed(
                        f"{name} of a junction is not one of its roads, or may not be entered: {junction}"
                    )
                here, other = line[junction.point], line[min(max(there, 0), len(line) - 1)]
                if distance(here, other) < 5:
                    continue
                north, east = other[0] - here[0], (other[1] - here[1]) * math.cos(math.radians(here[0]))
                turned = (math.atan2(east, north) - courses[index] + math.pi) % (2 * math.pi) - math.pi
                if abs(turned) > 0.35:
                    raise Failed(f"{name} points {math.degrees(turned):.0f}° beside the line: {junction}")
                count += 1
    if count == 0:
        raise Failed(f"no junction of leg {number} could be compared with the line")
