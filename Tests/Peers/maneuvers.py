#!/usr/bin/env python3
"""Compares the maneuvers of navbus, OSRM and Valhalla on the same roads.

For each extract, random routes of navbus are passed to both peers as traces: OSRM and Valhalla match them, so that all three
describe the same drive. A maneuver is compared if a peer drives the same 60 m before and after it.

 * agreed: at least one peer announces it within REACH and to the same side, or at most one class of 45 degrees apart if one
   of them is straight
 * only ours: both peers drive the place, and neither announces anything
 * missed: both peers announce a maneuver at a place, to the same side, and navbus announces nothing; announcing the name of
   the road that the driver follows to that side ("slight right onto …" without another way) counts as an announcement
 * exits equal: the number of a roundabout's exit equals OSRM's. Valhalla is not compared, because the wheel of 3.9.1 reports
   2 for nearly every roundabout of some extracts, regardless of the route

Only decisions are compared: departures, arrivals, notifications, mere changes of name and "continue straight" are ignored on
all sides. The shares are printed, and the differences with their places are written to --differences; --draw writes a drawing
of each roundabout exit that is counted differently. maneuver-differences.md explains the differences.

    pip install osrm-bindings==26.10.0 pyvalhalla==3.9.1 osmium
    swift build -c release --product navbus
    python Tests/Peers/maneuvers.py ../shared/data/osm/porto.osm.pbf --navbus .build/release/navbus
"""

import argparse
import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import osrm
import valhalla
from agreement_sides import Extract, Navbus, OSRMPeer, ValhallaPeer, decode, metres
from maneuver_drawings import draw

# The greatest distance between announcements of the same maneuver, metres.
REACH = 40
# The part around a maneuver that a peer must drive to be compared, and its greatest distance from our line, metres.
AROUND, BESIDE = 60, 12
SHORTEST = 500
# The number of points that OSRM matches at a time, and of those in common with the next piece.
PIECE, OVERLAP = 150, 15

SIDES = {"uturn": "back", "sharp right": "right", "right": "right", "slight right": "right?", "straight": "straight",
         "slight left": "left?", "left": "left", "sharp left": "left"}
SILENT = {"depart", "arrive", "new name", "notification", "use lane"}
# The types of Valhalla that count as maneuvers, with their directions.
VALHALLA = {9: "slight right", 10: "right", 11: "sharp right", 12: "uturn", 13: "uturn", 14: "sharp left", 15: "left",
            16: "slight left", 17: "straight", 18: "slight right", 19: "slight left", 20: "slight right",
            21: "slight left", 22: "straight", 23: "slight right", 24: "slight left", 25: None, 26: None, 37: None,
            38: None, 28: None, 29: None}


@dataclass
class Told:
    """A maneuver: its place, its kind in words, its direction (None for any), and the exit of a roundabout."""

    place: tuple
    kind: str
    direction: str | None
    exit: int | None = None

    def same_side(self, other):
        if self.direction is None or other.direction is None:
            return True
        a, b = SIDES[self.direction], SIDES[other.direction]
        return a.rstrip("?") == b.rstrip("?") or "straight" in (a, b) and "?" in a + b

    def __str__(self):
        return f"{self.kind} {self.direction or ''}".strip() + (f" exit {self.exit}" if self.exit else "")


def told(steps, silent=SILENT):
    """Returns the maneuvers of steps in OSRM's format."""
    result = []
    for step in steps:
        maneuver = step["maneuver"]
        kind, modifier = maneuver["type"], field(maneuver, "modifier")
        if kind in silent or kind.startswith("exit ro") or kind == "continue" and modifier == "straight":
            continue
        place = tuple(map(float, maneuver["location"]))[::-1]
        around = kind in ("roundabout", "rotary", "roundabout turn")
        # The side of a merge is not compared, because the peers refer to different roads.
        direction = None if around or kind in ("merge", "on ramp", "off ramp") and modifier is None else modifier
        result.append(Told(place, kind, None if kind == "merge" else direction, field(maneuver, "exit") if around else None))
    return result


def field(answer, key):
    """Returns a field of an answer of either side; None if it is absent."""
    try:
        return answer[key]
    except (KeyError, RuntimeError, IndexError):
        return None


