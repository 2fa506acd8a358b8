"""The sides that agreement.py compares: an extract's roads, and navbus, OSRM and Valhalla on it.

Each side has a method `drive(places)` that returns a `Drive`: the route and the OSM ways that it uses, with their speeds.
"""

import csv
import json
import math
import random
import subprocess
from dataclasses import dataclass, field
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
    "vehicle:conditional", "motorcar:conditional", "oneway:conditional", "construction", "hov", "bicycle_road",
    "cyclestreet", "width", "traffic_calming", "foot", "bicycle", "tunnel", "covered", "impassable", "maxheight",
    "motor_vehicle:forward", "motor_vehicle:backward", "vehicle:forward", "vehicle:backward", "note",
)


def metres(a, b):
    """Returns the distance between two nearby places (latitude, longitude), metres."""
    east = math.radians(b[1] - a[1]) * math.cos(math.radians((a[0] + b[0]) / 2))
    return 6_371_009 * math.hypot(math.radians(b[0] - a[0]), east)


def segments(nodes):
    """Returns the pairs of consecutive nodes."""
    return list(zip(nodes, nodes[1:]))


@dataclass
class Drive:
    """A route of one side."""

    # Metres and seconds; the cost that the side minimised, in its own unit, if it is reported.
    distance: float
    duration: float
    cost: float | None
    # The OSM nodes, with the whole first and last segments if the side reports them.
    nodes: list
    # The snapped places, (latitude, longitude) each.
    places: list
    # The parts in driving order: (OSM way, metres, seconds or None); only the seconds of navbus include turns.
    ways: list = field(default_factory=list)

    def joined(self):
        """Returns the metres and seconds of each way, in the order of first use."""
        sums = {}
        for way, length, seconds in self.ways:
            old = sums.get(way, (0, 0))
            sums[way] = (old[0] + length, old[1] + (seconds or 0))
        return sums


class Extract(osmium.SimpleHandler):
    """The roads of an extract: positions, nodes of ways and ways of node pairs, relevant tags, turn restrictions."""

    def __init__(self, path):
        super().__init__()
        self.places, self.ways, self.pairs, self.node_tags, self.by_place = {}, {}, {}, {}, {}
        self.restrictions, self.lines = {}, {}
        self.starts = []
        self.apply_file(str(path), locations=False)
        named = {node for pair in self.pairs for node in pair}
        self.places = {node: place for node, place in self.places.items() if node in named}
        # Valhalla's shapes have six decimals, rounded from data that are already rounded.
        for shift in ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)):
            for node, (a, b) in self.places.items():
                self.by_place[(round(a * 1e6) + shift[0], round(b * 1e6) + shift[1])] = node
        self.starts = sorted(node for node in set(self.starts) if node in self.places)

    def node(self, node):
        self.places[node.id] = (node.location.lat, node.location.lon)
        tags = {k: v for k, v in ((t.k, t.v) for t in node.tags)
                if k in ("barrier", "highway", "access", "motor_vehicle", "vehicle", "motorcar", "locked", "ford",
                         "bollard", "maxwidth", "maxwidth:physical")}
        if tags:
            self.node_tags[node.id] = tags

    def way(self, way):
        if "highway" not in way.tags and "route" not in way.tags:
            return
        nodes = self.lines[way.id] = [node.ref for node in way.nodes]
        self.ways[way.id] = {key: way.tags[key] for key in TELLING if key in way.tags}
        for pair in zip(nodes, nodes[1:]):
            self.pairs.setdefault(pair, way.id)
            self.pairs.setdefault(pair[::-1], way.id)
        if way.tags.get("highway") in CAR_ROADS:
            self.starts += nodes

    def relation(self, relation):
        if relation.tags.get("type") != "restriction":
            return
        kinds = " ".join(f"{t.k}={t.v}" for t in relation.tags if t.k not in ("type", "note", "source"))
        via = [member.ref for member in relation.members if member.role == "via"]
        to = [member.ref for member in relation.members if member.role == "to"]
        for member in relation.members:
            if member.role == "from":
                self.restrictions.setdefault(member.ref, []).append(
                    f"relation {relation.id} {kinds} from {member.ref} via {via} to {to}")

    def random_pairs(self, count, seed):
        """Returns pairs of random places, mostly within 30 m of nodes of roads for cars."""
        chance = random.Random(seed)

        def place():
            latitude, longitude = self.places[chance.choice(self.starts)]
            shift = 15 / 111_195
            return (round(latitude + chance.gauss(0, shift), 6),
                    round(longitude + chance.gauss(0, shift / math.cos(math.radians(latitude))), 6))

        return [(place(), place()) for _ in range(count)]

    def length(self, pair):
        """Returns the distance between two nodes, metres; 0 if one is unknown."""
        a, b = self.places.get(pair[0]), self.places.get(pair[1])
        return metres(a, b) if a and b else 0

    def tags(self, way):
        """Returns a description of a way."""
        return f"way {way} [" + " ".join(f"{key}={value}" for key, value in self.ways.get(way, {}).items()) + "]"

    def way_runs(self, pairs):
        """Returns node pairs as (way, metres, None)."""
        return [(self.pairs.get(pair), self.length(pair), None) for pair in pairs]

    def barriers(self, nodes):
        """Returns descriptions of the barriers at nodes."""
        return [f"node {node} {self.node_tags[node]}" for node in nodes
                if "barrier" in self.node_tags.get(node, {}) or "access" in self.node_tags.get(node, {})]


