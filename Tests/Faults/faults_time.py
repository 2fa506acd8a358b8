"""Clocks that step, receivers that fall silent or report a wrong time, bags with gaps."""

import os
import signal
import subprocess
import time

from mcap.writer import Writer

from registry import fault
from run import MEASURED, PREDICTED, Moment, Run, Scene
from stack import is_process

STEPS = {"1s": 1.0, "5s": 5.0, "1h": 3_600.0, "1y": 31_557_600.0}


def positions(run: Run, since: Moment, source: int) -> int:
    """Returns the number of positions from a source since a moment."""
    return sum(
        heard.message is not None and heard.message.source == source
        for heard in run.observer.since(since.at, "/nav/position")
    )


def step_clock(run: Run, seconds: float) -> None:
    """Steps the host's clock under the running stack while fixes continue."""
    assert run.shim
    run.sleep(run.rng.uniform(2, 8))
    moment = run.now()
    run.shim.step_to(seconds)
    run.within(
        run.wait(run.guided_since(moment), 60, moment),
        3,
        f"guidance by measured positions after a step of {seconds:+g} s",
        "guidance_s",
    )
    run.sleep(20)
    predicted = positions(run, moment, PREDICTED)
    run.facts["predicted"] = predicted
    run.expect(
        predicted <= 20, "a step of the host's clock causes no predictions while fixes arrive", f"{predicted} of them"
    )
    run.expect(run.is_guided(), "guidance continues", run.state_text())
    early = [
        heard.message.text
        for heard in run.observer.since(moment.at, "/nav/instruction/spoken")
        if heard.message and "arrived" in heard.message.text and run.vehicle.remaining > 300
    ]
    run.expect(
        not early,
        "no arrival is announced too early",
        f"'{early[0] if early else ''}' {run.vehicle.remaining:.0f} m before",
    )


def register_steps() -> None:
    """Registers steps forwards and backwards."""
    for name, seconds in STEPS.items():
        for direction, sign in (("forward", 1), ("back", -1)):

            def action(run: Run, shift: float = sign * seconds) -> None:
                step_clock(run, shift)

            fault(
                f"clock-{direction}-{name}",
                f"the host's clock is stepped {direction} by {name}",
                Scene(shim=True),
                quick=(direction, name) == ("forward", "5s"),
            )(action)


register_steps()


@fault("clock-wander", "the host's clock is stepped by a random time and back after 8 s", Scene(shim=True), live=True)
def clock_wander(run: Run) -> None:
    """Guidance survives the clock of a host without a battery that finds a time server and loses it."""
    assert run.shim
    for seconds in (run.rng.choice([1, -1]) * run.rng.choice(list(STEPS.values())), 0.0):
        moment = run.now()
        run.shim.step_to(seconds)
        run.within(
            run.wait(run.guided_since(moment), 60, moment), 3, f"guidance after a step to {seconds:+g} s", "guidance_s"
        )
        run.sleep(8)
        predicted = positions(run, moment, PREDICTED)
        run.expect(predicted <= 20, "a step of the host's clock causes no predictions", f"{predicted} of them")


@fault(
    "outage-standing",
    "no fix and no odometry while the vehicle brakes and stands 730 m before its destination",
    Scene(length_m=(1_300, 6_000)),
    quick=False,
)
def outage_standing(run: Run) -> None:
    """No arrival is inferred from predictions."""
    run.require(
        run.wait(lambda: run.vehicle.remaining <= 730 and run.vehicle.speed > 9, 600),
        "the vehicle is 730 m before its destination",
    )
    run.facts["speed_mps"] = round(run.vehicle.speed, 1)
    run.vehicle.receiver.silent = True
    run.vehicle.hold()
    run.sleep(90)
    run.facts["standing_m"] = round(run.vehicle.remaining)
    state = run.observer.last("/nav/state")
    run.expect(
        state.gnss.quality == 3 or state.position_source == PREDICTED,
        "the state reports that positioning is lost",
        run.state_text(),
    )
    moment = run.now()
    run.vehicle.receiver.silent = False
    run.vehicle.release()
    run.within(run.wait(run.guided_since(moment), 40), 5, "guidance is back when fixes return", "guidance_s")


