"""Runs that take minutes to hours: random faults, kills on trips with stops, large messages, compressed time."""

import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import faults
from deafness import DeafnessRun
from faults_process import AFTER_KILL_S, boot_of, is_restarted
from run import COMPLETE, GUIDANCE, GiveUp, Options, Run, Scene
from stack import NotStarted, SetUpFailed, resident_bytes
from vehicle import Place, distance


def main(given: argparse.Namespace, options: Options) -> int:
    """Executes the requested long run; returns 0 without failures."""
    try:
        if given.deafness:
            result = deafness(options, given.connections, given.messages)
        elif given.trip_kills:
            result = trip_kills(options, given.trip_kills, given.jobs)
        elif given.soak:
            result = soak(options, given.soak)
        else:
            result = Hour(options, given.minutes * 60, given.faults).run()
    except SetUpFailed as problem:
        print(f"rig: {problem}", file=sys.stderr)
        return 2
    if given.json:
        given.json.write_text(json.dumps(result, indent=1))
    print("passed" if not result["failures"] else f"{len(result['failures'])} failures")
    return 1 if result["failures"] else 0


def table(rows: list[dict[str, Any]]) -> None:
    """Prints rows as a table with the names of the columns."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns] + [[str(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    sys.stdout.flush()


def show(text: str) -> None:
    """Shows the progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


# Large messages.


def deafness(options: Options, connections: int, count: int) -> dict[str, Any]:
    """Checks that every subscriber receives messages within a second after each large message."""
    result = DeafnessRun(options.programs, options.seed, connections, count).run()
    table(result["rows"])
    print(
        f"{result['blobs']} large messages over {result['connections']} connections: "
        f"{result['deaf']} connections went deaf, "
        f"a subscriber received a message more than 1 s late {result['late_count']} times"
    )
    for line in result["late"][:5]:
        print("  " + line)
    result["failures"] = (
        ([f"{result['deaf']} connections went deaf"] if result["deaf"] else []) + result["late"] + result["mute"]
    )
    return result


# Kills on trips.


@dataclass
class Kills:
    """The results of the kills of one stack."""

    done: int = 0
    resumed: int = 0
    worst_s: float = 0.0
    worst_own_s: float = 0.0
    trips: int = 0
    again: int = 0
    restarted_ids: int = 0
    failures: list[str] = field(default_factory=list)


