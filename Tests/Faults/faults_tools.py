"""Commands with unusable input, and calls at the wrong time."""

import resource
import subprocess

from bus import CallFailed
from faults_tiles import TileServer
from registry import fault
from run import MEASURED, Run, Scene
from vehicle import Line

ALONE = Scene(trip="none", starts=False, record=False)
# The processor time that a command may take to reject unusable input, seconds.
PATIENCE_S = 8.0


def processor_time_of(
    words: list[str], run: Run, seconds: float = 180
) -> tuple[subprocess.CompletedProcess[str] | None, float]:
    """Runs a program to its end; returns its result, None if it did not end, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, env=run.stack.full_environment, timeout=seconds, errors="replace"
        )
    except subprocess.TimeoutExpired:
        done = None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@fault("tool-huge", "text files of 200 MB are given as configuration, batch and traffic", ALONE)
def tool_huge(run: Run) -> None:
    """The commands reject them with a message in a time that is appropriate for their size."""
    huge = run.folder / "huge.txt"
    with open(huge, "wb") as file:
        for _ in range(200):
            file.write(b"1,2,3,4,word: [\n" * 65_536)
    a, b = ("%.6f,%.6f" % place for place in run.places.trip(run.rng, 0, 800, 4_000))
    programs = run.options.programs
    commands = {
        "configuration": [str(programs.folder / "navigation-node"), "--config", str(huge), "--print-config"],
        "launch file": programs.command("launch", "--check", huge),
        "batch": programs.command("route", "--tiles", run.tiles, "--batch", huge),
        "traffic": programs.command("route", "--tiles", run.tiles, "--from", a, "--to", b, "--traffic", huge),
    }
    for name, words in commands.items():
        done, seconds = processor_time_of(words, run)
        run.facts[f"{name.replace(' ', '_')}_cpu"] = round(seconds, 1)
        run.expect(
            done is not None and 0 < done.returncode < 128 and done.stderr.strip() and seconds < PATIENCE_S,
            f"a {name} of 200 MB of garbage is rejected with a message in {PATIENCE_S:g} s of processor time",
            f"status {done.returncode if done else 'none'} after {seconds:.1f} s: "
            f"{(done.stderr if done else '').strip()[-150:]}",
        )
    huge.unlink()


@fault("tool-infinite", "commands get infinite numbers and NaN", ALONE, quick=True)
def tool_infinite(run: Run) -> None:
    """The commands do not trap."""
    a, b = ("%.6f,%.6f" % place for place in run.places.trip(run.rng, 0, 800, 4_000))
    simulate = ["simulate", "--tiles", str(run.tiles), "--from", a, "--to", b]
    options = ("--deviate-at", "--rate", "--latency", "--odometry", "--back-up", "--start")
    for option in options:
        for value in ("inf", "nan", "-inf", "1e308") if option == "--deviate-at" else ("inf", "1e308"):
            out = run.folder / "drive.mcap"
            done = run.options.programs.run(
                *simulate, option, value, "--out", out, environment=run.stack.full_environment, seconds=60
            )
            out.unlink(missing_ok=True)
            run.expect(
                0 <= done.returncode < 128,
                f"simulate {option} {value} does not trap",
                f"status {done.returncode}: {done.stderr.strip()[:200]}",
            )


@fault("tool-answer", "a tile source answers with an error", ALONE)
def tool_answer(run: Run) -> None:
    """The command reports the source's answer rather than an exceeded deadline."""
    server = TileServer(run.tiles)
    server.mode = "error"
    words = [
        str(run.options.programs.folder / "tile-cache-node"),
        "--set",
        f"store.path={run.folder / 'store'}",
        "--set",
        f"tilesets=name=roads,source={server.address}",
    ]
    cache = subprocess.Popen(words, env=run.stack.full_environment, stderr=subprocess.DEVNULL)
    try:
        run.require(run.wait(lambda: run.stack.is_up("tile-cache-node"), 20), "the cache starts")
        done = run.options.programs.run(
            "region",
            "load",
            "here",
            "--circle",
            "60.17,24.94,1000",
            environment=run.stack.full_environment,
            seconds=120,
        )
        said = done.stdout + done.stderr
        run.expect(
            done.returncode == 1 and "503" in said and "deadline" not in said.lower(),
            "the command reports the source's answer",
            f"status {done.returncode}: {said.strip()[-250:]}",
        )
    finally:
        cache.terminate()
        cache.wait()
        server.end()


