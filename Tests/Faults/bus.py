"""Access to the bus without navbus code: message types, an observer of all topics, a publisher, a client of services."""

import collections
import fcntl
import glob
import json
import os
import pathlib
import secrets
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any, Callable, Iterator

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUEST, RESPONSE, END, CANCEL, CREDIT, PING, PONG = 1, 2, 3, 4, 5, 6, 7


class Messages:
    """The message types of the bus by their short names, read from the .proto files."""

    def __init__(self) -> None:
        proto = ROOT / "Proto"
        command = [
            "protoc",
            "-I",
            str(proto),
            "--include_imports",
            "--include_source_info",
            "--descriptor_set_out=/dev/stdout",
            *sorted(glob.glob(f"{proto}/navbus/v1/*.proto")),
        ]
        files = descriptor_pb2.FileDescriptorSet.FromString(subprocess.check_output(command))
        self.files = files
        self._pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self._pool.AddSerializedFile(file.SerializeToString())
        self._classes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return self.of("navbus.v1." + name)

    def of(self, full_name: str) -> Any:
        """Returns the class of a message by its full name."""
        if full_name not in self._classes:
            descriptor = self._pool.FindMessageTypeByName(full_name)
            self._classes[full_name] = message_factory.GetMessageClass(descriptor)
        return self._classes[full_name]

    def enum(self, name: str, number: int) -> str:
        """Returns the name of an enum's value without its prefix."""
        values = self._pool.FindEnumTypeByName("navbus.v1." + name).values_by_number
        prefix = values[0].name.removesuffix("UNSPECIFIED")
        return values[number].name.removeprefix(prefix) if number in values else str(number)


def announcement(bus: pathlib.Path, node: str) -> dict[str, Any] | None:
    """Returns a node's announcement; None if it is missing or unreadable."""
    try:
        return json.loads((bus / "0" / node / "announcement.json").read_text())
    except (OSError, ValueError):
        return None