class Navbus:
    """navbus's router, through its command line."""

    name = "navbus"

    def __init__(self, navbus, extract, work, name):
        self.navbus, self.work = navbus, work
        self.tiles = work / f"{name}-tiles"
        subprocess.run([navbus, "map", "build", extract, "--out", self.tiles, "--json"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def many(self, pairs, name):
        """Returns the routes of many pairs as (distance, duration, status)."""
        path = self.work / f"{name}.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["from_lat", "from_lon", "to_lat", "to_lon"])
            writer.writerows([*a, *b] for a, b in pairs)
        done = subprocess.run([self.navbus, "route", "--tiles", self.tiles, "--batch", path], check=True,
                              capture_output=True, text=True)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert len(rows) == len(pairs), f"{self.navbus} answered {len(rows)} of {len(pairs)} pairs"
        return [(float(row["distance_m"]), float(row["duration_s"]), "ok") if row["status"] == "ok"
                else (None, None, row["status"]) for row in rows]

    def drive(self, places):
        """A route through places, with a stop at each; None without one."""
        arguments = [self.navbus, "route", "--tiles", self.tiles]
        for index, place in enumerate(places):
            option = "--from" if index == 0 else "--to" if index == len(places) - 1 else "--via"
            arguments += [option, f"{place[0]:.7f},{place[1]:.7f}"]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            return None
        route = json.loads(done.stdout)
        return Drive(
            route["distance_m"], route["duration_s"], None, route["nodes"],
            [tuple(point["location"])[::-1] for point in route["waypoints"]],
            [(edge["way_id"], edge["length_m"], edge["duration_s"]) for edge in route["edges"]])


class OSRMPeer:
    """OSRM on an extract."""

    name = "osrm"

    def __init__(self, extract, path, work):
        self.extract = extract
        tools = Path(osrm.__file__).parent
        base = work / (path.name.removesuffix(".osm.pbf") + ".osrm")
        if not Path(f"{base}.mldgr").exists():
            log = open(work / "osrm.log", "a")
            link = work / path.name
            if not link.exists():
                link.symlink_to(path.resolve())
            for step in (["osrm-extract", "-p", tools / "share/profiles/car.lua", link], ["osrm-partition", base],
                         ["osrm-customize", base]):
                subprocess.run([tools / "bin" / step[0], *step[1:]], check=True, stdout=log, stderr=log)
        self.engine = osrm.OSRM(storage_config=str(base), algorithm="MLD", use_shared_memory=False)

    def drive(self, places):
        """A route through places, with a stop at each; None without one."""
        parameters = osrm.RouteParameters(
            coordinates=[(place[1], place[0]) for place in places], annotations=["nodes", "duration"],
            overview="false")
        try:
            answer = self.engine.Route(parameters)
        except RuntimeError:
            return None
        route = answer["routes"][0]
        nodes, ways = [], []
        for leg in route["legs"]:
            own = [int(node) for node in leg["annotation"]["nodes"]]
            ways += [(self.extract.pairs.get(pair), self.extract.length(pair), float(seconds))
                     for pair, seconds in zip(segments(own), leg["annotation"]["duration"])]
            nodes += own[1:] if nodes and own and nodes[-1] == own[0] else own
        places = [tuple(point["location"])[::-1] for point in answer["waypoints"]]
        return Drive(float(route["distance"]), float(route["duration"]), float(route["weight"]), nodes, places, ways)


class ValhallaPeer:
    """Valhalla on an extract."""

    name = "valhalla"

    def __init__(self, extract, path, work):
        self.nodes = extract.by_place
        folder = work / (path.name.removesuffix(".osm.pbf") + "-valhalla")
        config = folder / "valhalla.json"
        if not config.exists():
            (folder / "tiles").mkdir(parents=True, exist_ok=True)
            settings = valhalla.get_config(tile_extract="", tile_dir=str(folder / "tiles"), verbose=False)
            # Borders only from the extract, like ours.
            settings["mjolnir"]["admin"] = str(folder / "admins.sqlite")
            (folder / "building.json").write_text(json.dumps(settings))
            log = open(work / "valhalla.log", "a")
            ordered = sort(path, work)
            tools = Path(valhalla.__file__).parent / "bin"
            for tool in ("valhalla_build_admins", "valhalla_build_tiles"):
                subprocess.run([tools / tool, "-c", folder / "building.json", ordered], check=tool.endswith("tiles"),
                               stdout=log, stderr=log)
            (folder / "building.json").rename(config)
        self.actor = valhalla.Actor(str(config))

    def drive(self, places, with_ways=True):
        """Returns a route through places, passing those between the ends; None without a route."""
        locations = [{"lat": place[0], "lon": place[1]} for place in places]
        for location in locations[1:-1]:
            location["type"] = "via"
        try:
            trip = self.actor.route({
                "locations": locations, "costing": "auto", "directions_type": "none"})["trip"]
        except (RuntimeError, valhalla.ValhallaError):
            return None
        shapes = [leg["shape"] for leg in trip["legs"]]
        shape = [point for text in shapes for point in decode(text)]
        nodes = [self.nodes[point] for point in ((round(a * 1e6), round(b * 1e6)) for a, b in shape)
                 if point in self.nodes]
        summary = trip["summary"]
        ways = [way for text in shapes for way in self.ways(text)] if with_ways else []
        return Drive(summary["length"] * 1000, summary["time"], summary.get("cost"), nodes, [shape[0], shape[-1]],
                     ways)

    def ways(self, shape):
        """Returns the ways along a shape, with their driving times without turns."""
        try:
            trace = self.actor.trace_attributes({
                "encoded_polyline": shape, "costing": "auto", "shape_match": "walk_or_snap",
                "filters": {"action": "include", "attributes": ["edge.way_id", "edge.length", "edge.speed"]}})
        except (RuntimeError, valhalla.ValhallaError):
            return []
        return [(edge["way_id"], edge["length"] * 1000, edge["length"] * 3600 / max(edge.get("speed", 1), 1))
                for edge in trace["edges"]]


def sort(extract, work):
    """Writes the extract sorted by type and id, each object once, as Valhalla requires; returns its path."""
    path = work / f"{extract.name.removesuffix('.osm.pbf')}-sorted.osm.pbf"
    path.unlink(missing_ok=True)
    reader = osmium.MergeInputReader()
    reader.add_file(str(extract))
    with osmium.SimpleWriter(str(path)) as writer:
        reader.apply(writer, simplify=True)
    return path


def decode(text):
    """Decodes a polyline of precision 6."""
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
