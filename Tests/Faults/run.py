"""A run of the stack with a vehicle on a trip, in which faults are injected and evaluated."""

import functools
import json
import os
import pathlib
import random
import shutil
import time
from dataclasses import dataclass, field
from typing import Any, Callable

import bus
from bus import CallFailed, Client, Messages, Observer, Publisher
from checks import Footprint, Pace, Waited, Watch, account, lost_latched, read_bag
from stack import NotStarted, Programs, SetUpFailed, Shim, Stack, folder_for
from vehicle import Place, Vehicle, distance

GUIDANCE, TRACKING, COMPLETE = 4, 2, 5
MEASURED, PREDICTED = 1, 2


@dataclass(frozen=True)
class Scene:
    """The environment that a fault needs."""

    trip: str = "destination"  # destination: configured; set: by SetRoute; none: free drive
    stops: int = 0  # stops on the way
    length_m: tuple[float, float] = (1_200, 5_000)
    odometry_hz: float = 0
    cache: bool = False
    record: bool = True
    shim: bool = False  # the host's clock can be stepped, and processes can be made to crash
    fix_hz: float = 5.0
    arguments: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    starts: bool = True  # False: the fault starts the stack itself
    guided: bool = True  # whether the fault waits for guidance


@dataclass
class Options:
    """The options of the rig."""

    programs: Programs
    tiles: pathlib.Path
    map: pathlib.Path
    seed: int = 1
    work: pathlib.Path | None = None
    keep: bool = False
    arguments: dict[str, str] = field(default_factory=dict)
    command: str = "Tests/Faults/rig.py"
    patience: float = 1.0  # the factor of the permitted recovery times


@dataclass
class Failure:
    """A violated expectation."""

    expected: str
    seen: str


@dataclass(frozen=True)
class Moment:
    """A moment by the monotonic clock, by the wall clock, and in the stack's own time."""

    at: float
    utc_ns: int
    own: float


class GiveUp(Exception):
    """A recorded failure that makes the following steps pointless."""


@functools.cache
def messages() -> Messages:
    """Returns the message types, which are created once."""
    return Messages()


class Places:
    """A source of trips and routes on the roads of a map."""

    def __init__(self, programs: Programs, tiles: pathlib.Path) -> None:
        self.programs, self.tiles = programs, tiles
        bounds = json.loads((tiles / "tileset.json").read_text())["bounds"]
        self.bounds = bounds
        self.lengths: dict[tuple[Place, Place], float] = {}

    def trip(self, rng: random.Random, stops: int, least: float, most: float) -> list[Place]:
        """Returns a start, stops and a destination whose route is `least` to `most` metres long."""
        south, west, north, east = (self.bounds[key] for key in ("south", "west", "north", "east"))
        legs = stops + 1
        for _ in range(60):
            points = [
                (south + (north - south) * rng.uniform(0.12, 0.88), west + (east - west) * rng.uniform(0.12, 0.88))
                for _ in range(legs + 1)
            ]
            if any(
                distance(*pair) < least / legs / 2.5 or distance(*pair) > most / legs
                for pair in zip(points, points[1:])
            ):
                continue
            found = self.route(points)
            if (
                found
                and least <= found["distance_m"] <= most
                and all(leg["distance_m"] >= min(350, least / legs / 2) for leg in found["legs"])
            ):
                snapped = [tuple(reversed(waypoint["location"])) for waypoint in found["waypoints"]]
                if all(distance(*pair) < 60 for pair in zip(points, snapped)):
                    return [(float(lat), float(lon)) for lat, lon in snapped]
        raise SetUpFailed(f"no trip of {least:.0f} to {most:.0f} m with {stops} stops was found on this map")

    def route(self, points: list[Place]) -> dict[str, Any] | None:
        """Returns the route that `navbus route` finds; None if there is none."""
        texts = [f"{lat:.7f},{lon:.7f}" for lat, lon in points]
        vias = [word for via in texts[1:-1] for word in ("--via", via)]
        done = self.programs.run("route", "--tiles", self.tiles, "--from", texts[0], "--to", texts[-1], *vias)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def line(self, points: list[Place]) -> list[Place]:
        """Returns the line of a route."""
        found = self.route(points)
        if found is None:
            raise SetUpFailed("there is no route between the places of the trip")
        return [(lat, lon) for lon, lat in found["geometry"]]


