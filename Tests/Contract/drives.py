"""Drives through the drawn town that make navigation publish all its messages."""

import re
import signal
import time
from typing import Any

import traffic_parts
from bus import CallFailed
from request_fields import INVALID, NOT_FOUND, Router, options, points, polygon, waypoints
from stage import Bus, Failed, Owner, Vehicle, distance
from town import BLOCK, FIELD, HARBOUR, ISLAND, LIGHTHOUSE, NOWHERE, ROWS, crossing, place, streets

NAVIGATION = "navigation-node"
SPOKEN = "/nav/instruction/spoken"


class Drives:
    """One run of the navigation node with a vehicle and an owner."""

    def __init__(self, bus: Bus, vehicle: Vehicle, owner: Owner) -> None:
        self.bus, self.vehicle, self.owner, self.types = bus, vehicle, owner, bus.types
        self.contract, self.call = bus.contract, bus.client(NAVIGATION)
        self.router = Router(self.call)
        self.prove = bus.contract.prove

    # MARK: Helpers

    def last(self, topic: str) -> Any:
        """Returns the last message of a topic."""
        return self.bus.observer.last(topic)

    def set(self, **values: str | int | float | bool) -> None:
        """Changes parameters; `__` in a key stands for a dot."""
        request = self.types.SetParametersRequest()
        for key, value in values.items():
            kind = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}[type(value)]
            setattr(request.parameters.add(key=key.replace("__", ".")), kind, value)
        answer = self.call("Node.SetParameters", request)
        if answer.HasField("error"):
            raise Failed(f"SetParameters: {answer.error.message}")

    def traffic(
        self, *speeds: tuple[int, int, int, float | None], seconds: float = 600, replaces: bool = True, age: float = 0
    ) -> float:
        """Publishes speeds by way, from, to and m/s (None closes the road), and returns the time of publication."""
        stamp = time.time_ns() - int(age * 1e9)
        said = self.types.TrafficSpeeds(stamp_ns=stamp, provider="walk", replaces_all=replaces)
        until = time.time_ns() + int(seconds * 1e9)
        for way, start, end, speed in speeds:
            entry = said.speeds.add(
                way_id=way, from_node=start, to_node=end, closed=speed is None, valid_until_ns=until
            )
            if speed is not None:
                entry.speed_mps = speed
        moment = time.monotonic()
        self.vehicle.say("/traffic/speeds", said)
        return moment

    def segments(self, route: Any, first: float, last: float) -> list[tuple[int, int, int]]:
        """Returns the ways and nodes of the part of a route between two offsets in m."""
        found, offset = [], 0.0
        for leg in route.legs:
            note = leg.annotation
            for index, length in enumerate(note.distances_m):
                if first <= offset and offset + length <= last:
                    found.append((note.way_ids[index], note.node_ids[index], note.node_ids[index + 1]))
                offset += length
        return found

    def drive(self, route: Any, speed: float) -> None:
        """Makes the vehicle follow a route."""
        self.vehicle.follow(points(route), speed)

    def guide(self, origin: Any, *places: Any, speed: float = 15, **wishes: Any) -> Any:
        """Starts guidance from a place and drives along the route."""
        self.vehicle.stand(origin)
        since = time.monotonic()
        self.bus.expect(
            "/nav/position",
            lambda at: distance((at.raw.latitude, at.raw.longitude), origin) < 20,
            since,
            "the vehicle at its start",
        )
        request = self.types.CalculateRouteRequest(
            waypoints=[one if hasattr(one, "latitude") else self.router.stop(one) for one in places],
            options=self.router.options(**wishes),
        )
        since = time.monotonic()
        answer = self.call("Navigation.SetRoute", calculate=request)
        if answer.HasField("error"):
            raise Failed(f"SetRoute: {answer.error.message}")
        route = self.bus.expect("/nav/route", lambda route: route.route_id == answer.route_id, since, "the route")
        self.drive(route, speed)
        self.bus.expect("/nav/state", lambda state: state.guidance == 2, since, "guidance in the phase TRACKING")
        return route

    def stop(self) -> None:
        """Ends guidance."""
        self.call("Navigation.StopNavigation")

    def refused(self, field: str, method: str, code: str, words: str, **fields: Any) -> None:
        """Checks that a request is rejected and that the error names the invalid field."""
        self.call.refusal(f"Navigation.{method}", code, words, **fields)
        if field:
            self.prove(field, "is refused by name")

    def begin(self, drive: Any) -> None:
        """Starts a drive without the trip, preview, traffic and owner's answers of the previous one."""
        self.stop()
        self.owner.answers.clear()
        self.vehicle.silent = self.vehicle.has_wheels = False
        self.vehicle.extra = {}
        # Free-flow speeds, so that traffic is known everywhere.
        self.traffic(*[(*segment, 12.0) for segment in streets()])
        self.owner.answers["AcceptReroute"] = lambda question: self.types.PolicyAnswer(verdict=1)
        drive()

    # MARK: Drives

    def before_the_first_fix(self) -> None:
        """The requests that are possible without a position."""
        answer = self.call("Navigation.CalculateRoute", waypoints=[self.router.waypoint(crossing(2, 2))], preview=False)
        if self.types.enum("ErrorCode", answer.error.code) != "NO_POSITION":
            raise Failed(f"a route without a position: {answer.error}")
        target = self.types.CalculateRouteRequest(waypoints=[self.router.waypoint(crossing(2, 2))])
        if not self.call("Navigation.SetRoute", calculate=target).waits_for_position:
            raise Failed("SetRoute does not wait for a position")
        self.stop()
        answer = self.call("Navigation.GetHorizon")
        if self.types.enum("ErrorCode", answer.error.code) != "NO_POSITION":
            raise Failed(f"a horizon without a position: {answer.error}")

    def horizon(self) -> None:
        """The road ahead, with the requested length and width."""
        since = time.monotonic()
        self.bus.expect("/nav/horizon", lambda horizon: horizon.paths, since - 60, "a horizon")
        short = self.call("Navigation.GetHorizon", length_m=60.0, include_stubs=False).horizon
        long = self.call("Navigation.GetHorizon", length_m=2000.0, include_stubs=True).horizon
        if not short.paths or short.paths[0].length_m >= long.paths[0].length_m:
            raise Failed("the horizon does not have the requested length")
        self.prove("GetHorizonRequest.length_m", "changes the answer")
        if len(short.paths) != 1 or len(long.paths) < 2:
            raise Failed(f"{len(short.paths)} and {len(long.paths)} paths without and with stubs")
        self.prove("GetHorizonRequest.include_stubs", "changes the answer")

    def choice(self) -> None:
        """A preview, the options of its requests, and a simulated drive over motorway, tunnel and ferry."""
        since = time.monotonic()
        # These requests open no preview.
        options(self.router)
        waypoints(self.router)
        call, types = self.call, self.types
        origin, target = self.router.waypoint(crossing(0, 1)), self.router.waypoint(crossing(7, 4))
        wishes = self.router.options(alternatives=2, departure_ns=time.time_ns())
        stop = self.router.stop(crossing(7, 4))
        ask = types.CalculateRouteRequest(origin=origin, waypoints=[stop], options=wishes)
        parts = call.parts("Navigation.CalculateRoute", ask)
        preview = self.bus.expect(
            "/nav/preview", lambda preview: preview.routes, since, "a preview"
        )
        ids = [route.route_id for route in parts[-1].routes]
        if len(ids) < 2 or ids != [route.route_id for route in preview.routes]:
            raise Failed(f"the preview's routes, of the first request with a preview, are {ids}")
        self.prove("CalculateRouteRequest.preview CalculateRouteRequest.options", "changes the answer")
        if call("Navigation.SelectPreview", index=1).route_id != ids[1]:
            raise Failed("SelectPreview ignores the index")
        # The id takes precedence over the index.
        if call("Navigation.SelectPreview", index=1, route_id=ids[0]).route_id != ids[0]:
            raise Failed("SelectPreview ignores the route_id")
        self.prove("SelectPreviewRequest.index SelectPreviewRequest.route_id", "changes the answer")
        self.refused("SelectPreviewRequest.index", "SelectPreview", NOT_FOUND, "7", index=7)
        self.refused("SelectPreviewRequest.route_id", "SelectPreview", NOT_FOUND, "777", route_id=777)
        self.refused("", "SelectPreview", INVALID, "route_id")
        self.refused("StartNavigationRequest.index", "StartNavigation", NOT_FOUND, "7", index=7)
        self.refused("StartNavigationRequest.route_id", "StartNavigation", NOT_FOUND, "777", route_id=777, index=0)
        # The preview uses the latest traffic.
        since = self.traffic(*[(*segment, 2.0) for segment in self.segments(preview.routes[0], 0, 1500)])
        bus_told = self.bus.expect(
            "/nav/preview", lambda told: told.HasField("cause_sequence"), since, "a preview in other traffic"
        )
        if bus_told.routes[0].summary.duration_s <= preview.routes[0].summary.duration_s:
            raise Failed("traffic on a previewed route does not increase its duration")
        live, free = (self.router.route(origin, target, use_traffic=use).summary.duration_s for use in (True, False))
        self.router.differs("RouteOptions.use_traffic", live, free)
        self.traffic()
        since = time.monotonic()
        started = call("Navigation.StartNavigation", route_id=ids[1], simulate=True, simulate_speed_factor=10)
        route = self.bus.expect(
            "/nav/route", lambda route: route.route_id == started.route_id, since, "the started route"
        )
        if points(route) != points(preview.routes[1]):
            raise Failed("StartNavigation{route_id} does not follow the named route")
        self.prove("StartNavigationRequest.route_id", "changes the answer")
        at = self.bus.expect("/nav/progress", lambda at: at.source == 3, since, "simulated progress")
        fast = self.bus.expect(
            "/nav/progress", lambda at: at.distance_traveled_m > 150, since, "a simulated drive at ten times real time"
        )
        if (fast.distance_traveled_m - at.distance_traveled_m) / max((fast.stamp_ns - at.stamp_ns) / 1e9, 0.1) < 25:
            raise Failed("simulate_speed_factor changes nothing")
        self.prove("StartNavigationRequest.simulate StartNavigationRequest.simulate_speed_factor", "changes the answer")
        self.bus.expect(
            "/nav/state", lambda state: state.position_source == 3, since, "a simulated position in the state"
        )
        self.stop()
        for method, fields in (("Reroute", {}), ("RefreshRoute", {}), ("RepeatInstruction", {})):
            self.refused("", method, "WRONG_STATE", "", **fields)
        since = time.monotonic()
        self.call("Navigation.CalculateRoute", origin=origin, waypoints=[self.router.waypoint(FIELD)])
        told = self.bus.expect("/nav/preview", lambda told: told.HasField("error"), since, "a preview without routes")
        if abs(told.error.nearest_road_m - 700) > 5:
            raise Failed(f"a place 700 m from the next road: {told.error}")

    def long_simulation(self) -> None:
        """A simulated drive along a given route over motorway, tunnel and ferry, at five times real time."""
        way = self.router.route(crossing(5, 0), ISLAND)
        self.refused(
            "",
            "SetRoute",
            INVALID,
            "preview",
            calculate=self.types.CalculateRouteRequest(waypoints=[self.router.waypoint(ISLAND)], preview=True),
        )
        # Options of CalculateRoute that guidance does not use.
        others = self.types.RouteOptions(alternatives=1)
        order = self.types.CalculateRouteRequest(waypoints=[self.router.waypoint(ISLAND)], options=others)
        self.refused("", "SetRoute", INVALID, "calculate.options.alternatives", calculate=order)
        self.refused("", "Reroute", INVALID, "options.alternatives", options=others)
        later = self.types.RouteOptions(departure_ns=time.time_ns())
        self.refused("", "Reroute", INVALID, "options.departure_ns", options=later)
        since = time.monotonic()
        target = self.types.CalculateRouteRequest(waypoints=[self.router.waypoint(crossing(2, 2))])
        self.call("Navigation.SetRoute", calculate=target)
        self.prove("SetRouteRequest.calculate", "changes the answer")
        way.options.avoid.append(3)
        # A route is not rejected because its planner's language is not supported.
        way.options.language, way.options.alternatives = "sv", 5
        answer = self.call("Navigation.SetRoute", route=way, simulate=True, simulate_speed_factor=5)
        route = self.bus.expect(
            "/nav/route",
            lambda route: route.route_id == answer.route_id and route.session_id == answer.session_id,
            since,
            "the route that was set",
        )
        if self.types.enum("RouteProvider", route.provider) != "EXTERNAL" or list(route.options.avoid) != [3]:
            raise Failed(f"a route that was set has provider {route.provider} and options {route.options}")
        if route.options.language != "en" or route.options.HasField("alternatives"):
            raise Failed(f"the options of a route that was set are not those in force: {route.options}")
        self.prove(
            "SetRouteRequest.route SetRouteRequest.simulate SetRouteRequest.simulate_speed_factor", "changes the answer"
        )
        arrived = lambda: any(told.message.phase == 2 for told in self.bus.observer.since(since, "/nav/arrival"))  # noqa: E731
        # Answers on all kinds of road.
        while not arrived():
            if time.monotonic() > since + 180:
                raise Failed("no arrival on the island in 180 s")
            self.call("Navigation.GetState", include_route=True)
            self.call("Navigation.GetHorizon")
            time.sleep(1)
        # A preview while the finished trip is still shown.
        self.call(
            "Navigation.CalculateRoute",
            origin=self.router.waypoint(crossing(5, 0)),
            waypoints=[self.router.waypoint(ISLAND)],
        )
        self.bus.expect("/nav/preview", lambda told: told.HasField("session_id"), since, "a preview in a session")
        self.stop()

    def fixes(self) -> None:
        """Rejected fixes."""
        vehicle, bus = self.vehicle, self.bus
        since = time.monotonic()
        vehicle.extra = {"horizontal_accuracy_m": 400.0, "position_covariance": None}
        bus.expect("/nav/fix_rejected", lambda event: event.HasField("limit"), since, "a fix that is too inaccurate")
        vehicle.extra = {}
        vehicle.extra = {}
        self.owner.answers["ShouldDiscardFix"] = lambda question: self.types.PolicyAnswer(
            verdict=1, reason="not mine", hold_s=2.0
        )

    def town_drive(self) -> None:
        """Alternatives, traffic, a repeated instruction, a faster route."""
        bus, call, types = self.bus, self.call, self.types
        since = time.monotonic()
        route = self.guide(crossing(0, 1), crossing(7, 4), speed=8)
        offered = bus.expect(
            "/nav/alternatives", lambda update: update.alternatives, since, "alternatives"
        ).alternatives[0]
        check_fork(offered, route)
        self.refused("SelectAlternativeRequest.route_id", "SelectAlternative", NOT_FOUND, "777", route_id=777)
        state = call("Navigation.GetState", include_route=True)
        if not state.HasField("route") or call("Navigation.GetState").HasField("route"):
            raise Failed("include_route changes nothing")
        self.prove("GetStateRequest.include_route", "changes the answer")
        # Traffic ahead of the vehicle.
        ahead = self.segments(route, 600, 1400)
        since = self.traffic(*[(*segment, 3.0) for segment in ahead])
        bus.expect("/nav/route_refresh", lambda event: event.HasField("eta_delta_s"), since, "a refresh", 60)
        call("Navigation.RefreshRoute")
        since = time.monotonic()
        asked = call("Navigation.RepeatInstruction").instruction
        said = bus.expect("/nav/instruction/spoken", lambda said: said.is_repeat, since, "the repeated instruction")
        if said.text != asked.text or not said.text:
            raise Failed(f"RepeatInstruction answers {asked.text!r} but publishes {said.text!r}")
        # The faster route around the traffic.
        found = bus.expect("/nav/faster_route", lambda event: event.phase == 1, since, "a faster route", 60)
        if not found.faster_route_id or found.route.route_id != found.faster_route_id:
            raise Failed("DETECTED does not have the id of the faster route")
        self.refused("AcceptFasterRouteRequest.route_id", "AcceptFasterRoute", NOT_FOUND, "777", route_id=777)
        taken = call("Navigation.AcceptFasterRoute", route_id=found.faster_route_id, accept=True)
        if taken.route_id != found.faster_route_id:
            raise Failed(f"route {found.faster_route_id} was accepted and {taken.route_id} is followed")
        self.prove("AcceptFasterRouteRequest.route_id", "changes the answer")
        applied = bus.expect(
            "/nav/route", lambda route: route.route_id == taken.route_id, since, "the faster route in force"
        )
        self.drive(applied, 8)
        self.traffic()
        self.stop()

    def units(self) -> None:
        """A short drive with the units of the country's signs, and the same drive with miles."""
        metric, imperial = "metre", "feet|mile"
        for wanted, other, wishes in ((metric, imperial, {"units": None}), (imperial, metric, {"units": 2})):
            since = time.monotonic()
            self.guide(place(220, BLOCK), crossing(2, 1), speed=12, **wishes)
            self.bus.expect(SPOKEN, lambda said: re.search(wanted, said.text), since, f"a distance in {wanted}")  # noqa: B023
            said = [heard.message.text for heard in self.bus.observer.since(since, SPOKEN)]
            if any(re.search(other, text) for text in said):
                raise Failed(f"a distance is in {other} instead of {wanted}: {said}")
            self.stop()
        self.prove("RouteOptions.units", "changes the answer")

    def close_turns(self) -> None:
        """A destination shortly after a corner: its banner has a second maneuver."""
        since = time.monotonic()
        self.guide(place(150, BLOCK), place(BLOCK, BLOCK + 20), speed=8)
        self.bus.expect(
            "/nav/instruction/visual", lambda shown: shown.HasField("sub_maneuver"), since, "a banner with a second maneuver"
        )
        # A request to the owner about a fix on the way.
        self.vehicle.extra = {"horizontal_accuracy_m": 400.0, "position_covariance": None}
        self.bus.expect("/nav/policy/request", lambda told: told.should_discard_fix.context.HasField("progress"), since, "a question")
        self.vehicle.extra = {}
        self.stop()

    def named(self) -> None:
        """Selects a route by its index, an alternative by its id, and a waypoint other than the next one by its index."""
        bus, call, since = self.bus, self.call, time.monotonic()
        self.guide(crossing(0, 1), crossing(7, 4), speed=3)
        offered = bus.expect("/nav/alternatives", lambda update: update.alternatives, since, "alternatives").alternatives[-1]
        taken = call("Navigation.SelectAlternative", route_id=offered.route.route_id)
        bus.expect("/nav/alternative_switch", lambda told: told.phase == 2 and not told.by_driving, since, "an alternative")
        route = bus.expect("/nav/route", lambda route: route.route_id == taken.route_id, since, "the alternative in force")
        if not set(points(offered.route)[offered.fork_point + 1 :]) <= set(points(route)):
            raise Failed("SelectAlternative does not lead along the named alternative")
        self.prove("SelectAlternativeRequest.route_id", "changes the answer")
        self.guide(crossing(0, 1), crossing(1, 1), crossing(1, 3), crossing(3, 3), speed=3)
        since = time.monotonic()
        if call("Navigation.SkipWaypoint", waypoint_index=2).waypoint_index != 2:
            raise Failed("SkipWaypoint does not drop the named waypoint")
        route = bus.expect("/nav/route", lambda route: route.reason == 6, since, "a route without the waypoint")
        passed = [min(distance(at, stop) for at in points(route)) < 30 for stop in (crossing(1, 1), crossing(1, 3))]
        if passed != [True, False]:
            raise Failed(f"the route without waypoint 2 passes the waypoints 1 and 2: {passed}")
        self.prove("SkipWaypointRequest.waypoint_index", "changes the answer")
        self.stop()
        since = time.monotonic()
        order = self.types.CalculateRouteRequest(
            origin=self.router.waypoint(crossing(0, 1)), waypoints=[self.router.waypoint(crossing(7, 4))],
            options=self.types.RouteOptions(alternatives=2),
        )  # fmt: skip
        shown = call("Navigation.CalculateRoute", order).routes
        started = call("Navigation.StartNavigation", index=1)
        route = bus.expect("/nav/route", lambda route: route.route_id == started.route_id, since, "the started route")
        if points(route) != points(shown[1]):
            raise Failed("StartNavigation{index} does not follow the named route")
        self.prove("StartNavigationRequest.index", "changes the answer")
        self.stop()

    def turned(self) -> None:
        """The vehicle turns onto an alternative."""
        since = time.monotonic()
        self.guide(crossing(0, 1), crossing(7, 4), speed=8)
        offered = self.bus.expect(
            "/nav/alternatives", lambda update: update.alternatives, since, "alternatives"
        ).alternatives[0]
        self.drive(offered.route, 20)
        taken = self.bus.expect(
            "/nav/alternative_switch",
            lambda event: event.phase == 2,
            since,
            "an alternative taken by driving",
            90,
        )
        if not taken.by_driving or taken.alternative_route_id != offered.route.route_id:
            raise Failed(f"another alternative was taken, or it was not taken by driving: {taken}")

    def declined(self) -> None:
        """A faster route that is declined, an alternative that is selected, a closure."""
        bus, call, types = self.bus, self.call, self.types
        since = time.monotonic()
        route = self.guide(crossing(0, 1), crossing(7, 4), speed=6)
        update = bus.expect("/nav/alternatives", lambda update: update.alternatives, since, "alternatives")
        ahead = self.segments(route, 600, 1400)
        since = self.traffic(*[(*segment, 3.0) for segment in ahead])
        found = bus.expect("/nav/faster_route", lambda event: event.phase == 1, since, "a faster route", 60)
        call("Navigation.AcceptFasterRoute", route_id=found.faster_route_id, accept=False)
        bus.expect(
            "/nav/faster_route",
            lambda event: event.phase == 3 and event.reason,
            since,
            "a rejected faster route",
        )
        self.prove("AcceptFasterRouteRequest.accept", "changes the answer")
        self.owner.answers["AcceptFasterRoute"] = lambda question: types.PolicyAnswer(verdict=2)
        self.set(faster__approval="policy")
        since = time.monotonic()
        bus.expect(
            "/nav/policy/decision",
            lambda told: told.kind == 4 and told.verdict == 2,
            since,
            "a faster route that the owner rejects",
        )
        self.set(faster__approval="manual")
        since = self.traffic()
        bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s < -5, since, "a refresh when the jam is over")
        # Speeds stay valid until they expire.
        since = self.traffic(*[(*segment, 3.0) for segment in ahead], seconds=3)
        bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s > 5, since, "a jam")
        bus.expect("/nav/route_refresh", lambda event: event.eta_delta_s < -5, since, "the end of a jam whose speeds have expired")
        self.prove("TrafficSpeeds.speeds TrafficSpeed.speed_mps TrafficSpeed.valid_until_ns", "changes the answer")
        traffic_parts.segment_ids(self, route)
        traffic_parts.additions(self, route)
        route = self.last("/nav/route")
        since = self.traffic(*[(*segment, None) for segment in self.segments(route, 900, 1300)[:1]])
        bus.expect(
            "/nav/route_refresh",
            lambda event: event.phase == 4 and event.HasField("error"),
            since,
            "a route that is closed",
        )
        self.prove("TrafficSpeed.closed", "changes the answer")
        self.traffic()
        self.stop()

    def off_route(self) -> None:
        """The vehicle leaves its route; all requests to the owner; a manual reroute; one that fails."""
        bus, call, types, owner = self.bus, self.call, self.types, self.owner
        # Every new route needs the owner's approval, regardless of the distance of its first maneuver.
        self.set(reroute__min_commit_time_s=120.0)
        owner.answers["ShouldReroute"] = lambda question: types.PolicyAnswer(verdict=2, reason="wait", hold_s=1.0)
        # Areas in the middle of the town: only the northernmost street bypasses the first, only southern streets bypass the second.
        south, north = (
            polygon(types, [place(east * BLOCK, row * BLOCK) for east, row in box])
            for box in (
                [(2.5, -0.5), (4.5, -0.5), (4.5, 4.5), (2.5, 4.5)],
                [(2.5, 2.5), (4.5, 2.5), (4.5, 5.5), (2.5, 5.5)],
            )
        )

        def rows(route: Any) -> list[int]:
            """Returns the streets by which a route passes the middle of the town."""
            return [row for row in range(ROWS) if min(distance(at, crossing(3, row)) for at in points(route)) < 30]

        owner.answers["RerouteOptions"] = lambda question: types.RerouteOptionsAnswer(
            options=self.router.options(exclude_areas=[south]), waypoints=question.waypoints
        )
        since = time.monotonic()
        self.guide(place(120, BLOCK), crossing(6, 1), speed=12)
        self.vehicle.follow([self.vehicle.place, crossing(1, 1), crossing(1, 5)], 12)
        denied = bus.expect(
            "/nav/policy/decision", lambda told: told.kind == 1 and told.verdict == 2, since, "a reroute that is denied"
        )
        if denied.reason != "wait" or denied.hold_s != 1.0:
            raise Failed(f"the owner's reason and hold are not in the decision: {denied}")
        self.prove("PolicyAnswer.verdict PolicyAnswer.reason PolicyAnswer.hold_s", "changes the answer")
        owner.answers.pop("ShouldReroute")
        applied = bus.expect(
            "/nav/reroute", lambda event: event.phase == 4 and event.reason == 1, since, "a reroute", 60
        )
        route = bus.expect("/nav/route", lambda route: route.route_id == applied.new_route_id, since, "the new route")
        if rows(route) != [5]:
            raise Failed(f"the route leads through the owner's excluded area: it passes the streets {rows(route)}")
        self.prove("RerouteOptionsAnswer.options", "changes the answer")
        self.drive(route, 6)
        # The owner changes the destination.
        owner.answers["RerouteOptions"] = lambda question: types.RerouteOptionsAnswer(
            waypoints=[self.router.stop(crossing(6, 3))]
        )
        since = time.monotonic()
        begun = call("Navigation.Reroute", options=types.RouteOptions(exclude_areas=[north]))
        applied = bus.expect(
            "/nav/reroute",
            lambda event: event.phase == 4 and event.request_id == begun.request_id,
            since,
            "a manual reroute",
        )
        route = bus.expect("/nav/route", lambda route: route.route_id == applied.new_route_id, since, "its route")
        if distance(points(route)[-1], crossing(6, 3)) > 30:
            raise Failed("the owner's waypoints are not those of the route")
        if not rows(route) or max(rows(route)) > 2:
            raise Failed(f"the route leads through the excluded area of Reroute: it passes the streets {rows(route)}")
        self.prove("RerouteOptionsAnswer.waypoints RerouteRequest.options", "changes the answer")
        # A reroute that fails, and one that is superseded by another command.
        owner.answers["RerouteOptions"] = lambda question: types.RerouteOptionsAnswer(
            waypoints=[self.router.waypoint(NOWHERE)]
        )
        since = time.monotonic()
        self.vehicle.follow([self.vehicle.place, crossing(1, 5), crossing(7, 5)], 12)
        call("Navigation.Reroute")
        bus.expect(
            "/nav/reroute", lambda event: event.phase == 5 and event.HasField("error"), since, "a reroute that fails"
        )
        owner.answers["RerouteOptions"] = None
        since = time.monotonic()
        bus.until(lambda: not call("Navigation.Reroute").HasField("error"), "another reroute is begun")
        self.stop()
        bus.expect("/nav/reroute", lambda event: event.phase == 6, since, "a superseded reroute")
        owner.answers.pop("RerouteOptions")
        self.set(reroute__min_commit_time_s=30.0)

    def stops(self) -> None:
        """Stops: skipped, held, advanced; instructions that the owner rewords."""
        bus, call, types, owner = self.bus, self.call, self.types, self.owner
        owner.answers["ShouldAdvanceLeg"] = lambda question: types.PolicyAnswer(verdict=2)

        def revise(question: Any) -> Any:
            answer = types.ReviseInstructionAnswer()
            if question.HasField("spoken"):
                if question.spoken.urgency == 1:
                    answer.suppress = True
                else:
                    answer.spoken.text, answer.spoken.ssml = "Obey", "<speak>Obey</speak>"
            else:
                answer.visual.CopyFrom(question.visual)
                answer.visual.primary.text = "Look"
            return answer

        owner.answers["ReviseInstruction"] = revise
        since = time.monotonic()
        stops = [
            self.router.stop(place(2 * BLOCK + 120, BLOCK), name="Kiosk"),
            crossing(3, 1),
            crossing(3, 2),
            crossing(4, 2),
        ]
        self.guide(crossing(1, 1), *stops, speed=12)
        bus.expect("/nav/instruction/spoken", lambda said: said.text == "Obey", since, "the owner's wording")
        bus.expect(
            "/nav/instruction/visual", lambda shown: shown.primary.text == "Look", since, "the owner's banner"
        )
        bus.expect(
            "/nav/policy/decision",
            lambda told: told.revised_instruction.suppress,
            since,
            "an instruction that the owner suppresses",
        )
        self.prove(
            "ReviseInstructionAnswer.visual ReviseInstructionAnswer.spoken ReviseInstructionAnswer.suppress",
            "changes the answer",
        )
        owner.answers.pop("ReviseInstruction")
        self.refused("SkipWaypointRequest.waypoint_index", "SkipWaypoint", NOT_FOUND, "9", waypoint_index=9)
        bus.expect("/nav/arrival", lambda event: event.phase == 3, since, "a stop at which the vehicle is held")
        self.vehicle.stand()
        self.refused("AdvanceLegRequest.leg_index", "AdvanceLeg", NOT_FOUND, "7", leg_index=7)
        progress = call("Navigation.AdvanceLeg", leg_index=1).progress
        if progress.leg_index != 1 or progress.leg_distance_remaining_m < 50:
            raise Failed(
                f"AdvanceLeg answers with the progress of leg {progress.leg_index}, {progress.leg_distance_remaining_m:.0f} m to go"
            )
        self.prove("AdvanceLegRequest.leg_index", "changes the answer")
        since = time.monotonic()
        skipped = call("Navigation.SkipWaypoint")
        if skipped.HasField("error") or skipped.waypoint_index != 2:
            raise Failed(f"SkipWaypoint without an index dropped: {skipped}")
        route = bus.expect("/nav/route", lambda route: route.reason == 6, since, "a route without the waypoint")
        self.coverage(route)
        # The trip survives a restart of the node.
        owner.answers["ShouldAdvanceLeg"] = lambda question: types.PolicyAnswer(verdict=1)
        self.drive(route, 25)
        bus.kill(NAVIGATION)
        self.restart()
        since = time.monotonic()
        bus.expect("/nav/route", lambda route: route.reason == 8, since - 20, "the resumed trip")
        bus.expect("/nav/arrival", lambda event: event.phase == 2 and event.is_destination, since, "the arrival", 90)
        self.stop()

    def coverage(self, route: Any) -> None:
        """Coverage of the route and of waypoints."""
        self.call("Navigation.Coverage")
        east = [self.router.waypoint(at) for at in (HARBOUR, LIGHTHOUSE)]
        narrow, wide = (self.call("Navigation.Coverage", waypoints=east, corridor_m=width) for width in (100.0, 20_000.0))
        self.router.differs("RouteCoverageRequest.corridor_m", narrow.wanted_count, wide.wanted_count)
        self.refused("RouteCoverageRequest.corridor_m", "Coverage", INVALID, "corridor_m", corridor_m=1e6)
        far = self.call(
            "Navigation.Coverage", waypoints=[self.router.waypoint(crossing(0, 0)), self.router.waypoint(ISLAND)]
        )
        lost = self.call(
            "Navigation.Coverage", waypoints=[self.router.waypoint(crossing(0, 0)), self.router.waypoint(NOWHERE)]
        )
        if far.HasField("error") or not lost.HasField("error"):
            raise Failed("the waypoints of Coverage change nothing")
        self.prove("RouteCoverageRequest.waypoints", "changes the answer")

    def questions(self) -> None:
        """Checks that the published policy requests equal those that the owner received."""
        for name, questions in self.owner.asked.items():
            for question in questions:
                asked = question.context
                # The last ones may still be in transit.
                published = self.bus.expect(
                    "/nav/policy/request",
                    lambda one: (one.request_id, one.stamp_ns) == (asked.request_id, asked.stamp_ns),  # noqa: B023
                    0,
                    f"{name} {asked.request_id} as the owner received it",
                )
                if getattr(published, published.WhichOneof("question")) != question:
                    raise Failed(f"{name} {asked.request_id} of the owner differs from the published one")

    def outage(self) -> None:
        """An outage of the receiver during a drive along the route in free-flowing traffic."""
        since = time.monotonic()
        self.guide(place(60, 0), place(3 * BLOCK, 3 * BLOCK), speed=12)
        has_bus_lane = lambda at: any(lane.HasField("closed") for lane in at.lanes)  # noqa: E731
        self.bus.expect("/nav/progress", lambda at: at.distance_traveled_m > 60 and has_bus_lane(at), since, "some metres")
        since = self.traffic(*[(*segment, 12.0) for segment in streets()])
        self.bus.expect("/nav/route_refresh", lambda event: has_bus_lane(event.progress), since, "a refresh at a bus lane")
        self.vehicle.has_wheels = True
        self.vehicle.silent = True
        since = time.monotonic()
        self.bus.expect("/nav/simulation", lambda event: event.phase == 2, since, "a prediction")
        self.bus.expect(
            "/nav/state", lambda state: state.position_source == 2, since, "a predicted position in the state"
        )
        self.bus.expect(
            "/nav/position", lambda at: at.HasField("prediction") and at.age_s > 0, since, "a predicted position"
        )
        self.call("Navigation.GetState")
        self.vehicle.silent = self.vehicle.has_wheels = False
        self.bus.expect("/nav/simulation", lambda event: event.phase == 4, since, "the end of the prediction")
        self.vehicle.extra = {"frame_id": "mirror"}
        self.bus.expect("/nav/receiver", lambda event: event.HasField("previous"), since, "another receiver")
        self.vehicle.extra = {}

    restart = staticmethod(lambda: None)


def check_fork(offered: Any, route: Any) -> None:
    """Checks that the fork and the join of an alternative are on both routes."""
    fork = (offered.fork.latitude, offered.fork.longitude)
    for name, line, index in (
        ("fork_point_main", points(route), offered.fork_point_main),
        ("fork_point", points(offered.route), offered.fork_point),
    ):
        if index >= len(line) or distance(line[index], fork) > 400:
            raise Failed(f"{name} is {distance(line[min(index, len(line) - 1)], fork):.0f} m from the fork")
    if offered.HasField("join"):
        join = (offered.join.latitude, offered.join.longitude)
        if min(distance(join, at) for at in points(route)) > 5:
            raise Failed("join is not on the current route")
