"""A simulated vehicle that drives along a line in real time, and a substitute for gpsd that reports its fixes."""

import bisect
import datetime
import json
import math
import random
import socket
import threading
import time
from dataclasses import dataclass, field

from bus import Messages, Publisher

METRES_PER_DEGREE = 111_195.0
ACCELERATION, DECELERATION, LATERAL = 1.5, 2.0, 2.5
Place = tuple[float, float]


def distance(one: Place, other: Place) -> float:
    """Returns the distance between two nearby places, metres."""
    north = (other[0] - one[0]) * METRES_PER_DEGREE
    east = (other[1] - one[1]) * METRES_PER_DEGREE * math.cos(math.radians((one[0] + other[0]) / 2))
    return math.hypot(north, east)


def course(one: Place, other: Place) -> float:
    """Returns the direction from one place to another, degrees clockwise from north."""
    east = (other[1] - one[1]) * math.cos(math.radians(one[0]))
    return math.degrees(math.atan2(east, other[0] - one[0])) % 360


class Line:
    """A line to drive along, with the speeds of a calm driver."""

    def __init__(self, points: list[Place], cruise: float, stops: list[float] | None = None) -> None:
        self.points = [points[0]]
        for point in points[1:]:
            if distance(self.points[-1], point) > 0.1:
                self.points.append(point)
        self.offsets = [0.0]
        for one, other in zip(self.points, self.points[1:]):
            self.offsets.append(self.offsets[-1] + distance(one, other))
        self.length = self.offsets[-1]
        self.stops = sorted(stops or []) + [self.length]
        self._knots = self._speeds(cruise)
        self._at = [knot[0] for knot in self._knots]

    def _speeds(self, cruise: float) -> list[tuple[float, float]]:
        """Returns the greatest speeds along the line, limited by bends, stops and braking."""
        knots = [[step * 5.0, cruise] for step in range(int(self.length / 5) + 1)]
        for index in range(1, len(self.points) - 1):
            before, here, after = self.points[index - 1 : index + 2]
            bend = abs((course(here, after) - course(before, here) + 180) % 360 - 180)
            if bend > 5:
                reach = min(max(min(distance(before, here), distance(here, after)) / 2, 4), 30)
                radius = reach / math.tan(math.radians(min(bend, 170)) / 2)
                knots.append([self.offsets[index], min(cruise, max(math.sqrt(LATERAL * radius), 2.0))])
        knots += [[stop, 0.0] for stop in self.stops]
        knots.sort()
        for one, other in zip(reversed(knots[:-1]), reversed(knots[1:])):
            one[1] = min(one[1], math.sqrt(other[1] ** 2 + 2 * DECELERATION * (other[0] - one[0])))
        return [(offset, speed) for offset, speed in knots]

    def speed(self, offset: float) -> float:
        """Returns the greatest speed at an offset, m/s."""
        index = bisect.bisect_right(self._at, offset)
        if index >= len(self._knots):
            return 0.0
        # While braking, the square of the speed changes linearly with the distance.
        (start, before), (end, after) = self._knots[max(index - 1, 0)], self._knots[index]
        share = (offset - start) / (end - start) if end > start else 1.0
        return math.sqrt(before**2 + (after**2 - before**2) * min(max(share, 0), 1))

    def place(self, offset: float) -> tuple[Place, float]:
        """Returns the position at an offset and the course there in degrees."""
        index = min(max(bisect.bisect_right(self.offsets, offset), 1), len(self.points) - 1)
        one, other = self.points[index - 1], self.points[index]
        length = self.offsets[index] - self.offsets[index - 1]
        share = min(max((offset - self.offsets[index - 1]) / length, 0), 1) if length else 0.0
        place = (one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share)
        return place, course(one, other)

    def first(self, place: Place, start: float = 0.0, within: float = 12.0) -> tuple[float, float]:
        """Returns the first offset after `start` that is near a place, because a line may pass it twice; otherwise the nearest."""
        offset = start
        while offset < self.length and distance(place, self.place(offset)[0]) > within:
            offset += 4.0
        if offset >= self.length:
            return self.nearest(place, start)
        steps = [min(offset + step, self.length) for step in range(0, int(2 * within) + 1)]
        best = min(steps, key=lambda step: distance(place, self.place(step)[0]))
        return best, distance(place, self.place(best)[0])

    def nearest(self, place: Place, start: float = 0.0) -> tuple[float, float]:
        """Returns the offset after `start` that is nearest to a place, and its distance from the place."""
        best = (start, distance(place, self.place(start)[0]))
        scale = math.cos(math.radians(place[0]))
        for index in range(max(bisect.bisect_right(self.offsets, start) - 1, 0), len(self.points) - 1):
            one, other = self.points[index], self.points[index + 1]
            east, north = (other[1] - one[1]) * scale, other[0] - one[0]
            square = east * east + north * north
            along = ((place[1] - one[1]) * scale * east + (place[0] - one[0]) * north) / square if square else 0.0
            along = min(max(along, 0), 1)
            foot = (one[0] + (other[0] - one[0]) * along, one[1] + (other[1] - one[1]) * along)
            away = distance(place, foot)
            if away < best[1] - 0.01:
                best = (self.offsets[index] + (self.offsets[index + 1] - self.offsets[index]) * along, away)
        return best


