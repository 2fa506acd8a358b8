#!/usr/bin/env python3
"""Arrivals and the timing of spoken instructions over simulated drives with known truth.

Each drive leads between random places with an ordinary receiver and stops at its end. `navbus replay` guides it to a
pin up to 10 m away, as a user would set it. The announcements are compared with the true position of the vehicle:

 * arrived: drives with ARRIVED at the destination, at most 25 m from the pin, and a trip that is COMPLETE
 * told: drives with a spoken arrival and a banner that changes to the arrival
 * in_time: the share of maneuvers whose last instruction is spoken at least 2 s before the vehicle passes them
 * wordless: maneuvers without an instruction of their own or a "then" in that of an earlier maneuver
 * repeats: instructions repeated within 8 s for the same maneuver; alike: the same wording for another maneuver

The exit status is 1 if a target is missed: all drives arrived and told, 0.99 in time, none wordless.

    Tests/Peers/arrivals.py [--navbus PROGRAM] [--maps porto,andorra] [--drives 15] [--seed 1] [--tiles DIR] [--json]
"""
import argparse
import bisect
import difflib
import json
import math
import os
import random
import re
import shlex
import sys

from workbench import DATA, METRES_PER_DEGREE, ROOT, distance, run, show, workplace

# The greatest distances from the pin to the end of the drive and to the place at which ARRIVED is published, metres.
PIN_M, ARRIVED_M = 10, 25
# The least time from the last instruction to the maneuver, and the greatest time between repeated instructions, seconds.
IN_TIME_S, REPEAT_S = 2, 8
IN_TIME_SHARE = 0.99
# The lengths of drives, metres; those on a small map are shorter.
SHORTEST, LONGEST = 2_000, 10_000
# The time for which the vehicle stays at the end, seconds: a simulation ends when the vehicle stops, but a receiver continues.
STANDING_S = 10
# The distance within which the true path passes a maneuver's point, metres.
PASSING_M = 6
ROUTE, ARRIVAL, STATE = "/nav/route", "/nav/arrival", "/nav/state"
SPOKEN, VISUAL, ARRIVE = "/nav/instruction/spoken", "/nav/instruction/visual", "MANEUVER_TYPE_ARRIVE"


def moved(place, metres, angle):
    """Returns a place moved by a distance in a direction, radians from north."""
    north, east = metres * math.cos(angle) / METRES_PER_DEGREE, metres * math.sin(angle) / METRES_PER_DEGREE
    return place[0] + north, place[1] + east / math.cos(math.radians(place[0]))


def place_of(message):
    return message["latitude"], message["longitude"]


def degrees(place):
    return f"{place[0]:.7f},{place[1]:.7f}"


def messages(navbus, bag, *topics):
    """Yields the topic, the seconds and the content of each message of a bag."""
    for line in run([navbus, "bag", "cat", bag, "--json", "--topics", *topics]).splitlines():
        entry = json.loads(line)
        yield entry["topic"], int(entry["log_ns"]) / 1e9, entry["message"]


