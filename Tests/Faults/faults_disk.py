"""Outputs that cannot be written to, full disks, truncated recordings."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

from checks import read_bag
from faults_process import back_after, boot_of, is_restarted
from registry import fault
from run import Run, Scene
from stack import SetUpFailed, is_process

ALONE = Scene(trip="none", starts=False, record=False)


def node_commands(run: Run) -> dict[str, list[str]]:
    """Returns each node's command line without a launcher."""
    folder = run.options.programs.folder
    return {
        "gnss-node": [str(folder / "gnss-node"), "--set", f"source=gpsd://127.0.0.1:{run.vehicle.port}"],
        "navigation-node": [str(folder / "navigation-node"), "--set", f"tiles={run.tiles}"],
        "tile-cache-node": [
            str(folder / "tile-cache-node"),
            "--set",
            f"store.path={run.folder / 'store'}",
            "--set",
            f"tilesets=name=roads,source=file://{run.tiles}",
        ],
        "recorder": run.options.programs.command("bag", "record", "--out", run.folder / "alone.mcap"),
    }


def survives(run: Run, redirection: str, cause: str) -> None:
    """Checks that every node stays alive and ends on SIGTERM with its standard error redirected."""
    for node, words in node_commands(run).items():
        # The nodes print messages, at the latest when SIGTERM ends them.
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" {redirection}', "bash", *words],
            env=run.stack.full_environment,
            stdin=subprocess.DEVNULL,
            cwd=run.folder,
        )
        up = run.wait(lambda: run.stack.is_up(node) or process.poll() is not None, 30)
        run.sleep(2)
        status = process.poll()
        run.expect(
            status is None,
            f"{node} stays alive with {cause}",
            f"it has ended with {status}" if up.done else "it has not started",
        )
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        run.expect(
            status is not None and status >= 0 and status < 128 or status == -signal.SIGTERM,
            f"{node} ends on SIGTERM with {cause}",
            f"status {status}",
        )


@fault("output-stderr-full", "each node's standard error is a full disk", ALONE, quick=True)
def output_stderr_full(run: Run) -> None:
    """The nodes cannot write logs but are otherwise unaffected."""
    survives(run, "2>/dev/full >/dev/full", "a full standard error")


@fault("output-stderr-closed", "each node's standard error is closed", ALONE)
def output_stderr_closed(run: Run) -> None:
    """The nodes are unaffected by a closed standard error."""
    survives(run, "2>&- >&-", "a closed standard error")


@fault("output-launch-full", "the launch writes its log to a full disk")
def output_launch_full(run: Run) -> None:
    """The stack continues when its output cannot be written."""
    run.accounts = False  # The recorder's reports of losses cannot be written either.
    run.stack.stop()
    run.stack.bag.unlink(missing_ok=True)
    run.stack.output = "/dev/full"
    run.observer.tracks.clear()
    run.pace.end()
    run.start_stack()
    run.require(run.wait(run.guided_since(run.now()), 30), "guidance begins with a log on a full disk")
    before = boot_of(run, "navigation-node")
    run.stack.signal("navigation-node", signal.SIGKILL)
    run.within(
        run.wait(is_restarted(run, "navigation-node", before), 20), 3, "a node is restarted with a log on a full disk"
    )


@fault("output-commands", "commands print to a full device", ALONE, quick=True)
def output_commands(run: Run) -> None:
    """The commands end with an error, not with status 0."""
    programs, tiles = run.options.programs, str(run.tiles)
    a, b = ("%.6f,%.6f" % place for place in run.places.trip(run.rng, 0, 800, 4_000))
    commands = [
        ("map", "info", tiles),
        ("route", "--tiles", tiles, "--from", a, "--to", b),
        ("topic", "list", "--json"),
        ("topic", "info", "--type", "navbus.v1.GnssFix"),
        ("doctor", "--tiles", tiles),
    ]
    for words in commands:
        with open("/dev/full", "wb") as full:
            done = programs.run(
                *words,
                environment=run.stack.full_environment,
                capture_output=False,
                stdout=full,
                stderr=subprocess.DEVNULL,
            )
        run.expect(
            0 < done.returncode < 128,
            f"'navbus {' '.join(words[:2])}' to a full device ends with an error",
            f"status {done.returncode}",
        )


