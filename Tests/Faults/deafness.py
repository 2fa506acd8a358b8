"""The deafness run: large messages at random phases over many connections, from and to three kinds of clients.

Every subscriber is connected to three publishers: a navbus program (`navbus bag play`), one in C on libzmq, and one in
pyzmq. Each publishes ticks, 20 per second, and at random times blobs of 10 kB to 64 MB. A tick contains its time of
publication. After each blob, every subscriber must receive a tick published after the blob within 1 s of the earliest
possible time. That time includes the transfer of the blob to all subscribers, which is the time that plain pyzmq takes on
this machine for as many bytes to as many subscribers, measured beforehand, and 50 ms until the next tick. The player
cannot report when it publishes: a message of its bag is due according to the bag's times, but not before a subscriber has
received the preceding one. The table has the waiting times (p50_ms, p99_ms, max_ms) and the greatest excess over the
possible time (latest_ms).
"""

import bisect
import collections
import json
import math
import os
import pathlib
import random
import secrets
import selectors
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

import zmq
from mcap.writer import Writer

from bus import Messages, claim
from stack import Programs, SetUpFailed, folder_for

KINDS = ("navbus", "c", "pyzmq")
TICK_S = 0.05
# The permitted delay after the earliest possible time, and the delay from which on the subscriber counts as deaf.
LIMIT_S, DEAF_S = 1.0, 10.0


@dataclass
class Blob:
    """A large message: its due time, its size, and the time of its publication by the monotonic clock."""

    due: float
    size: int
    at: float = 0.0


@dataclass
class Ear:
    """A subscriber with the times of publication and arrival of its ticks, by publisher."""

    kind: str
    ticks: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: collections.defaultdict(list))


def sizes(rng: random.Random, count: int) -> list[int]:
    """Returns random sizes: mostly 10 kB to 1 MB, one in twenty-five up to 64 MB."""

    def size() -> int:
        low, high = (1e6, 64e6) if rng.random() < 0.04 else (1e4, 1e6)
        return int(math.exp(rng.uniform(math.log(low), math.log(high))))

    return [size() for _ in range(count)]


