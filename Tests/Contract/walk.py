#!/usr/bin/env python3
"""Walks over the contract: real processes, every message, field and method of Proto/navbus/v1; see README.md beside this file."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable

sys.dont_write_bytecode = True
import gallery  # noqa: E402
import given  # noqa: E402
import inputs  # noqa: E402
import stage  # noqa: E402
import traffic_parts  # noqa: E402
from bus import ROOT, CallFailed, Messages  # noqa: E402
from contract import Contract, matches  # noqa: E402
from drives import NAVIGATION, Drives  # noqa: E402
from node_calls import leads, lives, node_calls, snapshots, values, waits  # noqa: E402
from elsewhere import ABSENT, IGNORED, SHOWN_ELSEWHERE  # noqa: E402
from request_fields import points  # noqa: E402
from stage import Bus, Failed, Owner, Vehicle, Web  # noqa: E402
from tile_calls import CACHE, TileSource, away, offline, tile_calls  # noqa: E402
from town import NOWHERE, crossing, draw, place  # noqa: E402

# Set by the router and not by the caller; a parameter's description is not read when it is set.
NOT_ASKED = {
    "Waypoint.snapped", "Waypoint.snap_distance_m", "Waypoint.side", "Parameter.is_live", "Parameter.unit",
    "Parameter.range", "Parameter.description", "BarrierPoint.subscriber_count",
}  # fmt: skip


class Walk:
    """The stages of the walk, the failures in them, and the table at the end."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self.programs, self.folder = programs, folder
        self.types = Messages()
        self.contract = Contract(self.types)
        self.failures: list[str] = []
        self.only: set[str] = set()
        self.buses: list[Bus] = []
        self.topics: dict[str, str] = {}

    def attempt(self, what: str, action: Callable[[], Any]) -> None:
        """Runs a part of the walk; a failure does not end the other parts."""
        if self.only and what not in self.only:
            return
        begun = time.monotonic()
        try:
            action()
        except Exception as error:
            kind = "" if isinstance(error, Failed) else f"{type(error).__name__}: "
            self.failures.append(f"{what}: {kind}{error}")
            if not isinstance(error, Failed):
                self.failures.append(traceback.format_exc(limit=-2))
        print(f"{what:<28}{time.monotonic() - begun:6.1f} s", flush=True)

    def bus(self, name: str) -> Bus:
        """A separate bus."""
        bus = Bus(self.folder / name, self.types, self.contract)
        self.buses.append(bus)
        return bus

    def build_map(self) -> pathlib.Path:
        """The road tiles of the drawn town and of the street with one of each."""
        drawing = self.folder / "town.osm"
        drawing.write_text(draw(gallery.draw))
        tiles = self.folder / "tiles"
        done = subprocess.run(
            [self.programs / "navbus", "map", "build", drawing, "--out", tiles], capture_output=True, text=True
        )
        if done.returncode:
            raise Failed(f"navbus map build: {done.stderr}")
        return tiles

    # MARK: Stages

    def guided(self, tiles: pathlib.Path) -> None:
        """Navigation with a vehicle, an owner, an online provider and the tile cache."""
        bus, source = self.bus("guided"), TileSource()
        online: dict[str, Any] = {"line": [], "delay": 0.0}
        provider = Web(lambda path, headers: directions(path, online))
        settings = dict(
            tiles=tiles, utc_offset_min=0, policy__ask="all", policy__node="owner", policy__wait_ready_s=0,
            directions__url=provider.url, directions__retries=0, directions__rest_after=100,
            faster__interval_s=10, faster__min_remaining_s=0, faster__min_to_maneuver_s=0, faster__min_gain=0.01,
            faster__approval="manual", alternatives__min_move_m=0, refresh__min_interval_s=0, reroute__cooldown_s=0,
            reroute__min_move_m=0, reroute__min_commit_time_s=30, legs__auto_advance="false",
            dead_reckoning__start_after_s=1, state__path=self.folder / "trip",
        )  # fmt: skip
        program = self.programs / NAVIGATION

        def start() -> None:
            bus.start(program, **settings)

        bus.start(
            self.programs / CACHE,
            store__path=self.folder / "store",
            tilesets=source.tilesets(str(tiles)),
            predictive__enabled="true",
            network__retries=0,
            region__retry_s=86400,
        )
        owner = Owner(bus)
        start()
        vehicle = Vehicle(bus, crossing(0, 1))
        vehicle.silent = True
        drives = Drives(bus, vehicle, owner)
        drives.restart = start
        try:
            self.attempt("before the first fix", drives.before_the_first_fix)
            vehicle.silent = False
            bus.expect("/nav/position", lambda _: True, 0, "a position")
            self.attempt("horizon", drives.horizon)
            self.attempt("choice", lambda: drives.begin(drives.choice))
            self.attempt("long simulation", lambda: drives.begin(drives.long_simulation))
            self.attempt("online", lambda: self.online(drives, online))
            self.attempt("fixes", lambda: drives.begin(drives.fixes))
            self.attempt("fixes of all kinds", lambda: drives.begin(lambda: gallery.fix_kinds(drives)))
            self.attempt("fields of fixes", lambda: drives.begin(lambda: inputs.fixes(drives)))
            self.attempt("fields of odometry", lambda: drives.begin(lambda: inputs.odometry(drives)))
            self.attempt("given routes", lambda: drives.begin(lambda: given.set_route(drives)))
            self.attempt("revised instructions", lambda: drives.begin(lambda: given.revise(drives)))
            self.attempt("street", lambda: drives.begin(lambda: gallery.street(drives)))
            self.attempt("town drive", lambda: drives.begin(drives.town_drive))
            self.attempt("offers", lambda: drives.begin(lambda: traffic_parts.offers(drives)))
            self.attempt("ages of traffic", lambda: drives.begin(lambda: traffic_parts.ages(drives)))
            self.attempt("units", lambda: drives.begin(drives.units))
            self.attempt("close turns", lambda: drives.begin(drives.close_turns))
            self.attempt("named", lambda: drives.begin(drives.named))
            self.attempt("turned", lambda: drives.begin(drives.turned))
            self.attempt("declined", lambda: drives.begin(drives.declined))
            self.attempt("off route", lambda: drives.begin(drives.off_route))
            self.attempt("stops", lambda: drives.begin(drives.stops))
            self.attempt("outage", lambda: drives.begin(drives.outage))
            self.attempt("questions", drives.questions)
            self.attempt("calls of a node", lambda: node_calls(bus, NAVIGATION))
            self.attempt("parameters", lambda: self.parameters(bus))
            self.attempt("barriers", lambda: waits(bus, NAVIGATION, vehicle.publisher))
            self.attempt("tile cache", lambda: tile_calls(bus, source))
            self.attempt("offline", lambda: offline(bus))
            self.attempt("sources away", lambda: away(self.bus("away"), self.programs / CACHE))
            # The cache withdraws its topics when it is shut down.
            self.note_topics(bus)
            self.attempt("a node's life", lambda: lives(bus, CACHE))
        finally:
            vehicle.end()
            owner.end()
            source.end()
            provider.end()

    def online(self, drives: Drives, online: dict[str, Any]) -> None:
        """A route from the online provider, and none if it may not be asked."""
        router = drives.router
        ends = (crossing(0, 1), crossing(3, 1))
        own = router.route(*ends, allow_online=False)
        online["line"] = points(own)
        theirs = router.route(*ends)
        kinds = [self.types.enum("RouteProvider", route.provider) for route in (own, theirs)]
        if kinds != ["ON_BOARD", "ONLINE"]:
            raise Failed(f"routes without and with the online provider are {kinds}")
        self.contract.prove("RouteOptions.allow_online", "changes the answer")
        online["line"] = []
        # A call that is cancelled before its answer.
        online["delay"] = 1.0
        since = time.monotonic()
        try:
            drives.call.parts(
                "Navigation.CalculateRoute", seconds=0.3, waypoints=[router.waypoint(ends[1])], preview=False
            )
        except CallFailed as failure:
            if failure.code != 4:
                raise
        drives.bus.expect("/nav/journal", lambda entry: entry.HasField("call_ended"), since, "a call that has ended")
        online["delay"] = 0.0

    def parameters(self, bus: Bus) -> None:
        """A parameter of each kind."""
        values(
            bus, NAVIGATION, bool_value=("faster.enabled", True), int_value=("dead_reckoning.exit_good_fixes", 2),
            double_value=("fix.max_h_accuracy_m", 120.0), string_value=("log.level", "debug"),
        )  # fmt: skip

    def received(self, tiles: pathlib.Path) -> None:
        """A receiver's file, a recorded bag that is played in lockstep, and road tiles that arrive later."""
        bus = self.bus("received")
        partial = self.folder / "partial"
        shutil.copytree(tiles, partial)
        held = [(path, path.read_bytes()) for path in sorted((partial / "12/2138").rglob("*")) if path.is_file()]
        for path, _ in held:
            path.unlink()
        reports = self.folder / "receiver.json"
        reports.write_text(gpsd_reports())
        bag = self.folder / "drive.mcap"
        bus.spawn("recorder", self.programs / "navbus", "bag", "record", "--out", bag)
        bus.until(lambda: stage.wire.announcement(bus.path, "recorder"), "the recorder is on the bus")
        ring = ("bag", "record", "--name", "ring", "--snapshot", "60", "--out", self.folder / "ring.mcap")
        bus.spawn("ring", self.programs / "navbus", *ring)
        bus.start(
            self.programs / NAVIGATION,
            tiles=partial,
            destination="%f,%f" % crossing(3, 3),
            state__path=self.folder / "configured",
        )
        bus.start(self.programs / "gnss-node", source=reports, file__loop="true")
        since = time.monotonic()
        try:
            state = bus.expect("/nav/state", lambda state: state.missing_tile_count > 0, 0, "tiles that are missing")
            call = bus.client(NAVIGATION)
            ends = [self.types.Waypoint(latitude=at[0], longitude=at[1]) for at in (crossing(3, 1), NOWHERE)]
            lost = call("Navigation.CalculateRoute", origin=ends[0], waypoints=ends[1:], preview=False)
            if self.types.enum("ErrorCode", lost.error.code) != "MISSING_TILES" or not lost.error.missing_tiles:
                raise Failed(f"a route over tiles that are missing: {lost}")
            if not call("Navigation.Coverage", waypoints=ends).missing:
                raise Failed("Coverage does not name the tiles that are missing")
            since = time.monotonic()
            for path, data in held:
                whole = path.with_name(path.name + ".part")
                whole.write_bytes(data)
                whole.rename(path)
            bus.expect("/nav/journal", lambda entry: entry.tiles.added, since, "tiles that have come", 60)
            bus.expect(
                "/nav/state",
                lambda now: now.missing_tile_count < state.missing_tile_count,
                since,
                "tiles that have arrived",
                60,
            )
            node_calls(bus, "gnss-node")
            bus.expect("/nav/route", lambda route: route.reason == 1, 0, "a route to the configured destination")
            bus.until((self.folder / "configured").exists, "the trip is kept")
            bus.kill(NAVIGATION)
            bus.start(
                self.programs / NAVIGATION,
                tiles=partial,
                destination="%f,%f" % crossing(3, 3),
                state__path=self.folder / "configured",
            )
            bus.expect(
                "/nav/journal", lambda entry: entry.command.resume_trip.configured, since, "the configured trip goes on"
            )
            self.attempt("snapshots", lambda: snapshots(bus, "ring", self.folder))
        finally:
            self.note_topics(bus)
            bus.kill("ring", signal.SIGINT)
            bus.kill("recorder", signal.SIGINT)
        played = self.bus("played")
        played.start(self.programs / NAVIGATION, tiles=tiles, sim_time="true")
        played.spawn(
            "player",
            self.programs / "navbus",
            "bag",
            "play",
            "--clock",
            "--rate",
            "4",
            "--paused",
            "--topics",
            "/gnss/fix",
            "--",
            bag,
        )
        played.expect("/clock", lambda clock: clock.paused and clock.rate == 4, 0, "simulated time that stands still")
        self.note_topics(played)
        played.kill("player", signal.SIGINT)
        played.start(self.programs / NAVIGATION, name="lockstep", tiles=tiles, sim_time="true")
        leads(played, "lockstep")

    def note_topics(self, bus: Bus) -> None:
        """Records which types our nodes announce."""
        for node in stage.wire.nodes(bus.path):
            for topic in (stage.wire.announcement(bus.path, node) or {}).get("topics", []):
                kind = topic["type"].removeprefix("navbus.v1.")
                if kind in self.contract.messages and node not in bus.foreign:
                    self.topics[topic["name"]] = kind

    # MARK: The table

    def places(self) -> dict[str, list[str]]:
        """The places of fields that our nodes send: seen set, absent for a reason, shown by other tests, and silent."""
        contract = self.contract
        found: dict[str, list[str]] = {name: [] for name in ("set", "absent", "shown", "silent")}
        used = set()
        roots = contract.roots(self.topics).items()
        for place, key in (pair for one, kind in roots for pair in contract.below(one, kind, lambda _: True)):
            used.add(matches(place, ABSENT))
        for place, key in (pair for one, kind in roots for pair in contract.below(one, kind, contract.places.__contains__)):
            if place in contract.places:
                found["set"].append(place)
            elif matches(place, ABSENT):
                found["absent"].append(place)
            else:
                found["shown" if key in SHOWN_ELSEWHERE else "silent"].append(place)
        if not self.only:
            self.failures += [f"no place is meant by {entry} of ABSENT" for entry in ABSENT if entry not in used]
        return found

    def given(self, left_out: set[str]) -> dict[str, list[str]]:
        """The places in messages that clients send and our nodes send, too: proved, ignored as documented, and silent."""
        found: dict[str, list[str]] = {name: [] for name in ("proved", "ignored", "silent")}
        for place in self.contract.given():
            if not any(place.startswith(f"{key}.") for key in left_out):
                how = "ignored" if matches(place, IGNORED) else "proved" if place in self.contract.proved else "silent"
                found[how].append(place)
        return found

    def report(self) -> int:
        """Prints the table; returns 0 if no field is silent and nothing failed."""
        contract = self.contract
        topics = set(self.topics.values())
        published = contract.published_messages(topics)
        asked = contract.reachable(contract.request_messages())
        unimplemented = contract.only_unimplemented(topics)
        left_out = {
            f"{message}.{field.name}"
            for message, described in contract.messages.items()
            for field in described.field
            if contract.kind(field) in contract.left_out
        }
        kinds: dict[str, list[str]] = {
            name: [] for name in ("set", "proved", "recorded", "shown", "unimplemented", "silent")
        }
        recorded, effect = contract.commented("For recordings"), "changes the answer"
        for message in contract.messages:
            for field in contract.fields(message):
                key = f"{message}.{field}"
                needs = message in contract.INPUTS | contract.request_messages() and key not in NOT_ASKED
                if message in unimplemented or key in left_out:
                    kinds["unimplemented"].append(key)
                elif key in SHOWN_ELSEWHERE:
                    kinds["shown"].append(key)
                elif effect in contract.proved.get(key, ()):
                    kinds["proved"].append(key)
                elif key in recorded:
                    kinds["recorded"].append(key)
                elif contract.seen[key] and not needs:
                    kinds["set"].append(key)
                else:
                    kinds["silent"].append(key)
        refused = [key for key in kinds["proved"] if len(contract.proved[key]) > 1]
        given = self.given(recorded | NOT_ASKED)
        places = self.places()
        if not all(pathlib.Path(ROOT, place).exists() for place in SHOWN_ELSEWHERE.values()):
            self.failures.append("a test in SHOWN_ELSEWHERE does not exist")
        values = contract.published_values(topics)
        seen = contract.seen_values()
        known = seen | set(SHOWN_ELSEWHERE)
        silent = sorted(name for name, is_left in values.items() if not is_left and name not in known)
        stray = set(contract.messages) - published - asked - unimplemented
        methods = [f"{service}.{method.name}" for service in contract.services for method in contract.methods(service)]
        unmet = [method for method in methods if method not in contract.answered | contract.unimplemented]
        print()
        rows = [
            (
                "messages",
                len(contract.messages),
                f"{len(published | asked)} used, {len(unimplemented)} of unimplemented methods alone",
            ),
            (
                "methods",
                len(methods),
                f"{len(contract.answered)} answered, {len(contract.unimplemented)} unimplemented",
            ),
            (
                "fields",
                sum(map(len, kinds.values())),
                f"{len(kinds['set'])} seen set, {len(kinds['proved'])} change the answer, {len(refused)} of them refused by name, too",
            ),
            (
                "",
                "",
                f"{len(kinds['recorded'])} for recordings, {len(kinds['unimplemented'])} of unimplemented methods, "
                f"{len(kinds['shown'])} shown by other tests",
            ),
            (
                "places",
                sum(map(len, places.values())),
                f"of fields; {len(places['set'])} seen set, {len(places['absent'])} absent for a reason",
            ),
            (
                "given",
                sum(map(len, given.values())),
                f"places in what a client sends; {len(given['proved'])} change the answer, {len(given['ignored'])} ignored as documented",
            ),
            (
                "values",
                len(values),
                f"of enums; {sum(name in seen for name in values)} seen, {sum(values.values())} not published, "
                f"{len(set(SHOWN_ELSEWHERE) & set(values))} shown by other tests",
            ),
            ("reserved", contract.reserved, "field numbers"),
            ("silent", len(kinds["silent"]) + len(places["silent"]) + len(given["silent"]), ""),
        ]
        for name, count, text in rows:
            print(f"{name:<10}{count:>6}  {text}")
        for title, lines in (
            ("silent", kinds["silent"]),
            ("silent where they appear", places["silent"]),
            ("silent in what a client sends", given["silent"]),
            ("values of enums that were not seen", silent),
            ("messages that nothing uses", sorted(stray)),
            ("methods that nobody called", unmet),
            ("implausible", [f"{key} = {what}" for key, what in sorted(contract.wrong.items())]),
            ("failed", self.failures),
        ):
            if lines:
                print(f"\n{title}:")
                for line in lines:
                    print(f"  {line}")
        found = kinds["silent"] + places["silent"] + given["silent"]
        return 1 if found or silent or stray or unmet or contract.wrong or self.failures else 0


