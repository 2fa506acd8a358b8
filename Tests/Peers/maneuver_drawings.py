"""Drawings of roundabouts whose exits are counted differently: the ring in blue, roads in grey (service roads dashed, one-way
roads with arrows), our drive in red; below, the roads that the drive passes on the ring, in driving order, with their tags.
"""

import math
from html import escape

from agreement_sides import CAR_ROADS, metres

# Half of the width of a drawing, metres; pixels per metre; the height of a line of text, pixels.
REACH, SCALE, LINE = 75, 4, 16
TELLING = ("highway", "service", "oneway", "access", "motor_vehicle", "name", "ref")
STYLE = """<style>text{font:12px sans-serif}polyline{fill:none}</style>
<marker id="a" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" refX="5" refY="5" orient="auto"><path
d="M1,1L9,5L1,9" fill="#000"/></marker>"""


def is_ring(tags):
    return tags.get("junction") in ("roundabout", "circular")


def one_way(tags):
    """Returns 1 for a way that is one-way in the direction of its nodes, -1 against it, and 0 for a two-way one."""
    return {"-1": -1, "yes": 1, "true": 1, "1": 1}.get(tags.get("oneway"), 1 if is_ring(tags) else 0)


def passed_roads(extract, points):
    """Returns the roads that meet the ring along a drive, in driving order: (way, its node on the ring, the next node, direction)."""
    nodes = [extract.by_place.get((round(a * 1e6), round(b * 1e6))) for a, b in points]
    ringed = {node for way, line in extract.lines.items() if is_ring(extract.ways[way]) for node in line}
    first = next((k for k, node in enumerate(nodes) if node in ringed), len(nodes))
    last = next((k for k in range(first, len(nodes)) if nodes[k] is not None and nodes[k] not in ringed), len(nodes))
    roads = [(way, line) for way, line in extract.lines.items()
             if extract.ways[way].get("highway") in CAR_ROADS and not is_ring(extract.ways[way])]
    return [(way, node, line[k + step], {0: "both ways", step: "out"}.get(one_way(extract.ways[way]), "in"))
            for node in nodes[first:last] if node is not None for way, line in roads if node in line
            for k in (line.index(node),) for step in (-1, 1) if 0 <= k + step < len(line) and line[k + step] in extract.places]


def draw(extract, points, place, title):
    """Returns the SVG of a roundabout that a drive along points enters at a place."""
    entry = min(range(len(points)), key=lambda k: metres(points[k], place))
    roads = passed_roads(extract, points[max(0, entry - 1):entry + 60])
    around = [place] + [extract.places[node] for _, node, _, _ in roads]
    middle = tuple(sum(values) / len(values) for values in zip(*around))

    def pixels(point):
        east = math.radians(point[1] - middle[1]) * math.cos(math.radians(middle[0]))
        return (REACH + 6_371_009 * east) * SCALE, (REACH - 6_371_009 * math.radians(point[0] - middle[0])) * SCALE

    def line(points, style):
        return f'<polyline points="{" ".join("%.0f,%.0f" % pixels(point) for point in points)}" {style}/>'

    size = 2 * REACH * SCALE
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size + (len(roads) + 3) * LINE}">', STYLE,
             f'<rect width="100%" height="100%" fill="#fff"/><svg width="{size}" height="{size}">']
    for way, nodes in extract.lines.items():
        tags, shape = extract.ways[way], [extract.places[node] for node in nodes if node in extract.places]
        if tags.get("highway") in CAR_ROADS and any(metres(point, middle) < 2 * REACH for point in shape):
            style = 'stroke="#36c" stroke-width="7"' if is_ring(tags) else 'stroke="#999" stroke-width="5"'
            style += ' stroke-dasharray="8 4"' if tags["highway"] == "service" else ""
            style += ' marker-mid="url(#a)" marker-end="url(#a)"' if one_way(tags) else ""
            parts.append(line(shape[::-1] if one_way(tags) < 0 else shape, style))
    parts.append(line(points[max(0, entry - 20):entry + 60], 'stroke="#d22" stroke-width="3" opacity=".7"'))
    legend = [title]
    for letter, (way, node, beside, driven) in zip("abcdefghijklmnopqrstuvwxyz", roads):
        x, y = pixels(tuple((a + b) / 2 for a, b in zip(extract.places[node], extract.places[beside])))
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" fill="#fff" stroke="#333"/>'
                     f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{letter}</text>')
        tags = " ".join(f"{key}={extract.ways[way][key]}" for key in TELLING if key in extract.ways[way])
        legend.append(f"{letter}: {driven}, way {way} {tags}")
    texts = [f'<text x="8" y="{size + (k + 1) * LINE}">{escape(text)}</text>' for k, text in enumerate(legend)]
    return "\n".join([*parts, "</svg>", *texts, "</svg>\n"])
