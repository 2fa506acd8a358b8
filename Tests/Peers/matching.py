#!/usr/bin/env python3
"""Compares map matching with OSRM match, Valhalla trace_attributes and fastmm, on the same network and traces.

Accuracy: 158 real drives (hof) with a fix every five seconds and only positions, on the union of the driven roads, which are
all unclassified. The matched line of every system is converted to pairs of consecutive OSM nodes at its corners and scored by
../shared/tools/score_match.py: the share of road that is matched by mistake or missed (Newson and Krumm, 2009), over all
drives (pooled) and as the median of the drives. The peers process the whole drive at once; navbus does so with --smooth, and
is causal without. Each peer runs with several settings, of which the best result is shown; navbus has no settings.

Speed: points per second on one thread, on drives simulated by `navbus-bench match` on the extract given with --map. The times
are those of the library call including the conversions of its binding; OSRM's answer stays in memory, Valhalla's is JSON
text.

    Tests/Peers/matching.py [--map FILE.osm.pbf] [--navbus PROGRAM] [--bench PROGRAM] [--drives 60] [--rounds 3]
                            [--only accuracy,speed] [--folder DIR] [--json]
"""
import argparse
import csv
import importlib.metadata
import json
import math
import os
import shutil
import statistics
import sys
import time

from workbench import DATA, ROOT, SHARED, run, say, show, workplace

BATCH = 90  # fixes per request to OSRM in the speed run; the limit of its server is 100


def fixes(path):
    with open(path) as file:
        return [(float(row["t_s"]), float(row["lat"]), float(row["lon"])) for row in csv.DictReader(file)]


def distinct(trace):
    """Returns the fixes whose second exceeds the previous one, because OSRM requires increasing whole seconds."""
    kept = []
    for fix in trace:
        if not kept or int(fix[0]) > int(kept[-1][0]):
            kept.append(fix)
    return kept


class Roads:
    """The drivable segments of an extract; converts lines of coordinates to pairs of nodes."""

    CELL = 2e-5  # degrees, about two metres

    def __init__(self, path):
        import osmium

        self.nodes, self.ways, self.cells = {}, [], {}
        for item in osmium.FileProcessor(path).with_locations():
            if item.is_node():
                self.nodes[item.id] = (item.lat, item.lon)
            elif item.is_way() and "highway" in item.tags:
                self.ways.append(([node.ref for node in item.nodes], item.tags.get("oneway", "no")))
        self.segments = set()
        for nodes, oneway in self.ways:
            for a, b in zip(nodes, nodes[1:]):
                if oneway != "-1":
                    self.segments.add((a, b))
                if oneway in ("no", "-1"):
                    self.segments.add((b, a))
        for node in {node for pair in self.segments for node in pair}:
            lat, lon = self.nodes[node]
            self.cells.setdefault((round(lat / self.CELL), round(lon / self.CELL)), []).append(node)

    def node_at(self, lat, lon):
        best, nearest = None, 1.0
        row, column = round(lat / self.CELL), round(lon / self.CELL)
        for i in (row - 1, row, row + 1):
            for j in (column - 1, column, column + 1):
                for node in self.cells.get((i, j), ()):
                    d = metres((lat, lon), self.nodes[node])
                    if d < nearest:
                        best, nearest = node, d
        return best

    def pairs(self, lines):
        """Returns the segments that lines of (lat, lon) pass from end to end; consecutive equal nodes count once."""
        found = []
        for line in lines:
            last = None
            for lat, lon in line:
                node = self.node_at(lat, lon)
                if node is None or node == last:
                    continue
                if last is not None and (last, node) in self.segments:
                    found.append((last, node))
                last = node
        return found


def metres(a, b):
    return math.hypot((a[0] - b[0]) * 111_200, (a[1] - b[1]) * 111_200 * math.cos(math.radians(a[0])))


