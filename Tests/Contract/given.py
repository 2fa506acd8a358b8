"""Messages that clients send but nodes otherwise publish: the owner's instructions, and a route for SetRoute."""

import time
from typing import TYPE_CHECKING, Any, Callable

from bus import CallFailed
from contract import is_repeated, matches
from elsewhere import IGNORED
from request_fields import polygon
from stage import Failed
from town import crossing, place

if TYPE_CHECKING:
    from drives import Drives

Leaves = dict[str, list[Any]]
VISUAL, SPOKEN = "ReviseInstructionAnswer.visual", "ReviseInstructionAnswer.spoken"
ROUTE = "SetRouteRequest.route"
# Fields that differ between routes of equal requests.
OF_THE_MOMENT = (
    "stamp_ns session_id route_id chosen_route_id cause_sequence event_sequence compute_duration_s summary.eta_ns".split()
)


def leaves(message: Any, path: str) -> Leaves:
    """Returns the values in a message and its nested messages, by their places."""
    found: Leaves = {}
    for field, value in message.ListFields():
        here = f"{path}.{field.name}"
        for part in value if is_repeated(field) else [value]:
            inner = leaves(part, here) if field.message_type else {here: [part]}
            for key, values in inner.items():
                found.setdefault(key, []).extend(values)
    return found


def another(field: Any, value: Any) -> Any:
    """Returns another valid value of a field that is not a message."""
    if field.enum_type:
        return 2 if value == 1 else 1
    if field.type == field.TYPE_BOOL:
        return not value
    if field.type == field.TYPE_STRING:
        words = {"ssml": "<speak>Anders</speak>", "language": "fr"}
        return words.get(field.name, f"{value or field.name} B")
    return (value or 0) + 1


def alter(message: Any, path: str, is_meant: Callable[[str], bool]) -> None:
    """Changes the selected fields of a message and its nested messages; adds absent ones."""
    for field in message.DESCRIPTOR.fields:
        here, value = f"{path}.{field.name}", getattr(message, field.name)
        if field.message_type:
            if is_repeated(field) and not value and is_meant(here):
                value.add()
            for part in value if is_repeated(field) else [value]:
                if is_repeated(field) or message.HasField(field.name) or is_meant(here):
                    alter(part, here, is_meant)
        elif is_meant(here):
            if is_repeated(field):
                others = [another(field, one) for one in value or [None]]
                message.ClearField(field.name)
                value.extend(others)
            else:
                setattr(message, field.name, another(field, value))


# MARK: ReviseInstruction


def revision(question: Any, types: Any) -> Any:
    """Returns an answer in which every field of the instruction has another value."""
    answer = types.ReviseInstructionAnswer()
    kind = question.WhichOneof("instruction")
    told = getattr(answer, kind)
    told.CopyFrom(getattr(question, kind))
    if kind == "visual":
        for line in (told.primary, told.secondary, told.sub):
            del line.components[:]
        del told.lanes[:]
        alter(told, VISUAL, lambda _: True)
        # A fork, slight right.
        told.sub_maneuver.type, told.sub_maneuver.modifier, told.sub_maneuver.roundabout_exit = 8, 4, 5
        for name in ("primary", "secondary", "sub"):
            line = getattr(told, name)
            del line.components[:]
            for number, part in enumerate((1, 2, 3, 4, 5)):
                line.components.add(
                    kind=part, text=f"{name} {part}", abbreviation=f"{name[0]}{part}", abbreviation_priority=4 - number
                )
        # A lane open in all directions, and a closed one.
        told.lanes[0].CopyFrom(
            types.Lane(indications=[7, 5], valid=True, active=True, valid_indication=5, possible=True)
        )
        told.lanes.add(indications=[3], valid=False, active=False, closed=True, possible=False)
    else:
        alter(told, SPOKEN, lambda _: True)
    return answer


