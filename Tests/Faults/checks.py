"""The invariants of every run: arrivals, positions, latched messages, lost messages, bags, memory; and the stack's own time."""

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

# The distance from the stop beyond which an announced arrival is false.
ARRIVAL_M = 60.0
# The distance from the true position beyond which a measured position is wrong.
POSITION_M = 60.0


class Pace(threading.Thread):
    """A clock of the stack's own time, which excludes the time that its threads wait for a processor.

    Deadlines use this clock, so that a busy machine causes no failures. Waits of the rig's threads are excluded, too,
    because its vehicle then sends fixes late. The clock runs at a tenth of real time at least, so that the rig does not
    wait forever for a hanging node.
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
        """Returns the longest time that a thread has waited since the last check, seconds."""
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
        """Returns the stack's own time so far, seconds."""
        with self._guard:
            return self._own + (time.monotonic() - self._wall)

    def end(self) -> None:
        """Ends the thread."""
        self._ends.set()
        self.join()


@dataclass
class Waited:
    """The result of a wait, with its duration by the wall clock and in the stack's own time."""

    done: bool
    wall: float
    own: float

    def __str__(self) -> str:
        text = f"{self.wall:.2f} s" + (f" ({self.own:.2f} s of its own)" if self.wall - self.own > 0.3 else "")
        return text if self.done else f"nothing within {text}"


@dataclass
class Watch:
    """An observer that compares each message with the truth while the rig runs."""

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
        # The vehicle stops on the road; the requested place may be beside it.
        snapped = waypoint.snapped if waypoint.HasField("snapped") else waypoint
        return distance(self.vehicle.place, (snapped.latitude, snapped.longitude))

    def _arrival(self, heard: Heard) -> None:
        event = heard.message
        if event.phase != 2:
            return
        away = self._away(event.waypoint)
        if away > ARRIVAL_M:
            self.false_arrivals.append(f"ARRIVED announced {away:.0f} m before waypoint {event.waypoint_index}")
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
                self.false_arrivals.append(f"COMPLETE announced {away:.0f} m before the destination")

    def _position(self, heard: Heard) -> None:
        position = heard.message
        if position.source != 1 or not position.HasField("matched"):
            return
        truth = self.vehicle.truth(position.stamp_ns)
        if truth is None:
            return
        away = distance(truth.place, (position.matched.latitude, position.matched.longitude))
        # These calculations are not valid across the antimeridian.
        if POSITION_M < away < 1e6 and position.stamp_ns > self.vehicle.misled_until:
            self.wrong_positions.append(f"a measured position {away:.0f} m from the true one")


def lost_latched(observer: Observer, directory: pathlib.Path, seconds: float = 10.0) -> list[str]:
    """Returns the latched messages of live nodes that a late joiner does not receive."""
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
        + (f"#{heard[topic, boot]} instead of #{last}" if (topic, boot) in heard else "nothing")
        for (topic, boot), last in wanted.items()
        if heard.get((topic, boot), 0) < last
    ]


# The texts with which the recorder reports messages that it has not recorded.
TOLD = r"(\d+) (?:lost in transit|dropped by the recorder|too large or malformed|not written to the disk)"
# The identity of a message: its topic, its sequence, and the publisher's stamp.
Key = tuple[str, int, int]


def read_bag(path: pathlib.Path) -> tuple[set[Key], str | None]:
    """Returns the messages of a bag, and the error of Python's reader; None without an error."""
    keys: set[Key] = set()
    try:
        with open(path, "rb") as file:
            for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
                keys.add((channel.topic, message.sequence, message.publish_time))
    except Exception as error:  # The reader raises many kinds of errors; each of them is a finding.
        return keys, f"{type(error).__name__}: {error}"
    return keys, None


@dataclass
class Account:
    """The numbers of published messages by what became of them in the recording."""

    published: int = 0
    recorded: int = 0
    # Published before the recorder had subscribed to that run of the publisher.
    before_joining: int = 0
    # In transit when their publisher was killed or the recorder was stopped.
    cut_off: int = 0
    # Missing in the bag for no such reason, and the number of losses that the recorder reported.
    lost: int = 0
    told_lost: int = 0
    details: list[str] = field(default_factory=list)

    @property
    def unaccounted(self) -> int:
        """Messages that are not accounted for."""
        return max(0, self.lost - self.told_lost)


# The time that a recorder may take to subscribe to a new publisher, and the number of messages that may be in transit at a kill.
JOINING_S, UNDER_WAY = 10.0, 20


def account(observer: Observer, bags: list[pathlib.Path], log: str, until: float, killed: set[int]) -> Account:
    """Compares the publishers' messages with the bags and with the losses that the recorder reports.

    `until` is the time at which the recorder was stopped, `killed` are the runs of publishers that were killed.
    """
    total, keys = Account(), set()
    for path in bags:
        keys |= read_bag(path)[0]
    for (topic, boot), track in sorted(observer.tracks.items()):
        kept = {number for number, (stamp, _) in track.stamps.items() if (topic, number, stamp) in keys}
        total.published += track.last
        total.recorded += len(kept)
        # Messages from before the observer subscribed are not later than its first message.
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
    """The memory and descriptors of each run of each node after its warm-up."""

    warm_s: float = 60.0
    # The permitted growth after the warm-up: caches fill, and a route may be longer than the previous one.
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
        """Returns the runs of nodes whose memory or descriptors have grown beyond the limits."""
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