@fault("output-overwrite", "the output file of navbus simulate exists and is not a bag", ALONE)
def output_overwrite(run: Run) -> None:
    """An existing file is not replaced unless requested."""
    a, b = ("%.6f,%.6f" % place for place in run.places.trip(run.rng, 0, 800, 4_000))
    precious = run.folder / "thesis.mcap"
    precious.write_text("two years of work\n")
    done = run.options.programs.run("simulate", "--tiles", run.tiles, "--from", a, "--to", b, "--out", precious)
    run.expect(
        done.returncode != 0 and precious.read_text() == "two years of work\n",
        "an existing file is kept",
        f"status {done.returncode}, now {precious.stat().st_size} bytes",
    )


def mount_small(run: Run, megabytes: int) -> pathlib.Path:
    """Starts the stack with a small separate disk mounted in its folder, and returns the mount point."""
    small = run.folder / "small"
    small.mkdir()
    for flags in (["-m", "--propagation", "private"], ["-r", "-m"]):
        if (
            subprocess.run(["unshare", *flags, "mount", "-t", "tmpfs", "tmpfs", small], capture_output=True).returncode
            == 0
        ):
            script = f'mount -t tmpfs -o size={megabytes}m tmpfs "$0" && exec "$@"'
            run.stack.wrapper = ["unshare", *flags, "bash", "-c", script, str(small)]
            return small
    raise SetUpFailed("a small disk cannot be mounted: creating a mount namespace is not permitted")


@fault("disk-recorder", "the recording's disk of 1 MiB is full, then has room again", Scene(starts=False, fix_hz=10))
def disk_recorder(run: Run) -> None:
    """The drive continues; messages recorded before are readable."""
    small = mount_small(run, 1)
    run.stack.bag = small / "drive.mcap"
    run.bag_is_judged = False
    run.start_stack()
    run.require(run.wait(run.is_guided, 30), "guidance begins")
    inside = pathlib.Path(f"/proc/{run.stack.pid('navigation-node')}/root{small}")

    def is_full() -> bool:
        # A chunk that does not fit is removed again, so the remaining space may be large.
        disk = os.statvfs(inside)
        return disk.f_bavail * disk.f_bsize < 8192 or "cannot be written further" in run.stack.log_text()

    filler = run.publisher("filler", {"/rig/noise": ("navbus.v1.LogEntry", 1 << 20)})
    filler.subscribers("/rig/noise", 2, 10)

    def fill() -> bool:
        filler.publish("/rig/noise", run.rng.randbytes(30_000))
        return is_full()

    run.require(run.wait(fill, 60), "the recording fills its disk")
    run.sleep(5)
    run.expect(run.is_guided(), "guidance continues with a full disk", run.state_text())
    filler.close()
    for path in inside.glob("*"):
        shutil.copy(path, run.folder / ("kept-" + path.name))
    kept = list(run.folder.glob("kept-*.mcap"))
    problems = [problem for path in kept if (problem := readable(run, path))]
    run.expect(kept and not problems, "messages recorded before are readable", "; ".join(problems) or "there is no bag")


def readable(run: Run, path: pathlib.Path) -> str | None:
    """Returns the error of reading a bag, also after `navbus bag recover`; None without an error."""
    problem = read_bag(path)[1]
    if problem is None:
        return None
    mended = path.with_name(path.stem + ".recovered.mcap")
    done = run.options.programs.run("bag", "recover", path, "--out", mended)
    run.facts["recovered"] = run.facts.get("recovered", 0) + (done.returncode == 0)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        return f"{problem}; navbus bag recover: {said[0]}"
    return read_bag(mended)[1]


@fault(
    "record-restart",
    "the recorder is killed and restarted by a launch file with restart: on-failure",
    Scene(trip="none", starts=False, record=False),
)
def record_restart(run: Run) -> None:
    """The recorder continues in a new file, and all files are readable."""
    launch = run.folder / "recorder.yaml"
    launch.write_text(
        "nodes:\n  - name: recorder\n    executable: navbus\n    args: [bag, record, --out, rec.mcap]\n"
        "    restart: {policy: on-failure, delay_s: 0.2, limit: 10}\n"
    )
    run.stack.programs = type(run.stack.programs)(run.stack.programs.folder, launch)
    run.stack.command = lambda: run.stack.programs.command("launch", launch)
    source = run.publisher("camera", {"/rig/ticks": ("navbus.v1.LogEntry", 1 << 16)})
    run.stack.spawn()
    run.require(run.wait(lambda: run.stack.is_up("recorder"), 30), "the recorder starts")
    source.subscribers("/rig/ticks", 2, 10)
    for round_ in range(3):
        for _ in range(100):
            source.publish("/rig/ticks", run.types.LogEntry(text="tick").SerializeToString())
            time.sleep(0.02)
        before = boot_of(run, "recorder")
        run.stack.signal("recorder", signal.SIGKILL)
        if not run.within(
            run.wait(is_restarted(run, "recorder", before), 8), 4, f"the recorder is back after kill {round_ + 1}"
        ):
            break
    run.sleep(2)
    run.stack.stop()
    bags = sorted(run.folder.glob("*.mcap"))
    run.facts["files"] = len(bags)
    for path in bags:
        problem = readable(run, path)
        run.expect(problem is None, "each file of the recording is readable", f"{path.name}: {problem}")
    source.close()


