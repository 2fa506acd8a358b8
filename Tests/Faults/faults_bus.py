"""Large messages, floods, and peers that are slow, dead, or send garbage."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import zmq

import bus
from bus import CallFailed
from faults_process import back_after
from registry import fault
from run import MEASURED, Moment, Run, Scene
from stack import resident_bytes

FAST = Scene(fix_hz=10)
TRAFFIC = {"/traffic/speeds": ("navbus.v1.TrafficSpeeds", 16 << 20)}


class Echo:
    """`navbus topic echo` of some topics: a further subscriber, implemented with navbus."""

    def __init__(self, run: Run, topic: str, field: str = "stamp_ns") -> None:
        self.topic = topic
        self.last = 0.0
        self.count = 0
        self._process = subprocess.Popen(
            run.options.programs.command("topic", "echo", topic, "--field", field),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=run.stack.full_environment,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for _ in self._process.stdout:
            self.last = time.monotonic()
            self.count += 1

    def heard_since(self, moment: Moment) -> bool:
        """Whether a message has arrived since a moment."""
        return self.last > moment.at

    def end(self) -> None:
        """Ends the program."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


def everybody_hears(
    run: Run, echoes: list[Echo], seconds: float, cause: str, delays: tuple[float, ...] = (0.0, 4.0)
) -> None:
    """Checks that every subscriber receives every publisher, now and a while later, because a queue may fill up gradually."""
    for delay in delays:
        run.sleep(delay)
        moment = run.now()
        for topic in ("/gnss/fix", "/nav/position", "/nav/progress"):
            run.within(
                run.wait(run.heard_since(moment, topic), 15), seconds, f"a pyzmq subscriber receives {topic} after {cause}"
            )
        for echo in echoes:
            run.within(
                run.wait(lambda: echo.heard_since(moment), 15),
                seconds,
                f"'topic echo' receives {echo.topic} after {cause}",
            )

        def navigation_hears() -> bool:
            found = [
                heard
                for heard in run.observer.since(moment.at, "/nav/position")
                if heard.message and heard.message.source == MEASURED
            ]
            return bool(found)

        run.within(run.wait(navigation_hears, 15), seconds, f"navigation-node receives /gnss/fix after {cause}")
    lost = {topic: count for topic in ("/gnss/fix", "/nav/progress") if (count := deaf_tail(run, topic))}
    run.expect(not lost, "no publisher is lost permanently", str(lost))


def deaf_tail(run: Run, topic: str) -> int:
    """Returns by how many messages a new subscriber is ahead of the observer, which has been subscribed all the time."""
    heard = bus.join_late(run.stack.bus, run.types, lambda heard: any(key[0] == topic for key in heard), 3)
    behind = 0
    for (name, boot), last in heard.items():
        if name == topic and (name, boot) in run.observer.tracks:
            time.sleep(0.3)
            behind = max(behind, last - run.observer.tracks[name, boot].last)
    return behind


def segments(run: Run, count: int) -> bytes:
    """Returns a message with the speeds of a number of road segments, including those of the trip."""
    found = run.places.route(run.points)
    nodes = [node for node in (found or {}).get("nodes", []) if isinstance(node, int)]
    traffic = run.types.TrafficSpeeds(stamp_ns=time.time_ns(), provider="rig", replaces_all=True)
    for one, other in zip(nodes, nodes[1:]):
        traffic.speeds.add(from_node=one, to_node=other, speed_mps=9.0)
    while len(traffic.speeds) < count:
        number = run.rng.randrange(1 << 33)
        traffic.speeds.add(way_id=number, from_node=number + 1, to_node=number + 2, speed_mps=run.rng.uniform(2, 30))
    return traffic.SerializeToString()


@fault("deaf-traffic", "traffic of 6,000 segments is published 40 s after the start", FAST)
def deaf_traffic(run: Run) -> None:
    """navigation-node continues to receive the receiver's fixes."""
    echoes = [Echo(run, "/gnss/fix", "latitude"), Echo(run, "/traffic/speeds", "provider")]
    try:
        traffic = run.publisher("traffic", TRAFFIC)
        traffic.subscribers("/traffic/speeds", 2, 10)
        run.sleep(36)
        payload = segments(run, 6_000)
        run.facts["bytes"] = len(payload)
        traffic.publish("/traffic/speeds", payload)
        run.sleep(0.5)
        everybody_hears(run, echoes[:1], 1.0, f"{len(payload) >> 10} KiB of traffic", (0.0, 4.0, 10.0))
        run.expect(run.wait(lambda: echoes[1].count > 0, 5).done, "'topic echo' receives the traffic", "it does not")
        traffic.close()
    finally:
        for echo in echoes:
            echo.end()


