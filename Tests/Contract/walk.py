#!/usr/bin/env python3
"""Checks every message, field and method of Proto/navbus/v1 with real processes; see README.md beside this file."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from typing import Any, Callable

sys.dont_write_bytecode = True
import gallery  # noqa: E402
import stage  # noqa: E402
from bus import ROOT, Messages  # noqa: E402
from contract import Contract, matches  # noqa: E402
from drives import NAVIGATION  # noqa: E402
from elsewhere import ABSENT, IGNORED, SHOWN_ELSEWHERE  # noqa: E402
from lanes import BEFORE_THE_FIRST_FIX, LANES, Stand  # noqa: E402
from node_calls import leads, node_calls, snapshots  # noqa: E402
from stage import Bus, Failed  # noqa: E402
from town import NOWHERE, crossing, draw, place  # noqa: E402

# The lane with positions from a receiver's file.
RECEIVED = "received"
PARTS = {RECEIVED: ["snapshots"], **{lane: list(parts) for lane, parts in LANES.items()}}

# Fields of requests that callers do not set: the router sets them, or they describe a parameter.
NOT_ASKED = {
    "Waypoint.snapped", "Waypoint.snap_distance_m", "Waypoint.side", "Parameter.is_live", "Parameter.unit",
    "Parameter.range", "Parameter.description", "BarrierPoint.subscriber_count",
}  # fmt: skip


class Walk:
    """The lanes of the walk, the failures in them, and the tables at the end."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self.programs, self.folder = programs, folder
        self.types = Messages()
        self.contract = Contract(self.types)
        self.failures: list[str] = []
        # The failures and durations of the parts and lanes that were run.
        self.failed: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}
        self.only: set[str] = set()
        self.buses: list[Bus] = []
        self.topics: dict[str, str] = {}

    def attempt(self, what: str, action: Callable[[], Any]) -> None:
        """Runs a part of the walk and records its failure, so that the other parts continue."""
        if self.only and what not in self.only:
            return
        begun = time.monotonic()
        try:
            action()
        except Exception as error:
            kind = "" if isinstance(error, Failed) else f"{type(error).__name__}: "
            self.failed[what] = [f"{what}: {kind}{error}"]
            if not isinstance(error, Failed):
                self.failed[what].append(traceback.format_exc(limit=-2))
        self.seconds[what] = time.monotonic() - begun
        # One write per line, because parts of two lanes may end at the same time.
        print(f"{what:<28}{self.seconds[what]:6.1f} s{'  failed' if what in self.failed else ''}\n", end="", flush=True)

    def bus(self, name: str) -> Bus:
        """Creates a separate bus."""
        bus = Bus(self.folder / name, self.types, self.contract)
        self.buses.append(bus)
        return bus

    def build_map(self) -> pathlib.Path:
        """Builds the road tiles of the drawn town and of the gallery's street."""
        drawing = self.folder / "town.osm"
        drawing.write_text(draw(gallery.draw))
        tiles = self.folder / "tiles"
        done = subprocess.run(
            [self.programs / "navbus", "map", "build", drawing, "--out", tiles], capture_output=True, text=True
        )
        if done.returncode:
            raise Failed(f"navbus map build: {done.stderr}")
        return tiles

    # MARK: Lanes

    def run(self) -> None:
        """Runs the lanes in parallel."""
        tiles = self.build_map()
        lanes = {name: lambda name=name: self.drive(name, tiles) for name in LANES}
        threads = [
            threading.Thread(target=self.attempt, args=(name, action), name=name, daemon=True)
            for name, action in {RECEIVED: lambda: self.received(tiles), **lanes}.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def drive(self, lane: str, tiles: pathlib.Path) -> None:
        """Runs the parts of a lane in sequence."""
        on = Stand(lane, self.bus, self.programs, tiles)

        def begin(name: str) -> None:
            if name != BEFORE_THE_FIRST_FIX:
                on.appear()
            LANES[lane][name](on)

        try:
            on.start()
            for name in LANES[lane]:
                # Before each part, because the last part may shut a node down, which withdraws its topics.
                self.note_topics(on.bus)
                self.attempt(name, lambda: begin(name))  # noqa: B023
        finally:
            on.end()

    def received(self, tiles: pathlib.Path) -> None:
        """Runs the lane with a receiver's file, road tiles that arrive late, and playback of a recorded bag, also in lockstep."""
        bus = self.bus(RECEIVED)
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
            state = bus.expect("/nav/state", lambda state: state.missing_tile_count > 0, 0, "missing tiles")
            call = bus.client(NAVIGATION)
            ends = [self.types.Waypoint(latitude=at[0], longitude=at[1]) for at in (crossing(3, 1), NOWHERE)]
            lost = call("Navigation.CalculateRoute", origin=ends[0], waypoints=ends[1:], preview=False)
            if self.types.enum("ErrorCode", lost.error.code) != "MISSING_TILES" or not lost.error.missing_tiles:
                raise Failed(f"a route over missing tiles: {lost}")
            if not call("Navigation.Coverage", waypoints=ends).missing:
                raise Failed("Coverage does not list the missing tiles")
            since = time.monotonic()
            for path, data in held:
                whole = path.with_name(path.name + ".part")
                whole.write_bytes(data)
                whole.rename(path)
            bus.expect("/nav/journal", lambda entry: entry.tiles.added, since, "the arrival of the missing tiles", 60)
            bus.expect(
                "/nav/state",
                lambda now: now.missing_tile_count < state.missing_tile_count,
                since,
                "fewer missing tiles",
                60,
            )
            node_calls(bus, "gnss-node")
            bus.expect("/nav/route", lambda route: route.reason == 1, 0, "a route to the configured destination")
            bus.until((self.folder / "configured").exists, "the trip is saved")
            bus.kill(NAVIGATION)
            bus.start(
                self.programs / NAVIGATION,
                tiles=partial,
                destination="%f,%f" % crossing(3, 3),
                state__path=self.folder / "configured",
            )
            bus.expect(
                "/nav/journal", lambda entry: entry.command.resume_trip.configured, since, "the configured trip is resumed"
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
        played.expect("/clock", lambda clock: clock.paused and clock.rate == 4, 0, "paused simulated time")
        self.note_topics(played)
        played.kill("player", signal.SIGINT)
        played.start(self.programs / NAVIGATION, name="lockstep", tiles=tiles, sim_time="true")
        leads(played, "lockstep")

    def note_topics(self, bus: Bus) -> None:
        """Records the topics that our nodes announce, with their types."""
        for node in stage.wire.nodes(bus.path):
            for topic in (stage.wire.announcement(bus.path, node) or {}).get("topics", []):
                kind = topic["type"].removeprefix("navbus.v1.")
                if kind in self.contract.messages and node not in bus.foreign:
                    self.topics[topic["name"]] = kind

    # MARK: The table

    def places(self) -> dict[str, list[str]]:
        """Returns the places of fields that our nodes send: set, absent for a reason, covered by other tests, and silent."""
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
            self.failures += [f"no place matches the entry {entry} of ABSENT" for entry in ABSENT if entry not in used]
        return found

    def given(self, left_out: set[str]) -> dict[str, list[str]]:
        """Returns the places in messages that both clients and our nodes send: proved, ignored as documented, and silent."""
        found: dict[str, list[str]] = {name: [] for name in ("proved", "ignored", "silent")}
        for place in self.contract.given():
            if not any(place.startswith(f"{key}.") for key in left_out):
                how = "ignored" if matches(place, IGNORED) else "proved" if place in self.contract.proved else "silent"
                found[how].append(place)
        return found

    def report(self) -> int:
        """Prints the tables; returns 0 if no field is silent and nothing failed."""
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
        for lane, parts in PARTS.items():
            for what in (lane, *parts):
                if what in self.seconds:
                    print(f"{what if what == lane else f'  {what}':<28}{self.seconds[what]:6.1f} s")
        print()
        failures = [line for lane, parts in PARTS.items() for what in (lane, *parts) for line in self.failed.get(what, [])]
        failures += self.failures
        rows = [
            (
                "messages",
                len(contract.messages),
                f"{len(published | asked)} used, {len(unimplemented)} of unimplemented methods only",
            ),
            (
                "methods",
                len(methods),
                f"{len(contract.answered)} answered, {len(contract.unimplemented)} unimplemented",
            ),
            (
                "fields",
                sum(map(len, kinds.values())),
                f"{len(kinds['set'])} seen set, {len(kinds['proved'])} change the answer, {len(refused)} of them also rejected by name",
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
                f"places in messages of clients; {len(given['proved'])} change the answer, {len(given['ignored'])} ignored as documented",
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
            ("silent places", places["silent"]),
            ("silent in messages of clients", given["silent"]),
            ("missing values of enums", silent),
            ("unused messages", sorted(stray)),
            ("methods that were not called", unmet),
            ("implausible", [f"{key} = {what}" for key, what in sorted(contract.wrong.items())]),
            ("failed", failures),
        ):
            if lines:
                print(f"\n{title}:")
                for line in lines:
                    print(f"  {line}")
        found = kinds["silent"] + places["silent"] + given["silent"]
        return 1 if found or silent or stray or unmet or contract.wrong or failures else 0


def gpsd_reports() -> str:
    """Returns a minute of gpsd's reports of a vehicle in the town."""
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
    parser.add_argument("--keep", action="store_true", help="keep logs also when the walk passes")
    parser.add_argument(
        "--only", metavar="PART,PART", help="run only these parts or lanes; the table then lists more silent fields"
    )
    parser.add_argument("--times", type=int, default=1, help="number of walks; a table of them at the end")
    parser.add_argument("--busy", type=int, default=0, help="number of busy processes to run in parallel")
    parser.add_argument("--older", action="store_true", help="omit settings that the programs do not support")
    options = parser.parse_args()
    Bus.drops_unknown = options.older
    # Both signals end the processes; explicitly, because a shell ignores SIGINT for background commands.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        results = [walk_once(options) for _ in range(options.times)]
    finally:
        for loop in loops:
            loop.kill()
    if options.times > 1:
        for number, (status, seconds) in enumerate(results, 1):
            print(f"walk {number:>3}{seconds:>7.0f} s  {'failed' if status else 'passed'}")
        print(f"{sum(not status for status, _ in results)} of {options.times} passed, with {options.busy} busy processes")
    return max(status for status, _ in results)


def walk_once(options: argparse.Namespace) -> tuple[int, float]:
    """Walks once; returns the status and the time it took in seconds."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="walk-", dir="/tmp"))
    walk = Walk(options.bin.resolve(), folder)
    begun = time.monotonic()
    if options.only:
        chosen = set(options.only.split(","))
        walk.only = chosen | {lane for lane, parts in PARTS.items() if chosen & set(parts)}
        walk.only |= {part for lane in chosen & set(PARTS) for part in PARTS[lane]}
    try:
        walk.run()
    except BaseException:
        # Never released, because processes that lanes start from now on would outlive the walk.
        Bus.spawning.acquire()
        raise
    finally:
        for bus in walk.buses:
            bus.end()
    status = walk.report()
    seconds = time.monotonic() - begun
    print(f"\n{seconds:.0f} s; {'passed' if status == 0 else f'logs in {folder}'}", flush=True)
    if status == 0 and not options.keep:
        shutil.rmtree(folder)
    return status, seconds


if __name__ == "__main__":
    sys.exit(main())