def line_of(polyline: Any) -> list[Place]:
    """Returns the points of a delta-coded line, degrees."""
    points, latitude, longitude = [], 0, 0
    for north, east in zip(polyline.lat_deltas_e7, polyline.lon_deltas_e7):
        latitude, longitude = latitude + north, longitude + east
        points.append((latitude * 1e-7, longitude * 1e-7))
    return points


class Run:
    """A stack, a vehicle on a trip, an observer, and the failures found."""

    def __init__(self, name: str, scene: Scene, options: Options, seed: int) -> None:
        self.name, self.scene, self.options, self.seed = name, scene, options, seed
        self.rng = random.Random(f"{name} {seed}")
        self.failures: list[Failure] = []
        self.facts: dict[str, Any] = {}
        self.types = messages()
        self.folder = folder_for(name, os.environ.get("RIG_FOLDER"))
        self.places = Places(options.programs, options.tiles)
        self.tiles = options.tiles
        self.shim = Shim(self.folder) if scene.shim else None
        self.vehicle = Vehicle(self.rng.randrange(1 << 30))
        self.vehicle.receiver.rate = scene.fix_hz
        arguments = {**dict(scene.arguments), **options.arguments}
        self.points: list[Place] = []
        if scene.trip != "none" or scene.starts:
            self.points = self.places.trip(self.rng, scene.stops, *scene.length_m)
        if scene.trip == "destination" and self.points:
            arguments.setdefault("destination", "%.7f,%.7f" % self.points[-1])
        if scene.cache:
            arguments.setdefault("cache", "true")
        self.stack = Stack(
            options.programs,
            self.folder,
            self.tiles,
            f"gpsd://127.0.0.1:{self.vehicle.port}",
            arguments,
            dict(scene.environment),
            self.shim,
            scene.record,
        )
        self.observer = Observer(self.stack.bus, self.types)
        self.watch = Watch(self.vehicle, self.observer)
        self.client = Client(self.stack.bus, self.types)
        self.footprint = Footprint()
        self.pace: Pace | None = None
        self.recorder_was_killed = False
        self.bag_is_judged = scene.record
        self.accounts = scene.record
        self.obeys = True
        self._followed: int | None = None
        self.observer.listeners.append(self._follow)

    # Before and after.

    def begin(self) -> None:
        """Starts the vehicle and the stack, and waits for guidance if the scene requires it."""
        self.observer.start()
        self.vehicle.start()
        if self.points:
            self.vehicle.drive(self.places.line(self.points), self.points[1:-1])
        if self.scene.odometry_hz:
            self.vehicle.publish_odometry(
                self.publisher("wheels", {"/vehicle/odometry": ("navbus.v1.VehicleOdometry", 4096)}), self.types
            )
        if not self.scene.starts:
            return
        self.start_stack()
        if self.scene.trip == "set":
            self.set_route(self.points[1:])
        if self.scene.guided and self.scene.trip != "none":
            self.require(self.wait(self.is_guided, 30), "guidance begins after the start")

    def start_stack(self, wait: bool = True) -> None:
        """Starts the stack."""
        try:
            if wait:
                self.stack.start()
            else:
                self.stack.spawn()
        except NotStarted as problem:
            self.fail("the stack starts", str(problem))
            raise GiveUp from None
        assert self.stack.launcher
        self.pace = Pace(self.stack.launcher.pid)
        self.pace.start()

    def end(self) -> None:
        """Stops the stack and the vehicle, and checks the invariants."""
        try:
            if self.stack.launcher:
                self._last_checks()
        finally:
            for problem in self.stack.stop():
                self.fail("the launch ends in time and no process outlives it", problem)
            if self.pace:
                self.pace.end()
            self.vehicle.end()
            time.sleep(0.2)
            self.observer.end()
        if self.stack.launcher:
            self._judge_remains()

    def _last_checks(self) -> None:
        if self.stack.launcher and self.stack.launcher.poll() is None:
            # Latched messages must not be lost, regardless of which process was killed.
            lost = lost_latched(self.observer, self.stack.bus)
            self.facts["lost_latched"] = len(lost)
            if lost:
                self.fail("a late joiner receives every latched message", "; ".join(lost))

    def _judge_remains(self) -> None:
        for line in self.watch.false_arrivals:
            self.fail("no arrival is announced more than 60 m from the stop", line)
        if self.watch.wrong_positions:
            self.fail(
                "measured positions agree with the truth",
                f"{len(self.watch.wrong_positions)} do not: {self.watch.wrong_positions[0]}",
            )
        for line in self.stack.crashes()[:3]:
            self.fail("nothing crashes", line)
        for line in self.footprint.growth():
            self.fail("memory and descriptors do not grow", line)
        if not self.bag_is_judged:
            return
        bags = self.bags()
        if not bags:
            self.fail("there is a recording", f"no bag in {self.folder}")
        self.facts["bags"] = len(bags)
        self.facts["bags_unreadable"] = 0
        for path in bags:
            problem = read_bag(path)[1]
            if problem:
                self.facts["bags_unreadable"] += 1
                self.fail("the bag is readable by Python's mcap", f"{path.name}: {problem}")
        if self.accounts:
            found = account(self.observer, bags, self.stack.log_text(), self.stack.asked_to_end, self.stack.killed)
            for name in ("published", "recorded", "before_joining", "cut_off", "lost", "told_lost", "unaccounted"):
                self.facts[name] = getattr(found, name)
            if found.unaccounted:
                self.fail(
                    "every message is in the bag or counted as lost",
                    f"{found.unaccounted} of {found.published} are neither: {'; '.join(found.details[:6])}",
                )

    def bags(self) -> list[pathlib.Path]:
        """Returns the files of the recording."""
        return sorted(self.folder.glob("*.mcap"))

    def clean(self) -> None:
        """Removes the run's folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # Expectations.

    def fail(self, expected: str, seen: str) -> None:
        """Records a failure."""
        self.failures.append(Failure(expected, seen))

    def expect(self, holds: object, expected: str, seen: object = None) -> bool:
        """Records a failure unless an expectation holds."""
        if not holds:
            self.fail(expected, str(holds if seen is None else seen))
        return bool(holds)

    def require(self, waited: Waited, expected: str) -> Waited:
        """Records a failure and gives up unless a condition was met that the following steps need."""
        if not waited.done:
            self.fail(expected, f"{waited}; {self.state_text()}")
            raise GiveUp
        return waited

    def within(self, waited: Waited, seconds: float, expected: str, fact: str | None = None) -> bool:
        """Records a failure if an event did not occur, or occurred too late in the stack's own time."""
        if fact:
            self.facts[fact] = round(waited.wall, 2)
            self.facts[fact + "_own"] = round(waited.own, 2)
        if waited.done and waited.own <= seconds * self.options.patience:
            return True
        self.fail(f"{expected} within {seconds:g} s", f"{waited}; {self.state_text()}")
        return False

    def now(self) -> Moment:
        """Returns the current moment."""
        return Moment(time.monotonic(), time.time_ns(), self.pace.now() if self.pace else time.monotonic())

    def wait(self, condition: Callable[[], object], seconds: float, since: Moment | None = None) -> Waited:
        """Waits until a condition is true, for at most `seconds` of the stack's own time from `since` or from now."""
        begin = since or self.now()
        while True:
            done, now = bool(condition()), self.now()
            if done or now.own - begin.own > seconds:
                return Waited(done, now.at - begin.at, now.own - begin.own)
            with self.observer.changed:
                self.observer.changed.wait(0.02)

    def sleep(self, seconds: float) -> None:
        """Lets the stack run."""
        time.sleep(seconds)

    # Observations.

    def is_guided(self) -> bool:
        """Whether guidance follows the vehicle with measured positions."""
        state, progress = self.observer.last("/nav/state"), self.observer.latest.get("/nav/progress")
        return bool(
            state
            and state.phase == GUIDANCE
            and progress
            and progress.message.source == MEASURED
            and progress.at > time.monotonic() - 2
        )

    def guided_since(self, moment: Moment, fresh_s: float = 1.5) -> Callable[[], bool]:
        """Returns a check whether measured progress of a recent fix has arrived since a moment."""

        def check() -> bool:
            heard = self.observer.latest.get("/nav/progress")
            return bool(
                heard
                and heard.at > moment.at
                and heard.message
                and heard.message.source == MEASURED
                and heard.message.stamp_ns > moment.utc_ns
                and abs(time.time_ns() - heard.message.stamp_ns) < fresh_s * 1e9
            )

        return check

    def heard_since(self, moment: Moment, topic: str) -> Callable[[], bool]:
        """Returns a check whether a message has arrived on a topic since a moment."""
        return lambda: topic in self.observer.latest and self.observer.latest[topic].at > moment.at

    def state_text(self) -> str:
        """Returns the state of navigation as one line."""
        state, health = self.observer.last("/nav/state"), self.observer.last("/health/navigation-node")
        words = []
        if state:
            phase = self.types.enum("NavigationPhase", state.phase)
            words.append(
                f"state {phase} {self.types.enum('GuidanceState', state.guidance) if state.guidance else ''}".strip()
            )
        if health:
            reasons = ", ".join(reason.code for reason in health.reasons)
            words.append(
                f"health {self.types.enum('HealthState', health.state)}" + (f" ({reasons})" if reasons else "")
            )
        for topic in ("/gnss/fix", "/nav/position", "/nav/progress"):
            heard = self.observer.latest.get(topic)
            words.append(f"{topic} " + (f"{time.monotonic() - heard.at:.1f} s ago" if heard else "never"))
        return ", ".join(words)

    def health_topic(self, topic: str, node: str = "navigation-node") -> Any:
        """Returns a node's health entry of a topic that it subscribes to."""
        health = self.observer.last(f"/health/{node}")
        return (
            next((entry for entry in health.topics if entry.topic == topic and not entry.is_publisher), None)
            if health
            else None
        )

    # Actions.

    def publisher(self, node: str, topics: dict[str, tuple[str, int]], mark: int = 1000) -> Publisher:
        """Creates a foreign node on the stack's bus."""
        return Publisher(self.stack.bus, self.types, node, topics, mark)

    def set_route(self, points: list[Place], seconds: float = 20, attempts: int = 20, **more: Any) -> Any:
        """Calls SetRoute with places, repeatedly until the answer is a route."""
        request = self.types.SetRouteRequest(**more)
        for latitude, longitude in points:
            request.calculate.waypoints.add(latitude=latitude, longitude=longitude)
        text = "no answer"
        for _ in range(attempts):
            try:
                answer = self.client.call("SetRoute", request, "SetRouteResponse", seconds=seconds)
                if not answer.HasField("error"):
                    return answer
                text = answer.error.message
            except CallFailed as error:
                text = str(error)
            time.sleep(0.5)
        self.fail("SetRoute is answered with a route", text)
        raise GiveUp

    def _follow(self, heard: bus.Heard) -> None:
        """Makes the vehicle follow new routes."""
        if heard.topic != "/nav/route" or heard.message is None or not self.obeys:
            return
        route = heard.message
        points = line_of(route.geometry)
        # The vehicle continues along an unchanged route, regardless of which run of the node publishes it.
        key = hash(tuple(points))
        if key == self._followed or len(points) < 2:
            return
        self._followed = key
        stops = [
            (point.snapped.latitude, point.snapped.longitude) for point in route.waypoints[1:-1] if point.kind != 2
        ]
        self.vehicle.drive(points, stops)

    def drive_trip_to_its_end(self) -> None:
        """Starts another trip when the vehicle has arrived."""
        state = self.observer.last("/nav/state")
        if state and state.guidance == COMPLETE and self.vehicle.remaining < 5 and self.vehicle.speed < 0.1:
            self.next_trip()

    def next_trip(self) -> None:
        """Sets a route from the vehicle's place to another place."""
        low, high = self.scene.length_m
        for _ in range(40):
            goal = self.places.trip(self.rng, 0, low / 2, high)[-1]
            # The distance by road counts, because the corners of a small map are closer together.
            found = self.places.route([self.vehicle.place, goal])
            if found and found["distance_m"] > 900:
                self.points = [self.vehicle.place, goal]
                self.set_route([goal])
                return
        latitude, longitude = self.vehicle.place
        self.fail("a trip from the vehicle's place is found", f"no route from {latitude:.6f},{longitude:.6f}")
        raise GiveUp
