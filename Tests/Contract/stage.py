"""Real processes on a separate bus, and simulated counterparts: a vehicle, an owner, web servers."""

import http.server
import json
import math
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import zmq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Faults"))
import bus as wire  # noqa: E402
from bus import PING, PONG, CallFailed, Client, Heard, Messages, Observer, Publisher  # noqa: E402
from vehicle import Line, course, distance  # noqa: E402

Place = tuple[float, float]


class Failed(Exception):
    """A violated expectation, such as an event that did not occur."""


class Listener(Observer):
    """An observer of all topics, including the journal and odometry."""

    UNREAD: set[str] = set()

    def __init__(self, bus: pathlib.Path, types: Messages, contract: Any) -> None:
        super().__init__(bus, types)
        self.contract = contract
        # Of the messages of our nodes, by topic.
        self.fingerprints: dict[str, set[int]] = {}

    def _take(self, frames: list[Any]) -> None:
        if len(frames) == 3 and not bytes(frames[0]).startswith(b"/bus/probe/"):
            header = self.types.Header.FromString(bytes(frames[1]))
            if self._boots.get(header.boot_id) not in (None, "vehicle"):
                topic = bytes(frames[0]).rstrip(b"\0").decode()
                self.contract.take(header, topic, "header")
                self.fingerprints.setdefault(topic, set()).add(header.schema_fingerprint)
        super()._take(frames)


