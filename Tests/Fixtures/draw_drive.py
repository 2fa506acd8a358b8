#!/usr/bin/env python3
"""Draws a recorded drive on its map as SVG: draw_drive.py MAP.osm.pbf RECORDING.mcap OUT.svg

Needs the Python packages osmium, mcap and mcap-protobuf-support. The README's picture is made of launch/demo's recording.
"""
import html
import math
import sys

import osmium
from recording import line_of, messages

HEIGHT, MAP_WIDTH, PANEL, MARGIN = 760, 560, 460, 46
MAJOR = {"motorway", "trunk", "primary", "secondary", "motorway_link", "trunk_link", "primary_link", "secondary_link"}
STREET = {"tertiary", "residential", "unclassified", "living_street", "tertiary_link"}
LANE = {"service", "pedestrian"}

STYLE = """
.paper{fill:#fcfcfa}.panel{fill:#f3f4f1}.ink{fill:#23272e}.soft{fill:#69717d}
.house{fill:#f0efeb}.lane{stroke:#e6e6e1;stroke-width:1.6}.street{stroke:#dadad4;stroke-width:4.2}
.major{stroke:#c9c9c2;stroke-width:6.4}.first{stroke:#8a93a3;stroke-width:3;stroke-dasharray:7 5}
.second{stroke:#3b82f6;stroke-opacity:.30;stroke-width:11}.trace{stroke:#1d4ed8;stroke-width:2.6}
.fix{fill:#f08c00;fill-opacity:.75}.turn{fill:#1d4ed8}.warn{fill:#d6293e}.goal{fill:#16803c}
.ring{stroke:#fcfcfa;stroke-width:2}.num{fill:#ffffff;font-weight:600;font-size:11px;text-anchor:middle}
path,line{fill:none;stroke-linecap:round;stroke-linejoin:round}.house{stroke:none}
text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:14px}
.head{font-size:18px;font-weight:600}.small{font-size:12px}.time{text-anchor:end;font-variant-numeric:tabular-nums}
.name{font-size:11px;text-anchor:middle;fill:#69717d;paint-order:stroke;stroke:#fcfcfa;stroke-width:3px}
"""
DARK = """
.paper{fill:#14171c}.panel{fill:#1b1f26}.ink{fill:#e8eaee}.soft{fill:#9aa3b1}
.house{fill:#191d23}.lane{stroke:#262b33}.street{stroke:#313741}.major{stroke:#434a56}
.first{stroke:#8d97a8}.second{stroke:#60a5fa;stroke-opacity:.32}.trace{stroke:#7db4ff}
.fix{fill:#ffb454}.turn{fill:#2f6fe4}.warn{fill:#e5484d}.goal{fill:#2f9e54}.ring{stroke:#14171c}
.name{fill:#9aa3b1;stroke:#14171c}
"""


def read_bag(path):
    """Messages by topic, in order."""
    topics = {}
    for topic, message in messages(path):
        topics.setdefault(topic, []).append(message)
    return topics


def read_map(path):
    """Lines of roads by class, the houses' outlines, and named streets."""
    lines, names = {"house": [], "lane": [], "street": [], "major": []}, []
    for way in osmium.FileProcessor(path).with_locations():
        if not way.is_way():
            continue
        points = [(node.lat, node.lon) for node in way.nodes if node.location.valid()]
        kind = way.tags.get("highway")
        layer = ("major" if kind in MAJOR else "street" if kind in STREET else "lane" if kind in LANE
                 else "house" if "building" in way.tags and len(points) > 3 else None)
        if layer and len(points) > 1 and way.tags.get("area") != "yes":
            lines[layer].append(points)
            if layer in ("major", "street") and "name" in way.tags:
                names.append((way.tags["name"], points))
    return lines, names


class Sheet:
    """Degrees to pixels, and whether a pixel is on the map."""

    def __init__(self, places):
        south, north = min(p[0] for p in places), max(p[0] for p in places)
        west, east = min(p[1] for p in places), max(p[1] for p in places)
        self.center = ((south + north) / 2, (west + east) / 2)
        self.stretch = math.cos(math.radians(self.center[0]))
        self.scale = min((HEIGHT - 2 * MARGIN) / (north - south), (MAP_WIDTH - 2 * MARGIN) / (east - west) / self.stretch)

    def pixel(self, place):
        return (MAP_WIDTH / 2 + (place[1] - self.center[1]) * self.stretch * self.scale,
                HEIGHT / 2 - (place[0] - self.center[0]) * self.scale)

    def path(self, places, closed=False):
        pixels = [self.pixel(place) for place in places]
        if not any(-20 < x < MAP_WIDTH + 20 and -20 < y < HEIGHT + 20 for x, y in pixels):
            return ""
        text, last = "", None
        for x, y in pixels:
            now = (round(x), round(y)) if closed else (round(x, 1), round(y, 1))
            if now != last:
                text += f"{'L' if last else 'M'}{now[0]:g} {now[1]:g}"
            last = now
        return text + ("Z" if closed else "")


def clock(nanoseconds):
    seconds = round(nanoseconds / 1e9)
    return f"{seconds // 60}:{seconds % 60:02d}"


