#!/usr/bin/env python3
"""Injects faults into the real stack from outside and reports violated expectations; see README.md beside this file."""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
import faults  # noqa: E402
import long_runs  # noqa: E402
from bus import ROOT  # noqa: E402
from run import Failure, GiveUp, Options, Run  # noqa: E402
from stack import NotStarted, Programs, SetUpFailed  # noqa: E402

DEFAULT_MAP = ROOT / "Tests/Fixtures/helsinki.osm.pbf"


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--bin",
        type=pathlib.Path,
        default=os.environ.get("NAVBUS_BIN", ROOT / ".build/release"),
        help="folder of the programs under test (default: NAVBUS_BIN or the release build)",
    )
    parser.add_argument("--launch", type=pathlib.Path, default=ROOT / "launch/vehicle.yaml", help="the launch file")
    parser.add_argument("--map", type=pathlib.Path, default=DEFAULT_MAP, help="extract to build road tiles from")
    parser.add_argument("--tiles", type=pathlib.Path, help="road tiles, instead of --map")
    parser.add_argument("--seed", type=int, default=1, help="seed of trips, times and errors")
    parser.add_argument("--faults", help="names or groups, separated by commas (default: all)")
    parser.add_argument("--list", action="store_true", help="list the faults and end")
    parser.add_argument("--quick", action="store_true", help="the short run of the test command")
    parser.add_argument("--minutes", type=float, help="duration of random faults, with a table at the end")
    parser.add_argument("--trip-kills", type=int, metavar="N", help="number of kills of navigation-node on trips with stops")
    parser.add_argument("--jobs", type=int, default=1, help="stacks at a time for --trip-kills")
    parser.add_argument("--deafness", action="store_true", help="large messages over many connections")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--soak", type=float, metavar="HOURS", help="number of simulated hours, played fast")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME:=VALUE", help="arguments of the launch file"
    )
    parser.add_argument(
        "--patience",
        type=float,
        metavar="TIMES",
        help="factor of the permitted recovery times (default: 1; 4 in the short run)",
    )
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results to a file")
    parser.add_argument(
        "--compare",
        nargs=2,
        type=pathlib.Path,
        metavar=("BEFORE", "AFTER"),
        help="print a table of two runs' --json files and end",
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and bags also of passed runs")
    parser.add_argument("--verbose", action="store_true", help="print figures of each fault")
    return parser.parse_args()


def build_map(programs: Programs, extract: pathlib.Path) -> pathlib.Path:
    """Returns the road tiles of an extract, which are built once."""
    version = f"{extract.stem.split('.')[0]}-{int((programs.folder / 'navbus').stat().st_mtime)}"
    tiles = pathlib.Path(f"/tmp/rig-tiles-{os.getuid()}") / version
    if not (tiles / "tileset.json").exists():
        tiles.parent.mkdir(mode=0o700, exist_ok=True)
        made = tiles.with_name(f"{version}.{os.getpid()}")
        done = programs.run("map", "build", extract, "--out", made)
        if done.returncode != 0:
            raise SetUpFailed(f"navbus map build: {done.stderr.strip()}")
        try:
            made.rename(tiles)
        except OSError:  # Another process was faster.
            shutil.rmtree(made)
    return tiles


class Report:
    """A report of the results of the faults, line by line."""

    def __init__(self, count: int, verbose: bool) -> None:
        self.count, self.verbose = count, verbose
        self.entries: list[dict] = []
        self._shown = sys.stderr.isatty()

    def begin(self, fault: faults.Fault) -> None:
        """Shows the running fault."""
        if self._shown:
            print(f"\r[{len(self.entries) + 1}/{self.count}] {fault.name} …\033[K", end="", file=sys.stderr, flush=True)

    def end(
        self, fault: faults.Fault, run: Run | None, failures: list[Failure], skipped: str, seconds: float, command: str
    ) -> None:
        """Prints the result of a fault."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr)
        outcome = "skipped" if skipped else "FAILED" if failures else "ok"
        facts = run.facts if run else {}
        known = ", ".join(f"{key} {value}" for key, value in facts.items() if self.verbose or key.endswith("_s"))
        print(f"{outcome:8} {fault.name:28} {seconds:6.1f} s  {skipped or known}", flush=True)
        for failure in failures:
            print(f"         expected: {failure.expected}\n         seen:     {failure.seen}")
        if failures:
            print(f"         logs and bags: {run.folder if run else '-'}\n         again: {command}", flush=True)
        self.entries.append(
            {
                "fault": fault.name,
                "group": fault.group,
                "outcome": outcome,
                "seconds": round(seconds, 1),
                "facts": facts,
                "skipped": skipped,
                "command": command,
                "folder": str(run.folder) if run and failures else None,
                "failures": [vars(failure) for failure in failures],
            }
        )


def do(fault: faults.Fault, options: Options, report: Report) -> None:
    """Runs one fault in a separate stack."""
    begin, run, skipped = time.monotonic(), None, ""
    command = f"{options.command} --seed {options.seed} --faults {fault.name}"
    failures: list[Failure] = []
    report.begin(fault)
    try:
        try:
            run = Run(fault.name, fault.scene, options, options.seed)
            run.begin()
            fault.action(run)
        except GiveUp:
            pass
        finally:
            if run:
                run.end()
    except SetUpFailed as problem:
        skipped = str(problem)
    except NotStarted as problem:
        failures.append(Failure("the nodes are running", str(problem)))
    except Exception:  # A defect of the rig is reported as such.
        failures.append(Failure("the rig can judge this fault", traceback.format_exc()))
    failures += run.failures if run else []
    report.end(fault, run, failures, skipped if not failures else "", time.monotonic() - begin, command)
    if run and not failures and not options.keep:
        run.clean()


def compare(before: pathlib.Path, after: pathlib.Path) -> None:
    """Prints the results of each fault in two runs, as a table in Markdown."""

    def outcome(entry: dict | None) -> str:
        if entry is None:
            return "not run"
        if entry["failures"]:
            first = entry["failures"][0]
            return f"FAILED: {first['expected']}: {first['seen']}".replace("|", "/").replace("\n", " ")[:240]
        known = ", ".join(
            f"{key.removesuffix('_s')} {value} s" for key, value in entry["facts"].items() if key.endswith("_s")
        )
        return f"skipped: {entry['skipped']}" if entry["skipped"] else f"passed{': ' + known if known else ''}"

    runs = [{entry["fault"]: entry for entry in json.loads(path.read_text())} for path in (before, after)]
    print("| fault | before | after | command |\n|---|---|---|---|")
    for name in dict.fromkeys([*runs[0], *runs[1]]):
        print(f"| {name} | {outcome(runs[0].get(name))} | {outcome(runs[1].get(name))} | `rig.py --faults {name}` |")


def main() -> int:
    """Runs the requested faults; returns 0 without failures."""
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if given.compare:
        compare(*given.compare)
        return 0
    if given.list:
        for fault in faults.ALL:
            print(f"{fault.name:28} {fault.group:10} {fault.about}")
        return 0
    words = [f"--bin {shlex.quote(str(given.bin))}"]
    if given.tiles:
        words.append(f"--tiles {shlex.quote(str(given.tiles))}")
    elif given.map != DEFAULT_MAP:
        words.append(f"--map {shlex.quote(str(given.map))}")
    words += [f"--set {shlex.quote(argument)}" for argument in given.set]
    try:
        programs = Programs(given.bin.resolve(), given.launch.resolve())
        tiles = (given.tiles or build_map(programs, given.map)).resolve()
        chosen = faults.choose(given.faults, given.quick)
    except (SetUpFailed, ValueError) as problem:
        print(f"rig: {problem}", file=sys.stderr)
        return 2
    options = Options(
        programs,
        tiles,
        given.map,
        given.seed,
        keep=given.keep,
        arguments=dict(argument.split(":=", 1) for argument in given.set),
        command=f"python3 Tests/Faults/rig.py {' '.join(words)}",
        patience=given.patience or (4.0 if given.quick else 1.0),
    )
    if given.minutes or given.trip_kills or given.deafness or given.soak:
        return long_runs.main(given, options)
    report = Report(len(chosen), given.verbose)
    for fault in chosen:
        do(fault, options, report)
        if given.json:
            given.json.write_text(json.dumps(report.entries, indent=1))
    failed = [entry for entry in report.entries if entry["outcome"] == "FAILED"]
    skipped = sum(entry["outcome"] == "skipped" for entry in report.entries)
    print(f"{len(report.entries) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