class Ours:
    def __init__(self, arguments, smooth):
        self.title = "navbus match --raw --smooth" if smooth else "navbus match --raw (causal)"
        self.arguments, self.smooth = arguments, smooth

    def accuracy(self, network, drives, roads, folder):
        tiles, out = os.path.join(folder, "hof-tiles"), os.path.join(folder, f"out-{int(self.smooth)}")
        if not os.path.exists(tiles):
            run([self.arguments.navbus, "map", "build", network, "--out", tiles])
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        traces = [os.path.join(drive, "trace.csv") for drive in drives]
        # For positions without speed, five seconds apart, the roads give more information than the node's filter.
        extra = ["--raw", "--smooth"] if self.smooth else ["--raw"]
        run([self.arguments.navbus, "match", "--tiles", tiles, *traces, "--format", "edges", "--out-dir", out, *extra])
        result = []
        for drive in drives:
            with open(os.path.join(out, f"{os.path.basename(drive)}-trace.edges.csv")) as file:
                result.append([(int(row["from_node"]), int(row["to_node"])) for row in csv.DictReader(file)])
        return result


class Osrm:
    settings = [5, 10, 15, 30]  # standard deviation of a fix, metres

    def __init__(self):
        self.title = f"OSRM {importlib.metadata.version('osrm-bindings')} match"

    def build(self, source, folder):
        import osrm

        home = os.path.dirname(osrm.__file__)
        tool = lambda name: os.path.join(home, "bin", f"osrm-{name}")
        base = os.path.join(folder, "osrm", os.path.basename(source).split(".")[0])
        os.makedirs(os.path.dirname(base), exist_ok=True)
        link = base + ".osm.pbf"
        if not os.path.exists(base + ".osrm.cell_metrics"):
            if not os.path.lexists(link):
                os.symlink(os.path.abspath(source), link)
            run([tool("extract"), "-p", os.path.join(home, "share", "profiles", "car.lua"), link])
            run([tool("partition"), base + ".osrm"])
            run([tool("customize"), base + ".osrm"])
        self.engine = osrm.OSRM(
            algorithm="MLD", storage_config=base + ".osrm", use_shared_memory=False, max_locations_map_matching=100_000,
            max_radius_map_matching=-1.0)

    def request(self, trace, sigma, **options):
        import osrm

        return osrm.MatchParameters(
            coordinates=[(lon, lat) for _, lat, lon in trace], timestamps=[int(t) for t, _, _ in trace],
            radiuses=[float(sigma)] * len(trace), generate_hints=False, **options)

    def match(self, trace, sigma):
        answer = self.engine.Match(
            self.request(distinct(trace), sigma, geometries="geojson", overview="full", gaps="ignore"))
        return [
            [(point[1], point[0]) for point in matching["geometry"]["coordinates"]] for matching in answer["matchings"]
        ]

    def requests(self, trace):
        trace = distinct(trace)
        return [
            self.request(trace[i : i + BATCH], 5, overview="false", steps=False)
            for i in range(0, len(trace), BATCH) if len(trace[i : i + BATCH]) > 1
        ]

    def call(self, request):
        self.engine.Match(request)


class Valhalla:
    settings = [5, 10, 15, 30]  # accuracy of a fix, metres

    def __init__(self):
        self.title = f"Valhalla {importlib.metadata.version('pyvalhalla')} trace_attributes"

    def build(self, source, folder):
        import valhalla

        name = os.path.basename(source).split(".")[0]
        tiles = os.path.join(folder, "valhalla", name)
        os.makedirs(tiles, exist_ok=True)
        config = valhalla.get_config(tile_extract="", tile_dir=tiles)
        config["mjolnir"]["tile_extract"] = ""
        for part in ("mjolnir", "loki", "thor", "odin", "meili", "service"):
            if part in config:
                config[part]["logging"] = {"type": ""}
        config["service_limits"]["trace"].update(max_shape=100_000, max_distance=2e6, max_gps_accuracy=100, max_search_radius=200)
        path = os.path.join(folder, "valhalla", name + ".json")
        with open(path, "w") as file:
            json.dump(config, file)
        if not os.listdir(tiles):
            run([os.path.join(os.path.dirname(valhalla.__file__), "bin", "valhalla_build_tiles"), "-c", path, source])
        self.actor = valhalla.Actor(json.loads(json.dumps(config)))

    def request(self, trace, sigma):
        return json.dumps(
            {
                "shape": [{"lat": lat, "lon": lon, "time": int(t)} for t, lat, lon in trace],
                "costing": "auto", "shape_match": "map_snap", "use_timestamps": False,
                "trace_options": {"gps_accuracy": sigma, "search_radius": 50},
                "filters": {"attributes": ["shape", "edge.way_id", "edge.begin_shape_index"], "action": "include"},
            })

    def match(self, trace, sigma):
        return [polyline6(json.loads(self.actor.trace_attributes(self.request(trace, sigma)))["shape"])]

    def requests(self, trace):
        return [self.request(trace, 5)]

    def call(self, request):
        self.actor.trace_attributes(request)