def directions(path: str, online: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """The answers of an OSRM server: one known route, otherwise that there is none."""
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
    """A line as a polyline of six digits."""
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


def gpsd_reports() -> str:
    """A minute of gpsd's reports about a vehicle in the town."""
    lines = [json.dumps({"class": "VERSION", "release": "3.22", "proto_major": 3, "proto_minor": 14})]
    begin = int(time.time()) - 60
    for second in range(60):
        latitude, longitude = place(10 * second, 250)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(begin + second))
        lines.append(
            json.dumps(
                {
                    "class": "SKY",
                    "device": "/dev/walk",
                    "time": stamp,
                    "hdop": 0.9,
                    "vdop": 1.2,
                    "pdop": 1.5,
                    "uSat": 9,
                    "nSat": 14,
                }
            )
        )
        lines.append(json.dumps({
            "class": "TPV", "device": "/dev/walk", "mode": 3, "status": 2, "time": stamp, "lat": latitude, "lon": longitude,
            "altHAE": 80.0, "altMSL": 33.0, "geoidSep": 47.0, "speed": 10.0, "track": 90.0, "climb": 0.1, "eph": 3.0, "epv": 4.0,
            "eps": 0.2, "epd": 1.0, "epx": 1.5, "epy": 1.6, "dgpsAge": 1.0, "jam": 3,
        }))  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--bin",
        type=pathlib.Path,
        default=os.environ.get("NAVBUS_BIN", ROOT / ".build/release"),
        help="folder of the programs",
    )
    parser.add_argument("--keep", action="store_true", help="keep logs when the walk holds, too")
    parser.add_argument(
        "--only", metavar="PART,PART", help="do these parts alone; the table then tells of silent fields"
    )
    parser.add_argument("--times", type=int, default=1, help="walk so often; a table of the walks at the end")
    parser.add_argument("--busy", type=int, default=0, help="beside so many processes that only compute")
    parser.add_argument("--older", action="store_true", help="leave out settings that the programs do not know yet")
    options = parser.parse_args()
    Bus.drops_unknown = options.older
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        results = [walk_once(options) for _ in range(options.times)]
    finally:
        for loop in loops:
            loop.kill()
    if options.times > 1:
        for number, (status, seconds) in enumerate(results, 1):
            print(f"walk {number:>3}{seconds:>7.0f} s  {'fails' if status else 'holds'}")
        print(f"{sum(not status for status, _ in results)} of {options.times} hold, {options.busy} busy processes beside them")
    return max(status for status, _ in results)


def walk_once(options: argparse.Namespace) -> tuple[int, float]:
    """Walks once; returns the status and the time it took in seconds."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="walk-", dir="/tmp"))
    walk = Walk(options.bin.resolve(), folder)
    begun = time.monotonic()
    try:
        tiles = walk.build_map()
        if options.only:
            walk.only = set(options.only.split(",")) | {"guided"}
        walk.attempt("received", lambda: walk.received(tiles))
        walk.attempt("guided", lambda: walk.guided(tiles))
    finally:
        for bus in walk.buses:
            bus.end()
    status = walk.report()
    seconds = time.monotonic() - begun
    print(f"\n{seconds:.0f} s; {'it holds' if status == 0 else f'logs in {folder}'}", flush=True)
    if status == 0 and not options.keep:
        shutil.rmtree(folder)
    return status, seconds


if __name__ == "__main__":
    sys.exit(main())
