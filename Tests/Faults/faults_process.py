"""Processes that are killed or stopped, or that crash or hang."""

import signal

import bus
from checks import read_bag
from registry import fault
from run import Moment, Run, Scene
from stack import is_process

# Guidance must be back within this time after a kill, and after the end of a stop.
AFTER_KILL_S, AFTER_STOP_S = 3.0, 1.0
# The launcher terminates and restarts a node without a sign of life for this time.
WATCHDOG_S = 10.0
SET = Scene(trip="set", stops=1)


def boot_of(run: Run, node: str) -> str:
    """Returns the boot id of a live node; empty if it is not on the bus."""
    told = bus.announcement(run.stack.bus, node)
    return told["boot_id"] if told and bus.is_alive(run.stack.bus, node) else ""


def is_restarted(run: Run, node: str, before: str):
    """Returns a check whether another run of the node has announced itself."""
    return lambda: boot_of(run, node) not in ("", before)


def back_after(run: Run, moment: Moment, limit: float, what: str) -> None:
    """Checks that guidance resumes and continues for a while."""
    run.within(run.wait(run.guided_since(moment), 30, moment), limit, f"guidance is back after {what}", "guidance_s")
    run.sleep(1)
    run.expect(run.wait(run.guided_since(run.now()), 5).done, "guidance continues", run.state_text())


def kill(run: Run, node: str, number: signal.Signals, limit: float) -> None:
    """Kills a node, and waits for its restart and for guidance."""
    run.sleep(run.rng.uniform(0.5, 3))
    before, moment = boot_of(run, node), run.now()
    run.stack.signal(node, number)
    run.within(
        run.wait(is_restarted(run, node, before), 200, moment),
        limit,
        f"{node} is on the bus again after {number.name}",
        "restart_s",
    )
    back_after(run, moment, limit, f"{number.name} to {node}")


@fault("kill-navigation", "navigation-node is killed in guidance to a configured destination", quick=True, live=True)
def kill_navigation(run: Run) -> None:
    """Guidance resumes after a kill."""
    kill(run, "navigation-node", signal.SIGKILL, AFTER_KILL_S)


@fault("kill-gnss", "gnss-node is killed in guidance", live=True)
def kill_gnss(run: Run) -> None:
    """Guidance resumes after a kill of the receiver's node."""
    kill(run, "gnss-node", signal.SIGKILL, AFTER_KILL_S)


@fault("kill-both", "navigation-node and gnss-node are killed simultaneously", live=True)
def kill_both(run: Run) -> None:
    """Guidance resumes after simultaneous kills."""
    before, moment = boot_of(run, "navigation-node"), run.now()
    run.stack.signal("gnss-node", signal.SIGKILL)
    run.stack.signal("navigation-node", signal.SIGKILL)
    run.within(
        run.wait(is_restarted(run, "navigation-node", before), 60, moment),
        AFTER_KILL_S,
        "navigation-node is on the bus again",
    )
    back_after(run, moment, AFTER_KILL_S, "the kills")


@fault("kill-trip", "navigation-node is killed after the first stop of a trip that SetRoute has set", SET)
def kill_trip(run: Run) -> None:
    """The trip of SetRoute is resumed without the visited stop."""
    passed = run.wait(lambda: any(way == 1 for _, _, way in run.watch.reached), 400)
    run.require(passed, "the vehicle arrives at the stop on the way")
    run.sleep(run.rng.uniform(4, 8))
    state = run.observer.last("/nav/state")
    goal, route, moment = state.destination, state.route_id, run.now()
    run.stack.signal("navigation-node", signal.SIGKILL)
    back_after(run, moment, AFTER_KILL_S, "SIGKILL to navigation-node")
    after = run.observer.last("/nav/state")
    run.expect(
        abs(after.destination.latitude - goal.latitude) + abs(after.destination.longitude - goal.longitude) < 1e-5,
        "the trip of SetRoute is resumed",
        f"destination {after.destination.latitude}, {after.destination.longitude}",
    )
    run.expect(after.route_id >= route, "route_id does not restart", f"{after.route_id} after {route}")
    progress = run.observer.last("/nav/progress")
    run.expect(
        progress.waypoints_remaining == 1,
        "the visited stop is not driven to again",
        f"{progress.waypoints_remaining} waypoints remain",
    )


@fault(
    "kill-configured",
    "SetRoute leads to another destination than the configuration; navigation-node is killed",
    Scene(trip="destination"),
)
def kill_configured(run: Run) -> None:
    """After a kill the node follows the route of SetRoute, not the configured destination."""
    other = run.points[0]
    run.sleep(6)
    run.set_route([other])
    run.require(run.wait(run.guided_since(run.now()), 15), "guidance follows the route of SetRoute")
    moment = run.now()
    run.stack.signal("navigation-node", signal.SIGKILL)
    back_after(run, moment, AFTER_KILL_S, "SIGKILL to navigation-node")
    goal = run.observer.last("/nav/state").destination
    run.expect(
        abs(goal.latitude - other[0]) + abs(goal.longitude - other[1]) < 1e-4,
        "the trip of SetRoute is resumed",
        f"the destination is {goal.latitude:.5f}, {goal.longitude:.5f} again",
    )


@fault("kill-recorder", "the recorder is killed at a random time")
def kill_recorder(run: Run) -> None:
    """The recording is readable, and the drive continues."""
    run.accounts = False
    run.sleep(run.rng.uniform(4, 9))
    moment = run.now()
    run.stack.signal("recorder", signal.SIGKILL)
    back_after(run, moment, AFTER_STOP_S, "SIGKILL to the recorder")
    run.sleep(4)