def events_of(topics):
    """What happened, in order: stamp, kind, text, place."""
    where = {m.stamp_ns: (m.matched.latitude, m.matched.longitude) for m in topics["/nav/position"]}
    events = []
    for message in topics["/nav/instruction/spoken"]:
        if message.text.startswith("In ") or "arrived" in message.text:
            continue
        events.append((message.stamp_ns, "turn", message.text, where[message.stamp_ns]))
    for message in topics["/nav/reroute"]:
        phase = message.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_number[message.phase].name
        if phase == "REROUTE_PHASE_WILL_REROUTE":
            text = "Off the route: a new one is found"
            events.append((message.stamp_ns, "warn", text, where[message.stamp_ns]))
    for message in topics["/nav/arrival"]:
        phase = message.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_number[message.phase].name
        if phase == "ARRIVAL_PHASE_ARRIVED":
            events.append((message.stamp_ns, "goal", "Arrived at the destination", where[message.stamp_ns]))
    return sorted(events, key=lambda event: event[0])


def label(sheet, names, driven, badges):
    """Names of driven streets, once each, at the middle of their longest straight piece."""
    best = {}
    for name, points in names:
        for start, end in zip(points, points[1:]):
            (x, y), (u, v) = sheet.pixel(start), sheet.pixel(end)
            length = math.hypot(u - x, v - y)
            if name in driven and length > best.get(name, (30,))[0]:
                best[name] = (length, (x + u) / 2, (y + v) / 2, math.degrees(math.atan2(v - y, u - x)))
    for name, (_, x, y, angle) in sorted(best.items()):
        angle = (angle + 90) % 180 - 90
        clear = all(math.dist((x, y), sheet.pixel(badge)) > 36 for badge in badges)
        if clear and 20 < x < MAP_WIDTH - 20 and 20 < y < HEIGHT - 20:
            yield (f'<text class="name" transform="translate({x:.1f} {y:.1f}) rotate({angle:.0f})" y="-10">'
                   f"{html.escape(name)}</text>")


def draw(map_path, bag_path):
    topics = read_bag(bag_path)
    lines, names = read_map(map_path)
    fixes = [(m.latitude, m.longitude) for m in topics["/gnss/fix"]]
    matched = [(m.matched.latitude, m.matched.longitude) for m in topics["/nav/position"] if m.is_on_road]
    routes = [list(line_of(m.geometry)) for m in topics["/nav/route"]]
    sheet = Sheet(fixes + [place for route in routes for place in route])
    events = events_of(topics)
    start = topics["/gnss/fix"][0].timestamp.ToNanoseconds()

    width = MAP_WIDTH + PANEL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" '
           f'aria-label="The demo drive on a map of Helsinki">',
           f"<style>{STYLE}@media (prefers-color-scheme:dark){{{DARK}}}</style>",
           f'<clipPath id="sheet"><rect width="{width}" height="{HEIGHT}" rx="12"/></clipPath><g clip-path="url(#sheet)">',
           f'<rect class="paper" width="{width}" height="{HEIGHT}"/>']
    for layer, shapes in lines.items():
        path = "".join(sheet.path(shape, closed=layer == "house") for shape in shapes)
        out.append(f'<path class="{layer}" d="{path}"/>')
    driven = {m.road_name for m in topics["/nav/progress"]}
    for css, route in zip(["first"] + ["second"] * 9, routes):
        out.append(f'<path class="{css}" d="{sheet.path(route)}"/>')
    out.append(f'<path class="trace" d="{sheet.path(matched)}"/>')
    dots = "".join(f"M{x - 1.9:.1f} {y:.1f}a1.9 1.9 0 1 0 3.8 0a1.9 1.9 0 1 0 -3.8 0" for x, y in map(sheet.pixel, fixes))
    out.append(f'<path class="fix" style="stroke:none" d="{dots}"/>')
    out += label(sheet, names, driven, [event[3] for event in events])

    out.append(f'<rect class="panel" x="{MAP_WIDTH}" width="{PANEL}" height="{HEIGHT}"/>')
    left = MAP_WIDTH + 28
    out.append(f'<text class="ink head" x="{left}" y="44">A drive with a wrong turn</text>')
    y = 80
    for css, text in (("first", "first route"), ("second", "route after the wrong turn"),
                      ("trace", "position matched to the roads"), ("fix", "raw GNSS fixes, one a second")):
        if css == "fix":
            out += [f'<circle class="fix" cx="{left + x}" cy="{y - 4 + d}" r="1.9"/>' for x, d in ((2, 1), (14, -2), (26, 1))]
        else:
            inset = 5 if css == "second" else 0
            out.append(f'<line class="{css}" x1="{left + inset}" y1="{y - 4}" x2="{left + 28 - inset}" y2="{y - 4}"/>')
        out.append(f'<text class="soft" x="{left + 42}" y="{y}">{text}</text>')
        y += 26
    y += 26
    step = (HEIGHT - 56 - y) / max(len(events) - 1, 1)
    badges, spots = [], []
    for number, (stamp, css, text, place) in enumerate(events, 1):
        row = y + min(step, 46) * (number - 1)
        spot = sheet.pixel(place)
        while any(math.dist(spot, other) < 21 for other in spots):
            spot = (spot[0] + 7, spot[1])
        spots.append(spot)
        for cx, cy in (spot, (left + 10, row - 5)):
            badges.append(f'<circle class="{css} ring" cx="{cx:.1f}" cy="{cy:.1f}" r="10"/>'
                          f'<text class="num" x="{cx:.1f}" y="{cy + 4:.1f}">{number}</text>')
        weight = "" if css == "turn" else ' style="font-weight:600"'
        out.append(f'<text class="ink" x="{left + 78}" y="{row:.1f}"{weight}>{html.escape(text)}</text>')
        out.append(f'<text class="soft time" x="{left + 64}" y="{row:.1f}">{clock(stamp - start)}</text>')
    out += badges
    out.append(f'<text class="soft small" x="{width - 24}" y="{HEIGHT - 18}" text-anchor="end">'
               "map © OpenStreetMap contributors</text></g></svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(draw(sys.argv[1], sys.argv[2]))
