#!/usr/bin/env python3
"""How far navbus, OSRM and Valhalla agree on routes, and where not, and why.

For each extract, the same random pairs of places near roads go to all three: `navbus route --batch`, OSRM's default
car profile (MLD) and Valhalla's `auto`. It prints the distributions of the ratios of duration and distance (ours by
theirs), how often only one side finds a route, and the worst pairs by distance. For each of those it says where the
two routes part, and over which OSM ways with which tags each goes on: enough to look the tags up in the OSM wiki.

The peers snap to roads by rules of their own, so each pair is also routed by us between the points that the peer
snapped to ("same places"): what is left of the difference there is cost and access, not snapping.

    pip install osrm-bindings==26.10.0 pyvalhalla==3.9.1 osmium
    swift build -c release --product navbus
    python Tests/Peers/agreement.py ../shared/data/osm/*.osm.pbf --navbus .build/release/navbus --work /tmp/agreement

Peers' data are built once per extract into --work and reused; road tiles are built anew every time.
"""

import argparse
import csv
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import osmium
import osrm
import valhalla

CAR_ROADS = {
    "motorway", "motorway_link", "trunk", "trunk_link", "primary", "primary_link", "secondary", "secondary_link",
    "tertiary", "tertiary_link", "unclassified", "residential", "living_street", "service", "road",
}
# Tags that decide access, direction, cost and snapping.
TELLING = (
    "highway", "route", "name", "ref", "access", "vehicle", "motor_vehicle", "motorcar", "oneway", "junction",
    "service", "surface", "tracktype", "smoothness", "maxspeed", "maxspeed:forward", "maxspeed:backward", "toll",
    "duration", "barrier", "area", "layer", "lanes", "motor_vehicle:conditional", "access:conditional",
    "oneway:conditional", "construction", "hov", "bicycle_road", "cyclestreet", "width", "traffic_calming",
)
PERCENTS = (1, 5, 25, 50, 75, 95, 99)
OURS, OSRM, VALHALLA = "navbus", "osrm", "valhalla"


class Extract(osmium.SimpleHandler):
    """The roads of an extract: positions, ways of node pairs, telling tags, turn restrictions."""

    def __init__(self, path):
        super().__init__()
        self.places, self.ways, self.pairs, self.node_tags, self.by_place = {}, {}, {}, {}, {}
        self.restrictions = {}
        self.starts = []
        self.apply_file(str(path), locations=False)
        named = {node for pair in self.pairs for node in pair}
        self.places = {node: place for node, place in self.places.items() if node in named}
        # Valhalla's shapes have six decimals, rounded from data that are rounded already.
        for shift in ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)):
            for node, (a, b) in self.places.items():
                self.by_place[(round(a * 1e6) + shift[0], round(b * 1e6) + shift[1])] = node
        self.starts = sorted(node for node in set(self.starts) if node in self.places)

    def node(self, node):
        self.places[node.id] = (node.location.lat, node.location.lon)
        tags = {k: v for k, v in ((t.k, t.v) for t in node.tags)
                if k in ("barrier", "highway", "access", "motor_vehicle", "vehicle", "motorcar", "locked", "ford")}
        if tags:
            self.node_tags[node.id] = tags

    def way(self, way):
        if "highway" not in way.tags and "route" not in way.tags:
            return
        nodes = [node.ref for node in way.nodes]
        self.ways[way.id] = {key: way.tags[key] for key in TELLING if key in way.tags}
        for pair in zip(nodes, nodes[1:]):
            self.pairs.setdefault(pair, way.id)
            self.pairs.setdefault(pair[::-1], way.id)
        if way.tags.get("highway") in CAR_ROADS:
            self.starts += nodes

    def relation(self, relation):
        if relation.tags.get("type") != "restriction":
            return
        text = relation.tags.get("restriction") or str({t.k: t.v for t in relation.tags})
        for member in relation.members:
            if member.role == "from":
                self.restrictions.setdefault(member.ref, []).append(
                    f"{text} from {member.ref} relation {relation.id}")

    def random_pairs(self, count, seed):
        """Places up to some 30 m from random nodes of roads for cars."""
        chance = random.Random(seed)

        def place():
            latitude, longitude = self.places[chance.choice(self.starts)]
            shift = 15 / 111_195
            return (round(latitude + chance.gauss(0, shift), 6),
                    round(longitude + chance.gauss(0, shift / math.cos(math.radians(latitude))), 6))

        return [(place(), place()) for _ in range(count)]

    def describe(self, pair):
        """The way of two nodes in words."""
        way = self.pairs.get(pair)
        if way is None:
            return f"nodes {pair[0]}-{pair[1]} (no way)"
        tags = " ".join(f"{key}={value}" for key, value in self.ways[way].items())
        barriers = [f"node {node}: {self.node_tags[node]}" for node in pair
                    if self.node_tags.get(node, {}).get("barrier")]
        return f"way {way} [{tags}]" + ("; " + "; ".join(barriers) if barriers else "")