def crash(run: Run, node: str) -> None:
    """Crashes a node with a SIGSEGV, as an invalid pointer would."""
    run.sleep(run.rng.uniform(1, 3))
    before, moment = boot_of(run, node), run.now()
    pid = run.stack.signal(node, signal.SIGSEGV)
    run.within(run.wait(lambda: not is_process(pid), 240, moment), 2, "the crashed process is gone", "end_s")
    run.within(
        run.wait(is_restarted(run, node, before), 240, moment),
        AFTER_KILL_S,
        f"{node} is on the bus again after SIGSEGV",
        "restart_s",
    )
    back_after(run, moment, AFTER_KILL_S, f"SIGSEGV to {node}")
    run.expect("SIGSEGV" in run.stack.log_text(), "the crash is reported", "the log does not contain it")


@fault("crash-navigation", "navigation-node crashes (SIGSEGV)", Scene(shim=True), quick=True, live=True)
def crash_navigation(run: Run) -> None:
    """Guidance resumes after a crash."""
    crash(run, "navigation-node")


@fault("crash-gnss", "gnss-node crashes (SIGSEGV)", Scene(shim=True), live=True)
def crash_gnss(run: Run) -> None:
    """Guidance resumes after a crash of the receiver's node."""
    crash(run, "gnss-node")


def stop(run: Run, node: str, seconds: float) -> None:
    """Stops a process for a while; checks that guidance resumes soon and old messages are dropped."""
    run.sleep(run.rng.uniform(0.5, 2))
    if seconds > WATCHDOG_S:
        run.stack.expected_ends.append("killed by SIGABRT")
        run.stack.killed.add(int(boot_of(run, node) or "0", 16))
    run.stack.signal(node, signal.SIGSTOP)
    run.sleep(seconds)
    moment = run.now()
    run.stack.signal(node, signal.SIGCONT)
    back_after(run, moment, AFTER_STOP_S, f"a stop of {node} for {seconds:g} s")
    stale = [
        heard
        for heard in run.observer.since(moment.at, "/nav/position")
        if heard.message and heard.message.stamp_ns < moment.utc_ns - 3_000_000_000
    ]
    run.facts["stale_positions"] = len(stale)
    run.expect(
        len(stale) <= 5, "old positions are dropped after a stop", f"{len(stale)} are older than 3 s"
    )


def register_stops() -> None:
    """Registers stops of each node for three durations."""
    for node, short in (("navigation-node", "navigation"), ("gnss-node", "gnss")):
        for seconds in (0.35, 2.0, 30.0):

            def action(run: Run, node: str = node, seconds: float = seconds) -> None:
                stop(run, node, seconds)

            fault(
                f"stop-{short}-{seconds:g}s",
                f"{node} is stopped for {seconds:g} s and "
                + ("is restarted by the watchdog" if seconds > WATCHDOG_S else "continues"),
                quick=(short, seconds) == ("navigation", 2.0),
                live=True,
            )(action)


register_stops()


@fault(
    "stop-recorder",
    "the recorder is stopped for 25 s while the journal contains odometry",
    Scene(odometry_hz=20, fix_hz=10),
)
def stop_recorder(run: Run) -> None:
    """A stall of the recorder loses no entry of the journal."""
    run.sleep(2)
    run.stack.signal("recorder", signal.SIGSTOP)
    run.sleep(25)
    run.stack.signal("recorder", signal.SIGCONT)
    run.sleep(5)
    tracks = [track for (topic, _), track in run.observer.tracks.items() if topic == "/nav/journal"]
    for problem in run.stack.stop():
        run.fail("the launch ends cleanly", problem)
    keys, problem = read_bag(run.stack.bag)
    last = max(number for topic, number, _ in keys if topic == "/nav/journal")
    lost = sum(
        ("/nav/journal", number, stamp) not in keys for number, (stamp, _) in tracks[-1].stamps.items() if number < last
    )
    run.facts["journal_lost"] = lost
    run.expect(
        problem is None and not lost,
        "the bag contains every entry of the journal",
        f"{lost} of {last} are missing{', ' + problem if problem else ''}",
    )


@fault("hang-navigation", "navigation-node hangs forever (SIGSTOP)")
def hang_navigation(run: Run) -> None:
    """The watchdog detects the hang and restarts the node."""
    run.sleep(2)
    before, moment = boot_of(run, "navigation-node"), run.now()
    run.stack.signal("navigation-node", signal.SIGSTOP)
    # The launcher aborts the node to get a report of where it hangs.
    run.stack.expected_ends.append("killed by SIGABRT")
    run.stack.killed.add(int(before, 16))
    if run.within(
        run.wait(is_restarted(run, "navigation-node", before), 90, moment),
        40,
        "a hanging node is restarted",
        "restart_s",
    ):
        run.within(run.wait(run.guided_since(moment), 90, moment), 45, "guidance is back", "guidance_s")


@fault("hang-cache", "tile-cache-node, which is optional, hangs before it is ready", Scene(cache=True, starts=False))
def hang_cache(run: Run) -> None:
    """The other nodes start and continue."""
    server_tiles = run.tiles
    run.stack.arguments |= {"store": str(run.folder / "store"), "tilesets": f"name=roads,source=file://{server_tiles}"}
    run.start_stack(wait=False)
    caught = run.wait(lambda: run.stack.stop_child("tile-cache-node"), 20)
    run.require(caught, "tile-cache-node is started")
    run.within(run.wait(run.is_guided, 60), 40, "guidance begins without the cache", "guidance_s")
    run.sleep(70)
    run.expect(run.stack.launcher.poll() is None, "the launch continues", "it has ended")
    run.expect(run.is_guided(), "guidance continues while the cache hangs", run.state_text())
