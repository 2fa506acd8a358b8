"""What must be true whatever is done to the stack: the time that counts, arrivals, latched values, counts, bags, memory."""

import os
import pathlib
import re
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from mcap.reader import make_reader

import bus
import stack
from bus import Heard, Observer
from vehicle import Vehicle, distance

# An arrival announced farther than this from the stop is false.
ARRIVAL_M = 60.0
# A measured position farther than this from the true one is wrong.
POSITION_M = 60.0


class Pace(threading.Thread):
    """Counts the time that the stack had, without the time that its threads spent waiting for a processor.

    Deadlines are judged by it, so that a busy machine does not count against the programs. The rig's threads count, too:
    a fix that its vehicle sends late arrives late. It runs at least at a tenth of real time, so that the rig does not
    wait forever for a node that does.
    """

    def __init__(self, launcher: int) -> None:
        super().__init__(name="pace", daemon=True)
        self._launcher = launcher
        self._own, self._wall = 0.0, time.monotonic()
        self._ends = threading.Event()
        self._guard = threading.Lock()
        self._waits: dict[tuple[int, str], int] = {}
        self._look()

    def _processes(self) -> list[int]:
        try:
            children = pathlib.Path(f"/proc/{self._launcher}/task/{self._launcher}/children").read_text().split()
        except OSError:
            children = []
        return [os.getpid(), self._launcher, *map(int, children)]

    def _look(self) -> float:
        """The longest time that a thread has waited since the last check, seconds."""
        pids = [pid for pid in self._processes() if "bag record" not in stack.command_of(pid)]
        waits = stack.waited_for_processor(pids)
        longest = max((wait - self._waits.get(thread, 0) for thread, wait in waits.items()), default=0)
        self._waits = waits
        return longest / 1e9

    def run(self) -> None:
        while not self._ends.wait(0.2):
            waited = self._look()
            with self._guard:
                now = time.monotonic()
                passed = now - self._wall
                self._own += max(passed - waited, passed / 10)
                self._wall = now

    def now(self) -> float:
        """Seconds that the stack has had so far, without its waits for a processor."""
        with self._guard:
            return self._own + (time.monotonic() - self._wall)

    def end(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self.join()


@dataclass
class Waited:
    """How a wait ended, and how long it was by the wall clock and by the stack's own time."""

    done: bool
    wall: float
    own: float

    def __str__(self) -> str:
        text = f"{self.wall:.2f} s" + (f" ({self.own:.2f} s of its own)" if self.wall - self.own > 0.3 else "")
        return text if self.done else f"nothing within {text}"


@dataclass
class Watch:
    """Judges each message against the truth, as long as the rig runs."""

    vehicle: Vehicle
    observer: Observer
    false_arrivals: list[str] = field(default_factory=list)
    wrong_positions: list[str] = field(default_factory=list)
    reached: list[tuple[float, int, int]] = field(default_factory=list)
    clock_shift_s: float = 0.0

    def __post_init__(self) -> None:
        self._complete: tuple[int, int] | None = None
        self.observer.listeners.append(self.take)

    def take(self, heard: Heard) -> None:
        """Checks a message."""
        if heard.message is None:
            return
        if heard.topic == "/nav/arrival":
            self._arrival(heard)
        elif heard.topic == "/nav/state":
            self._state(heard)
        elif heard.topic == "/nav/position":
            self._position(heard)

    def _away(self, waypoint: object) -> float:
        # The place where the vehicle stops is on the road; the requested place may be beside it.
        snapped = waypoint.snapped if waypoint.HasField("snapped") else waypoint
        return distance(self.vehicle.place, (snapped.latitude, snapped.longitude))

    def _arrival(self, heard: Heard) -> None:
        event = heard.message
        if event.phase != 2:
            return
        away = self._away(event.waypoint)
        if away > ARRIVAL_M:
            self.false_arrivals.append(f"ARRIVED at waypoint {event.waypoint_index} told {away:.0f} m before it")
        self.reached.append((heard.at, heard.boot, event.waypoint_index))

    def _state(self, heard: Heard) -> None:
        state = heard.message
        if state.guidance != 5:
            self._complete = None
            return
        key = (heard.boot, state.route_id)
        if key != self._complete and state.HasField("destination"):
            self._complete = key
            away = self._away(state.destination)
            if away > ARRIVAL_M:
                self.false_arrivals.append(f"COMPLETE told {away:.0f} m before the destination")

    def _position(self, heard: Heard) -> None:
        position = heard.message
        if position.source != 1 or not position.HasField("matched"):
            return
        truth = self.vehicle.truth(position.stamp_ns)
        if truth is None:
            return
        away = distance(truth.place, (position.matched.latitude, position.matched.longitude))
        # On the other side of the antimeridian these calculations are not valid.
        if POSITION_M < away < 1e6 and position.stamp_ns > self.vehicle.misled_until:
            self.wrong_positions.append(f"a measured position {away:.0f} m beside the truth")


def lost_latched(observer: Observer, directory: pathlib.Path, seconds: float = 10.0) -> list[str]:
    """Latched values of live nodes that a late joiner does not receive."""
    wanted: dict[tuple[str, int], int] = {}
    for node in bus.nodes(directory):
        told = bus.announcement(directory, node)
        if told is None or not bus.is_alive(directory, node):
            continue
        for topic in told["topics"]:
            key = (topic["name"], int(told["boot_id"], 16))
            if topic["qos"]["kind"] == "latched" and key in observer.tracks:
                wanted[key] = observer.tracks[key].last
    heard = bus.join_late(
        directory, observer.types, lambda heard: all(heard.get(key, 0) >= last for key, last in wanted.items()), seconds
    )
    return [
        f"{topic} of {observer.tracks[topic, boot].node}: "
        + (f"#{heard[topic, boot]} in place of #{last}" if (topic, boot) in heard else "nothing")
        for (topic, boot), last in wanted.items()
        if heard.get((topic, boot), 0) < last
    ]


# The form in which the recorder reports what it has not recorded.
TOLD = r"(\d+) (?:lost in transit|dropped by the recorder|too large or malformed|not written to the disk)"
# The identity of a message: its topic, its number, and the stamp of its publisher.
Key = tuple[str, int, int]


def read_bag(path: pathlib.Path) -> tuple[set[Key], str | None]:
    """The content of a bag, and why Python's reader cannot read it; None if it can."""
    keys: set[Key] = set()
    try:
        with open(path, "rb") as file:
            for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
                keys.add((channel.topic, message.sequence, message.publish_time))
    except Exception as error:  # The reader raises errors of many kinds; each of them is a finding.
        return keys, f"{type(error).__name__}: {error}"
    return keys, None


@dataclass
class Account:
    """How the messages of all topics are accounted for in the recording."""

    published: int = 0
    recorded: int = 0
    # Published before the recorder had joined that run of the publisher, so the recorder does not know of them.
    before_joining: int = 0
    # On their way when their publisher was killed, or when the recorder was stopped.
    cut_off: int = 0
    # Missing in the bag for no such reason: lost on the way. The recorder reported this number.
    lost: int = 0
    told_lost: int = 0
    details: list[str] = field(default_factory=list)

    @property
    def unaccounted(self) -> int:
        """Messages that are not accounted for."""
        return max(0, self.lost - self.told_lost)


# How long a recorder may take to join a new publisher, and how many messages may be under way at a kill.
JOINING_S, UNDER_WAY = 10.0, 20


def account(observer: Observer, bags: list[pathlib.Path], log: str, until: float, killed: set[int]) -> Account:
    """Compares the publishers' messages with the bags and with the losses that the recorder reports.

    `until` is the time when the recorder was asked to end, `killed` are the runs of publishers that were killed.
    """
    total, keys = Account(), set()
    for path in bags:
        keys |= read_bag(path)[0]
    for (topic, boot), track in sorted(observer.tracks.items()):
        kept = {number for number, (stamp, _) in track.stamps.items() if (topic, number, stamp) in keys}
        total.published += track.last
        total.recorded += len(kept)
        # The time of messages from before the observer joined is unknown here, and not later than that of its first message.
        total.before_joining += track.first - 1
        begin = track.stamps[track.first][1]
        lost = tail = 0
        for number, (_, at) in track.stamps.items():
            if number in kept:
                continue
            if number < min(kept, default=1 << 62) and at < begin + JOINING_S:
                total.before_joining += 1
            elif number > max(kept, default=0) and at > until - 0.5:
                total.cut_off += 1
            elif number > max(kept, default=0) and boot in killed and tail < UNDER_WAY:
                tail += 1
            else:
                lost += 1
        total.cut_off += tail
        total.lost += lost
        if lost:
            total.details.append(f"{topic} of {track.node}: {lost} of {track.last} are not in the bag")
    total.told_lost = sum(int(number) for number in re.findall(TOLD, log))
    return total


@dataclass
class Footprint:
    """Memory and descriptors of each run of each node, from the end of its warm-up."""

    warm_s: float = 60.0
    # How much a node may gain after that: caches fill, and a route may be longer than the previous one.
    memory_bytes: int = 32 << 20
    descriptors: int = 12
    seen: dict[int, list[tuple[float, int, int]]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)

    def look(self, stack_: "stack.Stack") -> None:
        """Records the nodes' current values."""
        for node in bus.nodes(stack_.bus):
            told = bus.announcement(stack_.bus, node)
            if told and node in stack.NODES and stack.is_process(told["pid"]):
                pid = told["pid"]
                self.names[pid] = node
                self.seen[pid].append((time.monotonic(), stack.resident_bytes(pid), stack.descriptor_count(pid)))

    def growth(self) -> list[str]:
        """Runs of nodes whose memory or descriptors have grown."""
        grown = []
        for pid, looks in self.seen.items():
            warm = [look for look in looks if look[0] >= looks[0][0] + self.warm_s]
            if len(warm) < 10:
                continue
            tenth = max(len(warm) // 10, 3)
            memory = [min(look[1] for look in part) for part in (warm[:tenth], warm[-tenth:])]
            files = [min(look[2] for look in part) for part in (warm[:tenth], warm[-tenth:])]
            if memory[1] - memory[0] > self.memory_bytes:
                grown.append(f"{self.names[pid]}: memory from {memory[0] >> 20} to {memory[1] >> 20} MiB")
            if files[1] - files[0] > self.descriptors:
                grown.append(f"{self.names[pid]}: descriptors from {files[0]} to {files[1]}")
        return grown