class Drive:
    """A drive: its trace, its true path with ten states per second, its pin, and its announcements."""

    def __init__(self, options, name, seed):
        self.navbus, self.noise, self.seed, self.title = options.navbus, options.noise, seed, f"{name} {seed}"
        self.tiles, self.path = os.path.join(options.tiles, name), os.path.join(options.folder, f"{name}-{seed}")
        words = ["--maps", name, "--seed", seed, "--drives", 1, "--noise", self.noise, *options.kept_tiles]
        self.command = shlex.join(map(str, [sys.argv[0], "--navbus", self.navbus, *words]))
        dice = random.Random(self.title)
        if not any(self.is_made(dice) for _ in range(10_000)):
            raise RuntimeError(f"{self.title}: no drive of suitable length was found")
        self.offsets = [0.0]
        for before, after in zip(self.way, self.way[1:]):
            self.offsets.append(self.offsets[-1] + distance(before, after))
        self.pin = moved(self.way[-1], dice.uniform(0, PIN_M), dice.uniform(0, 2 * math.pi))
        bag, self.told = f"{self.path}-guided.mcap", {topic: [] for topic in (ROUTE, ARRIVAL, STATE, SPOKEN, VISUAL)}
        run([self.navbus, "replay", f"{self.path}.csv", "--tiles", self.tiles, "--to", degrees(self.pin), "--out", bag])
        for topic, time, message in messages(self.navbus, bag, *self.told):
            self.told[topic].append((time, message))

    def is_made(self, dice):
        """Draws two places and simulates the drive between them; false without a route of suitable length."""
        with open(os.path.join(self.tiles, "tileset.json")) as file:
            box = json.load(file)["bounds"]
        shortest = min(SHORTEST, distance((box["south"], box["west"]), (box["north"], box["east"])) / 2)
        start = dice.uniform(box["south"], box["north"]), dice.uniform(box["west"], box["east"])
        end = moved(start, dice.uniform(shortest / 2, LONGEST * 0.7), dice.uniform(0, 2 * math.pi))
        if not (box["south"] < end[0] < box["north"] and box["west"] < end[1] < box["east"]):
            return False
        ends = ["--tiles", self.tiles, "--from", degrees(start), "--to", degrees(end), "--seed", self.seed, "--json"]
        trace, truth = f"{self.path}-trace.mcap", f"{self.path}-truth.mcap"
        try:
            report = json.loads(run([self.navbus, "simulate", *ends, "--noise", self.noise, "--out", trace]))
        except RuntimeError:
            return False
        if not shortest <= report["distance"] <= LONGEST:
            return False
        run([self.navbus, "simulate", *ends, "--noise", "none", "--rate", 10, "--out", truth])
        fixes = messages(self.navbus, truth, "/gnss/fix")
        self.times, self.way = zip(*((time, place_of(fix)) for _, time, fix in fixes))
        run([self.navbus, "bag", "convert", trace, "--out", f"{self.path}.csv", "--overwrite"])
        with open(f"{self.path}.csv", "r+") as file:
            head, *_, last = (row.split(",") for row in file.read().splitlines())
            row = dict(zip(head, last)) | {"speed_mps": 0, "heading_deg": ""}
            for second in range(1, STANDING_S + 1):
                times = {name: float(row[name]) + second for name in ("t_s", "t_recv_s")}
                file.write(",".join(str(value) for value in (row | times).values()) + "\n")
        # In a tunnel there are no fixes, and no arrival can be announced.
        return float(row["t_s"]) > self.times[-1] - 1

    def state(self, time):
        """Returns the index of the true state at a time."""
        return min(bisect.bisect_left(self.times, time), len(self.times) - 1)

    def nearest(self, place, start, end):
        """Returns the true state nearest to a place between two offsets of the path, as its distance in metres and its index."""
        near = range(*(bisect.bisect_left(self.offsets, offset) for offset in (start, end)))
        return min(((distance(self.way[index], place), index) for index in near), default=(math.inf, 0))

    def comes_along(self, maneuver, index):
        """Whether the true path reaches a state from the same direction as the route."""
        before = self.way[bisect.bisect_left(self.offsets, self.offsets[index] - 5)]
        return distance(before, moved(self.way[index], -5, maneuver["course_before"])) < 5

    def passings(self):
        """Yields each maneuver that the vehicle drives on the route in force: seconds, route, step, maneuver."""
        started = {}
        for time, route in self.told[ROUTE]:
            if "geometry" in route:
                started.setdefault(route["route_id"], (time, route))
        ends = [time for time, _ in list(started.values())[1:]] + [math.inf]
        for (begin, route), until in zip(started.values(), ends):
            steps = route["legs"][0]["steps"]
            near = self.offsets[self.state(begin)]
            _, index = self.nearest(place_of(steps[0]["maneuver"]), near - 60, near + 60)
            anchor, length = self.offsets[index], 0.0
            for number, (before, step) in enumerate(zip(steps, steps[1:-1]), 1):
                # If the path passes a place twice, the lengths of the steps identify the right passage.
                place, length = place_of(step["maneuver"]), length + before["distance_m"]
                reach = 30 + 0.03 * length
                metres, index = self.nearest(place, anchor + length - reach, anchor + length + reach)
                if metres > PASSING_M:
                    # A driver who has left the route returns to it later.
                    metres, index = self.nearest(place, anchor, math.inf)
                if metres <= PASSING_M and self.comes_along(step["maneuver"], index):
                    anchor, length = self.offsets[index], 0.0
                    if begin < self.times[index] < until:
                        yield self.times[index], route["route_id"], number, step["maneuver"]

    def judge_maneuvers(self):
        """Compares the instructions of each maneuver with its time; returns the seconds from the last one, or None, and the faults."""
        leads, faults = [], []
        for time, route, step, maneuver in self.passings():
            words = [(said, text) for said, text in self.told[SPOKEN]
                     if text["route_id"] == route and names(text, step)]
            own = [said for said, text in words if text["step_index"] == step and text["urgency"].endswith("NOW")]
            # Only the last instruction counts, because an early one does not help at the junction.
            last = own[-1] if own else max((said for said, _ in words if said < time), default=None)
            leads.append(None if last is None else time - last)
            if last is None or time - last < IN_TIME_S:
                what = "no instruction" if last is None else f"last instruction {time - last:.1f} s before it"
                kind = maneuver["type"].removeprefix("MANEUVER_TYPE_")
                faults.append(f"{kind} at {degrees(place_of(maneuver))}, {time - self.times[0]:.1f} s: {what}")
        return leads, faults

    def judge_arrival(self):
        """Compares the arrival with the true position; returns the metres to the pin, and the faults of place and announcement."""
        told = self.told
        arrived = [time for time, event in told[ARRIVAL] if event["is_destination"] and "ARRIVED" in event["phase"]]
        metres = distance(self.way[self.state(arrived[0])], self.pin) if arrived else math.inf
        where = [] if metres <= ARRIVED_M else [f"ARRIVED {metres:.1f} m from the pin" if arrived else "no ARRIVED"]
        if not any(state.get("guidance", "").endswith("COMPLETE") for _, state in told[STATE]):
            where.append("the trip is not COMPLETE")
        arrivals = [[message for _, message in told[topic] if message.get("maneuver", {}).get("type") == ARRIVE]
                    for topic in (SPOKEN, VISUAL)]
        is_said = any(message["text"] and message["urgency"].endswith("NOW") for message in arrivals[0])
        # The banner of the last step announces the arrival, and at the arrival changes to the arrival's own text.
        final = [route["legs"][-1]["steps"][-1]["instruction"] for _, route in told[ROUTE] if "geometry" in route]
        is_shown = arrivals[1] != [] and arrivals[1][-1]["primary"]["text"] == final[-1]
        return metres, where, ["no spoken arrival"] * (not is_said) + ["no arrival banner"] * (not is_shown)

    def repeats(self):
        """Yields instructions that are soon repeated or nearly repeated: whether for the same maneuver, and their text."""
        spoken = [(time, words, re.sub(r"^in [\d.,]+ \w+, ", "", words["text"].lower()))
                  for time, words in self.told[SPOKEN]]
        for index, (time, words, second) in enumerate(spoken):
            for before, said, first in spoken[:index]:
                is_same = place_of(words["maneuver"]) == place_of(said["maneuver"])
                is_near = difflib.SequenceMatcher(None, first.split(), second.split()).ratio() >= 0.9
                if time - before <= REPEAT_S and (is_near or is_same and (first in second or second in first)):
                    when = f"at {time - self.times[0]:.0f} s, {time - before:.1f} s after"
                    yield is_same, f"“{words['text']}” {when} “{said['text']}”"


