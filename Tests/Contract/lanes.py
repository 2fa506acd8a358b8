"""The parts of the walk. They mostly wait and are therefore divided into lanes, which run in parallel, each on a separate bus."""

import json
import pathlib
import time
from typing import Any, Callable

import gallery
import given
import inputs
import stage
import traffic_parts
from bus import CallFailed
from drives import NAVIGATION, Drives
from node_calls import lives, node_calls, values, waits
from request_fields import points
from stage import Bus, Failed, Owner, Vehicle, Web
from tile_calls import CACHE, TileSource, area, away, offline, tile_calls
from town import crossing
from transport import credit_of_loads, credit_of_routes, fingerprints


class Stand:
    """Navigation on a separate bus with a vehicle, an owner, an online provider and the tile cache."""

    def __init__(self, lane: str, new_bus: Callable[[str], Bus], programs: pathlib.Path, tiles: pathlib.Path) -> None:
        self.bus, self.new_bus, self.programs = new_bus(lane), new_bus, programs
        self.online: dict[str, Any] = {"line": [], "delay": 0.0}
        self.provider, self.source = Web(lambda path, headers: directions(path, self.online)), TileSource()
        self.owner, self.vehicle = Owner(self.bus), Vehicle(self.bus, crossing(0, 1))
        self.vehicle.silent = True
        self.settings = dict(
            tiles=tiles, utc_offset_min=0, policy__ask="all", policy__node="owner", policy__wait_ready_s=0,
            directions__url=self.provider.url, directions__retries=0, directions__rest_after=100,
            faster__interval_s=10, faster__min_remaining_s=0, faster__min_to_maneuver_s=0, faster__min_gain=0.01,
            faster__approval="manual", alternatives__min_move_m=0, refresh__min_interval_s=0, reroute__cooldown_s=0,
            reroute__min_move_m=0, reroute__min_commit_time_s=30, legs__auto_advance="false",
            dead_reckoning__start_after_s=1, state__path=self.bus.folder / "trip",
        )  # fmt: skip

    def start(self) -> None:
        """Starts the nodes."""
        self.bus.start(
            self.programs / CACHE,
            store__path=self.bus.folder / "store",
            tilesets=self.source.tilesets(str(self.settings["tiles"])),
            predictive__enabled="true",
            network__retries=0,
            region__retry_s=86400,
        )
        self.start_navigation()
        self.drives = Drives(self.bus, self.vehicle, self.owner)
        self.drives.restart = self.start_navigation

    def start_navigation(self) -> None:
        """Starts the navigation node."""
        self.bus.start(self.programs / NAVIGATION, **self.settings)

    def appear(self) -> None:
        """Makes the vehicle's receiver publish fixes."""
        self.vehicle.appear()
        self.bus.until(lambda: self.bus.observer.last("/nav/position"), "a position")

    def end(self) -> None:
        """Ends all processes and threads."""
        self.vehicle.end()
        self.owner.end()
        self.source.end()
        self.provider.end()
        self.bus.end()


Part = Callable[[Stand], Any]


def drive(part: Callable[[Drives], Any]) -> Part:
    """Returns a part that starts without the trip, preview, traffic and owner's answers of the previous one."""
    return lambda on: on.drives.begin(lambda: part(on.drives))


def online(on: Stand) -> None:
    """A route from the online provider, and a route on board if the provider is not permitted."""
    drives, types = on.drives, on.bus.types
    router = drives.router
    ends = (crossing(0, 1), crossing(3, 1))
    own = router.route(*ends, allow_online=False)
    on.online["line"] = points(own)
    theirs = router.route(*ends)
    kinds = [types.enum("RouteProvider", route.provider) for route in (own, theirs)]
    if kinds != ["ON_BOARD", "ONLINE"]:
        raise Failed(f"routes without and with the online provider are {kinds}")
    drives.prove("RouteOptions.allow_online", "changes the answer")
    on.online["line"] = []
    # A call that is cancelled before its answer.
    on.online["delay"] = 1.0
    since = time.monotonic()
    try:
        drives.call.parts(
            "Navigation.CalculateRoute", seconds=0.3, waypoints=[router.waypoint(ends[1])], preview=False
        )
    except CallFailed as failure:
        if failure.code != 4:
            raise
    drives.bus.expect("/nav/journal", lambda entry: entry.HasField("call_ended"), since, "a call that has ended")
    on.online["delay"] = 0.0