@fault("deaf-route", "SetRoute with a long route of 120 km and more", FAST)
def deaf_route(run: Run) -> None:
    """Subscribers of the navigation topics continue to receive messages."""
    echoes = [Echo(run, "/nav/progress"), Echo(run, "/nav/position"), Echo(run, "/gnss/fix", "latitude")]
    try:
        run.sleep(run.rng.uniform(8, 14))
        home, rounds = run.points[-1], []
        while len(rounds) < 8:
            place = run.places.trip(run.rng, 0, *run.scene.length_m)[0]
            if found := run.places.route([home, place, home]):
                rounds.append((place, found["distance_m"]))
        rounds = sorted(rounds, key=lambda entry: entry[1])[-3:]
        corners, length = [home], 0.0
        # Back and forth between places until the route is long or has the maximum number of stops, so that a small map suffices.
        while length < 130_000 and len(corners) < 97:
            place, way = rounds[len(corners) // 2 % len(rounds)]
            corners += [place, home]
            length += way
        run.obeys = False
        begin = time.monotonic()
        answer = run.set_route(corners, seconds=60, attempts=3)
        run.sleep(1)
        route = run.observer.latest.get("/nav/route")
        run.facts |= {
            "route_bytes": route.size if route else 0,
            "km": round(length / 1000),
            "answer_s": round(time.monotonic() - begin, 1),
        }
        run.expect(answer.route_id > 0, "SetRoute with a long route is answered", answer)
        everybody_hears(run, echoes, 1.0, f"a route of {run.facts['route_bytes'] >> 10} KiB")
    finally:
        for echo in echoes:
            echo.end()


def deaf_payload(run: Run, sizes: list[int]) -> None:
    """Publishes payloads of a foreign node at random phases on a topic that navigation-node subscribes to."""
    echoes = [Echo(run, "/gnss/fix", "latitude"), Echo(run, "/nav/progress")]
    try:
        traffic = run.publisher("traffic", TRAFFIC)
        traffic.subscribers("/traffic/speeds", 2, 10)
        # After the first hundreds of messages and before the subscriber first reports the number of messages that it has read.
        run.sleep(run.rng.uniform(8, 15))
        for size in sizes:
            run.sleep(run.rng.uniform(0.2, 4))
            payload = run.types.TrafficSpeeds(stamp_ns=time.time_ns(), provider="x" * (size - 40)).SerializeToString()
            traffic.publish("/traffic/speeds", payload)
            run.sleep(0.3 + size / 30e6)
            everybody_hears(run, echoes, 1.0, f"a payload of {size >> 10} KiB")
            if run.failures:
                break
        traffic.close()
    finally:
        for echo in echoes:
            echo.end()


@fault("deaf-small", "foreign payloads of 68 kB to 1 MB at random phases", FAST, quick=True)
def deaf_small(run: Run) -> None:
    """Subscribers continue to receive messages after small payloads."""
    deaf_payload(run, [1_000_000, 68_000, 300_000])


@fault("deaf-burst", "three foreign payloads of 70 kB to 8 MB in a row", FAST, live=True)
def deaf_burst(run: Run) -> None:
    """All subscribers receive messages afterwards, regardless of the phase of their connections."""
    traffic = run.publisher("traffic", TRAFFIC)
    try:
        traffic.subscribers("/traffic/speeds", 2, 10)
        for size in (run.rng.randrange(70_000, 8_000_000) for _ in range(3)):
            payload = run.types.TrafficSpeeds(stamp_ns=time.time_ns(), provider="x" * size).SerializeToString()
            traffic.publish("/traffic/speeds", payload)
        run.sleep(1)
        everybody_hears(run, [], 1.0, "three large payloads", (0.0, 2.0))
    finally:
        traffic.close()


@fault("deaf-large", "foreign payloads of 4 MB to 16 MB, and one above the topic's limit", FAST)
def deaf_large(run: Run) -> None:
    """Subscribers continue to receive messages after large payloads; only the last payload must be rejected."""
    deaf_payload(run, [4_000_000, 16 << 20, 24 << 20])


@fault("deaf-recorder", "a foreign payload of 64 MiB on a topic to which only the recorder subscribes")
def deaf_recorder(run: Run) -> None:
    """The recorder continues to record, and counts messages that are too large for it."""
    large = run.publisher("camera", {"/rig/image": ("navbus.v1.LogEntry", 64 << 20)})
    run.require(run.wait(lambda: large.subscribers("/rig/image", 2, 0.1), 10), "recorder and observer subscribe")
    run.sleep(run.rng.uniform(1, 4))
    for size in (1 << 20, 31 << 20, 33 << 20, 64 << 20):
        large.publish("/rig/image", bytes(size - 64))
        run.sleep(3)
    run.expect(run.stack.is_up("recorder"), "the recorder continues", f"it has ended; see {run.stack.log}")
    run.sleep(2)
    large.close()


@fault("flood-odometry", "a foreign node publishes odometry as fast as possible for 8 s")
def flood_odometry(run: Run) -> None:
    """navigation-node keeps processing the receiver's fixes, or reports why not, and recovers afterwards."""
    run.accounts = False  # Messages lost between the flood and the observer are not examined.
    program = pathlib.Path(__file__).with_name("flood.py")
    done = subprocess.Popen([sys.executable, program, run.stack.bus, "8"], env=run.stack.full_environment)
    memory = 0
    while done.poll() is None:
        memory = max(memory, resident_bytes(run.stack.pid("navigation-node")))
        time.sleep(0.2)
    moment = run.now()
    run.facts["peak_mib"] = memory >> 20
    run.within(run.wait(run.guided_since(moment), 40), 5, "guidance is up to date after a flood", "guidance_s")
    run.expect(memory < 700 << 20, "a flood does not exhaust the memory", f"{memory >> 20} MiB")


@fault("flood-calls", "3,000 simultaneous calls to navigation-node", live=True)
def flood_calls(run: Run) -> None:
    """All requests are answered or rejected, and guidance continues in the meantime."""
    told = bus.announcement(run.stack.bus, "navigation-node")
    frames, count = run.types.ServiceFrame, 3_000
    calls = zmq.Context.instance().socket(zmq.DEALER)
    calls.setsockopt(zmq.LINGER, 0)
    calls.setsockopt(zmq.SNDHWM, 0)
    calls.setsockopt(zmq.RCVHWM, 0)
    calls.connect(told["endpoints"]["rpc"])
    begin = time.monotonic()
    for number in range(1, count + 1):
        asked = frames(
            kind=bus.REQUEST,
            call_id=number,
            service="navbus.v1.Navigation",
            method="GetState",
            credit=1,
            timeout_ns=30 * 10**9,
        )
        calls.send_multipart([asked.SerializeToString(), b""])
    ends = set()
    while len(ends) < count and time.monotonic() < begin + 60:
        if calls.poll(200):
            frame = frames.FromString(calls.recv_multipart()[0])
            if frame.kind == bus.END:
                ends.add(frame.call_id)
    calls.close(0)
    run.expect(len(ends) == count, "every call of a flood ends", f"{len(ends)} of {count}")
    back_after(run, run.now(), 2, "a flood of calls")


@fault("flood-bad-calls", "200 invalid calls", live=True)
def flood_bad_calls(run: Run) -> None:
    """Each request is rejected with a message; none crashes the node."""
    types, rng = run.types, run.rng
    silent = 0
    for _ in range(200):
        method = rng.choice(["SetRoute", "CalculateRoute", "Reroute", "SkipWaypoint", "SelectAlternative", "Nonsense"])
        request = types.SetRouteRequest()
        for _ in range(rng.randrange(4)):
            request.calculate.waypoints.add(
                latitude=rng.choice([91.0, float("nan"), -1e300, 0.0]), longitude=rng.uniform(-999, 999)
            )
        if method == "SkipWaypoint":
            request = types.SkipWaypointRequest(waypoint_index=rng.randrange(100, 1 << 31))
        elif method == "SelectAlternative":
            request = types.SelectAlternativeRequest(route_id=rng.getrandbits(63))
        elif method == "Reroute":
            continue
        try:
            run.client.call(method, request, method.replace("Nonsense", "SetRoute") + "Response", seconds=5)
        except CallFailed as error:
            silent += error.code == 4
        except Exception:
            pass
    run.expect(silent == 0, "invalid calls are rejected", f"{silent} were not answered")
    back_after(run, run.now(), 3, "bad calls")


@fault(
    "peer-stopped", "a subscriber of all topics is stopped while 60 MB are published, then continues", Scene(fix_hz=10)
)
def peer_stopped(run: Run) -> None:
    """The subscriber slows down no other node, and receives messages again when it continues."""
    echo = Echo(run, "*", "stamp_ns")
    try:
        run.require(run.wait(lambda: echo.count > 5, 20), "the subscriber receives messages")
        os.kill(echo._process.pid, signal.SIGSTOP)
        blobs = run.publisher("camera", {"/rig/image": ("navbus.v1.LogEntry", 1 << 20)})
        run.sleep(1.5)
        for _ in range(60):
            blobs.publish("/rig/image", bytes(1_000_000))
            time.sleep(0.1)
        moment = run.now()
        run.within(run.wait(run.guided_since(moment), 15), 1, "a stopped subscriber slows down no other node")
        os.kill(echo._process.pid, signal.SIGCONT)
        run.sleep(3)
        for _ in range(3):
            count = echo.count
            run.within(run.wait(lambda: echo.count > count + 20, 15), 4, "the subscriber receives messages again")
        blobs.close()
    finally:
        os.kill(echo._process.pid, signal.SIGCONT)
        echo.end()


@fault("peer-unread", "20 connections to each node are opened and never read", live=True)
def peer_unread(run: Run) -> None:
    """A client that connects and sends nothing uses no resources."""
    connections = []
    for node in ("gnss-node", "navigation-node"):
        for end in ("pub", "rpc"):
            for _ in range(20):
                peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                peer.settimeout(2)
                try:
                    peer.connect(str(run.stack.bus / "0" / node / end))
                except OSError:
                    continue
                connections.append(peer)
    run.sleep(3)
    back_after(run, run.now(), 1, "silent connections")
    for peer in connections:
        peer.close()


@fault("peer-garbage", "peers send random bytes to every socket", quick=True, live=True)
def peer_garbage(run: Run) -> None:
    """Garbage is dropped with its connection."""
    for _ in range(40):
        node = run.rng.choice(["gnss-node", "navigation-node", *(["recorder"] if run.scene.record else [])])
        end = run.rng.choice(["pub", "rpc"])
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.settimeout(2)
        greeting = run.rng.choice([b"", b"\xff" + bytes(8) + b"\x7f", b"GET / HTTP/1.1\r\n\r\n"])
        try:
            peer.connect(str(run.stack.bus / "0" / node / end))
            peer.sendall(greeting + run.rng.randbytes(run.rng.randrange(1, 5_000)))
        except OSError:
            pass
        peer.close()
    back_after(run, run.now(), 1, "garbage")


@fault("peer-frames", "a foreign node publishes garbage on all topics that navigation-node reads", live=True)
def peer_frames(run: Run) -> None:
    """Unreadable messages are counted and dropped."""
    topics = {
        "/gnss/fix": ("navbus.v1.GnssFix", 16384),
        "/vehicle/odometry": ("navbus.v1.VehicleOdometry", 4096),
        **TRAFFIC,
    }
    liar = run.publisher("liar", topics)
    run.wait(lambda: liar.subscribers("/gnss/fix", 2, 0.1), 10)
    for _ in range(300):
        topic = run.rng.choice(list(topics))
        data = run.rng.randbytes(run.rng.randrange(200))
        frames = run.rng.choice([[data], [run.rng.randbytes(36), data], [b"", b""], [data] * 5])
        liar.socket.send_multipart([topic.encode() + b"\0", *frames])
        time.sleep(0.005)
    run.sleep(1)
    liar.close()
    back_after(run, run.now(), 1, "garbage in messages")