def is_alive(bus: pathlib.Path, node: str) -> bool:
    """Whether a process holds the node's lock."""
    try:
        with open(bus / "0" / node / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def nodes(bus: pathlib.Path) -> list[str]:
    """Returns the names of the nodes that have a folder on the bus."""
    try:
        return sorted(entry.name for entry in os.scandir(bus / "0") if entry.is_dir())
    except OSError:
        return []


@dataclass
class Heard:
    """A received message."""

    at: float
    topic: str
    node: str
    boot: int
    sequence: int
    stamp_ns: int
    size: int
    message: Any = None


@dataclass
class Track:
    """The messages received on one topic from one run of its publisher."""

    node: str
    first: int
    last: int
    # By sequence: the publisher's stamp, and the time of arrival here.
    stamps: dict[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """The number of lost messages according to the gaps."""
        return self.lost_between(self.first, self.last)

    def lost_between(self, first: int, last: int) -> int:
        """Returns the number of messages in a range of sequences that have not arrived here."""
        return sum(number not in self.stamps for number in range(first, last + 1))


class Observer(threading.Thread):
    """A subscriber of all topics of all publishers that records the messages. Its own queues are unlimited."""

    # Large or frequent messages, which are counted but not decoded.
    UNREAD = {"/nav/journal", "/vehicle/odometry"}
    LARGEST_READ = 4 << 20

    def __init__(self, bus: pathlib.Path, types: Messages) -> None:
        super().__init__(name="observer", daemon=True)
        self.bus, self.types = bus, types
        self.tracks: dict[tuple[str, int], Track] = {}
        self.heard: collections.deque[Heard] = collections.deque(maxlen=400_000)
        self.latest: dict[str, Heard] = {}
        self.malformed = 0
        self.changed = threading.Condition()
        self.listeners: list[Callable[[Heard], None]] = []
        self._topics: dict[str, dict[str, Any]] = {}
        self._boots: dict[int, str] = {}
        self._connected: set[str] = set()
        self._ends = threading.Event()

    def run(self) -> None:
        socket = self._socket = fresh_subscriber()
        look = 0.0
        while not self._ends.is_set():
            if time.monotonic() >= look:
                self._follow()
                look = time.monotonic() + 0.05
            if not socket.poll(50):
                continue
            for _ in range(500):
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                self._take([frame.buffer for frame in frames])
        socket.close(0)

    def end(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self.join()

    def _follow(self) -> None:
        for node in nodes(self.bus):
            told = announcement(self.bus, node)
            if told is None:
                continue
            self._boots[int(told["boot_id"], 16)] = node
            for topic in told["topics"]:
                self._topics[topic["name"]] = topic
            endpoint = told["endpoints"]["pub"]
            if endpoint not in self._connected:
                self._socket.connect(endpoint)
                self._connected.add(endpoint)

    def _take(self, frames: list[Any]) -> None:
        if len(frames) != 3:
            self.malformed += 1
            return
        topic = bytes(frames[0]).rstrip(b"\0").decode(errors="replace")
        try:
            header = self.types.Header.FromString(bytes(frames[1]))
        except Exception:  # Some faults send random bytes.
            self.malformed += 1
            return
        if topic.startswith("/bus/probe/"):
            return  # A health message that another node requested, which is ignored.
        now = time.monotonic()
        key = (topic, header.boot_id)
        track = self.tracks.get(key)
        node = self._boots.get(header.boot_id, "")
        if track is None:
            track = self.tracks[key] = Track(node, header.sequence, header.sequence)
        elif header.sequence <= track.last:
            return  # A latched message that another node requested.
        else:
            track.last = header.sequence
            track.node = track.node or node
        track.stamps[header.sequence] = (header.stamp_ns, now)
        heard = Heard(now, topic, node, header.boot_id, header.sequence, header.stamp_ns, len(frames[2]))
        if topic not in self._topics:
            self._follow()  # A node may publish on a topic before this thread has read its announcement.
        described = self._topics.get(topic)
        if described and topic not in self.UNREAD and len(frames[2]) <= self.LARGEST_READ:
            try:
                heard.message = self.types.of(described["type"]).FromString(bytes(frames[2]))
            except Exception:
                self.malformed += 1
        with self.changed:
            self.heard.append(heard)
            self.latest[topic] = heard
            self.changed.notify_all()
        for listener in self.listeners:
            listener(heard)

    def since(self, moment: float, topic: str) -> list[Heard]:
        """Returns the messages received on a topic after a time of the monotonic clock."""
        found = []
        with self.changed:
            for heard in reversed(self.heard):
                if heard.at < moment:
                    break
                if heard.topic == topic:
                    found.append(heard)
        return found[::-1]

    def last(self, topic: str) -> Any:
        """Returns the last message of a topic; None if none has arrived."""
        heard = self.latest.get(topic)
        return heard.message if heard else None


def fresh_subscriber() -> zmq.Socket:
    """Returns a socket that receives all messages of its peers."""
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RECONNECT_IVL, 10)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 100)
    socket.subscribe(b"")
    return socket


def join_late(
    bus: pathlib.Path, types: Messages, enough: Callable[[dict[tuple[str, int], int]], bool], seconds: float
) -> dict[tuple[str, int], int]:
    """Subscribes now and returns the last received sequence by topic and boot id, as soon as `enough` is satisfied."""
    socket = fresh_subscriber()
    heard: dict[tuple[str, int], int] = {}
    try:
        for node in nodes(bus):
            told = announcement(bus, node)
            if told and is_alive(bus, node):
                socket.connect(told["endpoints"]["pub"])
        end = time.monotonic() + seconds
        while time.monotonic() < end and not enough(heard):
            if socket.poll(50):
                frames = socket.recv_multipart()
                if len(frames) == 3:
                    header = types.Header.FromString(frames[1])
                    key = (frames[0].rstrip(b"\0").decode(), header.boot_id)
                    heard[key] = max(heard.get(key, 0), header.sequence)
    finally:
        socket.close(0)
    return heard


def claim(lock: IO[str], seconds: float = 1) -> None:
    """Takes a node's lock. Others briefly share the lock to probe whether the node is alive, so the attempt is repeated."""
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)