def seconds_per_byte(subscribers: int) -> float:
    """Measures the time per byte of plain pyzmq to subscribers in separate processes; returns the worst of three attempts."""
    folder = folder_for("calibrate", None)
    endpoint = f"ipc://{folder}/pub"
    program = (
        "import sys, zmq\nc = zmq.Context()\nn = int(sys.argv[2])\ns = [c.socket(zmq.SUB) for _ in range(n)]\n"
        "p = zmq.Poller()\nfor x in s:\n x.subscribe(b''); x.connect(sys.argv[1]); p.register(x, 1)\n"
        "g = 0\nwhile True:\n for x, _ in p.poll():\n  m = x.recv(copy=False)\n  if len(m.buffer) > 10:\n   g += 1\n"
        "   if g % n == 0: print(g, flush=True)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, endpoint, str(share)], stdout=subprocess.PIPE)
        for share in (subscribers // 2, subscribers - subscribers // 2)
        if share
    ]
    socket = zmq.Context.instance().socket(zmq.XPUB)
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    try:
        socket.bind(endpoint)
        for _ in range(subscribers):
            socket.recv()
        worst, size = 0.0, 16 << 20
        for _ in range(3):
            begin = time.monotonic()
            socket.send(bytes(size))
            for process in processes:
                assert process.stdout
                process.stdout.readline()
            worst = max(worst, (time.monotonic() - begin) / size)
        return worst
    finally:
        for process in processes:
            process.kill()
            process.wait()
        socket.close(0)


def schedule(rng: random.Random, count: int, cost: float) -> dict[str, list[Blob]]:
    """Returns the blobs of each publisher, spaced so that a blob has been transferred before the next one is sent."""
    plan: dict[str, list[Blob]] = {kind: [] for kind in KINDS}
    due = 4.0
    for index, size in enumerate(sizes(rng, count)):
        plan[KINDS[index % 3]].append(Blob(due, size))
        due += rng.uniform(0.05, 0.35) + 2 * size * cost
    return plan


class Pythons:
    """The pyzmq clients, in separate processes that run this file."""

    @staticmethod
    def listen(count: int, endpoints: list[str]) -> None:
        """Listens like `deaf_peer listen`."""
        context = zmq.Context()
        poller, numbers = zmq.Poller(), {}
        for number in range(count):
            socket = context.socket(zmq.SUB)
            socket.subscribe(b"/rig/")
            for endpoint in endpoints:
                socket.connect(endpoint)
            poller.register(socket, zmq.POLLIN)
            numbers[socket] = number
        poller.register(sys.stdin.fileno(), zmq.POLLIN)
        while True:
            for ready, _ in poller.poll():
                if ready not in numbers:
                    return
                frames = ready.recv_multipart(copy=False)
                if bytes(frames[0].buffer).startswith(b"/rig/tick") and len(frames) == 3:
                    index = int.from_bytes(bytes(frames[2].buffer)[1:9], "little")
                    topic = bytes(frames[0].buffer).rstrip(b"\0").decode()
                    sys.stdout.write(f"{numbers[ready]} {topic} {index} {time.monotonic_ns()}\n")
            sys.stdout.flush()

    @staticmethod
    def publish(endpoint: str, topic: str, path: str, boot_id: str) -> None:
        """Publishes like `deaf_peer publish`."""
        types = Messages()
        socket = zmq.Context.instance().socket(zmq.XPUB)
        socket.setsockopt(zmq.LINGER, 0)
        socket.bind(endpoint)
        sys.stdin.readline()
        begin, ticks, blobs, end = time.monotonic(), 0, 0, 1e9
        plan = [(float(due), int(size)) for due, size in map(str.split, open(path))]

        def send(kind: str, sequence: int, payload: bytes) -> None:
            header = types.Header(sequence=sequence, stamp_ns=time.time_ns(), boot_id=int(boot_id))
            socket.send_multipart([f"/rig/{kind}-{topic}\0".encode(), header.SerializeToString(), payload], copy=False)

        while (elapsed := time.monotonic() - begin) < end:
            if blobs < len(plan) and elapsed >= plan[blobs][0]:
                print(blobs + 1, time.monotonic_ns(), flush=True)
                send("blob", blobs + 1, bytes(plan[blobs][1]))
                blobs += 1
                if blobs == len(plan):
                    end = elapsed + 20
            elif elapsed / TICK_S >= ticks:
                ticks += 1
                send("tick", ticks, b"\x09" + time.monotonic_ns().to_bytes(8, "little"))
            else:
                time.sleep(0.004)


class DeafnessRun:
    """A run: sets up the clients, plays the schedule, and evaluates the received messages."""

    def __init__(self, programs: Programs, seed: int, connections: int, count: int) -> None:
        self.programs, self.rng = programs, random.Random(f"deafness {seed}")
        self.subscribers = max(3, math.ceil(connections / len(KINDS)))
        self.count = count
        self.folder = folder_for("deafness", None)
        self.bus = self.folder / "bus"
        self.bus.mkdir(mode=0o700)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("NAVBUS")},
            "NAVBUS_DIR": str(self.bus),
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ears: list[Ear] = []
        self.origin = 0.0

    def run(self) -> dict:
        """Executes the run and returns its figures."""
        peer = self.folder / "deaf_peer"
        source = pathlib.Path(__file__).with_name("deaf_peer.c")
        if subprocess.run(["cc", "-O2", "-o", peer, source, "-lzmq"]).returncode != 0:
            raise SetUpFailed("deaf_peer.c cannot be compiled: install libzmq3-dev")
        cost = seconds_per_byte(self.subscribers)
        self.plan = schedule(self.rng, self.count, cost)
        last = max(blobs[-1].due for blobs in self.plan.values() if blobs)
        print(
            f"{self.subscribers} subscribers with {self.subscribers * len(KINDS)} connections, "
            f"{self.count} blobs in {last:.0f} s; "
            f"plain pyzmq takes {cost * 1e9:.0f} ms for a megabyte to all",
            flush=True,
        )
        try:
            self._start(peer)
            self._play(last + 20)
        finally:
            for process in self.processes:
                process.kill()
                process.wait()
        return self._judge(cost)

    # Processes.

    def _spawn(self, words: list[object], **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [str(word) for word in words],
            env=self.environment,
            stderr=open(self.folder / "errors.log", "ab"),
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options},
        )
        self.processes.append(process)
        return process

    def _claim(self, node: str, kind: str) -> str:
        """Creates the node's folder of a publisher that only binds its socket; returns the endpoint."""
        folder = self.bus / "0" / node
        folder.mkdir(mode=0o700, parents=True)
        lock = open(folder / "lock", "a")
        claim(lock)
        self._locks.append(lock)
        endpoint = f"ipc://{folder}/pub"
        topics = [
            {
                "name": f"/rig/{what}-{kind}",
                "type": type_,
                "schema_fingerprint": "0" * 16,
                "max_bytes": 64 << 20,
                "qos": {"kind": "keep_last", "depth": 64},
            }
            for what, type_ in (("tick", "navbus.v1.LogEntry"), ("blob", "rig.Unknown"))
        ]
        self.boots[kind] = secrets.randbits(63)
        told = {
            "format": 1,
            "node": node,
            "pid": os.getpid(),
            "boot_id": f"{self.boots[kind]:016x}",
            "endpoints": {"pub": endpoint},
            "topics": topics,
        }
        (folder / "announcement.json").write_text(json.dumps(told))
        return endpoint

    def _start(self, peer: pathlib.Path) -> None:
        self._locks: list = []
        self.boots: dict[str, int] = {}
        here = pathlib.Path(__file__)
        for kind in ("c", "pyzmq"):
            (self.folder / f"{kind}.schedule").write_text(
                "".join(f"{blob.due:.4f} {blob.size}\n" for blob in self.plan[kind])
            )
        endpoints = {kind: self._claim(f"{kind}-publisher", kind) for kind in ("c", "pyzmq")}
        self.publishers = {
            "c": self._spawn([peer, "publish", endpoints["c"], "c", self.folder / "c.schedule", self.boots["c"]]),
            "pyzmq": self._spawn(
                [
                    sys.executable,
                    here,
                    "publish",
                    endpoints["pyzmq"],
                    "pyzmq",
                    self.folder / "pyzmq.schedule",
                    self.boots["pyzmq"],
                ]
            ),
        }
        endpoints["navbus"] = f"ipc://{self.bus}/0/player/pub"
        self._write_bag()
        shares = [self.subscribers // 3 + (index < self.subscribers % 3) for index in range(3)]
        self.streams: dict[object, list[Ear]] = {}
        for _ in range(shares[0]):
            process = self._spawn(self.programs.command("topic", "echo", "/rig/*", "--field", "stamp_ns"))
            self.streams[process.stdout] = [Ear("navbus")]
        every = [endpoints[kind] for kind in KINDS]
        for kind, share, words in (
            ("c", shares[1], [peer, "listen"]),
            ("pyzmq", shares[2], [sys.executable, here, "listen"]),
        ):
            process = self._spawn([*words, share, *every])
            self.streams[process.stdout] = [Ear(kind) for _ in range(share)]
        self.ears = [ear for ears in self.streams.values() for ear in ears]
        # The player starts when all subscribers are connected; its first ticks start the other publishers.
        self.publishers["navbus"] = self._spawn(
            self.programs.command(
                "bag", "play", self.folder / "play.mcap", "--subscribers", self.subscribers, "--wait", 60
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def _write_bag(self) -> None:
        """Writes the schedule of the navbus publisher as a bag, in which each tick contains its due time."""
        types, plan = Messages(), self.plan["navbus"]
        end = max(blobs[-1].due for blobs in self.plan.values() if blobs) + 20
        entries = [(index * TICK_S, None) for index in range(int(end / TICK_S))] + [
            (blob.due, blob.size) for blob in plan
        ]
        with open(self.folder / "play.mcap", "wb") as file:
            writer = Writer(file)
            writer.start()
            schema = writer.register_schema("navbus.v1.LogEntry", "protobuf", types.files.SerializeToString())
            unknown = writer.register_schema("rig.Unknown", "protobuf", b"")
            channels = {None: writer.register_channel("/rig/tick-navbus", "protobuf", schema)}
            blobs = writer.register_channel("/rig/blob-navbus", "protobuf", unknown)
            for due, size in sorted(entries, key=lambda entry: entry[0]):
                moment = 10**18 + int(due * 1e9)
                payload = bytes(size) if size else b"\x09" + int(due * 1e9 + 1).to_bytes(8, "little")
                writer.add_message(blobs if size else channels[None], moment, payload, moment)
            writer.finish()

    # The play.

    def _play(self, seconds: float) -> None:
        selector = selectors.DefaultSelector()
        rests: dict[object, bytes] = {}
        for stream in self.streams:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, "ear")
            rests[stream] = b""
        for kind in ("c", "pyzmq"):
            stream = self.publishers[kind].stdout
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, kind)
            rests[stream] = b""
        begun, deadline, shown = False, time.monotonic() + 90, 0.0
        while time.monotonic() < deadline:
            for key, _ in selector.select(0.5):
                data = key.fileobj.read(1 << 20)
                now = time.monotonic()
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                *lines, rests[key.fileobj] = (rests[key.fileobj] + data).split(b"\n")
                for line in lines:
                    self._take(key, line, now)
            if not begun and self.origin:
                begun, deadline = True, self.origin + seconds
                for kind in ("c", "pyzmq"):
                    self.publishers[kind].stdin.write(b"go\n")
                    self.publishers[kind].stdin.flush()
            if begun and sys.stderr.isatty() and time.monotonic() > shown + 1:
                shown = time.monotonic()
                print(
                    f"\r{min(100, 100 * (shown - self.origin) / seconds):3.0f} %", end="", file=sys.stderr, flush=True
                )
            if begun and not selector.get_map():
                break
        if not begun:
            raise SetUpFailed(f"the player did not start: see {self.folder}/errors.log")
        # The player publishes in sequence: a blob is not published before a subscriber has received the preceding tick.
        first: dict[float, float] = {}
        for ear in self.ears:
            for published, at in ear.ticks["navbus"]:
                first[published] = min(at, first.get(published, at))
        moments = sorted(first)
        for blob in self.plan["navbus"]:
            index = bisect.bisect_right(moments, blob.due)
            blob.at = max(self.origin + blob.due, first[moments[index - 1]] if index else 0.0)

    def _take(self, key: selectors.SelectorKey, line: bytes, now: float) -> None:
        words = line.decode(errors="replace").split()
        if key.data != "ear":
            self.plan[key.data][int(words[0]) - 1].at = int(words[1]) / 1e9
            return
        ears = self.streams[key.fileobj]
        try:
            if ears[0].kind == "navbus":
                ear, topic, index, at = ears[0], words[0], int(words[1].strip('"')), now
            else:
                ear, topic, index, at = ears[int(words[0])], words[1], int(words[2]), int(words[3]) / 1e9
        except (ValueError, IndexError):
            return  # The line of a blob, whose type is unknown.
        kind = topic.rsplit("-", 1)[1]
        if not topic.startswith("/rig/tick"):
            return
        if kind == "navbus":
            # The first ticks of all subscribers show when the player started.
            if index < 3e9 and (not self.origin or at - index / 1e9 < self.origin):
                self.origin = at - index / 1e9
            published = index / 1e9
        else:
            published = index / 1e9
        ear.ticks[kind].append((published, at))

    # Evaluation.

    def _judge(self, cost: float) -> dict:
        waits: dict[tuple[str, str], list[tuple[float, float]]] = collections.defaultdict(list)
        late: list[str] = []
        deaf: set[tuple[int, str]] = set()
        for kind, blobs in self.plan.items():
            for number, ear in enumerate(self.ears):
                offset = self.origin if kind == "navbus" else 0.0
                ticks = [(published + offset, at) for published, at in ear.ticks[kind]]
                moments = [published for published, _ in ticks]
                for blob in blobs:
                    if not blob.at:
                        continue
                    after = self.origin + blob.due if kind == "navbus" else blob.at
                    index = bisect.bisect_right(moments, after)
                    wait = ticks[index][1] - blob.at if index < len(ticks) else math.inf
                    over = wait - blob.size * cost - TICK_S
                    waits[kind, ear.kind].append((wait, over))
                    if over > DEAF_S:
                        deaf.add((number, kind))
                    elif over > LIMIT_S:
                        late.append(f"{ear.kind} received {kind} {over:.2f} s too late after {blob.size / 1e6:.2f} MB")
        mute = [
            f"{ear.kind} never received {kind}"
            for ear in self.ears
            for kind in KINDS
            if self.plan[kind] and not ear.ticks[kind]
        ]
        sent = sum(bool(blob.at) for blobs in self.plan.values() for blob in blobs)
        rows = []
        for (publisher, subscriber), values in sorted(waits.items()):
            ordered = sorted(wait for wait, _ in values if wait < math.inf) or [math.nan]
            rows.append(
                {
                    "publisher": publisher,
                    "subscriber": subscriber,
                    "judged": len(values),
                    "p50_ms": round(statistics.median(ordered) * 1e3, 1),
                    "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 1),
                    "max_ms": round(ordered[-1] * 1e3, 1),
                    "latest_ms": round(max((over for _, over in values if over < math.inf), default=math.nan) * 1e3, 1),
                    "within_1s": sum(over <= LIMIT_S for _, over in values),
                    "deaf": len(
                        {number for number, kind in deaf if kind == publisher and self.ears[number].kind == subscriber}
                    ),
                }
            )
        return {
            "subscribers": len(self.ears),
            "connections": len(self.ears) * len(KINDS),
            "blobs": sent,
            "rows": rows,
            "mute": mute,
            "late": late[:20],
            "late_count": len(late),
            "deaf": len(deaf),
            "seconds_per_byte": cost,
            "folder": str(self.folder),
        }


if __name__ == "__main__":
    if sys.argv[1] == "listen":
        Pythons.listen(int(sys.argv[2]), sys.argv[3:])
    else:
        Pythons.publish(*sys.argv[2:6])
