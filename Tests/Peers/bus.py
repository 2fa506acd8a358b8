#!/usr/bin/env python3
"""Compares the bus with others: round trips of pub/sub between two processes, in alternating rounds.

Measures navbus and plain C on libzmq through `navbus-bench bus`, and pyzmq, eCAL, Cyclone DDS and Zenoh through their
Python packages; missing packages are installed into a virtual environment. Peers that cannot be installed or do not run are
reported. The times include Python's share, which is the difference between pyzmq and C libzmq.

    Tests/Peers/bus.py [--rounds 7] [--json] [--peers pyzmq,ecal,cyclonedds,zenoh] [--bench .build/release/navbus-bench]
"""
import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

from workbench import ROOT, free_port

PROBE = 2**64 - 1  # the index of messages that test whether the echo answers
CASES = [("bus.pubsub.ipc.{size}B", 0, 10_000), ("bus.pubsub.ipc.{size}B.paced", 1000, 1000)]


class Zmq:
    """PUB and SUB over ipc, with two sockets per process and one blocking thread."""

    title, package, module, has_callback = "pyzmq", "pyzmq", "zmq", False

    def __init__(self, role, folder, size):
        import zmq

        mine, other = ("ping", "pong") if role == "drive" else ("pong", "ping")
        self.topic = f"/bench/{mine}\0".encode()
        self.publisher = zmq.Context.instance().socket(zmq.PUB)
        self.publisher.bind(f"ipc://{folder}/{mine}")
        self.subscriber = zmq.Context.instance().socket(zmq.SUB)
        self.subscriber.subscribe(f"/bench/{other}\0".encode())
        self.subscriber.connect(f"ipc://{folder}/{other}")
        self.header = bytes(36)

    def send(self, payload):
        self.publisher.send_multipart([self.topic, self.header, payload])

    def receive(self, milliseconds):
        if milliseconds is None or self.subscriber.poll(milliseconds):
            return self.subscriber.recv_multipart()[2]
        return None


class Ecal:
    """eCAL with its defaults: shared memory on one host."""

    title, package, module, has_callback = "eCAL", "eclipse-ecal", "ecal.nanobind_core", True

    def __init__(self, role, folder, size, on_message):
        import ecal.nanobind_core as ecal

        mine, other = ("ping", "pong") if role == "drive" else ("pong", "ping")
        ecal.initialize(f"bench {mine}")
        key = os.path.basename(folder)
        self.publisher = ecal.Publisher(f"{key} {mine}")
        self.subscriber = ecal.Subscriber(f"{key} {other}")
        self.subscriber.set_receive_callback(lambda topic, kind, data: on_message(data.buffer))

    def send(self, payload):
        self.publisher.send(payload)


class Cyclone:
    """Cyclone DDS over the loopback interface, reliable, with a listener that takes the received samples.

    Samples are passed as serialized bytes, bypassing the Python classes, which would convert each octet: only the bus is
    measured.
    """

    title, package, module, has_callback = "Cyclone DDS", "cyclonedds", "cyclonedds", True

    def __init__(self, role, folder, size, on_message):
        os.environ["CYCLONEDDS_URI"] = (
            "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name='lo' multicast='true'/></Interfaces>"
            "</General></Domain></CycloneDDS>"
        )
        from dataclasses import dataclass

        from cyclonedds._clayer import ddspy_take, ddspy_write
        from cyclonedds.core import InstanceState, Listener, Policy, Qos, SampleState, ViewState
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.idl import IdlStruct
        from cyclonedds.idl.types import array, uint8
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        @dataclass
        class Block(IdlStruct, typename="bench.Block"):
            data: array[uint8, size]

        encapsulation = Block(data=bytes(size)).serialize()[:-size]
        start, anything = len(encapsulation), SampleState.Any | ViewState.Any | InstanceState.Any

        class Arrival(Listener):
            def on_data_available(self, reader):
                for data, info in ddspy_take(reader._ref, anything, 8):
                    if info.valid_data:
                        on_message(data[start:start + size])

        mine, other = ("ping", "pong") if role == "drive" else ("pong", "ping")
        key = os.path.basename(folder).replace("-", "_")
        qos = Qos(Policy.Reliability.Reliable(10**9), Policy.History.KeepLast(16))
        self.write = lambda payload: ddspy_write(self.writer._ref, encapsulation + payload)
        self.participant = DomainParticipant(77)
        self.writer = DataWriter(self.participant, Topic(self.participant, f"{key}_{mine}", Block, qos=qos), qos=qos)
        topic = Topic(self.participant, f"{key}_{other}", Block, qos=qos)
        self.reader = DataReader(self.participant, topic, qos=qos, listener=Arrival())

    def send(self, payload):
        self.write(payload)