@dataclass
class Publisher:
    """A foreign node that publishes topics: it locks its folder, binds its socket, and writes its announcement."""

    bus: pathlib.Path
    types: Messages
    node: str
    topics: dict[str, tuple[str, int]]
    high_water_mark: int = 1000
    sequences: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folder = self.bus / "0" / self.node
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = open(folder / "lock", "a")
        claim(self._lock)
        self.boot_id = secrets.randbits(63) | 1
        self.socket = zmq.Context.instance().socket(zmq.XPUB)
        self.socket.setsockopt(zmq.SNDHWM, self.high_water_mark)
        self.socket.setsockopt(zmq.LINGER, 0)
        endpoint = f"ipc://{folder}/pub"
        self.socket.bind(endpoint)
        topics = [
            {
                "name": name,
                "type": kind,
                "schema_fingerprint": "0" * 16,
                "max_bytes": largest,
                "qos": {"kind": "keep_last", "depth": 64},
            }
            for name, (kind, largest) in self.topics.items()
        ]
        told = {
            "format": 1,
            "node": self.node,
            "pid": os.getpid(),
            "boot_id": f"{self.boot_id:016x}",
            "endpoints": {"pub": endpoint},
            "topics": topics,
        }
        # Replaced atomically: no reader sees a partial file.
        (folder / ".announcement").write_text(json.dumps(told))
        os.rename(folder / ".announcement", folder / "announcement.json")

    def subscribers(self, topic: str, wanted: int, seconds: float) -> bool:
        """Waits until a topic has a number of subscriptions."""
        end, count = time.monotonic() + seconds, getattr(self, "_count", 0)
        while count < wanted and time.monotonic() < end:
            if self.socket.poll(50):
                said = self.socket.recv()
                if said[1:] in (topic.encode() + b"\0", b""):
                    count += 1 if said[0] else -1
        self._count = count
        return count >= wanted

    def publish(self, topic: str, payload: bytes, stamp_ns: int | None = None) -> int:
        """Publishes bytes and returns their sequence."""
        sequence = self.sequences[topic] = self.sequences.get(topic, 0) + 1
        header = self.types.Header(sequence=sequence, stamp_ns=stamp_ns or time.time_ns(), boot_id=self.boot_id)
        self.socket.send_multipart([topic.encode() + b"\0", header.SerializeToString(), payload], copy=False)
        return sequence

    def close(self) -> None:
        """Leaves the bus."""
        (self.bus / "0" / self.node / "announcement.json").unlink(missing_ok=True)
        self.socket.close(0)
        self._lock.close()


class CallFailed(Exception):
    """A failed call; `code` is a status code of gRPC."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Client:
    """A client of the services of a node."""

    def __init__(self, bus: pathlib.Path, types: Messages, node: str = "navigation-node") -> None:
        self.bus, self.types, self.node = bus, types, node

    def call(
        self, method: str, request: Any, answer: str, service: str = "navbus.v1.Navigation", seconds: float = 10
    ) -> Any:
        """Makes a unary call and returns its answer."""
        return list(self.stream(method, request, answer, service, seconds))[-1]

    def stream(
        self, method: str, request: Any, answer: str, service: str = "navbus.v1.Navigation", seconds: float = 10
    ) -> Iterator[Any]:
        """Makes a call and yields its answers as they arrive."""
        told = announcement(self.bus, self.node)
        if told is None or "rpc" not in told["endpoints"]:
            raise CallFailed(14, f"{self.node} is not on the bus")
        # The server ends the call at the deadline, which starts when the request arrives there; the margin covers the transit.
        frames, end = self.types.ServiceFrame, time.monotonic() + seconds + 5
        socket = zmq.Context.instance().socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        try:
            socket.connect(told["endpoints"]["rpc"])
            asked = frames(
                kind=REQUEST,
                call_id=1,
                service=service,
                method=method,
                credit=64,
                timeout_ns=int(seconds * 1e9),
                server_boot_id=int(told["boot_id"], 16),
            )
            socket.send_multipart([asked.SerializeToString(), request.SerializeToString()])
            while time.monotonic() < end:
                if not socket.poll(2000):
                    # A server ends the calls of silent clients.
                    socket.send_multipart([frames(kind=PING).SerializeToString(), b""])
                    continue
                header, payload = socket.recv_multipart()
                frame = frames.FromString(header)
                if frame.kind == RESPONSE or frame.has_response:
                    yield self.types.of("navbus.v1." + answer).FromString(payload)
                if frame.kind == END:
                    if frame.code:
                        raise CallFailed(frame.code, frame.message)
                    return
                if frame.kind == RESPONSE:
                    socket.send_multipart([frames(kind=CREDIT, call_id=1, credit=1).SerializeToString(), b""])
            raise CallFailed(4, f"{method} was not answered in {seconds} s")
        finally:
            socket.close(0)