class Bus:
    """A bus in a separate folder, with an observer of all messages and the processes on the bus.

    With `drops_unknown`, settings that a program does not support are omitted, so that programs of an older commit start.
    """

    drops_unknown = False
    # Held from the start of a process until its bus has registered it.
    spawning = threading.Lock()

    def __init__(self, folder: pathlib.Path, types: Messages, contract: Any) -> None:
        self.folder, self.types, self.contract = folder, types, contract
        self.path = folder / "bus"
        self.path.mkdir(mode=0o700, parents=True)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.observer = Listener(self.path, types, contract)
        self.observer.listeners.append(self._heard)
        self.observer.start()
        self.foreign: set[str] = set()

    def _heard(self, heard: Heard) -> None:
        if heard.message is not None and heard.node not in self.foreign:
            self.contract.take(heard.message, heard.topic)

    def start(self, program: pathlib.Path, *words: object, name: str | None = None, **settings: object) -> None:
        """Starts a node and waits until it has announced its services."""
        name = name or program.name
        if self.drops_unknown:
            listed = subprocess.run([program, "--print-config"], capture_output=True, text=True).stdout
            known = {line.split(":")[0].replace(".", "__") for line in listed.splitlines()}
            settings = {key: value for key, value in settings.items() if key in known}
        sets = [part for key, value in settings.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]
        self.spawn(name, program, *words, "--name", name, *sets)
        self.until(lambda: "services" in (wire.announcement(self.path, name) or {}), f"{name} is on the bus", 60)

    def spawn(self, name: str, program: pathlib.Path, *words: object) -> subprocess.Popen[bytes]:
        """Starts a program on this bus."""
        known = {key: value for key, value in os.environ.items() if not key.startswith("NAVBUS")}
        with self.spawning, open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [program, *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**known, "NAVBUS_DIR": str(self.path)},
            )
            self.processes[name] = process
        return process

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Terminates a process of this bus."""
        self._end(self.processes.pop(name), number)

    @staticmethod
    def _end(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        process.send_signal(number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 40) -> Any:
        """Waits until a condition is true; it is checked after each message."""
        end = time.monotonic() + seconds
        while True:
            found = holds()
            if found:
                return found
            if time.monotonic() > end:
                raise Failed(f"not within {seconds:.0f} s: {what}; logs in {self.folder}")
            with self.observer.changed:
                self.observer.changed.wait(0.05)

    def expect(self, topic: str, wanted: Callable[[Any], Any], since: float, what: str, seconds: float = 40) -> Any:
        """Waits for and returns the first message of a topic that meets a condition."""
        return self.until(
            lambda: next(
                (
                    heard.message
                    for heard in self.observer.since(since, topic)
                    if heard.message and wanted(heard.message)
                ),
                None,
            ),
            f"{what} on {topic}",
            seconds,
        )

    def client(self, node: str) -> "Caller":
        """Returns a caller of the services of a node."""
        return Caller(self, node)

    def end(self) -> None:
        """Ends all processes and the observer."""
        processes = list(self.processes.values())
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            self._end(process, signal.SIGTERM)
        self.processes.clear()
        self.observer.end()


class Caller:
    """A client that calls methods by their names in the schema and records the answers."""

    def __init__(self, bus: Bus, node: str) -> None:
        self.bus, self.client = bus, Client(bus.path, bus.types, node)

    def __call__(self, method: str, *arguments: Any, **fields: Any) -> Any:
        """Calls a method, given as `Service.Method`, and returns the last part of its answer."""
        return self.parts(method, *arguments, **fields)[-1]

    def parts(self, method: str, *arguments: Any, seconds: float = 30, **fields: Any) -> list[Any]:
        """Calls a method and returns all parts of its answer."""
        service, name = method.split(".")
        contract = self.bus.contract
        described = next(known for known in contract.methods(service) if known.name == name)
        kinds = [kind.removeprefix(".navbus.v1.") for kind in (described.input_type, described.output_type)]
        request = arguments[0] if arguments else getattr(self.bus.types, kinds[0])(**fields)
        try:
            answers = list(self.client.stream(name, request, kinds[1], f"navbus.v1.{service}", seconds))
        except CallFailed as failure:
            if failure.code == 12:
                contract.unimplemented.add(method)
            else:
                contract.answered.add(method)
            raise
        contract.answered.add(method)
        for answer in answers:
            contract.take(answer, method)
        return answers

    def refusal(self, method: str, code: str, words: str, **fields: Any) -> None:
        """Checks that a request is rejected with a code and that the message contains some words."""
        try:
            answer = self(method, **fields)
        except CallFailed as failure:
            names = {3: "INVALID_REQUEST", 5: "NOT_FOUND", 9: "WRONG_STATE", 8: "RESOURCE_EXHAUSTED"}
            found, text = names.get(failure.code, str(failure.code)), str(failure)
        else:
            error = answer.error
            found, text = self.bus.types.enum("ErrorCode", error.code), error.message
        if found != code or words not in text:
            raise Failed(f"{method}({fields}) is not rejected as {code} naming '{words}', but: {found} {text}")


def change(message: Any, values: dict[str, Any]) -> None:
    """Changes fields; None clears a field, and a function is called with the time in ns."""
    for key, value in values.items():
        if value is None:
            message.ClearField(key)
        elif isinstance(value, list):
            getattr(message, key)[:] = value
        else:
            setattr(message, key, value(time.time_ns()) if callable(value) else value)


class Vehicle(threading.Thread):
    """A vehicle that drives along a line and publishes the data of its receiver and wheels."""

    TOPICS = {
        "/gnss/fix": ("navbus.v1.GnssFix", 65536),
        "/vehicle/odometry": ("navbus.v1.VehicleOdometry", 65536),
        "/traffic/speeds": ("navbus.v1.TrafficSpeeds", 1 << 20),
    }

    def __init__(self, bus: Bus, start: Place) -> None:
        super().__init__(name="vehicle", daemon=True)
        self.bus, self.types = bus, bus.types
        bus.foreign.add("vehicle")
        self.publisher = Publisher(bus.path, bus.types, "vehicle", self.TOPICS)
        self._guard = threading.RLock()
        self._ends = threading.Event()
        self.place, self.heading, self.speed = start, 90.0, 0.0
        self.line: Line | None = None
        self.offset, self.cruise = 0.0, 15.0
        self.silent = self.has_wheels = False
        self.late = 0.0
        # Other values for the fields of fixes and of odometry, see `change`.
        self.extra: dict[str, Any] = {}
        self.wheels: dict[str, Any] = {}
        self.odometer = 0.0
        self.start()

    def follow(self, points: list[Place], cruise: float) -> None:
        """Drives along a line of points, beginning at the point nearest to the vehicle."""
        with self._guard:
            self.line, self.cruise = Line(points, 50.0), cruise
            self.offset = self.line.nearest(self.place)[0]

    def stand(self, at: Place | None = None) -> None:
        """Stops, and moves to a place if one is given."""
        with self._guard:
            self.line = None
            self.place = at or self.place

    def hide(self, wheels: dict[str, Any]) -> None:
        """Silences the receiver and then changes fields of odometry, so that no fix coincides with the changed values."""
        with self._guard:
            self.silent, self.wheels = True, wheels

    def appear(self) -> None:
        """Reverts `hide`."""
        with self._guard:
            self.silent, self.wheels = False, {}

    def run(self) -> None:
        last, step = time.monotonic(), 0.2
        while not self._ends.wait(step):
            now = time.monotonic()
            with self._guard:
                before = self.place
                if self.line:
                    self.offset = min(self.offset + self.cruise * (now - last), self.line.length)
                    self.place, self.heading = self.line.place(self.offset)
                self.speed = distance(before, self.place) / (now - last)
                if self.speed > 60:
                    self.speed = 0.0
                last = now
                fix = self._fix()
                silent, has_wheels, wheels = self.silent, self.has_wheels, dict(self.wheels)
            self.odometer += self.speed * step
            odometry = self.types.VehicleOdometry(
                stamp_ns=time.time_ns(), monotonic_ns=time.monotonic_ns(), speed_mps=self.speed, speed_sigma_mps=0.1,
                yaw_rate_radps=0.0, yaw_rate_sigma_radps=0.5, reverse=False, standstill=self.speed < 0.01,
                odometer_m=self.odometer, acceleration_mps2=0.0,
            )  # fmt: skip
            change(odometry, wheels)
            if not silent:
                self.say("/gnss/fix", fix)
            if has_wheels:
                self.say("/vehicle/odometry", odometry)
        self.publisher.close()

    def _fix(self) -> Any:
        now = time.time_ns()
        heading = math.radians(self.heading) % (2 * math.pi)
        fix = self.types.GnssFix(
            latitude=self.place[0], longitude=self.place[1], altitude=30.0, frame_id="roof", heading=heading,
            heading_variance=0.01, speed=self.speed, course=heading, velocity_up_mps=0.0, satellites_used=9,
            satellites_visible=14, hdop=0.9, vdop=1.2, pdop=1.5, horizontal_accuracy_m=2.5, vertical_accuracy_m=4.0,
            speed_accuracy_mps=0.2, course_accuracy_rad=0.05, horizontal_protection_level_m=8.0,
            vertical_protection_level_m=12.0, integrity_risk_per_h=1e-5, geoid_separation_m=47.0,
            receive_stamp_ns=now, receive_monotonic_ns=time.monotonic_ns(), differential_age_s=1.0, source="walk",
            fix_type=4, integrity=2, spoofing=1, jamming=1, altitude_datum=2, position_covariance_type=2,
            position_covariance=[6.0, 0, 0, 0, 6.0, 0, 0, 0, 16.0], velocity_covariance=[0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1],
            velocity_east_mps=self.speed * math.sin(heading), velocity_north_mps=self.speed * math.cos(heading),
        )  # fmt: skip
        fix.timestamp.seconds, fix.timestamp.nanos = divmod(now - int(self.late * 1e9), 1_000_000_000)
        fix.metadata.add(key="antenna", value="1")
        change(fix, self.extra)
        return fix

    def say(self, topic: str, message: Any) -> None:
        """Publishes a message. The lock is necessary because drives publish too and a socket supports one thread at a time."""
        with self._guard:
            self.publisher.publish(topic, message.SerializeToString())

    def end(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self.join()


class Owner(threading.Thread):
    """A policy node: gives the answer that the drive has set for a method, otherwise the default."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(name="owner", daemon=True)
        self.bus, self.types = bus, bus.types
        bus.foreign.add("owner")
        folder = bus.path / "0" / "owner"
        folder.mkdir(mode=0o700, parents=True)
        self._lock = open(folder / "lock", "a")
        wire.claim(self._lock)
        context = zmq.Context.instance()
        self._socket, self._pub = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        self._socket.bind(f"ipc://{folder}/rpc")
        self._pub.bind(f"ipc://{folder}/pub")
        self.methods = {method.name: method for method in bus.contract.methods("Policy")}
        self.answers: dict[str, Callable[[Any], Any] | None] = {}
        self.asked: dict[str, list[Any]] = {name: [] for name in self.methods}
        self._ends = threading.Event()
        told = {
            "format": 1, "node": "owner", "pid": os.getpid(), "boot_id": f"{secrets.randbits(63) | 1:016x}", "topics": [],
            "endpoints": {"pub": f"ipc://{folder}/pub", "rpc": f"ipc://{folder}/rpc"},
            "services": [{"name": "navbus.v1.Policy",
                          "methods": [{"name": name, "server_streaming": False} for name in self.methods]}],
        }  # fmt: skip
        (folder / ".announcement").write_text(json.dumps(told))
        os.rename(folder / ".announcement", folder / "announcement.json")
        self.start()

    def run(self) -> None:
        frames = self.types.ServiceFrame
        while not self._ends.is_set():
            if not self._socket.poll(50):
                continue
            client, header, payload = self._socket.recv_multipart()
            frame = frames.FromString(header)
            if frame.kind == PING:
                pong = frames(kind=PONG, sequence=frame.sequence, credit=1)
                self._socket.send_multipart([client, pong.SerializeToString(), b""])
            elif frame.kind == wire.REQUEST:
                answer = self._answer(frame.method, payload)
                if answer is not None:
                    end = frames(kind=wire.END, call_id=frame.call_id, has_response=1)
                    self._socket.send_multipart([client, end.SerializeToString(), answer.SerializeToString()])
        self._socket.close(0)
        self._pub.close(0)
        self._lock.close()

    def _answer(self, name: str, payload: bytes) -> Any:
        kinds = [
            kind.removeprefix(".navbus.v1.") for kind in (self.methods[name].input_type, self.methods[name].output_type)
        ]
        question = getattr(self.types, kinds[0]).FromString(payload)
        self.bus.contract.take(question, f"Policy.{name}", f"Policy.{name}")
        self.bus.contract.answered.add(f"Policy.{name}")
        self.asked[name].append(question)
        decide = self.answers.get(name, lambda _: getattr(self.types, kinds[1])())
        return decide(question) if decide else None

    def end(self) -> None:
        """Leaves the bus."""
        self._ends.set()
        self.join()


class Web:
    """A web server whose answers are given by a function of path and headers."""

    def __init__(self, answer: Callable[[str, dict[str, str]], tuple[int, dict[str, str], bytes]]) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, headers, body = answer(self.path, dict(self.headers))
                self.send_response(status)
                for key, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(key, value)
                try:
                    self.end_headers()
                    self.wfile.write(b"" if self.command == "HEAD" else body)
                except OSError:
                    pass  # The client has timed out or disconnected.

            do_HEAD = do_GET
            do_POST = do_GET

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:
                    pass  # The client has disconnected.

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def end(self) -> None:
        """Closes the server."""
        self._server.shutdown()
        self._server.server_close()