class TripKills:
    """A run that drives trips with three stops and kills navigation-node at random times."""

    def __init__(self, options: Options, count: int) -> None:
        self.count, self.kills = count, Kills()
        self.run = Run(
            "trip-kills", Scene(trip="set", stops=3, length_m=(1_500, 6_000), record=False), options, options.seed
        )
        # The stops of the trip at which any run of the node has reported the arrival.
        self.visited: list[Place] = []
        self.run.observer.listeners.append(self._arrival)

    def _arrival(self, heard: Any) -> None:
        if heard.topic != "/nav/arrival" or heard.message is None or heard.message.phase != 2:
            return
        place = (heard.message.waypoint.latitude, heard.message.waypoint.longitude)
        if any(distance(place, stop) < 5 for stop in self.visited):
            self.kills.again += 1
            self.kills.failures.append(
                f"after {self.kills.done} kills: ARRIVED a second time at {place[0]:.5f}, {place[1]:.5f}"
            )
        self.visited.append(place)

    def drive(self) -> Kills:
        """Executes all kills."""
        run = self.run
        try:
            run.begin()
            while self.kills.done < self.count:
                show(f"{self.kills.done} of {self.count} kills, {self.kills.resumed} resumed, {self.kills.trips} trips")
                state = run.observer.last("/nav/state")
                if state.guidance == COMPLETE or state.phase != GUIDANCE:
                    self._next_trip()
                self._kill()
        except GiveUp:
            pass
        except NotStarted as problem:
            self.kills.failures.append(str(problem))
        finally:
            run.end()
        self.kills.failures += [f"{failure.expected}: {failure.seen}" for failure in run.failures]
        if not self.kills.failures:
            run.clean()
        else:
            print(f"logs: {run.folder}")
        return self.kills

    def _next_trip(self) -> None:
        run = self.run
        here = run.vehicle.place
        for _ in range(60):
            points = run.places.trip(run.rng, 3, *run.scene.length_m)[1:]
            if distance(points[0], here) > 150 and run.places.route([here, *points]):
                break
        self.visited.clear()
        self.kills.trips += 1
        run.points = [here, *points]
        run.set_route(points)
        run.require(run.wait(run.guided_since(run.now()), 20), "guidance follows a new trip")

    def _kill(self) -> None:
        run, kills = self.run, self.kills
        run.sleep(run.rng.uniform(0.1, 4.5))
        before = run.observer.last("/nav/state")
        if before.guidance == COMPLETE:
            return
        ids = (before.route_id, before.session_id)
        moment, boot = run.now(), boot_of(run, "navigation-node")
        visited = list(self.visited)
        run.stack.signal("navigation-node", signal.SIGKILL)
        kills.done += 1
        number = f"kill {kills.done}"
        back = run.wait(is_restarted(run, "navigation-node", boot), 30, moment)
        guided = run.wait(lambda: self._is_resumed(moment), 15, moment) if back.done else back
        kills.worst_s, kills.worst_own_s = max(kills.worst_s, guided.wall), max(kills.worst_own_s, guided.own)
        state, route = run.observer.last("/nav/state"), run.observer.last("/nav/route")
        if not guided.done:
            kills.failures.append(f"{number}: guidance has not resumed after {guided}: {run.state_text()}")
            self._next_trip()
            return
        goal = (state.destination.latitude, state.destination.longitude)
        problems = []
        # The kills are so frequent that the launcher delays restarts by up to `max_delay_s`, so the time from the restart on counts.
        if guided.own - back.own > AFTER_KILL_S:
            problems.append(f"guidance resumed only after {guided}, {guided.own - back.own:.2f} s after the restart")
        if distance(goal, run.points[-1]) > 30:
            problems.append("the destination is another")
        # The route's first waypoint is its start, not a stop.
        ahead = (
            [(point.latitude, point.longitude) for point in route.waypoints[1:]]
            if route and state.guidance != COMPLETE
            else []
        )
        left = state.leg_index or 0
        for stop in ahead[left:]:
            if any(distance(stop, place) < 5 for place in visited):
                problems.append(f"it drives again to {stop[0]:.5f}, {stop[1]:.5f}, where it has already arrived")
                kills.again += 1
        missing = [
            place
            for place in run.points[1:]
            if not any(distance(place, stop) < 30 for stop in ahead[left:] + self.visited)
        ]
        if ahead and missing:
            problems.append(f"{len(missing)} stops are missing")
        if state.route_id < ids[0]:
            problems.append(f"route_id {state.route_id} after {ids[0]}")
            kills.restarted_ids += 1
        if state.session_id != ids[1]:
            problems.append(f"session {state.session_id} after {ids[1]}")
        if problems:
            kills.failures.append(f"{number}: " + "; ".join(problems))
            if "the destination is another" in problems or missing:
                self._next_trip()
        else:
            kills.resumed += 1

    def _is_resumed(self, moment: Any) -> bool:
        """Whether the new run of the node guides or has reached the destination."""
        state = self.run.observer.latest.get("/nav/state")
        return bool(
            state
            and state.at > moment.at
            and state.boot != 0
            and state.message.phase == GUIDANCE
            and (state.message.guidance == COMPLETE or self.run.guided_since(moment)())
        )