def ours(navbus, tiles, pairs, work, name):
    """Routes of ours: a list of (distance, duration, status)."""
    path = work / f"{name}.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["from_lat", "from_lon", "to_lat", "to_lon"])
        writer.writerows([*a, *b] for a, b in pairs)
    done = subprocess.run([navbus, "route", "--tiles", tiles, "--batch", path], check=True, capture_output=True,
                          text=True)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == len(pairs), f"{navbus} answered {len(rows)} of {len(pairs)} pairs"
    return [(float(row["distance_m"]), float(row["duration_s"]), "ok") if row["status"] == "ok"
            else (None, None, row["status"]) for row in rows]


def our_nodes(navbus, tiles, a, b):
    """Nodes of our route between two places."""
    done = subprocess.run(
        [navbus, "route", "--tiles", tiles, "--from", f"{a[0]},{a[1]}", "--to", f"{b[0]},{b[1]}"],
        capture_output=True, text=True)
    return json.loads(done.stdout)["nodes"] if done.returncode == 0 else []


class OSRMPeer:
    """OSRM on an extract."""

    name = OSRM

    def __init__(self, extract, work):
        tools = Path(osrm.__file__).parent
        base = work / (extract.name.removesuffix(".osm.pbf") + ".osrm")
        if not Path(f"{base}.mldgr").exists():
            log = open(work / "osrm.log", "a")
            link = work / extract.name
            if not link.exists():
                link.symlink_to(extract.resolve())
            for step in (["osrm-extract", "-p", tools / "share/profiles/car.lua", link], ["osrm-partition", base],
                         ["osrm-customize", base]):
                subprocess.run([tools / "bin" / step[0], *step[1:]], check=True, stdout=log, stderr=log)
        self.engine = osrm.OSRM(storage_config=str(base), algorithm="MLD", use_shared_memory=False)

    def route(self, a, b):
        """Distance, duration, nodes, snapped places; None without a route."""
        parameters = osrm.RouteParameters(
            coordinates=[(a[1], a[0]), (b[1], b[0])], annotations=["nodes"], overview="false")
        try:
            answer = self.engine.Route(parameters)
        except RuntimeError:
            return None
        route = answer["routes"][0]
        nodes = [int(node) for leg in route["legs"] for node in leg["annotation"]["nodes"]]
        places = [tuple(point["location"])[::-1] for point in answer["waypoints"]]
        return float(route["distance"]), float(route["duration"]), nodes, places


class ValhallaPeer:
    """Valhalla on an extract."""

    name = VALHALLA

    def __init__(self, extract, work, nodes):
        self.nodes = nodes
        folder = work / (extract.name.removesuffix(".osm.pbf") + "-valhalla")
        config = folder / "valhalla.json"
        if not config.exists():
            (folder / "tiles").mkdir(parents=True, exist_ok=True)
            settings = valhalla.get_config(tile_extract="", tile_dir=str(folder / "tiles"), verbose=False)
            # Borders from the extract alone, as we have them.
            settings["mjolnir"]["admin"] = str(folder / "admins.sqlite")
            (folder / "building.json").write_text(json.dumps(settings))
            log = open(work / "valhalla.log", "a")
            extract = sort(extract, work)
            tools = Path(valhalla.__file__).parent / "bin"
            for tool in ("valhalla_build_admins", "valhalla_build_tiles"):
                subprocess.run([tools / tool, "-c", folder / "building.json", extract], check=tool.endswith("tiles"),
                               stdout=log, stderr=log)
            (folder / "building.json").rename(config)
        self.actor = valhalla.Actor(str(config))

    def route(self, a, b):
        """Distance, duration, nodes, snapped places; None without a route."""
        try:
            trip = self.actor.route({
                "locations": [{"lat": a[0], "lon": a[1]}, {"lat": b[0], "lon": b[1]}], "costing": "auto",
                "directions_type": "none"})["trip"]
        except (RuntimeError, valhalla.ValhallaError):
            return None
        shape = decode(trip["legs"][0]["shape"])
        nodes = [self.nodes[point] for point in ((round(a * 1e6), round(b * 1e6)) for a, b in shape)
                 if point in self.nodes]
        return trip["summary"]["length"] * 1000, trip["summary"]["time"], nodes, [shape[0], shape[-1]]