@fault("outage-odometry", "no fix for 20 s with odometry while driving", Scene(odometry_hz=20, length_m=(1_300, 6_000)))
def outage_odometry(run: Run) -> None:
    """Positions are predicted from odometry and agree with the truth."""
    run.require(run.wait(lambda: run.vehicle.offset > 300, 120), "the vehicle drives")
    run.vehicle.receiver.silent, dark = True, run.now()
    run.sleep(20)
    moment = run.now()
    run.expect(positions(run, dark, PREDICTED) > 5, "positions are predicted with odometry", run.state_text())
    run.vehicle.receiver.silent = False
    run.within(run.wait(run.guided_since(moment), 30), 3, "guidance is back when fixes return", "guidance_s")


@fault("outage-gpsd", "gpsd disconnects for 6 s", live=True)
def outage_gpsd(run: Run) -> None:
    """Guidance resumes after a restart of gpsd."""
    run.vehicle.receiver.silent = True
    run.vehicle.hang_up()
    run.sleep(6)
    moment = run.now()
    run.vehicle.receiver.silent = False
    # The node retries after 1 s, 2 s, 4 s and so on.
    run.within(run.wait(run.guided_since(moment), 60), 8, "guidance is back with gpsd", "guidance_s")


@fault("receiver-late", "fixes arrive 1.5 s late for 15 s, then on time again", live=True)
def receiver_late(run: Run) -> None:
    """A step of the latency in either direction causes no permanent outage."""
    run.vehicle.receiver.delay_s = 1.5
    run.sleep(15)
    moment = run.now()
    run.vehicle.receiver.delay_s = 0.0
    run.within(run.wait(run.guided_since(moment), 40), 5, "guidance is back when fixes arrive on time", "guidance_s")


@fault("receiver-ahead", "fixes are stamped 30 s in the future for 10 s, then correctly again", live=True)
def receiver_ahead(run: Run) -> None:
    """After fixes from the future, correct fixes do not permanently count as too old."""
    run.vehicle.receiver.ahead_s = 30.0
    run.sleep(10)
    moment = run.now()
    run.vehicle.receiver.ahead_s = 0.0
    run.within(run.wait(run.guided_since(moment), 60), 10, "guidance is back when the stamps are correct", "guidance_s")


@fault("receiver-garbage", "gpsd sends garbage between its reports", live=True)
def receiver_garbage(run: Run) -> None:
    """Lines that are not reports are skipped."""
    moment = run.now()
    run.vehicle.receiver.garbage = bytes(run.rng.randrange(256) for _ in range(3_000)) + b'\n{"class":\n'
    run.sleep(5)
    run.vehicle.receiver.garbage = b""
    run.within(run.wait(run.guided_since(moment), 20), 5, "guidance continues", "guidance_s")


@fault("receiver-jump", "all fixes are 400 m off for 5 s", live=True)
def receiver_jump(run: Run) -> None:
    """Guidance resumes after a jump and its return."""
    run.vehicle.receiver.offset_m = 400.0
    run.sleep(5)
    run.vehicle.receiver.offset_m = 0.0
    moment = run.now()
    run.within(run.wait(run.guided_since(moment), 60), 15, "guidance is back after a jump", "guidance_s")
    run.sleep(3)


@fault("receiver-silent", "the receiver never sends anything", Scene(guided=False))
def receiver_silent(run: Run) -> None:
    """A receiver that is silent from the start is reported."""
    run.vehicle.receiver.silent = True

    def is_told() -> bool:
        health = run.observer.last("/health/gnss-node")
        return bool(health and health.state != 1 and health.reasons)

    # Restarted, because a few fixes may have been sent before.
    run.stack.signal("gnss-node", signal.SIGKILL)
    run.sleep(1)
    run.within(run.wait(is_told, 60), 15, "the health of gnss-node reports that its receiver is silent", "told_s")


@fault("receiver-slow", "the receiver sends one fix per minute", Scene(guided=False, trip="none"))
def receiver_slow(run: Run) -> None:
    """Each fix of a slow receiver leads to a measured position."""
    run.vehicle.receiver.interval_s = 60.0
    run.sleep(2)
    moment = run.now()
    run.sleep(185)
    fixes = len(run.observer.since(moment.at, "/gnss/fix"))
    measured = positions(run, moment, MEASURED)
    run.expect(measured >= fixes >= 2, "each fix leads to a measured position", f"{measured} of {fixes}")