def revise(drives: "Drives") -> None:
    """Compares instructions in which the owner changes every field with those that are then shown and spoken."""
    bus, since = drives.bus, time.monotonic()
    asked: dict[tuple[str, int], tuple[Any, Any]] = {}

    def answer(question: Any) -> Any:
        changed = revision(question, drives.types)
        kind = question.WhichOneof("instruction")
        told = getattr(question, kind)
        number = told.instruction_id if kind == "visual" else told.utterance_id
        asked[kind, number] = (told, getattr(changed, kind))
        return changed

    drives.owner.answers["ReviseInstruction"] = answer
    # The second turn follows so closely that it is part of the first turn's instruction.
    drives.guide(place(20, 250), crossing(1, 2), crossing(2, 2), speed=8)
    for kind, root in (("visual", VISUAL), ("spoken", SPOKEN)):
        said = bus.expect(
            f"/nav/instruction/{kind}",
            lambda one: one.maneuver.type and (kind, one.instruction_id if kind == "visual" else one.utterance_id) in asked,  # noqa: B023
            since,
            "an instruction of the owner",
        )
        before, wanted = asked[kind, said.instruction_id if kind == "visual" else said.utterance_id]
        old, new, told = (leaves(one, root) for one in (before, wanted, said))
        for key in new:
            if told.get(key) == new[key] != old.get(key):
                if matches(key, IGNORED):
                    raise Failed(f"{key} of the owner's answer is applied, but the proto documents it as ignored")
                drives.prove(f"{key} {key.rpartition('.')[0]}", "changes the answer")
    drives.stop()


# MARK: SetRoute