def sort(extract, work):
    """The extract by type and id, each object once, as Valhalla wants it."""
    path = work / f"{extract.name.removesuffix('.osm.pbf')}-sorted.osm.pbf"
    path.unlink(missing_ok=True)
    reader = osmium.MergeInputReader()
    reader.add_file(str(extract))
    with osmium.SimpleWriter(str(path)) as writer:
        reader.apply(writer, simplify=True)
    return path


def decode(text):
    """A polyline of precision 6."""
    points, index, latitude, longitude = [], 0, 0, 0
    while index < len(text):
        values = []
        for _ in range(2):
            shift = result = 0
            while True:
                byte = ord(text[index]) - 63
                index += 1
                result |= (byte & 31) << shift
                shift += 5
                if byte < 32:
                    break
            values.append(~(result >> 1) if result & 1 else result >> 1)
        latitude += values[0]
        longitude += values[1]
        points.append((latitude / 1e6, longitude / 1e6))
    return points


def percentiles(values):
    """The values at PERCENTS, by rank."""
    values = sorted(values)
    return [values[min(len(values) - 1, int(len(values) * percent / 100))] for percent in PERCENTS] if values else []


def segments(nodes):
    return list(zip(nodes, nodes[1:]))


def divergence(extract, mine, theirs):
    """Where two routes part, and the ways that each takes from there until they meet again (at most four)."""
    if len(mine) < 2 or len(theirs) < 2:
        return ["one of them has no segment"]
    mine, theirs = segments(mine), segments(theirs)
    shared = set(mine) & set(theirs)
    if not shared:
        return ["no segment shared", "  ours starts on " + extract.describe(mine[0]),
                "  theirs starts on " + extract.describe(theirs[0])]
    lines = []
    if mine[0] not in shared or theirs[0] not in shared:
        lines += ["start differs", "  ours   " + extract.describe(mine[0]), "  theirs " + extract.describe(theirs[0])]
    first = next(i for i, pair in enumerate(mine) if pair in shared)
    at = theirs.index(mine[first])
    step = 0
    while first + step < len(mine) and at + step < len(theirs) and mine[first + step] == theirs[at + step]:
        step += 1
    if first + step < len(mine) and at + step < len(theirs):
        node = mine[first + step][0]
        lines.append(f"parts at node {node} {extract.places.get(node)} {extract.node_tags.get(node, '')}")
        before = extract.pairs.get(mine[first + step - 1]) if step else None
        for text in extract.restrictions.get(before, []):
            lines.append("  " + text)
        for who, path in (("ours  ", mine[first + step:]), ("theirs", theirs[at + step:])):
            other = set(theirs if who.strip() == "ours" else mine)
            names = []
            for pair in path:
                if pair in other:
                    break
                text = extract.describe(pair)
                if text not in names:
                    names.append(text)
            lines += [f"  {who} {text}" for text in names[:6]]
            if len(names) > 6:
                lines.append(f"  {who} … and {len(names) - 6} more ways")
    if mine[-1] != theirs[-1]:
        lines += ["end differs", "  ours   " + extract.describe(mine[-1]),
                  "  theirs " + extract.describe(theirs[-1])]
    return lines


