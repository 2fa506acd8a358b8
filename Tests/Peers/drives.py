#!/usr/bin/env python3
"""Evaluates drives with known truth: the share of positions on the right road, the time to detect a wrong turn, and the
position error at the end of a tunnel.

Right road: `navbus match` processes every trace of the generated drives (causal, and with --smooth), and
../shared/tools/score_match.py compares the result with the driven line. Wrong turns: `navbus replay` guides from the beginning
of each drive to its destination, on a route of our own map; the scorer finds the times at which the true position left that
route, and each is compared with the first /nav/progress with OFF_ROUTE or WRONG_WAY. With rerouting off, the first route stays
in force and every departure from it counts; with rerouting on, each route counts as long as it was followed. Tunnels: the last
position predicted inside is compared with the true position at that time, guided and in free drive, without odometry, which
these traces lack. If the current map differs from the map of the drive, the figures show only that difference.

    Tests/Peers/drives.py [--navbus PROGRAM] [--maps liechtenstein[,andorra]] [--only snap,deviations,tunnels] [--folder DIR]
                          [--json]

Needs the Python packages mcap and mcap-protobuf-support.
"""
import argparse
import bisect
import collections
import csv
import glob
import json
import os
import sys

from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

from workbench import DATA, ROOT, SHARED, run, say, show, workplace

sys.path.insert(0, os.path.join(SHARED, "tools"))

import gnsslib  # noqa: E402
import score_match  # noqa: E402

# DeviationState of Proto/navbus/v1/navigation.proto, PositionSource of position.proto.
OFF_ROUTE, WRONG_WAY = 4, 5
PREDICTED = 2
# The distances from the route beyond which the vehicle has truly left it, metres: the scorer's recommendation and its default.
LEFT = (20, 8)
# The difference in direction beyond which the vehicle has truly left the route, degrees.
TURNED = 60
# The time before the true departure within which a report is not false, seconds: the scorer's value.
EARLY = 2


