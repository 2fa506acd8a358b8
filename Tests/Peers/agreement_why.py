"""The causes of a difference between two routers on a pair of places, from each side's evaluation of the other's route.

Between places A and B, `mine` is our route and `theirs` the peer's. The class of a pair is the first that applies:

1. *snap*: the two sides snap an end to different roads, and between equal places the routes agree.
2. *time only*: the routes are equal but have different durations.
3. *level*: both sides snap an end to the same place but to different roads there: on another level, or beyond a node.
4. *closed to us*, *closed to them*: ways of the other's route are closed to one side; their tags and barriers show why.
5. *ends*: the routes agree except for the direction in which the first or the last road is driven.
6. *penalty*: one side considers the other's route faster but does not take it, so a cost other than time decides.
7. *tie*: each side considers its own route faster, by at most TIE; *cost*: by more than TIE. The ways with the longest
   times are listed with the speeds of both sides.
"""

from agreement_sides import metres, segments

# The distance beyond which places are different, metres.
SAME_PLACE = 5
# The share of the longer route's length from which on two routes count as equal.
SAME_ROUTE = 0.97
# The relative difference of the times below which routes count as equally good.
TIE = 0.05
# The shortest part of a path over which a route is forced, metres.
SHORTEST = 15


def inner(nodes):
    """Returns the segments except the first and the last, which are driven only in part."""
    return segments(nodes)[1:-1]


def sharing(extract, mine, theirs):
    """Returns the share of the longer route that both have in common, 0 to 1, taking directions into account."""
    a, b = inner(mine.nodes), inner(theirs.nodes)
    if not a and not b:
        return 1.0 if abs(mine.distance - theirs.distance) < 20 else 0.0
    common = set(a) & set(b)
    longest = max(sum(map(extract.length, a)), sum(map(extract.length, b)))
    return sum(extract.length(pair) for pair in set(a) & common) / longest if longest > 0 else 1.0


def same(extract, mine, theirs):
    """Whether two routes are the same, except for the first and last metres."""
    if not mine or not theirs:
        return False
    near = abs(mine.distance - theirs.distance) <= max(30, 0.02 * theirs.distance)
    return near and sharing(extract, mine, theirs) >= SAME_ROUTE


def stretches(extract, path, other):
    """Returns the parts of a path that another one does not contain: lists of node pairs, at least SHORTEST long."""
    driven = set(segments(other))
    parts, part = [], []
    for pair in segments(path):
        if pair in driven:
            parts.append(part)
            part = []
        else:
            part.append(pair)
    parts.append(part)
    return [part for part in parts if sum(map(extract.length, part)) >= SHORTEST]


def force(extract, side, ends, path, other):
    """Returns the side's route between two places over the parts of a path that another one does not contain."""
    places = []
    for part in stretches(extract, path, other):
        # Up to three places for each part, because a single one would not keep a router on a long part.
        usable = [pair for pair in part if pair[0] in extract.places and pair[1] in extract.places]
        for share in ((0.5,) if sum(map(extract.length, part)) < 500 else (0.15, 0.5, 0.85)):
            if usable:
                a, b = (extract.places[node] for node in usable[int(share * len(usable))])
                places.append(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2))
    places = places[:18]
    return side.drive([ends[0], *places, ends[1]])


def closed(extract, side, path, other, forced):
    """Returns the metres of the ways of a path that neither another route nor a forced one uses and that the side cannot drive.

    A way is open if the side routes directly from a third to two thirds of its longest segment. This excludes ways that a
    forced route omits because of a turn or of the place of its end.
    """
    driven = set(segments(forced.nodes)) if forced else set()
    ways = {}
    for part in stretches(extract, path, other):
        for pair in part:
            if pair not in driven:
                ways.setdefault(extract.pairs.get(pair), []).append(pair)
    result = {}
    for way, pairs in sorted(ways.items(), key=lambda item: -sum(map(extract.length, item[1])))[:12]:
        longest = max(pairs, key=extract.length)
        length = extract.length(longest)
        if length < 3:
            continue
        (a, b), (c, d) = (extract.places[node] for node in longest)
        ends = [(a + (c - a) * share, b + (d - b) * share) for share in (1 / 3, 2 / 3)]
        drive = side.drive(ends)
        if not drive or drive.distance > length / 3 + 10 or max(map(metres, ends, drive.places)) > SAME_PLACE:
            result[way] = sum(map(extract.length, pairs))
    return result


def end_lines(extract, place, mine, theirs, index):
    """Describes the snapped place of one end on both sides."""
    lines = []
    for name, drive in (("ours", mine), ("theirs", theirs)):
        way = drive.ways[index][0] if drive.ways else None
        lines.append(f"{name:6} {metres(place, drive.places[index]):.0f} m from the place on {extract.tags(way)}")
    return lines


def speed_lines(extract, drive, only, limit=7):
    """Describes the ways of a route that the other side does not use, the longest times first."""
    rows = [(seconds, way, length) for way, (length, seconds) in drive.joined().items() if way in only]
    return [f"{length:.0f} m in {seconds:.0f} s ({length / seconds * 3.6 if seconds else 0:.0f} km/h) "
            + extract.tags(way) for seconds, way, length in sorted(rows, reverse=True, key=lambda row: row[0])[:limit]]