def compare(extract, navbus, tiles, work, pairs, mine, peer, worst_count, name):
    """Prints what one peer says of the pairs; returns the figures."""
    theirs = [peer.route(*pair) for pair in pairs]
    both = [i for i, route in enumerate(theirs) if route and mine[i][0] is not None]
    far = [i for i in both if theirs[i][0] >= 200 and theirs[i][1] > 0]
    # The points that the peer snapped to, ours between them.
    snapped = [tuple(theirs[i][3]) if theirs[i] else pairs[i] for i in range(len(pairs))]
    same = ours(navbus, tiles, snapped, work, f"{name}-{peer.name}-same")
    figures = {
        "extract": name, "peer": peer.name, "pairs": len(pairs), "both": len(both),
        "only_ours": sum(not route and m[0] is not None for route, m in zip(theirs, mine)),
        "only_theirs": sum(bool(route) and m[0] is None for route, m in zip(theirs, mine)),
        "neither": sum(not route and m[0] is None for route, m in zip(theirs, mine)),
        "duration": percentiles([mine[i][1] / theirs[i][1] for i in far]),
        "distance": percentiles([mine[i][0] / theirs[i][0] for i in far]),
        "same_places_duration": percentiles([same[i][1] / theirs[i][1] for i in far if same[i][0] is not None]),
        "same_places_distance": percentiles([same[i][0] / theirs[i][0] for i in far if same[i][0] is not None]),
    }
    print(f"\n## {name}, {peer.name}: both {figures['both']}, only ours {figures['only_ours']}, "
          f"only theirs {figures['only_theirs']}, neither {figures['neither']} of {len(pairs)}")
    print("| ours / theirs | " + " | ".join(f"p{percent}" for percent in PERCENTS) + " |")
    print("|---|" + "---|" * len(PERCENTS))
    for key in ("duration", "distance", "same_places_duration", "same_places_distance"):
        print(f"| {key.replace('_', ' ')} | " + " | ".join(f"{value:.3f}" for value in figures[key]) + " |")
    def ratio(routes, i):
        return abs(math.log(routes[i][0] / theirs[i][0])) if routes[i][0] else 0

    worst = sorted(far, key=lambda i: -ratio(mine, i))[:worst_count]
    costliest = [i for i in sorted(far, key=lambda i: -ratio(same, i)) if i not in worst][:worst_count // 2]
    for title, chosen in (("worst", worst), ("worst between the same places", costliest)):
        print(f"\n{title}:")
        for i in chosen:
            (a, b), route = pairs[i], theirs[i]
            text = f"{same[i][0]:.0f} m {same[i][1]:.0f} s" if same[i][0] is not None else same[i][2]
            print(f"\n- pair {i} {a[0]},{a[1]} -> {b[0]},{b[1]}: ours {mine[i][0]:.0f} m {mine[i][1]:.0f} s, "
                  f"theirs {route[0]:.0f} m {route[1]:.0f} s, ratio {mine[i][0] / route[0]:.2f}; same places: {text}")
            places = (a, b) if chosen is worst else snapped[i]
            for line in divergence(extract, our_nodes(navbus, tiles, *places), route[2]):
                print("   " + line)
    for kind, chosen in (
            ("only theirs", [i for i in range(len(pairs)) if theirs[i] and mine[i][0] is None]),
            ("only ours", [i for i in range(len(pairs)) if not theirs[i] and mine[i][0] is not None])):
        for i in chosen[:worst_count]:
            (a, b), route = pairs[i], theirs[i]
            nodes = route[2] if route else our_nodes(navbus, tiles, a, b)
            ends = [extract.describe(pair) for pair in (segments(nodes)[:1] + segments(nodes)[-1:])]
            print(f"\n{kind}: pair {i} {a[0]},{a[1]} -> {b[0]},{b[1]} ours {mine[i][2]}\n   " + "\n   ".join(ends))
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("extracts", nargs="+", type=Path, help=".osm.pbf files")
    parser.add_argument("--navbus", default=".build/release/navbus", help="our command line, built for release")
    parser.add_argument("--work", type=Path, default=Path("/tmp/agreement"), help="where data of all sides are put")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--worst", type=int, default=10, help="pairs to explain for each extract and peer")
    parser.add_argument("--json", type=Path, help="file for the figures, one line each extract and peer")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.navbus = os.path.abspath(options.navbus)
    lines = []
    for path in options.extracts:
        name = path.name.removesuffix(".osm.pbf")
        extract = Extract(path)
        tiles = options.work / f"{name}-tiles"
        subprocess.run([options.navbus, "map", "build", path, "--out", tiles, "--json"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pairs = extract.random_pairs(options.pairs, options.seed)
        mine = ours(options.navbus, tiles, pairs, options.work, name)
        for peer in (OSRMPeer(path, options.work), ValhallaPeer(path, options.work, extract.by_place)):
            lines.append(compare(extract, options.navbus, tiles, options.work, pairs, mine, peer, options.worst, name))
            sys.stdout.flush()
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