class Zenoh:
    """Zenoh between two peers over loopback TCP, without multicast and batching."""

    title, package, module, has_callback = "Zenoh", "eclipse-zenoh", "zenoh", True

    def __init__(self, role, folder, size, on_message):
        import zenoh

        mine, other = ("ping", "pong") if role == "drive" else ("pong", "ping")
        config = zenoh.Config()
        config.insert_json5("scouting/multicast/enabled", "false")
        endpoint = json.dumps([f"tcp/127.0.0.1:{self.port(role, folder)}"])
        config.insert_json5("listen/endpoints", endpoint if role == "echo" else "[]")
        config.insert_json5("connect/endpoints", endpoint if role == "drive" else "[]")
        self.session = zenoh.open(config)
        self.publisher = self.session.declare_publisher(
            f"bench/{mine}", express=True, congestion_control=zenoh.CongestionControl.BLOCK,
            priority=zenoh.Priority.REAL_TIME,
        )
        self.subscriber = self.session.declare_subscriber(
            f"bench/{other}", lambda sample: on_message(sample.payload.to_bytes())
        )

    @staticmethod
    def port(role, folder):
        """Returns a free port, which the echo chooses and writes to a file for the other side."""
        path = os.path.join(folder, "port")
        if role == "echo":
            port = free_port()
            with open(path + ".new", "w") as file:
                file.write(str(port))
            os.rename(path + ".new", path)
            return port
        for _ in range(1000):
            if os.path.exists(path):
                break
            time.sleep(0.01)
        with open(path) as file:
            return int(file.read())

    def send(self, payload):
        self.publisher.put(payload)


PEERS = {"pyzmq": Zmq, "ecal": Ecal, "cyclonedds": Cyclone, "zenoh": Zenoh}


# One process of a measurement.


def echo(peer, folder, size):
    if peer.has_callback:
        ready = threading.Event()

        def answer(payload):
            ready.wait()
            transport.send(payload)

        transport = peer("echo", folder, size, answer)
        ready.set()
        threading.Event().wait()
    transport = peer("echo", folder, size)
    while True:
        transport.send(transport.receive(None))


