"""A drawn town, as OpenStreetMap XML, in which short drives cover all features that a route can report."""

import math
from typing import Callable

LATITUDE, LONGITUDE = 50.0, 8.0
METRES = 111_195.0
BLOCK = 250.0

Place = tuple[float, float]


def place(east: float, north: float) -> Place:
    """Returns the latitude and longitude of a place in metres from the town's corner."""
    return (
        LATITUDE + north / METRES,
        LONGITUDE + east / (METRES * math.cos(math.radians(LATITUDE))),
    )


class Drawing:
    """A map of nodes and ways with tags."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[float, float], int] = {}
        self.tags: dict[int, dict[str, str]] = {}
        self.ways: list[tuple[list[int], dict[str, str]]] = []
        self.countries: list[tuple[str, int]] = []

    def node(self, east: float, north: float, **tags: str) -> int:
        """Returns the node at a place, and creates it if necessary."""
        number = self.nodes.setdefault((east, north), len(self.nodes) + 1)
        self.tags.setdefault(number, {}).update(tags)
        return number

    def way(self, *points: tuple[float, float], **tags: str) -> int:
        """Adds a way; `__` in a key stands for a colon."""
        self.ways.append(([self.node(*point) for point in points], {key.replace("__", ":"): tags[key] for key in tags}))
        return len(self.ways) + 100

    def country(self, code: str, *corners: tuple[float, float]) -> None:
        """Adds a country with its border."""
        self.countries.append((code, self.way(*corners, corners[0], boundary="administrative")))

    def text(self) -> str:
        """Returns the drawing as XML."""
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6">']

        def tags(found: dict[str, str]) -> str:
            return "".join(f'<tag k="{key}" v="{value}"/>' for key, value in found.items())

        for (east, north), number in self.nodes.items():
            latitude, longitude = place(east, north)
            lines.append(
                f'<node id="{number}" lat="{latitude:.7f}" lon="{longitude:.7f}">{tags(self.tags[number])}</node>'
            )
        for number, (nodes, found) in enumerate(self.ways, 101):
            refs = "".join(f'<nd ref="{node}"/>' for node in nodes)
            lines.append(f'<way id="{number}">{refs}{tags(found)}</way>')
        for number, (code, line) in enumerate(self.countries, 1):
            found = {"type": "boundary", "boundary": "administrative", "admin_level": "2", "ISO3166-1:alpha2": code}
            member = f'<member type="way" ref="{line}" role="outer"/>'
            lines.append(f'<relation id="{number}">{member}{tags(found)}</relation>')
        return "\n".join([*lines, "</osm>"])


COLUMNS, ROWS = 8, 6
# Tags that close the third block of a column to vehicles.
LIMITS = {
    1: {"maxwidth": "2"},
    2: {"maxlength": "10"},
    3: {"maxweight": "5"},
    4: {"maxaxleload": "5"},
    5: {"hazmat": "no"},
}


def draw(more: Callable[[Drawing], None] = lambda town: None) -> str:
    """Draws a grid of streets, a named roundabout, a motorway with tolls and an exit, a tunnel, a ferry and a track, and `more`."""
    town = Drawing()
    for row in range(ROWS):
        name = "Hauptstraße" if row == 0 else f"Quergasse {row}"
        points = [(column * BLOCK, row * BLOCK) for column in range(COLUMNS)]
        for one, other in zip(points, points[1:]):
            tags = {"highway": "secondary" if row == 0 else "residential", "name": name, "maxspeed": "50"}
            if row == 5 and one[0] == 0:
                tags["motor_vehicle__conditional"] = "no @ (22:00-06:00)"
            if row == 0:
                tags |= {
                    "ref": "L 1",
                    "lanes": "5",
                    "lanes__backward": "2",
                    "turn__lanes__forward": "left|through|through",
                    "bus__lanes__forward": "yes|yes|designated",
                    "turn__lanes__backward": "through|right",
                }
                tags |= {"destination__forward": "Hafen"}
            town.way(one, other, **tags)
    for column in range(COLUMNS):
        points = [(column * BLOCK, row * BLOCK) for row in range(ROWS)]
        for one, other in zip(points, points[1:]):
            limit = LIMITS.get(column, {}) if one[1] == 2 * BLOCK else {}
            town.way(one, other, highway="residential", name=f"Längsweg {column}", maxspeed="50", **limit)
    town.node(2 * BLOCK, 0, highway="traffic_signals")
    town.node(3 * BLOCK, 0, highway="stop")
    east = (COLUMNS - 1) * BLOCK
    # A roundabout with a name, east of the town.
    ring = [(east + 290, 0.0), (east + 330, -40.0), (east + 370, 0.0), (east + 330, 40.0)]
    town.way((east, 0), (east + 150, 0), ring[0], highway="secondary", name="Hauptstraße", ref="L 1", maxspeed="50")
    town.way(*ring, ring[0], highway="secondary", junction="roundabout", name="Kreisel am Markt")
    town.way(ring[1], (east + 330, -300), highway="residential", name="Südgasse")
    town.way(ring[3], (east + 330, 300), highway="secondary", name="Zubringer", maxheight="3.9", maxweight="30")
    # A motorway without a limit, a toll and an exit.
    motorway = [
        (east + 600, -2000.0),
        (east + 600, 900.0),
        (east + 600, 1100.0),
        (east + 600, 1500.0),
        (east + 600, 5000.0),
    ]
    town.way(
        (east + 330, 300), (east + 450, 600), motorway[1], highway="motorway_link", oneway="yes", destination="Berg",
        destination__ref="A 5",
    )
    for one, other in zip(motorway, motorway[1:]):
        town.way(one, other, highway="motorway", oneway="yes", ref="A 5", maxspeed="none", toll="yes", toll__hgv="yes")
    town.node(*motorway[2], barrier="toll_booth")
    town.node(*motorway[3], highway="motorway_junction", ref="12")
    leave = (east + 800, 1900.0)
    town.way(
        motorway[3],
        (east + 640, 1750),
        leave,
        highway="motorway_link",
        oneway="yes",
        destination="Seehafen",
        junction__ref="12",
    )
    # A tunnel that is long enough to be announced.
    tunnel, shore, island = (east + 1000, 1900.0), (east + 1600, 1900.0), (east + 1900, 1900.0)
    town.way(leave, tunnel, highway="secondary", name="Hafenstraße", bridge="yes", maxspeed="70")
    town.way(tunnel, shore, highway="secondary", name="Hafenstraße", tunnel="yes", maxspeed="70")
    town.way(shore, island, route="ferry", name="Fähre Nord", duration="00:01", motor_vehicle="yes")
    town.way(island, (east + 2100, 1900), highway="unclassified", name="Inselweg", surface="gravel")
    # Far enough east that the tiles in the west are not needed there.
    town.way((east + 2100, 1900), (east + 3700, 1900), highway="unclassified", name="Leuchtturmweg", surface="gravel")
    # The road back from the motorway, so that every place is reachable.
    town.way(
        leave, (east, 1900), (0, 1900), (0, (ROWS - 1) * BLOCK), highway="tertiary", name="Bergstraße", maxspeed="30"
    )
    # An isolated road, and a private road.
    town.way((-3000, -3000), (-2800, -3000), highway="residential", name="Insel")
    town.way((0, 0), (-100, -100), highway="service", name="Hof", access="private")
    more(town)
    town.country("DE", (-5000, -5000), (9000, -5000), (9000, 9000), (-5000, 9000))
    return town.text()


def streets() -> list[tuple[int, int, int]]:
    """Returns the segments of the grid in both directions, as the numbers of way and nodes in `draw`."""
    rows = [(row * COLUMNS + column + 1, 1) for row in range(ROWS) for column in range(COLUMNS - 1)]
    columns = [(row * COLUMNS + column + 1, COLUMNS) for column in range(COLUMNS) for row in range(ROWS - 1)]
    found = [(way, node, node + step) for way, (node, step) in enumerate(rows + columns, 101)]
    return found + [(way, end, start) for way, start, end in found]


def crossing(column: int, row: int) -> Place:
    """Returns a junction of the grid."""
    return place(column * BLOCK, row * BLOCK)


ISLAND = place((COLUMNS - 1) * BLOCK + 2050, 1900)
LIGHTHOUSE = place((COLUMNS - 1) * BLOCK + 3690, 1900)
HARBOUR = place((COLUMNS - 1) * BLOCK + 900, 1900)
NOWHERE = place(-2900, -3000)
FIELD = place(-700, 600)