def part_lines(extract, mine, theirs):
    """Describes the places where two routes separate, and the restrictions that begin there."""
    pairs = segments(theirs.nodes)
    driven = set(pairs)
    path = segments(mine.nodes)
    lines = []
    for before, after in zip(path, path[1:]):
        if before in driven and after not in driven:
            node = after[0]
            lines.append(f"part at node {node} {extract.places.get(node)} {extract.node_tags.get(node, '')}")
            for text in extract.restrictions.get(extract.pairs.get(before), []):
                lines.append("  " + text)
            if len(lines) > 8:
                break
    return lines


def explain(extract, navbus, peer, places):
    """Returns the class of the difference on a pair of places, and lines of evidence."""
    mine, theirs = navbus.drive(list(places)), peer.drive(list(places))
    if not mine or not theirs:
        return alone(extract, places, mine, theirs)
    lines = [f"ours {mine.distance:.0f} m {mine.duration:.0f} s, theirs {theirs.distance:.0f} m "
             f"{theirs.duration:.0f} s"]
    gaps = [metres(mine.places[index], theirs.places[index]) for index in (0, -1)]
    for index, gap in zip((0, -1), gaps):
        if gap > SAME_PLACE:
            lines.append(f"{'start' if index == 0 else 'end'}: {gap:.0f} m apart")
            lines += ["  " + line for line in end_lines(extract, places[index], mine, theirs, index)]
    if max(gaps) > SAME_PLACE:
        ours_there, theirs_here = navbus.drive(theirs.places), peer.drive(mine.places)
        for text, drive in (("ours between their places", ours_there), ("theirs between ours", theirs_here)):
            lines.append(f"{text}: {drive.distance:.0f} m {drive.duration:.0f} s" if drive else f"{text}: none")
        if same(extract, ours_there, theirs) or same(extract, theirs_here, mine):
            return "snap", lines
        # The remaining difference, between equal places.
        mine = ours_there or mine
    if same(extract, mine, theirs):
        return "time only", lines + speed_lines(extract, mine, mine.joined(), 5) + ["theirs:"] + speed_lines(
            extract, theirs, theirs.joined(), 5)
    if max(gaps) <= SAME_PLACE and any(
            mine.ways and theirs.ways and mine.ways[index][0] != theirs.ways[index][0] for index in (0, -1)):
        for index in (0, -1):
            lines += [f"{'start' if index == 0 else 'end'} {line}"
                      for line in end_lines(extract, places[index], mine, theirs, index)]
        return "level", lines
    cause, evidence = weigh(extract, navbus, peer, mine, theirs)
    return cause, lines + evidence


def alone(extract, places, mine, theirs):
    """Returns the class and lines of evidence of a pair for which at most one side has a route."""
    found = mine or theirs
    if not found:
        return "neither", []
    name = "ours" if mine else "theirs"
    lines = [f"{name} alone: {found.distance:.0f} m {found.duration:.0f} s"]
    for index in (0, -1):
        way = found.ways[index][0] if found.ways else None
        lines.append(f"{'start' if index == 0 else 'end':5} {metres(places[index], found.places[index]):.0f} m from "
                     f"the place on {extract.tags(way)}")
    return f"only {name}", lines


def weigh(extract, navbus, peer, mine, theirs):
    """Returns the class and lines of evidence of two routes between equal places, by each side's evaluation of the other's route."""
    lines = part_lines(extract, mine, theirs)
    forced_us = force(extract, navbus, theirs.places, theirs.nodes, mine.nodes)
    forced_them = force(extract, peer, theirs.places, mine.nodes, theirs.nodes)
    closed_us = closed(extract, navbus, theirs.nodes, mine.nodes, forced_us)
    closed_them = closed(extract, peer, mine.nodes, theirs.nodes, forced_them)
    for text, drive in (("ours forced over theirs", forced_us), ("theirs forced over ours", forced_them)):
        lines.append(f"{text}: {drive.distance:.0f} m {drive.duration:.0f} s"
                     + (f" cost {drive.cost:.0f}" if drive.cost else "") if drive else f"{text}: none")
    if theirs.cost:
        lines.append(f"theirs cost {theirs.cost:.0f}")
    for who, ways, drive, other in (("us", closed_us, theirs, mine), ("them", closed_them, mine, theirs)):
        lines += [f"closed to {who}: {length:.0f} m of {extract.tags(way)}"
                  for way, length in sorted(ways.items(), key=lambda item: -item[1])[:6]]
        parts = stretches(extract, drive.nodes, other.nodes)
        lines += [f"  {text}" for text in extract.barriers([pair[0] for part in parts for pair in part])[:6]]
    only_us = set(mine.joined()) - set(theirs.joined())
    only_them = set(theirs.joined()) - set(mine.joined())
    for text, drive, ways, limit in (("only ours", mine, only_us, 7), ("only theirs", theirs, only_them, 7),
                                     ("ours on theirs", forced_us, only_them, 4),
                                     ("theirs on ours", forced_them, only_us, 4)):
        if drive:
            lines += [f"{text}: {line}" for line in speed_lines(extract, drive, ways, limit)]
    barred = [f"closed to {who}" for who, ways in (("us", closed_us), ("them", closed_them)) if ways]
    if barred:
        return " and ".join(barred), lines
    if not only_us and not only_them:
        return "ends", lines
    if forced_us and forced_us.duration < mine.duration - 3:
        return "penalty of ours", lines
    if forced_them and forced_them.duration < theirs.duration - 3:
        return "penalty of theirs", lines
    gains = [drive.duration / own.duration - 1 for drive, own in ((forced_us, mine), (forced_them, theirs))
             if drive and own.duration > 0]
    return "tie" if gains and max(gains) < TIE else "cost", lines