class Line:
    """An index of the lines of a drive for proximity tests."""

    def __init__(self, lines):
        self.cells = {}
        for a, b in (pair for points in lines for pair in zip(points, points[1:])):
            count = max(1, int(metres(a, b) / 5))
            for k in range(count + 1):
                p = (a[0] + (b[0] - a[0]) * k / count, a[1] + (b[1] - a[1]) * k / count)
                self.cells.setdefault((round(p[0] * 5e3), round(p[1] * 5e3)), []).append(p)

    def passes(self, place):
        i, j = round(place[0] * 5e3), round(place[1] * 5e3)
        return any(metres(place, p) < BESIDE for a in (-1, 0, 1) for b in (-1, 0, 1)
                   for p in self.cells.get((i + a, j + b), ()))


def surroundings(points, place):
    """Returns the points of a line up to AROUND before and after a place."""
    best = min(range(len(points)), key=lambda k: metres(points[k], place))
    result = [points[best]]
    for step in (-1, 1):
        k, length = best, 0
        while 0 <= k + step < len(points) and length < AROUND:
            gap = metres(points[k], points[k + step])
            share = min(1, (AROUND - length) / gap) if gap else 1
            a, b = points[k], points[k + step]
            result.append((a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share))
            length += gap
            k += step
    return result