class FastMM:
    # The standard deviation of a fix, the search radius for roads, and the greatest apparent backward movement, metres.
    settings = [(5, 50, 0), (15, 50, 0), (30, 100, 30), (50, 150, 50)]

    def __init__(self):
        self.title = f"fastmm {importlib.metadata.version('fastmm')}"

    def build(self, source, folder, roads=None):
        import fastmm

        self.module = fastmm
        roads = roads or Roads(source)
        lat = statistics.median(lat for lat, _ in roads.nodes.values())
        self.scale = (111_200 * math.cos(math.radians(lat)), 111_200)
        uses = {}
        for nodes, _ in roads.ways:
            for index, node in enumerate(nodes):
                uses[node] = uses.get(node, 0) + (2 if index in (0, len(nodes) - 1) else 1)
        network, number = fastmm.Network(), 0
        for nodes, oneway in roads.ways:
            piece = []
            for node in nodes:
                piece.append(node)
                if len(piece) > 1 and uses[node] > 1:
                    for ends in ([piece] if oneway == "yes" else [piece[::-1]] if oneway == "-1" else [piece, piece[::-1]]):
                        network.add_edge(
                            number, source=ends[0], target=ends[-1], geom=[self.plane(*roads.nodes[n]) for n in ends])
                        number += 1
                    piece = [node]
        network.finalize()
        self.network = network  # the matcher does not retain it
        self.matcher = fastmm.FastMapMatch(
            network, fastmm.TransitionMode.SHORTEST, max_distance_between_candidates=1000.0,
            cache_dir=os.path.join(folder, "fastmm"))

    def plane(self, lat, lon):
        return (lon * self.scale[0], lat * self.scale[1])

    def trajectory(self, trace):
        return self.module.Trajectory.from_xyt_tuples([(*self.plane(lat, lon), t) for t, lat, lon in trace])

    def match(self, trace, setting):
        sigma, radius, reverse = setting
        found = self.matcher.match(
            self.trajectory(trace), max_candidates=16, candidate_search_radius=float(radius), gps_error=float(sigma),
            reverse_tolerance=float(reverse))
        lines = []
        for part in found.subtrajectories:
            line = []
            for segment in part.segments:
                for edge in segment.edges:
                    line += [(point.y / self.scale[1], point.x / self.scale[0]) for point in edge.points]
            lines.append(line)
        return lines

    def requests(self, trace):
        return [self.trajectory(trace)]

    def call(self, request):
        self.matcher.match(request, max_candidates=8, candidate_search_radius=50.0, gps_error=5.0)


def polyline6(text):
    points, index, lat, lon = [], 0, 0, 0
    while index < len(text):
        deltas = []
        for _ in range(2):
            shift = value = 0
            while True:
                byte = ord(text[index]) - 63
                index += 1
                value |= (byte & 31) << shift
                shift += 5
                if byte < 32:
                    break
            deltas.append(~(value >> 1) if value & 1 else value >> 1)
        lat, lon = lat + deltas[0], lon + deltas[1]
        points.append((lat / 1e6, lon / 1e6))
    return points


def score(found, drives, roads):
    """Returns the pooled and the median mismatch, calculated by the scorer."""
    sys.path.insert(0, os.path.join(SHARED, "tools"))
    import score_match

    wrong = total = 0.0
    shares = []
    for pairs, drive in zip(found, drives):
        with open(os.path.join(drive, "truth_edges.csv")) as file:
            truth = list(csv.DictReader(file))
        result = score_match.rmf_edges(truth, [{"from_node": a, "to_node": b} for a, b in pairs], roads.nodes)
        wrong += result["added_m"] + result["missed_m"]
        total += result["truth_m"]
        shares.append(result["rmf"])
    return {"pooled": round(wrong / total, 4), "median": round(statistics.median(shares), 4)}


