#!/usr/bin/env python3
"""Agreement of navbus, OSRM and Valhalla on routes, and the causes of differences.

For each extract, the same random pairs of places near roads are routed by all three: `navbus route --batch`, OSRM's
default car profile (MLD) and Valhalla's `auto`. The output has the distributions of the ratios of duration and distance
(ours to theirs), the number of pairs for which only one side finds a route, and the worst pairs, each with the evidence
that agreement_why.py finds. The worst pairs are those with the greatest ratio of distance, or of duration divided by the
median ratio of durations, because a generally faster side is not a disagreement about a pair.

The peers have their own rules for snapping to roads, so navbus also routes each pair between the points to which the peer
snapped ("same places"): the remaining difference comes from cost and access, not from snapping.

    pip install osrm-bindings==26.10.0 pyvalhalla==3.9.1 osmium
    swift build -c release --product navbus
    python Tests/Peers/agreement.py ../shared/data/osm/*.osm.pbf --navbus .build/release/navbus --work /tmp/agreement

The peers' data are built once per extract into --work and reused; road tiles are built again every time.
"""

import argparse
import json
import math
import os
import sys
from collections import Counter
from pathlib import Path

from agreement_sides import Extract, Navbus, OSRMPeer, ValhallaPeer
from agreement_why import explain

PERCENTS = (1, 5, 25, 50, 75, 95, 99)
# The shortest compared route, metres: ratios of shorter routes depend more on the ends than on the roads.
SHORTEST = 200


def percentiles(values):
    """Returns the values at PERCENTS, by rank."""
    values = sorted(values)
    return [values[min(len(values) - 1, int(len(values) * percent / 100))] for percent in PERCENTS] if values else []


def table(figures):
    """Returns the distributions as a table in Markdown."""
    keys = ("duration", "distance", "same_places_duration", "same_places_distance")
    return "\n".join(
        ["| ours / theirs | " + " | ".join(f"p{percent}" for percent in PERCENTS) + " |",
         "|---|" + "---|" * len(PERCENTS)]
        + [f"| {key.replace('_', ' ')} | " + " | ".join(f"{value:.3f}" for value in figures[key]) + " |"
           for key in keys])


def compare(extract, navbus, pairs, mine, peer, options, name):
    """Compares the routes of a peer with ours and prints the result; returns the figures and the findings on the worst pairs."""
    theirs = [peer.drive(list(pair), **peer_options(peer)) for pair in pairs]
    both = [i for i, route in enumerate(theirs) if route and mine[i][0] is not None]
    far = [i for i in both if theirs[i].distance >= SHORTEST and theirs[i].duration > 0]
    # Our routes between the points to which the peer snapped.
    snapped = [tuple(theirs[i].places) if theirs[i] else pairs[i] for i in range(len(pairs))]
    same = navbus.many(snapped, f"{name}-{peer.name}-same")
    moved = [i for i in far if same[i][0] is not None]
    figures = {
        "extract": name, "peer": peer.name, "pairs": len(pairs), "both": len(both),
        "only_ours": sum(not route and m[0] is not None for route, m in zip(theirs, mine)),
        "only_theirs": sum(bool(route) and m[0] is None for route, m in zip(theirs, mine)),
        "neither": sum(not route and m[0] is None for route, m in zip(theirs, mine)),
        "duration": percentiles([mine[i][1] / theirs[i].duration for i in far]),
        "distance": percentiles([mine[i][0] / theirs[i].distance for i in far]),
        "same_places_duration": percentiles([same[i][1] / theirs[i].duration for i in moved]),
        "same_places_distance": percentiles([same[i][0] / theirs[i].distance for i in moved]),
    }
    print(f"\n## {name}, {peer.name}: both {figures['both']}, only ours {figures['only_ours']}, "
          f"only theirs {figures['only_theirs']}, neither {figures['neither']} of {len(pairs)}\n" + table(figures))
    usual = math.log(figures["duration"][PERCENTS.index(50)])

    def badness(i):
        duration = math.log(mine[i][1] / theirs[i].duration) - usual if mine[i][1] > 0 else 0
        distance = math.log(mine[i][0] / theirs[i].distance) if mine[i][0] > 0 else 0
        return max(abs(duration), abs(distance))

    chosen = [("worst", i) for i in sorted(far, key=lambda i: -badness(i))[:options.worst]]
    for kind, holds in (("only ours", lambda i: not theirs[i] and mine[i][0] is not None),
                        ("only theirs", lambda i: theirs[i] and mine[i][0] is None)):
        chosen += [(kind, i) for i in range(len(pairs)) if holds(i)][:options.worst]
    found = []
    for kind, i in chosen:
        (a, b) = pairs[i]
        cause, lines = explain(extract, navbus, peer, pairs[i])
        found.append({"extract": name, "peer": peer.name, "kind": kind, "pair": i, "from": a, "to": b, "class": cause,
                      "ours": mine[i], "theirs": theirs[i] and (theirs[i].distance, theirs[i].duration),
                      "lines": lines})
        print(f"\n- {kind} {i} {a[0]},{a[1]} -> {b[0]},{b[1]}: **{cause}**; ours {mine[i][2]}")
        print("\n".join("    " + line for line in lines))
    print("\nclasses:", dict(Counter((one["kind"], one["class"]) for one in found)))
    return figures, found


def peer_options(peer):
    """Returns the options of a peer for many routes: without Valhalla's ways, which take long and are not needed."""
    return {"with_ways": False} if peer.name == ValhallaPeer.name else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("extracts", nargs="+", type=Path, help=".osm.pbf files")
    parser.add_argument("--navbus", default=".build/release/navbus", help="our command line, built for release")
    parser.add_argument("--work", type=Path, default=Path("/tmp/agreement"), help="folder for the data of all sides")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--worst", type=int, default=10, help="pairs to explain for each extract and peer")
    parser.add_argument("--json", type=Path, help="file for the figures, one line per extract and peer")
    parser.add_argument("--explained", type=Path, help="file for the explained pairs, one line each")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    figures, explained = [], []
    for path in options.extracts:
        name = path.name.removesuffix(".osm.pbf")
        extract = Extract(path)
        navbus = Navbus(os.path.abspath(options.navbus), path, options.work, name)
        pairs = extract.random_pairs(options.pairs, options.seed)
        mine = navbus.many(pairs, name)
        for peer in (OSRMPeer(extract, path, options.work), ValhallaPeer(extract, path, options.work)):
            figure, found = compare(extract, navbus, pairs, mine, peer, options, name)
            figures.append(figure)
            explained += found
            sys.stdout.flush()
    for path, lines in ((options.json, figures), (options.explained, explained)):
        if path:
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