@fault(
    "record-kills",
    "the recorder is killed 5 times at random times",
    Scene(trip="none", starts=False, record=False),
)
def record_kills(run: Run) -> None:
    """Each recording lacks at most the last second."""
    source = run.publisher("camera", {"/rig/ticks": ("navbus.v1.LogEntry", 1 << 16)})
    for round_ in range(5):
        path = run.folder / f"kill-{round_}.mcap"
        recorder = subprocess.Popen(
            run.options.programs.command("bag", "record", "--out", path),
            env=run.stack.full_environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        run.wait(lambda: run.stack.is_up("recorder"), 20)
        source.subscribers("/rig/ticks", 2, 10)
        sent, end = [], time.monotonic() + run.rng.uniform(3, 8)
        while time.monotonic() < end:
            sent.append(time.monotonic())
            source.publish("/rig/ticks", run.types.LogEntry(text="tick " * 20).SerializeToString())
            time.sleep(0.01)
        killed = time.monotonic()
        recorder.kill()
        recorder.wait()
        problem = readable(run, path)
        run.expect(problem is None, "the recording of a killed recorder is readable, if necessary after 'bag recover'", problem)
        if problem is None:
            mended = path.with_name(path.stem + ".recovered.mcap")
            counts = read_bag(mended if mended.exists() else path)[0]
            kept = sum(topic == "/rig/ticks" for topic, _, _ in counts)
            # A busy machine may delay the recorder as much as this publisher.
            stall = max(later - earlier for earlier, later in zip(sent, [*sent[1:], killed]))
            due = sum(moment < killed - 1 - 2 * stall for moment in sent)
            run.expect(
                kept >= due,
                "all but the last second is recorded",
                f"{kept} of {len(sent)}, {due} of them a second old; the machine stalled for {stall:.3f} s",
            )
        source._count = 1
    source.close()


@fault("record-sync", "the recorder's calls of sync in 25 s", Scene(guided=True))
def record_sync(run: Run) -> None:
    """Recorded messages are synced to the disk within seconds, so that they also survive a power failure."""
    if shutil.which("strace") is None:
        raise SetUpFailed("strace is not installed")
    trace = run.folder / "strace.txt"
    tracer = subprocess.Popen(
        [
            "strace",
            "-f",
            "-o",
            trace,
            "-e",
            "trace=fsync,fdatasync,sync_file_range,msync",
            "-p",
            str(run.stack.pid("recorder")),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    run.sleep(25)
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    calls = sum("sync" in line for line in trace.read_text().splitlines())
    run.facts["syncs"] = calls
    run.expect(calls >= 2, "the recorder syncs its file", f"{calls} times in 25 s")


@fault("disk-store", "the tile cache's disk of 4 MiB is full", Scene(starts=False, cache=True))
def disk_store(run: Run) -> None:
    """The drive and the cache continue."""
    small = mount_small(run, 4)
    run.stack.arguments |= {"store": str(small / "store"), "tilesets": f"name=roads,source=file://{run.tiles}"}
    run.start_stack()
    run.require(run.wait(run.is_guided, 40), "guidance begins")
    cache = run.stack.pid("tile-cache-node")
    inside = pathlib.Path(f"/proc/{cache}/root{small}")
    try:
        with open(inside / "ballast", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass  # The disk is full.
    run.sleep(15)
    run.expect(is_process(cache), "the cache stays alive with a full disk", f"it has ended; see {run.stack.log}")
    run.expect(run.is_guided(), "guidance continues with a full disk", run.state_text())
    (inside / "ballast").unlink(missing_ok=True)
    back_after(run, run.now(), 2, "the disk has room again")