def accuracy(arguments, folder, peers):
    network = os.path.join(DATA, "gnss", "hof", "network.osm.pbf")
    home = os.path.join(DATA, "gnss", "hof", "open")
    drives = sorted(os.path.join(home, name) for name in os.listdir(home) if os.path.isdir(os.path.join(home, name)))
    roads, figures = Roads(network), []
    for ours in (Ours(arguments, False), Ours(arguments, True)):
        say(ours.title)
        figures.append({"system": ours.title, **score(ours.accuracy(network, drives, roads, folder), drives, roads)})
    for peer in peers:
        say(f"{peer.title}: accuracy")
        try:
            peer.build(network, folder)
            best = None
            for setting in peer.settings:
                found, failed = [], 0
                for drive in drives:
                    try:
                        found.append(roads.pairs(peer.match(fixes(os.path.join(drive, "trace.csv")), setting)))
                    except Exception:
                        found.append([])
                        failed += 1
                result = {"system": peer.title, **score(found, drives, roads), "setting": f"{setting}", "failed": failed}
                if best is None or result["pooled"] < best["pooled"]:
                    best = result
            figures.append(best)
        except Exception as error:
            figures.append({"system": peer.title, "error": f"{error}"})
    return figures


def speed(arguments, folder, peers):
    tiles, traces = os.path.join(folder, "tiles"), os.path.join(folder, "traces")
    shutil.rmtree(traces, ignore_errors=True)
    os.makedirs(traces)
    if not os.path.exists(tiles):
        run([arguments.navbus, "map", "build", arguments.map, "--out", tiles])
    output = run([
        arguments.bench, "match", "--tiles", tiles, "--drives", arguments.drives, "--save-traces", traces, "--json",
        "--rounds", arguments.rounds, *(["--processor-time"] if arguments.processor_time else []),
    ])
    ours = {figure["name"]: figure["value"] for figure in map(json.loads, output.splitlines())}
    figures = [
        {"system": "navbus (causal)", "points_per_s": round(ours["match.points_per_s"]), "fix_p99_us": ours["match.fix.p99"]},
        {"system": "navbus --smooth", "points_per_s": round(ours["match.smooth.points_per_s"])},
    ]
    drives = [fixes(os.path.join(traces, name)) for name in sorted(os.listdir(traces)) if "edges" not in name]
    count = sum(len(drive) for drive in drives)
    clock = time.thread_time if arguments.processor_time else time.monotonic
    for peer in peers:
        say(f"{peer.title}: speed")
        try:
            peer.build(arguments.map, folder)
            requests = [request for drive in drives for request in peer.requests(drive)]
            rates, failed = [], 0
            for _ in range(arguments.rounds):
                failed, start = 0, clock()
                for request in requests:
                    try:
                        peer.call(request)
                    except Exception:
                        failed += 1
                rates.append(count / (clock() - start))
            figures.append({
                "system": peer.title, "points_per_s": round(statistics.median(rates)),
                "failed_requests": failed, "requests": len(requests)})
        except Exception as error:
            figures.append({"system": peer.title, "error": f"{error}"})
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--map", default=os.path.join(DATA, "osm", "porto.osm.pbf"), help="extract for the speed run")
    parser.add_argument("--navbus", default=os.path.join(ROOT, ".build", "release", "navbus"))
    parser.add_argument("--bench", default=os.path.join(ROOT, ".build", "release", "navbus-bench"))
    parser.add_argument("--drives", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="accuracy,speed")
    parser.add_argument("--peers", default="osrm,valhalla,fastmm")
    parser.add_argument("--folder", help="folder for the maps (default: a temporary one)")
    parser.add_argument("--processor-time", action="store_true", help="measure the thread's processor time")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    arguments = parser.parse_args()
    peers = []
    for name, make in {"osrm": Osrm, "valhalla": Valhalla, "fastmm": FastMM}.items():
        if name in arguments.peers.split(","):
            try:
                peers.append(make())
            except importlib.metadata.PackageNotFoundError as error:
                say(f"{name} is not installed (pip install {error.name}) and is skipped")
    with workplace(arguments.folder, "matching") as folder:
        for part, measure in (("accuracy", accuracy), ("speed", speed)):
            if part in arguments.only.split(","):
                show(measure(arguments, folder, peers), arguments.json, part=part)


if __name__ == "__main__":
    main()