class Driver:
    """A sender that measures the time until the echo of each message; with callbacks, it sends from the callback."""

    def __init__(self, peer, folder, size, rate, warmup, count):
        self.rate, self.warmup, self.total = rate, warmup, warmup + count
        self.tail = bytes([7]) * (size - 8)
        self.trips, self.index, self.start, self.lost, self.met = [], 0, 0, 0, False
        self.arrived = threading.Event()
        if peer.has_callback:
            self.transport = peer("drive", folder, size, self.take)
        else:
            self.transport = peer("drive", folder, size)
        self.has_callback = peer.has_callback

    def send(self, index):
        payload = struct.pack("<Q", index) + self.tail
        self.start = time.monotonic_ns()
        self.transport.send(payload)

    def take(self, payload):
        end = time.monotonic_ns()
        index = struct.unpack_from("<Q", payload)[0]
        if index == PROBE:
            self.met = True
        elif index == self.index and self.index < self.total:
            self.trips.append(end - self.start)
            self.index += 1
            if self.rate == 0 and self.index < self.total and self.has_callback:
                self.send(self.index)
                return
            self.arrived.set()

    def wait(self, seconds):
        """Whether the echo of the current message arrives in time."""
        if self.has_callback:
            return self.arrived.wait(seconds)
        until = time.monotonic() + seconds
        while not self.arrived.is_set() and time.monotonic() < until:
            payload = self.transport.receive(int(seconds * 1000))
            if payload is not None:
                self.take(payload)
        return self.arrived.is_set()

    def run(self):
        until = time.monotonic() + 20
        while not self.met and time.monotonic() < until:
            self.send(PROBE)
            self.wait(0.05)
        if not self.met:
            sys.exit("no echo within 20 s")
        self.wait(0.3)
        following = time.monotonic()
        while self.index < self.total:
            if self.rate:
                following = max(following + 1 / self.rate, time.monotonic() - 1)
                time.sleep(max(0, following - time.monotonic()))
            before = self.index
            self.arrived.clear()
            self.send(before)
            while not self.wait(0.5) and self.index == before:
                self.lost += 1
                if self.lost > 100:
                    sys.exit("more than 100 messages were lost")
                self.send(self.index)
            while self.rate == 0 and self.has_callback and self.index < self.total and self.index != before:
                before = self.index
                self.arrived.wait(0.5)
        trips = sorted(self.trips[self.warmup:])
        ranks = {"p50": 500, "p99": 990, "p99.9": 999}
        figures = {name: trips[max(1, -(-len(trips) * rank // 1000)) - 1] / 1000 for name, rank in ranks.items()}
        print(json.dumps({"figures": figures, "count": len(trips), "lost": self.lost}), flush=True)
        os._exit(0)


# The rounds.


def measure(name, size, rate, count):
    """Measures one round of a peer; returns its percentiles in microseconds."""
    with tempfile.TemporaryDirectory(prefix="nvp-", dir="/tmp") as folder:
        words = [sys.executable, os.path.abspath(__file__), "--folder", folder, "--size", str(size), "--peers", name]
        words += ["--rate", str(rate), "--count", str(count)]
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        other = subprocess.Popen(words + ["--role", "echo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            driver = subprocess.run(words + ["--role", "drive"], timeout=90, **quiet)
        finally:
            other.kill()
            other.wait()
        if driver.returncode != 0:
            raise RuntimeError((driver.stderr.strip().splitlines() or [f"exit {driver.returncode}"])[-1])
        return json.loads(driver.stdout.splitlines()[-1])


def measure_ours(bench, size):
    """Measures one round of navbus and of C libzmq; returns the figures of both and the peer's name."""
    words = [bench, "bus", "--rounds", "1", "--only", "pubsub", "--match", f"bus.pubsub.ipc.{size}B", "--json"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return [json.loads(line) for line in run.stdout.splitlines()]


def ensure(names):
    """Installs missing packages into a virtual environment and continues in it; returns the reasons for those still missing."""
    def is_absent(name):
        try:
            importlib.import_module(PEERS[name].module)
            return False
        except Exception:
            return True

    missing = [name for name in names if is_absent(name)]
    folder = os.path.join(ROOT, ".build", "peers")
    python = os.path.join(folder, "bin", "python")
    if not missing or os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return {name: "the package does not import" for name in missing}
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for name in names:
        found = subprocess.run([python, "-c", f"import {PEERS[name].module}"], capture_output=True)
        if found.returncode != 0:
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEERS[name].package]
            subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.execv(python, [python] + sys.argv)


def median(values):
    return statistics.median(values) if values else None


def report(rows, as_json):
    if as_json:
        for row in rows:
            print(json.dumps(row, separators=(",", ":")))
        return
    print(f"{'figure':34} {'navbus':>9} {'peer':>9} {'ratio':>7}  compared with")
    for row in rows:
        text = ["–" if value is None else f"{value:.1f}" for value in (row["value"], row["peer_value"])]
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f} ×"
        print(f"{row['name']:34} {text[0]:>9} {text[1]:>9} {ratio:>7}  {row['peer']}")


def compare(arguments, names):
    absent = ensure(names)
    present = [name for name in names if name not in absent]
    log = sys.stderr
    for name, reason in absent.items():
        print(f"not measured: {PEERS[name].title}: {reason}", file=log)
    titles = {name: f"{PEERS[name].title} {importlib.metadata.version(PEERS[name].package)}" for name in present}
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    kernel = os.uname().release
    print(f"kernel {kernel}, Python {sys.version.split()[0]}, load {load}, medians of {arguments.rounds} rounds", file=log)
    cases = [(name.format(size=arguments.size), rate, arguments.count or count) for name, rate, count in CASES]
    ours, theirs, lost = {}, {}, {}  # values by figure, by (peer, figure); losses by peer
    for turn in range(arguments.rounds):
        order = ["navbus"] * bool(arguments.bench) + present
        order = order[turn % len(order):] + order[:turn % len(order)] if order else []
        for who in order:
            if log.isatty():
                print(f"\rround {turn + 1} of {arguments.rounds}: {who}\033[K", end="", file=log, flush=True)
            if who == "navbus":
                for figure in measure_ours(arguments.bench, arguments.size):
                    if figure["value"] is not None:
                        ours.setdefault(figure["name"], {})[turn] = figure["value"]
                        titles["libzmq"] = figure["peer"]
                        theirs.setdefault(("libzmq", figure["name"]), {})[turn] = figure["peer_value"]
                continue
            try:
                for case, rate, count in cases:
                    result = measure(who, arguments.size, rate, count)
                    lost[who] = lost.get(who, 0) + result["lost"]
                    for percentile, value in result["figures"].items():
                        theirs.setdefault((who, f"{case}.{percentile}"), {})[turn] = value
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"\nnot measured: {titles[who]}: {error}", file=log)
                present.remove(who)
    if log.isatty():
        print("\r\033[K", end="", file=log)
    for who, count in lost.items():
        if count:
            print(f"{titles[who]} lost {count} messages, which were sent again", file=log)
    rows = []
    for case, _, _ in cases:
        for percentile in ("p50", "p99", "p99.9"):
            name = f"{case}.{percentile}"
            for who in ["libzmq"] + present:
                peer, mine = theirs.get((who, name), {}), ours.get(name, {})
                if peer:
                    ratios = [mine[turn] / peer[turn] for turn in mine if peer.get(turn)]
                    rows.append({
                        "name": name, "value": median(mine.values()), "unit": "us", "peer": titles[who],
                        "peer_value": median(peer.values()), "ratio": median(ratios),
                    })
    report(rows, arguments.json)
    return 0 if rows else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds; figures are medians over them")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure, as from navbus-bench")
    parser.add_argument("--peers", default=",".join(PEERS), help="which of " + ", ".join(PEERS))
    parser.add_argument("--bench", default=os.path.join(ROOT, ".build/release/navbus-bench"), help="empty: without navbus")
    parser.add_argument("--size", type=int, default=200, help="payload in bytes, 200 or 100000 in comparison with navbus")
    parser.add_argument("--count", type=int, help="messages of each case")
    for name in ("--role", "--folder", "--rate"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = [name for name in arguments.peers.split(",") if name]
    unknown = [name for name in names if name not in PEERS]
    if unknown or arguments.size < 8 or arguments.rounds < 1:
        parser.error(f"unknown peer {unknown[0]}" if unknown else "a number is too small")
    if arguments.bench and not arguments.role and not os.access(arguments.bench, os.X_OK):
        parser.error(f"{arguments.bench} is missing: run swift build -c release, or give --bench '' to omit navbus")
    if arguments.role == "echo":
        return echo(PEERS[names[0]], arguments.folder, arguments.size)
    if arguments.role == "drive":
        count = arguments.count
        driver = Driver(
            PEERS[names[0]], arguments.folder, arguments.size, int(arguments.rate), max(20, count // 10), count)
        return driver.run()
    return compare(arguments, names)


if __name__ == "__main__":
    sys.exit(main())