def ours(navbus, pair):
    """Returns our route: points, maneuvers, names announced with a direction, length; None without a route."""
    done = subprocess.run(
        [navbus.navbus, "route", "--tiles", navbus.tiles, "--from", "%.6f,%.6f" % pair[0], "--to", "%.6f,%.6f" % pair[1],
         "--format", "osrm"], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    route = json.loads(done.stdout)["routes"][0]
    points = [tuple(point)[::-1] for point in route["geometry"]["coordinates"]]
    steps = [step for leg in route["legs"] for step in leg["steps"]]
    names = [one for one in told(steps, SILENT - {"new name"}) if one.kind == "new name" and one.direction != "straight"]
    return points, told(steps), names, route["distance"]


def thinned(points, gap):
    """Returns points of a line that are `gap` to twice `gap` apart."""
    result = [points[0]]
    for a, b in zip(points, points[1:]):
        count = max(1, int(metres(a, b) / gap))
        for k in range(1, count + 1):
            p = (a[0] + (b[0] - a[0]) * k / count, a[1] + (b[1] - a[1]) * k / count)
            if metres(result[-1], p) >= gap or p == points[-1]:
                result.append(p)
    return result


def of_osrm(peer, points):
    """Returns OSRM's drive along a line: its lines and maneuvers; None without a match.

    The line is matched in overlapping pieces, so that a road closed to OSRM excludes only a piece of the drive.
    """
    trace = thinned(points, 20)
    lines, maneuvers = [], []
    for start in range(0, max(1, len(trace) - OVERLAP), PIECE - OVERLAP):
        piece = trace[start:start + PIECE]
        try:
            answer = peer.engine.Match(osrm.MatchParameters(
                coordinates=[point[::-1] for point in piece], radiuses=[8.0] * len(piece), steps=True, overview="full",
                geometries="geojson", gaps="ignore", waypoints=[0, len(piece) - 1]))
        except RuntimeError:
            continue
        for matching in answer["matchings"]:
            lines.append([tuple(map(float, point))[::-1] for point in matching["geometry"]["coordinates"]])
            maneuvers += told([step for leg in matching["legs"] for step in leg["steps"]])
    return (Line(lines), maneuvers) if lines else None


def of_valhalla(peer, points):
    """Returns Valhalla's drive along a line: its lines and maneuvers; None without a match."""
    try:
        trip = peer.actor.trace_route({
            "shape": [{"lat": a, "lon": b} for a, b in thinned(points, 10)], "costing": "auto",
            "shape_match": "map_snap", "trace_options": {"search_radius": 10}})["trip"]
    except (RuntimeError, valhalla.ValhallaError):
        return None
    lines, maneuvers = [], []
    for leg in trip["legs"]:
        shape = decode(leg["shape"])
        lines.append(shape)
        for maneuver in leg["maneuvers"]:
            if maneuver["type"] in VALHALLA:
                maneuvers.append(Told(
                    shape[maneuver["begin_shape_index"]], str(maneuver["type"]), VALHALLA[maneuver["type"]]))
    return Line(lines), maneuvers


def compare(extract, path, options, name):
    """Returns the figures and differences of an extract."""
    navbus = Navbus(os.path.abspath(options.navbus), path, options.work, name)
    peers = [("osrm", of_osrm, OSRMPeer(extract, path, options.work)),
             ("valhalla", of_valhalla, ValhallaPeer(extract, path, options.work))]
    sums, differences = Counter(), []
    for pair in extract.random_pairs(options.routes * 3, options.seed):
        if sums["routes"] == options.routes:
            break
        route = ours(navbus, pair)
        if route is None or route[3] < SHORTEST:
            continue
        points, maneuvers, names, _ = route
        sums["routes"] += 1
        drives = [(label, ask(peer, points)) for label, ask, peer in peers]
        drives = [(label, drive) for label, drive in drives if drive]

        def near(place, among):
            return [one for one in among if metres(one.place, place) < REACH]

        def note(kind, place, text):
            sums[kind] += 1
            differences.append({"extract": name, "kind": kind, "place": "%.6f,%.6f" % place, "what": text,
                                "from": pair[0], "to": pair[1]})

        for own in maneuvers:
            around = surroundings(points, own.place)
            asked = [(label, near(own.place, drive[1])) for label, drive in drives
                     if all(drive[0].passes(place) for place in around)]
            if not asked:
                continue
            sums["maneuvers"] += 1
            what = f"{own} | " + " | ".join(f"{label}: " + (", ".join(map(str, them)) or "-") for label, them in asked)
            if any(own.same_side(other) for _, them in asked for other in them):
                sums["agreed"] += 1
            elif any(them for _, them in asked):
                note("other side", own.place, what)
            elif len(asked) == 2:
                note("only ours", own.place, what)
            else:
                note("only ours, one asked", own.place, what)
            exits = {other.exit for label, them in asked for other in them if other.exit and label == "osrm"}
            if own.exit and exits:
                sums["roundabouts"] += 1
                if own.exit not in exits:
                    note("exit", own.place, what)
                    if options.draw:
                        file = options.draw / f"{name}-{own.place[0]:.6f},{own.place[1]:.6f}-{own.exit}.svg"
                        file.write_text(draw(extract, points, own.place, "navbus: " + what.split(" | valhalla")[0]))
        if len(drives) == 2:
            for theirs in drives[0][1][1]:
                others = [other for other in near(theirs.place, drives[1][1][1]) if theirs.same_side(other)]
                around = surroundings(points, theirs.place)
                if not others or metres(around[0], theirs.place) > BESIDE or not all(
                        drive[0].passes(place) for _, drive in drives for place in around):
                    continue
                sums["told by both"] += 1
                if not near(theirs.place, maneuvers) and not any(map(theirs.same_side, near(theirs.place, names))):
                    note("missed", theirs.place, f"osrm: {theirs} | valhalla: " + ", ".join(map(str, others)))
    return sums, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("extracts", nargs="+", type=Path, help=".osm.pbf files")
    parser.add_argument("--navbus", default=".build/release/navbus", help="our command line, built for release")
    parser.add_argument("--work", type=Path, default=Path("/tmp/agreement"), help="folder for the data of all sides")
    parser.add_argument("--routes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--differences", type=Path, help="file for the differences, one per line")
    parser.add_argument("--draw", type=Path, help="folder for SVG drawings of roundabout exits that are counted differently")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.draw:
        options.draw.mkdir(parents=True, exist_ok=True)
    lines = []
    print("| extract | routes | maneuvers | agreed | only ours | other side | missed | exits equal |\n|---|" + "---|" * 7)
    for path in options.extracts:
        name = path.name.removesuffix(".osm.pbf")
        sums, differences = compare(Extract(path), path, options, name)
        lines += differences

        def share(part, whole):
            return f"{part / whole:.3f}" if whole else "-"

        count = sums["maneuvers"]
        only = sums["only ours"] + sums["only ours, one asked"]
        print(f"| {name} | {sums['routes']} | {count} | {share(sums['agreed'], count)} | {share(only, count)} | "
              f"{share(sums['other side'], count)} | {share(sums['missed'], sums['told by both'])} of "
              f"{sums['told by both']} | {share(sums['roundabouts'] - sums['exit'], sums['roundabouts'])} of "
              f"{sums['roundabouts']} |", flush=True)
    if options.differences:
        options.differences.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
