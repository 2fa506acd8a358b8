#!/usr/bin/env python3
"""Compares routing with OSRM (MLD and CH), Valhalla and RoutingKit's CCH, on the same pairs, in alternating rounds.

The data of every system are built from the same extract, each in a process, with time, peak memory and bytes on disk; then
queries are measured on one thread of this process, those of navbus in `navbus-bench route`. Peers that do not run are
reported.

For fairness to the peers, requests are created before the clock starts. OSRM answers with its own tree of values in memory,
which is not converted to text or Python objects; hints are not generated; geometries are polylines, and coordinates as in
navbus's results only in route.full.geojson. Valhalla reads and writes JSON text, because its binding offers nothing faster.
The cost of an empty call is printed. RoutingKit searches our turn graph between the same states as our search, in its own
order and without snapping. Pairs that a system cannot route are included in the times and counted.

    Tests/Peers/routing.py [--map FILE.osm.pbf] [--mosaic] [--pairs 1000] [--rounds 5] [--seed 1] [--skip-build] [--json]
"""
import argparse
import csv
import importlib.metadata
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from workbench import DATA, ROOT, SHARED, say

PACKAGES = {"numpy": "numpy", "osrm": "osrm-bindings", "valhalla": "pyvalhalla", "routingkit_cch": "routingkit_cch"}


# Building: one process after the other, so that each has its own peak memory.


class Build:
    """The cost of the commands that build a system's data."""

    def __init__(self):
        self.seconds, self.memory = 0.0, 0.0

    def run(self, words, **options):
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        complaint = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError((complaint.strip().splitlines() or [f"exit {process.returncode}"])[-1])
        self.seconds += time.monotonic() - start
        self.memory = max(self.memory, usage.ru_maxrss / 1024)
        return self

    def figures(self, paths):
        size = sum(size_of(path) for path in paths)
        return {"map.build.seconds": self.seconds, "map.build.rss_mb": self.memory, "map.build.tile_mb": size / 1e6}


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(size_of(os.path.join(path, name)) for name in os.listdir(path))


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def now():
    return CLOCK()


CLOCK = time.monotonic_ns