def set_route(drives: "Drives") -> None:
    """Sets routes with one field changed: each change leads to another route or an error, unless documented as ignored."""
    router, types, call = drives.router, drives.types, drives.call
    ends = crossing(0, 1), router.waypoint(crossing(3, 1), name="Depot", kind=1), crossing(3, 4)
    base, other = router.route(*ends), router.route(ends[0], ends[2])
    drives.vehicle.stand(ends[0])

    def outcome(route: Any) -> Leaves | str:
        since = time.monotonic()
        try:
            answer = call("Navigation.SetRoute", route=route)
        except CallFailed as failure:
            return str(failure)
        if answer.HasField("error"):
            return answer.error.message
        told = drives.bus.expect("/nav/route", lambda one: one.route_id == answer.route_id, since, "the given route")
        return {key: values for key, values in leaves(told, "").items() if key[1:] not in OF_THE_MOMENT}

    def changed(change: Callable[[Any], Any], start: Any = base) -> Leaves | str:
        route = types.Route()
        route.CopyFrom(start)
        change(route)
        return outcome(route)

    plain = outcome(base)
    if isinstance(plain, str):
        raise Failed(f"a route from CalculateRoute is rejected: {plain}")
    if outcome(base) != plain:
        raise Failed(f"setting the same route twice gives different results: {difference(outcome(base), plain)}")
    bare = types.Route(geometry=other.geometry, summary=other.summary)
    whole = outcome(bare)

    def differs(fields: str, change: Callable[[Any], Any], start: Any = base, compared: Any = plain) -> None:
        if changed(change, start) != compared:
            drives.prove(" ".join(f"{ROUTE}.{field}" for field in fields.split()), "changes the answer")

    block = 22_484  # The town's blocks, in 1e-7 degrees of latitude.
    differs("geometry geometry.lat_deltas_e7", lambda route: shift(route.geometry.lat_deltas_e7, block), bare, whole)
    differs("geometry.lon_deltas_e7", lambda route: shift(route.geometry.lon_deltas_e7, block * 1.5557), bare, whole)
    differs("summary summary.duration_s", lambda route: setattr(route.summary, "duration_s", 999.0), bare, whole)
    differs("legs", lambda route: route.ClearField("legs"))
    for name, value in (("first_point", 1), ("last_point", 3), ("duration_s", 999.0)):
        differs(f"legs.{name}", lambda route: setattr(route.legs[0], name, value))  # noqa: B023
    differs("legs.annotation", lambda route: route.legs[0].ClearField("annotation"))
    differs("legs.annotation.node_ids", lambda route: move(route.legs[0].annotation.node_ids, 8))  # The neighbouring street.
    differs("legs.annotation.durations_s", lambda route: shift(route.legs[0].annotation.durations_s, 60))
    target = {"latitude": ends[2][0] + 1e-4, "longitude": ends[2][1] + 1e-4, "name": "Ziel", "course": 1.0, "curbside": True}
    for name, value in target.items():
        differs(f"waypoints waypoints.{name}", lambda route: setattr(route.waypoints[-1], name, value))  # noqa: B023

    def aside(route: Any, **fields: Any) -> None:
        route.waypoints[1].latitude += 5e-4
        route.waypoints[1].MergeFrom(types.Waypoint(**fields))

    differs("waypoints.radius_m", lambda route: aside(route, radius_m=20), compared=changed(lambda route: aside(route, radius_m=100)))
    headed = lambda route, **more: route.waypoints[-1].MergeFrom(types.Waypoint(course=1.0, **more))  # noqa: E731
    differs("waypoints.course_tolerance_rad", lambda route: headed(route, course_tolerance_rad=1.5), compared=changed(headed))
    # As a via, the waypoint ends no leg.
    one_leg = changed(lambda route: route.ClearField("legs"))
    differs("waypoints.kind", lambda route: (route.ClearField("legs"), setattr(route.waypoints[1], "kind", 2)), compared=one_leg)
    wishes = types.RouteOptions(
        avoid=[3], use_traffic=False, departure_ns=time.time_ns() + 3_600_000_000_000, initial_maneuver_avoidance_m=50,
        language="fi", units=2, allow_online=False, exclude_areas=[polygon(types, [place(-3000, 0), place(-2900, 0), place(-2900, 100)])],
    )  # fmt: skip
    for field, value in wishes.ListFields():
        wish = types.RouteOptions()
        wish.MergeFrom(wishes)
        for rest in wish.DESCRIPTOR.fields:
            if rest.name != field.name:
                wish.ClearField(rest.name)
        inner = "options.exclude_areas.rings " + " ".join(leaves(wish, "options")) if field.name == "exclude_areas" else ""
        differs(f"options options.{field.name} {inner}", lambda route: route.options.MergeFrom(wish))  # noqa: B023
    sizes = types.VehicleProfile(vehicle_class=2, height_m=2, width_m=1.8, length_m=5, weight_kg=2000, axle_load_kg=1000)
    truck = changed(lambda route: route.options.vehicle.CopyFrom(sizes))
    differs("options.vehicle options.vehicle.vehicle_class", lambda route: route.options.vehicle.CopyFrom(sizes))
    larger = {
        "height_m": 3, "width_m": 2, "length_m": 6, "weight_kg": 2500, "axle_load_kg": 1500, "max_speed_mps": 9,
        "hazardous_goods": True,
    }  # fmt: skip
    for name, value in larger.items():
        differs(
            f"options.vehicle.{name}",
            lambda route: (route.options.vehicle.CopyFrom(sizes), setattr(route.options.vehicle, name, value)),  # noqa: B023
            compared=truck,
        )
    # Other values of all fields documented as ignored change nothing.
    is_ignored = lambda here: matches(here, IGNORED) is not None  # noqa: E731
    scrambled = changed(lambda route: alter(route, ROUTE, is_ignored))
    if scrambled != plain:
        raise Failed(f"fields of a given route that are documented as ignored change it: {difference(scrambled, plain)}")
    drives.stop()


def difference(one: Leaves | str, other: Leaves | str) -> str:
    """Describes the places in which two routes differ; returns an error message unchanged."""
    if isinstance(one, str) or isinstance(other, str):
        return f"{one if isinstance(one, str) else other}"
    return ", ".join(sorted(key for key in one | other if one.get(key) != other.get(key)))


def move(values: Any, amount: int) -> None:
    """Increases all numbers of a list."""
    values[:] = [value + amount for value in values]


def shift(values: Any, amount: float) -> None:
    """Increases the first number of a list; for deltas this moves the whole line."""
    values[0] += type(values[0])(amount)