def without_labels(trace, path):
    """Writes the trace as a receiver would report it, without the labels of injected faults."""
    with open(trace, newline="") as source, open(path, "w", newline="") as file:
        rows = csv.DictReader(source)
        writer = csv.DictWriter(file, [name for name in rows.fieldnames if name != "label"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


class Drive:
    def __init__(self, home, receiver, folder):
        self.title = f"{os.path.basename(os.path.dirname(home))}/{os.path.basename(home)} {receiver}"
        self.driven = gnsslib.read_lines(os.path.join(home, "driven.geojson"))
        self.truth = gnsslib.read_csv(os.path.join(home, "gnss", receiver, "truth_pos.csv"))
        with open(os.path.join(home, "scenario.json")) as file:
            scenario = json.load(file)
        self.destination, self.tunnels = scenario["destination"], scenario["tunnels"]
        name = self.title.replace("/", "-").replace(" ", "-")
        self.trace = without_labels(
            os.path.join(home, "gnss", receiver, "trace.csv"), os.path.join(folder, f"{name}.csv"))
        self.output = os.path.join(folder, f"{name}.out")


def snap(arguments, tiles, drives):
    """Returns the shares of positions on the right road by receiver and mode: the mean and the lowest of its drives."""
    rows = []
    for mode in ([], ["--smooth"]):
        found = collections.defaultdict(list)
        for drive in drives:
            with open(drive.output, "w") as file:
                file.write(run([arguments.navbus, "match", "--tiles", tiles, drive.trace, *mode]))
            scored = score_match.score_snap(
                drive.driven, gnsslib.read_csv(drive.output), drive.truth, tol=8, btol=60, max_dt=0.6)
            found[drive.title.split()[1]].append(scored)
        for receiver, scores in found.items():
            count = sum(score["n"] for score in scores)
            rows.append({
                "receiver": receiver, "mode": "smooth" if mode else "causal", "positions": count,
                "right_road": round(sum(score["right_road"] * score["n"] for score in scores) / count, 4),
                "worst_drive": round(min(score["right_road"] for score in scores), 4),
                "cross_track_p95": max(score["cross_track_p95"] for score in scores)})
    return rows


def replay(arguments, tiles, drive, *words):
    """Replays a drive; returns the topics and messages of the output, in order."""
    bag = drive.output + ".mcap"
    run([arguments.navbus, "replay", drive.trace, "--tiles", tiles, "--out", bag, *words])
    with open(bag, "rb") as file:
        found = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
        return [(channel.topic, message) for _, channel, _, message in found]


def line_of(polyline):
    """Yields the points of a delta-coded line, degrees."""
    latitude = longitude = 0
    for north, east in zip(polyline.lat_deltas_e7, polyline.lon_deltas_e7):
        latitude, longitude = latitude + north, longitude + east
        yield latitude * 1e-7, longitude * 1e-7


def guided(drive):
    return ["--to", ",".join(map(str, drive.destination))]


def followed(messages):
    """Returns the routes by number, each with the time from which it was followed, and every progress: route, seconds, is off."""
    routes, states = {}, []
    for topic, message in messages:
        if topic == "/nav/progress":
            states.append((message.route_id, message.stamp_ns / 1e9, message.deviation in (OFF_ROUTE, WRONG_WAY)))
        elif topic == "/nav/route" and message.HasField("geometry") and message.route_id not in routes:
            routes[message.route_id] = (message.stamp_ns / 1e9, [list(line_of(message.geometry))])
    return routes, states


def spans(drive, lines, start, metres):
    """Returns the time spans after `start` in which the vehicle was further than `metres` from a line or drove against it."""
    events = score_match.deviate(lines, [row for row in drive.truth if row["t_s"] >= start], metres, TURNED)
    times = [event["t_s"] for event in events] + [float("inf")]
    return list(zip(times[::2], times[1::2]))


def leavings(drive, routes, states, metres):
    """Returns the delays of reported deviations, the missed ones and the false ones; the route is left beyond `metres`."""
    delays, missed, false = [], [], []
    begin = drive.truth[0]["t_s"]
    ends = [start for start, _ in routes.values()][1:] + [float("inf")]
    for (number, (start, lines)), end in zip(routes.items(), ends):
        said = [(time, is_off) for route, time, is_off in states if route == number]
        told = [time for (time, is_off), (_, was_off) in zip(said, [(0, False), *said]) if is_off and not was_off]
        for left, back in spans(drive, lines, start, metres):
            first = next((time for time in told if left - EARLY <= time <= back), None)
            if first is not None:
                delays.append(first - left)
            elif left >= end:
                # Reports after the next route concern the next route.
                continue
            elif next((is_off for time, is_off in reversed(said) if time <= left), False):
                # Reported before and still valid: the vehicle only came near the line, stationary or on a parallel road.
                delays.append(0)
            else:
                missed.append(f"{drive.title} at {left - begin:.1f} s for {back - left:.1f} s")
        near = spans(drive, lines, start, min(LEFT))
        false += [
            f"{drive.title} at {time - begin:.1f} s" for time in told
            if not any(left - EARLY <= time <= back for left, back in near)
        ]
    return delays, missed, false


def deviations(arguments, tiles, drives):
    rows = []
    for is_rerouted in (False, True):
        runs = []
        for drive in drives:
            messages = replay(
                arguments, tiles, drive, *guided(drive), "--set", "alternatives.enabled=false",
                "--set", "faster.enabled=false", "--set", f"reroute.detect={'true' if is_rerouted else 'false'}")
            runs.append((drive, *followed(messages)))
        for metres in LEFT:
            delays, missed, false = [], [], []
            for facts in runs:
                for total, part in zip((delays, missed, false), leavings(*facts, metres)):
                    total += part
            for what, places in (("missed", missed), ("false", false)):
                for place in places:
                    say(f"{what}: {place}, rerouting {'on' if is_rerouted else 'off'}, {metres} m")
            row = {
                "rerouting": "on" if is_rerouted else "off", "left_m": metres, "drives": len(drives),
                "noticed": len(delays), "missed": len(missed), "false": len(false)}
            if delays:
                row |= {
                    name: round(gnsslib.pct(delays, percent), 1)
                    for name, percent in (("p50_s", 50), ("p95_s", 95), ("greatest_s", 100))}
            rows.append(row)
    return rows


def tunnels(arguments, tiles, drives):
    rows = []
    for drive in drives:
        times = [row["t_s"] for row in drive.truth]
        for mode in ("guided", "free") if drive.tunnels else ():
            messages = replay(arguments, tiles, drive, *(guided(drive) if mode == "guided" else []))
            for begin, end in drive.tunnels:
                inside = [row["t_s"] for row in drive.truth if begin <= row["s_m"] <= end]
                within = [
                    (topic, message) for topic, message in messages
                    if topic in ("/nav/position", "/nav/reroute") and inside[0] <= message.stamp_ns / 1e9 <= inside[-1]
                ]
                last = [message for topic, message in within if topic == "/nav/position" and message.source == PREDICTED]
                row = {"drive": drive.title, "mode": mode, "length_m": round(end - begin)}
                if last:
                    true = drive.truth[bisect.bisect_left(times, last[-1].stamp_ns / 1e9)]
                    place = (last[-1].matched.latitude, last[-1].matched.longitude)
                    error = gnsslib.dist((true["lat"], true["lon"]), place)
                    row |= {
                        "error_m": round(error, 1), "share": round(error / (end - begin), 3),
                        "sigma_m": round(last[-1].along_sigma_m, 1)}
                rows.append(row | {"reroutes_inside": sum(topic == "/nav/reroute" for topic, _ in within)})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--navbus", default=os.path.join(ROOT, ".build", "release", "navbus"))
    parser.add_argument("--maps", default="liechtenstein")
    parser.add_argument("--only", default="snap,deviations,tunnels")
    parser.add_argument("--folder", help="folder for the maps (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    arguments = parser.parse_args()
    with workplace(arguments.folder, "drives") as folder:
        for name in arguments.maps.split(","):
            tiles = os.path.join(folder, name)
            if not os.path.exists(tiles):
                run([arguments.navbus, "map", "build", os.path.join(DATA, "osm", f"{name}.osm.pbf"), "--out", tiles])
            homes = sorted(glob.glob(os.path.join(DATA, "gnss", "synth", name, "*")))
            drives = [
                Drive(home, receiver, folder) for home in homes for receiver in sorted(os.listdir(os.path.join(home, "gnss")))
            ]
            for part, measure in (("snap", snap), ("deviations", deviations), ("tunnels", tunnels)):
                rows = measure(arguments, tiles, drives) if part in arguments.only.split(",") else []
                if rows:
                    if not arguments.json:
                        print(name)
                    show(rows, arguments.json, map=name, part=part)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"{error}")
