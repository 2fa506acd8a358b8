"""Calls served by every node: information, schemas, parameters, barriers, lifecycle."""

import pathlib
import time
from typing import Any

from mcap.reader import make_reader

from bus import CallFailed, Publisher
from stage import Bus, Failed


def node_calls(bus: Bus, name: str) -> None:
    """Calls the methods for information, schemas and parameters."""
    types, call, prove = bus.types, bus.client(name), bus.contract.prove
    info = call("Node.GetInfo")
    if info.node != name or not info.publishes:
        raise Failed(f"GetInfo: {info}")
    code = lambda answer: types.enum("ErrorCode", answer.error.code)  # noqa: E731
    known, unknown = call("Node.GetSchema", type="navbus.v1.Route"), call("Node.GetSchema", type="navbus.v1.Nil")
    if not known.file_descriptor_set or code(unknown) != "NOT_FOUND":
        raise Failed("the type of GetSchema changes nothing")
    if call("Node.GetSchema", type="navbus.v1.Waypoint").schema_fingerprint == known.schema_fingerprint:
        raise Failed("GetSchema answers with one schema for two types")
    prove("GetSchemaRequest.type", "changes the answer")
    every = call("Node.GetParameters")
    one = call("Node.GetParameters", keys=["log.level", "nil"])
    if (
        len(every.parameters) < 2
        or [found.key for found in one.parameters] != ["log.level"]
        or code(one) != "NOT_FOUND"
    ):
        raise Failed(f"keys of GetParameters: {one}")
    prove("GetParametersRequest.keys", "changes the answer")

    def change(**fields: Any) -> Any:
        return call("Node.SetParameters", parameters=[types.Parameter(**fields)])

    if code(change(key="nil", int_value=1)) != "NOT_FOUND":
        raise Failed("setting an unknown parameter is not rejected")
    prove("SetParametersRequest.parameters Parameter.key", "is refused by name")


def values(bus: Bus, name: str, **known: tuple[str, Any]) -> None:
    """Checks that each kind of value changes a parameter; `known` gives the key and the value of each kind."""
    types, call = bus.types, bus.client(name)
    for kind, (key, value) in known.items():
        before = {one.key: one for one in call("Node.GetParameters").parameters}
        answer = call("Node.SetParameters", parameters=[types.Parameter(key=key, **{kind: value})])
        found = {one.key: getattr(one, kind) for one in answer.parameters}
        if answer.HasField("error") or found.get(key) != value:
            raise Failed(f"{kind} does not set {key}: {answer}")
        changed = [one.key for one in call("Node.GetParameters").parameters if one != before[one.key]]
        if set(changed) - {key}:
            raise Failed(f"setting {key} changes {changed}")
        bus.contract.prove(f"SetParametersRequest.parameters Parameter.key Parameter.{kind}", "changes the answer")


def waits(bus: Bus, name: str, publisher: Publisher) -> None:
    """Checks that a barrier waits for the messages named by its points."""
    types, call, prove = bus.types, bus.client(name), bus.contract.prove
    topic = "/gnss/fix"

    def is_met(boot_id: int, sequence: int, **fields: Any) -> bool:
        point = types.BarrierPoint(
            topic=fields.pop("topic", topic), boot_id=boot_id, sequence=sequence, publisher="vehicle"
        )
        try:
            call("Node.Barrier", seconds=fields.pop("seconds", 1.0), points=[point], **fields)
            return True
        except CallFailed as failure:
            if failure.code != 4:
                raise
            return False

    sequence = publisher.sequences[topic]
    far = sequence + 1_000_000
    if not is_met(publisher.boot_id, sequence, seconds=10.0) or is_met(publisher.boot_id, far):
        raise Failed("a barrier does not wait for the sequence of its point")
    if not is_met(publisher.boot_id, far, topic="/nil", seconds=10.0):
        raise Failed("a barrier waits for a topic that the node does not subscribe to")
    if is_met(1, sequence):
        raise Failed("a barrier does not distinguish the runs of a publisher")
    prove("BarrierRequest.points BarrierPoint.topic BarrierPoint.sequence BarrierPoint.boot_id", "changes the answer")