def write_bag(path: str, run: Run, topics: dict[str, str], entries: list[tuple[str, int, bytes]]) -> None:
    """Writes a bag with messages of given topics, types and times."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        channels, sequences = {}, {}
        for topic, kind in topics.items():
            schema = writer.register_schema(kind, "protobuf", run.types.files.SerializeToString())
            channels[topic] = writer.register_channel(topic, "protobuf", schema)
        for topic, moment, data in entries:
            sequences[topic] = sequences.get(topic, 0) + 1
            writer.add_message(channels[topic], moment, data, moment, sequences[topic])
        writer.finish()


@fault("bag-gap", "a bag with a gap of five years is played", Scene(trip="none", starts=False, record=False))
def bag_gap(run: Run) -> None:
    """The player skips the gap without waiting and without busy looping."""
    begin = 1_767_258_000 * 10**9
    gap = 5 * 31_557_600 * 10**9
    entries = []
    for index in range(20):
        at = begin + index * 100_000_000 + (gap if index >= 10 else 0)
        fix = run.types.GnssFix(latitude=60.17, longitude=24.94 + index * 1e-5, horizontal_accuracy_m=3)
        fix.timestamp.seconds, fix.timestamp.nanos = divmod(at, 10**9)
        entries.append(("/gnss/fix", at, fix.SerializeToString()))
    path = str(run.folder / "gap.mcap")
    write_bag(path, run, {"/gnss/fix": "navbus.v1.GnssFix"}, entries)
    for rate in ("1", "1000000"):
        moment = time.monotonic()
        try:
            done = run.options.programs.run(
                "bag",
                "play",
                path,
                "--subscribers",
                "0",
                "--rate",
                rate,
                "--clock",
                environment=run.stack.full_environment,
                seconds=40,
            )
            said = f"status {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}"
            run.expect(done.returncode == 0, f"the bag is played at rate {rate}", said)
        except subprocess.TimeoutExpired:
            run.fail(f"a gap of five years is skipped at rate {rate}", "the player has not ended after 40 s")
        run.facts[f"rate_{rate}_s"] = round(time.monotonic() - moment, 1)


@fault("bag-clock", "/clock steps an hour within its epoch", Scene(trip="none", starts=False, record=False))
def bag_clock(run: Run) -> None:
    """A step of simulated time does not occupy a processor core."""
    player = run.publisher("player", {"/clock": ("navbus.v1.Clock", 1024)})
    environment = run.stack.full_environment
    start, goal = run.places.trip(run.rng, 0, 800, 4_000)
    run.vehicle.drive(run.places.line([start, goal]))
    line = run.vehicle.line
    node = subprocess.Popen(
        [
            str(run.options.programs.folder / "navigation-node"),
            "--set",
            f"tiles={run.tiles}",
            "--set",
            "sim_time=true",
            "--set",
            "destination=%.6f,%.6f" % goal,
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=open(run.folder / "node.log", "wb"),
    )
    try:
        player.subscribers("/clock", 1, 30)
        stamp, along = 1_767_258_000 * 10**9, 0.0
        fixes = run.publisher("receiver", {"/gnss/fix": ("navbus.v1.GnssFix", 16384)})
        fixes.subscribers("/gnss/fix", 1, 10)

        def play(seconds: float, jump_s: float = 0) -> float:
            nonlocal stamp, along
            stamp += int(jump_s * 1e9)
            before, begin = processor_seconds(node.pid), time.monotonic()
            while time.monotonic() - begin < seconds:
                player.publish("/clock", run.types.Clock(stamp_ns=stamp, rate=1.0, epoch=1).SerializeToString(), stamp)
                (latitude, longitude), _ = line.place(along)
                fix = run.types.GnssFix(latitude=latitude, longitude=longitude, horizontal_accuracy_m=3, speed=8)
                fix.timestamp.seconds, fix.timestamp.nanos = divmod(stamp, 10**9)
                if jump_s == 0:
                    fixes.publish("/gnss/fix", fix.SerializeToString(), stamp)
                    along += 0.8
                stamp += 100_000_000
                time.sleep(0.1)
            return (processor_seconds(node.pid) - before) / (time.monotonic() - begin)

        run.facts["load_before"] = round(play(8), 3)
        for name, jump in (("hour", 3_600), ("back", -7_200), ("year", 31_557_600)):
            load = run.facts[f"load_{name}"] = round(play(8, jump), 3)
            run.expect(is_process(node.pid), "the node stays alive", "it has ended")
            run.expect(load < 0.4, f"a step of /clock by {jump} s does not occupy a core", f"load {load}")
    finally:
        node.kill()
        node.wait()


def processor_seconds(pid: int) -> float:
    """Returns the processor time that a process has used."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0