def credit(on: Stand) -> None:
    """Streams of both nodes under the credit that a client gives."""
    types = on.bus.types
    ends = [types.Waypoint(latitude=at[0], longitude=at[1]) for at in (crossing(0, 1), crossing(3, 1))]
    routes = types.CalculateRouteRequest(origin=ends[0], waypoints=ends[1:], preview=False)
    credit_of_routes(on.bus, NAVIGATION, routes)
    wanted = types.TilesetDescriptor(tileset="base", domain=2, zoom_min=12, zoom_max=14)
    region = types.RegionDefinition(region_id="credit", geometry=area(types, 40_000, 0, 6_000), descriptors=[wanted])
    credit_of_loads(on.bus, CACHE, types.LoadRegionRequest(definition=region), on.source)


def parameters(on: Stand) -> None:
    """Sets a parameter of each kind."""
    values(
        on.bus, NAVIGATION, bool_value=("faster.enabled", True), int_value=("dead_reckoning.exit_good_fixes", 2),
        double_value=("fix.max_h_accuracy_m", 120.0), string_value=("log.level", "debug"),
    )  # fmt: skip


# The only part without a position.
BEFORE_THE_FIRST_FIX = "before the first fix"

# The lanes should have about the same length, because the longest one determines that of the walk. The parts of a lane run in sequence.
LANES: dict[str, dict[str, Part]] = {
    "requests": {
        BEFORE_THE_FIRST_FIX: lambda on: on.drives.before_the_first_fix(),
        "horizon": lambda on: on.drives.horizon(),
        "choice": drive(Drives.choice),
        "long simulation": drive(Drives.long_simulation),
        "online": online,
        "given routes": drive(given.set_route),
        "revised instructions": drive(given.revise),
        "units": drive(Drives.units),
        "close turns": drive(Drives.close_turns),
        "named": drive(Drives.named),
        # Its trip continues, so that the cache's statistics include a route.
        "outage": drive(Drives.outage),
        "requests: questions": lambda on: on.drives.questions(),
        "calls of a node": lambda on: node_calls(on.bus, NAVIGATION),
        "parameters": parameters,
        "barriers": lambda on: waits(on.bus, NAVIGATION, on.vehicle.publisher),
        "tile cache": lambda on: tile_calls(on.bus, on.source),
        "offline": lambda on: offline(on.bus),
        "sources away": lambda on: away(on.new_bus("away"), on.programs / CACHE),
        "fingerprints": lambda on: fingerprints(on.bus, NAVIGATION, CACHE),
        "credit": credit,
        "a node's life": lambda on: lives(on.bus, CACHE),
    },
    "positions": {
        "fixes": drive(Drives.fixes),
        "fixes of all kinds": drive(gallery.fix_kinds),
        "fields of fixes": drive(inputs.fixes),
        "fields of odometry": drive(inputs.odometry),
        "street": drive(gallery.street),
        "declined": drive(Drives.declined),
        "positions: questions": lambda on: on.drives.questions(),
    },
    "trips": {
        "turned": drive(Drives.turned),
        "off route": drive(Drives.off_route),
        "stops": drive(Drives.stops),
        "town drive": drive(Drives.town_drive),
        "offers": drive(traffic_parts.offers),
        "ages of traffic": drive(traffic_parts.ages),
        "trips: questions": lambda on: on.drives.questions(),
    },
}


def directions(path: str, online: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Answers like an OSRM server: with the known route, or with NoRoute."""
    time.sleep(online["delay"])
    head = {"Content-Type": "application/json"}
    if not online["line"]:
        return 400, head, json.dumps({"code": "NoRoute", "message": "none"}).encode()
    line = online["line"]
    length = sum(stage.distance(one, other) for one, other in zip(line, line[1:]))
    leg = {"distance": length, "duration": length / 10, "summary": "", "steps": []}
    route = {
        "geometry": encoded(line),
        "legs": [leg],
        "distance": length,
        "duration": length / 10,
        "weight": length / 10,
        "weight_name": "routability",
    }
    ends = [{"location": [at[1], at[0]], "name": "", "distance": 0} for at in (line[0], line[-1])]
    return 200, head, json.dumps({"code": "Ok", "routes": [route], "waypoints": ends}).encode()


def encoded(line: list[tuple[float, float]]) -> str:
    """Returns a line as an encoded polyline with six digits."""
    text, before = "", (0, 0)
    for at in line:
        now = (round(at[0] * 1e6), round(at[1] * 1e6))
        for one, other in zip(now, before):
            value = (one - other) << 1
            value = ~value if one < other else value
            while value >= 0x20:
                text += chr((0x20 | (value & 0x1F)) + 63)
                value >>= 5
            text += chr(value + 63)
        before = now
    return text