def names(words, step):
    """Whether an instruction names a step's maneuver, as its own or after a "then"."""
    first, following = words["step_index"], words["text"].count(", then ")
    # The first instruction on a road names the maneuver ahead only after a "then".
    return first <= step < first + following + (words["urgency"] != "SPOKEN_URGENCY_FOLLOW")


def figures(drives):
    """Returns the figures of the drives."""
    leads = [lead for drive in drives for lead in drive.leads]
    timed = [lead for lead in leads if lead is not None]
    again = [is_same for drive in drives for is_same, _ in drive.again]
    return {
        "drives": len(drives), "arrived": sum(not drive.where for drive in drives),
        "farthest_m": max((round(drive.metres, 1) for drive in drives if drive.metres < math.inf), default=None),
        "told": sum(not drive.words for drive in drives),
        "maneuvers": len(leads), "in_time": round(sum(lead >= IN_TIME_S for lead in timed) / max(len(leads), 1), 4),
        "least_s": round(min(timed), 1) if timed else None, "wordless": len(leads) - len(timed),
        "repeats": sum(again), "alike": len(again) - sum(again)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--navbus", default=os.path.join(ROOT, ".build", "release", "navbus"))
    parser.add_argument("--maps", default="porto,helsinki,liechtenstein,andorra")
    parser.add_argument("--drives", type=int, default=15, help="drives on each map")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first drive; the others follow")
    parser.add_argument("--tiles", help="folder with the tiles of each map; missing ones are built")
    parser.add_argument("--folder", help="folder for the bags (default: a temporary one)")
    parser.add_argument("--noise", default="open", help="the receiver's environment, as in navbus simulate")
    parser.add_argument("--json", action="store_true", help="one line of JSON per figure")
    options = parser.parse_args()
    if options.drives < 1:
        parser.error("--drives: at least 1")
    drives = {}
    with workplace(options.folder, "arrivals") as options.folder:
        options.kept_tiles = ["--tiles", options.tiles] if options.tiles else []
        options.tiles = options.tiles or os.path.join(options.folder, "tiles")
        for name in options.maps.split(","):
            tiles, extract = os.path.join(options.tiles, name), os.path.join(DATA, "osm", f"{name}.osm.pbf")
            if not os.path.exists(tiles):
                run([options.navbus, "map", "build", extract, "--out", tiles])
            drives[name] = []
            for number in range(options.drives):
                drive = Drive(options, name, options.seed + number)
                drive.leads, drive.late = drive.judge_maneuvers()
                drive.metres, drive.where, drive.words = drive.judge_arrival()
                drive.again = list(drive.repeats())
                drives[name].append(drive)
                if sys.stderr.isatty():
                    end = "\n" if number + 1 == options.drives else ""
                    print(f"\r{name}: {number + 1} of {options.drives} drives", end=end, file=sys.stderr, flush=True)
    every = sum(drives.values(), [])
    total = figures(every)
    show([{"map": name, **figures(part)} for name, part in drives.items()] + [{"map": "all", **total}], options.json)
    for drive in every:
        for fault in drive.where + drive.words + drive.late:
            print(json.dumps({"drive": drive.title, "fault": fault, "repeat": drive.command}) if options.json
                  else f"{drive.title}: {fault}\n    {drive.command}")
        for _, what in [] if options.json else drive.again:
            print(f"{drive.title}: {what}")
    is_met = total["arrived"] == total["told"] == total["drives"] and total["in_time"] >= IN_TIME_SHARE
    sys.exit(0 if is_met and not total["wordless"] else 1)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"{error}")
