#!/usr/bin/env python3
"""Plays a drive to navigation-node with stalls, delays, wrong stamps or another rate, and checks that few positions are predicted.

    time_faults.py stall|stopped|latency|jitter|future|back|rate-FACTOR TILES DRIVE.mcap LATITUDE,LONGITUDE

Needs navbus and navigation-node in PATH, and Python with pyzmq, protobuf and mcap. Prints the observations; the exit status is 1 if an
expectation fails.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from mcap.reader import make_reader

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Faults"))
from bus import Messages, Observer, Publisher, announcement  # noqa: E402

PREDICTED, ARRIVED, APPLIED = 2, 2, 4
HZ = 10
types = Messages()


class Stack:
    """A navigation-node on a separate bus, and an observer of its publications."""

    def __init__(self, *settings: str) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="navbus-"))
        self.environment = dict(os.environ, NAVBUS_DIR=str(self.folder))
        self.observer = Observer(self.folder, types)
        self.observer.start()
        options = [word for setting in settings for word in ("--set", setting)]
        self.node = subprocess.Popen(
            ["navigation-node", *options], env=self.environment, stdout=subprocess.DEVNULL,
            stderr=open(self.folder / "log", "w"),
        )  # fmt: skip
        self.wait(lambda: announcement(self.folder, "navigation-node"), "navigation-node announces itself")

    def wait(self, condition, what: str, seconds: float = 240) -> None:
        """Waits until a condition is true."""
        end = time.monotonic() + seconds
        while not condition():
            status = self.node.poll()
            if time.monotonic() > end or status is not None:
                why = f"not within {seconds} s" if status is None else f"navigation-node has ended with {status}"
                positions = [f"{p.stamp_ns / 1e9:.2f} source {p.source}" for p in self.said("/nav/position")[-5:]]
                rejected = [f"{r.reason} {r.value:.2f}" for r in self.said("/nav/fix_rejected")[-20:]]
                log = (self.folder / "log").read_text()[-2000:]
                sys.exit(f"{what}: {why}\nlast positions {positions}, rejected {rejected}\n{log}")
            time.sleep(0.02)

    def said(self, topic: str) -> list:
        """Returns the messages received on a topic."""
        return [heard.message for heard in self.observer.since(0, topic)]

    def judge(self, fault: str, last_stamp: int, predicted: int, tail: int) -> None:
        """Checks that few positions are predicted, and almost none at the end, when guidance has recovered.

        A machine that stalls every process for a tenth of a second, a second at ten times real time, may cause a prediction.
        """
        self.wait(lambda: any(p.stamp_ns >= last_stamp for p in self.said("/nav/position")), "the last position", 20)
        sources = [position.source for position in self.said("/nav/position")]
        count = sum(source == PREDICTED for source in sources)
        last = sum(source == PREDICTED for source in sources[-tail:])
        text = f"{fault}: {len(sources)} positions, {count} predicted, {last} of the last {tail}"
        print(text)
        if count > predicted or last > tail // 20 or len(sources) < tail:
            sys.exit(f"{text}: at most {predicted} and {tail // 20} are expected")

    def judge_progress(self, fault: str, metres: float) -> None:
        """Checks that the vehicle follows its first route and its progress advances."""
        rerouted = [event.phase for event in self.said("/nav/reroute")]
        traveled = [progress.distance_traveled_m for progress in self.said("/nav/progress")]
        text = f"{fault}: {len(traveled)} progress messages, {max(traveled, default=0):.0f} m, reroutes {rerouted}"
        print(text)
        if rerouted or max(traveled, default=0) < metres:
            sys.exit(f"{text}: no reroute and {metres:.0f} m are expected")

    def judge_arrival(self, *, arrives: bool = True) -> None:
        """Checks that the wrong turn leads to a reroute and the new route to the destination."""
        rerouted = {event.phase for event in self.said("/nav/reroute")}
        arrived = [event for event in self.said("/nav/arrival") if event.phase == ARRIVED]
        if APPLIED not in rerouted or arrives and not arrived:
            sys.exit(f"the wrong turn was not detected, or the destination not reached: {rerouted}, {len(arrived)}")

    def close(self) -> None:
        """Ends the node and removes its bus."""
        self.node.kill()
        self.node.wait()
        self.observer.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def fixes(drive: str, skipped: int = 20) -> list:
    """Returns the fixes of a drive without the first `skipped` ones."""
    with open(drive, "rb") as file:
        found = [types.GnssFix.FromString(m.data) for _, _, m in make_reader(file).iter_messages(topics=["/gnss/fix"])]
    return found[skipped:]


def stall(fault: str, tiles: str, drive: str, goal: str, seconds: float) -> None:
    """Suspends the player or the node during playback at ten times real time; the drive must continue normally."""
    stack = Stack(f"tiles={tiles}", f"destination={goal}", "sim_time=true")
    try:
        player = subprocess.Popen(
            ["navbus", "bag", "play", drive, "--rate", "10", "--clock"], env=stack.environment,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        stack.wait(lambda: len(stack.said("/nav/position")) > 60 or player.poll() is not None, "60 positions")
        stopped = player if fault == "stall" else stack.node
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        stopped.send_signal(signal.SIGCONT)
        stack.wait(lambda: player.poll() is not None, "the player ends")
        last = fixes(drive)[-1].timestamp
        # Twenty predictions are tolerated, because the machine may stall all processes.
        stack.judge(fault, last.seconds * 10**9, predicted=20, tail=100)
        stack.judge_arrival()
    finally:
        stack.close()


def pace(tiles: str, drive: str, goal: str, rate: float) -> None:
    """Plays the drive at a rate: the whole drive at high rates, up to the wrong turn at ten, only the first seconds at low rates."""
    whole = fixes(drive, skipped=0)
    seconds = 12 if rate < 1 else 20 if rate < 5 else 160 if rate < 20 else len(whole) - 1
    stack = Stack(f"tiles={tiles}", f"destination={goal}", "sim_time=true")
    try:
        player = subprocess.Popen(
            ["navbus", "bag", "play", drive, "--rate", f"{rate}", "--clock", "--end", f"{seconds}"],
            env=stack.environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        stack.wait(lambda: player.poll() is not None, "the player ends")
        # At the first fix there is no route yet, and a stalled machine may lose some fixes.
        stack.judge(f"rate {rate:g}", whole[seconds - 1].timestamp.seconds * 10**9, predicted=10, tail=seconds * 3 // 4)
        if seconds < 100:
            stack.judge_progress(f"rate {rate:g}", seconds)
        else:
            stack.judge_arrival(arrives=seconds == len(whole) - 1)
    finally:
        stack.close()


def stream(fault: str, tiles: str, goal: str, source: list, delay, shift, predicted: int, *, dwells: bool = False,
           metres: float = 0) -> None:  # fmt: skip
    """Publishes fixes at 10 Hz without a time of reception, with delays and shifted stamps, seconds."""
    stack = Stack(f"tiles={tiles}", f"destination={goal}", f"arrival.dwell_s={6 if dwells else 0}")
    try:
        receiver = Publisher(stack.folder, types, "receiver", {"/gnss/fix": ("navbus.v1.GnssFix", 16384)})
        if not receiver.subscribers("/gnss/fix", 1, 60):
            sys.exit("navigation-node does not subscribe to /gnss/fix")
        begin, base = time.monotonic(), time.time_ns()
        numbers = range((len(source) - 1) * HZ)
        # The stamp of the newest fix, which need not arrive last.
        newest = base + int((numbers[-1] / HZ + shift(numbers[-1] / HZ)) * 1e9)
        for due, index in sorted((number / HZ + delay(number / HZ), number) for number in numbers):
            time.sleep(max(begin + due - time.monotonic(), 0))
            before, after, share = source[index // HZ], source[index // HZ + 1], index % HZ / HZ
            fix = types.GnssFix()
            fix.CopyFrom(before)
            fix.ClearField("receive_stamp_ns")
            fix.latitude += (after.latitude - before.latitude) * share
            fix.longitude += (after.longitude - before.longitude) * share
            stamp = base + int((index / HZ + shift(index / HZ)) * 1e9)
            fix.timestamp.seconds, fix.timestamp.nanos = divmod(stamp, 10**9)
            receiver.publish("/gnss/fix", fix.SerializeToString())
        stack.judge(fault, newest, predicted=predicted, tail=20)
        if metres:
            stack.judge_progress(fault, metres)
        if dwells and not any(event.phase == ARRIVED for event in stack.said("/nav/arrival")):
            sys.exit(f"{fault}: the destination was not reached")
        receiver.close()
    finally:
        stack.close()


def main() -> None:
    """Runs one fault."""
    fault, tiles, drive, goal = sys.argv[1:]
    if fault.startswith("rate-"):
        return pace(tiles, drive, goal, float(fault.removeprefix("rate-")))
    found = fixes(drive)
    match fault:
        case "stall":
            stall(fault, tiles, drive, goal, seconds=0.35)
        case "stopped":
            stall(fault, tiles, drive, goal, seconds=3)
        case "latency":  # From 0.1 s to 4.1 s: fixes are missing for 4 s, then continue.
            stream(fault, tiles, goal, found[:13], lambda t: 0.1 if t < 5 else 4.1, lambda t: 0.0, predicted=60)
        case "jitter":  # Each fix is delayed by 0.05 s to 0.65 s, so that some overtake others.
            dice = random.Random(7)
            late = lambda t: dice.uniform(0.05, 0.65)  # noqa: E731
            stream(fault, tiles, goal, found[:13], late, lambda t: 0.0, predicted=5, metres=50)
        case "future":  # Three fixes are stamped 10 s in the future.
            future = lambda t: 10.0 if t in (5.0, 5.5, 6.0) else 0.0  # noqa: E731
            stream(fault, tiles, goal, found[:11], lambda t: 0.1, future, predicted=5)
        case "back":  # The receiver's clock is set back by an hour while the vehicle is stationary at its destination.
            found = found[-21:] + found[-1:] * 10
            stream(fault, tiles, goal, found, lambda t: 0.1, lambda t: -3600.0 if t >= 20 else 0.0, 5, dwells=True)


if __name__ == "__main__":
    main()