@dataclass
class Receiver:
    """The errors of the receiver, which may be changed at any time."""

    rate: float = 5.0
    wander_m: float = 1.5
    noise_m: float = 0.5
    silent: bool = False
    no_fix: bool = False
    delay_s: float = 0.0
    ahead_s: float = 0.0
    offset_m: float = 0.0
    garbage: bytes = b""
    interval_s: float | None = None


@dataclass
class Truth:
    """The true state of the vehicle at a time."""

    utc_ns: int
    place: Place
    speed: float
    course: float = 0.0


@dataclass(eq=False)
class Vehicle(threading.Thread):
    """A vehicle that drives along a line and acts as gpsd on a loopback port."""

    seed: int
    cruise: float = 13.0
    dwell_s: float = 3.0
    receiver: Receiver = field(default_factory=Receiver)

    def __post_init__(self) -> None:
        super().__init__(name="vehicle", daemon=True)
        self._random = random.Random(f"receiver {self.seed}")
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.port: int = self._server.getsockname()[1]
        self._clients: list[socket.socket] = []
        self._guard = threading.RLock()
        self._ends = threading.Event()
        self._waiting: list[tuple[float, bytes]] = []
        self._error = (0.0, 0.0)
        self._odometry: Publisher | None = None
        self._types: Messages | None = None
        self._rest = 0.0
        self._held = False
        self._heading = 0.0
        self.line: Line | None = None
        self.offset = self.speed = 0.0
        self.fixes_sent = 0
        # The time until which the receiver reports wrong places or times, or subscribers may still recover from them, ns UTC.
        self.misled_until = 0
        self.truths: list[Truth] = []

    # Commands of the rig.

    def drive(self, points: list[Place], stops: list[Place] | None = None) -> None:
        """Follows a line from the vehicle's position or, at first, from its beginning; stops at the given places."""
        with self._guard:
            line = Line(points, self.cruise)
            if self.line is not None:
                here = self.place
                offset, away = line.first(here)
                if away > 3:  # The vehicle is beside the road on which the route begins.
                    line = Line(
                        [here] + [line.place(offset)[0]] + points[bisect.bisect_right(line.offsets, offset) :],
                        self.cruise,
                    )
                    offset = 0.0
            else:
                offset = 0.0
            if stops:
                at, found = offset, []
                for stop in stops:
                    at, away = line.first(stop, at)
                    if away < 60:
                        found.append(at)
                line = Line(line.points, self.cruise, found)
            if self.line is None:
                self._heading = line.place(offset)[1]
            self.line, self.offset = line, offset
            self._rest = 0.0

    def hold(self) -> None:
        """Brakes and stays stationary until `release`."""
        self._held = True

    def release(self) -> None:
        """Continues to drive."""
        self._held = False

    def publish_odometry(self, publisher: Publisher, types: Messages) -> None:
        """Publishes wheel speed and yaw rate as a separate node from now on."""
        self._odometry, self._types = publisher, types

    @property
    def place(self) -> Place:
        """The true position of the vehicle."""
        with self._guard:
            if self.line is None:
                return (0.0, 0.0)
            return self.line.place(self.offset)[0]

    @property
    def remaining(self) -> float:
        """The distance to the end of the line, metres."""
        with self._guard:
            return self.line.length - self.offset if self.line else 0.0

    def truth(self, utc_ns: int) -> Truth | None:
        """Returns the true state within 0.3 s of a time; None if unknown."""
        with self._guard:
            index = bisect.bisect_left(self.truths, utc_ns, key=lambda truth: truth.utc_ns)
            near = [truth for truth in self.truths[max(index - 1, 0) : index + 1]]
        best = min(near, key=lambda truth: abs(truth.utc_ns - utc_ns), default=None)
        return best if best and abs(best.utc_ns - utc_ns) < 300_000_000 else None

    def end(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self.join()
        if self._odometry:
            self._odometry.close()

    # Movement.

    def run(self) -> None:
        step, last, next_fix = 0.05, time.monotonic(), time.monotonic()
        while not self._ends.is_set():
            now = time.monotonic()
            with self._guard:
                turn = self._advance(now - last)
                last = now
                place, heading = self.line.place(self.offset) if self.line else ((0.0, 0.0), 0.0)
                self.truths.append(Truth(time.time_ns(), place, self.speed, heading))
                del self.truths[:-200_000]
            if self._odometry and self.line:
                self._say_motion(turn)
            self._accept()
            if self.receiver.offset_m or self.receiver.ahead_s:
                self.misled_until = time.time_ns() + 12_000_000_000
            interval = self.receiver.interval_s or 1 / self.receiver.rate
            if now >= next_fix and self.line:
                next_fix = max(next_fix + interval, now)
                self._measure(now, place, heading)
            for due, line in [entry for entry in self._waiting if entry[0] <= now]:
                self._waiting.remove((due, line))
                self._send(line)
            self._ends.wait(max(0.0, step - (time.monotonic() - now)))
        for client in [*self._clients, self._server]:
            client.close()

    def _advance(self, seconds: float) -> float:
        """Moves the vehicle and returns its yaw rate in rad/s, positive to the left."""
        if self.line is None or seconds <= 0:
            return 0.0
        if self._rest > 0:
            self._rest -= seconds
            return 0.0
        allowed = 0.0 if self._held else self.line.speed(self.offset)
        wanted = min(self.speed + ACCELERATION * seconds, allowed) if not self._held else self.speed - 3 * seconds
        stop = next((stop for stop in self.line.stops if stop > self.offset + 0.5), self.line.length)
        # A minimum speed, so that the vehicle reaches the stop, where the speeds approach zero.
        if not self._held and stop - self.offset < 30:
            wanted = max(wanted, 0.8)
        self.speed = max(wanted, 0.0)
        moved = min(self.offset + self.speed * seconds, self.line.length)
        if moved >= stop - 0.5 and not self._held:
            moved, self.speed, self._rest = stop, 0.0, self.dwell_s
        self.offset = moved
        # The body turns no faster than on a circle with a radius of 4 m.
        bend = (self.line.place(self.offset)[1] - self._heading + 180) % 360 - 180
        most = math.degrees(self.speed / 4) * seconds
        turned = min(max(bend, -most), most)
        self._heading = (self._heading + turned) % 360
        return -math.radians(turned) / seconds

    def _say_motion(self, turn: float) -> None:
        odometry = self._types.VehicleOdometry(
            stamp_ns=time.time_ns(),
            monotonic_ns=time.monotonic_ns(),
            speed_mps=self.speed * 1.005,
            yaw_rate_radps=turn + 0.002,
            standstill=self.speed < 0.01,
        )
        self._odometry.publish("/vehicle/odometry", odometry.SerializeToString(), odometry.stamp_ns)

    def _accept(self) -> None:
        try:
            while True:
                client, _ = self._server.accept()
                client.setblocking(False)
                self._clients.append(client)
                self._send_to(
                    client,
                    json.dumps(
                        {"class": "VERSION", "release": "3.22", "rev": "rig", "proto_major": 3, "proto_minor": 14}
                    ),
                )
        except BlockingIOError:
            pass

    def _measure(self, now: float, place: Place, heading: float) -> None:
        receiver, rng = self.receiver, self._random
        decay = math.exp(-1 / (30 * receiver.rate))
        push = receiver.wander_m * math.sqrt(1 - decay * decay)
        self._error = tuple(error * decay + push * rng.gauss(0, 1) for error in self._error)
        north, east = (error + receiver.noise_m * rng.gauss(0, 1) for error in self._error)
        latitude = place[0] + (north + receiver.offset_m) / METRES_PER_DEGREE
        longitude = place[1] + east / (METRES_PER_DEGREE * math.cos(math.radians(place[0])))
        longitude -= 360 if longitude > 180 else 0
        moment = datetime.datetime.fromtimestamp(time.time() + receiver.ahead_s, datetime.timezone.utc)
        report = {
            "class": "TPV",
            "device": "/dev/rig",
            "mode": 1 if receiver.no_fix else 3,
            "time": moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        }
        if not receiver.no_fix:
            report |= {
                "lat": round(latitude, 9),
                "lon": round(longitude, 9),
                "altHAE": 20.0,
                "eph": 2.5,
                "epv": 4.0,
                "eps": 0.3,
                "speed": round(max(self.speed + rng.gauss(0, 0.05), 0), 3),
            }
            if self.speed > 0.5:
                report["track"] = round((heading + math.degrees(rng.gauss(0, 0.1) / max(self.speed, 0.5))) % 360, 2)
        if receiver.silent:
            return
        text = receiver.garbage + json.dumps(report).encode() + b"\n"
        self.fixes_sent += 1
        if receiver.delay_s > 0:
            self._waiting.append((now + receiver.delay_s, text))
        else:
            self._send(text)

    def _send(self, data: bytes) -> None:
        for client in list(self._clients):
            self._send_to(client, data)

    def _send_to(self, client: socket.socket, data: bytes | str) -> None:
        try:
            client.recv(4096)  # The client only sends its WATCH command.
        except (BlockingIOError, OSError):
            pass
        try:
            client.sendall(data if isinstance(data, bytes) else data.encode() + b"\n")
        except OSError:
            client.close()
            self._clients.remove(client)

    def hang_up(self) -> None:
        """Closes all connections, like a restarting gpsd."""
        for client in list(self._clients):
            client.close()
            self._clients.remove(client)