def trip_kills(options: Options, count: int, jobs: int) -> dict[str, Any]:
    """Kills navigation-node a number of times, in `jobs` stacks at a time."""
    begin = time.monotonic()
    if jobs > 1:
        shares = [count // jobs + (index < count % jobs) for index in range(jobs)]
        parts, processes = [], []
        for index, share in enumerate(shares):
            path = f"/tmp/rig-kills-{os.getpid()}-{index}.json"
            parts.append(path)
            passed = [word for name, value in options.arguments.items() for word in ("--set", f"{name}:={value}")]
            processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        __file__.replace("long_runs.py", "rig.py"),
                        "--bin",
                        options.programs.folder,
                        "--launch",
                        options.programs.launch_file,
                        "--tiles",
                        options.tiles,
                        "--seed",
                        str(options.seed * 1000 + index),
                        *passed,
                        "--trip-kills",
                        str(share),
                        "--json",
                        path,
                    ]
                )
            )
        for process in processes:
            process.wait()
        results = []
        for path in parts:
            with open(path) as file:
                results.append(json.load(file))
            os.unlink(path)
        result = {
            key: (max if key.startswith("worst") else sum)(part[key] for part in results)
            for key in results[0]
            if key not in ("failures", "minutes")
        }
        result["failures"] = [failure for part in results for failure in part["failures"]]
    else:
        result = vars(TripKills(options, count).drive())
    result["minutes"] = round((time.monotonic() - begin) / 60, 1)
    table(
        [
            {
                "kills": result["done"],
                "resumed": result["resumed"],
                "trips": result["trips"],
                "stops driven to again": result["again"],
                "route_id restarted": result["restarted_ids"],
                "worst s": round(result["worst_s"], 2),
                "worst own s": round(result["worst_own_s"], 2),
                "minutes": result["minutes"],
            }
        ]
    )
    for failure in result["failures"][:12]:
        print("  " + failure)
    return result


# Random faults.