@fault("tool-doctor", "NAVBUS_HOSTS names a missing file", ALONE)
def tool_doctor(run: Run) -> None:
    """`navbus doctor` reports the missing file."""
    done = run.options.programs.run(
        "doctor",
        environment={**run.stack.full_environment, "NAVBUS_HOSTS": str(run.folder / "nowhere.yaml")},
        seconds=60,
    )
    said = done.stdout + done.stderr
    run.expect(
        "nowhere.yaml" in said and done.returncode != 0,
        "doctor checks NAVBUS_HOSTS",
        f"status {done.returncode}: {said.strip()[-250:]}",
    )


@fault("call-origin", "SetRoute with an origin before the first fix", Scene(trip="none", guided=False, starts=False))
def call_origin(run: Run) -> None:
    """The call is answered with a route."""
    run.vehicle.receiver.silent = True
    points = run.places.trip(run.rng, 0, 800, 4_000)
    run.start_stack()
    request = run.types.SetRouteRequest()
    request.calculate.origin.latitude, request.calculate.origin.longitude = points[0]
    request.calculate.waypoints.add(latitude=points[1][0], longitude=points[1][1])
    try:
        answer = run.client.call("SetRoute", request, "SetRouteResponse", seconds=20)
        said = answer.error.message if answer.HasField("error") else ""
    except CallFailed as error:
        said = str(error)
    run.expect(not said, "SetRoute with an origin works before the first fix", said)


@fault("call-early", "SetRoute without an origin before the first fix", Scene(trip="none", guided=False, starts=False))
def call_early(run: Run) -> None:
    """The call waits for the fix: according to launch/vehicle.yaml a route can be chosen before the receiver has a fix."""
    run.vehicle.receiver.silent = True
    points = run.places.trip(run.rng, 0, 800, 4_000)
    run.vehicle.drive(run.places.line(points))
    run.start_stack()
    request = run.types.SetRouteRequest()
    request.calculate.waypoints.add(latitude=points[1][0], longitude=points[1][1])
    try:
        answer = run.client.call("SetRoute", request, "SetRouteResponse", seconds=5)
        said = answer.error.message if answer.HasField("error") else ""
    except CallFailed as error:
        said = "" if error.code == 4 else str(error)
    run.facts["answer"] = said or "waits"
    run.vehicle.receiver.silent = False
    moment = run.now()
    run.within(
        run.wait(run.guided_since(moment), 20, moment),
        10,
        "guidance along the route begins with the first fix",
        "guidance_s",
    )


@fault(
    "call-antimeridian", "fixes east of 179.9996 degrees and over the antimeridian", Scene(trip="none", guided=False)
)
def call_antimeridian(run: Run) -> None:
    """Each fix leads to a measured position near the antimeridian, too."""
    run.vehicle.line = Line([(-16.5, 179.9990), (-16.5, 180.0010)], 5.0)
    run.vehicle.offset = 0.0
    run.require(run.wait(lambda: run.vehicle.place[1] > 179.9996, 60), "the vehicle is near the antimeridian")
    moment = run.now()
    run.require(run.wait(lambda: run.vehicle.place[1] > 180.0004, 60), "the vehicle passes the antimeridian")
    fixes, found = len(run.observer.since(moment.at, "/gnss/fix")), run.observer.since(moment.at, "/nav/position")
    measured = sum(heard.message is not None and heard.message.source == MEASURED for heard in found)
    rejected = [heard.message.reason for heard in run.observer.since(moment.at, "/nav/fix_rejected") if heard.message]
    run.expect(
        measured >= fixes - 1 > 5,
        "each fix leads to a measured position",
        f"{measured} of {fixes}, rejected for {sorted(set(rejected))}",
    )