def lives(bus: Bus, name: str) -> None:
    """Deactivates, activates and shuts down a node."""
    types, call, prove = bus.types, bus.client(name), bus.contract.prove
    idle = call("Node.ChangeState", transition=3)
    active = call("Node.ChangeState", transition=2)
    if idle.state != 2 or active.state != 3 or not call("Node.ChangeState", transition=1).HasField("error"):
        raise Failed(f"ChangeState: {idle} {active}")
    prove("ChangeStateRequest.transition", "changes the answer")
    since = time.monotonic()
    call("Node.Shutdown", reason="the walk is over")
    bus.expect(
        "/log",
        lambda line: any(one.value == "the walk is over" for one in line.metadata),
        since,
        "the reason of a shutdown in the log",
        10,
    )
    prove("ShutdownRequest.reason", "changes the answer")
    del types


def snapshots(bus: Bus, name: str, folder: pathlib.Path) -> None:
    """Makes a recorder write a snapshot, and another one that includes the following seconds."""
    call, prove = bus.client(name), bus.contract.prove
    first = call("Recorder.Snapshot", reason="the walk asks", seconds=20)
    bag = folder / pathlib.Path(first.path).name
    with open(bag, "rb") as file:
        reader = make_reader(file)
        reasons = [one.metadata.get("reason") for one in reader.iter_metadata() if one.name == "navbus.snapshot"]
        count = sum(1 for _ in reader.iter_messages())
    if reasons != ["the walk asks"] or count != first.message_count or not count:
        raise Failed(f"the snapshot {first} has the reasons {reasons} and {count} messages")
    prove("SnapshotRequest.reason", "changes the answer")
    begin = time.monotonic()
    call("Recorder.Snapshot", after_s=2.0, seconds=20)
    if time.monotonic() - begin < 2:
        raise Failed("after_s changes nothing")
    prove("SnapshotRequest.after_s", "changes the answer")


def leads(bus: Bus, name: str) -> None:
    """Acts as the player of a lockstep playback: sends waves of messages with the time of each wave."""
    types, call, prove = bus.types, bus.client(name), bus.contract.prove
    bus.foreign.add("leader")
    player = Publisher(bus.path, types, "leader", {"/gnss/fix": ("navbus.v1.GnssFix", 65536)})
    try:
        player.subscribers("/gnss/fix", 1, 10)
        begin = 1_700_000_000_000_000_000

        def point(sequence: int) -> Any:
            return types.BarrierPoint(topic="/gnss/fix", boot_id=player.boot_id, sequence=sequence, publisher="leader")

        def barrier(phase: int, second: float, epoch: int = 1, session: int = player.boot_id, *points: Any) -> Any:
            stamp = begin + int(second * 1e9)
            return call(
                "Node.Barrier", phase=phase, session=session, stamp_ns=stamp, epoch=epoch, points=points, seconds=10
            )

        begun = barrier(1, 0, 1, player.boot_id, point(0))
        if "/gnss/fix" not in begun.subscribed or not any(one.HasField("subscriber_count") for one in begun.published):
            raise Failed(f"the answer to BEGIN lacks topics: {begun}")
        prove("BarrierRequest.phase", "changes the answer")
        try:
            barrier(2, 1, session=7)
            raise Failed("a wave of another session is not rejected")
        except CallFailed:
            prove("BarrierRequest.session", "is refused by name")
        timers = []
        for second, epoch in ((10, 1), (20, 1), (15, 1), (5, 2)):
            timers.append(barrier(2, second, epoch).next_timer_ns - begin)
        # Time advances with the stamp, never runs backwards within an epoch, and restarts with another epoch.
        if not timers[0] < timers[1] <= timers[2]:
            raise Failed(f"the stamps of waves do not set the time: {timers}")
        prove("BarrierRequest.stamp_ns", "changes the answer")
        if not timers[3] < timers[2]:
            raise Failed(f"another epoch does not reset the time: {timers}")
        prove("BarrierRequest.epoch", "changes the answer")
        barrier(3, 6, 2)
        # When another player leads the next playback, the first player is rejected.
        bus.foreign.add("second")
        second = Publisher(bus.path, types, "second", {})
        barrier(1, 7, 3, second.boot_id, point(0))
        barrier(2, 8, 3, second.boot_id)
        try:
            barrier(2, 9, 3)
            raise Failed("a wave of the previous session is not rejected")
        except CallFailed:
            prove("BarrierRequest.session", "changes the answer")
        barrier(3, 9, 3, second.boot_id)
        second.close()
    finally:
        player.close()