def percentiles(samples, failed):
    """Returns nearest-rank percentiles in milliseconds."""
    ordered = sorted(samples)
    rank = lambda permille: ordered[max(1, -(-len(ordered) * permille // 1000)) - 1] / 1e6
    return {"p50": rank(500), "p99": rank(990), "failed": failed}


def timed(requests, call, routes=None):
    """Measures `call` for every request; an exception means that the pair was not routed."""
    samples, failed, count = [], 0, 0
    for request in requests:
        start = now()
        try:
            result = call(request)
            samples.append(now() - start)
        except Exception:
            samples.append(now() - start)
            failed += 1
            continue
        if routes:
            count += routes(result)
        del result  # RoutingKit allows one result at a time
    figures = percentiles(samples, failed)
    if routes:
        figures["mean_routes"] = count / max(1, len(requests) - failed)
    return figures


def named(name, figures):
    return {f"{name}.{key}": value for key, value in figures.items()}


class Ours:
    title = "navbus"

    def __init__(self, folder, arguments):
        self.tiles = os.path.join(folder, "tiles")
        self.bench, self.arguments = arguments.bench, arguments
        self.pairs = os.path.join(folder, f"pairs-{arguments.pairs}-{arguments.seed}.csv")
        self.turns = os.path.join(folder, f"turns-{arguments.pairs}-{arguments.seed}.bin")

    def build(self, source):
        words = [self.bench, "route-worker", "--map", source, "--out", self.tiles]
        run = subprocess.run(words, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip())
        said = {key: int(value) for key, value in (line.split() for line in run.stdout.splitlines())}
        return {
            "map.build.seconds": said["milliseconds"] / 1e3, "map.build.rss_mb": said["rss_kb"] / 1024,
            "map.build.tile_mb": said["bytes"] / 1e6,
        }

    def prepare(self):
        """Draws the pairs and writes the turn graph for RoutingKit."""
        words = ["--count", str(self.arguments.pairs), "--seed", str(self.arguments.seed), "--save-pairs", self.pairs]
        self.run(words + ["--export", self.turns, "--only", "queries", "--match", "route.snap", "--rounds", "1"], count=True)

    def run(self, more, count=False):
        words = [self.bench, "route", "--tiles", self.tiles, "--json"] + more
        if not count:
            words += ["--pairs", self.pairs]
        words += ["--processor-time"] * (self.arguments.clock == "cpu")
        run = subprocess.run(words, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip())
        return {row["name"]: row["value"] for row in map(json.loads, run.stdout.splitlines())}

    def measure(self):
        parts = "queries,full,alternatives,updates"
        found = self.run(["--rounds", "1", "--only", parts, "--verify", str(self.arguments.verify)])
        # Our result has coordinates, which OSRM's has only with geojson.
        return {**found, **{f"route.full.geojson.{key}": found[f"route.full.{key}"] for key in ("p50", "p99")}}


class Osrm:
    """OSRM through its Python binding, which links the library into this process."""

    def __init__(self, algorithm, folder):
        self.algorithm = algorithm
        self.title = f"OSRM {importlib.metadata.version('osrm-bindings')} {algorithm}"
        self.folder = os.path.join(folder, f"osrm-{algorithm.lower()}")
        self.base = os.path.join(self.folder, "map.osrm")

    def build(self, source):
        import osrm

        home = os.path.dirname(osrm.__file__)
        tool = lambda name: os.path.join(home, "bin", f"osrm-{name}")
        link = os.path.join(fresh(self.folder), "map.osm.pbf")
        os.symlink(os.path.abspath(source), link)
        build = Build().run([tool("extract"), "-p", os.path.join(home, "share", "profiles", "car.lua"), link])
        figures = {}
        if self.algorithm == "MLD":
            build.run([tool("partition"), self.base])
            customise = Build().run([tool("customize"), self.base])
            build.seconds += customise.seconds
            build.memory = max(build.memory, customise.memory)
            figures["route.customise.all"] = customise.seconds * 1e3
        else:
            build.run([tool("contract"), self.base])
        os.remove(link)
        return {**build.figures([self.folder]), **figures}

    def load(self, pairs):
        import osrm

        self.engine = osrm.OSRM(algorithm=self.algorithm, storage_config=self.base, use_shared_memory=False)

        def requests(chosen, **options):
            return [
                osrm.RouteParameters(coordinates=[(a[1], a[0]), (b[1], b[0])], generate_hints=False, **options)
                for a, b in chosen
            ]

        plain = {"steps": False, "overview": "false", "geometries": "polyline"}
        self.local, self.random = requests(pairs["local"], **plain), requests(pairs["random"], **plain)
        self.full = requests(
            pairs["local"], steps=True, overview="full", geometries="polyline", annotations=["all"])
        self.geojson = requests(
            pairs["local"], steps=True, overview="full", geometries="geojson", annotations=["all"])
        self.choices = requests(pairs["local"], number_of_alternatives=2, **plain)
        self.ends = [
            [osrm.NearestParameters(coordinates=[(place[1], place[0])], generate_hints=False) for place in pair]
            for pair in pairs["local"]
        ]

    def empty(self):
        request = self.local[0]
        return timed([None] * 1000, lambda _: request.IsValid())["p50"]

    def measure(self):
        route, nearest = self.engine.Route, self.engine.Nearest
        return {
            **named("route.snap", timed(self.ends, lambda ends: (nearest(ends[0]), nearest(ends[1])))),
            **named("route.local", timed(self.local, route)),
            **named("route.random", timed(self.random, route)),
            **named("route.full", timed(self.full, route)),
            **named("route.full.geojson", timed(self.geojson, route)),
            **named("route.alternatives", timed(self.choices, route, lambda result: len(result["routes"]))),
        }


class Valhalla:
    """Valhalla through its Python binding, with JSON text as input and output."""

    def __init__(self, folder):
        self.title = f"Valhalla {importlib.metadata.version('pyvalhalla')}"
        self.folder = os.path.join(folder, "valhalla")
        self.config = os.path.join(folder, "valhalla.json")

    def build(self, source):
        import valhalla

        tiles = fresh(self.folder)
        config = valhalla.get_config(tile_extract="", tile_dir=tiles)
        config["mjolnir"]["tile_extract"] = ""
        config["mjolnir"]["logging"] = config["loki"]["logging"] = {"type": ""}
        for part in ("thor", "odin", "meili", "service"):
            if "logging" in config.get(part, {}):
                config[part]["logging"] = {"type": ""}
        with open(self.config, "w") as file:
            json.dump(config, file)
        tool = os.path.join(os.path.dirname(valhalla.__file__), "bin", "valhalla_build_tiles")
        return Build().run([tool, "-c", self.config, source]).figures([tiles])

    def load(self, pairs):
        import valhalla

        with open(self.config) as file:
            self.actor = valhalla.Actor(json.load(file))

        def requests(chosen, **options):
            return [
                json.dumps({"locations": [{"lat": place[0], "lon": place[1]} for place in pair], "costing": "auto", **options})
                for pair in chosen
            ]

        self.local = requests(pairs["local"], directions_type="none")
        self.random = requests(pairs["random"], directions_type="none")
        self.full = requests(pairs["local"], directions_type="instructions")
        self.choices = requests(pairs["local"], directions_type="none", alternates=2)

    def empty(self):
        return timed([None] * 20, lambda _: self.actor.status("{}"))["p50"]

    def measure(self):
        route = self.actor.route
        count = lambda text: 1 + text.count('{"trip":') - text.startswith('{"trip":')
        return {
            **named("route.local", timed(self.local, route)),
            **named("route.random", timed(self.random, route)),
            **named("route.full", timed(self.full, route)),
            **named("route.alternatives", timed(self.choices, route, count)),
        }


class RoutingKit:
    """RoutingKit's customisable contraction hierarchy on our turn graph: only the search."""

    def __init__(self, turns):
        self.title = f"RoutingKit CCH {importlib.metadata.version('routingkit_cch')}"
        self.turns = turns

    def build(self, source):
        return {}

    def load(self, pairs):
        import numpy
        import routingkit_cch

        with open(self.turns, "rb") as file:
            words = numpy.frombuffer(file.read(), dtype=numpy.uint32)
        states, arcs, count = (int(value) for value in words[:3])
        parts, start = [], 3
        for size in (arcs, arcs, arcs, states, states, count, count):
            parts.append(words[start:start + size])
            start += size
        tails, heads, costs = (part.copy() for part in parts[:3])
        latitudes, longitudes = (part.view(numpy.float32).copy() for part in parts[3:5])
        self.costs, self.pairs = costs, list(zip(parts[5].tolist(), parts[6].tolist()))
        begin = time.monotonic()
        order = routingkit_cch.compute_order_inertial(states, tails, heads, latitudes, longitudes)
        ordered = time.monotonic()
        self.hierarchy = routingkit_cch.CCH(order, tails, heads, False)
        say(f"{self.title}: order {ordered - begin:.1f} s, contraction {time.monotonic() - ordered:.2f} s")
        self.metric = routingkit_cch.CCHMetric(self.hierarchy, costs)
        self.query = routingkit_cch.CCHQuery(self.metric)
        self.make = routingkit_cch.CCHMetric

    def empty(self):
        return timed([None] * 1000, lambda _: self.query.run(0, 0))["p50"]

    def measure(self):
        searches, unpackings = [], []
        for origin, destination in self.pairs:
            start = now()
            result = self.query.run(origin, destination)
            middle = now()
            path = result.node_path
            end = now()
            searches.append(middle - start)
            if path is not None and len(path):
                unpackings.append(end - middle)
            del result
        start = time.monotonic_ns()
        self.make(self.hierarchy, self.costs)
        customise = (time.monotonic_ns() - start) / 1e6
        search, unpacking = percentiles(searches, 0), percentiles(unpackings, 0)
        return {
            "route.query.p50": search["p50"], "route.query.p99": search["p99"],
            "route.query.unpack.p50": unpacking["p50"], "route.query.unpack.p99": unpacking["p99"],
            "route.customise.all": customise,
        }


# The rounds.


def ensure():
    """Continues in a virtual environment with the required packages if this Python lacks some."""
    missing = [package for module, package in PACKAGES.items() if not importlib.util.find_spec(module)]
    folder = os.path.join(ROOT, ".build", "peers")
    python = os.path.join(folder, "bin", "python")
    if not missing or os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for package in list(PACKAGES.values()) + ["osmium"]:
        subprocess.run(pip + [package], stdout=subprocess.DEVNULL)
    os.execv(python, [python] + sys.argv)


def make_mosaic(source, folder, tool):
    """Creates an extract of sixteen copies of another one in a square, joined by trunk roads; returns its path."""
    path = os.path.join(folder, "mosaic.osm.pbf")
    if not os.path.exists(path):
        say("making the mosaic, which takes about a minute")
        subprocess.run([sys.executable, tool, source, path + ".new.osm.pbf", "4"], check=True, stdout=subprocess.DEVNULL)
        os.rename(path + ".new.osm.pbf", path)
    return path


def read_pairs(path):
    pairs = {"local": [], "random": []}
    with open(path) as file:
        for row in csv.DictReader(file):
            origin = (float(row["from_lat"]), float(row["from_lon"]))
            pairs[row["kind"]].append((origin, (float(row["to_lat"]), float(row["to_lon"]))))
    return pairs


def attempt(system, work):
    """Returns the result of an action on a system; prints the error and returns None if it fails."""
    try:
        return work()
    except Exception as error:
        say(f"not measured: {system.title}: {error}")
        return None


def median(values):
    return statistics.median(values) if values else None


UNITS = {
    "failed": "pairs", "mean_routes": "routes", "seconds": "s", "rss_mb": "MiB", "tile_mb": "MB", "checked": "pairs",
    "wrong": "pairs", "violations": "routes", "steps": "mean",
}


def rows_of(ours, theirs, titles):
    """Returns a row for each figure and peer that has it; figures without a peer have one row. Values are lists by round."""
    rows = []
    for name, mine in ours.items():
        peers = [who for who in titles if name in theirs[who]]
        for who in peers or [None]:
            other = theirs[who][name] if who else []
            ratios = [a / b for a, b in zip(mine, other) if a is not None and b]
            rows.append({
                "name": name, "value": median([value for value in mine if value is not None]),
                "unit": UNITS.get(name.split(".")[-1], "ms"), "peer": titles[who] if who else None,
                "peer_value": median(other), "ratio": median(ratios),
            })
    return rows


def report(rows, as_json):
    if as_json:
        for row in rows:
            print(json.dumps(row, separators=(",", ":")))
        return
    number = lambda value: "–" if value is None else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
    print(f"{'figure':38} {'navbus':>9} {'peer':>9} {'ratio':>8} {'unit':7} compared with")
    for row in rows:
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f} ×"
        values = f"{number(row['value']):>9} {number(row['peer_value']):>9} {ratio:>8}"
        print(f"{row['name']:38} {values} {row['unit']:7} {row['peer'] or '–'}")


def compare(arguments):
    ensure()
    source = os.path.abspath(arguments.map)
    name = os.path.basename(source).split(".")[0] + ("-mosaic" if arguments.mosaic else "")
    folder = os.path.join(arguments.work, name)
    os.makedirs(folder, exist_ok=True)
    if arguments.mosaic:
        source = make_mosaic(source, folder, arguments.mosaic_tool)
    ours = Ours(folder, arguments)
    systems = {
        "mld": lambda: Osrm("MLD", folder), "ch": lambda: Osrm("CH", folder), "valhalla": lambda: Valhalla(folder),
        "routingkit": lambda: RoutingKit(ours.turns),
    }
    peers = {}
    for who in arguments.peers:
        try:
            peers[who] = systems[who]()
        except importlib.metadata.PackageNotFoundError as error:
            say(f"not measured: {who}: the package {error} is not installed")
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    say(f"kernel {os.uname().release}, Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {load}")
    builds, mine = {who: {} for who in peers}, {}
    record = os.path.join(folder, "builds.json")
    if arguments.skip_build and os.path.exists(record):
        with open(record) as file:
            known = json.load(file)
        mine = known.get("navbus", {})
        builds.update({who: known[who] for who in peers if who in known})
    else:
        say(f"building {name}")
        mine = ours.build(source)
        for who, peer in list(peers.items()):
            done = attempt(peer, lambda: peer.build(source))
            if done is None:
                del peers[who], builds[who]
            else:
                builds[who] = done
        with open(record, "w") as file:
            json.dump({"navbus": mine, **builds}, file)
    ours.prepare()
    pairs = read_pairs(ours.pairs)
    say(f"pairs    {len(pairs['local'])} local, {len(pairs['random'])} random, seed {arguments.seed}")
    for who, peer in list(peers.items()):
        if attempt(peer, lambda: (peer.load(pairs), say(f"{peer.title}: an empty call takes {peer.empty():.4f} ms"))) is None:
            del peers[who]
    values, theirs = {key: [value] for key, value in mine.items()}, {}
    for who in peers:
        theirs[who] = {key: [value] for key, value in builds.get(who, {}).items()}
    for turn in range(arguments.rounds):
        order = ["navbus"] + list(peers)
        order = order[turn % len(order):] + order[:turn % len(order)]
        for who in order:
            if sys.stderr.isatty():
                print(f"\rround {turn + 1} of {arguments.rounds}: {who}\033[K", end="", file=sys.stderr, flush=True)
            found = ours.measure() if who == "navbus" else attempt(peers[who], peers[who].measure)
            if found is None:
                del peers[who], theirs[who]
                continue
            target = values if who == "navbus" else theirs[who]
            for key, value in found.items():
                target.setdefault(key, []).append(value)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    rows = rows_of(values, theirs, {who: peer.title for who, peer in peers.items()})
    report(rows, arguments.json)
    return 0 if rows else 1


def main():
    global CLOCK
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--map", default=os.path.join(DATA, "osm", "porto.osm.pbf"), help="the extract, .osm.pbf")
    parser.add_argument("--mosaic", action="store_true", help="a 16-fold mosaic of the extract instead")
    parser.add_argument("--mosaic-tool", default=os.path.join(SHARED, "tools", "osm_mosaic.py"), help="the program that creates the mosaic")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of each kind, local (5 to 30 km) and random")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds; figures are medians over them")
    parser.add_argument("--seed", type=int, default=1, help="seed of the pairs")
    parser.add_argument("--verify", type=int, default=50, help="pairs whose results are checked by plain searches")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="cpu measures the thread's processor time, for busy machines")
    parser.add_argument("--skip-build", action="store_true", help="use the data of an earlier run")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure, as from navbus-bench")
    parser.add_argument("--peers", default="mld,ch,valhalla,routingkit", help="which of mld,ch,valhalla,routingkit")
    parser.add_argument("--bench", default=os.path.join(ROOT, ".build/release/navbus-bench"), help="our program")
    parser.add_argument("--work", default=os.path.join(ROOT, ".build", "peers-routing"), help="folder for the data")
    arguments = parser.parse_args()
    arguments.peers = [name for name in arguments.peers.split(",") if name]
    unknown = [name for name in arguments.peers if name not in ("mld", "ch", "valhalla", "routingkit")]
    if unknown or arguments.rounds < 1 or arguments.pairs < 1:
        parser.error(f"unknown peer {unknown[0]}" if unknown else "a number is too small")
    if not os.access(arguments.bench, os.X_OK):
        parser.error(f"{arguments.bench} is missing: swift build -c release")
    if not os.access(arguments.map, os.R_OK):
        parser.error(f"{arguments.map} cannot be read: give --map FILE.osm.pbf")
    if arguments.clock == "cpu":
        CLOCK = time.thread_time_ns
    return compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