class Hour:
    """A run of random faults in stacks that run for minutes, and in separate stacks between them."""

    SEGMENT_S = 480.0
    SCENE = Scene(trip="set", stops=1, odometry_hz=20, shim=True)
    # More than the vehicle drives during the longest fault of a running stack, half a minute, and its recovery.
    LEAST_LEFT_M = 900

    def __init__(self, options: Options, seconds: float, names: str | None) -> None:
        self.options, self.seconds = options, seconds
        chosen = faults.choose(names, quick=False)
        self.live = [fault for fault in chosen if fault.live]
        self.alone = [fault for fault in chosen if not fault.live]
        self.rng = random.Random(f"hour {options.seed}")
        self.kinds: dict[str, dict[str, Any]] = {}
        self.totals: collections.Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self.end = 0.0

    def run(self) -> dict[str, Any]:
        """Runs until the time has elapsed."""
        begin = time.monotonic()
        self.end = begin + self.seconds
        number = 0
        queue: list[faults.Fault] = []
        while time.monotonic() < self.end:
            number += 1
            if self.live:
                self._segment(number)
            for _ in range(3 if self.live else 1):
                if time.monotonic() >= self.end or not self.alone:
                    break
                if not queue:
                    queue = self.rng.sample(self.alone, len(self.alone))
                self._alone(queue.pop(), number)
        return self._summary((time.monotonic() - begin) / 60)

    def _segment(self, number: int) -> None:
        seed = self.options.seed * 1000 + number
        run = Run(f"hour-{number}", self.SCENE, self.options, seed)
        ends = threading.Event()

        def look() -> None:
            while not ends.wait(3):
                run.footprint.look(run.stack)

        try:
            run.begin()
            threading.Thread(target=look, daemon=True).start()
            until = min(self.end, time.monotonic() + self.SEGMENT_S)
            while time.monotonic() < until:
                fault = self.rng.choice(self.live)
                show(
                    f"{max(0, self.end - time.monotonic()) / 60:5.1f} min left  "
                    f"{sum(kind['done'] for kind in self.kinds.values())} faults, "
                    f"{len(self.failures)} failures  {fault.name}"
                )
                self._live(run, fault, seed)
                run.sleep(run.rng.uniform(1, 5))
                run.drive_trip_to_its_end()
        except GiveUp:
            self.failures += [
                f"segment {number} (seed {seed}): {failure.expected}: {failure.seen}" for failure in run.failures
            ]
            run.failures.clear()
        finally:
            ends.set()
            run.end()
        self._after(run, f"segment {number} (seed {seed})")

    def _live(self, run: Run, fault: faults.Fault, seed: int) -> None:
        # At the destination there is no guidance, so a fault must end before the trip does.
        if run.vehicle.remaining < self.LEAST_LEFT_M or not run.wait(run.is_guided, 30).done:
            run.next_trip()
            run.require(run.wait(run.is_guided, 30), f"guidance before {fault.name}")
        before, run.facts = len(run.failures), {}
        try:
            fault.action(run)
        except GiveUp:
            pass
        except Exception:  # A node that is not running when needed, or a defect of the rig: both are reported.
            run.fail("the rig can judge this fault", traceback.format_exc(limit=-3))
        new = run.failures[before:]
        del run.failures[before:]
        self._note(fault, run.facts, [f"{failure.expected}: {failure.seen}" for failure in new], seed, run)

    def _alone(self, fault: faults.Fault, number: int) -> None:
        seed, run = self.options.seed * 1000 + number, None
        show(f"{max(0, self.end - time.monotonic()) / 60:5.1f} min left  {fault.name}")
        try:
            try:
                run = Run(fault.name, fault.scene, self.options, seed)
                run.begin()
                fault.action(run)
            except GiveUp:
                pass
            except SetUpFailed:
                raise
            except Exception:
                if run is None:
                    raise
                run.fail("the rig can judge this fault", traceback.format_exc(limit=-3))
            finally:
                if run:
                    run.end()
        except SetUpFailed:
            return
        self._note(fault, run.facts, [f"{failure.expected}: {failure.seen}" for failure in run.failures], seed, run)
        run.failures.clear()
        self._after(run, fault.name)

    def _note(self, fault: faults.Fault, facts: dict[str, Any], problems: list[str], seed: int, run: Run) -> None:
        kind = self.kinds.setdefault(fault.name, {"done": 0, "held": 0, "worst_s": 0.0, "worst_own_s": 0.0})
        kind["done"] += 1
        kind["held"] += not problems
        kind["worst_s"] = max(kind["worst_s"], facts.get("guidance_s", 0.0))
        kind["worst_own_s"] = max(kind["worst_own_s"], facts.get("guidance_s_own", 0.0))
        for problem in problems:
            self.failures.append(f"{fault.name} (seed {seed}): {problem}")
            print(
                f"\r{time.strftime('%H:%M:%S')} {self.failures[-1]}\n         logs and bags: {run.folder}", flush=True
            )

    def _after(self, run: Run, what: str) -> None:
        for failure in run.failures:
            self.failures.append(f"{what}: {failure.expected}: {failure.seen}")
            print(
                f"\r{time.strftime('%H:%M:%S')} {self.failures[-1]}\n         logs and bags: {run.folder}", flush=True
            )
        self.totals["false arrivals"] += len(run.watch.false_arrivals)
        self.totals["wrong positions"] += len(run.watch.wrong_positions)
        for key in (
            "lost_latched",
            "published",
            "recorded",
            "before_joining",
            "cut_off",
            "told_lost",
            "unaccounted",
            "bags",
            "bags_unreadable",
        ):
            self.totals[key] += run.facts.get(key, 0)
        if not any(what in failure for failure in self.failures):
            run.clean()

    def _summary(self, minutes: float) -> dict[str, Any]:
        rows = [
            {
                "fault": name,
                "done": kind["done"],
                "held": kind["held"],
                "worst guidance s": kind["worst_s"] or "",
                "of its own": kind["worst_own_s"] or "",
            }
            for name, kind in sorted(self.kinds.items())
        ]
        print("\r", end="")
        table(rows)
        done = sum(kind["done"] for kind in self.kinds.values())
        print(f"{minutes:.0f} minutes, {done} faults, {sum(kind['held'] for kind in self.kinds.values())} held")
        print(", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.totals.items()))
        return {
            "minutes": round(minutes, 1),
            "kinds": self.kinds,
            "totals": dict(self.totals),
            "failures": self.failures,
        }


# Compressed time.


def soak(options: Options, hours: float, rate: float = 120.0) -> dict[str, Any]:
    """Plays a drive in a loop, faster than real time, to a node and a recorder; their memory must not grow."""
    run = Run("soak", Scene(trip="none", starts=False, record=False), options, options.seed)
    environment = run.stack.full_environment
    folder, failures = options.programs.folder, []
    points = run.places.trip(run.rng, 1, 1_000, 6_000)
    texts = ["%.7f,%.7f" % point for point in points]
    drive = run.folder / "drive.mcap"
    made = options.programs.run(
        "simulate",
        "--tiles",
        options.tiles,
        "--from",
        texts[0],
        "--via",
        texts[1],
        "--to",
        texts[2],
        "--deviate-at",
        "300",
        "--noise",
        "urban",
        "--odometry",
        "10",
        "--rate",
        "2",
        "--out",
        drive,
        "--json",
    )
    if made.returncode != 0:
        raise SetUpFailed(f"navbus simulate: {made.stderr.strip()}")
    length = float(json.loads(made.stdout).get("duration", json.loads(made.stdout).get("duration_s", 300)))
    log = open(run.folder / "soak.log", "ab")

    def begin(*words: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    node = begin(
        folder / "navigation-node",
        "--set",
        "sim_time=true",
        "--set",
        f"tiles={options.tiles}",
        "--set",
        f"destination={texts[2]}",
        "--set",
        f"via={texts[1]}",
    )
    recorder = begin(
        folder / "navbus",
        "bag",
        "record",
        "/nav/state",
        "/nav/arrival",
        "/health/*",
        "--sim-time",
        "--out",
        run.folder / "soak.mcap",
    )
    run.wait(lambda: run.stack.is_up("navigation-node") and run.stack.is_up("recorder"), 30)
    run.observer.start()
    epochs: dict[int, list[int]] = {}
    simulated, last = 0.0, None

    def clock(heard: Any) -> None:
        nonlocal simulated, last
        if heard.topic != "/clock" or heard.message is None:
            return
        if last and last[0] == heard.message.epoch and heard.message.stamp_ns > last[1]:
            simulated += (heard.message.stamp_ns - last[1]) / 1e9
        last = (heard.message.epoch, heard.message.stamp_ns)
        epochs.setdefault(heard.message.epoch, [])

    def arrival(heard: Any) -> None:
        if heard.topic == "/nav/arrival" and heard.message and heard.message.phase == 2 and last:
            epochs.setdefault(last[0], []).append(heard.message.waypoint_index)

    run.observer.listeners += [clock, arrival]
    player = begin(folder / "navbus", "bag", "play", drive, "--loop", "--clock", "--rate", rate)
    looks: list[tuple[float, dict[str, int]]] = []
    start = time.monotonic()
    try:
        while simulated < hours * 3600:
            time.sleep(2)
            for name, process in (("navigation-node", node), ("recorder", recorder), ("player", player)):
                if process.poll() is not None:
                    failures.append(
                        f"{name} ended with {process.returncode} after {simulated / 3600:.1f} h; "
                        f"see {run.folder}/soak.log"
                    )
            if failures:
                break
            looks.append(
                (
                    simulated / 3600,
                    {
                        name: resident_bytes(process.pid)
                        for name, process in (("navigation-node", node), ("recorder", recorder), ("player", player))
                    },
                )
            )
            show(f"{simulated / 3600:.1f} of {hours:g} h, {looks[-1][1]['navigation-node'] >> 20} MiB")
            # Messages are checked when they arrive, so they need not be kept for a day.
            run.observer.tracks.clear()
            run.observer.heard.clear()
    finally:
        for process in (player, recorder, node):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        run.observer.end()
    rows = []
    for name in ("navigation-node", "recorder", "player"):
        warm = [look[1][name] for look in looks if look[0] >= hours * 0.1] or [0]
        tenth = max(1, len(warm) // 10)
        first, final = min(warm[:tenth]), min(warm[-tenth:])
        rows.append(
            {
                "process": name,
                "MiB after a tenth": round(first / 2**20, 1),
                "MiB at the end": round(final / 2**20, 1),
                "MiB at most": round(max(warm) / 2**20, 1),
            }
        )
        if final - first > 16 << 20:
            failures.append(f"the memory of {name} grew from {first >> 20} to {final >> 20} MiB")
    table(rows)
    full = [waypoints for epoch, waypoints in epochs.items() if last and epoch != last[0]]
    print(
        f"{simulated / 3600:.1f} simulated hours in {(time.monotonic() - start) / 60:.1f} minutes: "
        f"{len(full)} drives of {length:.0f} s, "
        f"{sum(2 in waypoints for waypoints in full)} of them with an announced arrival"
    )
    for failure in failures:
        print("  " + failure)
    return {
        "hours": simulated / 3600,
        "rows": rows,
        "drives": len(full),
        "arrived": sum(2 in waypoints for waypoints in full),
        "failures": failures,
    }
