#!/usr/bin/env python3
"""Measures the performance of `navbus check` on a fleet of recorded drives.

Simulated drives on the given tilesets are cut into bags of ten minutes; every fifth bag has no trip. Of every hundredth drive, a copy of
the first bag continues 40 m beside the road for a minute, because on mapped roads a deviation is detected before any threshold of distance
applies. With --drives, recordings of real drives in a folder and below, in any format that `navbus bag convert` reads, are part of the
fleet: each is converted, cut in the same way and checked without a trip, on the tileset on which it begins. The measurements, in this
order:

 * once: fixes per second and core of a first run
 * unchanged: the time of a second run as a share of the first run's
 * one key: the bags that are run again after a change of a deviation threshold, compared with those that have a trip
 * cluster: whether Ray with four workers, one of which is killed, gives the same bytes
 * itself: the comparisons of the build with itself that report a change
 * fault: whether a doubled deviation threshold is found, and classified in comparison with the stored references

    swift build -c release --product navbus
    python Tests/Peers/fleet.py --tiles .build/tiles --bags 10000 --folder /tmp/fleet --drives ../drives
"""
import argparse
import concurrent.futures
import csv
import filecmp
import glob
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

from workbench import ROOT, distance, run, say, show

SECONDS = 600
# The shortest remainder of a real drive that is used, seconds.
LEAST_SECONDS = 60
# The number of bags that one simulated drive is cut into.
PIECES = 3
# The part of a drive that is moved beside the road, in fixes, and the distance in metres.
BESIDE, OFFSET = slice(300, 360), 40
# The least speed in a straight line, m/s: places that are closer together are not tried.
SLOW = 8
# Known places near roads, by tileset.
PLACES = {}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", action="append", required=True, help="directory of road tiles; may be given again")
    parser.add_argument("--real-tiles", action="append", default=[], metavar="TILES",
                        help="a tileset for real drives only, for example with too few roads for simulated drives")
    parser.add_argument("--folder", required=True, help="folder of the fleet")
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--drives", help="folder of recordings of real drives, which count as bags")
    parser.add_argument("--navbus", default=os.path.join(ROOT, ".build/release/navbus"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def bag_path(options, index):
    tiles = options.tiles[index // PIECES % len(options.tiles)]
    return f"{options.folder}/bags/{os.path.basename(tiles)}-{index:05}.mcap"


def simulate(options, drive):
    """Creates the bags of a drive unless they exist; retries elsewhere if a drive ends too soon or a place has no road."""
    first = drive * PIECES
    paths = [bag_path(options, index) for index in range(first, min(first + PIECES, options.bags))]
    if all(os.path.exists(path) for path in paths):
        return
    tiles = options.tiles[drive % len(options.tiles)]
    with open(tiles + "/tileset.json") as file:
        bounds = json.load(file)["bounds"]
    dice = random.Random(drive)
    known = PLACES.setdefault(tiles, [])

    def place():
        # Most of a bounding box has no roads, so places near known ones are preferred.
        if known and dice.random() < 0.9:
            latitude, longitude = dice.choice(known)
            return latitude + dice.uniform(-0.004, 0.004), longitude + dice.uniform(-0.004, 0.004)
        return dice.uniform(bounds["south"], bounds["north"]), dice.uniform(bounds["west"], bounds["east"])

    whole, noise = paths[0] + ".whole.mcap", dice.choice(["open", "urban"])
    for _ in range(10_000):
        places = [place(), place()]
        if distance(*places) < SECONDS * PIECES * SLOW:
            continue
        start, end = (f"{latitude:.6f},{longitude:.6f}" for latitude, longitude in places)
        words = [options.navbus, "simulate", "--tiles", tiles, "--from", start, "--to", end, "--noise", noise, "--seed",
                 str(drive), "--out", whole, "--overwrite", "--json"]
        if drive % 3 == 0:
            words += ["--deviate-at", str(dice.randrange(1500, 15_000))]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode == 0:
            known += places
        if done.returncode == 0 and json.loads(done.stdout)["duration"] >= SECONDS * PIECES:
            for piece, path in enumerate(paths):
                run([options.navbus, "bag", "cut", whole, "--start", str(SECONDS * piece), "--end",
                     str(SECONDS * (piece + 1)), "--out", path, "--overwrite"])
            os.remove(whole)
            return
    raise RuntimeError(f"no drive of {SECONDS * PIECES} s was found on {tiles}")


def beside(options, drive):
    """Creates a copy of a drive's first bag that continues beside the road for a minute; returns its last position."""
    bag = bag_path(options, drive * PIECES)
    copy = f"{options.folder}/bags/{os.path.basename(options.tiles[drive % len(options.tiles)])}-beside-{drive:05}"
    run([options.navbus, "bag", "convert", bag, "--out", copy + ".csv", "--overwrite"])
    with open(copy + ".csv") as file:
        head, *rows = csv.reader(file)
    latitude, longitude, heading = (head.index(name) for name in ("lat", "lon", "heading_deg"))
    for row in rows[BESIDE]:
        # To the right.
        course = math.radians(float(row[heading] or 0) + 90)
        degrees = OFFSET / 111_195
        row[latitude] = f"{float(row[latitude]) + degrees * math.cos(course):.8f}"
        row[longitude] = f"{float(row[longitude]) + degrees * math.sin(course) / math.cos(math.radians(float(row[latitude]))):.8f}"
    with open(copy + ".csv", "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    run([options.navbus, "bag", "convert", copy + ".csv", "--out", copy + ".mcap", "--overwrite"])
    os.remove(copy + ".csv")
    return f"{rows[-1][latitude]},{rows[-1][longitude]}"


def tileset_of(options, bag):
    """Returns the tileset that contains one of the first 600 positions of a bag; None without one."""
    for line in run([options.navbus, "bag", "cat", bag, "--topics", "/gnss/fix", "--count", 600, "--json"]).splitlines():
        message = json.loads(line)["message"]
        if "latitude" not in message or "longitude" not in message:
            continue
        for tiles in options.tiles + options.real_tiles:
            with open(tiles + "/tileset.json") as file:
                bounds = json.load(file)["bounds"]
            if (bounds["south"] <= message["latitude"] <= bounds["north"]
                    and bounds["west"] <= message["longitude"] <= bounds["east"]):
                return tiles
    return None


def convert(options, path):
    """Converts a recording; returns its bags, or none, with a message, if it is unreadable or has no position on the tiles."""
    name = os.path.relpath(path, options.drives).replace(os.sep, "-")
    whole = f"{options.folder}/bags/{name}.whole.mcap"
    try:
        run([options.navbus, "bag", "convert", path, "--out", whole, "--overwrite"])
        tiles = tileset_of(options, whole)
        if not tiles:
            say(f"{path} is skipped: it has no position on the given tiles")
            return []
        seconds = json.loads(run([options.navbus, "bag", "info", whole, "--json"]))["duration_s"]
        bags = []
        for start in range(0, max(int(seconds) - LEAST_SECONDS, 0) + 1, SECONDS):
            bag = f"{options.folder}/bags/{os.path.basename(tiles)}-drive-{name}-{start // SECONDS:03}.mcap"
            run([options.navbus, "bag", "cut", whole, "--start", start, "--end", start + SECONDS, "--out", bag, "--overwrite"])
            bags.append(bag)
        return bags
    except (RuntimeError, KeyError) as error:
        say(f"{path} is skipped: {error}")
        return []
    finally:
        if os.path.exists(whole):
            os.remove(whole)


def take_drives(options):
    """Creates bags from the recordings in the folder of real drives, and returns their number."""
    for old in glob.glob(glob.escape(options.folder + "/bags/") + "*-drive-*.mcap"):
        os.remove(old)
    paths = sorted(
        os.path.join(folder, file) for folder, _, files in os.walk(options.drives) for file in files
        # Files with the truth of a drive have the same format but are not recordings.
        if not file.startswith(("truth", ".")))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return sum(len(bags) for bags in pool.map(lambda path: convert(options, path), paths))


def make(options):
    os.makedirs(options.folder + "/bags", exist_ok=True)
    real = take_drives(options) if options.drives else 0
    if options.drives:
        say(f"{real} bags of real drives")
    options.bags = max(options.bags - real, 0)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        drives = -(-options.bags // PIECES)
        for number, _ in enumerate(pool.map(lambda drive: simulate(options, drive), range(drives)), 1):
            if number % 10 == 0 and sys.stderr.isatty():
                print(f"\r{number * PIECES} of {options.bags} bags", end="", file=sys.stderr, flush=True)
    lines = ["references: references", "expect: [never reroute FAILED]", "bags:"]
    for drive in range(0, drives, 100):
        destination = beside(options, drive)
        tiles = options.tiles[drive % len(options.tiles)]
        lines.append(f"  - {{bags: 'bags/{os.path.basename(tiles)}-beside-{drive:05}.mcap', tiles: '{os.path.abspath(tiles)}', "
                     f"tags: [beside], to: '{destination}'}}")
    for tiles in options.tiles + options.real_tiles:
        name = os.path.basename(tiles)
        # Every fifth simulated bag and every real drive has no trip.
        for kind, pattern, more in (
                ("trip", "????[1-46-9]", ""), ("free", "????[05]", ", to: none"), ("real", "drive-*", ", to: none")):
            if glob.glob(f"{glob.escape(options.folder)}/bags/{glob.escape(name)}-{pattern}.mcap"):
                lines.append(f"  - {{bags: 'bags/{name}-{pattern}.mcap', tiles: '{os.path.abspath(tiles)}', "
                             f"tags: [{kind}]{more}}}")
    with open(options.folder + "/fleet.yaml", "w") as file:
        file.write("\n".join(lines) + "\n")


def check(options, *more, cache="runs"):
    """Runs a check; returns its summary, its seconds, and its processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [options.navbus, "check", options.folder + "/fleet.yaml", "--cache", f"{options.folder}/{cache}",
             "--jobs", str(options.jobs), "--json", *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), time.monotonic() - start, used


def itself(options, shard):
    """Whether a part of the fleet counts as changed when it is run again and compared with the first run."""
    words = ["--no-caching", "--shard", shard, "--compare", options.folder + "/one.out"]
    return any(figure["isChange"] for figure in check(options, *words)[0]["figures"])


def kill_a_worker(stop):
    """Kills a busy worker of Ray."""
    while not stop.wait(1):
        found = subprocess.run(["pgrep", "-f", "^ray::run_shard"], capture_output=True, text=True).stdout.split()
        if found:
            time.sleep(5)
            os.kill(int(found[0]), signal.SIGKILL)
            return say(f"worker {found[0]} is killed")


def cluster(options):
    out = options.folder + "/cluster.out"
    # The result of an earlier run must not be mistaken for that of this one.
    if os.path.exists(out):
        os.remove(out)
    stop = threading.Event()
    threading.Thread(target=kill_a_worker, args=(stop,), daemon=True).start()
    done = subprocess.run(
        [sys.executable, ROOT + "/launch/check-ray", options.folder + "/fleet.yaml", "--navbus", options.navbus, "--workers", "4",
         "--shards", "16",
         "--", "--cache", options.folder + "/runs-cluster", "--out", out, "--json"],
        stdout=subprocess.DEVNULL)
    stop.set()
    if done.returncode not in (0, 1):
        raise RuntimeError(f"check-ray ends with status {done.returncode}")
    return filecmp.cmp(options.folder + "/one.out", out, shallow=False)


def main():
    options = arguments()
    make(options)
    rows = []

    def row(what, value, unit):
        rows.append({"what": what, "value": value, "unit": unit})
        say(f"{what}: {value} {unit}")

    for cache in ("runs", "runs-cluster"):
        shutil.rmtree(f"{options.folder}/{cache}", ignore_errors=True)
    one, seconds, used = check(options, "--update", "--out", options.folder + "/one.out")
    row("bags", one["executed"], "")
    row("fixes", one["fixes"], "")
    row("fixes a second and core", round(one["fixes"] / used), "1/s")
    row("first run", round(seconds, 1), "s")
    again, short, _ = check(options)
    row("unchanged", round(100 * short / seconds, 2), "% of it")
    row("unchanged, executed", again["executed"], "bags")
    trips = sum(len(run([options.navbus, "check", options.folder + "/fleet.yaml", "--list", "--tag", tag]).split())
                for tag in ("trip", "beside"))
    changed, _, _ = check(options, "--set", "deviation.debounce_fixes=5")
    row("one key, executed", changed["executed"], f"of {trips} with a trip")
    fault, _, _ = check(options, "--set", "deviation.min_distance_m=50", "--set", "deviation.max_distance_m=120")
    row("doubled deviation, changed", fault["changed"], "bags")
    row("doubled deviation, classes", len(fault.get("classes", [])), "")
    if not fault["changed"]:
        raise RuntimeError("the doubled deviation threshold is not detected")
    raised = sum(
        itself(options, f"{part + 1}/{options.comparisons}") for part in range(options.comparisons))
    row(f"of {options.comparisons} comparisons with itself, a change in", raised, "")
    row("cluster, same bytes", cluster(options), "")
    show(rows, options.json)


if __name__ == "__main__":
    main()
